/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* MPI_Put to a target that exposes its memory, or unlocks it, only after a message from the origin, which
 * sends that after the operation. Two processes, with a GPU each if the machine has two. To be run with
 * MPIR_CVAR_GPUDT_DIRECT=always. */

#include "report.h"
#include "side.h"

#include <stdlib.h>
#include <string.h>

#define N 120                   /* doubles */

static int rank, other;
static enum mem_kind kind = MEM__DEVICE;

enum order { LOCKED, ALL_LOCKED, NOT_POSTED, NORDERS };

static void order_target(enum order order, MPI_Win win, MPI_Group group, struct mem *window)
{
    double seen;
    int token;

    if (order != NOT_POSTED)
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Recv(&token, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    mem_read(window, 0, &seen, sizeof(seen));
    CHECK(seen == 0);
    if (order != NOT_POSTED) {
        CHECK_MPI(MPI_Win_unlock(rank, win));
    } else {
        CHECK_MPI(MPI_Win_post(group, 0, win));
        CHECK_MPI(MPI_Win_wait(win));
    }
}

static void order_origin(enum order order, MPI_Win win, MPI_Group group, struct mem *origin)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (order == LOCKED)
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win));
    else if (order == ALL_LOCKED)
        CHECK_MPI(MPI_Win_lock_all(0, win));
    else
        CHECK_MPI(MPI_Win_start(group, 0, win));
    CHECK_MPI(MPI_Put(origin->addr, N, MPI_DOUBLE, other, 0, N, MPI_DOUBLE, win));
    CHECK_MPI(MPI_Send(&rank, 1, MPI_INT, other, 0, MPI_COMM_WORLD));
    if (order == LOCKED)
        CHECK_MPI(MPI_Win_unlock(other, win));
    else if (order == ALL_LOCKED)
        CHECK_MPI(MPI_Win_unlock_all(win));
    else
        CHECK_MPI(MPI_Win_complete(win));
}

/* An operation that needs not wait: with that variable it goes directly, as those of `order_origin`
 * would if they did not wait. */
static void free_put(MPI_Win win, struct mem *origin)
{
    double any;

    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win));
    CHECK_MPI(MPI_Fetch_and_op(NULL, &any, MPI_DOUBLE, other, 0, MPI_NO_OP, win));
    CHECK_MPI(MPI_Win_flush(other, win));
    CHECK_MPI(MPI_Put(origin->addr, N, MPI_DOUBLE, other, 0, N, MPI_DOUBLE, win));
    CHECK_MPI(MPI_Win_unlock(other, win));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void ordered(void)
{
    struct mem window, origin;
    double sent[N], seen[N];
    MPI_Group all, group;
    MPI_Win win;

    mem_alloc(&window, kind, sizeof(seen));
    mem_alloc(&origin, kind, sizeof(sent));
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &other, &group);
    CHECK_MPI(MPI_Win_create(window.addr, sizeof(seen), sizeof(double), MPI_INFO_NULL,
                             MPI_COMM_WORLD, &win));
    for (int i = 0; i < 2 * NORDERS; i++) {
        for (int k = 0; k < N; k++)
            sent[k] = 1000 * i + k + 1;
        memset(seen, 0, sizeof(seen));
        mem_write(&origin, 0, sent, sizeof(sent));
        mem_write(&window, 0, seen, sizeof(seen));
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == i % 2)
            order_target((enum order) (i / 2), win, group, &window);
        else
            order_origin((enum order) (i / 2), win, group, &origin);
        MPI_Barrier(MPI_COMM_WORLD);
        mem_read(&window, 0, seen, sizeof(seen));
        CHECK(rank != i % 2 || memcmp(seen, sent, sizeof(seen)) == 0);
    }
    free_put(win, &origin);
    CHECK_MPI(MPI_Win_free(&win));
    MPI_Group_free(&all);
    MPI_Group_free(&group);
    mem_free(&window);
    mem_free(&origin);
}

/* Whether operations went directly, as the program's environment says. */
static void way_check(void)
{
    const char *direct = getenv("MPIR_CVAR_GPUDT_DIRECT");

    if (direct && strcmp(direct, "always") == 0)
        CHECK(report_variable("gpudt_window_direct") > 0);
    else if (direct && strcmp(direct, "never") == 0)
        CHECK(report_variable("gpudt_window_direct") == 0);
}

int main(void)
{
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
    gpu_set_current(kind == MEM__OTHER_DEVICE);
    ordered();
    way_check();
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
