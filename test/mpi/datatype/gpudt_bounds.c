/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests a struct with a gap whose extent equals its size because of its members' bounds: it is
 * packed and unpacked by its type map. */

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

int main(int argc, char *argv[])
{
    const int lengths[2] = { 2, 2 };
    const MPI_Aint displs[2] = { FIRST, SECOND };
    MPI_Datatype types[2] = { MPI_DATATYPE_NULL, MPI_LONG_LONG }, type;
    unsigned char mem[BASE + 50], back[BASE + 50], packed[BYTES];
    MPI_Aint lb, extent;
    int position = 0, errs = 0;

    MTest_Init(&argc, &argv);
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
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
