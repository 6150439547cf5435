/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that a process exits, and that another one learns it from a message that it cannot write, or that
 * is not answered: every send ends, and there is an error. To be run as peer_dies. Messages are sent from
 * host memory:
 *
 *     peer_dies_written empty|short|vector        over the network
 *     peer_dies_written sync|sync-empty|long      the receiver has to answer */

#include "report.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NSENDS 20
#define N 1000
#define LONG 200000             /* sent by rendezvous */

static const struct way {
    const char *name;
    int count;
    bool is_vector, is_sync;
} ways[] = {
    {"empty", 0, false, false},
    {"short", N, false, false},
    {"vector", N, true, false},
    {"sync", N, true, true},
    {"sync-empty", 0, false, true},
    {"long", LONG, false, false},
};

static const struct way *way_find(const char *name)
{
    for (int i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(ways[i].name, name) == 0)
            return &ways[i];
    }
    return NULL;
}

static void pause_ms(int ms)
{
    const double end = MPI_Wtime() + ms / 1e3;

    while (MPI_Wtime() < end)   /* a signal tells of the dead process */
        usleep(1000);
}

static bool is_failure(int err)
{
    int class;

    if (err == MPI_SUCCESS)
        return false;
    MPI_Error_class(err, &class);
    if (class != MPIX_ERR_PROC_FAILED && class != MPI_ERR_OTHER)
        report_fail("error class %d: %s", class, report_mpi_text(err));
    return true;
}

/* Nothing is polled between the sends: one of the first writes after the exit fails. */
static void send_all(const struct way *way)
{
    char *buf = calloc(4, LONG);
    MPI_Request req[NSENDS];
    MPI_Datatype type;
    int err, nfailed = 0;

    MPI_Type_vector(2, 1, way->is_vector ? 2 : 1, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < NSENDS; i++) {
        if (way->is_sync)
            err = MPI_Issend(buf, way->count, type, 1, 2, MPI_COMM_WORLD, &req[i]);
        else
            err = MPI_Isend(buf, way->count, type, 1, 2, MPI_COMM_WORLD, &req[i]);
        if (is_failure(err)) {
            nfailed++;
            req[i] = MPI_REQUEST_NULL;
        }
        pause_ms(2);
    }
    for (int i = 0; i < NSENDS; i++)
        nfailed += is_failure(MPI_Wait(&req[i], MPI_STATUS_IGNORE));
    CHECK(nfailed > 0);
    MPI_Type_free(&type);
    free(buf);
}

int main(int argc, char **argv)
{
    const struct way *way = argc == 2 ? way_find(argv[1]) : NULL;
    int rank;

    if (way == NULL)
        return 2;
    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        _exit(0);
    pause_ms(300);
    send_all(way);
    _exit(report_done());
}
