/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The types of bench_pt2pt's messages. See bench_pt2pt_types.h. */

#include "bench_pt2pt_types.h"
#include <stdlib.h>
#include <string.h>

#define N_MEMBERS 20            /* of the large struct */
#define SIDE_4D 64              /* points in each dimension of the 4-D array */

/* Make a type from the parameters in its table row; returns 0 if there is no memory. */
typedef int (*make_fn) (size_t bytes, const int *param, struct shape *shape);

static size_t at_least(size_t n, size_t least)
{
    return n < least ? least : n;
}

/* A fixed sequence of numbers below limit; restarted for every shape. */
static uint32_t sequence;

static uint32_t random_below(uint32_t limit)
{
    sequence = sequence * 1664525u + 1013904223u;
    return (sequence >> 8) % limit;
}

/* Add the next higher digit of a strided layout. */
static void level_add(struct layout *layout, size_t count, int64_t step)
{
    int shift = 0;

    while ((size_t) 1 << shift < count)
        shift++;
    layout->count[layout->levels] = (uint32_t) count;
    layout->shift[layout->levels] = (size_t) 1 << shift == count ? shift : -1;
    layout->step[layout->levels] = step;
    layout->levels++;
}

/* Start a strided layout with runs of bytes, to be moved in words. */
static void runs_start(struct layout *layout, size_t run_bytes, int word)
{
    layout->family = LAYOUT__STRIDED;
    layout->word = word;
    layout->levels = 0;
    level_add(layout, run_bytes / (size_t) word, word);
}

/* The widest word that divides both. */
static int word_for(size_t a, size_t b)
{
    int word = 16;

    while (a % (size_t) word || b % (size_t) word)
        word = word == 16 ? 8 : word == 8 ? 4 : 1;
    return word;
}

static int make_contiguous(size_t bytes, const int *param, struct shape *shape)
{
    size_t n = at_least(bytes / 8, 1);

    (void) param;
    MPI_Type_dup(MPI_DOUBLE, &shape->type);
    shape->count = (int) n;
    runs_start(&shape->layout, n * 8, 8);
    return 1;
}

/* param: block and stride in bytes, and the bytes of the element that both are multiples of */
static int make_vector(size_t bytes, const int *param, struct shape *shape)
{
    size_t block = (size_t) param[0], stride = (size_t) param[1];
    size_t n = at_least(bytes / block, 1);

    MPI_Type_vector((int) n, param[0] / param[2], param[1] / param[2],
                    param[2] == 8 ? MPI_DOUBLE : MPI_BYTE, &shape->type);
    shape->count = 1;
    runs_start(&shape->layout, block, word_for(block, stride));
    level_add(&shape->layout, n, (int64_t) stride);
    shape->width = block;
    shape->pitch = stride;
    shape->height = n;
    return 1;
}

static int make_vecvec(size_t bytes, const int *param, struct shape *shape)
{
    size_t n = at_least(bytes / 64, 1);
    MPI_Datatype inner;

    (void) param;
    MPI_Type_vector(8, 1, 8, MPI_DOUBLE, &inner);
    MPI_Type_create_hvector((int) n, 1, 4096, inner, &shape->type);
    MPI_Type_free(&inner);
    shape->count = 1;
    runs_start(&shape->layout, 8, 8);
    level_add(&shape->layout, 8, 64);
    level_add(&shape->layout, n, 4096);
    return 1;
}

/* s^4 of 64^4 doubles, and several of these for more than s 32 can hold */
static int make_sub4d(size_t bytes, const int *param, struct shape *shape)
{
    int s = 32, size[4], subsize[4], start[4], d;
    int64_t step = 8;
    size_t n;

    (void) param;
    while (s > 1 && (size_t) s * (size_t) s * (size_t) s * (size_t) s * 8 > bytes)
        s--;
    n = at_least(bytes / ((size_t) s * (size_t) s * (size_t) s * (size_t) s * 8), 1);
    n = s == 32 ? n : 1;
    for (d = 0; d < 4; d++) {
        size[d] = SIDE_4D;
        subsize[d] = s;
        start[d] = 0;
    }
    MPI_Type_create_subarray(4, size, subsize, start, MPI_ORDER_C, MPI_DOUBLE, &shape->type);
    shape->count = (int) n;
    runs_start(&shape->layout, (size_t) s * 8, s % 2 ? 8 : 16);
    for (d = 1; d < 4; d++) {
        step *= SIDE_4D;
        level_add(&shape->layout, (size_t) s, step);
    }
    level_add(&shape->layout, n, step * SIDE_4D);
    return 1;
}

/* Rows of 1024 doubles, distributed in pairs to 4 columns of processes and singly to 2 rows of
 * them */
static int make_cyclic(size_t bytes, const int *param, struct shape *shape)
{
    size_t n = at_least(bytes / 2048, 1);
    int size[2] = { (int) n * 2, 1024 }, deal[2] = { MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC };
    int each[2] = { 1, 2 }, processes[2] = { 2, 4 };

    (void) param;
    MPI_Type_create_darray(8, 0, 2, size, deal, each, processes, MPI_ORDER_C, MPI_DOUBLE,
                           &shape->type);
    shape->count = 1;
    runs_start(&shape->layout, 16, 16);
    level_add(&shape->layout, 128, 64);
    level_add(&shape->layout, n, 2 * 8192);
    return 1;
}

/* A square matrix of doubles, column by column */
static int make_transpose(size_t bytes, const int *param, struct shape *shape)
{
    size_t n = 1;
    MPI_Datatype column;

    (void) param;
    while ((n + 1) * (n + 1) * 8 <= bytes)
        n++;
    MPI_Type_vector((int) n, 1, (int) n, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, 8, &shape->type);
    MPI_Type_free(&column);
    shape->count = (int) n;
    shape->layout.family = LAYOUT__STRIDED;
    shape->layout.word = 8;
    level_add(&shape->layout, n, (int64_t) n * 8);
    level_add(&shape->layout, n, 8);
    return 1;
}

static int make_struct(size_t bytes, const int *param, struct shape *shape)
{
    int length[4] = { 1, 1, 1, 1 };
    MPI_Aint displ[4] = { 0, 8, 12, 16 };
    MPI_Datatype member[4] = { MPI_DOUBLE, MPI_INT, MPI_INT, MPI_CHAR }, unpadded;
    size_t n = at_least(bytes / 17, 1);

    MPI_Type_create_struct(4, length, displ, member, &unpadded);
    MPI_Type_create_resized(unpadded, 0, param[0], &shape->type);
    MPI_Type_free(&unpadded);
    shape->count = (int) n;
    runs_start(&shape->layout, 17, 1);
    level_add(&shape->layout, n, param[0]);
    shape->width = 17;
    shape->pitch = (size_t) param[0];
    shape->height = n;
    return 1;
}

/* Blocks of one length at random positions. param: bytes of the block, alignment of positions, and
 * bytes of the range for each block */
static int make_blocks(size_t bytes, const int *param, struct shape *shape)
{
    size_t n = at_least(bytes / (size_t) param[0], 1), i;
    MPI_Aint *displ = malloc(n * sizeof(MPI_Aint));
    int64_t *block = malloc(n * sizeof(int64_t));

    shape->layout.block = block;
    if (!displ || !block) {
        free(displ);
        return 0;
    }
    for (i = 0; i < n; i++) {
        uint32_t slack = (uint32_t) ((param[2] - param[0]) / param[1]);

        block[i] = (int64_t) i * param[2] + (i ? (int64_t) random_below(slack) * param[1] : 0);
        displ[i] = (MPI_Aint) block[i];
    }
    MPI_Type_create_hindexed_block((int) n, param[0] / 4, displ, MPI_INT, &shape->type);
    free(displ);
    shape->count = 1;
    shape->layout.family = LAYOUT__BLOCKS;
    shape->layout.word = param[1] == 4 ? 4 : 8;
    shape->layout.count[0] = (uint32_t) (param[0] / shape->layout.word);
    shape->layout.n_listed = (uint32_t) n;
    return 1;
}

/* Make an indexed type of n blocks of doubles, and the map of its words. Frees length and displ. */
static int indexed_make(size_t n, int *length, int *displ, struct shape *shape)
{
    size_t n_words = 0, i;
    uint32_t *map;
    int k;

    for (i = 0; i < n; i++)
        n_words += (size_t) length[i];
    map = malloc(n_words * sizeof(uint32_t));
    shape->layout.map = map;
    if (map) {
        for (i = 0; i < n; i++)
            for (k = 0; k < length[i]; k++)
                *map++ = (uint32_t) (displ[i] + k);
        MPI_Type_indexed((int) n, length, displ, MPI_DOUBLE, &shape->type);
        shape->count = 1;
        shape->layout.family = LAYOUT__MAP;
        shape->layout.word = 8;
        shape->layout.count[0] = shape->layout.n_listed = (uint32_t) n_words;
    }
    free(length);
    free(displ);
    return map != NULL;
}

static int make_random(size_t bytes, const int *param, struct shape *shape)
{
    size_t most = at_least(bytes / 8, 1), left = most, n = 0;
    int *length = malloc(most * sizeof(int)), *displ = malloc(most * sizeof(int)), at = 0;

    (void) param;
    if (!length || !displ) {
        free(length);
        free(displ);
        return 0;
    }
    while (left) {
        length[n] = 1 + (int) random_below(31);
        if ((size_t) length[n] > left)
            length[n] = (int) left;
        displ[n] = at;
        at += length[n] + 1 + (int) random_below(16);
        left -= (size_t) length[n++];
    }
    return indexed_make(n, length, displ, shape);
}

/* The lower triangle of a square matrix of doubles */
static int make_triangle(size_t bytes, const int *param, struct shape *shape)
{
    size_t n = 1, i;
    int *length, *displ;

    (void) param;
    while ((n + 1) * (n + 2) / 2 * 8 <= bytes)
        n++;
    length = malloc(n * sizeof(int));
    displ = malloc(n * sizeof(int));
    if (!length || !displ) {
        free(length);
        free(displ);
        return 0;
    }
    for (i = 0; i < n; i++) {
        length[i] = (int) i + 1;
        displ[i] = (int) (i * n);
    }
    return indexed_make(n, length, displ, shape);
}

/* Three different vectors, one after the other, in one struct */
static int make_struct3(size_t bytes, const int *param, struct shape *shape)
{
    size_t n = at_least(bytes / 32, 1), i;
    int length[3] = { 1, 1, 1 };
    MPI_Aint displ[3] = { 0, (MPI_Aint) n * 16, (MPI_Aint) n * 80 };
    MPI_Datatype member[3];
    uint32_t *map = malloc(n * 4 * sizeof(uint32_t));

    (void) param;
    shape->layout.map = map;
    if (!map)
        return 0;
    MPI_Type_vector((int) n, 1, 2, MPI_DOUBLE, &member[0]);
    MPI_Type_vector((int) n, 2, 8, MPI_DOUBLE, &member[1]);
    MPI_Type_vector((int) n, 1, 3, MPI_DOUBLE, &member[2]);
    MPI_Type_create_struct(3, length, displ, member, &shape->type);
    for (i = 0; i < 3; i++)
        MPI_Type_free(&member[i]);
    for (i = 0; i < n; i++) {
        map[i] = (uint32_t) (2 * i);
        map[n + 2 * i] = (uint32_t) (2 * n + 8 * i);
        map[n + 2 * i + 1] = map[n + 2 * i] + 1;
        map[3 * n + i] = (uint32_t) (10 * n + 3 * i);
    }
    shape->count = 1;
    shape->layout.family = LAYOUT__MAP;
    shape->layout.word = 8;
    shape->layout.count[0] = shape->layout.n_listed = (uint32_t) n * 4;
    return 1;
}

/* An array of structs with 20 members, a gap after each */
static int make_members20(size_t bytes, const int *param, struct shape *shape)
{
    static const int units[N_MEMBERS] =
        { 1, 2, 1, 4, 1, 1, 3, 1, 2, 1, 1, 5, 1, 1, 2, 1, 1, 1, 2, 1 };
    int length[N_MEMBERS], m, k, at = 0, n_words = 0;
    MPI_Aint displ[N_MEMBERS];
    MPI_Datatype member[N_MEMBERS], unpadded;
    uint32_t *map = malloc(64 * sizeof(uint32_t));

    (void) param;
    shape->layout.map = map;
    if (!map)
        return 0;
    for (m = 0; m < N_MEMBERS; m++) {
        length[m] = units[m];
        displ[m] = at * 8;
        member[m] = m % 2 ? MPI_INT64_T : MPI_DOUBLE;
        for (k = 0; k < units[m]; k++)
            map[n_words++] = (uint32_t) (at + k);
        at += units[m] + 1;
    }
    MPI_Type_create_struct(N_MEMBERS, length, displ, member, &unpadded);
    MPI_Type_create_resized(unpadded, 0, at * 8, &shape->type);
    MPI_Type_free(&unpadded);
    shape->count = (int) at_least(bytes / ((size_t) n_words * 8), 1);
    shape->layout.family = LAYOUT__MAP;
    shape->layout.word = 8;
    shape->layout.count[0] = shape->layout.n_listed = (uint32_t) n_words;
    shape->layout.step[1] = at * 8;
    return 1;
}

static const struct {
    const char *name;
    make_fn make;
    int param[3];
} shapes[] = {
    {"contiguous", make_contiguous, {0}},
    {"vector_8_512", make_vector, {8, 512, 8}},
    {"vector_32_512", make_vector, {32, 512, 8}},
    {"vector_128_512", make_vector, {128, 512, 8}},
    {"vector_8_16", make_vector, {8, 16, 8}},
    {"vector_8_64", make_vector, {8, 64, 8}},
    {"vector_3_5", make_vector, {3, 5, 1}},
    {"vecvec", make_vecvec, {0}},
    {"sub4d", make_sub4d, {0}},
    {"cyclic", make_cyclic, {0}},
    {"transpose", make_transpose, {0}},
    {"struct", make_struct, {24}},
    {"struct_strided", make_struct, {48}},
    {"indexed_8", make_blocks, {8, 8, 512}},
    {"indexed_128", make_blocks, {128, 8, 512}},
    {"indexed_12", make_blocks, {12, 4, 32}},
    {"indexed_random", make_random, {0}},
    {"triangle", make_triangle, {0}},
    {"struct3", make_struct3, {0}},
    {"members20", make_members20, {0}},
};

int shape_count(void)
{
    return (int) (sizeof(shapes) / sizeof(shapes[0]));
}

const char *shape_name(int index)
{
    return shapes[index].name;
}

int shape_make(int index, size_t bytes, struct shape *shape)
{
    MPI_Aint lb, extent, true_lb, true_extent;
    MPI_Count size;

    memset(shape, 0, sizeof(*shape));
    shape->name = shapes[index].name;
    sequence = 12345;
    if (!shapes[index].make(bytes, shapes[index].param, shape)) {
        free((void *) shape->layout.block);
        free((void *) shape->layout.map);
        return 0;
    }
    MPI_Type_commit(&shape->type);
    MPI_Type_size_x(shape->type, &size);
    MPI_Type_get_extent(shape->type, &lb, &extent);
    MPI_Type_get_true_extent(shape->type, &true_lb, &true_extent);
    shape->bytes = (size_t) size * (size_t) shape->count;
    /* the lowest byte of each type is the start of the buffer */
    shape->span = (size_t) (extent * (shape->count - 1) + true_lb + true_extent);
    shape->layout.n_words = (uint32_t) (shape->bytes / (size_t) shape->layout.word);
    return 1;
}

void shape_free(struct shape *shape)
{
    free((void *) shape->layout.block);
    free((void *) shape->layout.map);
    MPI_Type_free(&shape->type);
}
