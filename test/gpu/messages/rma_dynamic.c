/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests one-sided operations on GPU memory that is attached to dynamic windows, by the origin's GPU
 * alone. Each process accesses the memory of the next one; a GPU each if the machine has two. To be
 * run with MPIR_CVAR_GPUDT_DIRECT=always, except where noted.
 *
 * Usage: rma_dynamic WHAT
 *   synced    every synchronization, on several regions: those that can be mapped directly, host
 *             memory and memory of a pool beside them by messages
 *   never     the same with MPIR_CVAR_GPUDT_DIRECT=never: none is direct
 *   nodes     the same on nodes of one process each: none is direct
 *   busy      two processes: the target does not call MPI during the operations
 *   late      memory is attached after MPI_Win_lock_all: the first operation on it is direct
 *   renewed   memory is detached and freed, and other memory attached, at the same address; also
 *             when the program has forgotten to detach it
 *   full      more regions than a table has room for; detached ones; data in two regions
 *   changing  two processes: the target attaches and detaches other memory during the operations
 *   freed     windows are freed while memory is attached
 *   attach    each driver call of MPI_Win_attach fails once. Emulated driver only */

#include "report.h"
#include "side.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RANKS = 4, NREGIONS = 5, N = 120 };  /* N: elements of each type */
enum sync { FENCE, PSCW, LOCK, LOCK_ALL, LOCK_ALL_NOCHECK, NSYNCS };

static int rank, nranks, next, prev;
static enum mem_kind kind = MEM__DEVICE;
static MPI_Win win;
static unsigned long long nops; /* of this process that should be direct */

static unsigned long long ndirect(void)
{
    return report_variable("gpudt_window_direct");
}

/* On return, locks that were asked for are granted, and posts have arrived. */
static void messages_wait(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* After a fence: only those of the first epoch may end before all processes are known to be there. */
static void fence_wait(unsigned epoch)
{
    if (epoch == 0)
        messages_wait();
}

static void window_make(void)
{
    CHECK_MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
}

/* The address of something in the next process. */
static MPI_Aint next_address(const void *mine)
{
    MPI_Aint own, theirs;

    MPI_Get_address(mine, &own);
    MPI_Sendrecv(&own, 1, MPI_AINT, prev, 0, &theirs, 1, MPI_AINT, next, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return theirs;
}

/* ---- synced ---- */

static const enum mem_kind others[] = { MEM__PAGEABLE, MEM__POOL };     /* the last regions */

struct region {
    struct side window, origin;
    MPI_Aint disp;              /* in the next process */
    MPI_Datatype absolute;      /* the window's type at that address, to be used with MPI_BOTTOM */
};

static int types_make(MPI_Datatype * types)
{
    const int sizes[] = { 9, 8, 7 }, subsizes[] = { 4, 5, 6 }, starts[] = { 2, 1, 1 };
    int displs[N / 4], n = 0;

    MPI_Type_vector(N / 3, 3, 5, MPI_DOUBLE, &types[n++]);
    for (int i = 0; i < N / 4; i++)
        displs[i] = 6 * i + i % 3;
    MPI_Type_create_indexed_block(N / 4, 4, displs, MPI_DOUBLE, &types[n++]);
    MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &types[n++]);
    MPI_Type_contiguous(N, MPI_DOUBLE, &types[n++]);
    for (int i = 0; i < n; i++)
        MPI_Type_commit(&types[i]);
    return n;
}

static void region_make(struct region *r, int i, const MPI_Datatype * types, int ntypes)
{
    const int first_other = NREGIONS - (int) (sizeof(others) / sizeof(others[0]));
    const int one = 1;

    side_make(&r->window, i < first_other ? kind : others[i - first_other], types[i % ntypes],
              i == 1 ? 40 : 1, 8);
    side_make(&r->origin, kind, types[(i + 1) % ntypes], i == 1 ? 40 : 1, 3);
    CHECK_MPI(MPI_Win_attach(win, r->window.mem.addr, r->window.mem.sz));
    r->disp = next_address(r->window.buf);
    MPI_Type_create_hindexed(1, &one, &r->disp, types[i % ntypes], &r->absolute);
    MPI_Type_commit(&r->absolute);
}

static void region_free(struct region *r)
{
    CHECK_MPI(MPI_Win_detach(win, r->window.mem.addr));
    MPI_Type_free(&r->absolute);
    side_free(&r->window);
    side_free(&r->origin);
}

/* What the next process gets, or this one puts, is of this seed. */
static unsigned seed_of(unsigned round, int i, int owner)
{
    return 100 * round + 10 * (unsigned) i + (unsigned) owner;
}

static void regions_fill(struct region *regions, unsigned round, bool is_get)
{
    for (int i = 0; i < NREGIONS; i++) {
        struct region *r = &regions[i];
        side_fill(is_get ? &r->window : &r->origin, seed_of(round, i, rank));
        side_clear(is_get ? &r->origin : &r->window, seed_of(round, i, is_get ? next : prev));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void regions_check(struct region *regions, unsigned round, bool is_get)
{
    for (int i = 0; i < NREGIONS; i++) {
        struct side *to = is_get ? &regions[i].origin : &regions[i].window;
        side_check(to, is_get ? "what was got" : "a region",
                   seed_of(round, i, is_get ? next : prev), to->size);
    }
}

static void operations_start(const struct region *regions, unsigned round, bool is_get)
{
    for (int i = 0; i < NREGIONS; i++) {
        const struct side *o = &regions[i].origin, *w = &regions[i].window;
        const bool is_absolute = round % 3 == 0 && w->count == 1;
        const MPI_Aint disp = is_absolute ? 0 : regions[i].disp;
        const MPI_Datatype type = is_absolute ? regions[i].absolute : w->type;
        const int n = (int) w->count;

        if (is_get)
            CHECK_MPI(MPI_Get(o->buf, n, o->type, next, disp, n, type, win));
        else
            CHECK_MPI(MPI_Put(o->buf, n, o->type, next, disp, n, type, win));
        nops += w->mem.kind == kind;
    }
}

static void epoch_pscw(const struct region *regions, unsigned round, bool is_get)
{
    MPI_Group world, to, from;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &next, &to);
    MPI_Group_incl(world, 1, &prev, &from);
    CHECK_MPI(MPI_Win_post(from, 0, win));
    messages_wait();
    CHECK_MPI(MPI_Win_start(to, 0, win));
    operations_start(regions, round, is_get);
    CHECK_MPI(MPI_Win_complete(win));
    CHECK_MPI(MPI_Win_wait(win));
    MPI_Group_free(&from);
    MPI_Group_free(&to);
    MPI_Group_free(&world);
}

static void epoch_do(struct region *regions, enum sync sync, unsigned round, bool is_get)
{
    regions_fill(regions, round, is_get);
    if (sync == FENCE) {
        CHECK_MPI(MPI_Win_fence(0, win));
        fence_wait(round);
        operations_start(regions, round, is_get);
        CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    } else if (sync == PSCW) {
        epoch_pscw(regions, round, is_get);
    } else if (sync == LOCK) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
        messages_wait();
        operations_start(regions, round, is_get);
        CHECK_MPI(MPI_Win_unlock(next, win));
    } else {
        CHECK_MPI(MPI_Win_lock_all(sync == LOCK_ALL ? 0 : MPI_MODE_NOCHECK, win));
        messages_wait();
        operations_start(regions, round, is_get);
        CHECK_MPI(MPI_Win_unlock_all(win));
    }
    if (sync >= LOCK)
        MPI_Barrier(MPI_COMM_WORLD);
    regions_check(regions, round, is_get);
}

static void all_epochs(void)
{
    MPI_Datatype types[8];
    struct region regions[NREGIONS];
    int n = types_make(types);

    window_make();
    for (int i = 0; i < NREGIONS; i++)
        region_make(&regions[i], i, types, n);
    for (int sync = 0; sync < NSYNCS; sync++) {
        for (int i = 0; i < 6; i++)
            epoch_do(regions, (enum sync) sync, 6 * (unsigned) sync + i, i % 2);
    }
    for (int i = 0; i < NREGIONS; i++)
        region_free(&regions[i]);
    CHECK_MPI(MPI_Win_free(&win));
    for (int i = 0; i < n; i++)
        MPI_Type_free(&types[i]);
}

static void synced(void)
{
    all_epochs();
    CHECK(nops > 0 && ndirect() == nops);
    CHECK(report_variable("gpudt_window_refused") == 0);
}

static void never(void)
{
    all_epochs();
    CHECK(ndirect() == 0);
    CHECK(report_variable("gpudt_ipc_opens") == 0);
}

/* ---- a region of doubles ---- */

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

static void busy(void)
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
static void late(void)
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

static void renewed(void)
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

static void full(void)
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
    /* the program must not do this; messages do not look */
    small_put(&v, 0, 1, false);
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

static void changing(void)
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

static void freed(void)
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

/* ---- attach ---- */

/* Without what a call tells, operations go by messages. */
static void attach(void)
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

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run) (void);
    } tests[] = {
        {"synced", synced}, {"never", never}, {"nodes", never}, {"busy", busy}, {"late", late},
        {"renewed", renewed}, {"full", full}, {"changing", changing}, {"freed", freed},
        {"attach", attach}
    };
    int provided, found = 0;

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    next = (rank + 1) % nranks;
    prev = (rank + nranks - 1) % nranks;
    if (gpu_open() == 0 || nranks > MAX_RANKS)
        return 1;
    if (rank % 2 && mem_exists(MEM__OTHER_DEVICE))
        kind = MEM__OTHER_DEVICE;
    gpu_set_current(kind == MEM__OTHER_DEVICE);
    for (unsigned i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        if (argc > 1 && strcmp(argv[1], tests[i].name) == 0) {
            tests[i].run();
            found = 1;
        }
    }
    CHECK(found);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
