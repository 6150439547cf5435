/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

#include <string.h>

#include "gpudt_plan_shape.h"
#include "gpudt_across.h"
#include "tuning/gpudt_tuning.h"
#include "type/gpudt_gcd.h"

/* Levels from the top down to the first record that is neither a stride nor a list of equal
 * children. */
static void shape_levels(struct MPII_Gpudt_shape *s, const struct MPII_Gpudt_record *top)
{
    const struct MPII_Gpudt_record *records = s->in->serial->records;
    const struct MPII_Gpudt_record *chain[MPII_GPUDT_MAX_LEVELS];
    const struct MPII_Gpudt_record *rec = top;
    int n = 0;

    while (rec->kind == MPII_GPUDT_KIND__VECTOR || rec->kind == MPII_GPUDT_KIND__BLKINDEXED) {
        if (n < MPII_GPUDT_MAX_LEVELS)
            chain[n] = rec;
        n++;
        rec = records + rec->child;
    }
    s->leaf = rec;
    s->nlevels = n <= MPII_GPUDT_MAX_LEVELS ? n : -1;
    for (int k = 0; k < s->nlevels; k++) {
        const struct MPII_Gpudt_record *from = chain[n - 1 - k];
        struct MPII_Gpudt_shape_level *to = &s->level[k];
        to->count = from->count;
        to->stride = from->stride;
        to->displ = from->kind == MPII_GPUDT_KIND__BLKINDEXED ?
            s->in->image.lists + (uint64_t) from->lookaside : 0;
    }
}

/* Let the stream start at the first child of the topmost stride or list that the range touches.
 * Positions then stay small, however long the message is. */
static void shape_rebase(struct MPII_Gpudt_shape *s, const struct MPII_Gpudt_record *top)
{
    const struct MPII_Gpudt_plan_in *in = s->in;
    int64_t skip = 0;

    s->user = in->user + (uint64_t) in->serial->base_displ;
    s->root = top;
    s->root_index = 0;
    s->is_top = top->kind != MPII_GPUDT_KIND__VECTOR;
    s->root_stride = 0;
    if (top->kind == MPII_GPUDT_KIND__VECTOR) {
        skip = in->first / top->child_size;
        s->user += (uint64_t) (skip * top->stride);
        s->root_index = top->child;
        s->root = in->serial->records + top->child;
        s->root_stride = top->stride;
    } else if (top->kind == MPII_GPUDT_KIND__BLKINDEXED && s->nlevels > 0) {
        skip = in->first / top->child_size;
        s->level[s->nlevels - 1].displ += 8 * (uint64_t) skip;
    }
    if (skip > 0 && s->nlevels > 0)
        s->level[s->nlevels - 1].count -= skip;
    s->first = in->first - skip * top->child_size;
    s->last = in->last - skip * top->child_size;
    s->packed = in->packed - (uint64_t) s->first;
}

void MPII_Gpudt_shape_unbase_list(struct MPII_Gpudt_shape *s, const struct MPII_Gpudt_record *top)
{
    const struct MPII_Gpudt_plan_in *in = s->in;

    if (top->kind == MPII_GPUDT_KIND__BLKINDEXED) {
        s->first = in->first;
        s->last = in->last;
        s->packed = in->packed - (uint64_t) in->first;
    }
}

/* Alignments. Strides are checked one by one if there are no lists; lists are not read. */
static void shape_align(struct MPII_Gpudt_shape *s)
{
    const struct MPII_Gpudt_serial *serial = s->in->serial;
    uint64_t all = (s->in->max_unit > 0 ? (uint64_t) s->in->max_unit : 16) | s->user | s->packed;
    int lists = s->nlevels < 0 || s->leaf->kind != MPII_GPUDT_KIND__BLOCK;

    all |= (uint64_t) s->root_stride | (uint64_t) (lists ? serial->block_gcd : s->leaf->size);
    for (int k = 0; k < s->nlevels; k++) {
        all |= (uint64_t) s->level[k].stride;
        lists |= s->level[k].displ != 0;
    }
    if (lists)
        all |= (uint64_t) serial->displ_gcd;
    s->unit = (int) MPII_Gpudt_power_of(all);
}

void MPII_Gpudt_shape_make(struct MPII_Gpudt_shape *s, const struct MPII_Gpudt_plan_in *in,
                       const struct MPII_Gpudt_record *top)
{
    s->in = in;
    shape_levels(s, top);
    shape_rebase(s, top);
    shape_align(s);
}

void MPII_Gpudt_span_range(struct MPII_Gpudt_span *span, const struct MPII_Gpudt_shape *s, int word)
{
    int64_t beyond = (int64_t) ((s->packed + (uint64_t) s->first) % (uint64_t) word);

    memset(span, 0, sizeof(*span));
    span->user = s->user;
    span->packed = s->packed;
    span->first = s->first;
    span->last = s->last;
    span->pos0 = beyond > 0 ? s->first + word - beyond : s->first;
    span->nwords = s->last > span->pos0 ? (s->last - span->pos0) / word : 0;
    span->skip = (int32_t) ((s->packed + (uint64_t) span->pos0) % MPII_GPUDT_LINE_SZ) / word;
    span->has_ends = span->pos0 > s->first || span->pos0 + span->nwords * word < s->last;
}

unsigned MPII_Gpudt_span_share(struct MPII_Gpudt_span *span, const struct MPII_Gpudt_shape *s,
                               int64_t tile, int64_t max_blocks)
{
    span->tile = (int32_t) tile;
    if (span->ntiles == 0 && span->nwords > 0)
        span->ntiles = ceil_div(span->skip + span->nwords, tile);
    if (s->in->max_blocks > 0)
        max_blocks = min_i64(max_blocks, s->in->max_blocks);
    span->tiles_per_block = (int32_t) ceil_div(span->ntiles, max_blocks);
    if (span->tiles_per_block == 0)
        span->tiles_per_block = 1;
    int64_t blocks = ceil_div(span->ntiles, span->tiles_per_block);
    /* The last block does the ends: a separate block if there are many. */
    if (blocks == 0 || (span->has_ends && blocks > 1 && blocks < max_blocks))
        blocks++;
    span->end.nblocks = (int32_t) blocks;
    return (unsigned) blocks;
}

int64_t MPII_Gpudt_tiles_per_sm(const struct MPII_Gpudt_shape *s)
{
    const struct MPII_Gpudt_serial *type = s->in->serial;
    const struct MPII_Gpudt_record *top = s->in->top ? s->in->top : type->records;
    const double blocks = (double) type->nblocks;

    if (s->in->unpack && s->in->packed_place == MPII_GPUDT_PLACE__PEER &&
        MPII_Gpudt_block_spacing(type, top, (double) type->true_extent / blocks) * blocks <=
        MPII_GPUDT_PEER_SPREAD * (double) type->size)
        return MPII_GPUDT_PEER_TILES_PER_SM;
    return MPII_GPUDT_TILES_PER_SM;
}

int64_t MPII_Gpudt_tile_words(const struct MPII_Gpudt_shape *s, int64_t nwords, int64_t per_sm,
                              int unroll, int most)
{
    int64_t rounds = nwords / (MPII_GPUDT_THREADS * per_sm * s->in->nsms);

    /* One block, which can set a flag: its second round costs less than the end of a launch */
    if (nwords <= 2 * MPII_GPUDT_THREADS && most >= 2)
        return 2 * MPII_GPUDT_THREADS;
    rounds = min_i64(rounds, most) / unroll * unroll;
    return (rounds > 0 ? rounds : 1) * MPII_GPUDT_THREADS;
}
