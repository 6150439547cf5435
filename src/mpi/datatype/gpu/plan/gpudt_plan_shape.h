/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The *shape* of a move, from which all strategies start: the type as levels over a leaf, and a
 * byte range of its stream, divided into words and tiles. Private to the plan; must not know
 * strategies.
 */

#ifndef GPUDT_PLAN_SHAPE_H_INCLUDED
#define GPUDT_PLAN_SHAPE_H_INCLUDED

#include "gpudt_plan_types.h"

/* A level: a stride, or a list of displacements. */
struct MPII_Gpudt_shape_level {
    int64_t count;              /* children */
    int64_t stride;             /* 0 with a list */
    uint64_t displ;             /* device address of the list, or 0 */
};

/* The type as levels over a leaf. The range is rebased: it is relative to the first child of the
 * topmost stride that it touches. */
struct MPII_Gpudt_shape {
    const struct MPII_Gpudt_plan_in *in;
    int nlevels;                /* levels found above the leaf, inside out; -1: too many */
    struct MPII_Gpudt_shape_level level[MPII_GPUDT_MAX_LEVELS];
    const struct MPII_Gpudt_record *leaf;       /* what is below the levels */
    const struct MPII_Gpudt_record *root;       /* child of the topmost stride: the tree's root */
    int root_index;             /* its record, of which root may be a copy */
    int is_top;                 /* there is no topmost stride: root is the whole buffer */
    int64_t root_stride;        /* the topmost stride; 0 if there is none */
    uint64_t user;              /* rebased, base_displ added */
    uint64_t packed;            /* address of stream position 0 after rebasing */
    int64_t first, last;
    int unit;                   /* widest unit for the alignment of both sides, 1 to 16 bytes */
};

/* Fill in a shape, which refers to in and top. */
void MPII_Gpudt_shape_make(struct MPII_Gpudt_shape *s, const struct MPII_Gpudt_plan_in *in,
                           const struct MPII_Gpudt_record *top);

/* Undo the rebasing of a range below a topmost list: the tree kernels count the list's children
 * from its start. */
void MPII_Gpudt_shape_unbase_list(struct MPII_Gpudt_shape *s, const struct MPII_Gpudt_record *top);

/* Fill in the range in words of `word` bytes. */
void MPII_Gpudt_span_range(struct MPII_Gpudt_span *span, const struct MPII_Gpudt_shape *s,
                           int word);

/* Tiles for each multiprocessor below which tiles are kept small, of kernels that need no setup for a
 * tile: fewer if the kernel unpacks from another GPU to memory that it writes faster than the link moves
 * the bytes. */
int64_t MPII_Gpudt_tiles_per_sm(const struct MPII_Gpudt_shape *s);

/* Words of a tile: up to `most` rounds of all threads; one or two while there are fewer than `per_sm`
 * tiles for each multiprocessor. The rounds of larger tiles are a multiple of `unroll`, as kernels
 * expect. */
int64_t MPII_Gpudt_tile_words(const struct MPII_Gpudt_shape *s, int64_t nwords, int64_t per_sm,
                              int unroll, int most);

/* Distribute tiles of `tile` words among blocks. If there are more tiles than blocks, each block
 * gets adjacent tiles. Returns the number of blocks. */
unsigned MPII_Gpudt_span_share(struct MPII_Gpudt_span *span, const struct MPII_Gpudt_shape *s,
                               int64_t tile, int64_t max_blocks);

static inline int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline double max_double(double a, double b)
{
    return a > b ? a : b;
}

/* Logarithm of a power of two. */
static inline int log2_of(int64_t n)
{
    int at = 0;
    while ((int64_t) 1 << at < n)
        at++;
    return at;
}

#endif /* GPUDT_PLAN_SHAPE_H_INCLUDED */
