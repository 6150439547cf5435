##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

noinst_HEADERS +=                                \
    src/mpi/datatype/gpu/driver/gpudt_ctx.h      \
    src/mpi/datatype/gpu/driver/gpudt_driver.h   \
    src/mpi/datatype/gpu/driver/gpudt_near.h     \
    src/mpi/datatype/gpu/driver/gpudt_presence.h \
    src/mpi/datatype/gpu/driver/gpudt_ptr.h      \
    src/mpi/datatype/gpu/driver/gpudt_profile.h  \
    src/mpi/datatype/gpu/driver/gpudt_sharing.h

if BUILD_GPUDT_CUDA
mpi_core_sources +=                              \
    src/mpi/datatype/gpu/driver/gpudt_ctx.c      \
    src/mpi/datatype/gpu/driver/gpudt_driver.c   \
    src/mpi/datatype/gpu/driver/gpudt_near.c     \
    src/mpi/datatype/gpu/driver/gpudt_presence.c \
    src/mpi/datatype/gpu/driver/gpudt_ptr.c      \
    src/mpi/datatype/gpu/driver/gpudt_sharing.c
endif BUILD_GPUDT_CUDA
