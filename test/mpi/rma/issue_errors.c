/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Operations for whose datatype at the target there is no memory fail, with an error of the operation,
 * of MPI_Win_flush or of MPI_Win_unlock. Later operations on the window are done, also by another
 * process. Two processes. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 4000, LARGE = 16 * 1024, NKINDS = 4 };

void *__libc_malloc(size_t sz);

static int is_failing, nfailed;

/* Instead of the C library's, also for MPI. */
void *malloc(size_t sz)
{
    if (is_failing && sz >= LARGE) {
        nfailed++;
        return NULL;
    }
    return __libc_malloc(sz);
}

static int from[3 * N], result[3 * N];

static int operation(int kind, MPI_Datatype type, MPI_Win win)
{
    switch (kind) {
        case 0:
            return MPI_Put(from, 1, type, 1, 0, 1, type, win);
        case 1:
            return MPI_Get(result, 1, type, 1, 0, 1, type, win);
        case 2:
            return MPI_Accumulate(from, 1, type, 1, 0, 1, type, MPI_SUM, win);
        default:
            return MPI_Get_accumulate(from, 1, type, result, 1, type, 1, 0, 1, type, MPI_SUM, win);
    }
}

/* With the lock granted, or with operations that ask for it. */
static int epoch(int kind, int is_granted, MPI_Datatype type, MPI_Win win)
{
    int err, flush_err, errs = 0, seen = -1, value = 100 * kind + is_granted;

    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    if (is_granted)
        MPI_Win_flush(1, win);
    nfailed = 0;
    is_failing = 1;
    err = operation(kind, type, win);
    flush_err = MPI_Win_flush(1, win);
    is_failing = 0;
    if (nfailed == 0 || (err == MPI_SUCCESS && flush_err == MPI_SUCCESS)) {
        fprintf(stderr, "operation %d: %d allocations failed, and no call\n", kind, nfailed);
        errs++;
    }
    MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    errs += MPI_Win_flush(1, win) != MPI_SUCCESS;
    MPI_Get(&seen, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    errs += MPI_Win_flush(1, win) != MPI_SUCCESS;
    if (seen != value) {
        fprintf(stderr, "after operation %d: %d is %d\n", kind, value, seen);
        errs++;
    }
    errs += operation(kind, type, win) != MPI_SUCCESS;
    errs += MPI_Win_unlock(1, win) != MPI_SUCCESS;
    return errs;
}

/* The end of an epoch issues an operation, since the target was locked before, and it fails. The epoch
 * ends nevertheless, so that both processes can lock the target. */
static int epoch_end(int kind, int is_all, int rank, MPI_Datatype type, MPI_Win win)
{
    int err, errs = 0, token = 0, seen = -1;

    if (rank == 1)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(2000);
        MPI_Win_unlock(1, win);
    } else {
        if (is_all)
            MPI_Win_lock_all(0, win);
        else
            MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        err = operation(kind, type, win);
        MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        nfailed = 0;
        is_failing = 1;
        if (err == MPI_SUCCESS)
            err = is_all ? MPI_Win_unlock_all(win) : MPI_Win_unlock(1, win);
        is_failing = 0;
        if (nfailed == 0 || err == MPI_SUCCESS) {
            fprintf(stderr, "operation %d: %d allocations failed, and no end of an epoch\n", kind,
                    nfailed);
            errs++;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < 2; k++) {
        if (k == rank) {
            errs += MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win) != MPI_SUCCESS;
            MPI_Put(&kind, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
            errs += MPI_Win_unlock(1, win) != MPI_SUCCESS;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    MPI_Get(&seen, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    MPI_Win_unlock(1, win);
    MPI_Barrier(MPI_COMM_WORLD);
    return errs + (seen != kind);
}

int main(int argc, char **argv)
{
    int errs = 0, rank, displs[N], *mem;
    MPI_Datatype type;
    MPI_Win win;

    MTest_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    mem = calloc(3 * N, sizeof(int));
    for (int i = 0; i < N; i++) {
        displs[i] = 3 * i + i % 2;
        from[displs[i]] = i;
    }
    MPI_Type_create_indexed_block(N, 1, displs, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Win_create(mem, 3 * N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int kind = 0; rank == 0 && kind < NKINDS; kind++)
        errs += epoch(kind, 0, type, win) + epoch(kind, 1, type, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int kind = 0; kind < NKINDS; kind++)
        errs += epoch_end(kind, 0, rank, type, win) + epoch_end(kind, 1, rank, type, win);
    MPI_Win_free(&win);
    MPI_Type_free(&type);
    free(mem);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
