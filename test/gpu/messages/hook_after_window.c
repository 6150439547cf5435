/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that messages with GPU buffers make progress before, between and after RMA windows, created
 * and freed in any order. Two processes. */

#include "report.h"
#include "side.h"

#include <stdio.h>

#define LONG_COUNT (1024 * 1024 / 4)    /* ints */
#define SHORT_COUNT 2
#define NWINS 3

static int rank, other;

/* One message each way, between GPU buffers. */
static void exchange(int count)
{
    struct side s, r;

    side_make(&s, MEM__DEVICE, MPI_INT, count, 0);
    side_make(&r, MEM__DEVICE, MPI_INT, count, 0);
    side_fill(&s, 1 + rank);
    side_clear(&r, 1 + other);
    CHECK_MPI(MPI_Sendrecv(s.buf, count, MPI_INT, other, 1, r.buf, count, MPI_INT, other, 1,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    side_check(&r, "a buffer received", 1 + other, r.size);
    side_free(&r);
    side_free(&s);
}

/* A short message that arrives before its receive, from host memory to a GPU. */
static void unexpected(void)
{
    struct side s;

    side_make(&s, rank == 0 ? MEM__PAGEABLE : MEM__DEVICE, MPI_INT, SHORT_COUNT, 0);
    if (rank == 0) {
        side_fill(&s, 3);
        CHECK_MPI(MPI_Send(s.buf, SHORT_COUNT, MPI_INT, other, 2, MPI_COMM_WORLD));
    } else {
        side_clear(&s, 3);
    }
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 1) {
        CHECK_MPI(MPI_Recv(s.buf, SHORT_COUNT, MPI_INT, other, 2, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
        side_check(&s, "a short buffer", 3, s.size);
    }
    side_free(&s);
}

static void messages(void)
{
    exchange(LONG_COUNT);
    exchange(SHORT_COUNT);
    unexpected();
}

static MPI_Win win_make(void)
{
    MPI_Win win;
    int *mem;

    CHECK_MPI(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mem,
                               &win));
    return win;
}

/* Transfers a value through a window, which needs progress of RMA. */
static void win_use(MPI_Win win)
{
    int value = 10 + rank, *mem, flag;

    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK_MPI(MPI_Put(&value, 1, MPI_INT, other, 0, 1, MPI_INT, win));
    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK_MPI(MPI_Win_get_attr(win, MPI_WIN_BASE, &mem, &flag));
    CHECK(flag && *mem == 10 + other);
}

/* Windows are created, and freed in a given order, with messages before, between and after. */
static void several(const int *order)
{
    MPI_Win wins[NWINS];

    for (int i = 0; i < NWINS; i++) {
        wins[i] = win_make();
        messages();
    }
    for (int i = 0; i < NWINS; i++) {
        win_use(wins[order[i]]);
        CHECK_MPI(MPI_Win_free(&wins[order[i]]));
        messages();
    }
}

int main(void)
{
    static const int orders[][NWINS] = { {0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0} };
    MPI_Win win;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);

    /* The first window is created before the first message */
    win = win_make();
    messages();
    CHECK_MPI(MPI_Win_free(&win));
    messages();
    for (int i = 0; i < (int) (sizeof(orders) / sizeof(orders[0])); i++)
        several(orders[i]);
    MPI_Finalize();
    return report_done();
}
