##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

noinst_HEADERS +=                                 \
    src/mpi/datatype/gpu/transfer/gpudt_batch.h   \
    src/mpi/datatype/gpu/transfer/gpudt_buffer_impl.h \
    src/mpi/datatype/gpu/transfer/gpudt_choice.h  \
    src/mpi/datatype/gpu/transfer/gpudt_data.h    \
    src/mpi/datatype/gpu/transfer/gpudt_flight.h  \
    src/mpi/datatype/gpu/transfer/gpudt_hostcopy.h \
    src/mpi/datatype/gpu/transfer/gpudt_lane.h    \
    src/mpi/datatype/gpu/transfer/gpudt_launch.h  \
    src/mpi/datatype/gpu/transfer/gpudt_move.h    \
    src/mpi/datatype/gpu/transfer/gpudt_offer.h   \
    src/mpi/datatype/gpu/transfer/gpudt_op.h      \
    src/mpi/datatype/gpu/transfer/gpudt_pair.h    \
    src/mpi/datatype/gpu/transfer/gpudt_plan_cache.h \
    src/mpi/datatype/gpu/transfer/gpudt_reduce_impl.h \
    src/mpi/datatype/gpu/transfer/gpudt_route.h   \
    src/mpi/datatype/gpu/transfer/gpudt_rowcopy.h \
    src/mpi/datatype/gpu/transfer/gpudt_run.h     \
    src/mpi/datatype/gpu/transfer/gpudt_side.h    \
    src/mpi/datatype/gpu/transfer/gpudt_slot.h    \
    src/mpi/datatype/gpu/transfer/gpudt_start.h   \
    src/mpi/datatype/gpu/transfer/gpudt_step.h    \
    src/mpi/datatype/gpu/transfer/gpudt_stream.h  \
    src/mpi/datatype/gpu/transfer/gpudt_timing.h  \
    src/mpi/datatype/gpu/transfer/gpudt_update_impl.h \
    src/mpi/datatype/gpu/transfer/gpudt_window_impl.h \
    src/mpi/datatype/gpu/transfer/gpudt_within.h

if BUILD_GPUDT_CUDA
mpi_core_sources +=                                \
    src/mpi/datatype/gpu/transfer/gpudt_batch.c    \
    src/mpi/datatype/gpu/transfer/gpudt_buffer.c   \
    src/mpi/datatype/gpu/transfer/gpudt_choice.c   \
    src/mpi/datatype/gpu/transfer/gpudt_combine.c  \
    src/mpi/datatype/gpu/transfer/gpudt_data.c     \
    src/mpi/datatype/gpu/transfer/gpudt_direct.c   \
    src/mpi/datatype/gpu/transfer/gpudt_external.c \
    src/mpi/datatype/gpu/transfer/gpudt_flight.c   \
    src/mpi/datatype/gpu/transfer/gpudt_hostcopy.c \
    src/mpi/datatype/gpu/transfer/gpudt_lane.c     \
    src/mpi/datatype/gpu/transfer/gpudt_launch.c   \
    src/mpi/datatype/gpu/transfer/gpudt_op.c       \
    src/mpi/datatype/gpu/transfer/gpudt_pack.c     \
    src/mpi/datatype/gpu/transfer/gpudt_pair.c     \
    src/mpi/datatype/gpu/transfer/gpudt_plan_cache.c \
    src/mpi/datatype/gpu/transfer/gpudt_poll.c     \
    src/mpi/datatype/gpu/transfer/gpudt_pull_series.c \
    src/mpi/datatype/gpu/transfer/gpudt_reduce.c   \
    src/mpi/datatype/gpu/transfer/gpudt_reduce_gpu.c \
    src/mpi/datatype/gpu/transfer/gpudt_reduction.c \
    src/mpi/datatype/gpu/transfer/gpudt_route.c    \
    src/mpi/datatype/gpu/transfer/gpudt_rowcopy.c  \
    src/mpi/datatype/gpu/transfer/gpudt_run.c      \
    src/mpi/datatype/gpu/transfer/gpudt_side.c     \
    src/mpi/datatype/gpu/transfer/gpudt_series.c   \
    src/mpi/datatype/gpu/transfer/gpudt_slot.c     \
    src/mpi/datatype/gpu/transfer/gpudt_stage.c    \
    src/mpi/datatype/gpu/transfer/gpudt_start.c    \
    src/mpi/datatype/gpu/transfer/gpudt_step.c     \
    src/mpi/datatype/gpu/transfer/gpudt_storage.c  \
    src/mpi/datatype/gpu/transfer/gpudt_stream.c   \
    src/mpi/datatype/gpu/transfer/gpudt_temp.c     \
    src/mpi/datatype/gpu/transfer/gpudt_timing.c   \
    src/mpi/datatype/gpu/transfer/gpudt_update.c   \
    src/mpi/datatype/gpu/transfer/gpudt_update_parts.c \
    src/mpi/datatype/gpu/transfer/gpudt_way.c      \
    src/mpi/datatype/gpu/transfer/gpudt_window.c   \
    src/mpi/datatype/gpu/transfer/gpudt_within.c
endif BUILD_GPUDT_CUDA
