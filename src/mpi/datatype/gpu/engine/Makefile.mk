##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

noinst_HEADERS +=                                  \
    src/mpi/datatype/gpu/engine/gpudt_contexts.h   \
    src/mpi/datatype/gpu/engine/gpudt_descriptor.h \
    src/mpi/datatype/gpu/engine/gpudt_engine.h     \
    src/mpi/datatype/gpu/engine/gpudt_export.h     \
    src/mpi/datatype/gpu/engine/gpudt_flag.h       \
    src/mpi/datatype/gpu/engine/gpudt_graph.h      \
    src/mpi/datatype/gpu/engine/gpudt_import.h     \
    src/mpi/datatype/gpu/engine/gpudt_mempool.h    \
    src/mpi/datatype/gpu/engine/gpudt_memops.h     \
    src/mpi/datatype/gpu/engine/gpudt_module.h     \
    src/mpi/datatype/gpu/engine/gpudt_pool.h       \
    src/mpi/datatype/gpu/engine/gpudt_register.h   \
    src/mpi/datatype/gpu/engine/gpudt_remote.h     \
    src/mpi/datatype/gpu/engine/gpudt_upload.h

if BUILD_GPUDT_CUDA
mpi_core_sources +=                                \
    src/mpi/datatype/gpu/engine/gpudt_alloc.c      \
    src/mpi/datatype/gpu/engine/gpudt_contexts.c   \
    src/mpi/datatype/gpu/engine/gpudt_descriptor.c \
    src/mpi/datatype/gpu/engine/gpudt_engine.c     \
    src/mpi/datatype/gpu/engine/gpudt_export.c     \
    src/mpi/datatype/gpu/engine/gpudt_flag.c       \
    src/mpi/datatype/gpu/engine/gpudt_graph.c      \
    src/mpi/datatype/gpu/engine/gpudt_import.c     \
    src/mpi/datatype/gpu/engine/gpudt_mempool.c    \
    src/mpi/datatype/gpu/engine/gpudt_memops.c     \
    src/mpi/datatype/gpu/engine/gpudt_module.c     \
    src/mpi/datatype/gpu/engine/gpudt_pool.c       \
    src/mpi/datatype/gpu/engine/gpudt_register.c   \
    src/mpi/datatype/gpu/engine/gpudt_remote.c     \
    src/mpi/datatype/gpu/engine/gpudt_share.c      \
    src/mpi/datatype/gpu/engine/gpudt_upload.c
endif BUILD_GPUDT_CUDA
