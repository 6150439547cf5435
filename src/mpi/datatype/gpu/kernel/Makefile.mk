##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

noinst_HEADERS +=                                   \
    src/mpi/datatype/gpu/kernel/gpudt_args.h        \
    src/mpi/datatype/gpu/kernel/gpudt_kernel_list.h

if BUILD_GPUDT_CUDA
mpi_core_sources +=                            \
    src/mpi/datatype/gpu/kernel/gpudt_fatbin.c
endif BUILD_GPUDT_CUDA

# The kernels become a fat binary, which the library carries as constant data. It holds machine code
# for each of GPUDT_CUDA_ARCHS, which ascend, and PTX, which a driver compiles for any GPU that none
# of the machine code runs on.
#
# Half of nvcc's time goes into making PTX, and PTX of an architecture can be made machine code of
# each later one. nvcc has two compilers to PTX, for architectures below 100 and from 100 on. What
# one of them makes of the kernels differs between its architectures only in the line that names the
# architecture. So each runs once, for the lowest of its architectures, and the machine code is the
# same as with a run for each.
#
# Machine code is not compressed unless nvcc is told to. Without, the driver would load it in 3.5 ms instead
# of 11 (doc/data/driver-waits-h200.txt), but the library would have 43 MB instead of 15 at most. The default
# mode is one that every driver of the toolkit's release can read.
gpudt_kernel_files =                                              \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_kernels.cu    \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_atomic.cuh    \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_batch.cuh     \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_combine.cuh   \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_copies.cuh    \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_copy.cuh      \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_move.cuh      \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_pair.cuh      \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_pairbox.cuh   \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_pairlist.cuh  \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_pairruns.cuh  \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_reduce.cuh    \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_tile.cuh      \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_transpose.cuh \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_update.cuh    \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_walk.cuh      \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_walk_any.cuh  \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_walk_list.cuh \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_walk_bitmap.cuh \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_walk_tree.cuh \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_args.h        \
    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_kernel_list.h \
    $(top_srcdir)/src/mpi/datatype/gpu/tuning/gpudt_tuning.h      \
    $(top_srcdir)/src/mpi/datatype/gpu/type/gpudt_record.h

src/mpi/datatype/gpu/kernel/gpudt_kernels.fatbin: $(gpudt_kernel_files)
	@$(MKDIR_P) src/mpi/datatype/gpu/kernel
	$(AM_V_GEN)set -- ; ptx= ; for arch in $(GPUDT_CUDA_ARCHS) ; do \
	    case $$ptx:$$arch in :*|??:???) \
	        ptx=$$arch ; set -- "$$@" -gencode arch=compute_$$ptx,code=compute_$$ptx ;; \
	    esac ; \
	    set -- "$$@" -gencode arch=compute_$$ptx,code=sm_$$arch ; \
	done ; \
	$(GPUDT_NVCC) -std=c++14 -O3 --threads 2 -Xfatbin=-compress-all "$$@" \
	    -I$(top_srcdir)/src/mpi/datatype/gpu -fatbin -o $@ \
	    $(top_srcdir)/src/mpi/datatype/gpu/kernel/gpudt_kernels.cu

src/mpi/datatype/gpu/kernel/gpudt_fatbin.c: src/mpi/datatype/gpu/kernel/gpudt_kernels.fatbin
	$(AM_V_GEN)$(SHELL) $(top_srcdir)/src/mpi/datatype/gpu/kernel/embed-fatbin MPII_Gpudt_fatbin \
	    src/mpi/datatype/gpu/kernel/gpudt_kernels.fatbin > $@.tmp && mv $@.tmp $@

CLEANFILES += src/mpi/datatype/gpu/kernel/gpudt_kernels.fatbin src/mpi/datatype/gpu/kernel/gpudt_fatbin.c
EXTRA_DIST += $(gpudt_kernel_files) $(top_srcdir)/src/mpi/datatype/gpu/kernel/embed-fatbin
