/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests partitions of several requests that are made ready by threads, one by one, while the main
 * thread already waits for the requests, and threads that poll for the arrival of each partition.
 * Two processes, each of which sends and receives. */

#include "mpi.h"
#include "mpitest.h"
#include "mpithreadtest.h"
#include <stdio.h>

#define NTHREADS 4
#define NREQUESTS 3
#define NPARTS 32
#define COUNT 1500
#define NROUNDS 10

static int from[NREQUESTS][NPARTS][COUNT], to[NREQUESTS][NPARTS][COUNT];
static MPI_Request sends[NREQUESTS], recvs[NREQUESTS];
static int rank, round_no, wrong[NTHREADS];

static int value(int request, int part, int i)
{
    return round_no * 7 + request * 1000 + part * 31 + i;
}

/* Thread t of NTHREADS has every NTHREADS-th partition of all requests. */
static MTEST_THREAD_RETURN_TYPE make_ready(void *arg)
{
    int t = *(int *) arg;

    for (int part = t; part < NPARTS; part += NTHREADS) {
        for (int r = 0; r < NREQUESTS; r++) {
            for (int i = 0; i < COUNT; i++)
                from[r][part][i] = value(r, part, i);
            MPI_Pready(part, sends[r]);
        }
    }
    return (MTEST_THREAD_RETURN_TYPE) NULL;
}

static MTEST_THREAD_RETURN_TYPE see_arrive(void *arg)
{
    int t = *(int *) arg;

    for (int part = t; part < NPARTS; part += NTHREADS) {
        for (int r = NREQUESTS - 1; r >= 0; r--) {
            int flag = 0;
            while (!flag)
                MPI_Parrived(recvs[r], part, &flag);
            for (int i = 0; i < COUNT; i++)
                wrong[t] += to[r][part][i] != value(r, part, i);
        }
    }
    return (MTEST_THREAD_RETURN_TYPE) NULL;
}

int main(int argc, char *argv[])
{
    int provided, ids[NTHREADS], errs = 0;

    MTest_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int r = 0; r < NREQUESTS; r++) {
        MPI_Psend_init(from[r], NPARTS, COUNT, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &sends[r]);
        MPI_Precv_init(to[r], NPARTS, COUNT, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &recvs[r]);
    }
    for (round_no = 0; round_no < NROUNDS; round_no++) {
        MPI_Startall(NREQUESTS, recvs);
        MPI_Startall(NREQUESTS, sends);
        for (int t = 0; t < NTHREADS; t++) {
            ids[t] = t;
            errs += MTest_Start_thread(make_ready, &ids[t]);
            errs += MTest_Start_thread(see_arrive, &ids[t]);
        }
        MPI_Waitall(NREQUESTS, sends, MPI_STATUSES_IGNORE);
        errs += MTest_Join_threads();
        MPI_Waitall(NREQUESTS, recvs, MPI_STATUSES_IGNORE);
    }
    for (int t = 0; t < NTHREADS; t++) {
        if (wrong[t])
            fprintf(stderr, "rank %d: thread %d saw %d wrong values\n", rank, t, wrong[t]);
        errs += wrong[t];
    }
    for (int r = 0; r < NREQUESTS; r++) {
        MPI_Request_free(&sends[r]);
        MPI_Request_free(&recvs[r]);
    }
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
