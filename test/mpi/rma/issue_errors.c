/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Operations for whose datatype at the target there is no memory fail, with an error of the operation,
 * of its request, or of a synchronization of that window. Other operations are done, also by another
 * process, and no process waits for ever. Two processes. */

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

/* The same with MPI_Win_fence, which ends an epoch of both processes. The operation is kept back since
 * the other process comes late to the fence before it. */
static int fence_end(int kind, int rank, MPI_Datatype type, MPI_Win win)
{
    int err = MPI_SUCCESS, errs = 0, seen = -1;

    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        usleep(20000);
    errs += MPI_Win_fence(MPI_MODE_NOPRECEDE, win) != MPI_SUCCESS;
    nfailed = 0;
    if (rank == 0) {
        err = operation(kind, type, win);
        if (err == MPI_SUCCESS)
            err = MPI_Put(&kind, 1, MPI_INT, 1, 3 * N - 1, 1, MPI_INT, win);
        is_failing = 1;
    }
    err = MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    is_failing = 0;
    if (rank == 0 ? nfailed == 0 || err == MPI_SUCCESS : err != MPI_SUCCESS) {
        fprintf(stderr, "operation %d, process %d: %d allocations failed, a fence %s\n", kind, rank,
                nfailed, err ? "as well" : "did not");
        errs++;
    }
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    MPI_Get(&seen, 1, MPI_INT, 1, 3 * N - 1, 1, MPI_INT, win);
    MPI_Win_unlock(1, win);
    MPI_Barrier(MPI_COMM_WORLD);
    return errs + (seen != kind);
}

/* The same with MPI_Win_complete. */
static int complete_end(int kind, int rank, MPI_Group other, MPI_Datatype type, MPI_Win win)
{
    int err, errs = 0, token = 0;

    if (rank == 1) {
        MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_post(other, 0, win);
        errs += MPI_Win_wait(win) != MPI_SUCCESS;
    } else {
        MPI_Win_start(other, 0, win);
        err = operation(kind, type, win);
        MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        nfailed = 0;
        is_failing = 1;
        if (err == MPI_SUCCESS)
            err = MPI_Win_complete(win);
        is_failing = 0;
        if (nfailed == 0 || err == MPI_SUCCESS) {
            fprintf(stderr, "operation %d: %d allocations failed, and not MPI_Win_complete\n", kind,
                    nfailed);
            errs++;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return errs;
}

/* An operation fails while this process uses another window, whose operations and synchronizations have
 * no error; nor have messages. */
static int other_window(int kind, int rank, MPI_Datatype type, MPI_Win win, MPI_Win another)
{
    int err, errs = 0, token = 0, value = 5 + kind, seen = -1;

    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_unlock(1, win);
        MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        err = operation(kind, type, win);
        /* MPICH may keep back the last operation until its epoch ends, but not one before it */
        errs += MPI_Put(&value, 1, MPI_INT, 1, 3 * N - 1, 1, MPI_INT, win) != MPI_SUCCESS;
        errs += MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, another) != MPI_SUCCESS;
        errs += MPI_Win_flush(1, another) != MPI_SUCCESS;
        MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        nfailed = 0;
        is_failing = 1;
        errs += MPI_Recv(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != 0;
        do {
            errs += MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, another) != MPI_SUCCESS;
            errs += MPI_Win_flush(1, another) != MPI_SUCCESS;
        } while (err == MPI_SUCCESS && nfailed == 0 && errs == 0);
        is_failing = 0;
        errs += MPI_Get(&seen, 1, MPI_INT, 1, 0, 1, MPI_INT, another) != MPI_SUCCESS;
        errs += MPI_Win_unlock(1, another) != MPI_SUCCESS;
        if (err == MPI_SUCCESS)
            err = MPI_Win_unlock(1, win);
        if (errs || err == MPI_SUCCESS || seen != value) {
            fprintf(stderr, "operation %d: %d errors where no operation failed, %s where one did; "
                    "%d is %d\n", kind, errs, err ? "one" : "none", value, seen);
            errs++;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return errs;
}

/* An operation with a request. */
static int with_request(MPI_Datatype type, MPI_Win win)
{
    MPI_Request req;
    int err, errs = 0;

    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    nfailed = 0;
    is_failing = 1;
    err = MPI_Rput(from, 1, type, 1, 0, 1, type, win, &req);
    if (err == MPI_SUCCESS)
        err = MPI_Wait(&req, MPI_STATUS_IGNORE);
    is_failing = 0;
    if (nfailed == 0 || err == MPI_SUCCESS) {
        fprintf(stderr, "MPI_Rput: %d allocations failed, and no call\n", nfailed);
        errs++;
    }
    errs += MPI_Win_unlock(1, win) != MPI_SUCCESS;
    return errs;
}

int main(int argc, char **argv)
{
    int errs = 0, rank, displs[N], *mem;
    MPI_Datatype type;
    MPI_Win win, another;
    MPI_Group all, other;
    int peer;

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
    MPI_Win_create(mem, sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &another);
    MPI_Win_set_errhandler(another, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    peer = 1 - rank;
    MPI_Group_incl(all, 1, &peer, &other);
    for (int kind = 0; rank == 0 && kind < NKINDS; kind++)
        errs += epoch(kind, 0, type, win) + epoch(kind, 1, type, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int kind = 0; kind < NKINDS; kind++)
        errs += epoch_end(kind, 0, rank, type, win) + epoch_end(kind, 1, rank, type, win);
    for (int kind = 0; kind < NKINDS; kind++) {
        errs += fence_end(kind, rank, type, win);
        errs += complete_end(kind, rank, other, type, win);
        errs += other_window(kind, rank, type, win, another);
    }
    if (rank == 0)
        errs += with_request(type, win);
    MPI_Group_free(&other);
    MPI_Group_free(&all);
    MPI_Win_free(&another);
    MPI_Win_free(&win);
    MPI_Type_free(&type);
    free(mem);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
