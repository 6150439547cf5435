/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Data layouts of the kernel benchmark; see layouts.h.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layouts.h"

/* ---------------------------------------------------------------- records */

static int64_t gcd(int64_t a, int64_t b)
{
    a = llabs(a);
    b = llabs(b);
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void *get_memory(int64_t bytes)
{
    void *memory = calloc(1, (size_t) bytes + 8);
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return memory;
}

static struct MPII_Gpudt_record *add(struct layout *l, int kind, int64_t count)
{
    struct MPII_Gpudt_record *rec = &l->records[l->serial.nrecords++];
    memset(rec, 0, sizeof(*rec));
    rec->kind = kind;
    rec->count = count;
    rec->child = l->serial.nrecords;
    return rec;
}

static void add_block(struct layout *l, int64_t size)
{
    struct MPII_Gpudt_record *rec = add(l, MPII_GPUDT_KIND__BLOCK, 1);
    rec->child = -1;
    rec->size = size;
    l->serial.block_gcd = gcd(l->serial.block_gcd, size);
}

static void add_vector(struct layout *l, int64_t count, int64_t stride)
{
    add(l, MPII_GPUDT_KIND__VECTOR, count)->stride = stride;
    l->serial.displ_gcd = gcd(l->serial.displ_gcd, stride);
}

static int64_t *add_lists(struct layout *l, int64_t words)
{
    int64_t at = l->serial.lookaside_sz;
    l->serial.lookaside = realloc(l->serial.lookaside, (size_t) (at + 8 * words));
    if (l->serial.lookaside == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    l->serial.lookaside_sz += 8 * words;
    return (int64_t *) (void *) (l->serial.lookaside + at);
}

static void add_blkindexed(struct layout *l, int64_t count, const int64_t * displ)
{
    int64_t at = l->serial.lookaside_sz;
    int64_t *list = add_lists(l, count);
    add(l, MPII_GPUDT_KIND__BLKINDEXED, count)->lookaside = at;
    for (int64_t i = 0; i < count; i++) {
        list[i] = displ[i];
        l->serial.displ_gcd = gcd(l->serial.displ_gcd, displ[i]);
    }
}

/* len in children of `unit` packed bytes that are `extent` apart */
static void add_indexed(struct layout *l, int64_t count, const int64_t * len, int64_t unit,
                        int64_t extent, const int64_t * displ)
{
    int64_t at = l->serial.lookaside_sz;
    int64_t *prefix = add_lists(l, 2 * count + 1);
    struct MPII_Gpudt_record *rec = add(l, MPII_GPUDT_KIND__INDEXED, count);
    rec->lookaside = at;
    rec->extent = extent;
    l->serial.displ_gcd = gcd(l->serial.displ_gcd, extent);
    prefix[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        prefix[i + 1] = prefix[i] + len[i] / unit;
        prefix[count + 1 + i] = displ[i];
        l->serial.displ_gcd = gcd(l->serial.displ_gcd, displ[i]);
    }
    rec->elements = prefix[count];      /* for finish() */
}

/* Sizes from the bottom up, and the top record for `n` repetitions at `extent`. */
static int64_t size_of(struct layout *l, int at)
{
    struct MPII_Gpudt_record *rec = &l->records[at];
    if (rec->kind == MPII_GPUDT_KIND__BLOCK)
        return rec->size;
    if (rec->kind == MPII_GPUDT_KIND__STRUCT) {
        int64_t *prefix = (int64_t *) (void *) (l->serial.lookaside + rec->lookaside);
        int32_t *child = (int32_t *) (prefix + 2 * rec->count + 1);
        prefix[0] = 0;
        for (int64_t i = 0; i < rec->count; i++)
            prefix[i + 1] = prefix[i] + size_of(l, child[i]);
        rec->child = -1;
        rec->size = prefix[rec->count];
        return rec->size;
    }
    rec->child_size = size_of(l, rec->child);
    rec->size = rec->child_size *
        (rec->kind == MPII_GPUDT_KIND__INDEXED ? rec->elements : rec->count);
    return rec->size;
}

static void see_block(void *state, int64_t displ, int64_t len)
{
    struct layout *l = state;
    l->low = displ < l->low ? displ : l->low;
    l->high = displ + len > l->high ? displ + len : l->high;
    l->size += len;
    l->serial.nblocks++;
}

static void finish(struct layout *l, int64_t count, int64_t extent)
{
    l->serial.records = l->records;
    l->serial.size = size_of(l, 0);
    l->serial.extent = extent;
    l->top = l->records[0];
    if (count > 1) {
        memset(&l->top, 0, sizeof(l->top));
        l->top.kind = MPII_GPUDT_KIND__VECTOR;
        l->top.count = count;
        l->top.stride = extent;
        l->top.child_size = l->serial.size;
        l->top.size = l->serial.size * count;
    }
    l->size = 0;
    l->low = INT64_MAX;
    l->high = INT64_MIN;
    l->blocks(l, see_block, l);
    l->serial.nblocks /= count;
    l->serial.true_lb = l->low;
    l->serial.true_extent = l->high - l->low;
    if (l->size != l->top.size) {
        fprintf(stderr, "%s: records have %lld bytes, blocks %lld\n", l->name,
                (long long) l->top.size, (long long) l->size);
        exit(1);
    }
}

/* ---------------------------------------------------------------- regular layouts */

/* param: block, stride */
static void vector_blocks(const struct layout *l, layout_block_fn fn, void *state)
{
    for (int64_t i = 0; i < l->n; i++)
        fn(state, i * l->param[1], l->param[0]);
}

static void vector_make(struct layout *l, int64_t bytes, const int64_t * p)
{
    l->n = bytes / p[0] > 1 ? bytes / p[0] : 2;
    l->blocks = vector_blocks;
    add_vector(l, l->n, p[1]);
    add_block(l, p[0]);
    finish(l, 1, l->n * p[1]);
}

/* A face of n^3 doubles, of fixed size; param: n, blocks are n or 1 doubles */
static void face_make(struct layout *l, int64_t bytes, const int64_t * p)
{
    const int64_t n = p[0], rows = p[1];
    (void) bytes;
    l->param[0] = rows ? n * 8 : 8;
    l->param[1] = rows ? n * n * 8 : n * 8;
    vector_make(l, n * n * 8, l->param);
}

static void contig_blocks(const struct layout *l, layout_block_fn fn, void *state)
{
    fn(state, 0, l->n);
}

static void contig_make(struct layout *l, int64_t bytes, const int64_t * p)
{
    (void) p;
    l->n = bytes;
    l->blocks = contig_blocks;
    add_block(l, l->n);
    finish(l, 1, l->n);
}

/* s^4 of 64^4 doubles, n of these arrays */
static void sub4d_blocks(const struct layout *l, layout_block_fn fn, void *state)
{
    const int64_t s = l->param[0], row = 64 * 8;
    for (int64_t m = 0; m < l->n; m++)
        for (int64_t i = 0; i < s; i++)
            for (int64_t j = 0; j < s; j++)
                for (int64_t k = 0; k < s; k++)
                    fn(state, (((m * 64 + i) * 64 + j) * 64 + k) * row, s * 8);
}

static void sub4d_make(struct layout *l, int64_t bytes, const int64_t * p)
{
    int64_t s = p[0];
    (void) p;
    while (s > 2 && s * s * s * s * 8 > bytes)
        s--;
    l->param[0] = s;
    l->n = bytes / (s * s * s * s * 8) > 1 ? bytes / (s * s * s * s * 8) : 1;
    l->blocks = sub4d_blocks;
    add_vector(l, s, 64 * 64 * 64 * 8);
    add_vector(l, s, 64 * 64 * 8);
    add_vector(l, s, 64 * 8);
    add_block(l, s * 8);
    finish(l, l->n, 64 * 64 * 64 * 64 * 8);
}

/* param: block, stride, inner count, outer stride */
static void vecvec_blocks(const struct layout *l, layout_block_fn fn, void *state)
{
    for (int64_t i = 0; i < l->n; i++)
        for (int64_t j = 0; j < l->param[2]; j++)
            fn(state, i * l->param[3] + j * l->param[1], l->param[0]);
}

static void vecvec_make(struct layout *l, int64_t bytes, const int64_t * p)
{
    l->n = bytes / (p[0] * p[2]) > 1 ? bytes / (p[0] * p[2]) : 2;
    l->blocks = vecvec_blocks;
    add_vector(l, l->n, p[3]);
    add_vector(l, p[2], p[1]);
    add_block(l, p[0]);
    finish(l, 1, l->n * p[3]);
}

/* columns of an n x n matrix of words, one after the other; param: word */
static void transpose_blocks(const struct layout *l, layout_block_fn fn, void *state)
{
    for (int64_t i = 0; i < l->n; i++)
        for (int64_t j = 0; j < l->n; j++)
            fn(state, (j * l->n + i) * l->param[0], l->param[0]);
}

static void transpose_make(struct layout *l, int64_t bytes, const int64_t * p)
{
    l->n = 2;
    while ((l->n + 1) * (l->n + 1) * p[0] <= bytes)
        l->n++;
    l->blocks = transpose_blocks;
    add_vector(l, l->n, p[0]);
    add_vector(l, l->n, l->n * p[0]);
    add_block(l, p[0]);
    finish(l, 1, l->n * l->n * p[0]);
}

/* A 3-D array with its axes reversed, n x 96 x 40 words, in memory as 40 x 96 x n */
static void turn3_blocks(const struct layout *l, layout_block_fn fn, void *state)
{
    for (int64_t i = 0; i < l->n; i++)
        for (int64_t j = 0; j < 96; j++)
            for (int64_t k = 0; k < 40; k++)
                fn(state, ((k * 96 + j) * l->n + i) * 8, 8);
}

static void turn3_make(struct layout *l, int64_t bytes, const int64_t * p)
{
    (void) p;
    l->n = bytes / (8 * 96 * 40) > 1 ? bytes / (8 * 96 * 40) : 2;
    l->blocks = turn3_blocks;
    add_vector(l, l->n, 8);
    add_vector(l, 96, l->n * 8);
    add_vector(l, 40, l->n * 96 * 8);
    add_block(l, 8);
    finish(l, 1, l->n * 96 * 40 * 8);
}

/* ---------------------------------------------------------------- irregular layouts */

static unsigned long long seed = 1;

static int64_t random_below(int64_t n)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int64_t) ((seed >> 33) % (unsigned long long) n);
}

/* n repetitions of the blocks len[], displ[], param[0] apart */
static void listed_blocks(const struct layout *l, layout_block_fn fn, void *state)
{
    for (int64_t i = 0; i < l->n; i++)
        for (int64_t j = 0; j < l->nblocks; j++)
            fn(state, i * l->param[0] + l->displ[j], l->len[j]);
}

static void listed_alloc(struct layout *l, int64_t nblocks)
{
    l->n = 1;
    l->nblocks = nblocks;
    l->len = get_memory(8 * nblocks);
    l->displ = get_memory(8 * nblocks);
    l->blocks = listed_blocks;
}

/* Blocks of one size at irregular positions; param: block, alignment, range of a block */
static void blkidx_make(struct layout *l, int64_t bytes, const int64_t * p)
{
    listed_alloc(l, bytes / p[0] > 2 ? bytes / p[0] : 3);
    for (int64_t i = 0; i < l->nblocks; i++) {
        l->len[i] = p[0];
        l->displ[i] = i * p[2] + (i > 0 ? random_below((p[2] - p[0]) / p[1]) * p[1] : 0);
    }
    add_blkindexed(l, l->nblocks, l->displ);
    add_block(l, p[0]);
    finish(l, 1, 0);
}

/* Blocks of random length; param: unit, units of the longest block, units of the longest gap */
static void random_make(struct layout *l, int64_t bytes, const int64_t * p)
{
    int64_t average = p[0] * (1 + p[1]) / 2, at = 0;
    listed_alloc(l, bytes / average > 2 ? bytes / average : 3);
    for (int64_t i = 0; i < l->nblocks; i++) {
        l->len[i] = p[0] * (1 + random_below(p[1]));
        l->displ[i] = at;
        at += l->len[i] + p[0] * (1 + random_below(p[2]));
    }
    l->len[0] = p[0];
    add_indexed(l, l->nblocks, l->len, p[0], p[0], l->displ);
    add_block(l, p[0]);
    finish(l, 1, 0);
}

/* Alternating sequences of entries of one unit and of long ones; param: unit, entries of a
 * sequence, units of a long entry */
static void ragged_make(struct layout *l, int64_t bytes, const int64_t * p)
{
    int64_t n = bytes / (p[0] * (1 + p[2])) * 2, at = 0;
    listed_alloc(l, n > 2 ? n : 3);
    for (int64_t i = 0; i < l->nblocks; i++) {
        l->len[i] = p[0] * (i / p[1] % 2 == 0 ? 1 : p[2]);
        l->displ[i] = at;
        at += l->len[i] + p[0] * (1 + i % 2);
    }
    l->len[2] = 2 * p[0];
    add_indexed(l, l->nblocks, l->len, p[0], p[0], l->displ);
    add_block(l, p[0]);
    finish(l, 1, 0);
}

/* The lower triangle of an n x n matrix of doubles */
static void triangle_make(struct layout *l, int64_t bytes, const int64_t * p)
{
    int64_t n = 2;
    (void) p;
    while ((n + 1) * (n + 2) / 2 * 8 <= bytes)
        n++;
    listed_alloc(l, n);
    for (int64_t i = 0; i < n; i++) {
        l->len[i] = (i + 1) * 8;
        l->displ[i] = i * n * 8;
    }
    add_indexed(l, n, l->len, 8, 8, l->displ);
    add_block(l, 8);
    finish(l, 1, 0);
}

/* Structs of 20 members, param: unit of the lengths. Gaps between all of them. */
static void aos_make(struct layout *l, int64_t bytes, const int64_t * p)
{
    static const int units[20] = { 1, 2, 1, 4, 1, 1, 3, 1, 2, 1, 1, 5, 1, 1, 2, 1, 1, 1, 2, 1 };
    int64_t at = 0, size = 0;
    listed_alloc(l, 20);
    for (int i = 0; i < 20; i++) {
        l->len[i] = units[i] * p[0];
        l->displ[i] = at;
        at += (units[i] + 1) * p[0];
        size += l->len[i];
    }
    l->n = bytes / size > 1 ? bytes / size : 1;
    l->param[0] = at;
    add_indexed(l, 20, l->len, p[0], p[0], l->displ);
    add_block(l, p[0]);
    finish(l, l->n, at);
}

/* Entries of random length over structs {17 of 24 bytes}: blocks are listed one by one */
static void particles_make(struct layout *l, int64_t bytes, const int64_t * p)
{
    int64_t n = bytes / (17 * 4) > 2 ? bytes / (17 * 4) : 3, at = 0, all = 0;
    int64_t *len = get_memory(8 * n), *displ = get_memory(8 * n);
    (void) p;
    for (int64_t i = 0; i < n; i++) {
        len[i] = i == 0 ? 3 : 1 + random_below(8);
        displ[i] = at;
        at += 24 * (len[i] + 1 + random_below(4));
        all += len[i];
    }
    listed_alloc(l, all);
    for (int64_t i = 0, k = 0; i < n; i++)
        for (int64_t j = 0; j < len[i]; j++, k++) {
            l->len[k] = 17;
            l->displ[k] = displ[i] + 24 * j;
        }
    add_indexed(l, n, len, 1, 24, displ);
    add_block(l, 17);
    free(len);
    free(displ);
    finish(l, 1, 0);
}

/* Three vectors one after the other: 8 at 16, 16 at 64, 4 at 12; param[1..3]: their starts */
static void struct3_blocks(const struct layout *l, layout_block_fn fn, void *state)
{
    for (int64_t i = 0; i < l->n; i++)
        fn(state, i * 16, 8);
    for (int64_t i = 0; i < l->n; i++)
        fn(state, l->param[1] + i * 64, 16);
    for (int64_t i = 0; i < l->n; i++)
        fn(state, l->param[2] + i * l->param[0], l->param[3]);
}

static void struct3_make(struct layout *l, int64_t bytes, const int64_t * p)
{
    l->n = bytes / (24 + p[0]) > 2 ? bytes / (24 + p[0]) : 3;
    l->blocks = struct3_blocks;
    l->param[0] = p[1];
    l->param[1] = l->n * 16;
    l->param[2] = l->n * 80;
    l->param[3] = p[0];
    struct MPII_Gpudt_record *rec = add(l, MPII_GPUDT_KIND__STRUCT, 3);
    int64_t *list = add_lists(l, 9);
    rec->lookaside = 0;
    list[4] = 0;
    list[5] = l->param[1];
    list[6] = l->param[2];
    int32_t *child = (int32_t *) (list + 7);
    for (int i = 0; i < 3; i++)
        child[i] = 1 + 2 * i;
    for (int i = 1; i < 3; i++)
        l->serial.displ_gcd = gcd(l->serial.displ_gcd, l->param[i]);
    add_vector(l, l->n, 16);
    add_block(l, 8);
    add_vector(l, l->n, 64);
    add_block(l, 16);
    add_vector(l, l->n, p[1]);
    add_block(l, p[0]);
    finish(l, 1, 0);
}

/* ---------------------------------------------------------------- the table */

static const struct {
    const char *name;
    void (*make) (struct layout * l, int64_t bytes, const int64_t * p);
    int64_t p[4];
} layouts[] = {
    {"contiguous", contig_make, {0}},
    {"vector_8_16", vector_make, {8, 16}},
    {"vector_8_64", vector_make, {8, 64}},
    {"vector_8_512", vector_make, {8, 512}},
    {"vector_128_512", vector_make, {128, 512}},
    {"vector_1k_4k", vector_make, {1024, 4096}},
    {"vector_4_8", vector_make, {4, 8}},
    {"vector_16_64", vector_make, {16, 64}},
    {"vector_8_4096", vector_make, {8, 4096}},  /* the Y-Z face of 512^3 doubles */
    {"sub4d", sub4d_make, {32}},
    {"vecvec", vecvec_make, {8, 64, 8, 4096}},
    {"cyclic", vecvec_make, {16, 64, 256, 4 * 64 * 256}},
    {"transpose", transpose_make, {8}},
    {"transpose_4", transpose_make, {4}},
    {"turn3d", turn3_make, {0}},
    {"indexed_8", blkidx_make, {8, 8, 512}},
    {"indexed_128", blkidx_make, {128, 8, 512}},
    {"indexed_12", blkidx_make, {12, 4, 32}},
    {"random_8_248", random_make, {8, 31, 16}},
    {"random_1_31", random_make, {1, 31, 16}},
    {"ragged_1", ragged_make, {1, 3000, 40}},
    {"ragged_8", ragged_make, {8, 3000, 40}},
    {"triangle", triangle_make, {0}},
    {"struct17", vector_make, {17, 24}},
    {"struct17_48", vector_make, {17, 48}},
    {"bytes_3_4", vector_make, {3, 4}},
    {"bytes_3_5", vector_make, {3, 5}},
    {"half_2_4", vector_make, {2, 4}},
    {"aos20_8", aos_make, {8}},
    {"aos20_4", aos_make, {4}},
    {"aos20_1", aos_make, {1}},
    {"struct3", struct3_make, {8, 24}},
    {"struct3_4", struct3_make, {4, 12}},
    {"particles", particles_make, {0}},
    {"face_xz_64", face_make, {64, 1}}, {"face_yz_64", face_make, {64, 0}},
    {"face_xz_128", face_make, {128, 1}}, {"face_yz_128", face_make, {128, 0}},
    {"face_xz_256", face_make, {256, 1}}, {"face_yz_256", face_make, {256, 0}},
    {"face_xz_512", face_make, {512, 1}}, {"face_yz_512", face_make, {512, 0}},
};

int layout_count(void)
{
    return (int) (sizeof(layouts) / sizeof(layouts[0]));
}

const char *layout_name(int i)
{
    return layouts[i].name;
}

void layout_make(int i, int64_t bytes, struct layout *l)
{
    seed = 1;
    memset(l, 0, sizeof(*l));
    snprintf(l->name, sizeof(l->name), "%s", layouts[i].name);
    memcpy(l->param, layouts[i].p, sizeof(l->param));
    layouts[i].make(l, bytes, layouts[i].p);
}

void layout_free(struct layout *l)
{
    free(l->len);
    free(l->displ);
    free(l->serial.lookaside);
}
