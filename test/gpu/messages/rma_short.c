/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests one-sided operations that transfer less than the receiving side's datatype describes. Two processes, of
 * which the second one has a window. Each operation is compared with one that the program does itself.
 *
 * Usage: rma_short WHAT
 *   create    the window is in host memory of the program
 *   allocate  in host memory that MPI allocates
 *   gpu       in GPU memory, as are the other buffers */

#include "gpu.h"
#include "report.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOST 60000              /* integers of an operation */
#define ROOM (2 * MOST + 100)   /* integers of a buffer */

static int rank;
static bool is_gpu;

/* ---- buffers: integers in memory under test, and those that should be there ---- */

struct ints {
    struct mem mem;             /* not of a window that MPI has allocated */
    int *addr;
    int expected[ROOM];
};

static struct ints window, origin, result;

static void ints_make(struct ints *b)
{
    mem_alloc(&b->mem, is_gpu ? MEM__DEVICE : MEM__PAGEABLE, sizeof(b->expected));
    b->addr = (int *) b->mem.addr;
}

static void ints_set(struct ints *b, int from)
{
    for (int i = 0; i < ROOM; i++)
        b->expected[i] = from + i;
    if (b->mem.addr)
        mem_write(&b->mem, 0, b->expected, sizeof(b->expected));
    else
        memcpy(b->addr, b->expected, sizeof(b->expected));
}

static void ints_check(const struct ints *b, const int *expected, const char *what)
{
    static int found[ROOM];

    if (b->mem.addr)
        mem_read(&b->mem, 0, found, sizeof(found));
    else
        memcpy(found, b->addr, sizeof(found));
    for (int i = 0; i < ROOM; i++) {
        if (found[i] != expected[i]) {
            report_fail("%s: integer %d is %d and not %d", what, i, found[i], expected[i]);
            break;
        }
    }
}

/* ---- datatypes: vectors of every second integer ---- */

struct layout {
    int ints;                   /* of an element; 0: MPI_INT */
    MPI_Datatype type;
};

static struct layout layout_make(int ints)
{
    struct layout l = {.ints = ints,.type = MPI_INT };

    if (ints > 0) {
        MPI_Type_vector(ints, 1, 2, MPI_INT, &l.type);
        MPI_Type_commit(&l.type);
    }
    return l;
}

static void layout_free(struct layout *l)
{
    if (l->ints > 0)
        MPI_Type_free(&l->type);
}

/* Where integer i of the data is. The elements of a vector follow each other without a gap. */
static int place(const struct layout *l, int i)
{
    return l->ints == 0 ? i : i / l->ints * (2 * l->ints - 1) + i % l->ints * 2;
}

static int elements(const struct layout *l, int ints)
{
    return l->ints == 0 ? ints : ints / l->ints;
}

/* ---- the operations ---- */

enum operation {
    PUT, RPUT, GET, RGET, ACCUMULATE, RACCUMULATE, GET_ACCUMULATE, RGET_ACCUMULATE, GET_RESULT, NOPERATIONS
};

static const char *const names[] = {
    "put", "rput", "get", "rget", "accumulate", "raccumulate", "get_accumulate", "rget_accumulate",
    "get_accumulate to a larger result"
};

/* Numbers of integers, of which the origin, the target and the result have room for at least that many. */
struct amounts {
    int origin, target, result;
};

static void move(int *to, const struct layout *lt, const int *from, const struct layout *lf, int n,
                 bool is_sum)
{
    for (int i = 0; i < n; i++)
        to[place(lt, i)] = from[place(lf, i)] + (is_sum ? to[place(lt, i)] : 0);
}

/* Both processes know what should be in the window. */
static void expect(enum operation o, const struct amounts *a, const struct layout *lo,
                   const struct layout *lt, const struct layout *lr)
{
    switch (o) {
        case PUT:
        case RPUT:
            move(window.expected, lt, origin.expected, lo, a->origin, false);
            break;
        case GET:
        case RGET:
            move(origin.expected, lo, window.expected, lt, a->target, false);
            break;
        case ACCUMULATE:
        case RACCUMULATE:
            move(window.expected, lt, origin.expected, lo, a->origin, true);
            break;
        default:
            move(result.expected, lr, window.expected, lt, a->target, false);
            move(window.expected, lt, origin.expected, lo, a->origin, true);
    }
}

/* One operation, complete with its request, if it has one, and else with a flush. */
static void operate(enum operation o, const struct amounts *a, const struct layout *lo,
                    const struct layout *lt, const struct layout *lr, MPI_Win win)
{
    const int no = elements(lo, a->origin), nt = elements(lt, a->target), nr = elements(lr, a->result);
    const MPI_Datatype to = lo->type, tt = lt->type, tr = lr->type;
    int *oa = origin.addr, *ra = result.addr;
    MPI_Request req = MPI_REQUEST_NULL;

    switch (o) {
        case PUT:
            CHECK_MPI(MPI_Put(oa, no, to, 1, 0, nt, tt, win));
            break;
        case RPUT:
            CHECK_MPI(MPI_Rput(oa, no, to, 1, 0, nt, tt, win, &req));
            break;
        case GET:
            CHECK_MPI(MPI_Get(oa, no, to, 1, 0, nt, tt, win));
            break;
        case RGET:
            CHECK_MPI(MPI_Rget(oa, no, to, 1, 0, nt, tt, win, &req));
            break;
        case ACCUMULATE:
            CHECK_MPI(MPI_Accumulate(oa, no, to, 1, 0, nt, tt, MPI_SUM, win));
            break;
        case RACCUMULATE:
            CHECK_MPI(MPI_Raccumulate(oa, no, to, 1, 0, nt, tt, MPI_SUM, win, &req));
            break;
        case RGET_ACCUMULATE:
            CHECK_MPI(MPI_Rget_accumulate(oa, no, to, ra, nr, tr, 1, 0, nt, tt, MPI_SUM, win, &req));
            break;
        default:
            CHECK_MPI(MPI_Get_accumulate(oa, no, to, ra, nr, tr, 1, 0, nt, tt, MPI_SUM, win));
    }
    CHECK_MPI(MPI_Wait(&req, MPI_STATUS_IGNORE));
    if (o == RGET)
        ints_check(&origin, origin.expected, names[o]);
    if (o == RGET_ACCUMULATE)
        ints_check(&result, result.expected, names[o]);
    CHECK_MPI(MPI_Win_flush(1, win));
}

/* The sending side has n integers, and the receiving one room for more. */
static struct amounts amounts_of(enum operation o, int n, int more)
{
    if (o == GET || o == RGET)
        return (struct amounts) {.origin = more,.target = n};
    if (o == GET_RESULT)
        return (struct amounts) {.origin = n,.target = n,.result = more};
    return (struct amounts) {.origin = n,.target = more,.result = more};
}

static void turn(enum operation o, int n, int more, int sending, int receiving, MPI_Win win)
{
    const bool is_get = o == GET || o == RGET;
    const struct amounts a = amounts_of(o, n, more);
    struct layout lo = layout_make(is_get ? receiving : sending);
    struct layout lt = layout_make(is_get || o == GET_RESULT ? sending : receiving);
    struct layout lr = layout_make(receiving);
    char what[128];

    snprintf(what, sizeof(what), "%s of %d for %d, vectors of %d for %d", names[o], n, more, sending,
             receiving);
    ints_set(&window, 1000000);
    ints_set(&origin, 7);
    ints_set(&result, -3000000);
    MPI_Barrier(MPI_COMM_WORLD);
    /* result and window as they are before the operation */
    expect(o, &a, &lo, &lt, &lr);
    if (rank == 0) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        operate(o, &a, &lo, &lt, &lr, win);
        CHECK_MPI(MPI_Win_unlock(1, win));
        ints_check(&origin, origin.expected, what);
        ints_check(&result, result.expected, what);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        ints_check(&window, window.expected, what);
        CHECK_MPI(MPI_Win_unlock(1, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    layout_free(&lo);
    layout_free(&lt);
    layout_free(&lr);
}

static void all_turns(MPI_Win win)
{
    static const int amounts[][2] = {
        {1, 2}, {2, 60}, {60, 120}, {120, 60000}, {1202, 1260}, {30006, 60000}, {59946, 60000}
    };
    /* Vectors of 5 and 4: the data ends within an element */
    static const int ints[][2] = { {0, 0}, {0, 60}, {2, 0}, {2, 5}, {3, 4}, {1, 60} };

    for (int o = 0; o < NOPERATIONS; o++) {
        for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++) {
            for (size_t k = 0; k < sizeof(ints) / sizeof(ints[0]); k++) {
                const int n = amounts[i][0], more = amounts[i][1];
                if ((ints[k][0] && n % ints[k][0]) || (ints[k][1] && more % ints[k][1]))
                    continue;
                turn(o, n, more, ints[k][0], ints[k][1], win);
            }
        }
    }
}

/* Nothing is sent: the target has no elements. */
static void nothing(MPI_Win win)
{
    MPI_Request req;

    ints_set(&origin, 7);
    if (rank == 0) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        CHECK_MPI(MPI_Get(origin.addr, 5, MPI_INT, 1, 0, 0, MPI_INT, win));
        CHECK_MPI(MPI_Rget(origin.addr, 5, MPI_INT, 1, 0, 0, MPI_INT, win, &req));
        CHECK_MPI(MPI_Wait(&req, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_Win_unlock(1, win));
        ints_check(&origin, origin.expected, "get of nothing");
    }
}

/* Elements with gaps, of which one is cut behind n: pairs of a short and an int. */
static void pairs(MPI_Win win, int n)
{
    struct pair {
        short value;
        int index;
    } target[9], found[9], sent[9];
    MPI_Datatype three;

    MPI_Type_vector(3, 1, 1, MPI_SHORT_INT, &three);
    MPI_Type_commit(&three);
    memset(target, 0, sizeof(target));
    memset(sent, 0, sizeof(sent));
    for (int i = 0; i < 9; i++) {
        target[i] = (struct pair) {.value = 50,.index = i };
        sent[i] = (struct pair) {.value = (short) (i % 2 ? 40 : 60),.index = 100 + i };
    }
    ints_set(&window, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
        CHECK_MPI(MPI_Put(target, 9, MPI_SHORT_INT, 1, 0, 9, MPI_SHORT_INT, win));
        CHECK_MPI(MPI_Win_flush(1, win));
        CHECK_MPI(MPI_Accumulate(sent, n, MPI_SHORT_INT, 1, 0, 3, three, MPI_MAXLOC, win));
        CHECK_MPI(MPI_Win_flush(1, win));
        CHECK_MPI(MPI_Get(found, 9, MPI_SHORT_INT, 1, 0, 9, MPI_SHORT_INT, win));
        CHECK_MPI(MPI_Win_unlock(1, win));
        for (int i = 0; i < 9; i++) {
            const struct pair *expected = i < n && i % 2 == 0 ? &sent[i] : &target[i];
            if (found[i].value != expected->value || found[i].index != expected->index)
                report_fail("%d pairs: pair %d is %d, %d and not %d, %d", n, i, found[i].value,
                            found[i].index, expected->value, expected->index);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&three);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Win win;

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    is_gpu = !strcmp(what, "gpu");
    if (is_gpu) {
        if (gpu_open() == 0)
            return 1;
        gpu_set_current(0);
    }
    ints_make(&origin);
    ints_make(&result);
    if (!strcmp(what, "allocate")) {
        CHECK_MPI(MPI_Win_allocate(sizeof(window.expected), sizeof(int), MPI_INFO_NULL,
                                   MPI_COMM_WORLD, &window.addr, &win));
    } else {
        ints_make(&window);
        CHECK_MPI(MPI_Win_create(window.addr, sizeof(window.expected), sizeof(int), MPI_INFO_NULL,
                                 MPI_COMM_WORLD, &win));
    }
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    all_turns(win);
    nothing(win);
    for (int n = 1; n < 9; n++)
        pairs(win, n);
    CHECK_MPI(MPI_Win_free(&win));
    if (window.mem.addr)
        mem_free(&window.mem);
    mem_free(&origin.mem);
    mem_free(&result.mem);
    MPI_Finalize();
    return report_done();
}
