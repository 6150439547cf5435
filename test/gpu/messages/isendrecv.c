/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests requests of MPI_Isendrecv and MPI_Isendrecv_replace: the status that MPI_Request_get_status returns, and
 * MPI_Request_free, of active and done ones, whose communicator is freed, too; that of a collective is an error.
 * Two processes. */

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

int main(int argc, char *argv[])
{
    report_time_limit(60);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 16; i++)
        turn(i & 1 ? LARGE : 3, i & 2, i & 4, i & 8);
    collective();
    MPI_Finalize();
    return report_done();
}
