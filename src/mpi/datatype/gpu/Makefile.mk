##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

AM_CPPFLAGS += -I$(top_srcdir)/src/mpi/datatype/gpu @GPUDT_CPPFLAGS@

nodist_include_HEADERS += src/mpi/datatype/gpu/mpi-ext.h

noinst_HEADERS +=                          \
    src/mpi/datatype/gpu/gpudt.h           \
    src/mpi/datatype/gpu/gpudt_alloc.h     \
    src/mpi/datatype/gpu/gpudt_bsend.h     \
    src/mpi/datatype/gpu/gpudt_combine.h   \
    src/mpi/datatype/gpu/gpudt_direct.h    \
    src/mpi/datatype/gpu/gpudt_error.h     \
    src/mpi/datatype/gpu/gpudt_host.h      \
    src/mpi/datatype/gpu/gpudt_info.h      \
    src/mpi/datatype/gpu/gpudt_lock.h      \
    src/mpi/datatype/gpu/gpudt_reduce.h    \
    src/mpi/datatype/gpu/gpudt_shared.h    \
    src/mpi/datatype/gpu/gpudt_storage.h   \
    src/mpi/datatype/gpu/gpudt_temp.h      \
    src/mpi/datatype/gpu/gpudt_topo.h      \
    src/mpi/datatype/gpu/gpudt_topo_impl.h \
    src/mpi/datatype/gpu/gpudt_vars.h      \
    src/mpi/datatype/gpu/gpudt_window.h    \
    src/mpi/datatype/gpu/tuning/gpudt_tuning.h

mpi_core_sources +=                     \
    src/mpi/datatype/gpu/gpudt_bsend.c  \
    src/mpi/datatype/gpu/gpudt_kinds.c  \
    src/mpi/datatype/gpu/gpudt_report.c

if BUILD_GPUDT_CUDA
mpi_core_sources +=                   \
    src/mpi/datatype/gpu/gpudt_vars.c
else !BUILD_GPUDT_CUDA
mpi_core_sources +=                   \
    src/mpi/datatype/gpu/gpudt_stub.c
endif !BUILD_GPUDT_CUDA

errnames_txt_files += src/mpi/datatype/gpu/errnames.txt

include $(top_srcdir)/src/mpi/datatype/gpu/type/Makefile.mk
include $(top_srcdir)/src/mpi/datatype/gpu/cpu/Makefile.mk
include $(top_srcdir)/src/mpi/datatype/gpu/kernel/Makefile.mk
include $(top_srcdir)/src/mpi/datatype/gpu/plan/Makefile.mk
include $(top_srcdir)/src/mpi/datatype/gpu/driver/Makefile.mk
include $(top_srcdir)/src/mpi/datatype/gpu/engine/Makefile.mk
include $(top_srcdir)/src/mpi/datatype/gpu/transfer/Makefile.mk
