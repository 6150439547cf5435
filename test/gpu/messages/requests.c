/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests requests of MPI_Isendrecv and MPI_Isendrecv_replace: the status that MPI_Request_get_status returns, and
 * MPI_Request_free, of active and done ones, whose communicator is freed, too; that of a collective is an error.
 * And persistent sends to MPI_PROC_NULL, which are active, and cancelled ones. Two processes. */

#include "report.h"

#include <stdbool.h>
#include <stdlib.h>

#define LARGE 100000            /* integers: with a rendezvous */

static int rank;

static void turn(int n, bool is_replace, bool is_done, bool is_one_way)
{
    const int other = 1 - rank;
    const int source = is_one_way && rank == 1 ? MPI_PROC_NULL : other;
    const int dest = is_one_way && rank == 0 ? MPI_PROC_NULL : other;
    int *in = malloc(n * sizeof(int)), *out = malloc(n * sizeof(int)), flag = 0;
    volatile int *last = is_replace ? &out[n - 1] : &in[n - 1];
    MPI_Comm comm;
    MPI_Request req;
    MPI_Status status;

    for (int i = 0; i < n; i++) {
        in[i] = -1;
        out[i] = rank;
    }
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (is_replace)
        CHECK_MPI(MPI_Isendrecv_replace(out, n, MPI_INT, dest, 0, source, 0, comm, &req));
    else
        CHECK_MPI(MPI_Isendrecv(out, n, MPI_INT, dest, 0, in, n, MPI_INT, source, 0, comm, &req));
    while (is_done && !flag)
        CHECK_MPI(MPI_Request_get_status(req, &flag, &status));
    CHECK(!is_done || status.MPI_SOURCE == source);
    CHECK_MPI(MPI_Request_free(&req));
    CHECK(req == MPI_REQUEST_NULL);
    CHECK_MPI(MPI_Comm_free(&comm));
    while (source != MPI_PROC_NULL && *last != other)
        CHECK_MPI(MPI_Iprobe(other, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    /* which the other process can do if it has received */
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    free(in);
    free(out);
}

static void collective(void)
{
    MPI_Request req;

    CHECK_MPI(MPI_Ibarrier(MPI_COMM_WORLD, &req));
    CHECK(MPI_Request_free(&req) != MPI_SUCCESS);
    CHECK_MPI(MPI_Wait(&req, MPI_STATUS_IGNORE));
}

static void persistent_to_null(void)
{
    MPI_Request req;
    MPI_Status status;
    int index, n;

    CHECK_MPI(MPI_Send_init(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &req));
    CHECK_MPI(MPI_Start(&req));
    CHECK_MPI(MPI_Waitany(1, &req, &index, &status));
    CHECK(index == 0);
    CHECK_MPI(MPI_Waitany(1, &req, &index, &status));
    CHECK(index == MPI_UNDEFINED);
    CHECK_MPI(MPI_Startall(1, &req));
    CHECK_MPI(MPI_Testsome(1, &req, &n, &index, &status));
    CHECK(n == 1 && index == 0);
    CHECK_MPI(MPI_Start(&req));
    CHECK_MPI(MPI_Cancel(&req));
    CHECK_MPI(MPI_Wait(&req, &status));
    CHECK_MPI(MPI_Request_free(&req));
}

/* A synchronous send that nobody receives. */
static void persistent_cancelled(void)
{
    MPI_Request req;
    MPI_Status status;
    int flag = 0, is_cancelled = 0;

    if (rank == 0) {
        CHECK_MPI(MPI_Ssend_init(&rank, 1, MPI_INT, 1, 66, MPI_COMM_WORLD, &req));
        CHECK_MPI(MPI_Start(&req));
        CHECK_MPI(MPI_Cancel(&req));
        while (!flag)
            CHECK_MPI(MPI_Request_get_status(req, &flag, &status));
        MPI_Test_cancelled(&status, &is_cancelled);
        CHECK(is_cancelled);
        CHECK_MPI(MPI_Wait(&req, &status));
        MPI_Test_cancelled(&status, &is_cancelled);
        CHECK(is_cancelled);
        CHECK_MPI(MPI_Request_free(&req));
    }
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char *argv[])
{
    report_time_limit(60);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 16; i++)
        turn(i & 1 ? LARGE : 3, i & 2, i & 4, i & 8);
    collective();
    persistent_to_null();
    persistent_cancelled();
    MPI_Finalize();
    return report_done();
}
