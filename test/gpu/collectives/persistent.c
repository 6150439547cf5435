/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Persistent collectives by copies from the other processes' memory (MPIR_CVAR_GPUDT_COLL): started
 * often, in other orders in each process, among blocking and nonblocking ones, and freed at any time.
 * Every result is computed. Performance variables tell whether they went that way. */

#include "collectives.h"
#include "report.h"

#include <stdlib.h>
#include <unistd.h>

#define NSTARTS 12              /* of one request */
#define NTOGETHER 12            /* requests that are started together */
#define ROUNDS 6                /* of starting them */
#define LATE_US 200000
#define WAIT_S 20               /* for what is not waited for by MPI */

static int rank, nprocs;
static enum mem_kind kind = MEM__DEVICE;        /* of this process: one of two GPUs */

/* Make a request of which all but the buffers is gone at once. */
static void request_make(struct computed *p, enum what what, int number, enum mem_kind where,
                         MPI_Comm comm)
{
    MPI_Comm copy;

    MPI_Comm_dup(comm, &copy);
    computed_make(p, what, number, where, copy);
    CHECK_MPI(computed_start(p, MODE__PERSISTENT, copy));
    MPI_Comm_free(&copy);
}

static void request_free(struct computed *p)
{
    CHECK_MPI(MPI_Request_free(&p->request));
    computed_free(p);
}

/* Start a request again and again, with other data.
 *   on_host  (IN)  rank of a process whose buffers are in host memory; -1: none */
static void restart_run(MPI_Comm comm, enum what what, int on_host)
{
    long before = direct_count();
    struct computed p;

    request_make(&p, what, 1, rank == on_host ? MEM__PAGEABLE : kind, comm);
    for (int i = 0; i < NSTARTS; i++) {
        computed_fill(&p, 10 * i);
        CHECK_MPI(MPI_Start(&p.request));
        CHECK_MPI(MPI_Wait(&p.request, MPI_STATUS_IGNORE));
        computed_check(&p);
    }
    request_free(&p);
    if (on_host < 0 ? direct_count() - before < NSTARTS : direct_count() > before)
        report_fail("%s: %ld parts and blocks of %d starts were done directly", call_name(what),
                    direct_count() - before, NSTARTS);
}

/* ---- in any order ---- */

static void shuffle(struct rng *rng, int *order, int n)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int k = (int) rng_range(rng, 0, i), other = order[k];

        order[k] = order[i];
        order[i] = other;
    }
}

/* A blocking call. */
static void max_check(MPI_Comm comm)
{
    int max;

    CHECK_MPI(MPI_Allreduce(&rank, &max, 1, MPI_INT, MPI_MAX, comm));
    CHECK(max == nprocs - 1);
}

/* Start all requests in an order of this process, one by one or some at once. Among them, other calls
 * are made in their order: nonblocking ones, and then a blocking one, which may be before all starts in
 * some processes, and after them in others. It does not wait for them. */
static void all_start(struct computed *p, int n, struct computed *other, int nothers, MPI_Comm comm,
                      struct rng *own)
{
    int order[NTOGETHER], i = 0, k = 0;
    MPI_Request requests[NTOGETHER];

    shuffle(own, order, n);
    while (i < n || k <= nothers) {
        int len = (int) rng_range(own, 1, 4);

        if (k <= nothers && (i == n || rng_chance(own, 40))) {
            if (k < nothers)
                CHECK_MPI(computed_start(&other[k], MODE__NONBLOCKING, comm));
            else
                max_check(comm);
            k++;
            continue;
        }
        len = len < n - i ? len : n - i;
        for (int j = 0; j < len; j++)
            requests[j] = p[order[i + j]].request;
        CHECK_MPI(len == 1 ? MPI_Start(&requests[0]) : MPI_Startall(len, requests));
        i += len;
    }
}

/* Wait for all requests in an order of this process. */
static void all_wait(struct computed *p, int n, struct rng *own)
{
    int order[NTOGETHER], is_done;

    shuffle(own, order, n);
    for (int i = 0; i < n; i++) {
        struct computed *one = &p[order[i]];

        CHECK_MPI(MPI_Test(&one->request, &is_done, MPI_STATUS_IGNORE));
        if (!is_done)
            CHECK_MPI(MPI_Wait(&one->request, MPI_STATUS_IGNORE));
        computed_check(one);
    }
}

/* Requests of one communicator. Some have a process with host memory. */
static void orders_run(MPI_Comm comm, unsigned long seed)
{
    enum { NOTHERS = 3 };
    struct computed p[NTOGETHER], other[NOTHERS];
    struct rng own;
    long before;

    rng_init(&own, seed * 64 + (unsigned long) rank);
    for (int i = 0; i < NTOGETHER; i++) {
        computed_make(&p[i], computed_whats[i % NCOMPUTED], i,
                      i % 5 == 4 && rank == i % nprocs ? MEM__PAGEABLE : kind, comm);
        CHECK_MPI(computed_start(&p[i], MODE__PERSISTENT, comm));
    }
    before = direct_count();
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < NTOGETHER; i++)
            computed_fill(&p[i], 100 * round + i);
        for (int i = 0; i < NOTHERS; i++)
            computed_make(&other[i], computed_whats[(round + i) % NCOMPUTED], i, kind, comm);
        all_start(p, NTOGETHER, other, NOTHERS, comm, &own);
        for (int i = 0; i < NOTHERS; i++) {
            CHECK_MPI(MPI_Wait(&other[i].request, MPI_STATUS_IGNORE));
            computed_check(&other[i]);
            computed_free(&other[i]);
        }
        all_wait(p, NTOGETHER, &own);
    }
    for (int i = 0; i < NTOGETHER; i++)
        request_free(&p[i]);
    if (direct_count() - before < ROUNDS * NTOGETHER / 2)
        report_fail("%ld parts and blocks were done directly", direct_count() - before);
}

/* A process starts one request only when another one is complete, which the others start last; and a
 * nonblocking call likewise. */
static void chain_run(MPI_Comm comm)
{
    struct computed p[2], other;

    for (int i = 0; i < 2; i++) {
        computed_make(&p[i], CALL__allreduce, i, kind, comm);
        CHECK_MPI(computed_start(&p[i], MODE__PERSISTENT, comm));
    }
    for (int i = 0; i < 3; i++) {
        computed_make(&other, CALL__alltoallw, i, kind, comm);
        if (rank == 0) {
            CHECK_MPI(MPI_Start(&p[1].request));
            CHECK_MPI(MPI_Wait(&p[1].request, MPI_STATUS_IGNORE));
            CHECK_MPI(computed_start(&other, MODE__NONBLOCKING, comm));
            CHECK_MPI(MPI_Wait(&other.request, MPI_STATUS_IGNORE));
            CHECK_MPI(MPI_Start(&p[0].request));
        } else {
            CHECK_MPI(MPI_Start(&p[0].request));
            CHECK_MPI(computed_start(&other, MODE__NONBLOCKING, comm));
            CHECK_MPI(MPI_Start(&p[1].request));
            CHECK_MPI(MPI_Wait(&other.request, MPI_STATUS_IGNORE));
            CHECK_MPI(MPI_Wait(&p[1].request, MPI_STATUS_IGNORE));
        }
        CHECK_MPI(MPI_Wait(&p[0].request, MPI_STATUS_IGNORE));
        computed_check(&p[0]);
        computed_check(&p[1]);
        computed_check(&other);
        computed_free(&other);
    }
    request_free(&p[0]);
    request_free(&p[1]);
}

/* ---- freed ---- */

static void progress_make(MPI_Comm comm, int n)
{
    int flag;

    for (int i = 0; i < n; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
}

/* A request is freed before it was started, after it was, and while it is active: then its work goes
 * on. The last process starts it late.
 *   on_host  (IN)  rank of a process whose buffers are in host memory; -1: none */
static void freed_run(MPI_Comm comm, enum what what, int on_host)
{
    struct computed p;
    double end;

    for (int nstarts = 0; nstarts < 3; nstarts++) {
        request_make(&p, what, nstarts, rank == on_host ? MEM__PAGEABLE : kind, comm);
        CHECK_MPI(MPI_Wait(&p.request, MPI_STATUS_IGNORE));     /* inactive */
        if (nstarts == 2) {
            CHECK_MPI(MPI_Start(&p.request));
            CHECK_MPI(MPI_Wait(&p.request, MPI_STATUS_IGNORE));
            computed_check(&p);
            computed_fill(&p, 7);
        }
        MPI_Barrier(comm);
        if (rank == nprocs - 1)
            usleep(LATE_US);
        if (nstarts > 0)
            CHECK_MPI(MPI_Start(&p.request));
        CHECK_MPI(MPI_Request_free(&p.request));
        end = MPI_Wtime() + WAIT_S;
        while (nstarts > 0 && !computed_is_complete(&p)) {
            progress_make(comm, 1);
            if (MPI_Wtime() > end) {
                report_fail("%s that was freed is not complete", call_name(what));
                break;
            }
        }
        /* An algorithm may still use the buffers when the result is there */
        progress_make(comm, 1000);
        MPI_Barrier(comm);
        computed_free(&p);
    }
}

static void begin(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    if (mem_exists(MEM__OTHER_DEVICE) && rank % 2)
        kind = MEM__OTHER_DEVICE;
}

void persistent_dies_run(void)
{
    struct computed p;
    int err;

    begin();
    computed_make(&p, CALL__allreduce, 0, kind, MPI_COMM_WORLD);
    CHECK_MPI(computed_start(&p, MODE__PERSISTENT, MPI_COMM_WORLD));
    /* In the second start the last process dies, having told the others of its buffers, or not */
    for (int i = 0; i < 4; i++) {
        computed_fill(&p, i);
        if (i == 1)
            death_await(nprocs - 1);
        if (i == 1 && rank == nprocs - 1) {
            if (nprocs % 2)
                CHECK_MPI(MPI_Start(&p.request));
            _exit(report_failures > 0);
        }
        err = MPI_Start(&p.request);
        if (err == MPI_SUCCESS)
            err = MPI_Wait(&p.request, MPI_STATUS_IGNORE);
        if (i == 0)
            computed_check(&p);
        CHECK((err != MPI_SUCCESS) == (i > 0));
    }
    _exit(report_done());
}

void persistent_run(unsigned long seed)
{
    MPI_Comm comm;

    begin();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < NCOMPUTED; i++) {
        restart_run(comm, computed_whats[i], -1);
        restart_run(comm, computed_whats[i], i % nprocs);
    }
    for (int i = 0; i < 3; i++)
        orders_run(comm, seed * 10 + (unsigned long) i);
    chain_run(comm);
    for (int i = 0; i < NCOMPUTED; i++) {
        freed_run(comm, computed_whats[i], -1);
        freed_run(comm, computed_whats[i], i % nprocs);
    }
    MPI_Comm_free(&comm);
}
