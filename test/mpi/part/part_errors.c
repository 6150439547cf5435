/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests errors and limits of partitioned communication: wrong partitions, partitions made ready
 * twice or too early, messages that are too long or too short, MPI_PROC_NULL, no data, no datatype,
 * and requests that are freed without or while being used. Two processes. */

#include "mpi.h"
#include "mpitest.h"
#include <limits.h>
#include <stdio.h>

#define N 4096

static int rank, errs = 0;
static int buf[8 * N];

static void expect(int is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "rank %d, not so: %s\n", rank, what);
        errs++;
    }
}

static void expect_class(int err, int wanted, const char *what)
{
    int class = MPI_SUCCESS;

    if (err)
        MPI_Error_class(err, &class);
    if (class != wanted) {
        fprintf(stderr, "rank %d, %s: error class %d, expected %d\n", rank, what, class, wanted);
        errs++;
    }
}

/* Any error that the binding finds. */
static void expect_error(int err, const char *what)
{
    expect(err != MPI_SUCCESS, what);
}

static void init(int nparts, int count, int tag, MPI_Request * request)
{
    if (rank == 0)
        MPI_Psend_init(buf, nparts, count, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_INFO_NULL, request);
    else
        MPI_Precv_init(buf, nparts, count, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_INFO_NULL, request);
}

static void fill(void)
{
    for (int i = 0; i < 8 * N; i++)
        buf[i] = rank == 0 ? i : -1;
}

static void wrong_calls(void)
{
    MPI_Request request;
    int list[3] = { 2, 1, 2 }, flag;

    expect_class(MPI_Psend_init(buf, -1, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
                 MPI_ERR_ARG, "a negative number of partitions");
    expect_class(MPI_Precv_init(buf, INT_MAX, LLONG_MAX / 8, MPI_INT, 0, 0, MPI_COMM_WORLD,
                                MPI_INFO_NULL, &request), MPI_ERR_COUNT, "too much data");
    fill();
    init(4, N, 1, &request);
    if (rank == 0) {
        expect_error(MPI_Pready(0, request), "ready while inactive");
        MPI_Start(&request);
        expect_error(MPI_Start(&request), "started twice");
        expect_error(MPI_Pready(4, request), "ready behind the last partition");
        expect_error(MPI_Pready(-1, request), "ready before the first partition");
        expect_class(MPI_Pready_list(3, list, request), MPI_ERR_ARG, "twice in a list");
        MPI_Pready(1, request);
        expect_class(MPI_Pready(1, request), MPI_ERR_ARG, "ready twice");
        expect_class(MPI_Pready_range(0, 3, request), MPI_ERR_ARG, "ready twice by a range");
        expect_error(MPI_Parrived(request, 0, &flag), "arrival at a sender");
        list[1] = 3;
        list[2] = 0;
        MPI_Pready_list(3, list, request);
    } else {
        MPI_Start(&request);
        expect_error(MPI_Pready(0, request), "ready at a receiver");
        expect_error(MPI_Parrived(request, 4, &flag), "arrival behind the last partition");
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 4 * N; i++)
        expect(buf[i] == i, "the data is right after errors");
    expect_error(MPI_Cancel(&request), "cancelled");
    MPI_Request_free(&request);
}

/* One sender's partition of 4 N ints, another of 4 partitions; the receiver has fewer or more. */
static void other_lengths(int nparts, int count, int room)
{
    MPI_Request request;
    MPI_Status status;
    int total = nparts * count, n = total < room ? total : room, err, seen, flag;

    fill();
    init(rank == 0 ? nparts : 1, rank == 0 ? count : room, 2, &request);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        if (rank == 0) {
            MPI_Pready_range(0, nparts - 1, request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            continue;
        }
        do {
            MPI_Parrived(request, 0, &flag);
        } while (!flag);
        err = MPI_Wait(&request, &status);
        expect_class(err, total > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS, "another length");
        MPI_Get_count(&status, MPI_INT, &seen);
        expect(seen == n, "the count of another length");
        for (int k = 0; k < 8 * N; k++)
            expect(buf[k] == (k < n ? k : -1), "the data of another length");
    }
    MPI_Request_free(&request);
}

static void no_process(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int flag;

    MPI_Psend_init(buf, 3, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    MPI_Precv_init(buf, 3, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, requests);
        MPI_Pready_range(1, 2, requests[0]);
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
        expect(!flag, "complete before all partitions are ready");
        MPI_Parrived(requests[1], 2, &flag);
        expect(flag, "arrived from no process");
        MPI_Pready(0, requests[0]);
        MPI_Waitall(2, requests, statuses);
        expect(statuses[1].MPI_SOURCE == MPI_PROC_NULL && statuses[1].MPI_TAG == MPI_ANY_TAG,
               "the status of a receive from no process");
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* The receive completes only when the send has started, also without data. */
static void no_data(int nparts, MPI_Datatype type)
{
    MPI_Request request;
    int flag = 0;

    if (rank == 0)
        MPI_Psend_init(NULL, nparts, 0, type, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(NULL, 2, 0, type, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    if (rank == 1) {
        MPI_Start(&request);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        expect(!flag, "complete without a sender");
        MPI_Parrived(request, 1, &flag);
        expect(!flag, "arrived without a sender");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Start(&request);
        if (nparts > 0)
            MPI_Pready_range(0, nparts - 1, request);
    }
    while (rank == 1 && !flag)
        MPI_Parrived(request, 1, &flag);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

/* Plain messages without data may have no datatype either. */
static void no_datatype(void)
{
    MPI_Request requests[3];
    MPI_Message message;

    for (int dest = 0; dest < 2; dest++) {
        if (rank == 0) {
            MPI_Isend(NULL, 0, MPI_DATATYPE_NULL, dest, 0, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(NULL, 0, MPI_DATATYPE_NULL, dest, 0, MPI_COMM_WORLD, &requests[1]);
            MPI_Issend(NULL, 0, MPI_DATATYPE_NULL, dest, 0, MPI_COMM_WORLD, &requests[2]);
        }
        if (rank == dest) {
            MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Mprobe(0, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
            MPI_Mrecv(NULL, 0, MPI_DATATYPE_NULL, &message, MPI_STATUS_IGNORE);
            MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (rank == 0)
            MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Send_init(NULL, 0, MPI_DATATYPE_NULL, rank, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(NULL, 0, MPI_DATATYPE_NULL, rank, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Requests that match but are never started, and one that is freed while it is active. */
static void freed(void)
{
    MPI_Request unused, used, after;

    fill();
    init(2, N, 4, &unused);
    init(2, N, 4, &used);
    MPI_Request_free(&unused);
    init(2, N, 4, &after);
    MPI_Start(&used);
    if (rank == 0)
        MPI_Pready_range(0, 1, used);
    MPI_Request_free(&used);
    MPI_Start(&after);
    if (rank == 0)
        MPI_Pready_range(0, 1, after);
    MPI_Wait(&after, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2 * N; i++)
        expect(buf[i] == i, "the data beside freed requests");
    MPI_Request_free(&after);
    /* Never matched */
    if (rank == 1) {
        init(1, 1, 5, &unused);
        MPI_Request_free(&unused);
    }
}

int main(int argc, char *argv[])
{
    MTest_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    wrong_calls();
    other_lengths(1, 4 * N, 2 * N + 1);
    other_lengths(4, N, 2 * N + 1);
    other_lengths(4, N, 1);
    other_lengths(4, N, 8 * N);
    other_lengths(N, 1, 7);
    no_process();
    no_data(2, MPI_INT);
    no_data(0, MPI_DATATYPE_NULL);
    no_datatype();
    freed();
    MPI_Barrier(MPI_COMM_WORLD);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
