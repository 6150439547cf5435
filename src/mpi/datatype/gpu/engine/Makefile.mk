##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

if BUILD_GPUDT_CUDA
mpi_core_sources +=                            \
    src/mpi/datatype/gpu/engine/gpudt_engine.c \
    src/mpi/datatype/gpu/engine/gpudt_host.c   \
    src/mpi/datatype/gpu/engine/gpudt_mem.c    \
    src/mpi/datatype/gpu/engine/gpudt_memops.c \
    src/mpi/datatype/gpu/engine/gpudt_module.c \
    src/mpi/datatype/gpu/engine/gpudt_upload.c
endif BUILD_GPUDT_CUDA
