/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests MPI_Isendrecv_replace of a buffer with gaps, around a ring. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

#define N 100

static int value(int rank, int i)
{
    return i % 2 ? -1 : 1000 * rank + i;
}

int main(int argc, char *argv[])
{
    MPI_Datatype type;
    MPI_Request request;
    int buf[2 * N], rank, size, from, errs = 0;

    MTest_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    from = (rank + size - 1) % size;
    MPI_Type_vector(N, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 2 * N; i++)
        buf[i] = value(rank, i);
    MPI_Isendrecv_replace(buf, 1, type, (rank + 1) % size, 0, from, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2 * N; i++) {
        if (buf[i] != value(from, i) && ++errs <= 10)
            fprintf(stderr, "received %d at %d, not %d\n", buf[i], i, value(from, i));
    }
    MPI_Type_free(&type);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
