##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

noinst_HEADERS += adio/include/gpudt_rounds.h mpi-io/gpudt_io.h mpi-io/gpudt_io_impl.h

romio_mpi_sources +=              \
    mpi-io/gpudt_collective.c     \
    mpi-io/gpudt_exchange.c       \
    mpi-io/gpudt_independent.c    \
    mpi-io/gpudt_request.c        \
    mpi-io/gpudt_view.c
