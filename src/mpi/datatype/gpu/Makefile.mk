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
# Machine code is not compressed unless nvcc is told to. The default mode is one that every driver
# of the toolkit's release can read.
gpudt_kernel_files =                                         \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_kernels.cu      \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_batch.cuh       \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_copy.cuh        \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_move.cuh        \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_tile.cuh        \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_turn.cuh        \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_walk.cuh        \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_walk_list.cuh   \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_walk_rank.cuh   \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_walk_tree.cuh   \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_args.h          \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_kernel_list.h   \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_record.h        \
    $(top_srcdir)/src/mpi/datatype/gpu/gpudt_tuning.h

src/mpi/datatype/gpu/gpudt_kernels.fatbin: $(gpudt_kernel_files)
	@$(MKDIR_P) src/mpi/datatype/gpu
	$(AM_V_GEN)set -- ; ptx= ; for arch in $(GPUDT_CUDA_ARCHS) ; do \
	    case $$ptx:$$arch in :*|??:???) \
	        ptx=$$arch ; set -- "$$@" -gencode arch=compute_$$ptx,code=compute_$$ptx ;; \
	    esac ; \
	    set -- "$$@" -gencode arch=compute_$$ptx,code=sm_$$arch ; \
	done ; \
	$(GPUDT_NVCC) -std=c++14 -O3 --threads 2 -Xfatbin=-compress-all "$$@" \
	    -fatbin -o $@ $(top_srcdir)/src/mpi/datatype/gpu/gpudt_kernels.cu

src/mpi/datatype/gpu/gpudt_fatbin.c: src/mpi/datatype/gpu/gpudt_kernels.fatbin
	$(AM_V_GEN)$(SHELL) $(top_srcdir)/src/mpi/datatype/gpu/embed-fatbin MPII_Gpudt_fatbin \
	    src/mpi/datatype/gpu/gpudt_kernels.fatbin > $@.tmp && mv $@.tmp $@

CLEANFILES += src/mpi/datatype/gpu/gpudt_kernels.fatbin src/mpi/datatype/gpu/gpudt_fatbin.c
EXTRA_DIST += $(gpudt_kernel_files) $(top_srcdir)/src/mpi/datatype/gpu/embed-fatbin

errnames_txt_files += src/mpi/datatype/gpu/errnames.txt
