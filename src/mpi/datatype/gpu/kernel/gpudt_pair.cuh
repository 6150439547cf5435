/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The body of the pair kernels: from datatype to datatype, by tiles of the packed stream in shared
 * memory. One instance of the code serves all forms and unit sizes of a side, which are chosen by
 * uniform branches. Does not know how an address is found. Compiles as CUDA and as host C++.
 */

#ifndef GPUDT_PAIR_CUH_INCLUDED
#define GPUDT_PAIR_CUH_INCLUDED

#include "gpudt_tile.cuh"
#include "gpudt_walk_any.cuh"

struct gpudt_pair_shared {
    gpudt_quad tile[MPII_GPUDT_PAIR_TILE / 16];
    union gpudt_any_shared where;
};

/* A thread's units of a round. */
template <int U> struct gpudt_pair_units {
    int offset[U];              /* of a unit in the tile */
    uint64_t addr[U];           /* its address in user memory */
};

/* Move the units that are completely in bytes [lo, hi) of the tile.
 *   write  (IN)  to user memory, else to the tile */
template <int UNIT, int U>
GPUDT_FN void gpudt_pair_whole(bool write, gpudt_quad *tile,
                               const struct gpudt_pair_units<U> &units, int lo, int hi)
{
    typedef typename gpudt_bytes<UNIT>::type unit_type;
    enum { M = UNIT == 16 && U > 4 ? 4 : U };   /* loads that precede the first store */
    unit_type *const packed = (unit_type *) (void *) tile;
    bool is_whole[U];

    GPUDT_UNROLL
    for (int u = 0; u < U; u++)
        is_whole[u] = units.offset[u] >= lo && units.offset[u] + UNIT <= hi;
    if (write) {
        GPUDT_UNROLL
        for (int u = 0; u < U; u++) {
            if (is_whole[u])
                gpudt_data_store<unit_type>(units.addr[u], packed[units.offset[u] / UNIT]);
        }
        return;
    }
    GPUDT_UNROLL
    for (int u = 0; u < U; u += M) {
        unit_type unit[M] = { };
        GPUDT_UNROLL
        for (int i = 0; i < M; i++) {
            if (is_whole[u + i])
                unit[i] = gpudt_data_load<unit_type>(units.addr[u + i]);
        }
        GPUDT_UNROLL
        for (int i = 0; i < M; i++) {
            if (is_whole[u + i])
                packed[units.offset[u + i] / UNIT] = unit[i];
        }
    }
}

/* Move bytes [lo, hi) of the tile, fewer than 16, of which the first is at addr. */
GPUDT_FN void gpudt_pair_bytes(bool write, gpudt_quad *tile, uint64_t addr, int lo, int hi)
{
    uint8_t *const packed = (uint8_t *) (void *) tile;
    uint8_t byte[15] = { };

    GPUDT_UNROLL
    for (int i = 0; i < 15; i++) {
        if (lo + i < hi)
            byte[i] = write ? packed[lo + i] : gpudt_data_load<uint8_t>(addr + (uint64_t) i);
    }
    GPUDT_UNROLL
    for (int i = 0; i < 15; i++) {
        if (lo + i < hi && write)
            gpudt_data_store<uint8_t>(addr + (uint64_t) i, byte[i]);
        else if (lo + i < hi)
            packed[lo + i] = byte[i];
    }
}

/* Move those bytes of [lo, hi) that are in the unit at `begin`, of which only a part is in the
 * range, if it is one of this thread's. */
template <int U>
GPUDT_FN void gpudt_pair_partial(bool write, gpudt_quad *tile,
                                 const struct gpudt_pair_units<U> &units, int begin, int unit,
                                 int lo, int hi)
{
    uint64_t addr = 0;
    bool is_mine = false;

    GPUDT_UNROLL
    for (int u = 0; u < U; u++) {
        if (units.offset[u] == begin) {
            addr = units.addr[u];
            is_mine = true;
        }
    }
    if (is_mine) {
        const int from = begin > lo ? begin : lo, to = begin + unit < hi ? begin + unit : hi;
        gpudt_pair_bytes(write, tile, addr + (uint64_t) (from - begin), from, to);
    }
}

/* Move the units of a round, as far as they are in bytes [lo, hi) of the tile. */
template <int U>
GPUDT_FN void gpudt_pair_move(bool write, gpudt_quad *tile,
                              const struct gpudt_pair_units<U> &units, int unit_log, int lo,
                              int hi)
{
    const int unit = 1 << unit_log;

    switch (unit_log) {
        case 0:
            gpudt_pair_whole<1, U> (write, tile, units, lo, hi);
            break;
        case 1:
            gpudt_pair_whole<2, U> (write, tile, units, lo, hi);
            break;
        case 2:
            gpudt_pair_whole<4, U> (write, tile, units, lo, hi);
            break;
        case 3:
            gpudt_pair_whole<8, U> (write, tile, units, lo, hi);
            break;
        default:
            gpudt_pair_whole<16, U> (write, tile, units, lo, hi);
            break;
    }
    /* Units that the ends of the range divide: at most two. */
    GPUDT_NO_UNROLL
    for (int i = 0; i < 2 && ((lo | hi) & (unit - 1)) != 0; i++) {
        const int end = i == 0 ? lo : hi;
        if ((end & (unit - 1)) != 0)
            gpudt_pair_partial<U> (write, tile, units, end & -unit, unit, lo, hi);
    }
}

/* Move bytes [lo, hi) of a tile between a side and shared memory. */
template <class I>
GPUDT_FN void gpudt_pair_side(bool write, const struct MPII_Gpudt_pair_side &side,
                              struct gpudt_pair_shared *shared, int64_t base, int lo, int hi)
{
    typedef gpudt_any<I> locator;
    enum { U = locator::U };
    const int unit = 1 << side.unit_log;
    const int first = lo & -unit, last = (hi + unit - 1) & -unit;
    locator where(side, &shared->where, base + side.shift);

    for (int from = first; from < last;) {
        const int to = where.enter(from, last);
        const int count = (to - from) >> side.unit_log;
        for (int begin = 0; begin < count; begin += where.step()) {
            struct gpudt_pair_units<U> units;
            int within[U];
            GPUDT_UNROLL
            for (int u = 0; u < U; u++) {
                const int index = where.index(u);
                const bool exists = index < where.step() && begin + index < count;
                /* Units that do not exist are located, too, as the last one. */
                within[u] = exists ? from + ((begin + index) << side.unit_log) : to - unit;
                units.offset[u] = exists ? within[u] : last;
            }
            where.locate(within, units.addr);
            gpudt_pair_move<U> (write, shared->tile, units, side.unit_log, lo > from ? lo : from,
                                hi < to ? hi : to);
        }
        from = to;
        if (from < last)
            __syncthreads();    /* no thread uses this part any more */
    }
}

/* The body of one kernel. I: type of indices. */
template <class I> GPUDT_FN void gpudt_pair(const struct MPII_Gpudt_args_pair &args)
{
    __shared__ struct gpudt_pair_shared shared;

    for (int64_t tile = blockIdx.x; tile < args.ntiles; tile += args.end.nblocks) {
        const int64_t base = tile * args.tile;
        const int lo = tile == 0 ? args.begin : 0;
        const int hi = gpudt_at_most(args.last - base, args.tile);

        GPUDT_NO_UNROLL
        for (int i = 0; i < 2; i++) {
            gpudt_pair_side<I> (i == 1, args.side[i], &shared, base, lo, hi);
            __syncthreads();    /* publishes the tile; then, the tile may be overwritten */
        }
    }
}

#endif /* GPUDT_PAIR_CUH_INCLUDED */
