/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Copies from datatype to datatype: nested strides on both sides as one nest, long runs of one side
 * into or from the other side's datatype, anything else through packed pieces that stay in the
 * first cache. Must not know GPUs. */

#include "gpudt_cpu_pair.h"
#include "gpudt_cpu.h"
#include "gpudt_cpu_nest.h"
#include "type/gpudt_rows.h"

/* Bytes of a packed piece: small beside a first cache of 32 KiB. */
#define PIECE_BYTES (8 * 1024)

/* Average bytes of the runs of one side from which on they are visited one by one. Finding the place
 * of each in the other side's records costs as much as packing and unpacking some hundred bytes. */
#define LONG_RUN 512

/* A datatype that is nested strides, innermost level first. */
struct box {
    int nlevels;
    int64_t count[MPII_GPUDT_CPU_LEVELS];
    int64_t stride[MPII_GPUDT_CPU_LEVELS];
};

static bool level_add(struct box *box, int64_t count, int64_t stride)
{
    if (box->nlevels == MPII_GPUDT_CPU_LEVELS)
        return false;
    box->count[box->nlevels] = count;
    box->stride[box->nlevels++] = stride;
    return true;
}

/* Read the levels of records, of which the innermost are the bytes of a block. */
static bool box_read(const struct MPII_Gpudt_cpu_end *end, struct box *box)
{
    const struct MPII_Gpudt_record *rec = end->top;
    struct box outer = {.nlevels = 0 };

    for (; rec->kind == MPII_GPUDT_KIND__VECTOR; rec = end->serial->records + rec->child) {
        if (!level_add(&outer, rec->count, rec->stride))
            return false;
    }
    box->nlevels = 0;
    if (rec->kind != MPII_GPUDT_KIND__BLOCK || !level_add(box, rec->size, 1))
        return false;
    while (outer.nlevels-- > 0) {
        if (!level_add(box, outer.count[outer.nlevels], outer.stride[outer.nlevels]))
            return false;
    }
    return true;
}

/* Split the levels of two boxes of equal size until they have equal counts: a level of 12 beside
 * one of 4 is one of 4 and one of 3.
 *   a, b  (INOUT)  consumed
 *   level (OUT)    innermost first, strides of a in `user` and of b in `packed`; the first one is
 *                  bytes
 * Returns their number, 0 if that needs too many levels or counts do not divide each other. */
static int boxes_join(struct box *a, struct box *b,
                      struct MPII_Gpudt_cpu_level level[MPII_GPUDT_CPU_LEVELS + 1])
{
    int i = 0, j = 0, n = 0;

    while (i < a->nlevels && j < b->nlevels) {
        const int64_t least = a->count[i] < b->count[j] ? a->count[i] : b->count[j];

        if (n > MPII_GPUDT_CPU_LEVELS || a->count[i] % least != 0 || b->count[j] % least != 0)
            return 0;
        level[n].count = least;
        level[n].user = a->stride[i];
        level[n++].packed = b->stride[j];
        a->count[i] /= least;
        a->stride[i] *= least;
        b->count[j] /= least;
        b->stride[j] *= least;
        i += a->count[i] == 1;
        j += b->count[j] == 1;
    }
    return n;
}

static int64_t step_of(const struct MPII_Gpudt_cpu_level *level)
{
    return llabs(level->user) + llabs(level->packed);
}

/* Bring the levels in the order of their steps, since blocks may be copied in any order, and join
 * those that continue each other on both sides.
 *   level  (INOUT)  innermost first; the first one is bytes and stays the first
 * Returns their number. */
static int levels_sort(struct MPII_Gpudt_cpu_level *level, int n)
{
    int last = 0;

    for (int i = 2; i < n; i++) {
        const struct MPII_Gpudt_cpu_level moved = level[i];
        int j = i;

        for (; j > 1 && step_of(&level[j - 1]) > step_of(&moved); j--)
            level[j] = level[j - 1];
        level[j] = moved;
    }
    for (int i = 1; i < n; i++) {
        if (level[i].user == level[last].count * level[last].user &&
            level[i].packed == level[last].count * level[last].packed)
            level[last].count *= level[i].count;
        else
            level[++last] = level[i];
    }
    return last + 1;
}

static bool box_copy(const struct MPII_Gpudt_cpu_end *from, const struct MPII_Gpudt_cpu_end *to)
{
    struct MPII_Gpudt_cpu_level level[MPII_GPUDT_CPU_LEVELS + 1], nest[MPII_GPUDT_CPU_LEVELS];
    struct box a, b;
    char *const source = from->user + from->serial->base_displ;
    char *const destination = to->user + to->serial->base_displ;
    bool is_turned;
    int n;

    if (!box_read(from, &a) || !box_read(to, &b))
        return false;
    n = boxes_join(&a, &b, level);
    if (n == 0)
        return false;
    n = levels_sort(level, n) - 1;
    if (n == 0) {
        /* one block */
        n = 1;
        level[1] = (struct MPII_Gpudt_cpu_level) { 1, 0, 0 };
    }
    /* The nest looks for transpositions on the user's side: the one of longer steps */
    is_turned = llabs(level[1].packed) > llabs(level[1].user);
    for (int i = 0; i < n; i++) {
        nest[i].count = level[n - i].count;
        nest[i].user = is_turned ? level[n - i].packed : level[n - i].user;
        nest[i].packed = is_turned ? level[n - i].user : level[n - i].packed;
    }
    if (is_turned)
        MPII_Gpudt_cpu_nest(nest, n, level[0].count, destination, source, true);
    else
        MPII_Gpudt_cpu_nest(nest, n, level[0].count, source, destination, false);
    return true;
}

struct visit {
    const struct MPII_Gpudt_cpu_end *other;
    char *user;                 /* of the side whose runs are visited */
    int64_t pos;                /* of the next run in the packed stream */
    bool unpack;                /* to the other side */
};

/* MPII_Gpudt_row_fn */
static int row_copy(void *arg, int64_t displ, int64_t size, int64_t n, int64_t stride)
{
    struct visit *v = arg;

    for (int64_t i = 0; i < n; i++) {
        MPII_Gpudt_cpu_move(v->other->serial, v->other->top, v->pos, v->pos + size,
                            v->other->user, v->user + displ + i * stride, v->unpack);
        v->pos += size;
    }
    return 0;
}

/* Average bytes of a run. */
static int64_t run_size(const struct MPII_Gpudt_cpu_end *end)
{
    return end->serial->size / end->serial->nblocks;
}

void MPII_Gpudt_cpu_pair(const struct MPII_Gpudt_cpu_end *from,
                         const struct MPII_Gpudt_cpu_end *to, int64_t n)
{
    const bool by_source = run_size(from) > run_size(to);
    const struct MPII_Gpudt_cpu_end *runs = by_source ? from : to;
    struct visit visit = {.other = by_source ? to : from,.user = runs->user,.unpack = by_source };
    char piece[PIECE_BYTES];

    if (n == from->top->size && n == to->top->size && box_copy(from, to))
        return;
    if (run_size(runs) >= LONG_RUN) {
        MPII_Gpudt_rows_visit(runs->serial, runs->top, 0, n, row_copy, &visit);
        return;
    }
    for (int64_t first = 0; first < n; first += PIECE_BYTES) {
        const int64_t last = n - first < PIECE_BYTES ? n : first + PIECE_BYTES;

        MPII_Gpudt_cpu_move(from->serial, from->top, first, last, from->user, piece, false);
        MPII_Gpudt_cpu_move(to->serial, to->top, first, last, to->user, piece, true);
    }
}
