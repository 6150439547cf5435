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

#include "gpudt_walk_list.cuh"
#include "gpudt_walk_tree.cuh"

GPUDT_FN int gpudt_at_most(int64_t n, int most)
{
    return n < most ? (int) n : most;
}

/* The tiles of a block of threads: *begin, and every *step up to the return value. Neighbouring
 * tiles for kernels that carry something from tile to tile. Else all blocks together sweep through
 * memory, which suits its pages. */
template <int NEIGHBOURS>
GPUDT_FN int64_t gpudt_tiles(const struct MPII_Gpudt_span &span, uint32_t block, int64_t *begin,
                             int *step)
{
    if (NEIGHBOURS) {
        *begin = (int64_t) block * span.tiles_per_block;
        *step = 1;
        const int64_t end = *begin + span.tiles_per_block;
        return end < span.ntiles ? end : span.ntiles;
    }
    *begin = block;
    *step = span.end.nblocks;
    return span.ntiles;
}

/* The bytes of the range before the first full word and behind the last, by 2 * WORD threads of the
 * last block. `where` is a locator or anything with its point(). */
template <int WORD, int UNPACK, class T>
GPUDT_FN void gpudt_ends(const struct MPII_Gpudt_span &span, uint32_t block, T &where)
{
    const int thread = (int) threadIdx.x;
    int64_t pos, end;

    if (!span.has_ends || block != (uint32_t) span.end.nblocks - 1 || thread >= 2 * WORD)
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
    const uint64_t user = where.point(pos);
    const uint64_t packed = span.packed + (uint64_t) pos;
    if (UNPACK)
        gpudt_data_store<uint8_t>(user, gpudt_data_load<uint8_t>(packed));
    else
        gpudt_data_store<uint8_t>(packed, gpudt_data_load<uint8_t>(user));
}

/* The units that a thread stores of the words that the lanes of its warp have loaded. With steps of
 * 1 they are those of its own word; with steps of 32 they come from other lanes. All lanes of a
 * warp make this call. */
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

/* A tile: words are counted from its line, those from lo up to hi are in the range. Empty behind
 * the last. */
struct gpudt_tile {
    int64_t pos0;               /* stream position of its word 0 */
    int lo, hi;
    bool is_whole;              /* all words of a tile of full size */
};

template <int WORD>
GPUDT_FN struct gpudt_tile gpudt_tile_at(const struct MPII_Gpudt_span &span, int64_t tile,
                                         int64_t end_tile)
{
    const int64_t word0 = tile * span.tile - span.lead;
    struct gpudt_tile at;

    at.pos0 = span.pos0 + word0 * WORD;
    at.lo = tile == 0 ? span.lead : 0;
    at.hi = tile < end_tile ? gpudt_at_most(span.nwords - word0, span.tile) : 0;
    at.is_whole = at.lo == 0 && at.hi == span.tile;
    return at;
}

/* What of a tile one thread moves: word `base` + its lane and every MPII_GPUDT_THREADS words, U
 * times. CHECKED: those of them that are in the range; else all are. */
template <class T, int UNIT, int UNPACK, int U, int CHECKED> struct gpudt_words {
    enum { WORD = T::WORD, N = T::N, STEP = T::STEP };
    typedef typename gpudt_bytes<UNIT>::type unit_type;
    typedef typename gpudt_bytes<WORD>::type word_type;

    static GPUDT_METHOD int at(int base, int u)
    {
        return base + u * MPII_GPUDT_THREADS + (int) threadIdx.x % 32;
    }

    /* First of the thread's units of a word. */
    static GPUDT_METHOD int first(int word)
    {
        const int lane = (int) threadIdx.x % 32;
        return STEP == 1 ? word * N : (word - lane) * N + lane;
    }

    /* The packed words that a thread unpacks: loaded before it is known where they go. */
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
        /* Words of several units give enough to do one by one. */
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

    /* All loads come before the first store, so that they are in flight together. */
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

/* Adjacent threads on adjacent words of packed memory. Tiles of full size that are all in the range
 * are done several words of a thread at a time, the others word by word: that is little code, and
 * all that small messages need. Full tiles are whole numbers of rounds. */
template <class T, int UNIT, int UNPACK>
GPUDT_FN void gpudt_move_block(const typename T::args_type &args, uint32_t block,
                               typename T::shared_type *shared)
{
    enum { WORD = T::WORD, U = T::UNROLL };
    typedef gpudt_words<T, UNIT, UNPACK, U, 0> many;
    typedef gpudt_words<T, UNIT, UNPACK, 1, 1> single;
    const struct MPII_Gpudt_span &span = args.span;
    const int warp = (int) threadIdx.x / 32 * 32;
    typename gpudt_bytes<WORD>::type word[U] = { };
    T where(args, shared);
    int64_t at;
    int step;
    const int64_t end_tile = gpudt_tiles<T::NEIGHBOURS> (span, block, &at, &step);
    struct gpudt_tile tile = gpudt_tile_at<WORD> (span, at, end_tile);
    const bool is_large = span.tile % (U * MPII_GPUDT_THREADS) == 0;

    if (UNPACK) {
        if (is_large && tile.is_whole)
            many::load(span, tile, warp, word);
        else
            single::load(span, tile, warp, word);
    }
    where.start();
    while (at < end_tile) {
        const int end = where.enter(tile.pos0, tile.lo, tile.hi);
        /* All lanes of a warp take part, since they may exchange units. */
        if (is_large && tile.is_whole && end == tile.hi) {
            for (int base = warp; base < end; base += U * MPII_GPUDT_THREADS) {
                if (!UNPACK) {
                    many::pack(span, where, tile, base, end);
                } else {
                    if (base > warp)
                        many::load(span, tile, base, word);
                    many::unpack(where, tile, base, end, word);
                }
            }
        } else {
            for (int base = warp; base < end; base += MPII_GPUDT_THREADS) {
                if (!UNPACK) {
                    single::pack(span, where, tile, base, end);
                } else {
                    if (base > warp)
                        single::load(span, tile, base, word);
                    single::unpack(where, tile, base, end, word);
                }
            }
        }
        if (end < tile.hi) {
            tile.lo = end;
            tile.is_whole = false;
        } else {
            at += step;
            tile = gpudt_tile_at<WORD> (span, at, end_tile);
        }
        if (UNPACK) {
            if (is_large && tile.is_whole)
                many::load(span, tile, warp, word);
            else
                single::load(span, tile, warp, word);
        }
        where.leave();
    }
    gpudt_ends<WORD, UNPACK> (span, block, where);
}

/* The same as a kernel of its own. */
template <class T, int UNIT, int UNPACK> GPUDT_FN void gpudt_move(const typename T::args_type &args)
{
    __shared__ typename T::shared_type shared;

    gpudt_move_block<T, UNIT, UNPACK> (args, blockIdx.x, &shared);
}

/* Squares of the turn kernels: IN units along the stream, TURNED units along user memory. A row has
 * gaps so that neither its units nor a column's are all in one bank of shared memory. */
template <int UNIT> struct gpudt_edge {
    enum {
        IN = MPII_GPUDT_SQUARE_IN(UNIT), TURNED = MPII_GPUDT_SQUARE_TURNED(UNIT),
        PITCH = TURNED + (UNIT < 4 ? 4 / UNIT : 1)
    };
};

/* Where a square lies, and how much of it there is. */
struct gpudt_square {
    uint64_t user, packed;      /* addresses of its first unit, in user memory less that of in */
    int64_t unit;               /* the same in the stream, from pos0 on */
    uint32_t in;                /* and in the levels below the turned one */
    int in_left, turned_left;   /* units there are from it on */
};

template <int UNIT>
GPUDT_FN struct gpudt_square gpudt_square_at(const struct MPII_Gpudt_args_turn &args, uint32_t tile)
{
    const uint32_t row = gpudt_div(tile, args.by_in);
    const uint32_t above = gpudt_div(row, args.by_turned);
    const int64_t turned = (int64_t) (row - above * (uint32_t) args.squares_turned) *
        gpudt_edge<UNIT>::TURNED;
    uint64_t index[1] = { above };
    uint64_t addr[1] = { args.span.user + (uint64_t) (turned * args.stride) };
    struct gpudt_square square;

    gpudt_levels<uint64_t, 1> (args.outer, index, addr);
    square.in = (tile - row * (uint32_t) args.squares_in) * gpudt_edge<UNIT>::IN;
    square.unit = (above * args.count + turned) * args.below + square.in;
    square.user = addr[0];
    square.packed = args.span.packed + (uint64_t) (square.unit * UNIT);
    square.unit -= args.span.pos0 / UNIT;
    square.in_left = gpudt_at_most(args.below - square.in, gpudt_edge<UNIT>::IN);
    square.turned_left = gpudt_at_most(args.count - turned, gpudt_edge<UNIT>::TURNED);
    return square;
}

/* One side of a square: reads it into shared memory, or writes it from there. A warp goes along
 * user memory on that side, and along the stream on the other. WHOLE: all of it is there and in the
 * range. */
template <int UNIT, int USER, int WRITE, int WHOLE>
GPUDT_FN void gpudt_square_side(const struct MPII_Gpudt_args_turn &args,
                                const struct gpudt_square &square,
                                typename gpudt_bytes<UNIT>::type(*shared)[gpudt_edge<UNIT>::PITCH])
{
    typedef typename gpudt_bytes<UNIT>::type unit_type;
    enum {
        IN = gpudt_edge<UNIT>::IN, TURNED = gpudt_edge<UNIT>::TURNED,
        STEP = MPII_GPUDT_THREADS / 32,
        ROWS = (USER ? IN : TURNED) / STEP, COLUMNS = (USER ? TURNED : IN) / 32
    };
    const int x = (int) threadIdx.x % 32, y = (int) threadIdx.x / 32;
    uint32_t index[ROWS];
    uint64_t rows[ROWS];
    unit_type value[ROWS * COLUMNS];

    GPUDT_UNROLL
    for (int k = 0; k < ROWS; k++) {
        index[k] = square.in + (uint32_t) (y + k * STEP);
        rows[k] = square.user;
    }
    if (USER)
        gpudt_levels<uint32_t, ROWS> (args.inner, index, rows);
    GPUDT_UNROLL
    for (int k = 0; k < ROWS * COLUMNS; k++) {
        const int row = y + k / COLUMNS * STEP, column = x + k % COLUMNS * 32;
        const int in = USER ? row : column, turned = USER ? column : row;
        const int64_t unit = square.unit + in + turned * args.below;
        if (WHOLE || (in < square.in_left && turned < square.turned_left && unit >= 0 &&
                      unit < args.span.nwords)) {
            const uint64_t addr = USER ?
                rows[k / COLUMNS] + (uint64_t) (column * args.stride) :
                square.packed + (uint64_t) ((row * args.below + column) * UNIT);
            if (WRITE)
                gpudt_data_store<unit_type>(addr, shared[in][turned]);
            else
                value[k] = gpudt_data_load<unit_type>(addr);
        }
    }
    /* After all loads, so that they are in flight together. */
    GPUDT_UNROLL
    for (int k = 0; k < ROWS * COLUMNS && !WRITE; k++) {
        const int row = y + k / COLUMNS * STEP, column = x + k % COLUMNS * 32;
        const int in = USER ? row : column, turned = USER ? column : row;
        const int64_t unit = square.unit + in + turned * args.below;
        if (WHOLE || (in < square.in_left && turned < square.turned_left && unit >= 0 &&
                      unit < args.span.nwords))
            shared[in][turned] = value[k];
    }
}

template <int UNIT, int UNPACK, int WHOLE>
GPUDT_FN void gpudt_square_turn(const struct MPII_Gpudt_args_turn &args,
                                const struct gpudt_square &square,
                                typename gpudt_bytes<UNIT>::type(*shared)[gpudt_edge<UNIT>::PITCH])
{
    gpudt_square_side<UNIT, !UNPACK, 0, WHOLE> (args, square, shared);
    __syncthreads();            /* publishes the square */
    gpudt_square_side<UNIT, UNPACK, 1, WHOLE> (args, square, shared);
    __syncthreads();            /* the square may be filled again */
}

/* A locator for the ends only. */
template <int UNIT> struct gpudt_turn_point {
    const struct MPII_Gpudt_args_turn &args;

    GPUDT_METHOD uint64_t point(int64_t pos) const
    {
        const int64_t row = pos / UNIT / args.below, above = row / args.count;
        uint64_t in[1] = { (uint64_t) (pos / UNIT - row * args.below) };
        uint64_t out[1] = { (uint64_t) above };
        uint64_t addr[1] = {
            args.span.user + (uint64_t) (pos % UNIT + (row - above * args.count) * args.stride)
        };
        gpudt_levels<uint64_t, 1> (args.inner, in, addr);
        gpudt_levels<uint64_t, 1> (args.outer, out, addr);
        return addr[0];
    }
};

/* Transposition. Words are units. */
template <int UNIT, int UNPACK> GPUDT_FN void gpudt_turn(const struct MPII_Gpudt_args_turn &args)
{
    typedef gpudt_edge<UNIT> edge;
    __shared__ typename gpudt_bytes<UNIT>::type shared[edge::IN][edge::PITCH];
    int64_t tile;
    int step;
    const int64_t end_tile = gpudt_tiles<0> (args.span, blockIdx.x, &tile, &step);

    for (; tile < end_tile; tile += step) {
        const struct gpudt_square square = gpudt_square_at<UNIT> (args, (uint32_t) tile);
        const int64_t last = square.unit + (edge::TURNED - 1) * args.below + edge::IN - 1;
        if (square.in_left == edge::IN && square.turned_left == edge::TURNED &&
            square.unit >= 0 && last < args.span.nwords)
            gpudt_square_turn<UNIT, UNPACK, 1> (args, square, shared);
        else
            gpudt_square_turn<UNIT, UNPACK, 0> (args, square, shared);
    }
    gpudt_turn_point<UNIT> where = { args };
    gpudt_ends<UNIT, UNPACK> (args.span, blockIdx.x, where);
}

#endif /* GPUDT_MOVE_CUH_INCLUDED */
