/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests MPI_Put and MPI_Get by the origin's GPU alone, which maps the target's window. Two
 * processes, with a GPU each if the machine has two. To be run with MPIR_CVAR_GPUDT_DIRECT=always,
 * except where noted.
 *
 * Usage: rma_direct WHAT
 *   synced    every synchronization, with several pairs of datatypes: all are direct
 *   never     the same with MPIR_CVAR_GPUDT_DIRECT=never: none is direct
 *   hidden    the same with memory that windows cannot map, mapped virtual ranges; to be run with
 *             MPIR_CVAR_GPUDT_WIN_MSG_MIN=-1
 *   sent      with such memory the data is in messages, which can map it
 *   origins   the same with origins in other memory, of the host, too: they are direct
 *   busy      the target does not call MPI during the operations, whose origin is in GPU or host memory
 *   mixed     in one epoch with accumulates, and with operations whose origin is in host memory
 *   first     a process that has not used a GPU puts from host memory: by messages, until it has
 *   many      more operations in an epoch than are kept in flight, with datatypes that are freed
 *             before the end of the epoch
 *   renewed   windows are created and freed again and again, in memory that is freed in between
 *   freed     the window's memory is freed while it is in use: before and after it was mapped */

#include "pair.h"

#include <stdatomic.h>
#include <string.h>

static void all_epochs(void (*run) (struct pair * p, enum sync sync))
{
    static const int counts[] = { 1, 60 };
    MPI_Datatype types[MAX_TYPES];
    int n = types_make(types);
    struct pair p;

    for (int t = 0; t < n; t++) {
        pair_make(&p, types[t], types[(t * 2 + 1) % n], counts[t % 2]);
        for (int sync = 0; sync < NSYNCS; sync++) {
            for (int i = 0; i < 8; i++) {
                p.is_get = i >= 4;
                run(&p, (enum sync) sync);
            }
        }
        pair_free(&p);
    }
    for (int t = 0; t < n; t++)
        MPI_Type_free(&types[t]);
}

static void synced(void)
{
    all_epochs(epoch_direct);
    CHECK(ndirect() + nlate == nops);
    CHECK(report_variable("gpudt_window_refused") == 0);
    CHECK(report_variable("gpudt_ipc_opens") > 0);
}

static void not_direct(void)
{
    all_epochs(epoch);
    CHECK(ndirect() == 0);
    CHECK(report_variable("gpudt_ipc_opens") == 0);
}

static void origins(void)
{
    static const enum mem_kind kinds[] = {
        MEM__PAGEABLE, MEM__PINNED, MEM__REGISTERED, MEM__MANAGED, MEM__POOL
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const unsigned long long before = ndirect(), nbefore = nops;
        origin_kind = kinds[i];
        if (!mem_exists(origin_kind))
            continue;
        all_epochs(epoch);
        /* on a busy machine, some locks come too late */
        if (ndirect() - before <= (nops - nbefore) / 2)
            report_fail("memory of kind %d: few operations were direct", (int) origin_kind);
    }
    CHECK(report_variable("gpudt_window_refused") == 0);
}

static void hidden(void)
{
    kind = origin_kind = MEM__SHAREABLE;
    not_direct();
}

static void sent(void)
{
    unsigned long long opens;

    kind = origin_kind = MEM__SHAREABLE;
    all_epochs(epoch);
    CHECK(ndirect() == 0);
    CHECK(report_variable("gpudt_window_messages") > 0);
    /* One of two processes may map for both directions */
    opens = report_variable("gpudt_ipc_opens");
    MPI_Allreduce(MPI_IN_PLACE, &opens, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(opens > 0);
}

/* ---- the target does not call MPI ---- */

/* A word in memory of both processes, which tells how far they are. */
static atomic_int *step;

static void step_wait(int value)
{
    while (atomic_load(step) < value);
}

static void busy_epoch(struct pair *p, enum sync sync, int first)
{
    bool is_origin = rank == 0;

    p->is_get = false;
    pair_fill(p);
    if (is_origin && sync == LOCK)
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, p->win));
    else if (sync == LOCK_ALL)
        CHECK_MPI(MPI_Win_lock_all(0, p->win));
    else if (sync == LOCK_ALL_NOCHECK)
        CHECK_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, p->win));
    granted_wait();
    if (is_origin) {
        start(p, NULL);
        CHECK_MPI(MPI_Win_flush(1, p->win));
        atomic_store(step, first + 1);
        step_wait(first + 2);
        p->is_get = true;
        pair_fill(p);
        start(p, NULL);
        CHECK_MPI(MPI_Win_flush(1, p->win));
        if (sync == LOCK)
            CHECK_MPI(MPI_Win_unlock(1, p->win));
        pair_check(p);
        atomic_store(step, first + 3);
    } else {
        step_wait(first + 1);
        pair_check(p);
        p->is_get = true;
        pair_fill(p);
        atomic_store(step, first + 2);
        step_wait(first + 3);
    }
    if (sync != LOCK)
        CHECK_MPI(MPI_Win_unlock_all(p->win));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void busy(void)
{
    static const enum sync syncs[] = { LOCK, LOCK_ALL, LOCK_ALL_NOCHECK };
    MPI_Datatype types[MAX_TYPES];
    int n = types_make(types), unit, nsteps = 0;
    MPI_Win steps;
    MPI_Aint sz;
    void *base;
    struct pair p;

    CHECK_MPI(MPI_Win_allocate_shared(rank == 0 ? sizeof(*step) : 0, 1, MPI_INFO_NULL,
                                      MPI_COMM_WORLD, &base, &steps));
    CHECK_MPI(MPI_Win_shared_query(steps, 0, &sz, &unit, &base));
    step = base;
    if (rank == 0)
        atomic_store(step, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int t = 0; t < n; t++) {
        for (int is_host = 0; is_host < 2; is_host++) {
            origin_kind = is_host ? MEM__PAGEABLE : kind;
            pair_make(&p, types[t], types[n - 1 - t], t % 2 ? 40 : 1);
            for (int s = 0; s < 3; s++, nsteps += 3)
                busy_epoch(&p, syncs[s], nsteps);
            pair_free(&p);
        }
    }
    for (int t = 0; t < n; t++)
        MPI_Type_free(&types[t]);
    CHECK_MPI(MPI_Win_free(&steps));
    CHECK(ndirect() == nops);
}

/* ---- several operations in an epoch ---- */

/* The window has four parts: one for each of two direct operations, one for accumulates, and one
 * for an operation whose origin is in host memory. */
static void mixed(void)
{
    enum { n = 3000, bytes = n * sizeof(int) };
    struct mem window, origin;
    static int sent[n], host[n], seen[4 * n], zero[4 * n];
    unsigned long long before;
    MPI_Win win;

    mem_alloc(&window, kind, 4 * bytes);
    mem_alloc(&origin, kind, bytes);
    for (int i = 0; i < n; i++) {
        sent[i] = 1000 * rank + i;
        host[i] = -i - rank;
    }
    mem_write(&origin, 0, sent, bytes);
    CHECK_MPI(MPI_Win_create(window.addr, 4 * bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                             &win));
    for (int round = 0; round < 8; round++) {
        mem_write(&window, 0, zero, 4 * bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        if (round % 2)
            CHECK_MPI(MPI_Win_lock_all(0, win));
        else
            CHECK_MPI(MPI_Win_fence(0, win));
        granted_wait();
        before = ndirect();
        CHECK_MPI(MPI_Accumulate(origin.addr, n, MPI_INT, other, 2 * n, n, MPI_INT, MPI_SUM, win));
        CHECK_MPI(MPI_Put(origin.addr, n, MPI_INT, other, 0, n, MPI_INT, win));
        CHECK_MPI(MPI_Put(host, n, MPI_INT, other, 3 * n, n, MPI_INT, win));
        CHECK_MPI(MPI_Put(origin.addr, n, MPI_INT, other, n, n, MPI_INT, win));
        CHECK_MPI(MPI_Accumulate(origin.addr, n, MPI_INT, other, 2 * n, n, MPI_INT, MPI_SUM, win));
        /* the own window */
        CHECK_MPI(MPI_Accumulate(origin.addr, n, MPI_INT, rank, 2 * n, n, MPI_INT, MPI_SUM, win));
        CHECK(ndirect() == before + 6);
        if (round % 2)
            CHECK_MPI(MPI_Win_unlock_all(win));
        else
            CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        MPI_Barrier(MPI_COMM_WORLD);
        mem_read(&window, 0, seen, 4 * bytes);
        for (int i = 0; i < n; i++) {
            const int theirs = 1000 * other + i;
            if (seen[i] != theirs || seen[n + i] != theirs ||
                seen[2 * n + i] != 2 * theirs + sent[i] || seen[3 * n + i] != -i - other) {
                report_fail("round %d, element %d: %d, %d, %d, %d", round, i, seen[i], seen[n + i],
                            seen[2 * n + i], seen[3 * n + i]);
                break;
            }
        }
    }
    CHECK_MPI(MPI_Win_free(&win));
    mem_free(&window);
    mem_free(&origin);
}

static void many(void)
{
    enum { n = 700, each = 32 };
    struct mem window, origin;
    static double sent[n * each], seen[2 * n * each];
    MPI_Datatype every_second;
    MPI_Request reqs[n];
    MPI_Win win;

    mem_alloc(&window, kind, sizeof(seen));
    mem_alloc(&origin, kind, sizeof(sent));
    CHECK_MPI(MPI_Win_create(window.addr, sizeof(seen), sizeof(double), MPI_INFO_NULL,
                             MPI_COMM_WORLD, &win));
    for (int with_requests = 0; with_requests < 2; with_requests++) {
        for (int i = 0; i < n * each; i++)
            sent[i] = i + 0.25 * rank + with_requests;
        mem_write(&origin, 0, sent, sizeof(sent));
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win));
        granted_wait();
        for (int i = 0; i < n; i++) {
            const double *from = (const double *) origin.addr + i * each;
            MPI_Type_vector(each, 1, 2, MPI_DOUBLE, &every_second);
            MPI_Type_commit(&every_second);
            if (with_requests)
                CHECK_MPI(MPI_Rput(from, each, MPI_DOUBLE, other, 2 * i * each, 1, every_second,
                                   win, &reqs[i]));
            else
                CHECK_MPI(MPI_Put(from, each, MPI_DOUBLE, other, 2 * i * each, 1, every_second,
                                  win));
            MPI_Type_free(&every_second);
            nops++;
        }
        if (with_requests)
            CHECK_MPI(MPI_Waitall(n, reqs, MPI_STATUSES_IGNORE));
        CHECK_MPI(MPI_Win_unlock(other, win));
        MPI_Barrier(MPI_COMM_WORLD);
        mem_read(&window, 0, seen, sizeof(seen));
        for (int i = 0; i < n * each; i++) {
            if (seen[2 * i] != i + 0.25 * other + with_requests) {
                report_fail("element %d is %g", i, seen[2 * i]);
                break;
            }
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(ndirect() == nops);
    /* most of them do not wait for a launch of their own */
    CHECK(report_variable("gpudt_batched") > n);
    CHECK_MPI(MPI_Win_free(&win));
    mem_free(&window);
    mem_free(&origin);
}

int main(int argc, char **argv)
{
    static const struct report_case tests[] = {
        {"synced", synced}, {"never", not_direct}, {"origins", origins}, {"hidden", hidden},
        {"sent", sent}, {"busy", busy}, {"mixed", mixed}, {"first", first_use}, {"many", many},
        {"renewed", renewed}, {"freed", freed}
    };
    int provided;

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    if (rank == 1 && mem_exists(MEM__OTHER_DEVICE))
        kind = MEM__OTHER_DEVICE;
    origin_kind = kind;
    gpu_set_current(kind == MEM__OTHER_DEVICE);
    report_case_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
