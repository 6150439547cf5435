/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that processes that share a GPU detect this, and then use no kernels for messages that
 * driver copies can move; with a GPU each, they use kernels. Two processes.
 *
 * Usage: shared_gpu one|two|no|many|copier|late. GPUs of the two processes; "no": one, but MPI is told
 * to ignore it; "many": one, and many messages in flight, of which only the data is checked; "copier":
 * one, and the same process copies the long messages of both directions; "late": one, on which copies
 * take so long that messages of medium length pass through host memory. */

#include "report.h"
#include "side.h"

#include <string.h>

#define ROUNDS 20
#define MANY 40

/* Doubles of messages that are copied directly: of a strided one, of a contiguous one, and of one that
 * is if copies take little time */
#define LONG (64 * 1024)
#define LONG_LINE (1024 * 1024)
#define MEDIUM (64 * 1024)

static int rank, other;
static enum mem_kind kind = MEM__DEVICE;

/* A message each way, which starts when all earlier ones are complete. */
static void exchange(struct side *s, MPI_Datatype type, int count, int seed)
{
    for (int turn = 0; turn < 2; turn++) {
        if (turn == rank) {
            side_fill(s, seed);
            CHECK_MPI(MPI_Send(s->buf, count, type, other, 1, MPI_COMM_WORLD));
        } else {
            side_clear(s, seed);
            CHECK_MPI(MPI_Recv(s->buf, count, type, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            side_check(s, "a buffer", seed, s->size);
        }
    }
}

/* The same in memory of its own. */
static void exchange_once(MPI_Datatype type, int count, int seed)
{
    struct side s;

    side_make(&s, kind, type, count, seed % 16);
    exchange(&s, type, count, seed);
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
        exchange_once(column, 1, i);
        exchange_once(MPI_DOUBLE, 1 + i, i);
    }
}

static unsigned long long ncopies(void)
{
    return report_variable("gpudt_direct_pulls") + report_variable("gpudt_direct_pushes");
}

/* Messages that each process has copied since it had copied n of them. */
static void ncopies_gather(unsigned long long n, unsigned long long all[2])
{
    n = ncopies() - n;
    CHECK_MPI(MPI_Allgather(&n, 1, MPI_UNSIGNED_LONG_LONG, all, 1, MPI_UNSIGNED_LONG_LONG,
                            MPI_COMM_WORLD));
}

/* Long messages, after some of which the memory is mapped. A few may find no pinned memory to ask the
 * other process for a copy. */
static void copier(void)
{
    struct side column, line;
    unsigned long long before = 0, all[2];
    MPI_Datatype type;

    MPI_Type_vector(LONG, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    side_make(&column, kind, type, 1, 0);
    side_make(&line, kind, MPI_DOUBLE, LONG_LINE, 0);
    for (int i = 0; i < ROUNDS; i++) {
        if (i == ROUNDS / 2)
            before = ncopies();
        exchange(&column, type, 1, i);
        exchange(&line, MPI_DOUBLE, LONG_LINE, i);
    }
    ncopies_gather(before, all);
    if (all[0] + all[1] != 2 * ROUNDS || (all[0] > 4 && all[1] > 4))
        report_fail("of %d messages process 0 has copied %llu, and process 1 %llu", 2 * ROUNDS, all[0],
                    all[1]);
    side_free(&column);
    side_free(&line);
    MPI_Type_free(&type);
}

/* Messages that are copied directly at first, until that has proved to take long. */
static void late(void)
{
    struct side s;
    unsigned long long before = ncopies(), all[2];

    side_make(&s, kind, MPI_DOUBLE, MEDIUM, 0);
    for (int i = 0; i < 5 * ROUNDS; i++)
        exchange(&s, MPI_DOUBLE, MEDIUM, i);
    ncopies_gather(before, all);
    if (all[0] + all[1] == 0 || all[0] + all[1] > ROUNDS)
        report_fail("%llu of %d messages were copied directly", all[0] + all[1], 10 * ROUNDS);
    side_free(&s);
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
    else if (strcmp(how, "copier") == 0)
        copier();
    else if (strcmp(how, "late") == 0)
        late();
    else if (has_launched != (strcmp(how, "one") != 0))
        report_fail("kernels were %slaunched", has_launched ? "" : "not ");
    MPI_Type_free(&column);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
