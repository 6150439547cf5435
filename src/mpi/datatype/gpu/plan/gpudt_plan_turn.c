/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Strategy: kernels for transposing boxes.
 */

#include "gpudt_strategy.h"
#include "gpudt_cost.h"
#include "gpudt_divisor.h"

/* The level above the innermost that is contiguous in user memory; 0: none, or there are lists. */
static int turn_level(const struct MPII_Gpudt_shape *s)
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
static int64_t turn_count(const struct MPII_Gpudt_shape *s, int k)
{
    if (k + 1 < s->nlevels)
        return s->level[k].count;
    int64_t below = s->leaf->size;
    for (int j = 0; j < k; j++)
        below *= s->level[j].count;
    return ceil_div(s->last, below);
}

/* Units of the stream in one child of a level. */
static int64_t turn_below(const struct MPII_Gpudt_shape *s, int k)
{
    int64_t below = 1;

    for (int j = 0; j < k; j++)
        below *= s->level[j].count;
    return below;
}

/* Squares that the range touches, and those before them. */
static double turn_squares(const struct MPII_Gpudt_shape *s, int turned)
{
    double squares = (double) ceil_div(turn_below(s, turned), MPII_GPUDT_SQUARE_IN(s->unit)) *
        (double) ceil_div(turn_count(s, turned), MPII_GPUDT_SQUARE_TURNED(s->unit));

    for (int k = turned + 1; k < s->nlevels; k++)
        squares *= (double) turn_count(s, k);
    return squares;
}

static int turn_applies(const struct MPII_Gpudt_shape *s)
{
    if (s->nlevels < 2 || s->leaf->kind != MPII_GPUDT_KIND__BLOCK || s->leaf->size != s->unit ||
        (s->level[0].stride > -MPII_GPUDT_TURN_STRIDE &&
         s->level[0].stride < MPII_GPUDT_TURN_STRIDE))
        return 0;
    int turned = turn_level(s);
    if (turned == 0)
        return 0;
    /* Squares, and units below the turned level, are counted in 32 bits */
    struct MPII_Gpudt_levels inner;
    MPII_Gpudt_levels_set(&inner, s->level, turned);
    return turn_below(s, turned) < INT32_MAX - MPII_GPUDT_SQUARE_IN(s->unit) &&
        MPII_Gpudt_levels_are_small(&inner) && turn_squares(s, turned) < INT32_MAX;
}

static void turn_fill(const struct MPII_Gpudt_shape *s, struct MPII_Gpudt_plan *plan)
{
    struct MPII_Gpudt_args_turn *args = &plan->args.turn;
    int turned = turn_level(s);

    MPII_Gpudt_span_range(&args->span, s, s->unit);
    args->below = turn_below(s, turned);
    args->count = turn_count(s, turned);
    args->stride = s->level[turned].stride;
    args->squares_in = ceil_div(args->below, MPII_GPUDT_SQUARE_IN(s->unit));
    args->squares_turned = ceil_div(args->count, MPII_GPUDT_SQUARE_TURNED(s->unit));
    MPII_Gpudt_divisor_set(&args->by_in, args->squares_in);
    MPII_Gpudt_divisor_set(&args->by_turned, args->squares_turned);
    MPII_Gpudt_levels_set(&args->inner, s->level, turned);
    MPII_Gpudt_levels_set(&args->outer, s->level + turned + 1, s->nlevels - turned - 1);
    args->span.ntiles = (int64_t) turn_squares(s, turned);
    plan->kernel = MPII_Gpudt_kernel_id(MPII_GPUDT_KERNEL__turn_1_PACK, s);
    plan->args_sz = sizeof(*args);
    plan->grid = MPII_Gpudt_span_share(&args->span, s,
                                       MPII_GPUDT_SQUARE_IN(s->unit) *
                                       MPII_GPUDT_SQUARE_TURNED(s->unit), MPII_GPUDT_MAX_BLOCKS);
}

static double turn_cost(const struct MPII_Gpudt_shape *s)
{
    double bytes = turn_squares(s, turn_level(s)) * s->unit *
        MPII_GPUDT_SQUARE_IN(s->unit) * MPII_GPUDT_SQUARE_TURNED(s->unit);

    /* To the host, lines cut by squares cost more than a box's loads. */
    if (MPII_Gpudt_host_is_used(s))
        return MPII_Gpudt_kernel_cost(s, s->unit, 1) + MPII_GPUDT_TURN_HOST_NS;
    return MPII_GPUDT_LAUNCH_NS + bytes * MPII_GPUDT_TURN_BYTE_NS;
}

const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_turn = {
    "turn", turn_applies, turn_cost, turn_fill
};
