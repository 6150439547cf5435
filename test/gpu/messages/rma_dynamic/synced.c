/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Every synchronization, on several regions with several datatypes: those that can be mapped directly,
 * others beside them by messages. */

#include "rma_dynamic.h"

enum { NREGIONS = 5, N = 120 }; /* N: elements of each type */
enum sync { FENCE, PSCW, LOCK, LOCK_ALL, LOCK_ALL_NOCHECK, NSYNCS };

static unsigned long long nops; /* of this process that should be direct */

/* After a fence: only those of the first epoch may end before all processes are known to be there. */
static void fence_wait(unsigned epoch)
{
    if (epoch == 0)
        messages_wait();
}

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

void synced(void)
{
    all_epochs();
    CHECK(nops > 0 && ndirect() == nops);
    CHECK(report_variable("gpudt_window_refused") == 0);
}

void never(void)
{
    all_epochs();
    CHECK(ndirect() == 0);
    CHECK(report_variable("gpudt_ipc_opens") == 0);
}
