/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests many messages of each protocol: their resources are released, so that the last ones find
 * what the first ones found. Also one message longer than the pool, and more messages in flight
 * than it has chunks. Two processes.
 *
 *     many [messages] */

#include "report.h"
#include "side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 40
#define ENGINE_PINNED_MAX 67108864      /* default of MPIR_CVAR_GPUDT_PINNED_MAX */

static int rank, other;

/* One after the other. The last one differs from those before. */
static void messages(enum mem_kind from, enum mem_kind to, int n, long total)
{
    struct side s;

    side_make(&s, rank == 0 ? from : to, MPI_INT, n, 0);
    if (rank == 0)
        side_fill(&s, 5);
    else
        side_clear(&s, 5);
    for (long i = 0; i < total; i++) {
        if (rank == 0 && i == total - 1)
            side_fill(&s, 6);
        if (rank == 0)
            CHECK_MPI(MPI_Send(s.buf, n, MPI_INT, other, 1, MPI_COMM_WORLD));
        else
            CHECK_MPI(MPI_Recv(s.buf, n, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    side_check(&s, "the last buffer", 6, s.size);
    side_free(&s);
    /* A sender that is far ahead would fill the receiver's queue, of 2^18 messages at most */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* More messages at once than there are chunks. */
static void burst(int n)
{
    struct side s[WINDOW];
    MPI_Request requests[WINDOW];

    for (int i = 0; i < WINDOW; i++) {
        side_make(&s[i], MEM__DEVICE, MPI_INT, n, 0);
        if (rank == 0)
            side_fill(&s[i], i);
        else
            side_clear(&s[i], i);
    }
    for (int i = 0; i < WINDOW; i++) {
        if (rank == 0)
            CHECK_MPI(MPI_Isend(s[i].buf, n, MPI_INT, other, i, MPI_COMM_WORLD, &requests[i]));
        else
            CHECK_MPI(MPI_Irecv(s[i].buf, n, MPI_INT, other, i, MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = 0; i < WINDOW; i++) {
        CHECK_MPI(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        side_check(&s[i], "a buffer of many", i, s[i].size);
        side_free(&s[i]);
    }
}

int main(int argc, char **argv)
{
    long total = argc > 1 ? atol(argv[1]) : 150;
    unsigned long long pinned = 0;
    int provided;

    report_time_limit(600);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);

    /* The first round allocates memory that is kept */
    for (int round = 0; round < 2; round++) {
        messages(MEM__DEVICE, MEM__DEVICE, 500000, 1);
        for (int n = 1; n <= 50000; n *= 50) {
            messages(MEM__DEVICE, MEM__DEVICE, n, total);
            messages(MEM__PAGEABLE, MEM__DEVICE, n, total);
            messages(MEM__DEVICE, MEM__PAGEABLE, n, total);
        }
        if (round == 0)
            pinned = report_variable("gpudt_pinned_bytes");
    }
    CHECK(report_variable("gpudt_heap_chunks") == 0);
    CHECK(report_variable("gpudt_pinned_bytes") == pinned);
    for (int i = 0; i < 3; i++) {
        burst(100000);
        burst(500);
    }
    /* The engine pins memory of its own for data that does not fit into the pool */
    CHECK(report_variable("gpudt_pinned_bytes") <= pinned + ENGINE_PINNED_MAX);
    messages(MEM__DEVICE, MEM__DEVICE, 5000, total);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
