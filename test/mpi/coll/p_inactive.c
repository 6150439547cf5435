/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests persistent collectives whose requests are inactive, tested together, or freed while they are
 * active. Two processes or more. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>
#include <unistd.h>

#define N 2000                  /* ints */
#define NFREED 20               /* requests that are freed while they are active */
#define WAIT_S 60

static int rank, nprocs, errs = 0;

static void check(int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "[%d] %s\n", rank, what);
        errs++;
    }
}

static int is_empty(const MPI_Status * status)
{
    int n;

    MPI_Get_count(status, MPI_INT, &n);
    return status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && n == 0;
}

/* All that completes requests ignores an inactive one. */
static void inactive_test(MPI_Request * persistent, const char *when)
{
    MPI_Request requests[2] = { *persistent, MPI_REQUEST_NULL };
    MPI_Status status, statuses[2];
    int flag = 0, index = 0, n = 0, in = -1;

    MPI_Test(persistent, &flag, &status);
    check(flag && is_empty(&status), when);
    if (!flag)
        return;
    MPI_Request_get_status(*persistent, &flag, &status);
    check(flag && is_empty(&status), when);
    MPI_Wait(persistent, &status);
    check(is_empty(&status), when);
    MPI_Waitany(1, requests, &index, &status);
    check(index == MPI_UNDEFINED, when);
    MPI_Testany(1, requests, &index, &flag, &status);
    check(flag && index == MPI_UNDEFINED, when);
    MPI_Waitsome(1, requests, &n, &index, &status);
    check(n == MPI_UNDEFINED, when);
    MPI_Testall(1, requests, &flag, statuses);
    check(flag && is_empty(&statuses[0]), when);

    MPI_Irecv(&in, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(&rank, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    MPI_Waitany(2, requests, &index, &status);
    check(index == 1 && in == rank, when);
}

static void states_test(void)
{
    int sum = -1, flag = 0;
    MPI_Request requests[2];
    MPI_Status statuses[2];

    MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[0]);
    inactive_test(&requests[0], "a collective that was not started is not inactive");
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, requests);
        for (flag = 0; !flag;) {
            if (MPI_Testall(2, requests, &flag, statuses) != MPI_SUCCESS) {
                check(0, "MPI_Testall failed");
                MPI_Waitall(2, requests, statuses);
                break;
            }
        }
        check(sum == nprocs * (nprocs - 1) / 2, "the sum is wrong");
    }
    inactive_test(&requests[0], "a collective that is complete is not inactive");
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* The request object may have been that of a message to nowhere. */
static void reused_test(void)
{
    MPI_Request request;

    for (int i = 0; i < 10; i++) {
        int value = rank == 0 ? i : -1;

        if (i % 2)
            MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
        else
            MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        MPI_Bcast_init(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(value == i, "a broadcast was not started");
        MPI_Request_free(&request);
    }
}

/* Requests that are freed while a process has not started them. Others take their memory. */
static void freed_test(void)
{
    static int from[N], to[NFREED][N];
    MPI_Request request, others[NFREED];
    double end = MPI_Wtime() + WAIT_S;
    int flag, ncomplete = 0, last = (N - 1) * nprocs;

    for (int i = 0; i < N; i++)
        from[i] = i;
    if (rank == 0)
        usleep(300000);
    for (int k = 0; k < NFREED; k++) {
        MPI_Allreduce_init(from, to[k], N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &request);
        MPI_Start(&request);
        MPI_Request_free(&request);
        MPI_Allreduce_init(MPI_IN_PLACE, from, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &others[k]);
    }
    while (ncomplete < NFREED && MPI_Wtime() < end) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        while (ncomplete < NFREED && to[ncomplete][N - 1] == last)
            ncomplete++;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < NFREED; k++) {
        for (int i = 0; i < N; i++) {
            if (to[k][i] != i * nprocs) {
                check(0, "a collective that was freed is not right");
                break;
            }
        }
        MPI_Request_free(&others[k]);
    }
}

int main(int argc, char *argv[])
{
    MTest_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    states_test();
    reused_test();
    freed_test();
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
