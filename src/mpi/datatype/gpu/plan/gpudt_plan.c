/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The strategies of a plan. See gpudt_plan.h for what this file must not know. A strategy is a row
 * of the table at the end: a test, a cost and a function that fills in its parameters.
 */

#include <string.h>

#include "gpudt_plan.h"
#include "gpudt_divisor.h"
#include "gpudt_image.h"
#include "gpudt_plan_shape.h"
#include "gpudt_cost.h"
#include "kernel/gpudt_kernel_list.h"
#include "kernel/gpudt_tuning.h"

static double max_double(double a, double b)
{
    return a > b ? a : b;
}

static int host_is_used(const struct MPII_Gpudt_shape *s)
{
    return s->in->packed_place == MPII_GPUDT_PLACE__HOST ||
        s->in->user_place == MPII_GPUDT_PLACE__HOST;
}

/* Of a power of two. */
static int log2_of(int64_t n)
{
    int at = 0;
    while ((int64_t) 1 << at < n)
        at++;
    return at;
}

/* Index of the kernel for the shape's unit, from that of its family's first. */
static int kernel_id(int family, const struct MPII_Gpudt_shape *s)
{
    return family + 2 * log2_of(s->unit) + s->in->unpack;
}

/* ---------------------------------------------------------------- COPY1D and COPY2D */

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

/* Whole rows, at a pitch that the driver takes. */
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

static double copy2d_cost(const struct MPII_Gpudt_shape *s)
{
    const double bytes = (double) (s->last - s->first), rows = bytes / (double) s->leaf->size;
    double start = MPII_GPUDT_COPY2D_NS, row = MPII_GPUDT_COPY2D_ROW_NS;
    double byte = MPII_GPUDT_COPY2D_BYTE_NS;

    if (host_is_used(s)) {
        start = s->in->unpack ? MPII_GPUDT_COPY2D_FROM_HOST_NS : MPII_GPUDT_COPY2D_TO_HOST_NS;
        row = s->in->unpack ? MPII_GPUDT_COPY2D_FROM_HOST_ROW_NS : MPII_GPUDT_COPY2D_TO_HOST_ROW_NS;
        byte = MPII_GPUDT_COPY2D_HOST_BYTE_NS;
    }
    return start + max_double(rows * row, bytes * byte);        /* rows and bytes overlap */
}

/* ---------------------------------------------------------------- BOX */

/* Levels as the kernels take them: n of them, none or more. */
static void levels_set(struct MPII_Gpudt_levels *levels,
                       const struct MPII_Gpudt_shape_level *from, int n)
{
    int64_t below = 0;          /* how far the level below goes, over all its children */

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

/* All levels of a box. A block longer than a unit is the innermost one. Returns their number. */
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

/* Whether the kernels can take strides as 32 bits. */
static int levels_are_small(const struct MPII_Gpudt_levels *levels)
{
    for (int k = 0; k < levels->nlevels; k++) {
        if (levels->level[k].step != (int32_t) levels->level[k].step)
            return 0;
    }
    return levels->top.step == (int32_t) levels->top.step;
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
    levels_set(&args->levels, level, box_levels(s, level));
    args->run = s->leaf->size > s->unit && s->nlevels > 0 ? s->leaf->size / s->unit : 0;
    plan->kernel = kernel_id(!s->in->wide && s->last / s->unit <= INT32_MAX &&
                             levels_are_small(&args->levels) ? MPII_GPUDT_KERNEL__box32_1_PACK :
                             MPII_GPUDT_KERNEL__box64_1_PACK, s);
    plan->args_sz = sizeof(*args);
    tile = MPII_Gpudt_tile_words(s, args->span.nwords,
                                 MPII_GPUDT_UNROLL_BOX(s->unit, s->in->unpack),
                                 MPII_GPUDT_UNROLL_BOX(s->unit, s->in->unpack));
    plan->grid = MPII_Gpudt_span_share(&args->span, s, tile, MPII_GPUDT_MAX_BLOCKS);
}

/* Time of a kernel that touches user memory in pieces of `piece` bytes which are each alone in
 * their sectors, and that is `factor` times slower than the memory: launch and bus included. */
static double kernel_cost(const struct MPII_Gpudt_shape *s, double piece, double factor)
{
    const double bytes = (double) (s->last - s->first);
    const double waste = piece < MPII_GPUDT_SECTOR_SZ ? MPII_GPUDT_SECTOR_SZ / piece : 1;
    const double memory = factor * bytes * MPII_GPUDT_BYTE_NS * (1 + waste) / 2;

    if (!host_is_used(s))
        return MPII_GPUDT_LAUNCH_NS + memory;
    return MPII_GPUDT_LAUNCH_NS +
        (s->in->unpack ? MPII_GPUDT_FROM_HOST_NS : MPII_GPUDT_TO_HOST_NS) +
        max_double(memory, bytes * MPII_GPUDT_HOST_BYTE_NS);
}

/* Average size of the contiguous pieces. */
static double piece_size(const struct MPII_Gpudt_shape *s)
{
    double piece = (double) s->in->serial->size / (double) s->in->serial->nblocks;

    return piece > 1 ? piece : 1;
}

static double box_factor(const struct MPII_Gpudt_shape *s)
{
    return s->unit == 1 && !s->in->unpack ? MPII_GPUDT_BOX_BYTES_FACTOR : 1;
}

static double box_cost(const struct MPII_Gpudt_shape *s)
{
    return kernel_cost(s, (double) s->leaf->size, box_factor(s));
}

/* ---------------------------------------------------------------- TABLE */

static int table_applies(const struct MPII_Gpudt_shape *s)
{
    return s->in->image.kind == MPII_GPUDT_INDEX__TABLE;
}

/* A box of datatypes, whatever the type is: two levels, or three where the table's units are wider
 * than those that suit this call's addresses. */
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
    return kernel_cost(s, piece_size(s), box_factor(s));
}

/* ---------------------------------------------------------------- TURN */

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
    levels_set(&inner, s->level, turned);
    return turn_below(s, turned) < INT32_MAX - MPII_GPUDT_SQUARE_IN(s->unit) &&
        levels_are_small(&inner) && turn_squares(s, turned) < INT32_MAX;
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
    levels_set(&args->inner, s->level, turned);
    levels_set(&args->outer, s->level + turned + 1, s->nlevels - turned - 1);
    args->span.ntiles = (int64_t) turn_squares(s, turned);
    plan->kernel = kernel_id(MPII_GPUDT_KERNEL__turn_1_PACK, s);
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
    if (host_is_used(s))
        return kernel_cost(s, s->unit, 1) + MPII_GPUDT_TURN_HOST_NS;
    return MPII_GPUDT_LAUNCH_NS + bytes * MPII_GPUDT_TURN_BYTE_NS;
}

/* ---------------------------------------------------------------- LIST */

/* Entries of one run, or of pieces at a stride, whose bytes are counted in 32 bits. */
static int list_applies(const struct MPII_Gpudt_shape *s)
{
    return s->nlevels >= 0 && s->leaf->kind == MPII_GPUDT_KIND__INDEXED &&
        s->in->serial->records[s->leaf->child].kind == MPII_GPUDT_KIND__BLOCK &&
        (s->leaf->extent == s->leaf->child_size || s->leaf->child_size < MPII_GPUDT_MAX_PIECE);
}

/* Words of a tile: fewer than there could be if its entries are many. */
static int64_t list_tile(const struct MPII_Gpudt_shape *s, int64_t nwords)
{
    const int word = MPII_GPUDT_WORD_LIST(s->unit);
    const int64_t average = s->leaf->size / s->leaf->count;
    const int64_t most = average * MPII_GPUDT_LIST_ENTRIES / (MPII_GPUDT_THREADS * word);

    return MPII_Gpudt_tile_words(s, nwords, MPII_GPUDT_UNROLL_LIST(s->unit, s->in->unpack),
                                 (int) min_i64(most, MPII_GPUDT_LIST_ROUNDS));
}

/* What both kinds of list kernels take: all but the tiles. */
static void list_set(const struct MPII_Gpudt_shape *s, struct MPII_Gpudt_plan *plan)
{
    struct MPII_Gpudt_args_list *args = &plan->args.list;

    MPII_Gpudt_span_range(&args->span, s, MPII_GPUDT_WORD_LIST(s->unit));
    levels_set(&args->levels, s->level, s->nlevels);
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
    args->shift = 0;
    plan->args_sz = sizeof(*args);
}

static void list_fill(const struct MPII_Gpudt_shape *s, struct MPII_Gpudt_plan *plan)
{
    struct MPII_Gpudt_span *span = &plan->args.span;

    list_set(s, plan);
    plan->kernel = kernel_id(MPII_GPUDT_KERNEL__list_1_PACK, s);
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
        kernel_cost(s, piece_size(s), MPII_GPUDT_LIST_FACTOR(s->unit, s->in->unpack));
}

/* ---------------------------------------------------------------- RANK */

static int rank_applies(const struct MPII_Gpudt_shape *s)
{
    return s->nlevels >= 0 && s->in->image.kind == MPII_GPUDT_INDEX__RANK;
}

static void rank_fill(const struct MPII_Gpudt_shape *s, struct MPII_Gpudt_plan *plan)
{
    struct MPII_Gpudt_args_list *args = &plan->args.list;
    int64_t tile;

    list_set(s, plan);
    args->groups = s->in->image.index;
    args->shift = (args->piece & (args->piece - 1)) == 0 ? log2_of(args->piece) : -1;
    plan->kernel = kernel_id(MPII_GPUDT_KERNEL__rank_1_PACK, s);
    tile = MPII_Gpudt_tile_words(s, args->span.nwords,
                                 MPII_GPUDT_UNROLL_RANK(s->unit, s->in->unpack),
                                 MPII_GPUDT_RANK_ROUNDS);
    plan->grid = MPII_Gpudt_span_share(&args->span, s, tile, MPII_GPUDT_MAX_BLOCKS);
}

static double rank_cost(const struct MPII_Gpudt_shape *s)
{
    return MPII_GPUDT_RANK_NS +
        kernel_cost(s, piece_size(s), MPII_GPUDT_RANK_FACTOR(s->unit, s->in->unpack));
}

/* ---------------------------------------------------------------- TREE */

static int tree_applies(const struct MPII_Gpudt_shape *s)
{
    (void) s;
    return 1;
}

/* Whether a long list is the first list on the way down. */
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
        /* The root may be record 0 several times over, and then is no record of the type. */
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
    plan->kernel = kernel_id(!s->in->wide && s->last <= INT32_MAX ?
                             MPII_GPUDT_KERNEL__tree32_1_PACK : MPII_GPUDT_KERNEL__tree64_1_PACK,
                             s);
    plan->args_sz = sizeof(*args);
    tile = MPII_Gpudt_tile_words(s, args->span.nwords,
                                 MPII_GPUDT_UNROLL_TREE(s->unit, s->in->unpack),
                                 MPII_GPUDT_UNROLL_TREE(s->unit, s->in->unpack));
    plan->grid = MPII_Gpudt_span_share(&args->span, s, tile, MPII_GPUDT_MAX_BLOCKS);
}

static double tree_cost(const struct MPII_Gpudt_shape *s)
{
    return MPII_GPUDT_TREE_NS + kernel_cost(s, piece_size(s), MPII_GPUDT_TREE_FACTOR);
}

/* ---------------------------------------------------------------- MAP */

/* Datatypes that fit a map, and 32 bits for positions and displacements. */
static int map_applies(const struct MPII_Gpudt_shape *s)
{
    /* A topmost list is rebased, which the tree does not know */
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
    plan->kernel = kernel_id(MPII_GPUDT_KERNEL__map_1_PACK, s);
    plan->args_sz = sizeof(*args);
    tile = MPII_Gpudt_tile_words(s, args->span.nwords,
                                 MPII_GPUDT_UNROLL_MAP(s->unit, s->in->unpack),
                                 MPII_GPUDT_MAP_ROUNDS);
    plan->grid = MPII_Gpudt_span_share(&args->span, s, tile,
                                       (int64_t) MPII_GPUDT_MAP_BLOCKS_PER_SM * s->in->nsms);
}

static double map_cost(const struct MPII_Gpudt_shape *s)
{
    return MPII_GPUDT_MAP_NS *
        (double) ceil_div(s->root->size / s->unit, MPII_GPUDT_THREADS) +
        kernel_cost(s, piece_size(s), MPII_GPUDT_MAP_FACTOR);
}

/* ---------------------------------------------------------------- the table */

static const struct strategy {
    const char *name;
    int (*applies) (const struct MPII_Gpudt_shape * s);
    double (*cost) (const struct MPII_Gpudt_shape * s);
    void (*fill) (const struct MPII_Gpudt_shape * s, struct MPII_Gpudt_plan * plan);
} strategies[MPII_GPUDT_NSTRATEGIES] = {
    [MPII_GPUDT_STRATEGY__COPY1D] = {"copy1d", copy1d_applies, copy1d_cost, copy1d_fill},
    [MPII_GPUDT_STRATEGY__COPY2D] = {"copy2d", copy2d_applies, copy2d_cost, copy2d_fill},
    [MPII_GPUDT_STRATEGY__TURN] = {"turn", turn_applies, turn_cost, turn_fill},
    [MPII_GPUDT_STRATEGY__BOX] = {"box", box_applies, box_cost, box_fill},
    [MPII_GPUDT_STRATEGY__TABLE] = {"table", table_applies, table_cost, table_fill},
    [MPII_GPUDT_STRATEGY__RANK] = {"rank", rank_applies, rank_cost, rank_fill},
    [MPII_GPUDT_STRATEGY__LIST] = {"list", list_applies, list_cost, list_fill},
    [MPII_GPUDT_STRATEGY__MAP] = {"map", map_applies, map_cost, map_fill},
    [MPII_GPUDT_STRATEGY__TREE] = {"tree", tree_applies, tree_cost, tree_fill},
};

void MPII_Gpudt_plan_make(const struct MPII_Gpudt_plan_in *in, struct MPII_Gpudt_plan *plan)
{
    const struct MPII_Gpudt_record *top = in->top != NULL ? in->top : in->serial->records;
    int best = MPII_GPUDT_STRATEGY__TREE;
    double best_cost = -1;
    struct MPII_Gpudt_shape s;

    MPII_Gpudt_shape_make(&s, in, top);
    for (int i = 0; i < MPII_GPUDT_NSTRATEGIES; i++) {
        if (!(in->allowed & 1u << i) || !strategies[i].applies(&s))
            continue;
        double cost = strategies[i].cost(&s);
        if (i != MPII_GPUDT_STRATEGY__COPY1D && i != MPII_GPUDT_STRATEGY__COPY2D)
            cost += in->switch_ns;
        if (best_cost < 0 || cost < best_cost) {
            best = i;
            best_cost = cost;
        }
    }
    plan->strategy = (enum MPII_Gpudt_strategy_e) best;
    plan->cost = best_cost;
    strategies[best].fill(&s, plan);
}

const char *MPII_Gpudt_plan_strategy_name(enum MPII_Gpudt_strategy_e strategy)
{
    return strategies[strategy].name;
}

#define KERNEL_NAMES(family_, word_, locator_, args_)   \
    "gpudt_" #family_ "_" #word_ "_pack",               \
    "gpudt_" #family_ "_" #word_ "_unpack",

const char *MPII_Gpudt_plan_kernel_name(int kernel)
{
    static const char *const names[MPII_GPUDT_NKERNELS] = {
        MPII_GPUDT_KERNEL_ALL(KERNEL_NAMES)
        "gpudt_batch"
    };
    return names[kernel];
}
