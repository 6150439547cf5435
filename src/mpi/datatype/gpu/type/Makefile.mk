##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

noinst_HEADERS +=                               \
    src/mpi/datatype/gpu/type/gpudt_canon.h     \
    src/mpi/datatype/gpu/type/gpudt_raw.h       \
    src/mpi/datatype/gpu/type/gpudt_record.h    \
    src/mpi/datatype/gpu/type/gpudt_serialize.h \
    src/mpi/datatype/gpu/type/gpudt_type.h

if BUILD_GPUDT_CUDA
mpi_core_sources +=                                   \
    src/mpi/datatype/gpu/type/gpudt_canon.c           \
    src/mpi/datatype/gpu/type/gpudt_canon_list.c      \
    src/mpi/datatype/gpu/type/gpudt_canon_node.c      \
    src/mpi/datatype/gpu/type/gpudt_canon_struct.c    \
    src/mpi/datatype/gpu/type/gpudt_commit.c          \
    src/mpi/datatype/gpu/type/gpudt_debug.c           \
    src/mpi/datatype/gpu/type/gpudt_rows.c            \
    src/mpi/datatype/gpu/type/gpudt_serialize.c       \
    src/mpi/datatype/gpu/type/gpudt_serialize_array.c \
    src/mpi/datatype/gpu/type/gpudt_serialize_list.c  \
    src/mpi/datatype/gpu/type/gpudt_serialize_loop.c
endif BUILD_GPUDT_CUDA
