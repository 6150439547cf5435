/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The entry points of the kernels, nothing else. Compiled by nvcc to the fat binary that is
 * embedded in the library, and by the host's C++ compiler for the emulated driver.
 */

#ifndef __CUDACC__
#include "emu_cuda.h"
#endif

#include "gpudt_batch.cuh"
#include "gpudt_combine.cuh"
#include "gpudt_copies.cuh"
#include "gpudt_pair.cuh"
#include "gpudt_pairbox.cuh"
#include "gpudt_pairlist.cuh"
#include "gpudt_pairruns.cuh"
#include "gpudt_reduce.cuh"
#include "gpudt_transpose.cuh"
#include "gpudt_update.cuh"
#include "gpudt_walk_list.cuh"
#include "gpudt_walk_bitmap.cuh"

#define GPUDT_PACK(name_, args_, body_, ...)                                                    \
    extern "C" __global__ void __launch_bounds__(MPII_GPUDT_THREADS, ## __VA_ARGS__)            \
    name_ ## _pack(const __grid_constant__ struct MPII_Gpudt_args_ ## args_ args)               \
    {                                                                                           \
        body_(args);                                                                            \
        gpudt_finish(args.span.end, &args.span.semaphore);                                      \
    }

#define GPUDT_UNPACK(name_, args_, body_, ...)                                                  \
    extern "C" __global__ void __launch_bounds__(MPII_GPUDT_THREADS, ## __VA_ARGS__)            \
    name_ ## _unpack(const __grid_constant__ struct MPII_Gpudt_args_ ## args_ args)             \
    {                                                                                           \
        gpudt_wait(args.span.semaphore);                                                        \
        body_(args);                                                                            \
        gpudt_finish(args.span.end);                                                            \
    }

#define GPUDT_FAMILY(family_, unit_, locator_, args_)                                           \
    GPUDT_PACK(gpudt_ ## family_ ## _ ## unit_, args_, (gpudt_move<locator_<unit_, 0>, unit_, 0>)) \
    GPUDT_UNPACK(gpudt_ ## family_ ## _ ## unit_, args_, (gpudt_move<locator_<unit_, 1>, unit_, 1>))

#define GPUDT_TRANSPOSE(family_, unit_, locator_, args_)                                        \
    GPUDT_PACK(gpudt_ ## family_ ## _ ## unit_, args_, (gpudt_transpose<unit_, 0>),             \
               MPII_GPUDT_TRANSPOSE_BLOCKS)                                                     \
    GPUDT_UNPACK(gpudt_ ## family_ ## _ ## unit_, args_, (gpudt_transpose<unit_, 1>),           \
                 MPII_GPUDT_TRANSPOSE_BLOCKS)

MPII_GPUDT_KERNEL_FAMILIES(GPUDT_FAMILY)
MPII_GPUDT_KERNEL_TRANSPOSES(GPUDT_TRANSPOSE)

#define GPUDT_PAIR(name_, body_, args_, id_)                                                    \
    extern "C" __global__ void __launch_bounds__(MPII_GPUDT_THREADS, MPII_GPUDT_PAIR_BLOCKS)    \
    gpudt_ ## name_(const __grid_constant__ struct MPII_Gpudt_args_ ## args_ args)              \
    {                                                                                           \
        body_(args);                                                                            \
        gpudt_finish(args.end);                                                                 \
    }

MPII_GPUDT_KERNEL_PAIRS(GPUDT_PAIR)

#define GPUDT_REDUCE(name_)                                                                     \
    extern "C" __global__ void __launch_bounds__(MPII_GPUDT_THREADS, MPII_GPUDT_REDUCE_BLOCKS)  \
    gpudt_reduce_ ## name_(const __grid_constant__ struct MPII_Gpudt_args_reduce args)          \
    {                                                                                           \
        gpudt_reduce<gpudt_ ## name_> (args);                                                   \
        gpudt_finish(args.end);                                                                 \
    }

MPII_GPUDT_KERNEL_REDUCES(GPUDT_REDUCE)

#define GPUDT_COMBINE(name_)                                                                    \
    extern "C" __global__ void __launch_bounds__(MPII_GPUDT_THREADS, MPII_GPUDT_COMBINE_BLOCKS) \
    gpudt_combine_ ## name_(const __grid_constant__ struct MPII_Gpudt_args_combine args)        \
    {                                                                                           \
        gpudt_combine<gpudt_ ## name_> (args);                                                  \
        gpudt_finish(args.end);                                                                 \
    }

MPII_GPUDT_KERNEL_REDUCES(GPUDT_COMBINE)

#define GPUDT_UPDATE(name_)                                                                     \
    extern "C" __global__ void __launch_bounds__(MPII_GPUDT_THREADS, MPII_GPUDT_REDUCE_BLOCKS)  \
    gpudt_update_ ## name_(const __grid_constant__ struct MPII_Gpudt_args_update args)          \
    {                                                                                           \
        gpudt_update<gpudt_ ## name_> (args);                                                   \
        gpudt_finish(args.end);                                                                 \
    }

MPII_GPUDT_KERNEL_REDUCES(GPUDT_UPDATE)

extern "C" __global__ void __launch_bounds__(MPII_GPUDT_THREADS)
gpudt_copies_few(const __grid_constant__ struct MPII_Gpudt_args_copies_few args)
{
    gpudt_copies_do(args);
}

extern "C" __global__ void __launch_bounds__(MPII_GPUDT_THREADS)
gpudt_copies(const __grid_constant__ struct MPII_Gpudt_args_copies args)
{
    gpudt_copies_do(args);
}

extern "C" __global__ void __launch_bounds__(MPII_GPUDT_THREADS, MPII_GPUDT_BATCH_BLOCKS)
gpudt_batch(const __grid_constant__ struct MPII_Gpudt_args_batch args)
{
    gpudt_batch_do(args);
    gpudt_finish(args.end);
}
