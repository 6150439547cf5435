/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests partitioned communication in communicators that have been freed and in intercommunicators,
 * and that it never matches plain messages, received by any source and tag. Many requests with both
 * ends in each process are in flight at the same time. Two processes or more, an even number. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

#define N 2000
#define MANY 100

static int rank, nprocs, errs = 0;
static int from[N], to[N];

static void check(const char *what, int first)
{
    for (int i = 0; i < N; i++) {
        if (to[i] != first + i && errs++ < 10)
            fprintf(stderr, "rank %d, %s: int %d is %d, not %d\n", rank, what, i, to[i], first + i);
    }
}

/* A message to dest and one from source, several times. */
static void exchange(const char *what, int dest, int source, MPI_Comm * comm, int is_freed_early)
{
    MPI_Request requests[2];

    MPI_Psend_init(from, 20, N / 20, MPI_INT, dest, 0, *comm, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(to, 2, N / 2, MPI_INT, source, 0, *comm, MPI_INFO_NULL, &requests[1]);
    if (is_freed_early)
        MPI_Comm_free(comm);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < N; i++) {
            from[i] = k + i;
            to[i] = -1;
        }
        MPI_Startall(2, requests);
        MPI_Pready_range(0, 19, requests[0]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        check(what, k);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void freed_comm(void)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    exchange("freed communicator", (rank + 1) % nprocs, (rank + nprocs - 1) % nprocs, &comm, 1);
}

/* The processes with an even rank and those with an odd one. */
static void inter_comm(void)
{
    MPI_Comm half, inter, merged;
    int other = rank / 2;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &inter);
    exchange("intercommunicator", other, other, &inter, 0);
    MPI_Intercomm_merge(inter, rank % 2, &merged);
    exchange("merged intercommunicator", (rank ^ 1) / 2 + (rank % 2 ? 0 : nprocs / 2),
             (rank ^ 1) / 2 + (rank % 2 ? 0 : nprocs / 2), &merged, 0);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void plain_messages(void)
{
    MPI_Request plain, requests[2];
    MPI_Status status;
    int right = (rank + 1) % nprocs, left = (rank + nprocs - 1) % nprocs, seen = -1, flag;

    MPI_Irecv(&seen, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &plain);
    MPI_Psend_init(from, 4, N / 4, MPI_INT, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(to, 4, N / 4, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready_range(0, 3, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Test(&plain, &flag, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
    MPI_Wait(&plain, &status);
    if (flag || seen != left || status.MPI_TAG != 1) {
        fprintf(stderr, "rank %d: the plain message is %d\n", rank, seen);
        errs++;
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Receives are started after sends, in the opposite order, in this process and in the next. */
static void many(void)
{
    static int out[MANY][2], in[MANY][2];
    MPI_Request sends[MANY], recvs[MANY];

    for (int i = 0; i < MANY; i++) {
        int dest = i % 2 ? rank : (rank + 1) % nprocs;
        int source = i % 2 ? rank : (rank + nprocs - 1) % nprocs;
        out[i][0] = out[i][1] = i;
        MPI_Psend_init(out[i], 2, 1, MPI_INT, dest, i % 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &sends[i]);
        MPI_Precv_init(in[i], 1, 2, MPI_INT, source, i % 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &recvs[i]);
    }
    for (int i = 0; i < MANY; i++) {
        MPI_Start(&sends[i]);
        MPI_Pready_range(0, 1, sends[i]);
    }
    for (int i = MANY - 1; i >= 0; i--)
        MPI_Start(&recvs[i]);
    MPI_Waitall(MANY, recvs, MPI_STATUSES_IGNORE);
    MPI_Waitall(MANY, sends, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++) {
        if (in[i][0] != i || in[i][1] != i) {
            fprintf(stderr, "rank %d: message %d has %d, %d\n", rank, i, in[i][0], in[i][1]);
            errs++;
        }
        MPI_Request_free(&sends[i]);
        MPI_Request_free(&recvs[i]);
    }
}

int main(int argc, char *argv[])
{
    MTest_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    freed_comm();
    inter_comm();
    plain_messages();
    many();
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
