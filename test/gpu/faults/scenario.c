/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The transfers of the fault test: every route through the engine. Must not know how faults are
 * injected. */

#include "faults.h"

#include <string.h>

#define BLOCKS 64

static MPI_Datatype committed(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

/* BLOCKS blocks of 8 bytes, 24 bytes apart; a mixed buffer has the same layout */
static MPI_Datatype vector_type(void)
{
    MPI_Datatype type;

    MPI_Type_create_hvector(BLOCKS, 1, 24, MPI_DOUBLE, &type);
    return committed(type);
}

/* enough blocks for driver copies to fetch the whole extent */
static MPI_Datatype long_vector_type(void)
{
    MPI_Datatype type;

    MPI_Type_create_hvector(400, 1, 8, MPI_INT, &type);
    return committed(type);
}

static MPI_Datatype contiguous_type(void)
{
    MPI_Datatype type;

    MPI_Type_contiguous(BLOCKS, MPI_DOUBLE, &type);
    return committed(type);
}

/* blocks of many lengths, as many bytes as the vector: its list is uploaded to the GPU */
static MPI_Datatype list_type(void)
{
    int lens[BLOCKS];
    MPI_Aint displs[BLOCKS], at = 0;
    MPI_Datatype type;
    int rest = BLOCKS * (int) sizeof(double);

    for (int i = 0; i < BLOCKS; i++) {
        lens[i] = i < BLOCKS - 1 ? 3 + i * 7 % 11 : rest;
        rest -= lens[i];
        displs[i] = at;
        at += lens[i] + 1 + i % 5;
    }
    MPI_Type_create_hindexed(BLOCKS, lens, displs, MPI_BYTE, &type);
    return committed(type);
}

/* a struct of many different vectors: too many records for kernel parameters */
static MPI_Datatype tree_type(void)
{
    enum { members = 40 };
    MPI_Datatype types[members], type;
    int lens[members];
    MPI_Aint displs[members], at = 0;

    for (int i = 0; i < members; i++) {
        MPI_Type_vector(2 + i % 3, 1, 2 + i % 7, i % 2 ? MPI_SHORT : MPI_INT, &types[i]);
        lens[i] = 1;
        displs[i] = at;
        at += 100;
    }
    MPI_Type_create_struct(members, lens, displs, types, &type);
    for (int i = 0; i < members; i++)
        MPI_Type_free(&types[i]);
    return committed(type);
}

#define STAGED "MPIR_CVAR_GPUDT_ROUTE=staged"
#define NO_PEER "MPIR_CVAR_GPUDT_PEER=0"
#define NO_PINNED "MPIR_CVAR_GPUDT_PINNED_MAX=0"
#define NO_DEVICE "MPIR_CVAR_GPUDT_DEVICE_MAX=0"
#define ROWS "MPIR_CVAR_GPUDT_STRATEGY=rows"
#define TREE "MPIR_CVAR_GPUDT_STRATEGY=tree"
#define SMALL_PINNED "MPIR_CVAR_GPUDT_PINNED_CHUNK=256"
#define SMALL_DEVICE "MPIR_CVAR_GPUDT_DEVICE_CHUNK=256"
#define LATE "EMU_DELAY_MIN_US=3000", "EMU_DELAY_US=3000"
#define NO_SPARES "MPIR_CVAR_GPUDT_SPARE_MAX=0"

#define PACK_ROW(name_, user_, other_, type_, ...)                              \
    {"pack " name_, DIRECTION__PACK, user_, other_, type_, NULL, __VA_ARGS__},  \
    {"unpack " name_, DIRECTION__UNPACK, user_, other_, type_, NULL, __VA_ARGS__}
#define COPY_ROW(name_, from_, to_, from_type_, to_type_, ...)                  \
    {"copy " name_, DIRECTION__COPY, from_, to_, from_type_, to_type_, __VA_ARGS__}
#define REDUCE_ROW(name_, from_, to_, ...)                                      \
    {"reduce " name_, DIRECTION__REDUCE, from_, to_, contiguous_type, NULL, __VA_ARGS__}
#define PLAIN 0, 0
#define NONBLOCKING 1, 0
#define IN_PARTS 2, 0
#define MIXED 0, 1

static const struct scenario scenarios[] = {
    PACK_ROW("vector device device", MEM__DEVICE, MEM__DEVICE, vector_type, PLAIN, {0}),
    PACK_ROW("vector device pinned", MEM__DEVICE, MEM__PINNED, vector_type, PLAIN, {0}),
    PACK_ROW("vector device registered staged", MEM__DEVICE, MEM__REGISTERED, vector_type, PLAIN,
             {STAGED}),
    PACK_ROW("vector device pageable", MEM__DEVICE, MEM__PAGEABLE, vector_type, PLAIN, {0}),
    PACK_ROW("vector device pageable, nothing pinned", MEM__DEVICE, MEM__PAGEABLE, vector_type,
             PLAIN, {NO_PINNED}),
    PACK_ROW("vector device pageable, no work areas", MEM__DEVICE, MEM__PAGEABLE, vector_type,
             PLAIN, {NO_PINNED, NO_DEVICE}),
    PACK_ROW("vector device other-device", MEM__DEVICE, MEM__OTHER_DEVICE, vector_type, PLAIN, {0}),
    PACK_ROW("vector device other-device without peer access", MEM__DEVICE, MEM__OTHER_DEVICE,
             vector_type, PLAIN, {NO_PEER}),
    PACK_ROW("vector device other-context", MEM__DEVICE, MEM__OTHER_CTX, vector_type, PLAIN, {0}),
    PACK_ROW("vector managed pageable", MEM__MANAGED, MEM__PAGEABLE, vector_type, PLAIN, {0}),
    PACK_ROW("vector pool pinned", MEM__POOL, MEM__PINNED, vector_type, PLAIN, {0}),
    PACK_ROW("vector mapped device", MEM__MAPPED, MEM__DEVICE, vector_type, PLAIN, {0}),
    PACK_ROW("vector pageable device", MEM__PAGEABLE, MEM__DEVICE, vector_type, PLAIN, {0}),
    PACK_ROW("vector device device by driver copies", MEM__DEVICE, MEM__DEVICE, vector_type, PLAIN,
             {ROWS}),
    PACK_ROW("many blocks device device by driver copies", MEM__DEVICE, MEM__DEVICE,
             long_vector_type, PLAIN, {ROWS}),
    PACK_ROW("list device device", MEM__DEVICE, MEM__DEVICE, list_type, PLAIN, {0}),
    PACK_ROW("list device pageable, nothing spared", MEM__DEVICE, MEM__PAGEABLE, list_type, PLAIN,
             {NO_SPARES}),
    PACK_ROW("tree device pinned", MEM__DEVICE, MEM__PINNED, tree_type, PLAIN, {TREE}),
    PACK_ROW("contiguous device pageable", MEM__DEVICE, MEM__PAGEABLE, contiguous_type, PLAIN, {0}),
    PACK_ROW("contiguous device other-device", MEM__DEVICE, MEM__OTHER_DEVICE, contiguous_type,
             PLAIN, {0}),
    PACK_ROW("mixed pinned", MEM__DEVICE, MEM__PINNED, vector_type, MIXED, {0}),
    PACK_ROW("mixed device", MEM__DEVICE, MEM__DEVICE, vector_type, MIXED, {0}),
    PACK_ROW("vector device pageable in chunks", MEM__DEVICE, MEM__PAGEABLE, long_vector_type,
             PLAIN, {SMALL_PINNED}),
    PACK_ROW("vector device other-device in chunks", MEM__DEVICE, MEM__OTHER_DEVICE,
             long_vector_type, PLAIN, {SMALL_DEVICE, NO_PEER}),
    PACK_ROW("vector device pageable nonblocking in chunks", MEM__DEVICE, MEM__PAGEABLE,
             long_vector_type, NONBLOCKING, {SMALL_PINNED}),
    PACK_ROW("list device device nonblocking", MEM__DEVICE, MEM__DEVICE, list_type, NONBLOCKING,
             {0}),
    PACK_ROW("vector device pinned in parts", MEM__DEVICE, MEM__PINNED, vector_type, IN_PARTS,
             {LATE}),
    PACK_ROW("list device device in parts", MEM__DEVICE, MEM__DEVICE, list_type, IN_PARTS, {LATE}),
    COPY_ROW("device device", MEM__DEVICE, MEM__DEVICE, vector_type, list_type, PLAIN, {0}),
    COPY_ROW("device other-device", MEM__DEVICE, MEM__OTHER_DEVICE, vector_type, list_type, PLAIN,
             {0}),
    COPY_ROW("device other-device without peer access", MEM__DEVICE, MEM__OTHER_DEVICE, vector_type,
             list_type, PLAIN, {NO_PEER}),
    COPY_ROW("device pageable", MEM__DEVICE, MEM__PAGEABLE, list_type, vector_type, PLAIN, {0}),
    COPY_ROW("pageable device nonblocking in chunks", MEM__PAGEABLE, MEM__DEVICE, vector_type,
             list_type, NONBLOCKING, {SMALL_PINNED}),
    COPY_ROW("device other-device nonblocking in chunks", MEM__DEVICE, MEM__OTHER_DEVICE,
             vector_type, list_type, NONBLOCKING, {SMALL_DEVICE, SMALL_PINNED}),
    COPY_ROW("mixed device", MEM__DEVICE, MEM__DEVICE, vector_type, list_type, MIXED, {0}),
    REDUCE_ROW("device device", MEM__DEVICE, MEM__DEVICE, PLAIN, {0}),
    REDUCE_ROW("device other-device without peer access", MEM__DEVICE, MEM__OTHER_DEVICE, PLAIN,
               {NO_PEER}),
    REDUCE_ROW("pageable device in chunks", MEM__PAGEABLE, MEM__DEVICE, PLAIN, {SMALL_DEVICE}),
    REDUCE_ROW("device pageable", MEM__DEVICE, MEM__PAGEABLE, PLAIN, {0}),
    REDUCE_ROW("device pinned", MEM__DEVICE, MEM__PINNED, PLAIN, {0})
};

const struct scenario *scenario_get(int n)
{
    return n < (int) (sizeof(scenarios) / sizeof(scenarios[0])) ? &scenarios[n] : NULL;
}
