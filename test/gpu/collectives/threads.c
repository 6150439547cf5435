/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* While a collective waits for a GPU that works for long, other threads can call MPI. To be run on the
 * emulated driver, with a delay of three seconds for all work. */

#include "collectives.h"
#include "report.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define N 4096                  /* integers */
#define MAX_GAP 2               /* seconds between two probes; the delay is three */

static MPI_Comm probed;
static atomic_int is_over;
static _Atomic double max_gap;  /* seconds between two probes */

static void *probe(void *unused)
{
    double last = MPI_Wtime(), now;
    int found;

    (void) unused;
    while (!atomic_load(&is_over)) {
        CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, probed, &found, MPI_STATUS_IGNORE));
        now = MPI_Wtime();
        if (now - last > atomic_load(&max_gap))
            atomic_store(&max_gap, now - last);
        last = now;
    }
    return NULL;
}

/* Int i of a process's operand. */
static int value(int r, int i)
{
    return 10000 * r + i;
}

/* Compare what a process has received: sums, or blocks. */
static void result_check(struct mem *to, int rank, int nprocs, int are_sums, const char *name)
{
    const int n = N / nprocs;
    int seen[N], expected[N];

    for (int i = 0; i < N; i++)
        expected[i] = are_sums ? nprocs * i + 10000 * (nprocs * (nprocs - 1) / 2) :
            value(i / n, rank * n + i % n);
    mem_read(to, 0, seen, sizeof(seen));
    report_compare(name, seen, expected, (size_t) (are_sums ? N : n * nprocs) * sizeof(int));
}

static void calls_run(struct mem *from, struct mem *to)
{
    static const char *const names[] = { "MPI_Allreduce", "MPI_Alltoall", "MPI_Iallreduce" };
    MPI_Request request;
    double gap, begin;
    int nprocs, rank, values[N];

    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 5; i++) {
        const char *name = names[i == 4 ? 2 : i % 2];

        for (int k = 0; k < N; k++)
            values[k] = value(rank, k);
        mem_write(from, 0, values, sizeof(values));
        memset(values, 0xff, sizeof(values));
        mem_write(to, 0, values, sizeof(values));
        MPI_Barrier(MPI_COMM_WORLD);
        atomic_store(&max_gap, 0);
        begin = MPI_Wtime();
        if (i == 4) {
            CHECK_MPI(MPI_Iallreduce(from->addr, to->addr, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                     &request));
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else if (i % 2 == 0) {
            CHECK_MPI(MPI_Allreduce(from->addr, to->addr, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        } else {
            CHECK_MPI(MPI_Alltoall(from->addr, N / nprocs, MPI_INT, to->addr, N / nprocs, MPI_INT,
                                   MPI_COMM_WORLD));
        }
        if (MPI_Wtime() - begin <= MAX_GAP)
            report_fail("%s took %.1f s: it did not wait for the GPU", name, MPI_Wtime() - begin);
        usleep(100000);         /* the thread may still be in a call that had to wait */
        gap = atomic_load(&max_gap);
        if (gap > MAX_GAP)
            report_fail("no MPI_Iprobe for %.1f s during %s", gap, name);
        result_check(to, rank, nprocs, i % 2 == 0, name);
    }
}

void threads_run(void)
{
    struct mem from, to;
    pthread_t thread;

    if (!report_may_thread(NULL))
        return;
    mem_alloc(&from, MEM__DEVICE, N * sizeof(int));
    mem_alloc(&to, MEM__DEVICE, N * sizeof(int));
    MPI_Comm_dup(MPI_COMM_SELF, &probed);
    if (pthread_create(&thread, NULL, probe, NULL) == 0) {
        calls_run(&from, &to);
        atomic_store(&is_over, 1);
        pthread_join(thread, NULL);
    }
    CHECK(atomic_load(&is_over));
    MPI_Comm_free(&probed);
    mem_free(&from);
    mem_free(&to);
}
