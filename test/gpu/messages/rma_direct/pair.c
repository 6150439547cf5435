/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Operations and epochs; see pair.h. */

#include "pair.h"

#include <string.h>

#define TRIES 50                /* of an epoch that the other process may come late to */

int rank, other;
enum mem_kind kind = MEM__DEVICE, origin_kind;
unsigned long long nops, nlate;

unsigned long long ndirect(void)
{
    return report_variable("gpudt_window_direct");
}

int types_make(MPI_Datatype * types)
{
    const int sizes[] = { 9, 8, 7 }, subsizes[] = { 4, 5, 6 }, starts[] = { 2, 1, 1 };
    int displs[N / 4], n = 0;

    MPI_Type_contiguous(N, MPI_DOUBLE, &types[n++]);
    MPI_Type_vector(N / 3, 3, 5, MPI_DOUBLE, &types[n++]);
    MPI_Type_vector(N, 1, 2, MPI_DOUBLE, &types[n++]);
    for (int i = 0; i < N / 4; i++)
        displs[i] = 6 * i + i % 3;
    MPI_Type_create_indexed_block(N / 4, 4, displs, MPI_DOUBLE, &types[n++]);
    MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &types[n++]);
    for (int i = 0; i < n; i++)
        MPI_Type_commit(&types[i]);
    return n;
}

void pair_fill(struct pair *p)
{
    p->seed++;
    if (p->is_get) {
        side_fill(&p->window, 2 * p->seed + rank);
        side_clear(&p->origin, 2 * p->seed + other);
    } else {
        side_fill(&p->origin, 2 * p->seed + rank);
        side_clear(&p->window, 2 * p->seed + other);
    }
}

void granted_wait(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

void pair_check(struct pair *p)
{
    struct side *to = p->is_get ? &p->origin : &p->window;

    side_check(to, p->is_get ? "what was got" : "a window", 2 * p->seed + other, to->size);
}

static MPI_Aint place(const struct pair *p)
{
    return (MPI_Aint) p->window.buf_off;
}

void start(struct pair *p, MPI_Request * req)
{
    const struct side *o = &p->origin, *w = &p->window;
    const int on = (int) o->count, wn = (int) w->count;

    if (p->is_get && req)
        CHECK_MPI(MPI_Rget(o->buf, on, o->type, other, place(p), wn, w->type, p->win, req));
    else if (p->is_get)
        CHECK_MPI(MPI_Get(o->buf, on, o->type, other, place(p), wn, w->type, p->win));
    else if (req)
        CHECK_MPI(MPI_Rput(o->buf, on, o->type, other, place(p), wn, w->type, p->win, req));
    else
        CHECK_MPI(MPI_Put(o->buf, on, o->type, other, place(p), wn, w->type, p->win));
    CHECK_MPI(MPI_Put(o->buf, on, o->type, MPI_PROC_NULL, 0, wn, w->type, p->win));
    nops++;
}

static void epoch_pscw(struct pair *p, int check)
{
    MPI_Group world, peer;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &peer);
    CHECK_MPI(MPI_Win_post(peer, check, p->win));
    if (check)
        MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Win_start(peer, check, p->win));
    start(p, NULL);
    CHECK_MPI(MPI_Win_complete(p->win));
    if (p->seed % 2) {
        CHECK_MPI(MPI_Win_wait(p->win));
    } else {
        for (int flag = 0; !flag;)
            CHECK_MPI(MPI_Win_test(p->win, &flag));
    }
    MPI_Group_free(&peer);
    MPI_Group_free(&world);
}

/* Inside a lock: end the operation before the unlock, or not. */
static void under_lock(struct pair *p)
{
    MPI_Request req;

    switch (p->seed % 4) {
        case 0:
            start(p, NULL);
            break;
        case 1:
            start(p, NULL);
            CHECK_MPI(MPI_Win_flush(other, p->win));
            break;
        case 2:
            start(p, NULL);
            CHECK_MPI(MPI_Win_flush_local_all(p->win));
            CHECK_MPI(MPI_Win_flush_local(other, p->win));
            CHECK_MPI(MPI_Win_flush_all(p->win));
            break;
        default:
            start(p, &req);
            CHECK_MPI(MPI_Wait(&req, MPI_STATUS_IGNORE));
    }
}

void epoch(struct pair *p, enum sync sync)
{
    const int mode = sync == LOCK_NOCHECK || sync == LOCK_ALL_NOCHECK ? MPI_MODE_NOCHECK : 0;

    pair_fill(p);
    MPI_Barrier(MPI_COMM_WORLD);
    if (sync <= FENCE_ASSERT) {
        CHECK_MPI(MPI_Win_fence(sync == FENCE ? 0 : MPI_MODE_NOPRECEDE, p->win));
        start(p, NULL);
        CHECK_MPI(MPI_Win_fence(sync == FENCE ? 0 : MPI_MODE_NOSUCCEED, p->win));
    } else if (sync <= PSCW_NOCHECK) {
        epoch_pscw(p, sync == PSCW_NOCHECK ? MPI_MODE_NOCHECK : 0);
    } else if (sync <= LOCK_NOCHECK) {
        CHECK_MPI(MPI_Win_lock(sync == LOCK ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, other, mode,
                               p->win));
        under_lock(p);
        CHECK_MPI(MPI_Win_unlock(other, p->win));
    } else {
        CHECK_MPI(MPI_Win_lock_all(mode, p->win));
        under_lock(p);
        CHECK_MPI(MPI_Win_unlock_all(p->win));
    }
    if (sync > PSCW_NOCHECK)
        MPI_Barrier(MPI_COMM_WORLD);
    pair_check(p);
}

/* Whether the other process allows the access while this one waits for it, which is not for long: on a
 * busy machine the operation may go by a message. */
static bool is_timed(enum sync sync)
{
    return sync == PSCW || sync == LOCK || sync == LOCK_SHARED || sync == LOCK_ALL;
}

void epoch_direct(struct pair *p, enum sync sync)
{
    int is_direct = 0;

    for (int i = 0; i < (is_timed(sync) ? TRIES : 1) && !is_direct; i++) {
        const unsigned long long before = ndirect();
        if (i > 0)
            p->seed += 3;       /* and one more: the same kind of epoch */
        epoch(p, sync);
        is_direct = ndirect() == before + 1;
        nlate += !is_direct;
        MPI_Allreduce(MPI_IN_PLACE, &is_direct, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    if (!is_direct)
        report_fail("synchronization %d: an operation was not direct", sync);
}

void pair_make(struct pair *p, MPI_Datatype window, MPI_Datatype origin, int count)
{
    MPI_Aint lb, extent;

    memset(p, 0, sizeof(*p));
    /* displacements are not negative */
    MPI_Type_get_true_extent(window, &lb, &extent);
    side_make(&p->window, kind, window, count, (int) lb + 8);
    side_make(&p->origin, origin_kind, origin, count, 3);
    CHECK_MPI(MPI_Win_create(p->window.mem.addr, p->window.mem.sz, 1, MPI_INFO_NULL,
                             MPI_COMM_WORLD, &p->win));
    MPI_Win_set_errhandler(p->win, MPI_ERRORS_RETURN);
}

void pair_free(struct pair *p)
{
    CHECK_MPI(MPI_Win_free(&p->win));
    side_free(&p->window);
    side_free(&p->origin);
}
