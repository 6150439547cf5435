/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The body of the kernel for copies of contiguous memory, distributed among the blocks of one launch.
 * As little code as possible: what a short kernel takes is mostly the time to fetch its instructions.
 * Compiles as CUDA and as host C++.
 */

#ifndef GPUDT_COPIES_CUH_INCLUDED
#define GPUDT_COPIES_CUH_INCLUDED

#include "gpudt_copy.cuh"

/* The part of a block in a copy, in units that are aligned on both sides, and the bytes before the
 * first unit and after the last one. Units are counted from a multiple of 16 bytes. */
template <class W>
GPUDT_FN void gpudt_copy_units(const struct MPII_Gpudt_args_copy &copy, uint32_t block)
{
    enum { U = MPII_GPUDT_COPY_UNROLL };
    const uint64_t shift = copy.src - copy.dst, end = copy.dst + (uint64_t) copy.bytes;
    const uint64_t low = (copy.dst + sizeof(W) - 1) / sizeof(W) * sizeof(W);
    const uint64_t high = end / sizeof(W) * sizeof(W);
    const uint64_t base = copy.dst / 16 * 16 +
        ((uint64_t) block * MPII_GPUDT_COPY_UNITS + threadIdx.x) * sizeof(W);
    W unit[U] = { };

    GPUDT_UNROLL
    for (int u = 0; u < U; u++) {
        const uint64_t at = base + (uint64_t) u * MPII_GPUDT_THREADS * sizeof(W);
        if (at >= low && at < high)
            unit[u] = gpudt_data_load<W>(at + shift);
    }
    GPUDT_UNROLL
    for (int u = 0; u < U; u++) {
        const uint64_t at = base + (uint64_t) u * MPII_GPUDT_THREADS * sizeof(W);
        if (at >= low && at < high)
            gpudt_data_store<W>(at, unit[u]);
    }
    if (block == 0 && threadIdx.x < 2 * 16) {
        const bool is_head = threadIdx.x < 16;
        const uint64_t at = is_head ? copy.dst + threadIdx.x :
            (high > low ? high : low) + threadIdx.x - 16;
        if (at < end && (!is_head || at < low))
            gpudt_data_store<uint8_t>(at, gpudt_data_load<uint8_t>(at + shift));
    }
}

GPUDT_FN void gpudt_copy_block(const struct MPII_Gpudt_args_copy &copy, uint32_t block)
{
    const uint32_t apart = (uint32_t) (copy.src ^ copy.dst);

    if (apart % 16 == 0)
        gpudt_copy_units<gpudt_quad> (copy, block);
    else if (apart % 8 == 0)
        gpudt_copy_units<uint64_t> (copy, block);
    else
        gpudt_copy_units<uint32_t> (copy, block);
}

/* The move of a block of threads, given the first block of each of n moves. */
GPUDT_FN int gpudt_move_of_block(const uint32_t *first, int n)
{
    int lo = 0, hi = n;

    while (hi - lo > 1) {
        const int mid = (lo + hi) / 2;
        if (first[mid] <= blockIdx.x)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

template <class ARGS> GPUDT_FN void gpudt_copies_do(const ARGS &args)
{
    const int i = gpudt_move_of_block(args.first, args.n);

    gpudt_copy_block(args.copy[i], blockIdx.x - args.first[i]);
    gpudt_finish(args.copy[i].end);
    gpudt_finish(args.end);
}

#endif /* GPUDT_COPIES_CUH_INCLUDED */
