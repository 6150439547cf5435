/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Strategies: copies by the driver.
 */

#include "gpudt_strategy.h"
#include "gpudt_cost.h"

static int copy1d_applies(const struct MPII_Gpudt_shape *s)
{
    return s->nlevels == 0 && s->leaf->kind == MPII_GPUDT_KIND__BLOCK;
}

static void copy1d_fill(const struct MPII_Gpudt_shape *s, struct MPII_Gpudt_plan *plan)
{
    plan->copy.user = s->user + (uint64_t) s->first;
    plan->copy.packed = s->in->packed;
    plan->copy.width = s->last - s->first;
    plan->copy.rows = 1;
    plan->copy.pitch = plan->copy.width;
}

static double copy1d_cost(const struct MPII_Gpudt_shape *s)
{
    (void) s;
    return 0;
}

/* Whole rows, at a pitch that the driver accepts. */
static int copy2d_applies(const struct MPII_Gpudt_shape *s)
{
    return s->nlevels == 1 && s->leaf->kind == MPII_GPUDT_KIND__BLOCK && s->level[0].displ == 0 &&
        s->level[0].stride >= s->leaf->size && s->level[0].stride <= MPII_GPUDT_COPY2D_PITCH &&
        s->first % s->leaf->size == 0 && s->last % s->leaf->size == 0;
}

static void copy2d_fill(const struct MPII_Gpudt_shape *s, struct MPII_Gpudt_plan *plan)
{
    plan->copy.width = s->leaf->size;
    plan->copy.pitch = s->level[0].stride;
    plan->copy.rows = (s->last - s->first) / s->leaf->size;
    plan->copy.user = s->user + (uint64_t) (s->first / s->leaf->size * s->level[0].stride);
    plan->copy.packed = s->in->packed;
}

/* Between GPUs, relative to kernels. */
static double copy2d_peer_cost(double bytes, double rows)
{
    double more = rows * MPII_GPUDT_COPY2D_PEER_ROW_NS - bytes * MPII_GPUDT_COPY2D_PEER_BYTE_NS;
    double least = bytes > MPII_GPUDT_COPY2D_PEER_MAX ? bytes * MPII_GPUDT_COPY2D_PEER_LONG_NS : 0;

    return MPII_GPUDT_COPY2D_PEER_NS + max_double(more, least);
}

static double copy2d_cost(const struct MPII_Gpudt_shape *s)
{
    const double bytes = (double) (s->last - s->first), rows = bytes / (double) s->leaf->size;
    double start = MPII_GPUDT_COPY2D_NS, row = MPII_GPUDT_COPY2D_ROW_NS;
    double byte = MPII_GPUDT_COPY2D_BYTE_NS;

    if (s->in->switch_ns == 0 && (s->in->user_place == MPII_GPUDT_PLACE__PEER ||
                                  s->in->packed_place == MPII_GPUDT_PLACE__PEER))
        return copy2d_peer_cost(bytes, rows);
    if (MPII_Gpudt_host_is_used(s)) {
        start = s->in->unpack ? MPII_GPUDT_COPY2D_FROM_HOST_NS : MPII_GPUDT_COPY2D_TO_HOST_NS;
        row = s->in->unpack ? MPII_GPUDT_COPY2D_FROM_HOST_ROW_NS : MPII_GPUDT_COPY2D_TO_HOST_ROW_NS;
        byte = MPII_GPUDT_COPY2D_HOST_BYTE_NS;
    }
    return start + max_double(rows * row, bytes * byte);        /* rows and bytes overlap */
}

int MPII_Gpudt_plan_rows(const struct MPII_Gpudt_plan_in *in, struct MPII_Gpudt_plan *plan)
{
    struct MPII_Gpudt_shape s;

    MPII_Gpudt_shape_make(&s, in, in->top != NULL ? in->top : in->serial->records);
    if (!copy2d_applies(&s))
        return 0;
    plan->cost = copy2d_cost(&s);
    copy2d_fill(&s, plan);
    return 1;
}

const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_copy1d = {
    "copy1d", copy1d_applies, copy1d_cost, copy1d_fill
};

const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_copy2d = {
    "copy2d", copy2d_applies, copy2d_cost, copy2d_fill
};
