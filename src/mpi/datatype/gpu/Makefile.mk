##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

AM_CPPFLAGS += -I$(top_srcdir)/src/mpi/datatype/gpu @GPUDT_CPPFLAGS@

noinst_HEADERS +=                            \
    src/mpi/datatype/gpu/gpudt_driver.h      \
    src/mpi/datatype/gpu/gpudt_info.h

mpi_core_sources +=                          \
    src/mpi/datatype/gpu/gpudt_report.c

if BUILD_GPUDT_CUDA
mpi_core_sources +=                          \
    src/mpi/datatype/gpu/gpudt_driver.c
else !BUILD_GPUDT_CUDA
mpi_core_sources +=                          \
    src/mpi/datatype/gpu/gpudt_stub.c
endif !BUILD_GPUDT_CUDA

errnames_txt_files += src/mpi/datatype/gpu/errnames.txt
