/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * What all strategies of a plan start from: a type and a byte range of its stream as levels over a
 * leaf, and the range cut in words and tiles. Private to the plan; must not know strategies.
 */

#ifndef GPUDT_PLAN_SHAPE_H_INCLUDED
#define GPUDT_PLAN_SHAPE_H_INCLUDED

#include "gpudt_plan_types.h"

/* A stride, or a list of displacements. */
struct MPII_Gpudt_shape_level {
    int64_t count;              /* children */
    int64_t stride;             /* 0 with a list */
    uint64_t displ;             /* device address of the list, or 0 */
};

/* What all strategies start from: the type as levels over a leaf, and the range relative to the
 * first child of the topmost stride that it touches. */
struct MPII_Gpudt_shape {
    const struct MPII_Gpudt_plan_in *in;
    int nlevels;                /* levels found above the leaf, inside out; -1: too many */
    struct MPII_Gpudt_shape_level level[MPII_GPUDT_MAX_LEVELS];
    const struct MPII_Gpudt_record *leaf;       /* what is below the levels */
    const struct MPII_Gpudt_record *root;       /* child of the topmost stride: the tree's root */
    int root_index;             /* its record, which root may be a copy of */
    int is_top;                 /* there is no topmost stride: root is the whole message */
    int64_t root_stride;        /* that stride; 0 if there is none */
    uint64_t user;              /* rebased, base_displ added */
    uint64_t packed;            /* address of stream position 0 after rebasing */
    int64_t first, last;
    int unit;                   /* widest unit that suits both sides, 1 to 16 bytes */
};

/* Fill in a shape, which refers to in and top. */
void MPII_Gpudt_shape_make(struct MPII_Gpudt_shape *s, const struct MPII_Gpudt_plan_in *in,
                           const struct MPII_Gpudt_record *top);

/* The tree kernels count a topmost list's children from its start: undo the rebasing of the range. */
void MPII_Gpudt_shape_unbase_list(struct MPII_Gpudt_shape *s, const struct MPII_Gpudt_record *top);

/* Fill in the range in words of so many bytes. */
void MPII_Gpudt_span_range(struct MPII_Gpudt_span *span, const struct MPII_Gpudt_shape *s,
                           int word);

/* Words of a tile: up to `most` rounds of all threads; one or two while there are too few tiles for all
 * multiprocessors. The rounds of larger tiles are a multiple of `unroll`, as kernels expect. */
int64_t MPII_Gpudt_tile_words(const struct MPII_Gpudt_shape *s, int64_t nwords, int unroll,
                              int most);

/* Share out tiles of `tile` words: blocks take neighbouring tiles where there are more tiles than
 * blocks. Returns the number of blocks. */
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

/* Of a power of two. */
static inline int log2_of(int64_t n)
{
    int at = 0;
    while ((int64_t) 1 << at < n)
        at++;
    return at;
}

#endif /* GPUDT_PLAN_SHAPE_H_INCLUDED */
