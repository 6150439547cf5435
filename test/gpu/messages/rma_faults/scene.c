/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* See scene.h. */

#include "scene.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAD = 16 };             /* ints on either side that no operation accesses */
enum what { WINDOW, ORIGIN, RESULT };

const char *const flavors[] = { "create", "dynamic", "allocate", "shared" };
const char *const syncs[] = { "fence", "pscw", "lock", "lock all" };

const char *const kinds[] = {
    "put", "get", "accumulate", "get accumulate", "sum", "fetch and op", "compare and swap",
    "rput", "rget", "raccumulate", "rget accumulate"
};

int rank;
enum mem_kind own_kind = MEM__DEVICE;

/* ---- windows ---- */

static int win_make(struct scene *s)
{
    const MPI_Aint sz = s->n * (MPI_Aint) sizeof(int);
    MPI_Info info = MPI_INFO_NULL;
    int err;

    if (s->plan->flavor == CREATE)
        return MPI_Win_create(s->base, sz, 1, info, MPI_COMM_WORLD, &s->win);
    if (s->plan->flavor == DYNAMIC) {
        err = MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &s->win);
        if (err == MPI_SUCCESS)
            err = MPI_Win_attach(s->win, s->base, sz);
        s->is_attached = err == MPI_SUCCESS;
        return err;
    }
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_memory_alloc_kinds", "cuda:device");
    if (s->plan->flavor == ALLOCATE)
        err = MPI_Win_allocate(sz, 1, info, MPI_COMM_WORLD, &s->base, &s->win);
    else
        err = MPI_Win_allocate_shared(sz, 1, info, MPI_COMM_WORLD, &s->base, &s->win);
    MPI_Info_free(&info);
    return err;
}

int scene_make(struct scene *s, const struct plan *plan)
{
    static unsigned seed = 0;
    MPI_Aint lb, extent, base = 0;
    int err;

    MPI_Type_get_extent(plan->type, &lb, &extent);
    memset(s, 0, sizeof(*s));
    s->plan = plan;
    s->win = MPI_WIN_NULL;
    s->n = plan->count * (int) (extent / (MPI_Aint) sizeof(int)) + 2 * LEAD;
    s->seed = ++seed;
    mem_alloc(&s->origin, own_kind, s->n * sizeof(int));
    mem_alloc(&s->result, own_kind, s->n * sizeof(int));
    if (plan->flavor == CREATE || plan->flavor == DYNAMIC) {
        mem_alloc(&s->window, own_kind, s->n * sizeof(int));
        s->base = s->window.addr;
    }
    err = win_make(s);
    if (s->win != MPI_WIN_NULL)
        MPI_Win_set_errhandler(s->win, MPI_ERRORS_RETURN);
    if (plan->flavor == DYNAMIC)
        MPI_Get_address(s->base, &base);
    MPI_Bcast(&base, 1, MPI_AINT, 1, MPI_COMM_WORLD);
    s->disp = base + LEAD * (MPI_Aint) sizeof(int);
    return err;
}

int scene_free(struct scene *s)
{
    int err = MPI_SUCCESS, free_err = MPI_SUCCESS;

    if (s->is_attached)
        err = MPI_Win_detach(s->win, s->base);
    if (s->win != MPI_WIN_NULL)
        free_err = MPI_Win_free(&s->win);
    CHECK(s->win == MPI_WIN_NULL);
    mem_free(&s->window);
    mem_free(&s->origin);
    mem_free(&s->result);
    return err ? err : free_err;
}

/* ---- contents ---- */

static bool is_single(enum kind kind)
{
    return kind == FETCH_AND_OP || kind == COMPARE_AND_SWAP;
}

/* Whether the operation accesses int i of a memory. */
static bool is_element(const struct scene *s, int i)
{
    const int at = i - LEAD;

    if (at < 0 || at >= s->n - 2 * LEAD)
        return false;
    if (is_single(s->plan->kind))
        return at == 0;
    return s->plan->type == MPI_INT || at % 5 % 2 == 0;
}

/* An int before the operation. */
static int before(const struct scene *s, enum what what, int of, int i)
{
    /* what is compared with the window's first int */
    if (what == ORIGIN && i == s->n - LEAD)
        return before(s, WINDOW, 1, LEAD);
    return (int) (1 + 1000003u * (2 * what + of) + 7919u * s->seed + 31u * i);
}

/* An int after it. */
static int after(const struct scene *s, enum what what, int i)
{
    const enum kind kind = s->plan->kind;
    const bool is_get = kind == GET || kind == RGET;
    const bool is_sum = kind == SUM || kind == RSUM || kind == RGET_SUM || kind == FETCH_AND_OP;
    const bool has_result = kind == GET_REPLACE || kind == RGET_SUM || is_single(kind);
    const int old = before(s, WINDOW, 1, i), given = before(s, ORIGIN, 0, i);

    if (!is_element(s, i) || rank != (what == WINDOW))
        return before(s, what, rank, i);
    if (what == WINDOW)
        return is_get ? old : is_sum ? old + given : given;
    return (what == ORIGIN ? is_get : has_result) ? old : before(s, what, rank, i);
}

/* The CPU's address of a memory. */
static int *ints_of(const struct scene *s, enum what what)
{
    const void *addr = what == WINDOW ? s->base : what == ORIGIN ? s->origin.addr : s->result.addr;

    return gpu.emu_peek(addr, s->n * sizeof(int));
}

void scene_fill(struct scene *s)
{
    for (int what = WINDOW; what <= RESULT; what++) {
        int *ints = ints_of(s, what);

        for (int i = 0; i < s->n; i++)
            ints[i] = before(s, what, rank, i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

bool scene_check(struct scene *s)
{
    static const char *const names[] = { "window", "origin", "result" };
    bool is_after = true;

    for (int what = WINDOW; what <= RESULT; what++) {
        const int *ints = ints_of(s, what);

        for (int i = 0; i < s->n; i++) {
            const int old = before(s, what, rank, i), new = after(s, what, i);

            is_after &= ints[i] == new;
            /* zeros are instead of what could not be read */
            if (ints[i] != new && ints[i] != old && (ints[i] != 0 || !is_element(s, i))) {
                report_fail("int %d of %d of the %s is %d, was %d, expected %d", i, s->n,
                            names[what], ints[i], old, new);
                break;
            }
        }
    }
    return is_after;
}

/* ---- an epoch ---- */

/* Start the operation, and complete its request if it has one. */
static int operate(struct scene *s)
{
    const enum kind kind = s->plan->kind;
    char *from = s->origin.addr + LEAD * sizeof(int), *to = s->result.addr + LEAD * sizeof(int);
    const char *compare = s->origin.addr + (s->n - LEAD) * sizeof(int);
    MPI_Request request = MPI_REQUEST_NULL;
    const int n = s->plan->count;
    int err, wait_err;

#define BUFFER(addr_) addr_, n, s->plan->type
#define TARGET 1, s->disp, n, s->plan->type
    switch (kind) {
        case PUT:
            err = MPI_Put(BUFFER(from), TARGET, s->win);
            break;
        case GET:
            err = MPI_Get(BUFFER(from), TARGET, s->win);
            break;
        case REPLACE:
        case SUM:
            err = MPI_Accumulate(BUFFER(from), TARGET, kind == SUM ? MPI_SUM : MPI_REPLACE, s->win);
            break;
        case GET_REPLACE:
            err = MPI_Get_accumulate(BUFFER(from), BUFFER(to), TARGET, MPI_REPLACE, s->win);
            break;
        case FETCH_AND_OP:
            err = MPI_Fetch_and_op(from, to, MPI_INT, 1, s->disp, MPI_SUM, s->win);
            break;
        case COMPARE_AND_SWAP:
            err = MPI_Compare_and_swap(from, compare, to, MPI_INT, 1, s->disp, s->win);
            break;
        case RPUT:
            err = MPI_Rput(BUFFER(from), TARGET, s->win, &request);
            break;
        case RGET:
            err = MPI_Rget(BUFFER(from), TARGET, s->win, &request);
            break;
        case RSUM:
            err = MPI_Raccumulate(BUFFER(from), TARGET, MPI_SUM, s->win, &request);
            break;
        default:
            err = MPI_Rget_accumulate(BUFFER(from), BUFFER(to), TARGET, MPI_SUM, s->win, &request);
    }
    /* the driver is asked again and again whether a copy has ended */
    if (request != MPI_REQUEST_NULL)
        usleep(1000 + (unsigned) n / 20);
    wait_err = MPI_Wait(&request, MPI_STATUS_IGNORE);
    return err ? err : wait_err;
}

/* Begin the epoch of this process, or end it. Process 1 has none with a lock. */
static int begin(struct scene *s, MPI_Group other)
{
    switch (s->plan->sync) {
        case FENCE:
            return MPI_Win_fence(0, s->win);
        case PSCW:
            return rank ? MPI_Win_post(other, 0, s->win) : MPI_Win_start(other, 0, s->win);
        case LOCK:
            return rank ? MPI_SUCCESS : MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, s->win);
        default:
            return rank ? MPI_SUCCESS : MPI_Win_lock_all(0, s->win);
    }
}

static int end(struct scene *s)
{
    int err, unlock_err;

    switch (s->plan->sync) {
        case FENCE:
            return MPI_Win_fence(0, s->win);
        case PSCW:
            return rank ? MPI_Win_wait(s->win) : MPI_Win_complete(s->win);
        case LOCK:
            if (rank)
                return MPI_SUCCESS;
            err = MPI_Win_flush(1, s->win);
            unlock_err = MPI_Win_unlock(1, s->win);
            return err ? err : unlock_err;
        default:
            return rank ? MPI_SUCCESS : MPI_Win_unlock_all(s->win);
    }
}

int scene_epoch(struct scene *s)
{
    const int peer = 1 - rank;
    MPI_Group all, other;
    int err[3] = { 0 };

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &peer, &other);
    err[0] = begin(s, other);
    if (rank == 0)
        err[1] = operate(s);
    err[2] = end(s);
    MPI_Group_free(&other);
    MPI_Group_free(&all);
    /* the target takes part in what its process does not call MPI for */
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    return err[0] ? err[0] : err[1] ? err[1] : err[2];
}
