/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Functions that several strategies use. Must not know any strategy.
 */

#include <string.h>

#include "gpudt_strategy.h"
#include "tuning/gpudt_tuning.h"
#include "gpudt_divisor.h"

int MPII_Gpudt_host_is_used(const struct MPII_Gpudt_shape *s)
{
    return s->in->packed_place == MPII_GPUDT_PLACE__HOST ||
        s->in->user_place == MPII_GPUDT_PLACE__HOST;
}

int MPII_Gpudt_kernel_id(int family, const struct MPII_Gpudt_shape *s)
{
    return family + 2 * log2_of(s->unit) + s->in->unpack;
}

void MPII_Gpudt_levels_set(struct MPII_Gpudt_levels *levels,
                           const struct MPII_Gpudt_shape_level *from, int n)
{
    int64_t below = 0;          /* distance that all children of the level below advance */

    memset(&levels->top, 0, sizeof(levels->top));
    levels->nlevels = n > 0 ? n - 1 : 0;
    levels->pad = 0;
    for (int k = 0; k < n; k++) {
        struct MPII_Gpudt_level *to = k + 1 < n ? &levels->level[k] : &levels->top;
        to->step = from[k].stride - below;
        to->displ = from[k].displ;
        to->count = from[k].count;
        if (k + 1 < n)
            MPII_Gpudt_divisor_set(&to->div, to->count);
        below = from[k].count * from[k].stride;
    }
}

int MPII_Gpudt_levels_are_small(const struct MPII_Gpudt_levels *levels)
{
    for (int k = 0; k < levels->nlevels; k++) {
        if (levels->level[k].step != (int32_t) levels->level[k].step)
            return 0;
    }
    return levels->top.step == (int32_t) levels->top.step;
}

double MPII_Gpudt_kernel_cost(const struct MPII_Gpudt_shape *s, double piece, double factor)
{
    const double bytes = (double) (s->last - s->first);
    const double waste = piece < MPII_GPUDT_SECTOR_SZ ? MPII_GPUDT_SECTOR_SZ / piece : 1;
    const double memory = factor * bytes * MPII_GPUDT_BYTE_NS * (1 + waste) / 2;

    if (!MPII_Gpudt_host_is_used(s))
        return MPII_GPUDT_LAUNCH_NS + memory;
    return MPII_GPUDT_LAUNCH_NS +
        (s->in->unpack ? MPII_GPUDT_FROM_HOST_NS : MPII_GPUDT_TO_HOST_NS) +
        max_double(memory, bytes * MPII_GPUDT_HOST_BYTE_NS);
}

double MPII_Gpudt_piece_size(const struct MPII_Gpudt_shape *s)
{
    double piece = (double) s->in->serial->size / (double) s->in->serial->nblocks;

    return piece > 1 ? piece : 1;
}
