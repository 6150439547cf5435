/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that descriptions of datatypes, which stay in the staging pool as long as the datatypes
 * exist, leave memory to messages. To be run with MPIR_CVAR_GPUDT_DIRECT=pull.
 *
 *     published offers    two processes, MPIR_CVAR_GPUDT_MSG_CHUNKS=1: there are more datatypes than
 *                         small chunks, and messages can still be offered, many at once
 *     published shares    four processes, MPIR_CVAR_GPUDT_MSG_CHUNKS=4, MPIR_CVAR_ODD_EVEN_CLIQUES=1:
 *                         one description takes a fourth of the pool. Then long messages pass both
 *                         ways between processes that share no memory, and none waits until it is
 *                         given pageable memory */

#include "report.h"
#include "side.h"

#include <stdlib.h>
#include <string.h>

#define NTYPES 80               /* there are 64 small chunks */
#define SHORT_LIST 700          /* entries: a description of more than half a small chunk */
#define NOFFERS 20              /* messages at once */
#define LONG_LIST 100000        /* more than a chunk of middle size */
#define NLONG (40 << 20)        /* bytes */

static int rank;

/* A datatype without a pattern. */
static MPI_Datatype list_make(int nentries, int which)
{
    int *lengths = malloc(2 * (size_t) nentries * sizeof(int)), *displs = lengths + nentries;
    MPI_Datatype type;

    for (int i = 0; i < nentries; i++) {
        lengths[i] = 1 + (i + i / 7 + which) % 5;
        displs[i] = 7 * i + i % 2;
    }
    MPI_Type_indexed(nentries, lengths, displs, MPI_SHORT, &type);
    MPI_Type_commit(&type);
    free(lengths);
    return type;
}

/* A message from one process to another. */
static void message(int from, int to, MPI_Datatype type, int count, unsigned seed)
{
    struct side s;

    if (rank != from && rank != to)
        return;
    side_make(&s, MEM__DEVICE, type, count, 0);
    if (rank == from) {
        side_fill(&s, seed);
        CHECK_MPI(MPI_Ssend(s.buf, count, type, to, 1, MPI_COMM_WORLD));
    } else {
        side_clear(&s, seed);
        CHECK_MPI(MPI_Recv(s.buf, count, type, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        side_check(&s, "a receive buffer", seed, s.size);
    }
    side_free(&s);
}

/* Several messages from process 0 to process 1, none of which is received before all are sent. */
static void messages_at_once(void)
{
    MPI_Request requests[NOFFERS];
    struct side s[NOFFERS];

    for (int i = 0; i < NOFFERS; i++) {
        side_make(&s[i], MEM__DEVICE, MPI_INT, 10000, 0);
        side_fill(&s[i], i);
        if (rank == 0)
            CHECK_MPI(MPI_Isend(s[i].buf, 10000, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < NOFFERS; i++) {
        if (rank == 1) {
            side_clear(&s[i], i);
            CHECK_MPI(MPI_Irecv(s[i].buf, 10000, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]));
        }
    }
    CHECK_MPI(MPI_Waitall(NOFFERS, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < NOFFERS; i++) {
        side_check(&s[i], "one of many buffers", i, s[i].size);
        side_free(&s[i]);
    }
}

static void offers(void)
{
    MPI_Datatype types[NTYPES];
    unsigned long long pulls;

    for (int i = 0; i < NTYPES; i++) {
        types[i] = list_make(SHORT_LIST, i);
        message(0, 1, types[i], 1, i);
    }
    pulls = report_variable("gpudt_direct_pulls");
    CHECK(rank == 0 || pulls > 5);
    messages_at_once();
    CHECK(rank == 0 || report_variable("gpudt_direct_pulls") == pulls + NOFFERS);
    for (int i = 0; i < NTYPES; i++)
        MPI_Type_free(&types[i]);
}

static void shares(void)
{
    MPI_Datatype type = list_make(LONG_LIST, 0);
    struct side out, in;

    for (int i = 0; i < 2; i++)
        message(i, i + 2, type, 1, i);
    CHECK(rank < 2 || report_variable("gpudt_direct_pulls") == 1);
    if (rank < 2) {
        side_make(&out, MEM__DEVICE, MPI_BYTE, NLONG, 0);
        side_make(&in, MEM__DEVICE, MPI_BYTE, NLONG, 0);
        side_fill(&out, rank);
        side_clear(&in, 1 - rank);
        CHECK_MPI(MPI_Sendrecv(out.buf, NLONG, MPI_BYTE, 1 - rank, 2, in.buf, NLONG, MPI_BYTE,
                               1 - rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        side_check(&in, "a long message", 1 - rank, in.size);
        CHECK(report_variable("gpudt_heap_chunks") == 0);
        side_free(&out);
        side_free(&in);
    }
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    int provided;

    if (argc != 2)
        return 2;
    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    if (strcmp(argv[1], "offers") == 0)
        offers();
    else
        shares();
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
