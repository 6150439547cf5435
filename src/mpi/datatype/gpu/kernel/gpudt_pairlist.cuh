/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The body of the pair kernel for sides of which one or both are lists, and the other a box: a thread
 * finds both addresses of a unit and copies it, without shared memory, as between boxes. Entries are
 * found by the list's bitmap, or in a short list by a search for each unit. Compiles as CUDA and as
 * host C++.
 */

#ifndef GPUDT_PAIRLIST_CUH_INCLUDED
#define GPUDT_PAIRLIST_CUH_INCLUDED

#include "gpudt_pairbox.cuh"
#include "gpudt_walk_bitmap.cuh"

/* Add to addr the displacements of bytes at these positions in a list without a bitmap. */
template <int U>
GPUDT_FN void gpudt_lists_search(const struct MPII_Gpudt_args_list &list, const int64_t(&pos)[U],
                                 uint64_t(&addr)[U])
{
    GPUDT_UNROLL
    for (int u = 0; u < U; u++) {
        const int64_t child = gpudt_bits(list).child_of(pos[u]);
        const int64_t entry = gpudt_search(list.prefix, 0, list.nruns, child);
        addr[u] += (uint64_t) (gpudt_entry(list.displ, entry) + pos[u] + child * list.gap);
    }
}

/* Addresses of units first, first + step, and so on, U in all. */
template <int U>
GPUDT_FN void gpudt_lists_locate(const struct MPII_Gpudt_pairlist_side &side, int unit_log,
                                 uint32_t first, uint32_t step, uint64_t(&addr)[U])
{
    if (!side.is_list) {
        GPUDT_UNROLL
        for (int u = 0; u < U; u++)
            addr[u] = gpudt_boxes_locate_one(side.form.box, first + (uint32_t) u * step);
        return;
    }
    const struct MPII_Gpudt_args_list &list = side.form.list;
    int64_t pos[U];

    GPUDT_UNROLL
    for (int u = 0; u < U; u++) {
        const int64_t at =
            list.span.first + ((int64_t) (first + (uint32_t) u * step) << unit_log);
        const int64_t rep = (int64_t) gpudt_div((uint64_t) at, list.by_list);
        pos[u] = at - rep * list.list_size;
        addr[u] = list.span.user + (uint64_t) (rep * list.levels.top.step);
    }
    if (list.groups != 0)
        gpudt_bits(list).look_up<U> (pos, addr);
    else
        gpudt_lists_search<U> (list, pos, addr);
}

/* Copy units first, first + step, and so on, U in all. */
template <class T, int U>
GPUDT_FN void gpudt_lists_copy(const struct MPII_Gpudt_args_pairlist &args, uint32_t first,
                               uint32_t step)
{
    uint64_t from[U], to[U];
    T unit[U];

    gpudt_lists_locate<U> (args.side[0], args.unit_log, first, step, from);
    GPUDT_UNROLL
    for (int u = 0; u < U; u++)
        unit[u] = gpudt_data_load<T>(from[u]);
    gpudt_lists_locate<U> (args.side[1], args.unit_log, first, step, to);
    GPUDT_UNROLL
    for (int u = 0; u < U; u++)
        gpudt_data_store<T>(to[u], unit[u]);
}

template <class T> GPUDT_FN void gpudt_lists_all(const struct MPII_Gpudt_args_pairlist &args)
{
    enum { U = MPII_GPUDT_PAIRLIST_UNROLL };
    const uint32_t step = (uint32_t) args.end.nblocks * MPII_GPUDT_THREADS;
    const uint32_t n = (uint32_t) args.nunits;
    uint32_t i = blockIdx.x * MPII_GPUDT_THREADS + threadIdx.x;

    GPUDT_NO_UNROLL
    for (; i + (U - 1) * step < n; i += U * step)
        gpudt_lists_copy<T, U> (args, i, step);
    GPUDT_NO_UNROLL
    for (; i < n; i += step)
        gpudt_lists_copy<T, 1> (args, i, step);
}

/* The body of the kernel. */
GPUDT_FN void gpudt_lists(const struct MPII_Gpudt_args_pairlist &args)
{
    GPUDT_BY_UNIT(args.unit_log, gpudt_lists_all, args);
}

#endif /* GPUDT_PAIRLIST_CUH_INCLUDED */
