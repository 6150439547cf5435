/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The body of all kernels except the transpose kernels: words composed of units that a locator
 * finds. One code path with the direction as a parameter. Does not know how a locator finds an
 * address.
 */

#ifndef GPUDT_MOVE_CUH_INCLUDED
#define GPUDT_MOVE_CUH_INCLUDED

#include "gpudt_tile.cuh"

/* The units that a thread stores, of the words that the lanes of its warp have loaded. With STEP 1
 * they are those of its own word; with STEP 32 they come from other lanes. All lanes of a warp must
 * make this call. */
template <int UNIT, int WORD, int STEP> struct gpudt_deal:public gpudt_split<UNIT, WORD> {
};

template <int UNIT> struct gpudt_deal<UNIT, 4, 32> {
    static GPUDT_METHOD void cut(uint32_t word, typename gpudt_bytes<UNIT>::type *unit)
    {
        enum { N = 4 / UNIT };
        const int lane = (int) threadIdx.x % 32;

        GPUDT_UNROLL
        for (int n = 0; n < N; n++)
            unit[n] = (typename gpudt_bytes<UNIT>::type)
                (__shfl_sync(0xffffffffu, word, n * (32 / N) + lane / N) >>
                 (8 * UNIT * (lane % N)));
    }
};

/* The words of a tile that one thread moves: word `base` + its lane, and every MPII_GPUDT_THREADS
 * words from there, U times. CHECKED: only those of them that are in the range. */
template <class T, int UNIT, int UNPACK, int U, int CHECKED> struct gpudt_words {
    enum { WORD = T::WORD, N = T::N, STEP = T::STEP };
    typedef typename gpudt_bytes<UNIT>::type unit_type;
    typedef typename gpudt_bytes<WORD>::type word_type;

    static GPUDT_METHOD int at(int base, int u)
    {
        return base + u * MPII_GPUDT_THREADS + (int) threadIdx.x % 32;
    }

    /* The thread's first unit of a word. */
    static GPUDT_METHOD int first(int word)
    {
        const int lane = (int) threadIdx.x % 32;
        return STEP == 1 ? word * N : (word - lane) * N + lane;
    }

    /* Load the packed words that a thread unpacks, before their destination is known. */
    static GPUDT_METHOD void load(const struct MPII_Gpudt_span &span,
                                  const struct gpudt_tile &tile, int base, word_type *word)
    {
        const uint64_t packed = span.packed + (uint64_t) tile.pos0;

        GPUDT_UNROLL
        for (int u = 0; u < U; u++) {
            if (!CHECKED || (at(base, u) >= tile.lo && at(base, u) < tile.hi))
                word[u] = gpudt_data_load<word_type>(packed + (uint32_t) (at(base, u) * WORD));
        }
    }

    static GPUDT_METHOD void unpack(T &where, const struct gpudt_tile &tile, int base, int end,
                                    const word_type *word)
    {
        /* Words of several units give enough independent work one by one. */
        enum { G = T::TOGETHER && N == 1 ? U : 1 };

        GPUDT_UNROLL
        for (int u = 0; u < U; u += G) {
            uint64_t addr[G * N];
            unit_type unit[G * N];
            int begin[G];

            GPUDT_UNROLL
            for (int g = 0; g < G; g++)
                begin[g] = first(at(base, u + g));
            where.template locate<CHECKED, G> (tile.pos0, begin, tile.lo * N, end * N, addr);
            GPUDT_UNROLL
            for (int g = 0; g < G; g++)
                gpudt_deal<UNIT, WORD, STEP>::cut(word[u + g], &unit[g * N]);
            GPUDT_UNROLL
            for (int i = 0; i < G * N; i++) {
                const int which = begin[i / N] + i % N * STEP;
                if (!CHECKED || (which >= tile.lo * N && which < end * N))
                    gpudt_data_store<unit_type>(addr[i], unit[i]);
            }
        }
    }

    /* All loads precede the first store, so that they are in flight together. */
    static GPUDT_METHOD void pack(const struct MPII_Gpudt_span &span, T &where,
                                  const struct gpudt_tile &tile, int base, int end)
    {
        const uint64_t packed = span.packed + (uint64_t) tile.pos0;
        enum { G = T::TOGETHER ? U : 1 };
        unit_type unit[U * N] = { };

        GPUDT_UNROLL
        for (int u = 0; u < U; u += G) {
            uint64_t addr[G * N];
            int begin[G];

            GPUDT_UNROLL
            for (int g = 0; g < G; g++)
                begin[g] = first(at(base, u + g));
            where.template locate<CHECKED, G> (tile.pos0, begin, tile.lo * N, end * N, addr);
            GPUDT_UNROLL
            for (int i = 0; i < G * N; i++) {
                if (!CHECKED || (at(base, u + i / N) >= tile.lo && at(base, u + i / N) < end))
                    unit[u * N + i] = gpudt_data_load<unit_type>(addr[i]);
            }
        }
        GPUDT_UNROLL
        for (int u = 0; u < U; u++) {
            if (!CHECKED || (at(base, u) >= tile.lo && at(base, u) < end))
                gpudt_data_store<word_type>(packed + (uint32_t) (at(base, u) * WORD),
                                       gpudt_split<UNIT, WORD>::join(&unit[u * N]));
        }
    }
};

/* Adjacent threads move adjacent words of packed memory. In full tiles inside the range, a thread
 * moves several words at a time. In other tiles it moves one: this is little code, and sufficient
 * for small messages. Full tiles are whole numbers of rounds. */
template <class T, int UNIT, int UNPACK> struct gpudt_mover {
    enum { WORD = T::WORD, U = T::UNROLL };
    typedef gpudt_words<T, UNIT, UNPACK, U, 0> many;
    typedef gpudt_words<T, UNIT, UNPACK, 1, 1> single;
    typedef typename gpudt_bytes<WORD>::type word_type;

    const struct MPII_Gpudt_span &span;
    int warp;                   /* first thread of this warp */
    bool is_large;              /* full tiles are whole numbers of rounds of several words */

    GPUDT_METHOD gpudt_mover(const struct MPII_Gpudt_span &span_):span(span_),
        warp((int) threadIdx.x / 32 * 32), is_large(span.tile % (U * MPII_GPUDT_THREADS) == 0)
    {
    }

    /* Load the first packed words to unpack. */
    GPUDT_METHOD void begin(const struct gpudt_tile &tile, word_type *word) const
    {
        if (is_large && tile.is_whole)
            many::load(span, tile, warp, word);
        else
            single::load(span, tile, warp, word);
    }

    /* Move the words of a tile up to `end`, in rounds of all threads. */
    template <class W, int STEP>
    GPUDT_METHOD void pack(T &where, const struct gpudt_tile &tile, int end) const
    {
        for (int base = warp; base < end; base += STEP)
            W::pack(span, where, tile, base, end);
    }

    /* The same, with the words of the first round already loaded. */
    template <class W, int STEP>
    GPUDT_METHOD void unpack(T &where, const struct gpudt_tile &tile, int end,
                             word_type *word) const
    {
        for (int base = warp; base < end; base += STEP) {
            if (base > warp)
                W::load(span, tile, base, word);
            W::unpack(where, tile, base, end, word);
        }
    }

    /* All lanes of a warp participate, since they may exchange units. */
    GPUDT_METHOD void words(T &where, const struct gpudt_tile &tile, int end, word_type *word) const
    {
        const bool is_full = is_large && tile.is_whole && end == tile.hi;

        if (!UNPACK && is_full)
            pack<many, U * MPII_GPUDT_THREADS> (where, tile, end);
        else if (!UNPACK)
            pack<single, MPII_GPUDT_THREADS> (where, tile, end);
        else if (is_full)
            unpack<many, U * MPII_GPUDT_THREADS> (where, tile, end, word);
        else
            unpack<single, MPII_GPUDT_THREADS> (where, tile, end, word);
    }
};

template <class T, int UNIT, int UNPACK>
GPUDT_FN void gpudt_move_block(const typename T::args_type &args, uint32_t block,
                               typename T::shared_type *shared)
{
    enum { WORD = T::WORD };
    const gpudt_mover<T, UNIT, UNPACK> mover(args.span);
    typename gpudt_bytes<WORD>::type word[T::UNROLL] = { };
    T where(args, shared);
    int64_t at;
    int step;
    const int64_t end_tile = gpudt_tiles<T::NEIGHBOURS> (args.span, block, &at, &step);
    struct gpudt_tile tile = gpudt_tile_at<WORD> (args.span, at, end_tile);

    if (UNPACK)
        mover.begin(tile, word);
    where.start();
    while (at < end_tile) {
        const int end = where.enter(tile.pos0, tile.lo, tile.hi);
        mover.words(where, tile, end, word);
        if (end < tile.hi) {
            tile.lo = end;
            tile.is_whole = false;
        } else {
            at += step;
            tile = gpudt_tile_at<WORD> (args.span, at, end_tile);
        }
        if (UNPACK)
            mover.begin(tile, word);
        where.leave();
    }
    gpudt_ends<WORD, UNPACK> (args.span, block, where);
}

/* The body of one kernel. */
template <class T, int UNIT, int UNPACK> GPUDT_FN void gpudt_move(const typename T::args_type &args)
{
    __shared__ typename T::shared_type shared;

    gpudt_move_block<T, UNIT, UNPACK> (args, blockIdx.x, &shared);
}

#endif /* GPUDT_MOVE_CUH_INCLUDED */
