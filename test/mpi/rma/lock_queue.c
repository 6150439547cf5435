/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The first operation after MPI_Win_lock_all, when the target is locked: the request for the lock
 * comes with the operation, and the target queues both, or drops the data, or both, if there is no
 * room. All operations, on elements with a gap and without, of one packet and of several. Process 0
 * is the target; it ends its lock when the data has arrived, or at some time before. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum call { PUT, GET, ACCUMULATE, GET_ACCUMULATE, GET_ONLY, FETCH_AND_OP, COMPARE_AND_SWAP, NCALLS };

static const char *const names[] = {
    "MPI_Put", "MPI_Get", "MPI_Accumulate", "MPI_Get_accumulate", "MPI_Get_accumulate of MPI_NO_OP",
    "MPI_Fetch_and_op", "MPI_Compare_and_swap"
};

static int errs, rank, nprocs;

/* Elements are an int, or a value of `at` bytes or less and an int at `at`. */
struct element {
    MPI_Datatype type;
    const char *name;
    size_t at, extent;
};

static void put(const struct element *e, char *to, int value, int location)
{
    short s = (short) value;
    long l = value;

    if (e->type == MPI_INT)
        memcpy(to, &value, sizeof(value));
    else if (e->type == MPI_SHORT_INT)
        memcpy(to, &s, sizeof(s));
    else
        memcpy(to, &l, sizeof(l));
    if (e->at)
        memcpy(to + e->at, &location, sizeof(location));
}

static void fill(const struct element *e, char *to, int n, int value)
{
    for (int i = 0; i < n; i++)
        put(e, to + i * e->extent, value + i % 100, value - i);
}

static int differ(const struct element *e, const char *a, const char *b)
{
    return memcmp(a, b, e->type == MPI_INT ? 4 : e->type == MPI_SHORT_INT ? 2 : 8) ||
        (e->at && memcmp(a + e->at, b + e->at, 4));
}

static void check(const struct element *e, const char *seen, int value, int n, const char *what,
                  enum call call, int all)
{
    char *expected = calloc(n, e->extent);

    fill(e, expected, n, value);
    for (int i = 0; i < n; i++) {
        if (differ(e, seen + i * e->extent, expected + i * e->extent)) {
            if (errs++ < 10)
                fprintf(stderr, "rank %d: %s of %d %s: wrong %s at %d\n", rank, names[call], all,
                        e->name, what, i);
            break;
        }
    }
    free(expected);
}

/* wait: the target waits for the data before it ends its lock. */
static void run(const struct element *e, enum call call, int n, int wait)
{
    enum { OLD = 100, NEW = 300 };
    const int is_one = call == FETCH_AND_OP || call == COMPARE_AND_SWAP;
    const int m = is_one ? 1 : n;
    const MPI_Op op = e->at ? MPI_MAXLOC : MPI_MAX;
    char *mem = calloc(nprocs * n, e->extent), *origin = calloc(n, e->extent);
    char *result = calloc(n, e->extent);
    const int disp = (rank - 1) * n;
    MPI_Win win;
    int token = 0;

    for (int k = 0; k < nprocs; k++)
        fill(e, mem + k * n * e->extent, n, OLD);
    fill(e, origin, n, NEW);
    MPI_Win_create(mem, nprocs * n * e->extent, e->extent, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int k = 1; wait && k < nprocs; k++)
            MPI_Recv(&token, 1, MPI_INT, k, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int k = rand() % 8; !wait && k > 0; k--)
            MPI_Iprobe(0, 1, MPI_COMM_WORLD, &token, MPI_STATUS_IGNORE);
        for (int k = 0; k < nprocs - 1; k++)
            check(e, mem + k * n * e->extent, OLD, n, "locked window", call, n);
        MPI_Win_unlock(0, win);
    } else {
        MPI_Win_lock_all(0, win);
        if (call == PUT)
            MPI_Put(origin, m, e->type, 0, disp, m, e->type, win);
        else if (call == GET)
            MPI_Get(result, m, e->type, 0, disp, m, e->type, win);
        else if (call == ACCUMULATE)
            MPI_Accumulate(origin, m, e->type, 0, disp, m, e->type, op, win);
        else if (call == GET_ACCUMULATE)
            MPI_Get_accumulate(origin, m, e->type, result, m, e->type, 0, disp, m, e->type, op, win);
        else if (call == GET_ONLY)
            MPI_Get_accumulate(NULL, 0, e->type, result, m, e->type, 0, disp, m, e->type, MPI_NO_OP,
                               win);
        else if (call == FETCH_AND_OP)
            MPI_Fetch_and_op(origin, result, e->type, 0, disp, op, win);
        else
            MPI_Compare_and_swap(origin, mem, result, e->type, 0, disp, win);
        if (wait)
            MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Win_unlock_all(win);
        if (call != PUT && call != ACCUMULATE)
            check(e, result, OLD, m, "result", call, n);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; rank == 0 && k < nprocs - 1; k++)
        check(e, mem + k * n * e->extent, call == GET || call == GET_ONLY ? OLD : NEW, m, "window",
              call, n);
    MPI_Win_free(&win);
    free(mem);
    free(origin);
    free(result);
}

/* Process 0 locks its own window while process 1 has the lock and the others fill the queue. */
static void run_own(int is_all)
{
    MPI_Win win;
    int *mem = calloc(nprocs, sizeof(int)), token = 0;

    MPI_Win_create(mem, nprocs * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&rank, 1, MPI_INT, 0, rank, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int k = 2; k < nprocs; k++)
            MPI_Recv(&token, 1, MPI_INT, k, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        if (is_all) {
            MPI_Win_lock_all(0, win);
            MPI_Win_unlock_all(win);
        } else {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Win_unlock(0, win);
        }
    } else if (rank == 1) {
        MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_unlock(0, win);
    } else {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&rank, 1, MPI_INT, 0, rank, 1, MPI_INT, win);
        MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; rank == 0 && k < nprocs; k++) {
        if (mem[k] != k && errs++ < 10)
            fprintf(stderr, "own lock: wrong value of process %d\n", k);
    }
    MPI_Win_free(&win);
    free(mem);
}

/* The highest number that MPICH gives to one of many requests, which grows if others are kept. */
static unsigned request_number(void)
{
    enum { MANY = 64 };
    MPI_Request requests[MANY];
    unsigned most = 0;

    for (int i = 0; i < MANY; i++) {
        MPI_Irecv(NULL, 0, MPI_INT, rank, 7, MPI_COMM_WORLD, &requests[i]);
        if ((unsigned) requests[i] > most)
            most = (unsigned) requests[i];
    }
    for (int i = 0; i < MANY; i++)
        MPI_Cancel(&requests[i]);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    return most;
}

/* Operations that are dropped, maybe, and done later give all their requests back. */
static void run_requests(const struct element *e, enum call call)
{
    const unsigned before = request_number();

    for (int k = 0; k < 200; k++)
        run(e, call, 1, 1);
    if (request_number() > before + 50 && errs++ < 10)
        fprintf(stderr, "rank %d: %s keeps requests\n", rank, names[call]);
}

int main(int argc, char **argv)
{
    const struct element elements[] = {
        {MPI_INT, "MPI_INT", 0, 4},
        {MPI_SHORT_INT, "MPI_SHORT_INT", 4, 8},
        {MPI_LONG_INT, "MPI_LONG_INT", 8, 16}
    };
    const int counts[] = { 1, 200, 3000, 5450, 10922, 100000 };

    MTest_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    run_requests(&elements[0], GET);
    run_requests(&elements[0], GET_ACCUMULATE);
    for (int i = 0; i < 3; i++) {
        for (int call = 0; call < NCALLS; call++) {
            if (call == COMPARE_AND_SWAP && elements[i].at)
                continue;
            for (int j = 0; j < 6; j++) {
                run(&elements[i], call, counts[j], 1);
                for (int k = 0; k < 4; k++)
                    run(&elements[i], call, counts[j], 0);
            }
        }
    }
    for (int k = 0; k < 20; k++)
        run_own(k & 1);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
