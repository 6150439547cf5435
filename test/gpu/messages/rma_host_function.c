/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests one-sided operations in a host function of a stream (cudaLaunchHostFunc), where the driver
 * takes no calls: from and to host memory they go by messages, also to a window that this process has
 * mapped. Two processes. To be run with MPIR_CVAR_GPUDT_DIRECT=always. */

#include "gpu.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define N (1 << 18)             /* ints; too many for the brk(2) heap */

static int brief[16], *sent, *seen;     /* memory that is known to be the host's, and other memory */
static MPI_Win win;
static int ncalls;

/* Put, accumulate and get, as one process. */
static void operate(int seed)
{
    int one = 1, old = -1;

    for (int i = 0; i < N; i++)
        sent[i] = 5 * i + seed;
    for (int i = 0; i < 16; i++)
        brief[i] = seed - i;
    memset(seen, 0, (N + 16) * sizeof(int));
    CHECK_MPI(MPI_Put(sent, N, MPI_INT, 1, 0, N, MPI_INT, win));
    CHECK_MPI(MPI_Put(brief, 16, MPI_INT, 1, N, 16, MPI_INT, win));
    CHECK_MPI(MPI_Win_flush(1, win));
    CHECK_MPI(MPI_Accumulate(brief, 16, MPI_INT, 1, N, 16, MPI_INT, MPI_SUM, win));
    CHECK_MPI(MPI_Win_flush(1, win));
    CHECK_MPI(MPI_Fetch_and_op(&one, &old, MPI_INT, 1, 0, MPI_SUM, win));
    CHECK_MPI(MPI_Win_flush(1, win));
    CHECK_MPI(MPI_Get(seen, N + 16, MPI_INT, 1, 0, N + 16, MPI_INT, win));
    CHECK_MPI(MPI_Win_flush(1, win));
    CHECK(old == seed);
    for (int i = 0; i < N + 16; i++) {
        int expected = i >= N ? 2 * (seed - (i - N)) : i == 0 ? seed + 1 : 5 * i + seed;
        if (seen[i] != expected) {
            report_fail("element %d is %d and not %d", i, seen[i], expected);
            break;
        }
    }
}

static void CUDA_CB function(void *seed)
{
    const unsigned long long before = report_variable("gpudt_window_direct");

    operate(*(const int *) seed);
    CHECK(report_variable("gpudt_window_direct") == before);
    ncalls++;
}

static void origin(void)
{
    static int seeds[] = { 100, 200 };
    unsigned long long before;
    struct mem mem;
    CUstream stream;

    sent = malloc(N * sizeof(int));
    seen = malloc((N + 16) * sizeof(int));
    /* so that this process has a GPU in use */
    mem_alloc(&mem, MEM__DEVICE, 64);
    CHECK_MPI(MPI_Put(mem.addr, 16, MPI_INT, 1, 0, 16, MPI_INT, win));
    CHECK_MPI(MPI_Win_flush(1, win));
    CU(StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 2; i++) {
        before = report_variable("gpudt_window_direct");
        operate(i);
        CHECK(report_variable("gpudt_window_direct") > before);
        CU(LaunchHostFunc(stream, function, &seeds[i]));
        CU(StreamSynchronize(stream));
    }
    CHECK(ncalls == 2);
    CU(StreamDestroy(stream));
    mem_free(&mem);
    free(sent);
    free(seen);
}

int main(void)
{
    int provided, rank;
    struct mem window;

    report_time_limit(60);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    if (!report_may_thread(NULL)) {
        MPI_Finalize();
        return report_done();
    }
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    mem_alloc(&window, MEM__DEVICE, (N + 16) * sizeof(int));
    CHECK_MPI(MPI_Win_create(window.addr, window.sz, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                             &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK_MPI(MPI_Win_lock_all(0, win));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        origin();
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Win_unlock_all(win));
    CHECK_MPI(MPI_Win_free(&win));
    mem_free(&window);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
