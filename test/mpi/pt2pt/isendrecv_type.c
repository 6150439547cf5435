/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that a datatype is still valid after MPI_Isendrecv has used it. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

#define N 4

int main(int argc, char *argv[])
{
    MPI_Datatype type, later;
    MPI_Request request;
    int from[2 * N], to[2 * N], errs = 0;

    MTest_Init(&argc, &argv);
    MPI_Type_vector(N, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 2 * N; i++) {
        from[i] = i;
        to[i] = -1;
    }
    MPI_Isendrecv(from, 1, type, 0, 0, to, 1, type, 0, 0, MPI_COMM_SELF, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2 * N; i++) {
        if (to[i] != (i % 2 ? -1 : i)) {
            fprintf(stderr, "received %d at %d\n", to[i], i);
            errs++;
        }
    }

    /* A freed handle is reused for the next type */
    MPI_Type_contiguous(N, MPI_INT, &later);
    if (later == type) {
        fprintf(stderr, "the type has been freed\n");
        errs++;
    } else {
        MPI_Type_free(&type);
    }
    MPI_Type_free(&later);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
