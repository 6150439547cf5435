##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

if BUILD_GPUDT_CUDA
mpi_core_sources +=                                \
    src/mpi/datatype/gpu/transfer/gpudt_batch.c    \
    src/mpi/datatype/gpu/transfer/gpudt_buffer.c   \
    src/mpi/datatype/gpu/transfer/gpudt_complete.c \
    src/mpi/datatype/gpu/transfer/gpudt_data.c     \
    src/mpi/datatype/gpu/transfer/gpudt_external.c \
    src/mpi/datatype/gpu/transfer/gpudt_launch.c   \
    src/mpi/datatype/gpu/transfer/gpudt_pack.c     \
    src/mpi/datatype/gpu/transfer/gpudt_route.c    \
    src/mpi/datatype/gpu/transfer/gpudt_rowcopy.c  \
    src/mpi/datatype/gpu/transfer/gpudt_side.c
endif BUILD_GPUDT_CUDA
