/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Reductions while a stream of the program is held, which continues only afterwards: they do not free
 * temporary buffers in GPU memory in order to make room for others, since the driver would wait for the stream. */

#include "collectives.h"
#include "report.h"

#include <stdlib.h>

#define MIB 1                   /* as MPIR_CVAR_GPUDT_TEMP_MIB */
#define DOUBLES (MIB << 16)     /* half of that */

static int nprocs;

/* Returns the number of temporary buffers that were not in GPU memory for want of room. */
static unsigned long long reduce(const struct mem *from, const struct mem *to, int n)
{
    unsigned long long without = report_variable("gpudt_fallbacks_memory");

    CHECK_MPI(MPI_Allreduce(from->addr, to->addr, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    return report_variable("gpudt_fallbacks_memory") - without;
}

static void sums_check(const struct mem *to, int n)
{
    double *host = malloc((size_t) n * sizeof(double));

    mem_read(to, 0, host, (size_t) n * sizeof(double));
    for (int i = 0; i < n; i++) {
        if (host[i] != (double) nprocs * (nprocs - 1) / 2 + (double) nprocs * i) {
            report_fail("element %d of %d is %g", i, n, host[i]);
            break;
        }
    }
    free(host);
}

void held_run(void)
{
    const int longer = DOUBLES / 4 * 5;
    double *host = malloc((size_t) longer * sizeof(double));
    struct mem from, to;
    CUstream stream;

    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    mem_alloc(&from, MEM__DEVICE, (size_t) longer * sizeof(double));
    mem_alloc(&to, MEM__DEVICE, (size_t) longer * sizeof(double));
    for (int i = 0; i < longer; i++)
        host[i] = world_rank + i;
    mem_write(&from, 0, host, (size_t) longer * sizeof(double));
    CHECK(reduce(&from, &to, DOUBLES) == 0);
    sums_check(&to, DOUBLES);

    stream = gpu_stream_hold();
    CHECK(reduce(&from, &to, longer) > 0);
    MPI_Barrier(MPI_COMM_WORLD);
    gpu_stream_release(stream);
    sums_check(&to, longer);

    mem_write(&to, 0, host, (size_t) longer * sizeof(double));
    CHECK(reduce(&from, &to, longer) == 0);
    sums_check(&to, longer);
    mem_free(&from);
    mem_free(&to);
    free(host);
}
