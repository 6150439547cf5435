/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The body of the pair kernel for lists of long runs at one side or both, the other may be a box: a
 * warp moves a chunk of adjacent units, finds the run of the first one in each list together, and each
 * lane follows the runs from there. Compiles as CUDA and as host C++.
 */

#ifndef GPUDT_PAIRRUNS_CUH_INCLUDED
#define GPUDT_PAIRRUNS_CUH_INCLUDED

#include "gpudt_pairlist.cuh"

/* A run of a list, in which positions of the stream have an address. */
struct gpudt_run_at {
    const struct MPII_Gpudt_args_list &list;
    int64_t rep, run;           /* repetition of the list, and entry in it */
    int64_t end;                /* stream position of the first byte behind the run */
    uint64_t ahead;             /* address of a byte of it minus its position */

    GPUDT_METHOD void look_up()
    {
        const int64_t base = rep * list.list_size;
        end = base + gpudt_entry(list.prefix, run + 1) * list.piece;
        ahead = list.span.user + (uint64_t) (rep * list.levels.top.step) +
            (uint64_t) (gpudt_entry(list.displ, run) - base);
    }

    /* The entry that contains `child`. Each round divides the remaining entries into as many parts as
     * there are lanes. */
    GPUDT_METHOD int64_t find(int64_t child) const
    {
        const int lane = (int) threadIdx.x % 32;
        int64_t lo = 0, n = list.nruns;

        while (n > 1) {
            const int64_t step = (n + 31) / 32, at = lane * step;
            const bool is_before = at < n && gpudt_entry(list.prefix, lo + at) <= child;
            const int64_t skip = (__popc(__ballot_sync(0xffffffffu, is_before)) - 1) * step;
            lo += skip;
            n = n - skip < step ? n - skip : step;
        }
        return lo;
    }

    /* The run that contains position pos, which all lanes of a warp have found. */
    GPUDT_METHOD gpudt_run_at(const struct MPII_Gpudt_args_list &list_, int64_t pos):list(list_)
    {
        rep = (int64_t) gpudt_div((uint64_t) pos, list.by_list);
        run = find(gpudt_bits(list).child_of(pos - rep * list.list_size));
        look_up();
    }

    /* The address of a position that is not before this run. */
    GPUDT_METHOD uint64_t follow(int64_t pos)
    {
        GPUDT_NO_UNROLL
        while (pos >= end) {
            if (++run == list.nruns) {
                run = 0;
                rep++;
            }
            look_up();
        }
        return ahead + (uint64_t) pos;
    }
};

/* Addresses of a lane's units of a chunk of n units that begins with unit `first`. */
template <int U>
GPUDT_FN void gpudt_runs_locate(const struct MPII_Gpudt_pairlist_side &side, int unit_log,
                                uint32_t first, uint32_t n, uint64_t(&addr)[U])
{
    const uint32_t lane = threadIdx.x % 32;

    if (!side.is_list) {
        GPUDT_UNROLL
        for (int u = 0; u < U; u++)
            addr[u] = (uint32_t) u * 32 + lane < n ?
                gpudt_boxes_locate_one(side.form.box, first + (uint32_t) u * 32 + lane) : 0;
        return;
    }
    const int64_t begin = side.form.list.span.first + ((int64_t) first << unit_log);
    gpudt_run_at run(side.form.list, begin);

    GPUDT_UNROLL
    for (int u = 0; u < U; u++)
        addr[u] = (uint32_t) u * 32 + lane < n ?
            run.follow(begin + ((int64_t) ((uint32_t) u * 32 + lane) << unit_log)) : 0;
}

template <class T> GPUDT_FN void gpudt_runs_all(const struct MPII_Gpudt_args_pairlist &args)
{
    enum { U = MPII_GPUDT_PAIRRUNS_UNROLL(sizeof(T)) };
    const uint32_t all = (uint32_t) args.nunits, chunk = (uint32_t) args.chunk;
    const uint32_t step = (uint32_t) args.end.nblocks * (MPII_GPUDT_THREADS / 32) * chunk;
    uint32_t first = (blockIdx.x * MPII_GPUDT_THREADS + threadIdx.x) / 32 * chunk;

    GPUDT_NO_UNROLL
    for (; first < all; first += step) {
        const uint32_t n = all - first < chunk ? all - first : chunk;
        uint64_t addr[U];
        T unit[U];

        gpudt_runs_locate<U> (args.side[0], args.unit_log, first, n, addr);
        GPUDT_UNROLL
        for (int u = 0; u < U; u++) {
            if (addr[u] != 0)
                unit[u] = gpudt_data_load<T>(addr[u]);
        }
        gpudt_runs_locate<U> (args.side[1], args.unit_log, first, n, addr);
        GPUDT_UNROLL
        for (int u = 0; u < U; u++) {
            if (addr[u] != 0)
                gpudt_data_store<T>(addr[u], unit[u]);
        }
    }
}

/* The body of the kernel. */
GPUDT_FN void gpudt_runs(const struct MPII_Gpudt_args_pairlist &args)
{
    GPUDT_BY_UNIT(args.unit_log, gpudt_runs_all, args);
}

#endif /* GPUDT_PAIRRUNS_CUH_INCLUDED */
