/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that the staging pool allocates and pins memory in proportion to its use: little for the
 * first short message, and no more for the thousandth. Also for the use of another process's pool.
 * Two processes. */

#include "report.h"
#include "side.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (1024.0 * 1024)
#define BURST 100

static int rank, other;

/* Bytes of memory allocated for this process's pool. */
static double pool_bytes(void)
{
    char path[300], link[64];
    double sum = 0;
    DIR *dir = opendir("/proc/self/fd");

    CHECK(dir != NULL);
    for (struct dirent * entry; dir && (entry = readdir(dir)) != NULL;) {
        struct stat st;
        ssize_t n;
        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        n = readlink(path, link, sizeof(link));
        if (n > 0 && strncmp(link, "/memfd:mpich-gpudt", 18) == 0 && stat(path, &st) == 0)
            sum += st.st_blocks * 512.0;
    }
    if (dir)
        closedir(dir);
    return sum;
}

/* n messages from rank 0 to rank 1, all in flight at once. */
static void messages(int n, int count)
{
    struct side sides[BURST];
    MPI_Request requests[BURST];
    MPI_Status statuses[BURST];

    for (int i = 0; i < n; i++) {
        side_make(&sides[i], MEM__DEVICE, MPI_INT, count, 0);
        if (rank == 0)
            side_fill(&sides[i], i);
        else
            side_clear(&sides[i], i);
    }
    for (int i = 0; i < n; i++) {
        if (rank == 0)
            CHECK_MPI(MPI_Isend(sides[i].buf, count, MPI_INT, other, 1, MPI_COMM_WORLD,
                                &requests[i]));
        else
            CHECK_MPI(MPI_Irecv(sides[i].buf, count, MPI_INT, other, 1, MPI_COMM_WORLD,
                                &requests[i]));
    }
    CHECK_MPI(MPI_Waitall(n, requests, statuses));
    for (int i = 0; i < n; i++) {
        side_check(&sides[i], "a buffer", i, sides[i].size);
        side_free(&sides[i]);
    }
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* Check the pinned memory of the receiver and its pool, between a minimum and a maximum, in MiB. */
static void expect(const char *what, double pinned_min, double pinned_max, double has_min,
                   double has_max)
{
    double pinned = report_variable("gpudt_pinned_bytes") / MIB, has = pool_bytes() / MIB;

    if (pinned > pinned_max || (rank == 1 && pinned < pinned_min))
        report_fail("%s: %.1f MiB are pinned, not %.1f to %.1f", what, pinned, pinned_min,
                    pinned_max);
    if (has > has_max || (rank == 1 && has < has_min))
        report_fail("%s: the pool has %.2f MiB, not %.2f to %.2f", what, has, has_min, has_max);
}

int main(void)
{
    int provided;

    report_time_limit(100);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);

    messages(1, 2);
    expect("one message of 8 bytes", 1, 2, 0.01, 1.2);
    for (int i = 0; i < 20; i++)
        messages(1, 2);
    expect("more, one by one", 1, 2, 0.01, 1.2);
    messages(BURST, 2);
    expect("many at once", 1, 4, 0.01, 3.2);
    messages(1, 1024 * 1024 / 4);
    expect("one of 1 MiB", 3, 6, 1, 5.2);
    messages(1, 16 * 1024 * 1024 / 4);
    /* The emulated driver registers memory at once, so the limit on growth has no effect there */
    expect("one of 16 MiB", 7, 22, 1, 21.2);
    CHECK(report_variable("gpudt_fallbacks_pinned") == 0);
    CHECK(report_variable("gpudt_fallbacks_share") == 0);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
