/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that MPI_Pack and MPI_Unpack accept MPI_BOTTOM if the datatype has absolute addresses. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

static int packed_sz(int count, MPI_Datatype type)
{
    int sz;

    MPI_Pack_size(count, type, MPI_COMM_SELF, &sz);
    return sz;
}

int main(int argc, char *argv[])
{
    MPI_Aint addr;
    MPI_Datatype type;
    int value = 5, position = 0, err, errs = 0;
    char packed[64];

    MTest_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Get_address(&value, &addr);
    MPI_Type_create_hindexed_block(1, 1, &addr, MPI_INT, &type);
    MPI_Type_commit(&type);
    err = MPI_Pack(MPI_BOTTOM, 1, type, packed, packed_sz(1, type), &position, MPI_COMM_SELF);
    if (err) {
        fprintf(stderr, "MPI_Pack from MPI_BOTTOM failed\n");
        errs++;
    }
    value = 0;
    position = 0;
    err = MPI_Unpack(packed, sizeof(int), &position, MPI_BOTTOM, 1, type, MPI_COMM_SELF);
    if (err || value != 5) {
        fprintf(stderr, "MPI_Unpack to MPI_BOTTOM failed or gave %d, not 5\n", value);
        errs++;
    }
    MPI_Type_free(&type);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
