/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests structs with a gap whose extent equals their size, because of their members' bounds or because
 * members overlap by as much, and datatypes within each other to more levels than the dataloop engine has:
 * they are packed and unpacked by their type maps. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>
#include <string.h>

#define BYTES 32
#define BASE 100
#define FIRST (-82)
#define SECOND (-30)

/* Displacement of byte i of the packed data. */
static int place(int i)
{
    return BASE + (i < 16 ? FIRST + i : SECOND + i - 16);
}

static int gap_check(void)
{
    const int lengths[2] = { 2, 2 };
    const MPI_Aint displs[2] = { FIRST, SECOND };
    MPI_Datatype types[2] = { MPI_DATATYPE_NULL, MPI_LONG_LONG }, type;
    unsigned char mem[BASE + 50], back[BASE + 50], packed[BYTES];
    MPI_Aint lb, extent;
    int position = 0, errs = 0;

    MPI_Type_create_resized(MPI_FLOAT_INT, 40, 8, &types[0]);
    MPI_Type_create_struct(2, lengths, displs, types, &type);
    MPI_Type_commit(&type);
    MPI_Type_get_extent(type, &lb, &extent);
    if (extent != BYTES) {
        fprintf(stderr, "the extent is %ld, which this test is not about\n", (long) extent);
        errs++;
    }

    for (int i = 0; i < (int) sizeof(mem); i++)
        mem[i] = (unsigned char) i;
    MPI_Pack(mem + BASE, 1, type, packed, BYTES, &position, MPI_COMM_SELF);
    for (int i = 0; i < BYTES; i++) {
        if (packed[i] != mem[place(i)]) {
            fprintf(stderr, "packed byte %d is %d, not %d\n", i, packed[i], mem[place(i)]);
            errs++;
        }
    }

    memset(back, 0xff, sizeof(back));
    position = 0;
    MPI_Unpack(packed, BYTES, &position, back + BASE, 1, type, MPI_COMM_SELF);
    for (int i = 0; i < BYTES; i++) {
        if (back[place(i)] != packed[i]) {
            fprintf(stderr, "unpacked byte %d is %d, not %d\n", i, back[place(i)], packed[i]);
            errs++;
        }
        back[place(i)] = 0xff;
    }
    for (int i = 0; i < (int) sizeof(back); i++) {
        if (back[i] != 0xff) {
            fprintf(stderr, "byte %d, which is in the gap, was written\n", i);
            errs++;
        }
    }

    MPI_Type_free(&type);
    MPI_Type_free(&types[0]);
    return errs;
}

/* Members that overlap by as much as the gap between others. Such a datatype can only be sent. */
static int overlap_check(void)
{
    static const struct {
        int lengths[3];
        MPI_Aint displs[3];
        int n, got[5];
    } cases[] = {
        {{1, 2, 1}, {0, 0, 12}, 4, {10, 10, 11, 13}},
        {{2, 2, 1}, {0, 4, 16}, 5, {10, 11, 11, 12, 14}}
    };
    const int mem[5] = { 10, 11, 12, 13, 14 };
    MPI_Datatype types[3] = { MPI_INT, MPI_INT, MPI_INT }, type;
    int errs = 0;

    for (int c = 0; c < 2; c++) {
        int packed[5], got[5], position = 0;

        MPI_Type_create_struct(3, cases[c].lengths, cases[c].displs, types, &type);
        MPI_Type_commit(&type);
        MPI_Pack(mem, 1, type, packed, sizeof(packed), &position, MPI_COMM_SELF);
        MPI_Sendrecv(mem, 1, type, 0, 0, got, cases[c].n, MPI_INT, 0, 0, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
        if (position != cases[c].n * (int) sizeof(int) || memcmp(packed, cases[c].got, position) ||
            memcmp(got, cases[c].got, position)) {
            fprintf(stderr, "the ints of struct %d are not those of its type map\n", c);
            errs++;
        }
        MPI_Type_free(&type);
    }
    return errs;
}

/* Datatypes within each other, each one int further; packed by the dataloop engine at first if they are short. */
static int levels_check(int nlevels, int count)
{
    enum { extent = 3, most = 300 };    /* ints */
    static int mem[most * extent + 100], back[most * extent + 100], packed[2 * most];
    const int n = 2 * count * (int) sizeof(int);
    const MPI_Aint displ = sizeof(int);
    MPI_Datatype type, inner;
    int position = 0, errs = 0;

    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    for (int i = 0; i < nlevels; i++) {
        inner = type;
        MPI_Type_create_hindexed_block(1, 1, &displ, inner, &type);
        MPI_Type_free(&inner);
    }
    MPI_Type_commit(&type);
    for (int i = 0; i < (int) (sizeof(mem) / sizeof(int)); i++) {
        mem[i] = i;
        back[i] = -1;
    }
    MPI_Pack(mem, count, type, packed, n, &position, MPI_COMM_SELF);
    errs += position != n;
    position = 0;
    MPI_Unpack(packed, n, &position, back, count, type, MPI_COMM_SELF);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < 2; k++) {
            const int at = nlevels + i * extent + 2 * k;
            errs += packed[2 * i + k] != at || back[at] != at;
            back[at] = -1;
        }
    }
    for (int i = 0; i < (int) (sizeof(back) / sizeof(int)); i++)
        errs += back[i] != -1;
    if (errs)
        fprintf(stderr, "%d times a datatype of %d levels: %d errors\n", count, nlevels, errs);
    MPI_Type_free(&type);
    return errs;
}

int main(int argc, char *argv[])
{
    const int nlevels[] = { 1, 14, 15, 16, 17, 60 };
    int errs;

    MTest_Init(&argc, &argv);
    errs = gap_check() + overlap_check();
    for (int i = 0; i < (int) (sizeof(nlevels) / sizeof(nlevels[0])); i++) {
        const int counts[] = { 1, 2, 255, 300 };
        for (int k = 0; k < (int) (sizeof(counts) / sizeof(counts[0])); k++)
            errs += levels_check(nlevels[i], counts[k]);
    }
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
