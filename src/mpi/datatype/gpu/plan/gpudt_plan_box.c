/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Strategies: kernels for nested strides (BOX), and for small types by a table of their units
 * (TABLE).
 */

#include "gpudt_strategy.h"
#include "tuning/gpudt_tuning.h"

/* Get all levels of a box. A block longer than a unit is the innermost level. Returns their
 * number. */
static int box_levels(const struct MPII_Gpudt_shape *s, struct MPII_Gpudt_shape_level *level)
{
    int n = 0;

    if (s->leaf->size > s->unit) {
        level[0].count = s->leaf->size / s->unit;
        level[0].stride = s->unit;
        level[0].displ = 0;
        n = 1;
    }
    for (int k = 0; k < s->nlevels; k++)
        level[n++] = s->level[k];
    return n;
}

static int box_applies(const struct MPII_Gpudt_shape *s)
{
    return s->nlevels >= 0 && s->leaf->kind == MPII_GPUDT_KIND__BLOCK &&
        s->nlevels + (s->leaf->size > s->unit) <= MPII_GPUDT_MAX_LEVELS;
}

static void box_fill(const struct MPII_Gpudt_shape *s, struct MPII_Gpudt_plan *plan)
{
    struct MPII_Gpudt_args_box *args = &plan->args.box;
    struct MPII_Gpudt_shape_level level[MPII_GPUDT_MAX_LEVELS + 1];
    int64_t tile;

    MPII_Gpudt_span_range(&args->span, s, MPII_GPUDT_WORD_BOX(s->unit));
    MPII_Gpudt_levels_set(&args->levels, level, box_levels(s, level));
    args->run = s->leaf->size > s->unit && s->nlevels > 0 ? s->leaf->size / s->unit : 0;
    plan->kernel = MPII_Gpudt_kernel_id(!s->in->wide && s->last / s->unit <= INT32_MAX &&
                                        MPII_Gpudt_levels_are_small(&args->levels) ?
                                        MPII_GPUDT_KERNEL__box32_1_PACK :
                                        MPII_GPUDT_KERNEL__box64_1_PACK, s);
    plan->args_sz = sizeof(*args);
    tile = MPII_Gpudt_tile_words(s, args->span.nwords, MPII_Gpudt_tiles_per_sm(s),
                                 MPII_GPUDT_UNROLL_BOX(s->unit, s->in->unpack),
                                 MPII_GPUDT_UNROLL_BOX(s->unit, s->in->unpack));
    plan->grid = MPII_Gpudt_span_share(&args->span, s, tile, MPII_GPUDT_MAX_BLOCKS);
}

static double box_factor(const struct MPII_Gpudt_shape *s)
{
    return s->unit == 1 && !s->in->unpack ? MPII_GPUDT_BOX_BYTES_FACTOR : 1;
}

static double box_cost(const struct MPII_Gpudt_shape *s)
{
    return MPII_Gpudt_kernel_cost(s, (double) s->leaf->size, box_factor(s));
}

static int table_applies(const struct MPII_Gpudt_shape *s)
{
    return s->in->image.kind == MPII_GPUDT_INDEX__TABLE;
}

/* A box of datatypes, whatever the type: two levels, or three if the table's units are wider than
 * the units that suit the addresses of this call. */
static void table_fill(const struct MPII_Gpudt_shape *from, struct MPII_Gpudt_plan *plan)
{
    const struct MPII_Gpudt_plan_in *in = from->in;
    const struct MPII_Gpudt_serial *serial = in->serial;
    const int64_t unit = MPII_Gpudt_table_unit(serial), skip = in->first / serial->size;
    struct MPII_Gpudt_shape copy = *from, *s = &copy;
    struct MPII_Gpudt_record leaf = {.kind = MPII_GPUDT_KIND__BLOCK,.size = unit };

    s->leaf = &leaf;
    s->nlevels = 2;
    s->level[0] = (struct MPII_Gpudt_shape_level) {.count = serial->size / unit,
        .displ = in->image.index
    };
    s->user = in->user + (uint64_t) (serial->base_displ + skip * serial->extent);
    s->first = in->first - skip * serial->size;
    s->last = in->last - skip * serial->size;
    s->packed = in->packed - (uint64_t) s->first;
    s->level[1] = (struct MPII_Gpudt_shape_level) {.count = ceil_div(s->last, serial->size),
        .stride = serial->extent
    };
    box_fill(s, plan);
}

static double table_cost(const struct MPII_Gpudt_shape *s)
{
    return MPII_Gpudt_kernel_cost(s, MPII_Gpudt_piece_size(s), box_factor(s));
}

const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_box = {
    "box", box_applies, box_cost, box_fill
};

const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_table = {
    "table", table_applies, table_cost, table_fill
};
