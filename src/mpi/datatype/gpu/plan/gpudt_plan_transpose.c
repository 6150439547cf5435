/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Strategy: kernels for transposing boxes.
 */

#include "gpudt_strategy.h"
#include "tuning/gpudt_tuning.h"
#include "gpudt_divisor.h"

/* The level above the innermost that is contiguous in user memory; 0: none, or there are lists. */
static int transpose_level(const struct MPII_Gpudt_shape *s)
{
    int found = 0;

    for (int k = 0; k < s->nlevels; k++) {
        int64_t stride = s->level[k].stride;
        if (s->level[k].displ != 0)
            return 0;
        if (k > 0 && (stride == s->unit || stride == -s->unit))
            found = k;
    }
    return found;
}

/* Children of a level that the range can touch. */
static int64_t transpose_count(const struct MPII_Gpudt_shape *s, int k)
{
    if (k + 1 < s->nlevels)
        return s->level[k].count;
    int64_t below = s->leaf->size;
    for (int j = 0; j < k; j++)
        below *= s->level[j].count;
    return ceil_div(s->last, below);
}

/* Units of the stream in one child of a level. */
static int64_t transpose_below(const struct MPII_Gpudt_shape *s, int k)
{
    int64_t below = 1;

    for (int j = 0; j < k; j++)
        below *= s->level[j].count;
    return below;
}

/* Squares that the range touches, and those before it. */
static double transpose_squares(const struct MPII_Gpudt_shape *s, int transposed)
{
    double squares =
        (double) ceil_div(transpose_below(s, transposed), MPII_GPUDT_SQUARE_IN(s->unit)) *
        (double) ceil_div(transpose_count(s, transposed), MPII_GPUDT_SQUARE_TRANSPOSED(s->unit));

    for (int k = transposed + 1; k < s->nlevels; k++)
        squares *= (double) transpose_count(s, k);
    return squares;
}

static int transpose_applies(const struct MPII_Gpudt_shape *s)
{
    if (s->nlevels < 2 || s->leaf->kind != MPII_GPUDT_KIND__BLOCK || s->leaf->size != s->unit ||
        (s->level[0].stride > -MPII_GPUDT_TRANSPOSE_STRIDE &&
         s->level[0].stride < MPII_GPUDT_TRANSPOSE_STRIDE))
        return 0;
    int transposed = transpose_level(s);
    if (transposed == 0)
        return 0;
    /* Squares, and units below the transposed level, are counted in 32 bits */
    struct MPII_Gpudt_levels inner;
    MPII_Gpudt_levels_set(&inner, s->level, transposed);
    return transpose_below(s, transposed) < INT32_MAX - MPII_GPUDT_SQUARE_IN(s->unit) &&
        MPII_Gpudt_levels_are_small(&inner) && transpose_squares(s, transposed) < INT32_MAX;
}

static void transpose_fill(const struct MPII_Gpudt_shape *s, struct MPII_Gpudt_plan *plan)
{
    struct MPII_Gpudt_args_transpose *args = &plan->args.transpose;
    int transposed = transpose_level(s);

    MPII_Gpudt_span_range(&args->span, s, s->unit);
    args->below = transpose_below(s, transposed);
    args->count = transpose_count(s, transposed);
    args->stride = s->level[transposed].stride;
    args->squares_in = ceil_div(args->below, MPII_GPUDT_SQUARE_IN(s->unit));
    args->squares_transposed = ceil_div(args->count, MPII_GPUDT_SQUARE_TRANSPOSED(s->unit));
    MPII_Gpudt_divisor_set(&args->by_in, args->squares_in);
    MPII_Gpudt_divisor_set(&args->by_transposed, args->squares_transposed);
    MPII_Gpudt_levels_set(&args->inner, s->level, transposed);
    MPII_Gpudt_levels_set(&args->outer, s->level + transposed + 1, s->nlevels - transposed - 1);
    args->span.ntiles = (int64_t) transpose_squares(s, transposed);
    plan->kernel = MPII_Gpudt_kernel_id(MPII_GPUDT_KERNEL__transpose_1_PACK, s);
    plan->args_sz = sizeof(*args);
    plan->grid = MPII_Gpudt_span_share(&args->span, s,
                                       MPII_GPUDT_SQUARE_IN(s->unit) *
                                       MPII_GPUDT_SQUARE_TRANSPOSED(s->unit),
                                       MPII_GPUDT_MAX_BLOCKS);
}

static double transpose_cost(const struct MPII_Gpudt_shape *s)
{
    double bytes = transpose_squares(s, transpose_level(s)) * s->unit *
        MPII_GPUDT_SQUARE_IN(s->unit) * MPII_GPUDT_SQUARE_TRANSPOSED(s->unit);

    /* In stores to the host, the lines that squares cut cost more than the loads of a box. */
    if (MPII_Gpudt_host_is_used(s))
        return MPII_Gpudt_kernel_cost(s, s->unit, 1) + MPII_GPUDT_TRANSPOSE_HOST_NS;
    return MPII_GPUDT_LAUNCH_NS + bytes * MPII_GPUDT_TRANSPOSE_BYTE_NS;
}

const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_transpose = {
    "transpose", transpose_applies, transpose_cost, transpose_fill
};
