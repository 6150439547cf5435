/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A process without memory for what MPI_Win_create exchanges about windows in GPU memory: all
 * processes get an error, and none waits. With memory, the window can be created afterwards. Two
 * processes. */

#include "report.h"
#include "side.h"

#include <stdlib.h>
#include <string.h>

#define SZ (1 << 20)
#define EXPOSURE_SZ 128         /* MPIR_GPUDT_EXPOSURE_SZ */

void *__libc_malloc(size_t sz);

static size_t failing_sz;       /* 0: none */
static int nfailed = 0;

/* Instead of the C library's, also for the library under test. */
void *malloc(size_t sz)
{
    if (failing_sz && sz == failing_sz) {
        nfailed++;
        return NULL;
    }
    return __libc_malloc(sz);
}

static int win_create(const struct mem *mem, MPI_Win * win)
{
    return MPI_Win_create(mem->addr, SZ, 1, MPI_INFO_NULL, MPI_COMM_WORLD, win);
}

int main(void)
{
    struct mem window, origin;
    MPI_Win win;
    int rank, errs[2], class = MPI_SUCCESS, nmissed = 0;
    char *to;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    mem_alloc(&window, MEM__DEVICE, SZ);
    mem_alloc(&origin, MEM__DEVICE, SZ);
    to = malloc(SZ);
    /* the exposures of two processes are an allocation of this size */
    for (int victim = 0; victim < 2; victim++) {
        nfailed = 0;
        failing_sz = rank == victim ? 2 * EXPOSURE_SZ : 0;
        errs[rank] = win_create(&window, &win);
        failing_sz = 0;
        if (errs[rank])
            MPI_Error_class(errs[rank], &class);
        CHECK(errs[rank] != MPI_SUCCESS && (class == MPI_ERR_NO_MEM || class == MPI_ERR_OTHER));
        nmissed += rank == victim && nfailed == 0;
    }
    CHECK(nmissed == 0);
    memset(to, 1 + rank, SZ);
    mem_write(&origin, 0, to, SZ);
    CHECK_MPI(win_create(&window, &win));
    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK_MPI(MPI_Put(origin.addr, SZ, MPI_BYTE, 1 - rank, 0, SZ, MPI_BYTE, win));
    CHECK_MPI(MPI_Win_fence(0, win));
    mem_read(&window, 0, to, SZ);
    for (int i = 0; i < SZ; i++)
        CHECK(to[i] == 2 - rank);
    CHECK_MPI(MPI_Win_free(&win));
    free(to);
    mem_free(&origin);
    mem_free(&window);
    MPI_Finalize();
    return report_done();
}
