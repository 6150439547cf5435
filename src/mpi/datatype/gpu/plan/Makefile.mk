##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

noinst_HEADERS +=                                \
    src/mpi/datatype/gpu/plan/gpudt_across.h     \
    src/mpi/datatype/gpu/plan/gpudt_divisor.h    \
    src/mpi/datatype/gpu/plan/gpudt_image.h      \
    src/mpi/datatype/gpu/plan/gpudt_plan.h       \
    src/mpi/datatype/gpu/plan/gpudt_plan_copies.h \
    src/mpi/datatype/gpu/plan/gpudt_plan_pair.h  \
    src/mpi/datatype/gpu/plan/gpudt_plan_reduce.h \
    src/mpi/datatype/gpu/plan/gpudt_plan_shape.h \
    src/mpi/datatype/gpu/plan/gpudt_plan_types.h \
    src/mpi/datatype/gpu/plan/gpudt_strategy.h

if BUILD_GPUDT_CUDA
mpi_core_sources +=                              \
    src/mpi/datatype/gpu/plan/gpudt_across.c     \
    src/mpi/datatype/gpu/plan/gpudt_divisor.c    \
    src/mpi/datatype/gpu/plan/gpudt_image.c      \
    src/mpi/datatype/gpu/plan/gpudt_plan.c       \
    src/mpi/datatype/gpu/plan/gpudt_plan_box.c   \
    src/mpi/datatype/gpu/plan/gpudt_plan_copies.c \
    src/mpi/datatype/gpu/plan/gpudt_plan_copy.c  \
    src/mpi/datatype/gpu/plan/gpudt_plan_list.c  \
    src/mpi/datatype/gpu/plan/gpudt_plan_pair.c  \
    src/mpi/datatype/gpu/plan/gpudt_plan_reduce.c \
    src/mpi/datatype/gpu/plan/gpudt_plan_shape.c \
    src/mpi/datatype/gpu/plan/gpudt_plan_tree.c  \
    src/mpi/datatype/gpu/plan/gpudt_plan_transpose.c  \
    src/mpi/datatype/gpu/plan/gpudt_strategy.c
endif BUILD_GPUDT_CUDA
