/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Strategies: kernels for any type.
 */

#include "gpudt_strategy.h"
#include "tuning/gpudt_tuning.h"
#include "gpudt_divisor.h"

static int tree_applies(const struct MPII_Gpudt_shape *s)
{
    (void) s;
    return 1;
}

/* Whether the topmost list of the type is long. */
static int tree_narrows(const struct MPII_Gpudt_shape *s)
{
    const struct MPII_Gpudt_record *rec = s->root;

    while (rec->kind == MPII_GPUDT_KIND__VECTOR || rec->kind == MPII_GPUDT_KIND__BLKINDEXED)
        rec = s->in->serial->records + rec->child;
    return rec->kind != MPII_GPUDT_KIND__BLOCK && rec->count >= MPII_GPUDT_NARROW_MIN;
}

/* The tree and the range, for words of `word` bytes. */
static void tree_set(struct MPII_Gpudt_args_tree *args, const struct MPII_Gpudt_shape *s, int word)
{
    const struct MPII_Gpudt_serial *serial = s->in->serial;

    MPII_Gpudt_span_range(&args->span, s, word);
    args->type_size = s->root->size;
    args->type_units = s->root->size / s->unit;
    args->extent = s->root_stride;
    MPII_Gpudt_divisor_set(&args->by_type, args->type_size);
    MPII_Gpudt_divisor_set(&args->by_units, args->type_units);
    args->lookaside = s->in->image.lists;
    args->narrow = tree_narrows(s);
    args->root = s->root_index;
    args->nnodes = serial->nrecords;
    args->nodes = 0;
    args->pad = 0;
    if (s->root->kind == MPII_GPUDT_KIND__BLOCK) {
        /* The root may be a repetition of record 0, and then is no record of the type. */
        MPII_Gpudt_node_set(&args->node[0], serial, s->root);
        args->root = 0;
        args->nnodes = 1;
    } else if (serial->nrecords <= MPII_GPUDT_MAX_NODES) {
        MPII_Gpudt_image_nodes(serial, args->node);
    } else {
        args->nodes = s->in->image.nodes;
    }
}

static void tree_fill(const struct MPII_Gpudt_shape *from, struct MPII_Gpudt_plan *plan)
{
    struct MPII_Gpudt_args_tree *args = &plan->args.tree;
    struct MPII_Gpudt_shape copy = *from, *s = &copy;
    int64_t tile;

    MPII_Gpudt_shape_unbase_list(s, s->in->top);
    tree_set(args, s, MPII_GPUDT_WORD_TREE(s->unit, s->in->unpack));
    plan->kernel = MPII_Gpudt_kernel_id(!s->in->wide && s->last <= INT32_MAX ?
                                        MPII_GPUDT_KERNEL__tree32_1_PACK :
                                        MPII_GPUDT_KERNEL__tree64_1_PACK, s);
    plan->args_sz = sizeof(*args);
    tile = MPII_Gpudt_tile_words(s, args->span.nwords, MPII_GPUDT_TILES_PER_SM,
                                 MPII_GPUDT_UNROLL_TREE(s->unit, s->in->unpack),
                                 MPII_GPUDT_UNROLL_TREE(s->unit, s->in->unpack));
    plan->grid = MPII_Gpudt_span_share(&args->span, s, tile, MPII_GPUDT_MAX_BLOCKS);
}

static double tree_cost(const struct MPII_Gpudt_shape *s)
{
    return MPII_GPUDT_TREE_NS +
        MPII_Gpudt_kernel_cost(s, MPII_Gpudt_piece_size(s), MPII_GPUDT_TREE_FACTOR);
}

/* Datatypes that fit a map, with positions and displacements of 32 bits. */
static int map_applies(const struct MPII_Gpudt_shape *s)
{
    /* The tree does not know the rebasing of a topmost list */
    return !s->in->wide && !(s->is_top && s->root->kind == MPII_GPUDT_KIND__BLKINDEXED) &&
        s->root->size / s->unit <= MPII_GPUDT_MAX_MAP && s->last <= INT32_MAX &&
        s->root_stride == (int32_t) s->root_stride &&
        s->in->serial->true_extent <= INT32_MAX;
}

static void map_fill(const struct MPII_Gpudt_shape *s, struct MPII_Gpudt_plan *plan)
{
    struct MPII_Gpudt_args_tree *args = &plan->args.tree;
    int64_t tile;

    tree_set(args, s, MPII_GPUDT_WORD_BOX(s->unit));
    args->narrow = 0;
    plan->kernel = MPII_Gpudt_kernel_id(MPII_GPUDT_KERNEL__map_1_PACK, s);
    plan->args_sz = sizeof(*args);
    tile = MPII_Gpudt_tile_words(s, args->span.nwords, MPII_GPUDT_TILES_PER_SM,
                                 MPII_GPUDT_UNROLL_MAP(s->unit, s->in->unpack),
                                 MPII_GPUDT_MAP_ROUNDS);
    plan->grid = MPII_Gpudt_span_share(&args->span, s, tile,
                                       (int64_t) MPII_GPUDT_MAP_BLOCKS_PER_SM * s->in->nsms);
}

static double map_cost(const struct MPII_Gpudt_shape *s)
{
    return MPII_GPUDT_MAP_NS *
        (double) ceil_div(s->root->size / s->unit, MPII_GPUDT_THREADS) +
        MPII_Gpudt_kernel_cost(s, MPII_Gpudt_piece_size(s), MPII_GPUDT_MAP_FACTOR);
}

const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_tree = {
    "tree", tree_applies, tree_cost, tree_fill
};

const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_map = {
    "map", map_applies, map_cost, map_fill
};
