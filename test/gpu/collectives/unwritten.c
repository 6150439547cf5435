/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* With MPIR_CVAR_ENABLE_FT=1, a process may have returned an error that others do not know of yet: then no
 * collective writes to memory of another process. Results are in an allocation of their own here, and no
 * process maps that of another one. Each process needs a GPU of its own. */

#include "collectives.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define N (1 << 18)             /* ints; long enough for all that is done with long buffers */

static int rank, nprocs;
static struct mem from, to;
static int *values;

/* Compare results, blocks of n elements: element i of block k is a * i + b + k. Then reset them. */
static void check(const char *what, int nblocks, int n, int a, int b)
{
    mem_read(&to, 0, values, (size_t) nblocks * n * sizeof(int));
    for (int i = 0; i < nblocks * n; i++) {
        const int expected = a * (i % n) + b + i / n;

        if (values[i] != expected) {
            report_fail("%s: element %d is %d, expected %d", what, i, values[i], expected);
            break;
        }
    }
    memset(values, 0xff, N * sizeof(int));
    mem_write(&to, 0, values, N * sizeof(int));
}

static void all_calls(void)
{
    const int sum = nprocs * (nprocs - 1) / 2, part = N / nprocs;

    CHECK_MPI(MPI_Allreduce(from.addr, to.addr, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    check("MPI_Allreduce", 1, N, nprocs, sum);
    CHECK_MPI(MPI_Reduce(from.addr, to.addr, N, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD));
    if (rank == 0)
        check("MPI_Reduce", 1, N, 1, nprocs - 1);
    CHECK_MPI(MPI_Reduce_scatter_block(from.addr, to.addr, part, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    check("MPI_Reduce_scatter_block", 1, part, nprocs, nprocs * part * rank + sum);
    CHECK_MPI(MPI_Allgather(from.addr, part, MPI_INT, to.addr, part, MPI_INT, MPI_COMM_WORLD));
    check("MPI_Allgather", nprocs, part, 1, 0);
    CHECK_MPI(MPI_Alltoall(from.addr, part, MPI_INT, to.addr, part, MPI_INT, MPI_COMM_WORLD));
    check("MPI_Alltoall", nprocs, part, 1, part * rank);
    CHECK_MPI(MPI_Bcast(rank ? to.addr : from.addr, N, MPI_INT, 0, MPI_COMM_WORLD));
    if (rank)
        check("MPI_Bcast", 1, N, 1, 0);
}

void unwritten_run(void)
{
    unsigned long long reductions, pulls;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    values = malloc(N * sizeof(int));
    mem_alloc(&from, rank % 2 && mem_exists(MEM__OTHER_DEVICE) ? MEM__OTHER_DEVICE : MEM__DEVICE, N * sizeof(int));
    mem_alloc(&to, from.kind, N * sizeof(int));
    for (int i = 0; i < N; i++)
        values[i] = i + rank;
    mem_write(&from, 0, values, N * sizeof(int));
    reductions = report_variable("gpudt_reductions_direct");
    pulls = report_variable("gpudt_collective_pulls");
    for (int i = 0; i < 3; i++)
        all_calls();
    CHECK(report_variable("gpudt_reductions_direct") > reductions);
    CHECK(report_variable("gpudt_collective_pulls") > pulls);
    if (report_variable("gpudt_ipc_mapped") > nprocs - 1)
        report_fail("%llu allocations of others are mapped", report_variable("gpudt_ipc_mapped"));
    mem_free(&to);
    mem_free(&from);
    free(values);
}
