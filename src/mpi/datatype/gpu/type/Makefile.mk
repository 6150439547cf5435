##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

noinst_HEADERS +=                                  \
    src/mpi/datatype/gpu/type/gpudt_builder.h      \
    src/mpi/datatype/gpu/type/gpudt_canon.h        \
    src/mpi/datatype/gpu/type/gpudt_canon_emit.h   \
    src/mpi/datatype/gpu/type/gpudt_canon_join.h   \
    src/mpi/datatype/gpu/type/gpudt_canon_list.h   \
    src/mpi/datatype/gpu/type/gpudt_canon_node.h   \
    src/mpi/datatype/gpu/type/gpudt_canon_stride.h \
    src/mpi/datatype/gpu/type/gpudt_canon_struct.h \
    src/mpi/datatype/gpu/type/gpudt_constructors.h \
    src/mpi/datatype/gpu/type/gpudt_debug.h        \
    src/mpi/datatype/gpu/type/gpudt_gcd.h          \
    src/mpi/datatype/gpu/type/gpudt_raw.h          \
    src/mpi/datatype/gpu/type/gpudt_record.h       \
    src/mpi/datatype/gpu/type/gpudt_rows.h         \
    src/mpi/datatype/gpu/type/gpudt_serialize.h    \
    src/mpi/datatype/gpu/type/gpudt_type.h         \
    src/mpi/datatype/gpu/type/gpudt_wire.h

mpi_core_sources +=                                   \
    src/mpi/datatype/gpu/type/gpudt_builder.c         \
    src/mpi/datatype/gpu/type/gpudt_canon.c           \
    src/mpi/datatype/gpu/type/gpudt_canon_emit.c      \
    src/mpi/datatype/gpu/type/gpudt_canon_join.c      \
    src/mpi/datatype/gpu/type/gpudt_canon_list.c      \
    src/mpi/datatype/gpu/type/gpudt_canon_node.c      \
    src/mpi/datatype/gpu/type/gpudt_canon_stride.c    \
    src/mpi/datatype/gpu/type/gpudt_canon_struct.c    \
    src/mpi/datatype/gpu/type/gpudt_commit.c          \
    src/mpi/datatype/gpu/type/gpudt_debug.c           \
    src/mpi/datatype/gpu/type/gpudt_rows.c            \
    src/mpi/datatype/gpu/type/gpudt_serialize.c       \
    src/mpi/datatype/gpu/type/gpudt_serialize_array.c \
    src/mpi/datatype/gpu/type/gpudt_serialize_list.c  \
    src/mpi/datatype/gpu/type/gpudt_serialize_loop.c

if BUILD_GPUDT_CUDA
mpi_core_sources +=                                   \
    src/mpi/datatype/gpu/type/gpudt_wire.c
endif BUILD_GPUDT_CUDA
