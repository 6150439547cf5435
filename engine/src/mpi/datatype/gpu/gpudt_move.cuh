/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The two kernel bodies: move (words put together from units that a locator finds) and turn
 * (squares of units, through shared memory). Each is one code path with the direction as a
 * parameter. They know nothing of how a locator finds an address.
 */

#ifndef GPUDT_MOVE_CUH_INCLUDED
#define GPUDT_MOVE_CUH_INCLUDED

#include "gpudt_walk.cuh"

/* The tiles of this block of threads: [*begin, return value). */
GPUDT_FN int64_t gpudt_tiles(const struct MPII_Gpudt_span &span, int64_t *begin)
{
    *begin = (int64_t) blockIdx.x * span.tiles_per_block;
    int64_t end = *begin + span.tiles_per_block;
    return end < span.ntiles ? end : span.ntiles;
}

/* The bytes of the range before the first full word and behind the last, by 2 * WORD threads of one
 * block. `where` is a locator or anything with its point(). */
template <int UNIT, int WORD, int UNPACK, class T>
GPUDT_FN void gpudt_ends(const struct MPII_Gpudt_span &span, T &where)
{
    const int thread = (int) threadIdx.x;
    int64_t pos, end;

    if (blockIdx.x != 0 || thread >= 2 * WORD)
        return;
    if (thread < WORD) {
        pos = span.first + thread;
        end = span.pos0 < span.last ? span.pos0 : span.last;
    } else {
        pos = span.pos0 + span.nwords * WORD + thread - WORD;
        end = span.last;
    }
    if (pos >= end)
        return;
    uint64_t user = span.user + (uint64_t) where.template point<UNIT> (pos);
    uint64_t packed = span.packed + (uint64_t) pos;
    if (UNPACK)
        gpudt_store<uint8_t>(user, gpudt_load<uint8_t>(packed));
    else
        gpudt_store<uint8_t>(packed, gpudt_load<uint8_t>(user));
}

/* Words i, i + MPII_GPUDT_THREADS, ... of a tile, U in all, those from lo up to hi. The tile begins
 * at stream position pos0. All loads come before the first store, so that they are in flight
 * together. */
template <int UNIT, int WORD, int UNPACK, int U, class T>
GPUDT_FN void gpudt_words(const struct MPII_Gpudt_span &span, T &where, int64_t pos0, int i, int lo,
                          int hi)
{
    typedef gpudt_split<UNIT, WORD> split;
    typedef typename split::unit_type unit_type;
    typedef typename split::word_type word_type;
    enum { N = split::N };
    const uint64_t packed = span.packed + (uint64_t) pos0;
    int64_t disp[U * N];
    unit_type unit[U * N];
    int at[U];
    bool is_mine[U];

    for (int u = 0; u < U; u++) {
        at[u] = i + u * MPII_GPUDT_THREADS;
        is_mine[u] = at[u] >= lo && at[u] < hi;
        /* Out of range: look up a word that exists, and do not move it. */
        at[u] = is_mine[u] ? at[u] : lo;
    }
    where.template locate<UNIT, WORD, U> (pos0, at, disp);
    for (int u = 0; u < U; u++) {
        if (!is_mine[u])
            continue;
        if (UNPACK) {
            split::cut(gpudt_load<word_type>(packed + (uint32_t) (at[u] * WORD)), &unit[u * N]);
        } else {
            for (int n = 0; n < N; n++)
                unit[u * N + n] = gpudt_load<unit_type>(span.user + (uint64_t) disp[u * N + n]);
        }
    }
    for (int u = 0; u < U; u++) {
        if (!is_mine[u])
            continue;
        if (UNPACK) {
            for (int n = 0; n < N; n++)
                gpudt_store<unit_type>(span.user + (uint64_t) disp[u * N + n], unit[u * N + n]);
        } else {
            gpudt_store<word_type>(packed + (uint32_t) (at[u] * WORD), split::join(&unit[u * N]));
        }
    }
}

/* Adjacent threads on adjacent words of packed memory. */
template <class T, int UNIT, int UNPACK> GPUDT_FN void gpudt_move(const typename T::args_type &args)
{
    typedef typename T::template sizes<UNIT> sizes;
    enum { WORD = sizes::WORD, U = sizes::UNROLL };
    __shared__ typename T::shared_type shared;
    const struct MPII_Gpudt_span &span = args.span;
    T where(args, &shared);
    int64_t tile, end_tile = gpudt_tiles(span, &tile);

    where.start();
    for (; tile < end_tile; tile++) {
        /* Words of the tile are counted from its line; lo and hi bound those in the range. */
        const int64_t word0 = tile * span.tile - span.lead;
        const int64_t pos0 = span.pos0 + word0 * WORD;
        const int lo = tile == 0 ? span.lead : 0;
        const int hi = span.nwords - word0 < span.tile ? (int) (span.nwords - word0) : span.tile;

        where.enter(pos0 + lo * WORD, pos0 + hi * WORD);
        for (int i = (int) threadIdx.x; i < hi; i += U * MPII_GPUDT_THREADS)
            gpudt_words<UNIT, WORD, UNPACK, U> (span, where, pos0, i, lo, hi);
        where.leave();
    }
    gpudt_ends<UNIT, WORD, UNPACK> (span, where);
}

/* Where a square lies, and how much of it there is. */
struct gpudt_square {
    int64_t disp;               /* of its first unit in user memory */
    int64_t unit;               /* of the same in the stream */
    int in_left, turned_left;   /* units of the two levels from it on, at most MPII_GPUDT_SQUARE */
    bool is_whole;              /* all of it is in the range */
};

template <int UNIT>
GPUDT_FN struct gpudt_square gpudt_square_at(const struct MPII_Gpudt_args_turn &args, int64_t tile)
{
    const int64_t edge = MPII_GPUDT_SQUARE;
    /* The plan makes sure that tiles can be counted in 32 bits. */
    const uint32_t row = (uint32_t) tile / (uint32_t) args.squares_in;
    const int64_t in = ((uint32_t) tile - row * (uint32_t) args.squares_in) * edge;
    uint32_t rest = row / (uint32_t) args.squares_turned;
    const int64_t turned = (row - rest * (uint32_t) args.squares_turned) * edge;
    struct gpudt_square square;

    square.in_left = (int) (args.in_count - in < edge ? args.in_count - in : edge);
    square.turned_left = (int) (args.turned_count - turned < edge ? args.turned_count - turned
                                : edge);
    square.disp = in * args.in_stride + turned * args.turned_stride;
    square.unit = in + turned * args.turned_below;
    for (int k = 0; k < args.nothers; k++) {
        const uint32_t above = rest / (uint32_t) args.other[k].count;
        const int64_t index = rest - above * (uint32_t) args.other[k].count;
        square.disp += index * args.other[k].stride;
        square.unit += index * args.other[k].below;
        rest = above;
    }
    const int64_t last = square.unit + square.in_left - 1 +
        (square.turned_left - 1) * args.turned_below;
    const int64_t unit0 = args.span.pos0 / UNIT;
    square.is_whole = square.unit >= unit0 && last < unit0 + args.span.nwords;
    return square;
}

/* One side of a square: reads it into shared memory, or writes it from there. A warp goes along the
 * level that is contiguous in user memory while it touches user memory, and along the stream while it
 * touches packed memory. */
template <int UNIT, int USER, int WRITE>
GPUDT_FN void gpudt_square_side(const struct MPII_Gpudt_args_turn &args,
                                const struct gpudt_square &square,
                                typename gpudt_bytes<UNIT>::type(*shared)[MPII_GPUDT_SQUARE + 1])
{
    typedef typename gpudt_bytes<UNIT>::type unit_type;
    enum { EDGE = MPII_GPUDT_SQUARE, STEP = MPII_GPUDT_THREADS / EDGE, U = EDGE / STEP };
    const struct MPII_Gpudt_span &span = args.span;
    /* x goes along the warp, y from one row of the side to the next */
    const int x = (int) threadIdx.x % EDGE, y = (int) threadIdx.x / EDGE;
    const int x_left = USER ? square.turned_left : square.in_left;
    const int y_left = USER ? square.in_left : square.turned_left;
    const int64_t y_unit = USER ? 1 : args.turned_below;
    const int64_t y_bytes = USER ? args.in_stride : args.turned_below * UNIT;
    const int64_t unit = square.unit + (USER ? x * args.turned_below : x) + y * y_unit -
        span.pos0 / UNIT;
    const uint64_t addr = (USER ? span.user + (uint64_t) (square.disp + x * args.turned_stride)
                           : span.packed + (uint64_t) ((square.unit + x) * UNIT)) +
        (uint64_t) (y * y_bytes);
    unit_type value[U];

    for (int u = 0; u < U; u++) {
        if (x < x_left && y + u * STEP < y_left &&
            (square.is_whole || (unit + u * STEP * y_unit >= 0 &&
                                 unit + u * STEP * y_unit < span.nwords))) {
            unit_type *at = USER ? &shared[y + u * STEP][x] : &shared[x][y + u * STEP];
            if (WRITE)
                gpudt_store<unit_type>(addr + (uint64_t) (u * STEP * y_bytes), *at);
            else
                value[u] = gpudt_load<unit_type>(addr + (uint64_t) (u * STEP * y_bytes));
        }
    }
    /* After all loads, so that they are in flight together. What was not loaded is not written
     * either, and may hold anything. */
    for (int u = 0; u < U; u++) {
        if (!WRITE && x < x_left && y + u * STEP < y_left)
            *(USER ? &shared[y + u * STEP][x] : &shared[x][y + u * STEP]) = value[u];
    }
}

/* A locator for the ends only. */
struct gpudt_turn_point {
    const struct MPII_Gpudt_args_turn &args;

    template <int UNIT> GPUDT_METHOD int64_t point(int64_t pos) const
    {
        uint64_t unit[1] = { (uint64_t) (pos / UNIT) };
        int64_t disp[1] = { pos % UNIT };
        gpudt_levels<uint64_t, 1> (args.levels, unit, disp);
        return disp[0];
    }
};

/* Transposition. Words are units. */
template <int UNIT, int UNPACK> GPUDT_FN void gpudt_turn(const struct MPII_Gpudt_args_turn &args)
{
    /* One more in a row, so that a column is not all in one bank. */
    __shared__ typename gpudt_bytes<UNIT>::type shared[MPII_GPUDT_SQUARE][MPII_GPUDT_SQUARE + 1];
    int64_t tile, end_tile = gpudt_tiles(args.span, &tile);

    for (; tile < end_tile; tile++) {
        const struct gpudt_square square = gpudt_square_at<UNIT> (args, tile);
        gpudt_square_side<UNIT, !UNPACK, 0> (args, square, shared);
        __syncthreads();        /* publishes the square */
        gpudt_square_side<UNIT, UNPACK, 1> (args, square, shared);
        __syncthreads();        /* the square may be filled again */
    }
    struct gpudt_turn_point where = { args };
    gpudt_ends<UNIT, UNIT, UNPACK> (args.span, where);
}

#endif /* GPUDT_MOVE_CUH_INCLUDED */
