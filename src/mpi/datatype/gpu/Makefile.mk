##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

AM_CPPFLAGS += -I$(top_srcdir)/src/mpi/datatype/gpu @GPUDT_CPPFLAGS@

noinst_HEADERS +=                            \
    src/mpi/datatype/gpu/gpudt.h             \
    src/mpi/datatype/gpu/gpudt_args.h        \
    src/mpi/datatype/gpu/gpudt_canon.h       \
    src/mpi/datatype/gpu/gpudt_divisor.h     \
    src/mpi/datatype/gpu/gpudt_driver.h      \
    src/mpi/datatype/gpu/gpudt_error.h       \
    src/mpi/datatype/gpu/gpudt_host.h        \
    src/mpi/datatype/gpu/gpudt_image.h       \
    src/mpi/datatype/gpu/gpudt_info.h        \
    src/mpi/datatype/gpu/gpudt_internal.h    \
    src/mpi/datatype/gpu/gpudt_kernel_list.h \
    src/mpi/datatype/gpu/gpudt_plan.h        \
    src/mpi/datatype/gpu/gpudt_plan_shape.h  \
    src/mpi/datatype/gpu/gpudt_ptr.h         \
    src/mpi/datatype/gpu/gpudt_range.h       \
    src/mpi/datatype/gpu/gpudt_raw.h         \
    src/mpi/datatype/gpu/gpudt_record.h      \
    src/mpi/datatype/gpu/gpudt_serialize.h   \
    src/mpi/datatype/gpu/gpudt_shared.h      \
    src/mpi/datatype/gpu/gpudt_topo.h        \
    src/mpi/datatype/gpu/gpudt_topo_impl.h   \
    src/mpi/datatype/gpu/gpudt_tuning.h      \
    src/mpi/datatype/gpu/gpudt_type.h

mpi_core_sources +=                          \
    src/mpi/datatype/gpu/gpudt_report.c

if BUILD_GPUDT_CUDA
mpi_core_sources +=                              \
    src/mpi/datatype/gpu/gpudt_batch.c           \
    src/mpi/datatype/gpu/gpudt_buffer.c          \
    src/mpi/datatype/gpu/gpudt_canon.c           \
    src/mpi/datatype/gpu/gpudt_canon_list.c      \
    src/mpi/datatype/gpu/gpudt_canon_node.c      \
    src/mpi/datatype/gpu/gpudt_canon_struct.c    \
    src/mpi/datatype/gpu/gpudt_commit.c          \
    src/mpi/datatype/gpu/gpudt_complete.c        \
    src/mpi/datatype/gpu/gpudt_ctx.c             \
    src/mpi/datatype/gpu/gpudt_data.c            \
    src/mpi/datatype/gpu/gpudt_debug.c           \
    src/mpi/datatype/gpu/gpudt_divisor.c         \
    src/mpi/datatype/gpu/gpudt_driver.c          \
    src/mpi/datatype/gpu/gpudt_engine.c          \
    src/mpi/datatype/gpu/gpudt_external.c        \
    src/mpi/datatype/gpu/gpudt_fatbin.c          \
    src/mpi/datatype/gpu/gpudt_host.c            \
    src/mpi/datatype/gpu/gpudt_image.c           \
    src/mpi/datatype/gpu/gpudt_launch.c          \
    src/mpi/datatype/gpu/gpudt_mem.c             \
    src/mpi/datatype/gpu/gpudt_memops.c          \
    src/mpi/datatype/gpu/gpudt_module.c          \
    src/mpi/datatype/gpu/gpudt_near.c            \
    src/mpi/datatype/gpu/gpudt_pack.c            \
    src/mpi/datatype/gpu/gpudt_plan.c            \
    src/mpi/datatype/gpu/gpudt_plan_shape.c      \
    src/mpi/datatype/gpu/gpudt_ptr.c             \
    src/mpi/datatype/gpu/gpudt_route.c           \
    src/mpi/datatype/gpu/gpudt_rowcopy.c         \
    src/mpi/datatype/gpu/gpudt_rows.c            \
    src/mpi/datatype/gpu/gpudt_serialize.c       \
    src/mpi/datatype/gpu/gpudt_serialize_array.c \
    src/mpi/datatype/gpu/gpudt_serialize_list.c  \
    src/mpi/datatype/gpu/gpudt_serialize_loop.c  \
    src/mpi/datatype/gpu/gpudt_shared.c          \
    src/mpi/datatype/gpu/gpudt_side.c            \
    src/mpi/datatype/gpu/gpudt_upload.c          \
    src/mpi/datatype/gpu/gpudt_vars.c
else !BUILD_GPUDT_CUDA
mpi_core_sources +=                          \
    src/mpi/datatype/gpu/gpudt_stub.c
endif !BUILD_GPUDT_CUDA

# The kernels become a fat binary: machine code for each architecture and PTX of the newest, for
# those that come later. The library carries it as constant data.
gpudt_kernel_files =                                         \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_kernels.cu      \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_batch.cuh       \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_copy.cuh        \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_move.cuh        \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_walk.cuh        \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_walk_list.cuh   \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_walk_tree.cuh   \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_args.h          \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_kernel_list.h   \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_record.h        \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_tuning.h

src/mpi/datatype/gpu/gpudt_kernels.fatbin: $(gpudt_kernel_files)
	@$(MKDIR_P) src/mpi/datatype/gpu
	$(AM_V_GEN)set -- ; for arch in $(GPUDT_CUDA_ARCHS) ; do \
	    set -- "$$@" -gencode arch=compute_$$arch,code=sm_$$arch ; \
	done ; \
	$(GPUDT_NVCC) -std=c++14 -O3 --threads 2 "$$@" -gencode arch=compute_$$arch,code=compute_$$arch \
	    -fatbin -o $@ $(top_srcdir)/src/mpi/datatype/gpu/gpudt_kernels.cu

src/mpi/datatype/gpu/gpudt_fatbin.c: src/mpi/datatype/gpu/gpudt_kernels.fatbin
	$(AM_V_GEN)$(SHELL) $(top_srcdir)/src/mpi/datatype/gpu/embed-fatbin MPII_Gpudt_fatbin \
	    src/mpi/datatype/gpu/gpudt_kernels.fatbin > $@.tmp && mv $@.tmp $@

CLEANFILES += src/mpi/datatype/gpu/gpudt_kernels.fatbin src/mpi/datatype/gpu/gpudt_fatbin.c
EXTRA_DIST += $(gpudt_kernel_files) $(top_srcdir)/src/mpi/datatype/gpu/embed-fatbin

errnames_txt_files += src/mpi/datatype/gpu/errnames.txt
