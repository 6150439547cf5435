/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that the origin of accumulates with MPI_NO_OP is not read: it may be an address of nothing. On windows of
 * memory of the program and of memory that MPI allocates. Two processes. */

#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define N 50000                 /* integers of a window, behind which is a long double */
#define SZ (N * sizeof(long) + sizeof(long double))

static int rank;

static void fetch(const void *origin, int target, MPI_Win win)
{
    long value = -1;
    long double large = -1;

    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    CHECK_MPI(MPI_Fetch_and_op(origin, &value, MPI_LONG, target, 5, MPI_NO_OP, win));
    /* of a type that does not fit into the packet */
    CHECK_MPI(MPI_Fetch_and_op(origin, &large, MPI_LONG_DOUBLE, target, N, MPI_NO_OP, win));
    CHECK_MPI(MPI_Win_unlock(target, win));
    if (value != 1000000 * target + 5)
        report_fail("MPI_Fetch_and_op from %d: %ld", target, value);
    if (large != target + 0.5L)
        report_fail("MPI_Fetch_and_op from %d: %Lg", target, large);
}

static void get(const void *origin, int n, int target, MPI_Win win)
{
    long *result = malloc(n * sizeof(long));
    MPI_Request req;

    for (int is_request = 0; is_request < 2; is_request++) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        if (is_request) {
            CHECK_MPI(MPI_Rget_accumulate(origin, n, MPI_LONG, result, n, MPI_LONG, target, 0, n,
                                          MPI_LONG, MPI_NO_OP, win, &req));
            CHECK_MPI(MPI_Wait(&req, MPI_STATUS_IGNORE));
        } else {
            CHECK_MPI(MPI_Get_accumulate(origin, n, MPI_LONG, result, n, MPI_LONG, target, 0, n,
                                         MPI_LONG, MPI_NO_OP, win));
        }
        CHECK_MPI(MPI_Win_unlock(target, win));
        for (int i = 0; i < n; i++) {
            if (result[i] != 1000000 * target + i) {
                report_fail("MPI_Get_accumulate from %d: integer %d is %ld", target, i, result[i]);
                break;
            }
            result[i] = -1;
        }
    }
    free(result);
}

static void window(int is_allocated, const void *unreadable)
{
    const long double large = rank + 0.5L;
    long *base;
    MPI_Win win;

    if (is_allocated) {
        CHECK_MPI(MPI_Win_allocate(SZ, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                                   &base, &win));
    } else {
        base = malloc(SZ);
        CHECK_MPI(MPI_Win_create(base, SZ, sizeof(long), MPI_INFO_NULL,
                                 MPI_COMM_WORLD, &win));
    }
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    for (int i = 0; i < N; i++)
        base[i] = 1000000 * rank + i;
    memcpy(base + N, &large, sizeof(large));
    CHECK_MPI(MPI_Win_unlock(rank, win));
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (int target = 0; target < 2; target++) {
        fetch(NULL, target, win);
        fetch(unreadable, target, win);
        get(NULL, 1, target, win);
        get(unreadable, 1, target, win);
        get(unreadable, N, target, win);
    }
    CHECK_MPI(MPI_Win_free(&win));
    if (!is_allocated)
        free(base);
}

int main(int argc, char *argv[])
{
    void *unreadable = mmap(NULL, N * sizeof(long), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    report_time_limit(60);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    window(0, unreadable);
    window(1, unreadable);
    MPI_Finalize();
    return report_done();
}
