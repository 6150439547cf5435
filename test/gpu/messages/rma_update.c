/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests accumulates, fetch-and-op and compare-and-swap by the origin's GPU alone, which maps the
 * target's window. To be run with MPIR_CVAR_GPUDT_DIRECT=always.
 *
 * Usage: rma_update WHAT
 *   atomic    all processes update the same elements of all windows, partly by messages
 *   dynamic   the same on dynamic windows
 *   threads   the same with several threads in each process
 *   ordered   two processes: operations of one origin on one element that do not commute
 *   busy      two processes: the target does not call MPI during the operations
 *   started   two processes: operations of an epoch that the target posts late do not wait for that
 *   others    two processes: other threads can call MPI during an operation. Emulated driver with
 *             late kernels only
 *   dies      three processes, of which one ends in the middle of an operation; the others get
 *             errors, unless it was one of several that could update the window. Emulated driver with late kernels only, under mpiexec
 *             -disable-auto-cleanup */

#include "report.h"
#include "side.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, nranks;
static enum mem_kind kind = MEM__DEVICE;

static unsigned long long ndirect(void)
{
    return report_variable("gpudt_window_direct");
}

/* Whether kernels of several processes may update a window at the same time. */
static bool are_atomic(void)
{
    const char *value = getenv("MPIR_CVAR_GPUDT_ATOMICS");

    return value == NULL || strcmp(value, "never");
}

enum { MAX_RANKS = 4 };

static bool is_dynamic;
static MPI_Aint base[MAX_RANKS];        /* of a dynamic window */

/* A window of at most 1 KiB, all zero. */
static void window_make(struct mem *mem, size_t sz, MPI_Win * win)
{
    static const char zeros[1024];
    MPI_Aint own;

    mem_alloc(mem, kind, sz);
    mem_write(mem, 0, zeros, sz);       /* a memset would not be complete */
    if (is_dynamic) {
        CHECK_MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win));
        CHECK_MPI(MPI_Win_attach(*win, mem->addr, sz));
        MPI_Get_address(mem->addr, &own);
        MPI_Allgather(&own, 1, MPI_AINT, base, 1, MPI_AINT, MPI_COMM_WORLD);
    } else {
        CHECK_MPI(MPI_Win_create(mem->addr, sz, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win));
    }
    MPI_Win_set_errhandler(*win, MPI_ERRORS_RETURN);
}

/* The displacement of element i, of 8 bytes, of a window. */
static MPI_Aint place(int target, int i)
{
    return is_dynamic ? base[target] + 8 * i : i;
}

static void window_free(struct mem *mem, MPI_Win * win)
{
    CHECK_MPI(MPI_Win_free(win));
    mem_free(mem);
}

/* On return, all locks that were asked for are granted: requests for locks are handled before the
 * messages of the first barrier that follow them, and so are the answers before those of the second. */
static void locks_wait(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- atomic ---- */

enum { MAX_THREADS = 3, ROUNDS = 30 };
/* A window: a counter for fetch-and-op, one for compare-and-swap, elements that are summed, and one for
 * puts of each process. */
enum { FETCHED, SWAPPED, SUMMED, NSUMMED = 64, PUT = SUMMED + NSUMMED, NWINDOW = PUT + MAX_RANKS };

static MPI_Win shared_win;
static MPI_Datatype every_second;       /* of the summed elements */
static struct mem ones;
static atomic_int seen[MAX_RANKS][MAX_RANKS * MAX_THREADS * ROUNDS];
static int nthreads = 1;

/* Increase a counter by one. */
static void swap_once(int target)
{
    int64_t old = 0, now, next;

    for (bool is_done = false; !is_done; old = now) {
        next = old + 1;
        CHECK_MPI(MPI_Compare_and_swap(&next, &old, &now, MPI_INT64_T, target,
                                       place(target, SWAPPED), shared_win));
        CHECK_MPI(MPI_Win_flush(target, shared_win));
        is_done = now == old;
    }
}

/* In each round each thread adds one to the counters, and three to each sum. */
static void one_round(int target, int turn)
{
    static const int64_t host_ones[NSUMMED] = {[0 ... NSUMMED - 1] = 1 };
    const int64_t one = 1;
    int64_t fetched = -1, result[NSUMMED];

    for (int k = 0; k < 5; k++) {
        switch ((k + turn) % 5) {
            case 0:
                CHECK_MPI(MPI_Fetch_and_op(&one, &fetched, MPI_INT64_T, target,
                                           place(target, FETCHED), MPI_SUM, shared_win));
                CHECK_MPI(MPI_Win_flush(target, shared_win));
                if (fetched < 0 || fetched >= nranks * nthreads * ROUNDS)
                    report_fail("%lld was fetched", (long long) fetched);
                else
                    atomic_fetch_add(&seen[target][fetched], 1);
                break;
            case 1:
                swap_once(target);
                break;
            case 2:
                CHECK_MPI(MPI_Accumulate(ones.addr, NSUMMED, MPI_INT64_T, target,
                                         place(target, SUMMED), NSUMMED, MPI_INT64_T, MPI_SUM,
                                         shared_win));
                break;
            case 3:            /* by messages, after one from host memory, or not contiguous */
                if (turn % 2)
                    CHECK_MPI(MPI_Put(&one, 1, MPI_INT64_T, target, place(target, PUT + rank), 1,
                                      MPI_INT64_T, shared_win));
                for (int i = 0; i < 2; i++)
                    CHECK_MPI(MPI_Accumulate(host_ones, NSUMMED / 2, MPI_INT64_T, target,
                                             place(target, SUMMED + i), 1, every_second, MPI_SUM,
                                             shared_win));
                break;
            default:
                CHECK_MPI(MPI_Get_accumulate(host_ones, NSUMMED, MPI_INT64_T, result, NSUMMED,
                                             MPI_INT64_T, target, place(target, SUMMED), NSUMMED,
                                             MPI_INT64_T, MPI_SUM, shared_win));
                CHECK_MPI(MPI_Win_flush(target, shared_win));
        }
    }
}

static void *all_rounds(void *arg)
{
    const int first = rank + (int) (intptr_t) arg;

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < nranks; i++)
            one_round((first + i) % nranks, first + round);
    }
    return NULL;
}

static void counters_check(const struct mem *mem)
{
    const int64_t n = (int64_t) nranks * nthreads * ROUNDS;
    int64_t window[NWINDOW];
    int all[MAX_RANKS * MAX_THREADS * ROUNDS];

    mem_read(mem, 0, window, sizeof(window));
    CHECK(window[FETCHED] == n);
    CHECK(window[SWAPPED] == n);
    for (int i = 0; i < NSUMMED; i++) {
        if (window[SUMMED + i] != 3 * n) {
            report_fail("sum %d is %lld and not %lld", i, (long long) window[SUMMED + i],
                        (long long) (3 * n));
            break;
        }
    }
    for (int target = 0; target < nranks; target++) {
        MPI_Allreduce(seen[target], all, (int) n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < n; i++) {
            if (all[i] != 1) {
                report_fail("%d was fetched %d times", i, all[i]);
                break;
            }
        }
    }
}

static void atomic(void)
{
    const int64_t host_ones[NSUMMED] = {[0 ... NSUMMED - 1] = 1 };
    pthread_t threads[MAX_THREADS];
    struct mem mem;

    MPI_Type_vector(NSUMMED / 2, 1, 2, MPI_INT64_T, &every_second);
    MPI_Type_commit(&every_second);
    mem_alloc(&ones, kind, sizeof(host_ones));
    mem_write(&ones, 0, host_ones, sizeof(host_ones));
    window_make(&mem, NWINDOW * sizeof(int64_t), &shared_win);
    CHECK_MPI(MPI_Win_lock_all(0, shared_win));
    locks_wait();
    for (int i = 1; i < nthreads; i++)
        pthread_create(&threads[i], NULL, all_rounds, (void *) (intptr_t) i);
    all_rounds(NULL);
    for (int i = 1; i < nthreads; i++)
        pthread_join(threads[i], NULL);
    CHECK_MPI(MPI_Win_unlock_all(shared_win));
    MPI_Barrier(MPI_COMM_WORLD);
    counters_check(&mem);
    CHECK(ndirect() > ROUNDS);
    if (are_atomic())
        CHECK(2 * report_variable("gpudt_window_atomic") > ndirect());
    else
        CHECK(report_variable("gpudt_window_atomic") == 0);
    window_free(&mem, &shared_win);
    mem_free(&ones);
    MPI_Type_free(&every_second);
}

static void dynamic(void)
{
    is_dynamic = true;
    atomic();
}

static void threads(void)
{
    if (!report_may_thread(NULL))
        return;
    nthreads = MAX_THREADS;
    atomic();
}

/* ---- ordered ---- */

static void ordered(void)
{
    const uint64_t three = 3;
    const long double no_kernel = 3;
    uint64_t value[4], expected = 0, added[2];
    MPI_Datatype apart;
    struct mem mem;
    MPI_Win win;
    int nops = 0;

    MPI_Type_vector(2, 1, 2, MPI_UINT64_T, &apart);
    MPI_Type_commit(&apart);
    window_make(&mem, sizeof(value), &win);
    CHECK_MPI(MPI_Win_lock_all(0, win));
    locks_wait();
    for (int i = 0; i < 400 && rank == 0; i++) {
        added[0] = added[1] = (uint64_t) (i + 1);
        if (i % 7 == 3) {       /* by messages, as long as the first one may be incomplete */
            CHECK_MPI(MPI_Accumulate(&no_kernel, 1, MPI_LONG_DOUBLE, 1, 2, 1, MPI_LONG_DOUBLE,
                                     MPI_REPLACE, win));
            CHECK_MPI(MPI_Accumulate(added, 2, MPI_UINT64_T, 1, 0, 1, apart, MPI_SUM, win));
            CHECK_MPI(MPI_Win_flush_local(1, win));
            expected += added[0];
        } else if (i % 2) {
            CHECK_MPI(MPI_Accumulate(added, 1, MPI_UINT64_T, 1, 0, 1, MPI_UINT64_T, MPI_SUM,
                                     win));
            CHECK_MPI(MPI_Win_flush_local(1, win));
            expected += added[0];
        } else {
            CHECK_MPI(MPI_Accumulate(&three, 1, MPI_UINT64_T, 1, 0, 1, MPI_UINT64_T, MPI_PROD,
                                     win));
            expected *= three;
        }
        nops++;
        if (i % 10 == 9)
            CHECK_MPI(MPI_Win_flush(1, win));
    }
    CHECK_MPI(MPI_Win_unlock_all(win));
    MPI_Bcast(&expected, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    mem_read(&mem, 0, value, sizeof(value));
    CHECK(rank == 0 || value[0] == expected);
    CHECK(rank == 1 || (ndirect() > 0 && ndirect() < (unsigned long long) nops));
    window_free(&mem, &win);
    MPI_Type_free(&apart);
}

/* ---- busy ---- */

static void busy_origin(const struct mem *origin, MPI_Win win)
{
    const int64_t seven = 7, nine = 9;
    int64_t result[8];

    CHECK_MPI(MPI_Fetch_and_op(&seven, result, MPI_INT64_T, 1, 0, MPI_SUM, win));
    CHECK_MPI(MPI_Win_flush(1, win));
    CHECK(result[0] == 0);
    CHECK_MPI(MPI_Compare_and_swap(&nine, &seven, result, MPI_INT64_T, 1, 0, win));
    CHECK_MPI(MPI_Win_flush(1, win));
    CHECK(result[0] == 7);
    CHECK_MPI(MPI_Accumulate(origin->addr, 8, MPI_INT64_T, 1, 0, 8, MPI_INT64_T, MPI_SUM, win));
    CHECK_MPI(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, result, 8, MPI_INT64_T, 1, 0, 8,
                                 MPI_INT64_T, MPI_NO_OP, win));
    CHECK_MPI(MPI_Win_flush(1, win));
    for (int i = 0; i < 8; i++)
        CHECK(result[i] == i + (i == 0 ? 9 : 0));
    CHECK(ndirect() == 4);
}

static void busy(void)
{
    static const int64_t sent[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    struct mem mem, origin;
    atomic_int *step;
    MPI_Aint sz;
    MPI_Win win, steps;
    int64_t got[8];
    int unit;

    CHECK_MPI(MPI_Win_allocate_shared(rank == 0 ? sizeof(*step) : 0, 1, MPI_INFO_NULL,
                                      MPI_COMM_WORLD, &step, &steps));
    CHECK_MPI(MPI_Win_shared_query(steps, 0, &sz, &unit, &step));
    if (rank == 0)
        atomic_store(step, 0);
    window_make(&mem, sizeof(got), &win);
    mem_alloc(&origin, kind, sizeof(sent));
    mem_write(&origin, 0, sent, sizeof(sent));
    if (rank == 0)
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    locks_wait();
    if (rank == 0) {
        busy_origin(&origin, win);
        atomic_store(step, 1);
    } else {
        while (atomic_load(step) < 1)
            usleep(1000);
        mem_read(&mem, 0, got, sizeof(got));
        for (int i = 0; i < 8; i++)
            CHECK(got[i] == i + (i == 0 ? 9 : 0));
    }
    if (rank == 0)
        CHECK_MPI(MPI_Win_unlock(1, win));
    MPI_Barrier(MPI_COMM_WORLD);
    window_free(&mem, &win);
    mem_free(&origin);
    CHECK_MPI(MPI_Win_free(&steps));
}

/* ---- started ---- */

enum { NSTARTED = 50, WAIT_MS = 10 };   /* the time that an operation waits for MPI_Win_post */

static void started(void)
{
    const int64_t one = 1;
    struct mem mem, origin;
    MPI_Group all, other;
    MPI_Win win;
    int64_t value[2];
    int peer = 1 - rank, done = 1;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &peer, &other);
    window_make(&mem, sizeof(value), &win);
    mem_alloc(&origin, kind, sizeof(one));
    mem_write(&origin, 0, &one, sizeof(one));
    if (rank == 0) {
        double begin = MPI_Wtime();

        CHECK_MPI(MPI_Win_start(other, 0, win));
        for (int i = 0; i < NSTARTED; i++) {
            CHECK_MPI(MPI_Put(origin.addr, 1, MPI_INT64_T, 1, 1, 1, MPI_INT64_T, win));
            CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, MPI_SUM, win));
        }
        /* Only the first one waits: neither each put nor each accumulate */
        CHECK(MPI_Wtime() - begin < 0.8 * NSTARTED * WAIT_MS * 1e-3);
        CHECK_MPI(MPI_Send(&done, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
        CHECK_MPI(MPI_Win_complete(win));
        CHECK(ndirect() == 0);
    } else {
        CHECK_MPI(MPI_Recv(&done, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_Win_post(other, 0, win));
        CHECK_MPI(MPI_Win_wait(win));
        mem_read(&mem, 0, value, sizeof(value));
        CHECK(value[0] == NSTARTED && value[1] == 1);
    }
    /* and an epoch in time */
    if (rank == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_MPI(MPI_Win_start(other, 0, win));
        CHECK_MPI(MPI_Put(origin.addr, 1, MPI_INT64_T, 1, 1, 1, MPI_INT64_T, win));
        CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, MPI_SUM, win));
        CHECK_MPI(MPI_Win_complete(win));
        CHECK(ndirect() == 2);
    } else {
        CHECK_MPI(MPI_Win_post(other, 0, win));
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_MPI(MPI_Win_wait(win));
    }
    window_free(&mem, &win);
    mem_free(&origin);
    MPI_Group_free(&other);
    MPI_Group_free(&all);
}

/* ---- others ---- */

static atomic_int is_over;
static double longest;          /* seconds between two probes */

static void *probe(void *arg)
{
    double last = MPI_Wtime(), now;
    int found;

    while (!atomic_load(&is_over)) {
        CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found,
                             MPI_STATUS_IGNORE));
        now = MPI_Wtime();
        if (now - last > longest)
            longest = now - last;
        last = now;
        usleep(1000);
    }
    return arg;
}

static void others(void)
{
    const int64_t one = 1;
    int64_t old = -1;
    pthread_t thread;
    struct mem mem;
    MPI_Win win;

    if (!report_may_thread(NULL))
        return;
    window_make(&mem, 64, &win);
    CHECK_MPI(MPI_Win_lock_all(0, win));
    locks_wait();
    for (int i = 0; i < 2 && rank == 0; i++) {
        /* the first one maps the memory, which may take long */
        if (i == 1)
            pthread_create(&thread, NULL, probe, NULL);
        CHECK_MPI(MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 1, 0, MPI_SUM, win));
        CHECK_MPI(MPI_Win_flush(1, win));
        CHECK(old == i);
    }
    if (rank == 0) {
        atomic_store(&is_over, 1);
        pthread_join(thread, NULL);
        CHECK(ndirect() == 2);
        CHECK(longest > 0 && longest < 1.5);
    }
    CHECK_MPI(MPI_Win_unlock_all(win));
    window_free(&mem, &win);
}

/* ---- dies ---- */

static void *end_soon(void *arg)
{
    usleep(400000);
    _exit(0);
    return arg;
}

static void dies(void)
{
    const int64_t one = 1;
    int64_t old;
    pthread_t thread;
    struct mem mem;
    MPI_Win win;
    int err;

    window_make(&mem, 64, &win);
    CHECK_MPI(MPI_Win_lock_all(0, win));
    CHECK_MPI(MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 0, 0, MPI_SUM, win));
    CHECK_MPI(MPI_Win_flush(0, win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        pthread_create(&thread, NULL, end_soon, NULL);
        MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 0, 0, MPI_SUM, win);
        report_fail("the kernel was not late");
    }
    usleep(1200000);
    err = MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 0, 0, MPI_SUM, win);
    if (rank == 0 && err == MPI_SUCCESS)
        err = MPI_Win_flush_local(0, win);
    if (are_atomic()) {
        /* The process may have added its one or not. What is not atomic takes its part of the lock */
        CHECK_MPI(err);
        CHECK(old >= 3 && old <= 5);
        CHECK_MPI(MPI_Fetch_and_op(&one, &old, MPI_INT16_T, 0, 1, MPI_SUM, win));
        CHECK_MPI(MPI_Win_flush_local(0, win));
    } else if (err == MPI_SUCCESS || strstr(report_mpi_text(err), "failed while it updated") == NULL)
        report_fail("the error is: %s", err ? report_mpi_text(err) : "none");
    report_done();
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    static const struct report_case tests[] = {
        {"atomic", atomic}, {"dynamic", dynamic}, {"threads", threads}, {"ordered", ordered}, {"busy", busy},
        {"started", started}, {"others", others}, {"dies", dies}
    };
    int provided;

    report_time_limit(120);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    if (gpu_open() == 0 || nranks > MAX_RANKS)
        return 1;
    if (rank % 2 && mem_exists(MEM__OTHER_DEVICE))
        kind = MEM__OTHER_DEVICE;
    gpu_set_current(kind == MEM__OTHER_DEVICE);
    report_case_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
