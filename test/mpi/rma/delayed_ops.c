/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Operations with a request after one without, in the order of accumulates, and with a datatype that
 * does not come with a request for the lock. To be run with
 * MPIR_CVAR_CH3_RMA_DELAY_ISSUING_FOR_PIGGYBACKING=1, which keeps operations back. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

enum { N = 8, TIMES = 40 };

int main(int argc, char **argv)
{
    int errs = 0, rank, mem[N] = { 0 }, from[N], others[N];
    MPI_Datatype pairs;
    MPI_Request req;
    MPI_Win win;

    MTest_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_vector(N / 2, 1, 2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Win_create(mem, sizeof(mem), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int k = 0; k < TIMES; k++) {
        const int is_all = k & 1, is_derived = k >> 1 & 1, is_put = k >> 2 & 1;
        const int n = is_derived ? 1 : N;
        MPI_Datatype type = is_derived ? pairs : MPI_INT;

        for (int i = 0; i < N; i++) {
            from[i] = 1000 * k + i;
            others[i] = -from[i];
        }
        if (rank == 0) {
            if (is_all)
                MPI_Win_lock_all(0, win);
            else
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
            if (is_put) {
                MPI_Put(from + 1, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
                MPI_Rput(others, 1, pairs, 1, 0, 1, pairs, win, &req);
            } else {
                MPI_Accumulate(from, N, MPI_INT, 1, 0, N, MPI_INT, MPI_REPLACE, win);
                MPI_Raccumulate(others, n, type, 1, 0, n, type, MPI_REPLACE, win, &req);
            }
            MPI_Wait(&req, MPI_STATUS_IGNORE);
            if (is_all)
                MPI_Win_unlock_all(win);
            else
                MPI_Win_unlock(1, win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
            for (int i = 0; i < N; i++) {
                int expected = i % 2 && (is_put || is_derived) ? from[i] : others[i];

                if (is_put && i % 2 && i > 1)
                    continue;
                if (mem[i] != expected && errs++ < 10)
                    fprintf(stderr, "time %d: element %d is %d, not %d\n", k, i, mem[i], expected);
            }
            MPI_Win_unlock(1, win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
    MPI_Type_free(&pairs);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
