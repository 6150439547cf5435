##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

noinst_HEADERS +=                                   \
    src/mpi/datatype/gpu/kernel/gpudt_args.h        \
    src/mpi/datatype/gpu/kernel/gpudt_kernel_list.h \
    src/mpi/datatype/gpu/kernel/gpudt_tuning.h

if BUILD_GPUDT_CUDA
mpi_core_sources +=                            \
    src/mpi/datatype/gpu/kernel/gpudt_fatbin.c
endif BUILD_GPUDT_CUDA

# The kernels become a fat binary: machine code for each architecture and PTX of the newest, for
# those that come later. The library carries it as constant data.
gpudt_kernel_files =                                              \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_kernels.cu    \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_batch.cuh     \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_copy.cuh      \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_move.cuh      \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_walk.cuh      \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_walk_list.cuh \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_walk_tree.cuh \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_args.h        \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_kernel_list.h \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_tuning.h      \
    $(top_srcdir)/src/mpi/datatype/gpu/type/gpudt_record.h

src/mpi/datatype/gpu/kernel/gpudt_kernels.fatbin: $(gpudt_kernel_files)
	@$(MKDIR_P) src/mpi/datatype/gpu/kernel
	$(AM_V_GEN)set -- ; for arch in $(GPUDT_CUDA_ARCHS) ; do \
	    set -- "$$@" -gencode arch=compute_$$arch,code=sm_$$arch ; \
	done ; \
	$(GPUDT_NVCC) -std=c++14 -O3 --threads 2 "$$@" -gencode arch=compute_$$arch,code=compute_$$arch \
	    -I$(top_srcdir)/src/mpi/datatype/gpu -fatbin -o $@ $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_kernels.cu

src/mpi/datatype/gpu/kernel/gpudt_fatbin.c: src/mpi/datatype/gpu/kernel/gpudt_kernels.fatbin
	$(AM_V_GEN)$(SHELL) $(top_srcdir)/src/mpi/datatype/gpu/kernel/embed-fatbin MPII_Gpudt_fatbin \
	    src/mpi/datatype/gpu/kernel/gpudt_kernels.fatbin > $@.tmp && mv $@.tmp $@

CLEANFILES += src/mpi/datatype/gpu/kernel/gpudt_kernels.fatbin src/mpi/datatype/gpu/kernel/gpudt_fatbin.c
EXTRA_DIST += $(gpudt_kernel_files) $(top_srcdir)/src/mpi/datatype/gpu/kernel/embed-fatbin
