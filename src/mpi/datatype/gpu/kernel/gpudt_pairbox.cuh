/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The body of the pair kernel for two boxes: a thread finds both addresses of a unit and copies it,
 * without shared memory. Small, because the first pass through code costs the time to fetch it from
 * memory, which is most of a short message's time. Compiles as CUDA and as host C++.
 */

#ifndef GPUDT_PAIRBOX_CUH_INCLUDED
#define GPUDT_PAIRBOX_CUH_INCLUDED

#include "gpudt_walk.cuh"

/* Call a function template with the type of a unit of 1 << unit_log_ bytes, and the rest as its parameters. */
#define GPUDT_BY_UNIT(unit_log_, fn_, ...)      \
    switch (unit_log_) {                        \
        case 0:                                 \
            fn_<uint8_t>(__VA_ARGS__);          \
            break;                              \
        case 1:                                 \
            fn_<uint16_t>(__VA_ARGS__);         \
            break;                              \
        case 2:                                 \
            fn_<uint32_t>(__VA_ARGS__);         \
            break;                              \
        case 3:                                 \
            fn_<uint64_t>(__VA_ARGS__);         \
            break;                              \
        default:                                \
            fn_<gpudt_quad>(__VA_ARGS__);       \
            break;                              \
    }

template <int U>
GPUDT_FN void gpudt_boxes_locate(const struct MPII_Gpudt_pairbox_side &side, uint32_t first,
                                 uint32_t step, uint32_t n, uint64_t(&addr)[U])
{
    uint32_t index[U];

    GPUDT_UNROLL
    for (int u = 0; u < U; u++) {
        const uint32_t at = first + (uint32_t) u * step;
        index[u] = (uint32_t) side.first + (at < n ? at : n - 1);
        addr[u] = side.user;
    }
    gpudt_levels<uint32_t, U> (side.levels, index, addr);
}

/* The address of one unit. One code for all levels: a message of up to a unit for each thread passes
 * through it once, and the time to fetch code that is unrolled would be longer than its own. */
GPUDT_FN uint64_t gpudt_boxes_locate_one(const struct MPII_Gpudt_pairbox_side &side, uint32_t at)
{
    uint32_t index = (uint32_t) side.first + at;
    uint64_t addr = side.user;

    GPUDT_NO_UNROLL
    for (int k = 0; k < side.levels.nlevels; k++) {
        const struct MPII_Gpudt_level &level = side.levels.level[k];
        const uint32_t above = gpudt_div_many(index, level.div);
        addr = gpudt_advance(addr, index, level.step);
        if (level.displ != 0)
            addr += (uint64_t)
                gpudt_entry(level.displ, (int64_t) (index - above * (uint32_t) level.count));
        index = above;
    }
    addr = gpudt_advance(addr, index, side.levels.top.step);
    if (side.levels.top.displ != 0)
        addr += (uint64_t) gpudt_entry(side.levels.top.displ, (int64_t) index);
    return addr;
}

/* Copy units first, first + step, and so on, U at most, of those before n. Those that do not exist are
 * located as the last one is, so that no load waits for another one. */
template <class T, int U>
GPUDT_FN void gpudt_boxes_copy(const struct MPII_Gpudt_args_pairbox &args, uint32_t first,
                               uint32_t step, uint32_t n)
{
    uint64_t addr[U];
    T unit[U];

    gpudt_boxes_locate<U> (args.side[0], first, step, n, addr);
    GPUDT_UNROLL
    for (int u = 0; u < U; u++) {
        if (first + (uint32_t) u * step < n)
            unit[u] = gpudt_data_load<T>(addr[u]);
    }
    if (args.is_alike) {
        GPUDT_UNROLL
        for (int u = 0; u < U; u++)
            addr[u] += args.side[1].user - args.side[0].user;
    } else {
        gpudt_boxes_locate<U> (args.side[1], first, step, n, addr);
    }
    GPUDT_UNROLL
    for (int u = 0; u < U; u++) {
        if (first + (uint32_t) u * step < n)
            gpudt_data_store<T>(addr[u], unit[u]);
    }
}

template <class T>
GPUDT_FN void gpudt_boxes_all(const struct MPII_Gpudt_args_pairbox &args, uint32_t block)
{
    enum { U = MPII_GPUDT_PAIRBOX_UNROLL };
    const uint32_t step = (uint32_t) args.end.nblocks * MPII_GPUDT_THREADS;
    const uint32_t n = (uint32_t) args.nunits;
    uint32_t i = block * MPII_GPUDT_THREADS + threadIdx.x;

    GPUDT_NO_UNROLL
    for (; i + 2 * step < n; i += U * step)
        gpudt_boxes_copy<T, U> (args, i, step, n);
    GPUDT_NO_UNROLL
    for (; i < n; i += step) {
        const uint64_t from = gpudt_boxes_locate_one(args.side[0], i);
        const T unit = gpudt_data_load<T>(from);
        gpudt_data_store<T>(args.is_alike ? from + (args.side[1].user - args.side[0].user) :
                            gpudt_boxes_locate_one(args.side[1], i), unit);
    }
}

/* What block number `block` of the kernel does. */
GPUDT_FN void gpudt_boxes_block(const struct MPII_Gpudt_args_pairbox &args, uint32_t block)
{
    GPUDT_BY_UNIT(args.unit_log, gpudt_boxes_all, args, block);
}

/* The body of the kernel. */
GPUDT_FN void gpudt_boxes(const struct MPII_Gpudt_args_pairbox &args)
{
    gpudt_boxes_block(args, blockIdx.x);
}

#endif /* GPUDT_PAIRBOX_CUH_INCLUDED */
