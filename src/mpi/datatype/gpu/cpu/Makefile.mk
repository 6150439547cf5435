##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

noinst_HEADERS +=                              \
    src/mpi/datatype/gpu/cpu/gpudt_cpu.h       \
    src/mpi/datatype/gpu/cpu/gpudt_cpu_copy.h  \
    src/mpi/datatype/gpu/cpu/gpudt_cpu_list.h  \
    src/mpi/datatype/gpu/cpu/gpudt_cpu_nest.h  \
    src/mpi/datatype/gpu/cpu/gpudt_cpu_pair.h  \
    src/mpi/datatype/gpu/cpu/gpudt_cpu_range.h

mpi_core_sources +=                               \
    src/mpi/datatype/gpu/cpu/gpudt_cpu.c          \
    src/mpi/datatype/gpu/cpu/gpudt_cpu_external.c \
    src/mpi/datatype/gpu/cpu/gpudt_cpu_iov.c      \
    src/mpi/datatype/gpu/cpu/gpudt_cpu_list.c     \
    src/mpi/datatype/gpu/cpu/gpudt_cpu_nest.c     \
    src/mpi/datatype/gpu/cpu/gpudt_cpu_pack.c     \
    src/mpi/datatype/gpu/cpu/gpudt_cpu_pair.c
