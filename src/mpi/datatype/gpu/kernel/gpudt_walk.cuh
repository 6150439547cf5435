/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The *locators*, which compute user addresses from stream positions. There is one for each form in
 * which the plan passes a type. They do not know whether data is packed or unpacked, nor what is
 * done at an address. This file has their common parts, and the locator for nested strides.
 * Compiles as CUDA and as host C++.
 *
 * A locator for units of UNIT bytes offers to a block of threads
 *     WORD, UNROLL        bytes of a word, words that a thread has in flight
 *     STEP                distance in units between a thread's units of a word: 1, or 32 where the
 *                         lanes of a warp have adjacent units
 *     NEIGHBOURS          1: keeps state from one tile to the next
 *     TOGETHER            1: locate several words at once, to have more look-ups in flight
 *     start()             once                                                      (all threads)
 *     enter(pos0, lo, hi) before words [lo, hi) of one tile, counted from stream position pos0, are
 *                         located; returns the end of those that can be, above lo   (all threads)
 *     locate<CHECKED, U>(pos0, first, lo, hi, addr)  addresses of units first[u] + n * STEP,
 *                         counted from pos0, for all units of U words; if CHECKED, undefined for
 *                         units that are not in [lo, hi)
 *     leave()             when all threads are done with these words                (all threads)
 *     point(pos)          address of any byte of the stream
 */

#ifndef GPUDT_WALK_CUH_INCLUDED
#define GPUDT_WALK_CUH_INCLUDED

#include "type/gpudt_record.h"
#include "gpudt_copy.cuh"

GPUDT_FN uint32_t gpudt_div(uint32_t p, const struct MPII_Gpudt_divisor &div)
{
#ifdef __CUDA_ARCH__
    return __umulhi(p << 1, div.magic32) >> div.shift;
#else
    return (uint32_t) (((uint64_t) (p << 1) * div.magic32) >> 32) >> (div.shift & 31);
#endif
}

GPUDT_FN uint64_t gpudt_div(uint64_t p, const struct MPII_Gpudt_divisor &div)
{
#ifdef __CUDA_ARCH__
    return __umul64hi(p << 1, div.magic64) >> div.shift;
#else
    return (uint64_t) (((unsigned __int128) (p << 1) * div.magic64) >> 64) >> div.shift;
#endif
}

/* The same for divisors of at least 2, as levels have: saves one instruction. */
GPUDT_FN uint32_t gpudt_div_many(uint32_t p, const struct MPII_Gpudt_divisor &div)
{
#ifdef __CUDA_ARCH__
    return __umulhi(p, div.magic32) >> (div.shift - 1);
#else
    return gpudt_div(p, div);
#endif
}

GPUDT_FN uint64_t gpudt_div_many(uint64_t p, const struct MPII_Gpudt_divisor &div)
{
#ifdef __CUDA_ARCH__
    return __umul64hi(p, div.magic64) >> (div.shift - 1);
#else
    return gpudt_div(p, div);
#endif
}

/* addr + index * stride. If indices have 32 bits, the plan ensures that strides have, too. This is
 * one instruction then, which the compiler does not find by itself. */
GPUDT_FN uint64_t gpudt_advance(uint64_t addr, uint32_t index, int64_t stride)
{
#ifdef __CUDA_ARCH__
    asm("mad.wide.s32 %0, %1, %2, %0;":"+l"(addr):"r"(index), "r"((int32_t) stride));
    return addr;
#else
    return addr + (uint64_t) ((int64_t) (int32_t) index * (int32_t) stride);
#endif
}

GPUDT_FN uint64_t gpudt_advance(uint64_t addr, uint64_t index, int64_t stride)
{
    return addr + index * (uint64_t) stride;
}

/* The last i in [lo, hi) whose list entry is at most key. Entry lo must be at most key. */
GPUDT_FN int64_t gpudt_search(uint64_t list, int64_t lo, int64_t hi, int64_t key)
{
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (gpudt_entry(list, mid) <= key)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Add to addr the displacements of U units with these indices in level 0. All U units are done
 * level by level, so that U chains of divisions are in flight. */
template <class I, int U>
GPUDT_FN void gpudt_levels(const struct MPII_Gpudt_levels &levels, I(&index)[U],
                           uint64_t(&addr)[U])
{
    GPUDT_UNROLL
    for (int k = 0; k < MPII_GPUDT_MAX_LEVELS - 1; k++) {
        if (k >= levels.nlevels)
            break;
        const struct MPII_Gpudt_level &level = levels.level[k];
        I above[U];
        GPUDT_UNROLL
        for (int u = 0; u < U; u++) {
            addr[u] = gpudt_advance(addr[u], index[u], level.step);
            above[u] = gpudt_div_many(index[u], level.div);
        }
        if (level.displ != 0) {
            GPUDT_UNROLL
            for (int u = 0; u < U; u++)
                addr[u] += (uint64_t)
                    gpudt_entry(level.displ, (int64_t) (index[u] - above[u] * (I) level.count));
        }
        GPUDT_UNROLL
        for (int u = 0; u < U; u++)
            index[u] = above[u];
    }
    GPUDT_UNROLL
    for (int u = 0; u < U; u++)
        addr[u] = gpudt_advance(addr[u], index[u], levels.top.step);
    if (levels.top.displ != 0) {
        GPUDT_UNROLL
        for (int u = 0; u < U; u++)
            addr[u] += (uint64_t) gpudt_entry(levels.top.displ, (int64_t) index[u]);
    }
}

/* Address of a repetition of a list. The first repetition need not be number 0: the plan skips
 * those before the range. */
GPUDT_FN uint64_t gpudt_list_addr(const struct MPII_Gpudt_args_list &args, int64_t rep)
{
    uint64_t index[1] = { (uint64_t) rep };
    uint64_t addr[1] = { args.span.user };
    if (rep > 0 || args.levels.top.displ != 0)
        gpudt_levels<uint64_t, 1> (args.levels, index, addr);
    return addr[0];
}

/* Clamp to a unit that exists: units that are located but not moved still read their lists. */
template <int CHECKED> GPUDT_FN int gpudt_clamp(int at, int lo, int hi)
{
    if (CHECKED) {
        at = at < hi ? at : hi - 1;
        at = at > lo ? at : lo;
    }
    return at;
}

/* Empty functions of most locators. */
template <class ARGS> struct gpudt_plain {
    typedef ARGS args_type;
    struct shared_type {
        int none;
    };

    const ARGS &args;

    GPUDT_METHOD gpudt_plain(const ARGS &args_):args(args_)
    {
    }
    GPUDT_METHOD void start() const
    {
    }
    GPUDT_METHOD int enter(int64_t, int, int hi) const
    {
        return hi;
    }
    GPUDT_METHOD void leave() const
    {
    }
};

/* Nested strides: no state between words, each unit is found independently. */
template <class I, int UNIT, int UNPACK>
struct gpudt_box:public gpudt_plain<struct MPII_Gpudt_args_box> {
    typedef gpudt_plain<struct MPII_Gpudt_args_box> base;
    enum {
        WORD = MPII_GPUDT_WORD_BOX(UNIT), UNROLL = MPII_GPUDT_UNROLL_BOX(UNIT, UNPACK),
        N = WORD / UNIT, STEP = UNPACK && N > 1 ? 32 : 1, NEIGHBOURS = 0, TOGETHER = 1
    };

    GPUDT_METHOD gpudt_box(const args_type &args_, shared_type *):base(args_)
    {
    }

    /* The units of U words, each of which spans at most two runs. */
    template <int CHECKED, int U>
    GPUDT_METHOD void locate_runs(I unit0, const int (&first)[U], int lo, int hi,
                                  uint64_t(&addr)[U * N]) const
    {
        I index[2 * U];
        uint64_t from[2 * U];
        int left[U];

        GPUDT_UNROLL
        for (int u = 0; u < U; u++) {
            const I at = unit0 + (I) gpudt_clamp<CHECKED> (first[u], lo, hi - N + 1);
            const I run = (I) args.run;
            const I rest = run - (at - gpudt_div_many(at, args.levels.level[0].div) * run);
            left[u] = rest < N ? (int) rest : N;
            index[2 * u] = at;
            index[2 * u + 1] = left[u] < N ? at + left[u] : at;
            from[2 * u] = args.span.user;
            from[2 * u + 1] = args.span.user - (uint64_t) (left[u] * UNIT);
        }
        gpudt_levels<I, 2 * U> (args.levels, index, from);
        GPUDT_UNROLL
        for (int i = 0; i < U * N; i++)
            addr[i] = (i % N < left[i / N] ? from[i / N * 2] : from[i / N * 2 + 1]) + i % N * UNIT;
    }

    template <int CHECKED, int U>
    GPUDT_METHOD void locate(int64_t pos0, const int (&first)[U], int lo, int hi,
                             uint64_t(&addr)[U * N]) const
    {
        const I unit0 = (I) (pos0 / UNIT);
        if (N > 2 && STEP == 1 && args.run >= N - 1) {
            locate_runs<CHECKED, U> (unit0, first, lo, hi, addr);
        } else {
            I index[U * N];
            GPUDT_UNROLL
            for (int i = 0; i < U * N; i++) {
                index[i] = unit0 + (I) gpudt_clamp<CHECKED> (first[i / N] + i % N * STEP, lo, hi);
                addr[i] = args.span.user;
            }
            gpudt_levels<I, U * N> (args.levels, index, addr);
        }
    }

    GPUDT_METHOD uint64_t point(int64_t pos) const
    {
        I index[1] = { (I) (pos / UNIT) };
        uint64_t addr[1] = { args.span.user + (uint64_t) (pos % UNIT) };
        gpudt_levels<I, 1> (args.levels, index, addr);
        return addr[0];
    }
};

template <int UNIT, int UNPACK> using gpudt_box32 = gpudt_box<uint32_t, UNIT, UNPACK>;
template <int UNIT, int UNPACK> using gpudt_box64 = gpudt_box<uint64_t, UNIT, UNPACK>;

#endif /* GPUDT_WALK_CUH_INCLUDED */
