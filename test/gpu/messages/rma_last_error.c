/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The target of a passive epoch has freed the memory of its window, and makes no call for the window
 * but MPI_Win_free: that returns the error, which was given once to the window's own error handler, and
 * the window is freed nevertheless. The origin gets no error. The program has freed its handle of the
 * error handler before. A window without an error gives none, and one that cannot be freed, as an epoch
 * has not ended, gives the error to its handler, too. Two processes. To be run with
 * MPIR_CVAR_GPUDT_DIRECT=never: the memory would be mapped otherwise. */

#include "report.h"
#include "side.h"

#include <stdlib.h>

#define SZ (1 << 16)

static int rank;
static int nhandled;            /* calls of the handler */
static MPI_Win handled;         /* the window of the last one, and what it got */
static int handled_err;

static void handler(MPI_Win * win, int *err, ...)
{
    nhandled++;
    handled = *win;
    handled_err = *err;
}

static MPI_Win win_make(const struct mem *mem, int has_handler)
{
    MPI_Errhandler own;
    MPI_Win win;

    CHECK_MPI(MPI_Win_create(mem->addr, SZ, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    if (has_handler) {
        MPI_Win_create_errhandler(handler, &own);
        MPI_Win_set_errhandler(win, own);
        MPI_Errhandler_free(&own);
    } else {
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    }
    nhandled = 0;
    return win;
}

/* The origin puts, and the target frees its memory before if `is_freed`. */
static void last(int has_handler, int is_freed)
{
    struct mem mem;
    MPI_Win win, before;
    char *host = calloc(1, SZ);
    int err, class = MPI_SUCCESS;

    mem_alloc(&mem, MEM__DEVICE, SZ);
    before = win = win_make(&mem, has_handler);
    if (rank == 1 && is_freed)
        mem_free(&mem);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        CHECK_MPI(MPI_Put(host, SZ, MPI_BYTE, 1, 0, SZ, MPI_BYTE, win));
        CHECK_MPI(MPI_Win_unlock(1, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    err = MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL);
    if (err)
        MPI_Error_class(err, &class);
    if (rank == 1 && is_freed)
        CHECK(class == MPI_ERR_BUFFER);
    else
        CHECK_MPI(err);
    CHECK(nhandled == (has_handler && rank == 1 && is_freed));
    if (nhandled)
        CHECK(handled == before && handled_err == err);
    if (rank == 0 || !is_freed)
        mem_free(&mem);
    free(host);
}

static void too_early(void)
{
    struct mem mem;
    MPI_Win win, before;
    int err, class = MPI_SUCCESS;

    mem_alloc(&mem, MEM__DEVICE, SZ);
    before = win = win_make(&mem, 1);
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 1 - rank, 0, win));
    err = MPI_Win_free(&win);
    MPI_Error_class(err, &class);
    CHECK(class == MPI_ERR_RMA_SYNC && win == before);
    CHECK(nhandled == 1 && handled == before && handled_err == err);
    CHECK_MPI(MPI_Win_unlock(1 - rank, win));
    CHECK_MPI(MPI_Win_free(&win));
    mem_free(&mem);
}

int main(void)
{
    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    for (int i = 0; i < 4; i++)
        last(i / 2, i % 2);
    too_early();
    MPI_Finalize();
    return report_done();
}
