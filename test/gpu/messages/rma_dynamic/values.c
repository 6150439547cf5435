/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One region of doubles in each process, which comes and goes, or whose process is not in MPI. */

#include "rma_dynamic.h"

#include <stdatomic.h>
#include <unistd.h>

enum { NVALUES = 5000 };

struct values {
    struct mem window, origin;
    MPI_Aint disp;
};

static void values_attach(struct values *v)
{
    mem_alloc(&v->window, kind, NVALUES * sizeof(double));
    CHECK_MPI(MPI_Win_attach(win, v->window.addr, v->window.sz));
    v->disp = next_address(v->window.addr);
}

/* What rank writes in a round. */
static double value_of(int owner, int round, int i)
{
    return 1e6 * round + 1e5 * owner + i;
}

/* Put all values into the region of the next process. */
static void values_put(struct values *v, int round)
{
    static double sent[NVALUES];

    for (int i = 0; i < NVALUES; i++)
        sent[i] = value_of(rank, round, i);
    mem_write(&v->origin, 0, sent, sizeof(sent));
    CHECK_MPI(MPI_Put(v->origin.addr, NVALUES, MPI_DOUBLE, next, v->disp, NVALUES, MPI_DOUBLE,
                      win));
}

static void values_check(const struct values *v, int round)
{
    static double seen[NVALUES];

    mem_read(&v->window, 0, seen, sizeof(seen));
    for (int i = 0; i < NVALUES; i++) {
        if (seen[i] != value_of(prev, round, i)) {
            report_fail("round %d, element %d is %g", round, i, seen[i]);
            break;
        }
    }
}

/* ---- busy ---- */

/* A word in memory of both processes, which tells how far they are. */
static atomic_int *step;

static void step_make(MPI_Win * steps)
{
    MPI_Aint sz;
    int unit;

    CHECK_MPI(MPI_Win_allocate_shared(rank == 0 ? sizeof(*step) : 0, 1, MPI_INFO_NULL,
                                      MPI_COMM_WORLD, &step, steps));
    CHECK_MPI(MPI_Win_shared_query(*steps, 0, &sz, &unit, &step));
    if (rank == 0)
        atomic_store(step, 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void step_wait(int value)
{
    while (atomic_load(step) < value)
        usleep(1000);
}

static void busy_origin(struct values *v)
{
    static double got[NVALUES];
    const double two = 2;
    double old = -1, sum[3];

    values_put(v, 1);
    CHECK_MPI(MPI_Win_flush(next, win));
    atomic_store(step, 1);
    step_wait(2);
    CHECK_MPI(MPI_Get(v->origin.addr, NVALUES, MPI_DOUBLE, next, v->disp, NVALUES, MPI_DOUBLE,
                      win));
    CHECK_MPI(MPI_Win_flush(next, win));
    CHECK_MPI(MPI_Fetch_and_op(&two, &old, MPI_DOUBLE, next, v->disp, MPI_SUM, win));
    CHECK_MPI(MPI_Accumulate(v->origin.addr, 3, MPI_DOUBLE, next, v->disp, 3, MPI_DOUBLE, MPI_SUM,
                             win));
    CHECK_MPI(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, sum, 3, MPI_DOUBLE, next, v->disp, 3,
                                 MPI_DOUBLE, MPI_NO_OP, win));
    CHECK_MPI(MPI_Win_flush(next, win));
    mem_read(&v->origin, 0, got, sizeof(got));
    CHECK(got[0] == value_of(0, 1, 0) && got[NVALUES - 1] == value_of(0, 1, NVALUES - 1));
    CHECK(old == value_of(0, 1, 0) && sum[0] == 2 * old + two && sum[2] == 2 * got[2]);
    CHECK(ndirect() == 5);
    atomic_store(step, 3);
}

void busy(void)
{
    struct values v;
    MPI_Win steps;

    step_make(&steps);
    window_make();
    values_attach(&v);
    mem_alloc(&v.origin, kind, NVALUES * sizeof(double));
    if (rank == 0)
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win));
    messages_wait();
    if (rank == 0) {
        busy_origin(&v);
        CHECK_MPI(MPI_Win_unlock(next, win));
    } else {
        step_wait(1);
        values_check(&v, 1);
        atomic_store(step, 2);
        step_wait(3);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Win_free(&win));
    mem_free(&v.window);
    mem_free(&v.origin);
    CHECK_MPI(MPI_Win_free(&steps));
}

/* ---- late ---- */

/* The lock may come too late on a busy machine, but not each time. */
void late(void)
{
    struct values v;
    int nfirst = 0;

    mem_alloc(&v.origin, kind, NVALUES * sizeof(double));
    for (int round = 0; round < 20; round++) {
        unsigned long long before = ndirect();
        window_make();
        CHECK_MPI(MPI_Win_lock_all(0, win));
        MPI_Barrier(MPI_COMM_WORLD);
        values_attach(&v);
        MPI_Barrier(MPI_COMM_WORLD);
        values_put(&v, round);
        nfirst += ndirect() == before + 1;
        CHECK_MPI(MPI_Win_unlock_all(win));
        MPI_Barrier(MPI_COMM_WORLD);
        values_check(&v, round);
        CHECK_MPI(MPI_Win_detach(win, v.window.addr));
        CHECK_MPI(MPI_Win_free(&win));
        mem_free(&v.window);
    }
    CHECK(nfirst > 0);
    mem_free(&v.origin);
}

/* ---- renewed ---- */

void renewed(void)
{
    enum { NROUNDS = 16 };
    struct values v;
    const char *last = NULL;
    int nsame = 0;

    mem_alloc(&v.origin, kind, NVALUES * sizeof(double));
    window_make();
    CHECK_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    for (int round = 0; round < NROUNDS; round++) {
        values_attach(&v);
        nsame += v.window.addr == last;
        last = v.window.addr;
        values_put(&v, round);
        CHECK_MPI(MPI_Win_flush(next, win));
        MPI_Barrier(MPI_COMM_WORLD);
        values_check(&v, round);
        if (round % 4 != 3)
            CHECK_MPI(MPI_Win_detach(win, v.window.addr));
        mem_free(&v.window);
    }
    CHECK_MPI(MPI_Win_unlock_all(win));
    CHECK(nsame > NROUNDS / 2 || !gpu.is_emulated);
    CHECK(ndirect() == NROUNDS);
    CHECK(report_variable("gpudt_ipc_opens") == NROUNDS);
    CHECK_MPI(MPI_Win_free(&win));
    mem_free(&v.origin);
}

/* ---- full ---- */

enum { ROOM = 256, NSMALL = 300, SMALL = 8 };   /* of a table; regions, and doubles in each */

/* Put doubles into region i of the next process, and check that this goes as it should. */
static void small_put(const struct values *v, int i, int n, bool is_direct)
{
    const unsigned long long before = ndirect();
    const double *from = (const double *) v->origin.addr + i * SMALL;

    CHECK_MPI(MPI_Put(from, n, MPI_DOUBLE, next, v->disp + i * SMALL * (MPI_Aint) sizeof(double),
                      n, MPI_DOUBLE, win));
    if (ndirect() != before + is_direct)
        report_fail("region %d: the put was %sdirect", i, is_direct ? "not " : "");
    CHECK_MPI(MPI_Win_flush(next, win));
}

void full(void)
{
    static double sent[NVALUES], seen[NVALUES];
    struct values v;
    double *base;

    mem_alloc(&v.origin, kind, sizeof(sent));
    mem_alloc(&v.window, kind, sizeof(sent));
    mem_write(&v.window, 0, sent, sizeof(sent));
    for (int i = 0; i < NVALUES; i++)
        sent[i] = 1 + i + 0.25 * rank;
    mem_write(&v.origin, 0, sent, sizeof(sent));
    window_make();
    base = (double *) v.window.addr;
    for (int i = 0; i < NSMALL; i++)
        CHECK_MPI(MPI_Win_attach(win, base + i * SMALL, SMALL * sizeof(double)));
    v.disp = next_address(base);
    CHECK_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    small_put(&v, 0, SMALL, true);
    small_put(&v, ROOM - 1, SMALL, true);
    small_put(&v, ROOM, SMALL, false);
    small_put(&v, NSMALL - 1, SMALL, false);
    small_put(&v, 10, 2 * SMALL, false);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Win_detach(win, base));
    CHECK_MPI(MPI_Win_detach(win, base + ROOM * SMALL));
    CHECK_MPI(MPI_Win_attach(win, base + ROOM * SMALL, SMALL * sizeof(double)));
    MPI_Barrier(MPI_COMM_WORLD);
    small_put(&v, ROOM, SMALL, true);
    small_put(&v, ROOM - 1, SMALL, true);
    CHECK_MPI(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    mem_read(&v.window, 0, seen, sizeof(seen));
    for (int i = 0; i < NVALUES; i++) {
        const int at = i / SMALL;
        const bool is_put = at == 0 || at == 10 || at == 11 || at == ROOM - 1 || at == ROOM ||
            at == NSMALL - 1;
        if (seen[i] != (is_put ? 1 + i + 0.25 * prev : 0)) {
            report_fail("element %d is %g", i, seen[i]);
            break;
        }
    }
    CHECK_MPI(MPI_Win_free(&win));
    mem_free(&v.window);
    mem_free(&v.origin);
}

/* ---- changing ---- */

/* The target attaches and detaches other memory all the time, which moves the entry of the region that
 * the origin accesses. */
static void changing_target(struct values *others, int nothers)
{
    int found;

    for (int i = 0; atomic_load(step) == 0; i++) {
        struct mem *mem = &others[i % nothers].window;
        CHECK_MPI(MPI_Win_detach(win, mem->addr));
        CHECK_MPI(MPI_Win_attach(win, mem->addr, mem->sz));
        CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
    }
}

void changing(void)
{
    enum { NOTHERS = 3, NPUTS = 2000 };
    struct values v, others[NOTHERS];
    static double zero[NVALUES], seen[NVALUES];
    MPI_Win steps;

    step_make(&steps);
    mem_alloc(&v.origin, kind, sizeof(zero));
    window_make();
    values_attach(&others[0]);
    values_attach(&v);
    for (int i = 1; i < NOTHERS; i++)
        values_attach(&others[i]);
    for (int i = 0; i < NOTHERS; i++)
        mem_write(&others[i].window, 0, zero, sizeof(zero));
    CHECK_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    messages_wait();
    for (int i = 0; i < NPUTS && rank == 0; i++) {
        values_put(&v, 1);
        CHECK_MPI(MPI_Win_flush(next, win));
    }
    if (rank == 0)
        atomic_store(step, 1);
    else
        changing_target(others, NOTHERS);
    CHECK_MPI(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank == 1 || ndirect() > NPUTS / 2);
    if (rank == 1)
        values_check(&v, 1);
    for (int i = 0; i < NOTHERS; i++) {
        mem_read(&others[i].window, 0, seen, sizeof(seen));
        report_compare("other memory", seen, zero, sizeof(zero));
    }
    CHECK_MPI(MPI_Win_free(&win));
    for (int i = 0; i < NOTHERS; i++)
        mem_free(&others[i].window);
    mem_free(&v.window);
    mem_free(&v.origin);
    CHECK_MPI(MPI_Win_free(&steps));
}

/* ---- freed ---- */

void freed(void)
{
    enum { NROUNDS = 6 };
    struct values v;

    mem_alloc(&v.origin, kind, NVALUES * sizeof(double));
    for (int round = 0; round < NROUNDS; round++) {
        window_make();
        values_attach(&v);
        CHECK_MPI(MPI_Win_fence(0, win));
        messages_wait();
        values_put(&v, round);
        CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        values_check(&v, round);
        CHECK_MPI(MPI_Win_free(&win));
        mem_free(&v.window);
    }
    CHECK(ndirect() == NROUNDS);
    mem_free(&v.origin);
}

/* ---- detached ---- */

/* Check that a fence returns an error of memory that is not attached. This process is origin and target, and
 * a get that has failed is an error in the origin, too. */
static void refused_check(const char *op, bool is_get)
{
    int class = MPI_SUCCESS, err = MPI_Win_fence(0, win);

    if (err)
        MPI_Error_class(err, &class);
    if (class != MPI_ERR_RMA_RANGE && !(is_get && err))
        report_fail("%s: error class %d: %s", op, class, err ? report_mpi_text(err) : "none");
}

/* Every operation on memory that is allocated and not attached any more, and on memory beside it that is. */
void detached(void)
{
    struct values v, w;
    double one = 1, old;

    mem_alloc(&v.origin, kind, NVALUES * sizeof(double));
    mem_alloc(&w.origin, kind, NVALUES * sizeof(double));
    window_make();
    values_attach(&v);
    values_attach(&w);
    CHECK_MPI(MPI_Win_detach(win, v.window.addr));
    CHECK_MPI(MPI_Win_fence(0, win));
    messages_wait();
    for (int op = 0; op < 6; op++) {
        static const char *const names[] = {
            "MPI_Put", "MPI_Get", "MPI_Accumulate", "MPI_Get_accumulate", "MPI_Fetch_and_op",
            "MPI_Compare_and_swap"
        };

        /* no other process is in a fence any more, which might return the error */
        MPI_Barrier(MPI_COMM_WORLD);
        if (op == 0)
            values_put(&v, op);
        else if (op == 1)
            MPI_Get(v.origin.addr, NVALUES, MPI_DOUBLE, next, v.disp, NVALUES, MPI_DOUBLE, win);
        else if (op == 2)
            MPI_Accumulate(&one, 1, MPI_DOUBLE, next, v.disp, 1, MPI_DOUBLE, MPI_SUM, win);
        else if (op == 3)
            MPI_Get_accumulate(&one, 1, MPI_DOUBLE, &old, 1, MPI_DOUBLE, next, v.disp, 1, MPI_DOUBLE,
                               MPI_SUM, win);
        else if (op == 4)
            MPI_Fetch_and_op(&one, &old, MPI_DOUBLE, next, v.disp, MPI_SUM, win);
        else
            MPI_Compare_and_swap(&one, &one, &old, MPI_INT, next, v.disp, win);
        refused_check(names[op], op == 1);
        values_put(&w, op);
        CHECK_MPI(MPI_Win_fence(0, win));
        values_check(&w, op);
    }
    CHECK_MPI(MPI_Win_attach(win, v.window.addr, v.window.sz));
    MPI_Barrier(MPI_COMM_WORLD);
    values_put(&v, 7);
    CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    values_check(&v, 7);
    CHECK_MPI(MPI_Win_free(&win));
    mem_free(&v.window);
    mem_free(&w.window);
    mem_free(&v.origin);
    mem_free(&w.origin);
}

/* ---- attach ---- */

/* Without what a call tells, operations go by messages. A region of 0 bytes changes nothing. */
void attach(void)
{
    enum { MAX_CALLS = 40, UNKNOWN = 999 };
    struct values v;
    unsigned long long nrounds = 0;
    int fired = 1;

    mem_alloc(&v.origin, kind, NVALUES * sizeof(double));
    for (int at = 1; at < MAX_CALLS && fired; at++, nrounds++) {
        window_make();
        mem_alloc(&v.window, kind, NVALUES * sizeof(double));
        gpu.emu_fail_set(NULL, at, UNKNOWN, 1);
        CHECK_MPI(MPI_Win_attach(win, v.window.addr, v.window.sz));
        fired = gpu.emu_failed_count() > 0;
        gpu.emu_fail_set(NULL, 0, 0, 1);
        /* Nothing, within the region */
        CHECK_MPI(MPI_Win_attach(win, (char *) v.window.addr + sizeof(double), 0));
        v.disp = next_address(v.window.addr);
        CHECK_MPI(MPI_Win_fence(0, win));
        messages_wait();
        values_put(&v, at);
        CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        values_check(&v, at);
        CHECK_MPI(MPI_Win_detach(win, v.window.addr));
        CHECK_MPI(MPI_Win_free(&win));
        mem_free(&v.window);
        MPI_Allreduce(MPI_IN_PLACE, &fired, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    CHECK(!fired && nrounds > 2);
    CHECK(ndirect() > 0 && ndirect() < nrounds);
    mem_free(&v.origin);
}
