/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The body of the transposing kernels: squares of units, through shared memory. One code path with the
 * direction as a parameter. Compiles as CUDA and as host C++.
 */

#ifndef GPUDT_TURN_CUH_INCLUDED
#define GPUDT_TURN_CUH_INCLUDED

#include "gpudt_tile.cuh"
#include "gpudt_walk.cuh"

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

#endif /* GPUDT_TURN_CUH_INCLUDED */
