/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that an error of one of the messages of a collective, or of a copy within a process, reaches the
 * call or the request, and keeps no other process waiting: process 0 gives more elements than the others
 * expect, which truncates a message in one of them at least, or its copy. Later calls are right. Four
 * processes. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

#define N 60                    /* elements that process 0 gives */
#define FEWER 40                /* elements that the others expect: for which no other algorithm is chosen */
#define MAX_PROCS 8

static MPI_Comm comm;
static int rank, nprocs;
static int from[MAX_PROCS * N], to[MAX_PROCS * N];

static int wait_for(int err, MPI_Request * request)
{
    return err ? err : MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* The calls, with n elements. */

static int allreduce(int n)
{
    return MPI_Allreduce(from, to, n, MPI_INT, MPI_SUM, comm);
}

static int allreduce_short(int n)
{
    return MPI_Allreduce(from, to, n / 20, MPI_INT, MPI_SUM, comm);
}

static int iallreduce(int n)
{
    MPI_Request request;

    return wait_for(MPI_Iallreduce(from, to, n, MPI_INT, MPI_SUM, comm, &request), &request);
}

static int allreduce_init(int n)
{
    MPI_Request request;
    int err[2];

    MPI_Allreduce_init(from, to, n, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    for (int i = 0; i < 2; i++)
        err[i] = wait_for(MPI_Start(&request), &request);
    MPI_Request_free(&request);
    return err[1];
}

static int ireduce_scatter_block(int n)
{
    MPI_Request request;

    return wait_for(MPI_Ireduce_scatter_block(from, to, n, MPI_INT, MPI_SUM, comm, &request),
                    &request);
}

static int ibcast(int n)
{
    MPI_Request request;

    return wait_for(MPI_Ibcast(rank == 0 ? from : to, n, MPI_INT, 0, comm, &request), &request);
}

static int ialltoall(int n)
{
    MPI_Request request;

    return wait_for(MPI_Ialltoall(from, n, MPI_INT, to, n, MPI_INT, comm, &request), &request);
}

static int iscan(int n)
{
    MPI_Request request;

    return wait_for(MPI_Iscan(from, to, n, MPI_INT, MPI_SUM, comm, &request), &request);
}

/* Those in which process 0 copies to itself, before or after messages. */

static int allgather(int n)
{
    return MPI_Allgather(from, n, MPI_INT, to, FEWER, MPI_INT, comm);
}

static int iallgather(int n)
{
    MPI_Request request;

    return wait_for(MPI_Iallgather(from, n, MPI_INT, to, FEWER, MPI_INT, comm, &request), &request);
}

static int gather(int n)
{
    return MPI_Gather(from, n, MPI_INT, to, FEWER, MPI_INT, 0, comm);
}

static int igather(int n)
{
    MPI_Request request;

    return wait_for(MPI_Igather(from, n, MPI_INT, to, FEWER, MPI_INT, 0, comm, &request), &request);
}

static const struct {
    const char *name;
    int (*call) (int n);
} calls[] = {
    {"MPI_Allreduce", allreduce},
    {"MPI_Allreduce of few", allreduce_short},
    {"MPI_Iallreduce", iallreduce},
    {"MPI_Allreduce_init", allreduce_init},
    {"MPI_Ireduce_scatter_block", ireduce_scatter_block},
    {"MPI_Ibcast", ibcast},
    {"MPI_Ialltoall", ialltoall},
    {"MPI_Iscan", iscan},
    {"MPI_Allgather", allgather},
    {"MPI_Iallgather", iallgather},
    {"MPI_Gather", gather},
    {"MPI_Igather", igather},
};

/* Processes in which a call fails. */
static int failures(int i, int n)
{
    int failed = calls[i].call(n) != MPI_SUCCESS, sum;

    MPI_Allreduce(&failed, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

int main(int argc, char **argv)
{
    int errs = 0;

    MTest_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    for (int i = 0; i < (int) (sizeof(calls) / sizeof(calls[0])); i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        if (failures(i, rank == 0 ? N : FEWER) == 0 && rank == 0) {
            fprintf(stderr, "%s with a truncated message succeeds in all processes\n",
                    calls[i].name);
            errs++;
        }
        if (failures(i, FEWER) && rank == 0) {
            fprintf(stderr, "%s fails after that\n", calls[i].name);
            errs++;
        }
        MPI_Comm_free(&comm);
    }
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
