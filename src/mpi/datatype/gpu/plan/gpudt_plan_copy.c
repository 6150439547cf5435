/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Strategies: copies by the driver.
 */

#include "gpudt_strategy.h"
#include "tuning/gpudt_tuning.h"

static int copy1d_applies(const struct MPII_Gpudt_shape *s)
{
    return s->nlevels == 0 && s->leaf->kind == MPII_GPUDT_KIND__BLOCK;
}

/* One row. */
static void copy1d_fill(const struct MPII_Gpudt_shape *s, struct MPII_Gpudt_plan *plan)
{
    plan->copy.user = s->user + (uint64_t) s->first;
    plan->copy.packed = s->in->packed;
    plan->copy.width = plan->copy.pitch = s->last - s->first;
    plan->copy.rows = plan->copy.height = plan->copy.planes = 1;
}

static double copy1d_cost(const struct MPII_Gpudt_shape *s)
{
    (void) s;
    return 0;
}

/* Bytes of the blocks of a plane, or of a row if the shape has no planes. */
static int64_t plane_size(const struct MPII_Gpudt_shape *s)
{
    return s->leaf->size * (s->nlevels == 2 ? s->level[0].count : 1);
}

/* Whole rows, at a pitch that the driver accepts, or whole planes of such rows. */
static int rows_apply(const struct MPII_Gpudt_shape *s)
{
    const struct MPII_Gpudt_shape_level *row = &s->level[0], *plane = &s->level[1];

    if ((s->nlevels != 1 && s->nlevels != 2) || s->leaf->kind != MPII_GPUDT_KIND__BLOCK ||
        row->displ || row->stride < s->leaf->size || row->stride > MPII_GPUDT_COPY2D_PITCH ||
        s->first % plane_size(s) || s->last % plane_size(s))
        return 0;
    /* The driver counts from plane to plane in rows */
    return s->nlevels == 1 || (!plane->displ && plane->stride % row->stride == 0 &&
                               plane->stride / row->stride >= row->count);
}

static int is_between_gpus(const struct MPII_Gpudt_shape *s)
{
    return s->in->switch_ns == 0 && (s->in->user_place == MPII_GPUDT_PLACE__PEER ||
                                     s->in->packed_place == MPII_GPUDT_PLACE__PEER);
}

/* Within a GPU a kernel is faster for planes, and for host memory that was not measured. */
static int copy2d_applies(const struct MPII_Gpudt_shape *s)
{
    return rows_apply(s) && (s->nlevels == 1 || is_between_gpus(s));
}

static void copy2d_fill(const struct MPII_Gpudt_shape *s, struct MPII_Gpudt_plan *plan)
{
    const int has_planes = s->nlevels == 2;
    const int64_t n = (s->last - s->first) / plane_size(s);
    const int64_t stride = s->level[s->nlevels - 1].stride;

    plan->copy.width = s->leaf->size;
    plan->copy.pitch = s->level[0].stride;
    plan->copy.rows = has_planes ? s->level[0].count : n;
    plan->copy.planes = has_planes ? n : 1;
    plan->copy.height = has_planes ? stride / plan->copy.pitch : n;
    plan->copy.user = s->user + (uint64_t) (s->first / plane_size(s) * stride);
    plan->copy.packed = s->in->packed;
}

double MPII_Gpudt_peer_copy_cost(const struct MPII_Gpudt_copy *c)
{
    const double planes = (double) c->planes, rows = planes * (double) c->rows;
    const double bytes = rows * (double) c->width;
    double more = max_double(rows * MPII_GPUDT_COPY2D_PEER_ROW_NS,
                             planes * MPII_GPUDT_COPY3D_PEER_PLANE_NS) -
        bytes * MPII_GPUDT_COPY2D_PEER_BYTE_NS;
    double least = bytes > MPII_GPUDT_COPY2D_PEER_MAX ? bytes * MPII_GPUDT_COPY2D_PEER_LONG_NS : 0;

    return MPII_GPUDT_COPY2D_PEER_NS + max_double(more, least) +
        (planes - 1) * MPII_GPUDT_COPY3D_PEER_NEXT_NS;
}

static double copy2d_cost(const struct MPII_Gpudt_shape *s)
{
    const double bytes = (double) (s->last - s->first), rows = bytes / (double) s->leaf->size;
    double start = MPII_GPUDT_COPY2D_NS, row = MPII_GPUDT_COPY2D_ROW_NS;
    double byte = MPII_GPUDT_COPY2D_BYTE_NS;

    if (is_between_gpus(s)) {
        struct MPII_Gpudt_plan plan;
        copy2d_fill(s, &plan);
        return MPII_Gpudt_peer_copy_cost(&plan.copy);
    }
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
    if (!rows_apply(&s))
        return 0;
    copy2d_fill(&s, plan);
    return 1;
}

const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_copy1d = {
    "copy1d", copy1d_applies, copy1d_cost, copy1d_fill
};

const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_copy2d = {
    "copy2d", copy2d_applies, copy2d_cost, copy2d_fill
};
