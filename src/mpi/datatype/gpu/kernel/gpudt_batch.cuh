/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The body of the batch kernel: moves of several datatypes, distributed among the blocks of one
 * launch. Each block reads the parameters of its move and does what a block of the move's own kernel
 * would do. Compiles as CUDA and as host C++.
 */

#ifndef GPUDT_BATCH_CUH_INCLUDED
#define GPUDT_BATCH_CUH_INCLUDED

#include "gpudt_copies.cuh"
#include "gpudt_kernel_list.h"
#include "gpudt_move.cuh"
#include "gpudt_pairbox.cuh"
#include "gpudt_walk_tree.cuh"

/* Shared memory for the locator of any move. */
typedef gpudt_tree32<16, 0>::shared_type gpudt_batch_shared;

/* Not inlined: the kernel would need the registers of all of them at once. */
#ifdef __CUDACC__
#define GPUDT_BATCH_FN static __device__ __noinline__
#else
#define GPUDT_BATCH_FN static
#endif

template <class T, int UNIT, int UNPACK>
GPUDT_BATCH_FN void gpudt_batch_move(const typename T::args_type &args, uint32_t block,
                                     void *shared)
{
    static_assert(sizeof(typename T::shared_type) <= sizeof(gpudt_batch_shared), "it has room");
    gpudt_move_block<T, UNIT, UNPACK> (args, block, (typename T::shared_type *) shared);
}

GPUDT_BATCH_FN void gpudt_batch_boxes(const struct MPII_Gpudt_args_pairbox &args, uint32_t block)
{
    gpudt_boxes_block(args, block);
}

#define GPUDT_BATCH_CASES(family_, unit_, locator_, args_)                                      \
    case MPII_GPUDT_KERNEL__ ## family_ ## _ ## unit_ ## _PACK:                                 \
        gpudt_batch_move<locator_<unit_, 0>, unit_, 0> (entry.args.args_, block, &shared);      \
        break;                                                                                  \
    case MPII_GPUDT_KERNEL__ ## family_ ## _ ## unit_ ## _UNPACK:                               \
        gpudt_batch_move<locator_<unit_, 1>, unit_, 1> (entry.args.args_, block, &shared);      \
        break;

GPUDT_FN void gpudt_batch_do(const struct MPII_Gpudt_args_batch &args)
{
    __shared__ struct MPII_Gpudt_entry entry;
    __shared__ gpudt_batch_shared shared;
    const int which = gpudt_move_of_block(args.first, args.nentries);
    const uint64_t from = args.entries + (uint64_t) which * sizeof(struct MPII_Gpudt_entry);
    for (int i = (int) threadIdx.x; i < args.words[which]; i += MPII_GPUDT_THREADS)
        ((uint64_t *) (void *) &entry)[i] = args.entries == 0 ?
            args.entry[(uint32_t) which * args.stride + (uint32_t) i] :
            gpudt_load<uint64_t>(from + 8 * (uint64_t) i);
    __syncthreads();            /* publishes entry */

    const uint32_t block = blockIdx.x - args.first[which];
    if (entry.kernel == MPII_GPUDT_KERNEL__COPIES) {
        gpudt_copy_block(entry.args.copy, block);
        gpudt_finish(entry.args.copy.end);
        return;
    }
    if (entry.kernel == MPII_GPUDT_KERNEL__PAIRBOX) {
        gpudt_batch_boxes(entry.args.pairbox, block);
        gpudt_finish(entry.args.pairbox.end);
        return;
    }
    switch (entry.kernel) {
            MPII_GPUDT_KERNEL_BATCHED(GPUDT_BATCH_CASES)
    }
    gpudt_finish(entry.args.span.end);
}

#undef GPUDT_BATCH_CASES
#undef GPUDT_BATCH_FN

#endif /* GPUDT_BATCH_CUH_INCLUDED */
