/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that processes that share a GPU detect this, and then use no kernels for messages that
 * driver copies can move; with a GPU each, they use kernels. Two processes.
 *
 * Usage: shared_gpu one|two|no|many. GPUs of the two processes; "no": one, but MPI is told to
 * ignore it; "many": one, and many messages in flight, of which only the data is checked. */

#include "report.h"
#include "side.h"

#include <string.h>

#define ROUNDS 20
#define MANY 40

static int rank, other;
static enum mem_kind kind = MEM__DEVICE;

/* A message each way, which starts when all earlier ones are complete. */
static void exchange(MPI_Datatype type, int count, int seed)
{
    struct side s;

    side_make(&s, kind, type, count, seed % 16);
    for (int turn = 0; turn < 2; turn++) {
        if (turn == rank) {
            side_fill(&s, seed);
            CHECK_MPI(MPI_Send(s.buf, count, type, other, 1, MPI_COMM_WORLD));
        } else {
            side_clear(&s, seed);
            CHECK_MPI(MPI_Recv(s.buf, count, type, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            side_check(&s, "a buffer", seed, s.size);
        }
    }
    side_free(&s);
}

static void many(MPI_Datatype type)
{
    struct side s[MANY], r[MANY];
    MPI_Request requests[2 * MANY];

    for (int i = 0; i < MANY; i++) {
        side_make(&s[i], kind, type, 1 + i % 7, i % 16);
        side_make(&r[i], kind, type, 1 + i % 7, i % 16);
        side_fill(&s[i], i + rank);
        side_clear(&r[i], i + other);
    }
    for (int i = 0; i < MANY; i++)
        CHECK_MPI(MPI_Irecv(r[i].buf, 1 + i % 7, type, other, i, MPI_COMM_WORLD, &requests[i]));
    for (int i = 0; i < MANY; i++)
        CHECK_MPI(MPI_Isend(s[i].buf, 1 + i % 7, type, other, i, MPI_COMM_WORLD,
                            &requests[MANY + i]));
    CHECK_MPI(MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < MANY; i++) {
        side_check(&r[i], "a buffer received", i + other, r[i].size);
        side_free(&r[i]);
        side_free(&s[i]);
    }
}

static void rounds(MPI_Datatype column)
{
    for (int i = 0; i < ROUNDS; i++) {
        exchange(column, 1, i);
        exchange(MPI_DOUBLE, 1 + i, i);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "one";
    MPI_Datatype column;
    unsigned long long before;
    int provided, has_launched;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    if (strcmp(how, "two") == 0 && rank == 1)
        kind = MEM__OTHER_DEVICE;
    gpu_set_current(kind == MEM__OTHER_DEVICE);

    /* So many rows that copies by rows from the host pay off only compared with a switch between
     * processes */
    MPI_Type_vector(400, 1, 10, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    rounds(column);
    before = report_variable("gpudt_launches");
    rounds(column);
    has_launched = report_variable("gpudt_launches") > before;
    if (strcmp(how, "many") == 0)
        many(column);
    else if (has_launched != (strcmp(how, "one") != 0))
        report_fail("kernels were %slaunched", has_launched ? "" : "not ");
    MPI_Type_free(&column);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
