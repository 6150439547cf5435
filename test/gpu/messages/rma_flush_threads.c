/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A thread's MPI_Win_flush waits for the operations that were started before it, not for those that another
 * thread goes on to start on the same memory. Two processes; with a GPU that is slow to start anything. */

#include "report.h"
#include "side.h"

#include <pthread.h>
#include <stdatomic.h>

#define N (1 << 20)             /* bytes */
#define NFLUSHES 3

static int rank, other;
static struct mem window, origin;
static MPI_Win win;
static atomic_int nputs, is_over;

static void *puts_go_on(void *unused)
{
    (void) unused;
    gpu_set_current(0);
    while (!is_over) {
        CHECK_MPI(MPI_Put(origin.addr, N, MPI_BYTE, other, 0, N, MPI_BYTE, win));
        nputs++;
    }
    return NULL;
}

int main(void)
{
    static unsigned char bytes[N], seen[N];
    pthread_t thread;
    int provided;

    report_time_limit(60);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    if (!report_may_thread(NULL)) {
        MPI_Finalize();
        return report_done();
    }
    gpu_set_current(0);
    mem_alloc(&window, MEM__DEVICE, N);
    mem_alloc(&origin, MEM__DEVICE, N);
    for (int i = 0; i < N; i++)
        bytes[i] = (unsigned char) (i + i / 256 + rank);
    mem_write(&origin, 0, bytes, N);
    CHECK_MPI(MPI_Win_create(window.addr, N, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    CHECK_MPI(MPI_Win_lock_all(0, win));
    pthread_create(&thread, NULL, puts_go_on, NULL);
    for (int i = 0; i < NFLUSHES; i++) {
        const int before = nputs;

        CHECK_MPI(MPI_Win_flush(other, win));
        while (nputs < before + 2) ;    /* they do go on */
        if (i == 1)
            CHECK_MPI(MPI_Win_flush_all(win));
    }
    is_over = 1;
    pthread_join(thread, NULL);
    CHECK_MPI(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        bytes[i] = (unsigned char) (i + i / 256 + other);
    mem_read(&window, 0, seen, N);
    report_compare("the window", seen, bytes, N);
    CHECK_MPI(MPI_Win_free(&win));
    mem_free(&window);
    mem_free(&origin);
    MPI_Finalize();
    return report_done();
}
