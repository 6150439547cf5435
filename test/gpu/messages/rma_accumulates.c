/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Accumulates whose data is a message of its own: each is counted, and the window is compared with what
 * the operations give in the order in which they were called.
 *
 *     ordered    operations that do not commute, in parts and whole, by request, and with other ones of
 *                MPI between them that are no messages of their own
 *     pairs      elements with gaps
 *     both       two origins on the same elements at once
 *     free       the window's info allows any order
 *     many       more at a time than the target has memory for, of both processes
 *     fetched    MPI_Get_accumulate: results are what was there before, in parts and whole, with gaps on
 *                either side, by request, of MPI_NO_OP, and of operations that do not commute
 *     atomic     the same of two origins at once: no result is seen twice
 *
 * A second argument: the window is in "host" memory, which is for one node, where only short ones without
 * gaps are messages; or "dynamic".
 *
 * Two processes. To be run with MPIR_CVAR_GPUDT_DIRECT=never, or on several nodes. */

#include "report.h"
#include "side.h"

#include <stdlib.h>
#include <string.h>

#define N (3 * 512 * 1024 + 1000)       /* doubles of a window: 12 MiB and some, which are four parts */
#define NSOME (64 * 1024)       /* those of an operation that is not divided */
#define NPAIRS 20000
#define NTURNS 5
#define MANY 60

static int rank, other;
static struct mem window, buffer;
static MPI_Win win;
static int is_host, is_dynamic; /* the windows are */
static MPI_Aint bases[2];       /* of them */
static double *host, *expected; /* N each */

struct pair {
    double value;
    int index;
};

static unsigned long long nmessages(void)
{
    return report_variable("gpudt_window_messages");
}

static void begin(MPI_Info info)
{
    const size_t sz = N * sizeof(double);

    mem_alloc(&window, is_host ? MEM__PAGEABLE : MEM__DEVICE, sz);
    mem_alloc(&buffer, MEM__DEVICE, sz);
    host = calloc(N, sizeof(double));
    expected = calloc(N, sizeof(double));
    mem_write(&window, 0, host, sz);
    if (is_dynamic) {
        CHECK_MPI(MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win));
        CHECK_MPI(MPI_Win_attach(win, window.addr, (MPI_Aint) sz));
        MPI_Get_address(window.addr, &bases[rank]);
        CHECK_MPI(MPI_Allgather(MPI_IN_PLACE, 1, MPI_AINT, bases, 1, MPI_AINT, MPI_COMM_WORLD));
    } else {
        CHECK_MPI(MPI_Win_create(window.addr, (MPI_Aint) sz, sizeof(double), info, MPI_COMM_WORLD,
                                 &win));
    }
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
}

/* The displacement of an element of the window of a process. */
static MPI_Aint at(int process, int i)
{
    return is_dynamic ? bases[process] + i * (MPI_Aint) sizeof(double) : i;
}

static void end(void)
{
    if (is_dynamic) {
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_MPI(MPI_Win_detach(win, window.addr));
    }
    CHECK_MPI(MPI_Win_free(&win));
    mem_free(&window);
    mem_free(&buffer);
    free(host);
    free(expected);
}

/* Lock the other window, and wait until that is granted: what is started before may go another way. */
static void lock(int type)
{
    double any;

    CHECK_MPI(MPI_Win_lock(type, other, 0, win));
    CHECK_MPI(MPI_Fetch_and_op(NULL, &any, MPI_DOUBLE, other, at(other, 0), MPI_NO_OP, win));
    CHECK_MPI(MPI_Win_flush(other, win));
}

/* New values in the buffer. */
static void fill(int seed)
{
    for (int i = 0; i < N; i++)
        host[i] = (i + seed) % 1000 - 300;
    mem_write(&buffer, 0, host, N * sizeof(double));
}

/* Those of the window of this process. */
static void compare(const char *what)
{
    double *seen = malloc(N * sizeof(double));

    mem_read(&window, 0, seen, N * sizeof(double));
    report_compare(what, seen, expected, N * sizeof(double));
    free(seen);
}

/* One turn of `ordered` by the origin. The other process computes the same. */
static void ordered_turn(int turn, int is_origin)
{
    const int first = turn * 100;
    const double one = 1;
    double seen;
    MPI_Datatype type;
    MPI_Request req;

    MPI_Type_vector(NSOME, 1, 3, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    fill(7 * turn);
    if (is_origin) {
        CHECK_MPI(MPI_Accumulate(buffer.addr, N, MPI_DOUBLE, other, at(other, 0), N, MPI_DOUBLE,
                                 MPI_REPLACE, win));
        CHECK_MPI(MPI_Accumulate(buffer.addr, N - first, MPI_DOUBLE, other, at(other, first), N - first,
                                 MPI_DOUBLE, MPI_SUM, win));
        CHECK_MPI(MPI_Fetch_and_op(&one, &seen, MPI_DOUBLE, other, at(other, N - 1), MPI_SUM, win));
        CHECK_MPI(MPI_Accumulate(buffer.addr, NSOME, MPI_DOUBLE, other, at(other, first), 1, type,
                                 MPI_MAX, win));
        CHECK_MPI(MPI_Accumulate(host, NSOME, MPI_DOUBLE, other, at(other, first), NSOME, MPI_DOUBLE,
                                 MPI_PROD, win));
        CHECK_MPI(MPI_Raccumulate(buffer.addr, N / 2, MPI_DOUBLE, other, at(other, N / 2), N / 2,
                                  MPI_DOUBLE, MPI_MIN, win, &req));
        CHECK_MPI(MPI_Accumulate(&one, 1, MPI_DOUBLE, other, at(other, N - 2), 1, MPI_DOUBLE, MPI_SUM, win));
        CHECK_MPI(MPI_Wait(&req, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_Win_flush(other, win));
        CHECK(seen == host[N - 1] + host[N - 1 - first]);
    }
    for (int i = 0; i < N; i++)
        expected[i] = host[i];
    for (int i = first; i < N; i++)
        expected[i] += host[i - first];
    expected[N - 1] += 1;
    for (int i = 0; i < NSOME; i++)
        expected[first + 3 * i] = expected[first + 3 * i] > host[i] ? expected[first + 3 * i] : host[i];
    for (int i = 0; i < NSOME; i++)
        expected[first + i] *= host[i];
    for (int i = 0; i < N / 2; i++)
        expected[N / 2 + i] = expected[N / 2 + i] < host[i] ? expected[N / 2 + i] : host[i];
    expected[N - 2] += 1;
    MPI_Type_free(&type);
}

static void ordered(void)
{
    begin(MPI_INFO_NULL);
    for (int turn = 0; turn < NTURNS; turn++) {
        const unsigned long long before = nmessages();
        const int is_origin = turn % 2 == rank;

        if (is_origin)
            lock(MPI_LOCK_EXCLUSIVE);
        ordered_turn(turn, is_origin);
        if (is_origin)
            CHECK_MPI(MPI_Win_unlock(other, win));
        CHECK(!is_origin || is_host || nmessages() - before >= 4 + 4 + 1 + 2);
        MPI_Barrier(MPI_COMM_WORLD);
        if (!is_origin)
            compare("a window after operations in order");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    end();
}

static void pairs(void)
{
    struct pair *p = calloc(NPAIRS, sizeof(*p)), *q = calloc(NPAIRS, sizeof(*q));
    const unsigned long long before = nmessages();

    begin(MPI_INFO_NULL);
    for (int i = 0; i < NPAIRS; i++) {
        p[i] = (struct pair) {.value = i % 100,.index = i};
        q[i] = (struct pair) {.value = i % 70,.index = 3 * i};
    }
    if (rank == 1)
        mem_write(&window, 0, p, NPAIRS * sizeof(*p));
    mem_write(&buffer, 0, q, NPAIRS * sizeof(*q));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        lock(MPI_LOCK_EXCLUSIVE);
        CHECK_MPI(MPI_Accumulate(buffer.addr, NPAIRS, MPI_DOUBLE_INT, 1, at(1, 0), NPAIRS,
                                 MPI_DOUBLE_INT, MPI_MINLOC, win));
        CHECK_MPI(MPI_Win_unlock(1, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank == 1 || nmessages() > before);
    mem_read(&window, 0, q, NPAIRS * sizeof(*q));
    for (int i = 0; i < NPAIRS && rank == 1; i++) {
        const int is_new = i % 70 < i % 100 || (i % 70 == i % 100 && 3 * i < i);
        if (q[i].value != (is_new ? i % 70 : i % 100) || q[i].index != (is_new ? 3 * i : i))
            report_fail("pair %d is %g, %d", i, q[i].value, q[i].index);
    }
    end();
    free(p);
    free(q);
}

/* Both on the window of process 0, which for itself needs no message. */
static void both(void)
{
    const unsigned long long before = nmessages();

    begin(MPI_INFO_NULL);
    fill(0);
    CHECK_MPI(MPI_Win_fence(0, win));
    for (int i = 0; i < NTURNS; i++)
        CHECK_MPI(MPI_Accumulate(buffer.addr, N, MPI_DOUBLE, 0, at(0, 0), N, MPI_DOUBLE, MPI_SUM, win));
    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK(nmessages() - before == (rank == 0 ? 0 : 4 * NTURNS));
    for (int i = 0; i < N; i++)
        expected[i] = 2 * NTURNS * host[i];
    if (rank == 0)
        compare("a window of two origins");
    end();
}

static void free_order(void)
{
    const unsigned long long before = nmessages();
    const double one = 1;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "accumulate_ordering", "none");
    begin(info);
    MPI_Info_free(&info);
    fill(0);
    lock(MPI_LOCK_SHARED);
    for (int i = 0; i < NTURNS; i++) {
        CHECK_MPI(MPI_Accumulate(buffer.addr, N, MPI_DOUBLE, other, at(other, 0), N, MPI_DOUBLE,
                                 MPI_SUM, win));
        CHECK_MPI(MPI_Accumulate(&one, 1, MPI_DOUBLE, other, at(other, N - 1), 1, MPI_DOUBLE,
                                 MPI_SUM, win));
    }
    CHECK_MPI(MPI_Win_unlock(other, win));
    CHECK(nmessages() - before >= 4 * NTURNS);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        expected[i] = NTURNS * host[i];
    expected[N - 1] += NTURNS;
    compare("a window with operations in any order");
    end();
}

static void many(void)
{
    const unsigned long long before = nmessages();

    begin(MPI_INFO_NULL);
    fill(1);
    lock(MPI_LOCK_SHARED);
    for (int i = 0; i < MANY; i++)
        CHECK_MPI(MPI_Accumulate((double *) buffer.addr + i, NSOME, MPI_DOUBLE, other, at(other, 2 * i),
                                 NSOME, MPI_DOUBLE, i % 2 ? MPI_SUM : MPI_REPLACE, win));
    CHECK_MPI(MPI_Win_unlock(other, win));
    CHECK(nmessages() - before == MANY);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i++) {
        for (int k = 0; k < NSOME; k++)
            expected[2 * i + k] = host[i + k] + (i % 2 ? expected[2 * i + k] : 0);
    }
    compare("a window of many operations");
    end();
}

struct step {
    MPI_Op op;
    int first, n, stride;       /* elements of the target */
    int result_stride;
    int is_waited;              /* by its request, and not only by the flush of all */
};

static double combined(MPI_Op op, double origin, double target)
{
    return op == MPI_SUM ? origin + target : op == MPI_PROD ? origin * target :
        op == MPI_MAX ? (origin > target ? origin : target) : op == MPI_REPLACE ? origin : target;
}

/* What a step leaves in the expected window, and finds there. */
static void step_expect(const struct step *step, double *before)
{
    for (int i = 0; i < step->n; i++) {
        double *at = &expected[step->first + i * step->stride];
        before[i] = *at;
        *at = combined(step->op, host[i], *at);
    }
}

static MPI_Datatype strided(int n, int stride)
{
    MPI_Datatype type;

    MPI_Type_vector(n, 1, stride, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void step_start(const struct step *step, const struct mem *result)
{
    const int has_origin = step->op != MPI_NO_OP;
    MPI_Datatype type = strided(step->n, step->stride);
    MPI_Datatype result_type = strided(step->n, step->result_stride);
    const int is_plain = step->stride == 1 && step->result_stride == 1;
    const int n = is_plain ? step->n : 1;
    MPI_Datatype used = is_plain ? MPI_DOUBLE : type, result_used = is_plain ? MPI_DOUBLE : result_type;
    MPI_Request req;

    if (step->is_waited) {
        CHECK_MPI(MPI_Rget_accumulate(has_origin ? buffer.addr : NULL, has_origin ? step->n : 0,
                                      MPI_DOUBLE, result->addr, n, result_used, other,
                                      at(other, step->first), n, used, step->op, win, &req));
        CHECK_MPI(MPI_Wait(&req, MPI_STATUS_IGNORE));
    } else {
        CHECK_MPI(MPI_Get_accumulate(has_origin ? buffer.addr : NULL, has_origin ? step->n : 0,
                                     MPI_DOUBLE, result->addr, n, result_used, other,
                                     at(other, step->first), n, used, step->op, win));
    }
    MPI_Type_free(&type);
    MPI_Type_free(&result_type);
}

static void step_check(const struct step *step, const struct mem *result, const double *before)
{
    const size_t sz = (size_t) step->n * step->result_stride * sizeof(double);
    double *seen = malloc(sz);

    mem_read(result, 0, seen, sz);
    for (int i = 1; i < step->n; i++)
        seen[i] = seen[i * step->result_stride];
    report_compare("a result", seen, before, step->n * sizeof(double));
    free(seen);
}

static void fetched(void)
{
    static const struct step steps[] = {
        {MPI_SUM, 0, N, 1, 1, 0}, {MPI_NO_OP, 0, N, 1, 1, 0}, {MPI_PROD, 100, NSOME, 3, 1, 0},
        {MPI_REPLACE, 50, NSOME, 1, 2, 0}, {MPI_MAX, 0, N, 1, 1, 1}, {MPI_SUM, 7, NSOME, 5, 3, 1},
        {MPI_REPLACE, 0, N, 1, 1, 0}, {MPI_NO_OP, 11, NSOME, 3, 1, 0}, {MPI_SUM, 20, NSOME, 1, 1, 0}
    };
    enum { nsteps = sizeof(steps) / sizeof(steps[0]) };
    double *before[nsteps];
    struct mem result[nsteps];

    begin(MPI_INFO_NULL);
    for (int i = 0; i < nsteps; i++) {
        before[i] = malloc(N * sizeof(double));
        mem_alloc(&result[i], i == 3 ? MEM__PAGEABLE : MEM__DEVICE, N * sizeof(double));
    }
    for (int turn = 0; turn < 2; turn++) {
        const unsigned long long nearlier = nmessages();
        const int is_origin = turn % 2 == rank;

        fill(7 * turn);
        if (is_origin)
            lock(MPI_LOCK_EXCLUSIVE);
        for (int i = 0; i < nsteps; i++) {
            step_expect(&steps[i], before[i]);
            if (is_origin)
                step_start(&steps[i], &result[i]);
            if (is_origin && steps[i].is_waited)
                step_check(&steps[i], &result[i], before[i]);
        }
        if (is_origin)
            CHECK_MPI(MPI_Win_unlock(other, win));
        CHECK(!is_origin || is_host || nmessages() - nearlier == 4 * 4 + 5);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < nsteps && is_origin; i++)
            step_check(&steps[i], &result[i], before[i]);
        if (!is_origin)
            compare("a window after MPI_Get_accumulate");
        /* The other window is as it was */
        memset(expected, 0, N * sizeof(double));
    }
    for (int i = 0; i < nsteps; i++) {
        free(before[i]);
        mem_free(&result[i]);
    }
    end();
}

/* Both on the window of process 0, which for itself needs no message. */
static void atomic(void)
{
    enum { n = 600 * 1024, nturns = 2 * NTURNS };
    const unsigned long long before = nmessages();
    const double most = nturns;
    unsigned *seen = calloc(n, sizeof(*seen)), *all = calloc(n, sizeof(*all));
    struct mem result;
    int nbad = 0;

    begin(MPI_INFO_NULL);
    mem_alloc(&result, MEM__DEVICE, n * sizeof(double));
    for (int i = 0; i < n; i++)
        host[i] = 1;
    mem_write(&buffer, 0, host, n * sizeof(double));
    CHECK_MPI(MPI_Win_lock_all(0, win));
    for (int turn = 0; turn < NTURNS; turn++) {
        CHECK_MPI(MPI_Get_accumulate(buffer.addr, n, MPI_DOUBLE, result.addr, n, MPI_DOUBLE, 0,
                                     at(0, 0), n, MPI_DOUBLE, MPI_SUM, win));
        CHECK_MPI(MPI_Win_flush(0, win));
        mem_read(&result, 0, host, n * sizeof(double));
        for (int i = 0; i < n; i++) {
            if (host[i] < 0 || host[i] >= most || seen[i] & 1u << (int) host[i])
                nbad++;
            else
                seen[i] |= 1u << (int) host[i];
        }
    }
    CHECK_MPI(MPI_Win_unlock_all(win));
    CHECK(rank == 0 || nmessages() - before >= NTURNS);
    MPI_Allreduce(seen, all, n, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++)
        nbad += all[i] != (1u << nturns) - 1;
    CHECK(nbad == 0);
    end();
    mem_free(&result);
    free(seen);
    free(all);
}

int main(int argc, char **argv)
{
    static const struct report_case cases[] = {
        {"ordered", ordered}, {"pairs", pairs}, {"both", both}, {"free", free_order}, {"many", many},
        {"fetched", fetched}, {"atomic", atomic}
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
    gpu_set_current(0);
    is_host = argc > 2 && strcmp(argv[2], "host") == 0;
    is_dynamic = argc > 2 && strcmp(argv[2], "dynamic") == 0;
    report_case_run(cases, sizeof(cases) / sizeof(cases[0]), argc > 1 ? argv[1] : NULL);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
