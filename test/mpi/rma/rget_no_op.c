/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* MPI_Rget_accumulate with MPI_NO_OP, which ignores the origin: it gets the target's data if the
 * origin is empty, and ends if only the target is. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

enum { N = 5 };

int main(int argc, char **argv)
{
    int errs = 0, rank, nprocs, mem[N], origin[N] = { 0 };
    MPI_Win win;

    MTest_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    for (int i = 0; i < N; i++)
        mem[i] = 100 * rank + i;
    MPI_Win_create(mem, sizeof(mem), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int target = 0; target < nprocs; target++) {
        int result[N] = { -1, -1, -1, -1, -1 };
        MPI_Request reqs[2];

        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        MPI_Rget_accumulate(NULL, 0, MPI_INT, result, N, MPI_INT, target, 0, N, MPI_INT, MPI_NO_OP, win,
                            &reqs[0]);
        MPI_Rget_accumulate(origin, N, MPI_INT, NULL, 0, MPI_INT, target, 0, 0, MPI_INT, MPI_NO_OP, win,
                            &reqs[1]);
        MPI_Wait(&reqs[0], MPI_STATUS_IGNORE);
        MPI_Wait(&reqs[1], MPI_STATUS_IGNORE);
        for (int i = 0; i < N; i++) {
            if (result[i] != 100 * target + i && errs++ < 10)
                fprintf(stderr, "rank %d: element %d of process %d is %d\n", rank, i, target, result[i]);
        }
        MPI_Win_unlock(target, win);
    }
    MPI_Win_free(&win);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
