/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests MPI_Allgatherv and MPI_Iallgatherv of long data where the processes receive the same bytes
 * with datatypes of different size and extent. Any number of processes. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>
#include <stdlib.h>

#define STEP 3001               /* elements that a process has more than the one before it */
#define MEMBERS 3               /* ints of an element */

static int value_of(int process, int i)
{
    return 1000000 * (process + 1) + i;
}

/* Receive with elements of MEMBERS ints at every stride ints: 0 for single ints. */
static int run(int stride, int is_nonblocking)
{
    const int members = stride ? MEMBERS : 1, step = stride ? stride : 1;
    int rank, nprocs, n = 0, errs = 0;
    int *counts, *displs, *mine, *all;
    MPI_Datatype type, vector;
    MPI_Request request;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    MPI_Type_contiguous(members, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, step * (MPI_Aint) sizeof(int), &type);
    MPI_Type_commit(&type);
    counts = malloc(nprocs * sizeof(int));
    displs = malloc(nprocs * sizeof(int));
    for (int i = 0; i < nprocs; i++) {
        counts[i] = (STEP * (i + 2) - 1) * MEMBERS / members;
        displs[i] = n;
        n += counts[i];
    }
    all = calloc((size_t) n * step, sizeof(int));
    mine = malloc((size_t) counts[rank] * members * sizeof(int));
    for (int i = 0; i < counts[rank] * members; i++)
        mine[i] = value_of(rank, i);

    if (is_nonblocking) {
        MPI_Iallgatherv(mine, counts[rank] * members, MPI_INT, all, counts, displs, type,
                        MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Allgatherv(mine, counts[rank] * members, MPI_INT, all, counts, displs, type,
                       MPI_COMM_WORLD);
    }

    for (int p = 0; p < nprocs; p++) {
        for (int i = 0; i < counts[p] * members; i++) {
            int seen = all[(size_t) (displs[p] + i / members) * step + i % members];
            if (seen != value_of(p, i) && errs++ < 5)
                fprintf(stderr, "[%d] int %d of process %d is %d\n", rank, i, p, seen);
        }
    }
    free(mine);
    free(all);
    free(displs);
    free(counts);
    MPI_Type_free(&vector);
    MPI_Type_free(&type);
    return errs;
}

int main(int argc, char *argv[])
{
    int rank, errs = 0;

    MTest_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int is_nonblocking = 0; is_nonblocking < 2; is_nonblocking++) {
        errs += run(rank % 2 ? MEMBERS : 0, is_nonblocking);    /* other sizes */
        errs += run(MEMBERS + rank, is_nonblocking);    /* other extents */
    }
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
