/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests how long the receiver of messages keeps the sender's memory mapped. Two processes, with a GPU each
 * if the machine has two. To be run with MPIR_CVAR_GPUDT_DIRECT=always MPIR_CVAR_GPUDT_IPC_MAX=4.
 *
 * Usage: mappings WHAT [KIND]
 * KIND is as of the program direct.
 *   renewed   memory that is freed and allocated again at the same address
 *   bounded   more allocations than may be mapped
 *   recent    what was used longest ago is unmapped
 *   in_use    more in use than may be mapped, which are unmapped at the next message. To be run with copies
 *             that take long */

#include "report.h"
#include "side.h"

#include <stdbool.h>

#define BOUND 4
#define SHORT 100               /* doubles of a message */
#define LONG 5000

static int rank;
static enum mem_kind kind = MEM__DEVICE;

/* A message of n doubles, whose memory the receiver maps. */
static void message(struct side *s, int n, int seed)
{
    if (rank == 0) {
        side_fill(s, seed);
        CHECK_MPI(MPI_Ssend(s->buf, n, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD));
    } else {
        side_clear(s, seed);
        CHECK_MPI(MPI_Recv(s->buf, n, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        side_check(s, "a receive buffer", seed, s->size);
    }
}

/* Buffers of n doubles. */
static void sides_make(struct side *s, int nsides, int n)
{
    for (int i = 0; i < nsides; i++)
        side_make(&s[i], kind, MPI_DOUBLE, n, 0);
}

static void sides_free(struct side *s, int nsides)
{
    for (int i = 0; i < nsides; i++)
        side_free(&s[i]);
}

static void renewed(void)
{
    char *last = NULL;
    int nsame = 0;

    for (int i = 0; i < 200; i++) {
        struct side s;
        side_make(&s, kind, MPI_DOUBLE, 4096, 0);
        nsame += s.mem.addr == last;
        last = s.mem.addr;
        if (rank == 0) {
            side_fill(&s, i);
            CHECK_MPI(MPI_Send(s.buf, 4096, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD));
        } else {
            side_clear(&s, i);
            CHECK_MPI(MPI_Recv(s.buf, 4096, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            side_check(&s, "a receive buffer", i, s.size);
        }
        side_free(&s);
    }
    if (rank == 1) {
        CHECK(report_variable("gpudt_direct_pulls") == 200);
        CHECK(report_variable("gpudt_ipc_opens") == 200);
        CHECK(report_variable("gpudt_ipc_mapped") <= (kind == MEM__SHARED_POOL ? 0 : BOUND));
    }
    CHECK(nsame > 100 || kind == MEM__SHAREABLE);
}

static void bounded(void)
{
    enum { MANY = 3 * BOUND };
    struct side s[MANY];

    sides_make(s, MANY, SHORT);
    for (int i = 0; i < 3 * MANY; i++) {
        message(&s[i % MANY], SHORT, i);
        CHECK(report_variable("gpudt_ipc_mapped") <= BOUND);
    }
    if (rank == 1) {
        CHECK(report_variable("gpudt_direct_pulls") == 3 * MANY);
        CHECK(report_variable("gpudt_ipc_evictions") == 3 * MANY - BOUND);
    }
    sides_free(s, MANY);
}

/* A message from each of these buffers in turn, and whether its memory is mapped for that. */
static void recent(void)
{
    static const struct {
        int buffer;
        bool is_opened;
    } turns[] = {
        {0, true}, {1, true}, {2, true}, {3, true}, {0, false}, {4, true}, {0, false},
        {1, true}, {3, false}, {2, true}, {4, true}
    };
    struct side s[BOUND + 1];

    sides_make(s, BOUND + 1, SHORT);
    for (int i = 0; i < (int) (sizeof(turns) / sizeof(turns[0])); i++) {
        const unsigned long long before = report_variable("gpudt_ipc_opens");
        message(&s[turns[i].buffer], SHORT, i);
        if (rank == 1 && report_variable("gpudt_ipc_opens") - before != turns[i].is_opened)
            report_fail("turn %d: memory is mapped: %llu", i,
                        report_variable("gpudt_ipc_opens") - before);
    }
    sides_free(s, BOUND + 1);
}

static void in_use(void)
{
    enum { MANY = 3 * BOUND };
    struct side s[MANY + 1];
    MPI_Request reqs[MANY];
    unsigned long long most = 0;
    int is_done = 0;

    sides_make(s, MANY + 1, LONG);
    for (int i = 0; i < MANY; i++) {
        if (rank == 0) {
            side_fill(&s[i], i);
            CHECK_MPI(MPI_Issend(s[i].buf, LONG, MPI_DOUBLE, 1, i, MPI_COMM_WORLD, &reqs[i]));
        } else {
            side_clear(&s[i], i);
            CHECK_MPI(MPI_Irecv(s[i].buf, LONG, MPI_DOUBLE, 0, i, MPI_COMM_WORLD, &reqs[i]));
        }
    }
    while (!is_done) {
        const unsigned long long now = report_variable("gpudt_ipc_mapped");
        if (now > most)
            most = now;
        CHECK_MPI(MPI_Testall(MANY, reqs, &is_done, MPI_STATUSES_IGNORE));
    }
    message(&s[MANY], LONG, MANY);
    if (rank == 1) {
        CHECK(most > BOUND);
        CHECK(report_variable("gpudt_ipc_mapped") <= BOUND);
        CHECK(report_variable("gpudt_direct_pulls") == MANY + 1);
        for (int i = 0; i < MANY; i++)
            side_check(&s[i], "a receive buffer", i, s[i].size);
    }
    sides_free(s, MANY + 1);
}

int main(int argc, char **argv)
{
    static const struct report_case tests[] = {
        {"renewed", renewed}, {"bounded", bounded}, {"recent", recent}, {"in_use", in_use}
    };
    int provided;

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0)
        return 1;
    if (rank == 1 && mem_exists(MEM__OTHER_DEVICE))
        kind = MEM__OTHER_DEVICE;
    if (argc > 2)
        kind = mem_named(argv[2]);
    gpu_set_current(kind == MEM__OTHER_DEVICE);
    report_case_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
