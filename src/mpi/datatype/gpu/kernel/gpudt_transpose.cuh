/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The body of the transpose kernels: squares of units, through shared memory. One code path with
 * the direction as a parameter. Compiles as CUDA and as host C++.
 */

#ifndef GPUDT_TRANSPOSE_CUH_INCLUDED
#define GPUDT_TRANSPOSE_CUH_INCLUDED

#include "gpudt_tile.cuh"
#include "gpudt_walk.cuh"

/* The edges of a square: IN units along the stream, TRANSPOSED units along user memory. A row is
 * padded to PITCH units so that neither a row nor a column has bank conflicts in shared memory. */
template <int UNIT> struct gpudt_edge {
    enum {
        IN = MPII_GPUDT_SQUARE_IN(UNIT), TRANSPOSED = MPII_GPUDT_SQUARE_TRANSPOSED(UNIT),
        PITCH = TRANSPOSED + (UNIT < 4 ? 4 / UNIT : 1)
    };
};

/* The position of a square, and the number of units in it. */
struct gpudt_square {
    uint64_t user, packed;      /* addresses of its first unit; that in user memory does not include
                                 * `in` */
    int64_t unit;               /* stream position of its first unit, from pos0 on */
    uint32_t in;                /* offset of its first unit in the levels below the transposed
                                 * one */
    int in_left, transposed_left;   /* units from there to the end, at most an edge */
};

template <int UNIT>
GPUDT_FN struct gpudt_square gpudt_square_at(const struct MPII_Gpudt_args_transpose &args,
                                             uint32_t tile)
{
    const uint32_t row = gpudt_div(tile, args.by_in);
    const uint32_t above = gpudt_div(row, args.by_transposed);
    const int64_t transposed = (int64_t) (row - above * (uint32_t) args.squares_transposed) *
        gpudt_edge<UNIT>::TRANSPOSED;
    uint64_t index[1] = { above };
    uint64_t addr[1] = { args.span.user + (uint64_t) (transposed * args.stride) };
    struct gpudt_square square;

    gpudt_levels<uint64_t, 1> (args.outer, index, addr);
    square.in = (tile - row * (uint32_t) args.squares_in) * gpudt_edge<UNIT>::IN;
    square.unit = (above * args.count + transposed) * args.below + square.in;
    square.user = addr[0];
    square.packed = args.span.packed + (uint64_t) (square.unit * UNIT);
    square.unit -= args.span.pos0 / UNIT;
    square.in_left = gpudt_at_most(args.below - square.in, gpudt_edge<UNIT>::IN);
    square.transposed_left = gpudt_at_most(args.count - transposed, gpudt_edge<UNIT>::TRANSPOSED);
    return square;
}

/* A thread's part of one side of a square. A warp accesses adjacent units of user memory on the
 * user side (USER), and adjacent units of the stream on the other. */
template <int UNIT, int USER> struct gpudt_side {
    enum {
        IN = gpudt_edge<UNIT>::IN, TRANSPOSED = gpudt_edge<UNIT>::TRANSPOSED,
        STEP = MPII_GPUDT_THREADS / 32,
        ROWS = (USER ? IN : TRANSPOSED) / STEP, COLUMNS = (USER ? TRANSPOSED : IN) / 32
    };
    typedef typename gpudt_bytes<UNIT>::type unit_type;
    typedef unit_type row_type[gpudt_edge<UNIT>::PITCH];
};

/* Position in a square of a thread's k-th unit: row across the warp and column along it; in and
 * transposed along the square's edges. */
struct gpudt_place {
    int row, column;
    int in, transposed;
};

template <int UNIT, int USER> GPUDT_FN struct gpudt_place gpudt_place_of(int k)
{
    typedef gpudt_side<UNIT, USER> side;
    struct gpudt_place at;

    at.row = (int) threadIdx.x / 32 + k / side::COLUMNS * side::STEP;
    at.column = (int) threadIdx.x % 32 + k % side::COLUMNS * 32;
    at.in = USER ? at.row : at.column;
    at.transposed = USER ? at.column : at.row;
    return at;
}

/* Whether a unit of a square exists and is in the range. */
GPUDT_FN bool gpudt_square_has(const struct MPII_Gpudt_args_transpose &args,
                               const struct gpudt_square &square, const struct gpudt_place &at)
{
    const int64_t unit = square.unit + at.in + at.transposed * args.below;

    return at.in < square.in_left && at.transposed < square.transposed_left && unit >= 0 &&
        unit < args.span.nwords;
}

/* Compute the addresses of a thread's rows in user memory. */
template <int UNIT>
GPUDT_FN void gpudt_square_rows(const struct MPII_Gpudt_args_transpose &args,
                                const struct gpudt_square &square,
                                uint64_t(&rows)[gpudt_side<UNIT, 1>::ROWS])
{
    typedef gpudt_side<UNIT, 1> side;
    uint32_t index[side::ROWS];

    GPUDT_UNROLL
    for (int k = 0; k < side::ROWS; k++) {
        index[k] = square.in + (uint32_t) ((int) threadIdx.x / 32 + k * side::STEP);
        rows[k] = square.user;
    }
    gpudt_levels<uint32_t, side::ROWS> (args.inner, index, rows);
}

/* Move one side of a square to or from shared memory. WHOLE: all its units exist and are in the
 * range. */
template <int UNIT, int USER, int WRITE, int WHOLE>
GPUDT_FN void gpudt_square_side(const struct MPII_Gpudt_args_transpose &args,
                                const struct gpudt_square &square,
                                typename gpudt_side<UNIT, USER>::row_type *shared)
{
    typedef gpudt_side<UNIT, USER> side;
    enum { COUNT = side::ROWS * side::COLUMNS };
    typedef typename side::unit_type unit_type;
    uint64_t rows[gpudt_side<UNIT, 1>::ROWS];
    unit_type value[COUNT];

    if (USER)
        gpudt_square_rows<UNIT> (args, square, rows);
    GPUDT_UNROLL
    for (int k = 0; k < COUNT; k++) {
        const struct gpudt_place at = gpudt_place_of<UNIT, USER> (k);
        if (WHOLE || gpudt_square_has(args, square, at)) {
            const uint64_t addr = USER ?
                rows[k / side::COLUMNS] + (uint64_t) (at.column * args.stride) :
                square.packed + (uint64_t) ((at.row * args.below + at.column) * UNIT);
            if (WRITE)
                gpudt_data_store<unit_type>(addr, shared[at.in][at.transposed]);
            else
                value[k] = gpudt_data_load<unit_type>(addr);
        }
    }
    /* All loads precede the stores, so that they are in flight together. */
    GPUDT_UNROLL
    for (int k = 0; k < COUNT && !WRITE; k++) {
        const struct gpudt_place at = gpudt_place_of<UNIT, USER> (k);
        if (WHOLE || gpudt_square_has(args, square, at))
            shared[at.in][at.transposed] = value[k];
    }
}

template <int UNIT, int UNPACK, int WHOLE>
GPUDT_FN void gpudt_square_transpose(const struct MPII_Gpudt_args_transpose &args,
                                const struct gpudt_square &square,
                                typename gpudt_bytes<UNIT>::type(*shared)[gpudt_edge<UNIT>::PITCH])
{
    gpudt_square_side<UNIT, !UNPACK, 0, WHOLE> (args, square, shared);
    __syncthreads();            /* publishes the square */
    gpudt_square_side<UNIT, UNPACK, 1, WHOLE> (args, square, shared);
    __syncthreads();            /* the square may be overwritten */
}

/* A locator for the ends of the range only. */
template <int UNIT> struct gpudt_transpose_point {
    const struct MPII_Gpudt_args_transpose &args;

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

/* The body of one kernel. Words are units. */
template <int UNIT, int UNPACK>
GPUDT_FN void gpudt_transpose(const struct MPII_Gpudt_args_transpose &args)
{
    typedef gpudt_edge<UNIT> edge;
    __shared__ typename gpudt_bytes<UNIT>::type shared[edge::IN][edge::PITCH];
    int64_t tile;
    int step;
    const int64_t end_tile = gpudt_tiles<0> (args.span, blockIdx.x, &tile, &step);

    for (; tile < end_tile; tile += step) {
        const struct gpudt_square square = gpudt_square_at<UNIT> (args, (uint32_t) tile);
        const int64_t last = square.unit + (edge::TRANSPOSED - 1) * args.below + edge::IN - 1;
        if (square.in_left == edge::IN && square.transposed_left == edge::TRANSPOSED &&
            square.unit >= 0 && last < args.span.nwords)
            gpudt_square_transpose<UNIT, UNPACK, 1> (args, square, shared);
        else
            gpudt_square_transpose<UNIT, UNPACK, 0> (args, square, shared);
    }
    gpudt_transpose_point<UNIT> where = { args };
    gpudt_ends<UNIT, UNPACK> (args.span, blockIdx.x, where);
}

#endif /* GPUDT_TRANSPOSE_CUH_INCLUDED */
