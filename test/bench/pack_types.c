/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* See pack_types.h. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pack_types.h"

/* All types that have no function of their own below: blocks at a stride, or a list of blocks. */
static void make_strided(const struct layout *l, MPI_Datatype * type, int *count)
{
    const int block = (int) l->param[0];

    if (block % 8 == 0)
        MPI_Type_create_hvector((int) l->n, block / 8, l->param[1], MPI_DOUBLE, type);
    else if (block == 4)
        MPI_Type_create_hvector((int) l->n, 1, l->param[1], MPI_FLOAT, type);
    else
        MPI_Type_create_hvector((int) l->n, block, l->param[1], MPI_BYTE, type);
    *count = 1;
}

static void make_contiguous(const struct layout *l, MPI_Datatype * type, int *count)
{
    MPI_Type_contiguous((int) l->n, MPI_BYTE, type);
    *count = 1;
}

static void make_sub4d(const struct layout *l, MPI_Datatype * type, int *count)
{
    const int s = (int) l->param[0];
    const int sizes[4] = { 64, 64, 64, 64 }, subsizes[4] = { s, s, s, s }, starts[4] = { 0 };

    MPI_Type_create_subarray(4, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, type);
    *count = (int) l->n;
}

static void make_vecvec(const struct layout *l, MPI_Datatype * type, int *count)
{
    MPI_Datatype inner;

    MPI_Type_create_hvector((int) l->param[2], (int) l->param[0] / 8, l->param[1], MPI_DOUBLE,
                            &inner);
    MPI_Type_create_hvector((int) l->n, 1, l->param[3], inner, type);
    MPI_Type_free(&inner);
    *count = 1;
}

/* 4 n rows of 2048 doubles over 4 x 4 processes: every fourth row, two doubles of eight */
static void make_cyclic(const struct layout *l, MPI_Datatype * type, int *count)
{
    const int sizes[2] = { (int) l->n * 4, 2048 }, grid[2] = { 4, 4 }, blocks[2] = { 1, 2 };
    const int how[2] = { MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC };

    MPI_Type_create_darray(16, 0, 2, sizes, how, blocks, grid, MPI_ORDER_C, MPI_DOUBLE, type);
    *count = 1;
}

static void make_transpose(const struct layout *l, MPI_Datatype * type, int *count)
{
    MPI_Datatype column;

    MPI_Type_vector((int) l->n, 1, (int) l->n, l->param[0] == 8 ? MPI_DOUBLE : MPI_FLOAT, &column);
    MPI_Type_create_resized(column, 0, l->param[0], type);
    MPI_Type_free(&column);
    *count = (int) l->n;
}

static void make_turn3d(const struct layout *l, MPI_Datatype * type, int *count)
{
    MPI_Datatype line, plane;

    MPI_Type_create_hvector(40, 1, l->n * 96 * 8, MPI_DOUBLE, &line);
    MPI_Type_create_hvector(96, 1, l->n * 8, line, &plane);
    MPI_Type_create_hvector((int) l->n, 1, 8, plane, type);
    MPI_Type_free(&line);
    MPI_Type_free(&plane);
    *count = 1;
}

/* {double, int, int, char}, param[1] bytes apart */
static void make_struct17(const struct layout *l, MPI_Datatype * type, int *count)
{
    const int lens[4] = { 1, 1, 1, 1 };
    const MPI_Aint displs[4] = { 0, 8, 12, 16 };
    const MPI_Datatype types[4] = { MPI_DOUBLE, MPI_INT, MPI_INT, MPI_CHAR };
    MPI_Datatype members;

    MPI_Type_create_struct(4, lens, displs, types, &members);
    MPI_Type_create_resized(members, 0, l->param[1], type);
    MPI_Type_free(&members);
    *count = (int) l->n;
}

/* The blocks of the layout's list. `unit`: the type that all of them consist of */
static void make_list(const struct layout *l, MPI_Datatype unit, int unit_sz, MPI_Datatype * type)
{
    int *lens = malloc(sizeof(*lens) * (size_t) l->nblocks);
    MPI_Aint *displs = malloc(sizeof(*displs) * (size_t) l->nblocks);
    int is_even = 1;

    if (lens == NULL || displs == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    for (int64_t i = 0; i < l->nblocks; i++) {
        lens[i] = (int) l->len[i] / unit_sz;
        displs[i] = l->displ[i];
        is_even &= l->len[i] == l->len[0];
    }
    if (is_even)
        MPI_Type_create_hindexed_block((int) l->nblocks, (int) l->len[0] / unit_sz, displs, unit,
                                       type);
    else
        MPI_Type_create_hindexed((int) l->nblocks, lens, displs, unit, type);
    free(lens);
    free(displs);
}

static void make_listed(const struct layout *l, MPI_Datatype * type, int *count)
{
    const int unit_sz = l->serial.block_gcd % 8 == 0 ? 8 : l->serial.block_gcd % 4 == 0 ? 4 : 1;

    make_list(l, unit_sz == 8 ? MPI_DOUBLE : unit_sz == 4 ? MPI_FLOAT : MPI_BYTE, unit_sz, type);
    *count = 1;
}

/* A struct of 20 members, param[0] bytes apart */
static void make_aos20(const struct layout *l, MPI_Datatype * type, int *count)
{
    const int unit_sz = (int) l->serial.block_gcd;
    int lens[20];
    MPI_Aint displs[20];
    MPI_Datatype types[20], members;

    for (int i = 0; i < 20; i++) {
        lens[i] = (int) l->len[i] / unit_sz;
        displs[i] = l->displ[i];
        types[i] = unit_sz == 8 ? MPI_DOUBLE : unit_sz == 4 ? MPI_FLOAT : MPI_CHAR;
    }
    MPI_Type_create_struct(20, lens, displs, types, &members);
    MPI_Type_create_resized(members, 0, l->param[0], type);
    MPI_Type_free(&members);
    *count = (int) l->n;
}

static void make_struct3(const struct layout *l, MPI_Datatype * type, int *count)
{
    const int lens[3] = { 1, 1, 1 };
    const MPI_Aint displs[3] = { 0, l->param[1], l->param[2] };
    MPI_Datatype types[3];

    MPI_Type_create_hvector((int) l->n, 1, 16, MPI_DOUBLE, &types[0]);
    MPI_Type_create_hvector((int) l->n, 2, 64, MPI_DOUBLE, &types[1]);
    MPI_Type_create_hvector((int) l->n, 1, l->param[0], l->param[3] == 8 ? MPI_DOUBLE : MPI_FLOAT,
                            &types[2]);
    MPI_Type_create_struct(3, lens, displs, types, type);
    for (int i = 0; i < 3; i++)
        MPI_Type_free(&types[i]);
    *count = 1;
}

/* By prefix of the name; the first match. */
static const struct {
    const char *name;
    void (*make) (const struct layout * l, MPI_Datatype * type, int *count);
} makers[] = {
    {"contiguous", make_contiguous}, {"sub4d", make_sub4d}, {"vecvec", make_vecvec},
    {"cyclic", make_cyclic}, {"transpose", make_transpose}, {"turn3d", make_turn3d},
    {"struct17", make_struct17}, {"aos20", make_aos20}, {"struct3", make_struct3},
    {"indexed", make_listed}, {"random", make_listed}, {"ragged", make_listed},
    {"triangle", make_listed}, {"particles", make_listed}, {"", make_strided}
};

void pack_type_make(const struct layout *l, MPI_Datatype * type, int *count)
{
    int i = 0;

    while (strncmp(l->name, makers[i].name, strlen(makers[i].name)) != 0)
        i++;
    makers[i].make(l, type, count);
    MPI_Type_commit(type);
}
