/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Strategies: kernels for lists of runs, with the list's index (BITMAP) or without (LIST).
 */

#include "gpudt_strategy.h"
#include "tuning/gpudt_tuning.h"
#include "gpudt_divisor.h"

/* Entries that are runs, or pieces at a stride; bytes are counted in 32 bits. */
static int list_applies(const struct MPII_Gpudt_shape *s)
{
    return s->nlevels >= 0 && s->leaf->kind == MPII_GPUDT_KIND__INDEXED &&
        s->in->serial->records[s->leaf->child].kind == MPII_GPUDT_KIND__BLOCK &&
        (s->leaf->extent == s->leaf->child_size || s->leaf->child_size < MPII_GPUDT_MAX_PIECE);
}

/* Words of a tile: fewer than the maximum if the tile would have many entries. */
static int64_t list_tile(const struct MPII_Gpudt_shape *s, int64_t nwords)
{
    const int word = MPII_GPUDT_WORD_LIST(s->unit);
    const int64_t average = s->leaf->size / s->leaf->count;
    const int64_t most = average * MPII_GPUDT_LIST_ENTRIES / (MPII_GPUDT_THREADS * word);

    return MPII_Gpudt_tile_words(s, nwords, MPII_GPUDT_TILES_PER_SM,
                                 MPII_GPUDT_UNROLL_LIST(s->unit, s->in->unpack),
                                 (int) min_i64(most, MPII_GPUDT_LIST_ROUNDS));
}

/* Parameters of both kinds of list kernels, except the tiles. */
static void list_set(const struct MPII_Gpudt_shape *s, struct MPII_Gpudt_plan *plan)
{
    struct MPII_Gpudt_args_list *args = &plan->args.list;

    MPII_Gpudt_span_range(&args->span, s, MPII_GPUDT_WORD_LIST(s->unit));
    MPII_Gpudt_levels_set(&args->levels, s->level, s->nlevels);
    args->nruns = s->leaf->count;
    args->list_size = s->leaf->size;
    args->piece = s->leaf->child_size;
    args->gap = s->leaf->extent - s->leaf->child_size;
    MPII_Gpudt_divisor_set(&args->by_nruns, args->nruns);
    MPII_Gpudt_divisor_set(&args->by_list, args->list_size);
    MPII_Gpudt_divisor_set(&args->by_piece, args->piece);
    args->prefix = s->in->image.lists + (uint64_t) s->leaf->lookaside;
    args->displ = args->prefix + 8 * ((uint64_t) args->nruns + 1);
    args->groups = 0;
    args->shift = (args->piece & (args->piece - 1)) == 0 ? log2_of(args->piece) : -1;
    plan->args_sz = sizeof(*args);
}

static void list_fill(const struct MPII_Gpudt_shape *s, struct MPII_Gpudt_plan *plan)
{
    struct MPII_Gpudt_span *span = &plan->args.span;

    list_set(s, plan);
    plan->kernel = MPII_Gpudt_kernel_id(MPII_GPUDT_KERNEL__list_1_PACK, s);
    plan->grid = MPII_Gpudt_span_share(span, s, list_tile(s, span->nwords),
                                       (int64_t) MPII_GPUDT_LIST_BLOCKS_PER_SM * s->in->nsms);
}

static double list_cost(const struct MPII_Gpudt_shape *s)
{
    const int word = MPII_GPUDT_WORD_LIST(s->unit);
    const double entry = (double) s->leaf->size / (double) s->leaf->count;
    const int64_t bytes = min_i64(s->last - s->first,
                                  list_tile(s, (s->last - s->first) / word) * word);
    double rounds = (double) bytes / entry / MPII_GPUDT_THREADS + 1;

    if (rounds > MPII_GPUDT_WINDOW / MPII_GPUDT_THREADS)
        rounds = MPII_GPUDT_WINDOW / MPII_GPUDT_THREADS;
    return MPII_GPUDT_LIST_NS + MPII_GPUDT_LIST_ROUND_NS * (double) (int) rounds +
        MPII_Gpudt_kernel_cost(s, MPII_Gpudt_piece_size(s),
                               MPII_GPUDT_LIST_FACTOR(s->unit, s->in->unpack));
}

static int bitmap_applies(const struct MPII_Gpudt_shape *s)
{
    return s->nlevels >= 0 && s->in->image.kind == MPII_GPUDT_INDEX__BITMAP;
}

static void bitmap_fill(const struct MPII_Gpudt_shape *s, struct MPII_Gpudt_plan *plan)
{
    struct MPII_Gpudt_args_list *args = &plan->args.list;
    int64_t tile;

    list_set(s, plan);
    args->groups = s->in->image.index;
    plan->kernel = MPII_Gpudt_kernel_id(MPII_GPUDT_KERNEL__bitmap_1_PACK, s);
    tile = MPII_Gpudt_tile_words(s, args->span.nwords, MPII_Gpudt_tiles_per_sm(s),
                                 MPII_GPUDT_UNROLL_BITMAP(s->unit, s->in->unpack),
                                 MPII_GPUDT_BITMAP_ROUNDS);
    plan->grid = MPII_Gpudt_span_share(&args->span, s, tile, MPII_GPUDT_MAX_BLOCKS);
}

static double bitmap_cost(const struct MPII_Gpudt_shape *s)
{
    return MPII_GPUDT_BITMAP_NS +
        MPII_Gpudt_kernel_cost(s, MPII_Gpudt_piece_size(s),
                               MPII_GPUDT_BITMAP_FACTOR(s->unit, s->in->unpack));
}

const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_list = {
    "list", list_applies, list_cost, list_fill
};

const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_bitmap = {
    "bitmap", bitmap_applies, bitmap_cost, bitmap_fill
};
