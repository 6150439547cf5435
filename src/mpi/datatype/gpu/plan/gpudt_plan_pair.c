/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Plans of the pair kernels: each side as if it were packed to a tile in shared memory, or unpacked
 * from there.
 */

#include <string.h>

#include "gpudt_plan.h"
#include "gpudt_plan_pair.h"
#include "gpudt_strategy.h"
#include "tuning/gpudt_tuning.h"
#include "type/gpudt_gcd.h"

#define ALIGN MPII_GPUDT_PAIR_ALIGN     /* of tiles, in bytes */

/* Plan a side.
 *   begin     (IN)  offset in tile 0 of the first byte
 *   max_unit  (IN)  bytes of a unit, at most */
static void side_plan(const struct MPII_Gpudt_plan_in *in, int unpack, int begin, int max_unit,
                      struct MPII_Gpudt_plan *plan)
{
    struct MPII_Gpudt_plan_in copy = *in;

    copy.packed = (uint64_t) begin;
    copy.packed_place = MPII_GPUDT_PLACE__DEVICE;
    copy.unpack = unpack;
    copy.max_unit = max_unit;
    copy.switch_ns = 0;
    copy.allowed &= MPII_GPUDT_PAIR_STRATEGIES;
    if (copy.allowed == 0)
        copy.allowed = MPII_GPUDT_PAIR_STRATEGIES;
    /* Here a tree is never the fastest, but it remains if nothing else applies */
    if (copy.allowed != 1u << MPII_GPUDT_STRATEGY__TREE)
        copy.allowed &= ~(1u << MPII_GPUDT_STRATEGY__TREE);
    MPII_Gpudt_plan_make(&copy, plan);
}

/* Whether a plan needs indices of 64 bits. */
static int is_wide(int kernel)
{
    return (kernel >= MPII_GPUDT_KERNEL__box64_1_PACK &&
            kernel <= MPII_GPUDT_KERNEL__box64_16_UNPACK) ||
        (kernel >= MPII_GPUDT_KERNEL__tree64_1_PACK &&
         kernel <= MPII_GPUDT_KERNEL__tree64_16_UNPACK);
}

static enum MPII_Gpudt_family_e family_of(enum MPII_Gpudt_strategy_e strategy)
{
    switch (strategy) {
        case MPII_GPUDT_STRATEGY__BOX:
        case MPII_GPUDT_STRATEGY__TABLE:
            return MPII_GPUDT_FAMILY__BOX;
        case MPII_GPUDT_STRATEGY__BITMAP:
            return MPII_GPUDT_FAMILY__BITMAP;
        case MPII_GPUDT_STRATEGY__LIST:
            return MPII_GPUDT_FAMILY__LIST;
        default:
            return MPII_GPUDT_FAMILY__TREE;
    }
}

static int is_box32(int kernel)
{
    return kernel >= MPII_GPUDT_KERNEL__box32_1_PACK &&
        kernel <= MPII_GPUDT_KERNEL__box32_16_UNPACK;
}

static void side_set(const struct MPII_Gpudt_plan *from, int begin,
                     struct MPII_Gpudt_pair_side *side)
{
    side->family = family_of(from->strategy);
    side->unit_log = log2_of(from->unit);
    side->shift = from->args.span.first - begin;
    memcpy(&side->args, &from->args, from->args_sz);
}

/* Bytes of a tile: small as long as all tiles can be in progress at a time, which is best for the
 * latency. Tiles of narrow units stay small, since they take a thread many steps. */
static int32_t tile_size(const struct MPII_Gpudt_plan_in *in, int64_t bytes, int unit)
{
    const int64_t all = (int64_t) MPII_GPUDT_PAIR_TILES_PER_SM * in->nsms;
    const int64_t most = min_i64(MPII_GPUDT_PAIR_TILE,
                                 (int64_t) MPII_GPUDT_PAIR_UNITS * MPII_GPUDT_THREADS * unit);
    int64_t tile = MPII_GPUDT_PAIR_MIN_TILE;

    while (tile < most && bytes > tile * all)
        tile *= 2;
    return (int32_t) tile;
}

/* Set the number of blocks, at most as many as both ends allow. */
static void grid_set(const struct MPII_Gpudt_plan_in *src, const struct MPII_Gpudt_plan_in *dst,
                     int64_t blocks, struct MPII_Gpudt_plan_pair *plan)
{
    if (src->max_blocks > 0)
        blocks = min_i64(blocks, src->max_blocks);
    if (dst->max_blocks > 0)
        blocks = min_i64(blocks, dst->max_blocks);
    plan->grid = (unsigned) min_i64(blocks, MPII_GPUDT_MAX_BLOCKS);
    memset(&plan->args.end, 0, sizeof(plan->args.end));
    plan->args.end.nblocks = (int32_t) plan->grid;
}

static void tiles_share(const struct MPII_Gpudt_plan_in *src, const struct MPII_Gpudt_plan_in *dst,
                        int unit, struct MPII_Gpudt_plan_pair *plan)
{
    struct MPII_Gpudt_args_pair *args = &plan->args.pair;

    args->tile = tile_size(dst, args->last, unit);
    args->ntiles = ceil_div(args->last, args->tile);
    grid_set(src, dst, args->ntiles, plan);
}

/* The widest unit that is aligned in both streams, and of which the range consists. */
static int common_unit(const struct MPII_Gpudt_plan *from, const struct MPII_Gpudt_plan *to)
{
    const struct MPII_Gpudt_span *span[2] = { &from->args.span, &to->args.span };
    uint64_t all = (uint64_t) (from->unit | to->unit);

    for (int i = 0; i < 2; i++)
        all |= (uint64_t) (span[i]->first | span[i]->last);
    return (int) MPII_Gpudt_power_of(all);
}

/* Whether a side is a list that the kernel for lists takes. */
static int is_plain_list(const struct MPII_Gpudt_plan *plan)
{
    const struct MPII_Gpudt_args_list *list = &plan->args.list;

    return (plan->strategy == MPII_GPUDT_STRATEGY__BITMAP ||
            (plan->strategy == MPII_GPUDT_STRATEGY__LIST &&
             list->nruns <= MPII_GPUDT_PAIRLIST_SEARCH)) &&
        list->levels.nlevels == 0 && list->levels.top.displ == 0;
}

/* Whether a side is a list of long runs. */
static int is_run_list(const struct MPII_Gpudt_plan *plan)
{
    const struct MPII_Gpudt_args_list *list = &plan->args.list;

    return plan->strategy == MPII_GPUDT_STRATEGY__LIST && list->gap == 0 &&
        list->list_size / list->nruns >= MPII_GPUDT_PAIRRUNS_MIN &&
        list->levels.nlevels == 0 && list->levels.top.displ == 0;
}

static void box_side_set(const struct MPII_Gpudt_plan *from, int unit,
                         struct MPII_Gpudt_pairbox_side *side)
{
    side->user = from->args.span.user;
    side->first = from->args.span.first / unit;
    side->levels = from->args.box.levels;
}

static int levels_are_alike(const struct MPII_Gpudt_level *a, const struct MPII_Gpudt_level *b)
{
    return a->step == b->step && a->displ == b->displ;
}

/* Whether each unit is at the same displacement on both sides. */
static int sides_are_alike(const struct MPII_Gpudt_pairbox_side *a,
                           const struct MPII_Gpudt_pairbox_side *b)
{
    int is_alike = a->first == b->first && a->levels.nlevels == b->levels.nlevels &&
        levels_are_alike(&a->levels.top, &b->levels.top);

    for (int k = 0; k < a->levels.nlevels && is_alike; k++)
        is_alike = a->levels.level[k].count == b->levels.level[k].count &&
            levels_are_alike(&a->levels.level[k], &b->levels.level[k]);
    return is_alike;
}

static void boxes_set(struct MPII_Gpudt_plan *const side[2], int unit, int32_t nunits,
                      struct MPII_Gpudt_plan_pair *plan)
{
    struct MPII_Gpudt_args_pairbox *args = &plan->args.box;

    plan->kernel = MPII_GPUDT_KERNEL__PAIRBOX;
    args->nunits = nunits;
    args->unit_log = log2_of(unit);
    for (int i = 0; i < 2; i++)
        box_side_set(side[i], unit, &args->side[i]);
    args->is_alike = sides_are_alike(&args->side[0], &args->side[1]);
    args->pad = 0;
}

/* Units of a chunk for a warp: as few as there are warps for. */
static int32_t chunk_of(int unit, int64_t nunits, int nsms)
{
    const int64_t lanes = (int64_t) 32 * MPII_GPUDT_PAIRRUNS_WARPS * nsms;

    return 32 * (int32_t) min_i64(MPII_GPUDT_PAIRRUNS_UNROLL(unit), ceil_div(nunits, lanes));
}

/*   is_list  (IN)  for each side; the other one is a box
 *   chunk    (IN)  units of a warp, if the lists have long runs; else 0 */
static void lists_set(struct MPII_Gpudt_plan *const side[2], const int is_list[2], int unit,
                      int32_t nunits, int32_t chunk, struct MPII_Gpudt_plan_pair *plan)
{
    struct MPII_Gpudt_args_pairlist *args = &plan->args.list;

    plan->kernel = chunk ? MPII_GPUDT_KERNEL__PAIRRUNS : MPII_GPUDT_KERNEL__PAIRLIST;
    args->nunits = nunits;
    args->unit_log = log2_of(unit);
    args->chunk = chunk;
    args->pad = 0;
    for (int i = 0; i < 2; i++) {
        args->side[i].is_list = is_list[i];
        args->side[i].pad = 0;
        if (is_list[i])
            args->side[i].form.list = side[i]->args.list;
        else
            box_side_set(side[i], unit, &args->side[i].form.box);
    }
}

/* Find the sides that a kernel for lists takes as such. Returns whether it is the one for long runs,
 * which all lists must have. */
static int lists_find(struct MPII_Gpudt_plan *const side[2], int is_list[2])
{
    int nruns = 0, nothers = 0;

    for (int i = 0; i < 2; i++) {
        is_list[i] = is_run_list(side[i]);
        nruns += is_list[i];
        nothers += !is_list[i] && is_plain_list(side[i]);
    }
    if (nruns > 0 && nothers == 0)
        return 1;
    for (int i = 0; i < 2; i++)
        is_list[i] = is_plain_list(side[i]);
    return 0;
}

/* Plan a kernel that copies unit by unit, between boxes and lists, if one suits. It may change the
 * plans of the sides. */
static int units_plan(const struct MPII_Gpudt_plan_in *src, const struct MPII_Gpudt_plan_in *dst,
                      struct MPII_Gpudt_plan *from, struct MPII_Gpudt_plan *to,
                      struct MPII_Gpudt_plan_pair *plan)
{
    const int unit = common_unit(from, to);
    const int64_t nunits = (src->last - src->first) / unit;
    const struct MPII_Gpudt_plan_in *in[2] = { src, dst };
    struct MPII_Gpudt_plan *side[2] = { from, to };
    int is_list[2];
    const int32_t chunk = lists_find(side, is_list) ? chunk_of(unit, nunits, dst->nsms) : 0;
    const int nlists = is_list[0] + is_list[1];

    if (nunits > MPII_GPUDT_MAX_BLOCKS ||
        (nlists == 0 && nunits > MPII_GPUDT_PAIRBOX_NARROW_UNITS &&
         (unit < from->unit || unit < to->unit)))
        return 0;
    for (int i = 0; i < 2; i++) {
        if (is_list[i])
            continue;           /* its positions are bytes */
        if (is_box32(side[i]->kernel) && unit < side[i]->unit)
            side_plan(in[i], i, 0, unit, side[i]);
        if (!is_box32(side[i]->kernel))
            return 0;           /* narrower units are more */
    }
    if (nlists)
        lists_set(side, is_list, unit, (int32_t) nunits, chunk, plan);
    else
        boxes_set(side, unit, (int32_t) nunits, plan);
    grid_set(src, dst,
             min_i64(ceil_div(nunits, chunk ? chunk * (MPII_GPUDT_THREADS / 32) : MPII_GPUDT_THREADS),
                     (int64_t) MPII_GPUDT_PAIRBOX_BLOCKS_PER_SM * dst->nsms), plan);
    return 1;
}

static void tiles_plan(const struct MPII_Gpudt_plan_in *src, const struct MPII_Gpudt_plan_in *dst,
                       int begin, const struct MPII_Gpudt_plan *from,
                       const struct MPII_Gpudt_plan *to, struct MPII_Gpudt_plan_pair *plan)
{
    struct MPII_Gpudt_args_pair *args = &plan->args.pair;

    plan->kernel = is_wide(from->kernel) || is_wide(to->kernel) ? MPII_GPUDT_KERNEL__PAIR64 :
        MPII_GPUDT_KERNEL__PAIR32;
    side_set(from, begin, &args->side[0]);
    side_set(to, begin, &args->side[1]);
    args->begin = begin;
    args->last = begin + (src->last - src->first);
    tiles_share(src, dst, from->unit < to->unit ? from->unit : to->unit, plan);
}

/* Let rows without planes have those of the other side. Returns whether both then are alike. */
static int planes_match(struct MPII_Gpudt_copy *a, struct MPII_Gpudt_copy *b)
{
    struct MPII_Gpudt_copy *flat = a->planes == 1 ? a : b;
    const struct MPII_Gpudt_copy *other = flat == a ? b : a;

    if (flat->planes == 1 && flat->rows == other->rows * other->planes) {
        flat->rows = flat->height = other->rows;
        flat->planes = other->planes;
    }
    return a->width == b->width && a->rows == b->rows && a->planes == b->planes;
}

/* Plan the driver's copy, if both sides are rows of the same width. On a GPU that processes share
 * it needs a context switch as well, and takes longer. */
static void copy_plan(const struct MPII_Gpudt_plan_in *src, const struct MPII_Gpudt_plan_in *dst,
                      struct MPII_Gpudt_plan_pair *plan)
{
    struct MPII_Gpudt_plan from, to;
    const int is_from_peer = src->user_place == MPII_GPUDT_PLACE__PEER;

    plan->copy_cost = 0;
    if (src->switch_ns > 0 ||
        !(src->allowed & dst->allowed & 1u << MPII_GPUDT_STRATEGY__COPY2D) ||
        is_from_peer == (dst->user_place == MPII_GPUDT_PLACE__PEER) ||
        !MPII_Gpudt_plan_rows(src, &from) || !MPII_Gpudt_plan_rows(dst, &to) ||
        !planes_match(&from.copy, &to.copy))
        return;
    plan->copy_cost = MPII_Gpudt_peer_copy_cost(&from.copy);
    plan->copy = (struct MPII_Gpudt_rows) {
        .src = from.copy.user,.dst = to.copy.user,
        .width = from.copy.width,.rows = from.copy.rows,.planes = from.copy.planes,
        .src_pitch = from.copy.pitch,.dst_pitch = to.copy.pitch,
        .src_height = from.copy.height,.dst_height = to.copy.height
    };
}

void MPII_Gpudt_plan_pair_make(const struct MPII_Gpudt_plan_in *src,
                               const struct MPII_Gpudt_plan_in *dst,
                               struct MPII_Gpudt_plan_pair *plan)
{
    struct MPII_Gpudt_plan from, to;
    int begin = (int) (src->first % ALIGN);

    /* Units of a side are aligned in the tiles if its stream is. If the streams of both sides
     * differ by less than a unit of the source, the destination has narrow units. */
    side_plan(src, 0, begin, ALIGN, &from);
    if ((dst->first - src->first) % from.unit == 0)
        begin = (int) (dst->first % ALIGN);
    side_plan(dst, 1, begin, ALIGN, &to);

    plan->cost = from.cost + to.cost - MPII_GPUDT_LAUNCH_NS + src->switch_ns;
    if (!units_plan(src, dst, &from, &to, plan))
        tiles_plan(src, dst, begin, &from, &to, plan);
    copy_plan(src, dst, plan);
    plan->strategy[0] = from.strategy;
    plan->strategy[1] = to.strategy;
}

/* Where a plan has the address of a side. */
static uint64_t *user_of(struct MPII_Gpudt_plan_pair *plan, int i)
{
    struct MPII_Gpudt_pairlist_side *list = &plan->args.list.side[i];

    switch (plan->kernel) {
        case MPII_GPUDT_KERNEL__PAIRBOX:
            return &plan->args.box.side[i].user;
        case MPII_GPUDT_KERNEL__PAIRLIST:
        case MPII_GPUDT_KERNEL__PAIRRUNS:
            return list->is_list ? &list->form.list.span.user : &list->form.box.user;
        default:
            return &plan->args.pair.side[i].args.span.user;
    }
}

void MPII_Gpudt_plan_pair_shift(struct MPII_Gpudt_plan_pair *plan, const uint64_t by[2])
{
    for (int i = 0; i < 2; i++)
        *user_of(plan, i) += by[i];
    if (plan->copy_cost > 0) {
        plan->copy.src += by[0];
        plan->copy.dst += by[1];
    }
}

/* It has two datatypes, and is never a plan for one. */
static int pair_applies(const struct MPII_Gpudt_shape *s)
{
    (void) s;
    return 0;
}

const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_pair = {
    "pair", pair_applies, NULL, NULL
};
