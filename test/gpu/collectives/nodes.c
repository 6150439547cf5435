/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Reductions and broadcasts of GPU buffers on several nodes (MPIR_CVAR_NUM_CLIQUES), where each node
 * does its part without messages. Performance variables tell whether they went that way. */

#include "collectives.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, nprocs;
static enum mem_kind kind = MEM__DEVICE;        /* memory of this process: one of two GPUs */

/* Parts and blocks that all processes have done directly. */
static long direct_sum(void)
{
    long own = (long) (report_variable("gpudt_reductions_direct") +
                       report_variable("gpudt_collective_pulls")), sum;

    CHECK_MPI(MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    return sum;
}

/* An exact sum or a broadcast of n integers, after which all that have a result know each element.
 *   mem  (IN)  of this process, of n integers */
static void ints_call(MPI_Comm comm, enum what what, void *addr, int n, int root)
{
    switch (what) {
        case CALL__allreduce:
            CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, addr, n, MPI_INT, MPI_SUM, comm));
            break;
        case CALL__reduce:
            CHECK_MPI(MPI_Reduce(rank == root ? MPI_IN_PLACE : addr, addr, n, MPI_INT, MPI_SUM,
                                 root, comm));
            break;
        default:
            CHECK_MPI(MPI_Bcast(addr, n, MPI_INT, root, comm));
    }
}

/* One call on integers, whose results are compared with what they must be. Their buffer is in host
 * memory in one process, unless that is -1. */
static void ints_run(MPI_Comm comm, enum what what, struct mem *mem, int n, int root, int on_host)
{
    int *values = malloc((size_t) n * sizeof(int)), at_root = what == CALL__reduce, expected;

    for (int i = 0; i < n; i++)
        values[i] = 3 * i + rank * rank;
    mem_write(mem, 0, values, (size_t) n * sizeof(int));
    ints_call(comm, what, rank == on_host ? (void *) values : mem->addr, n, root);
    if (rank != on_host)
        mem_read(mem, 0, values, (size_t) n * sizeof(int));
    for (int i = 0; i < n && (!at_root || rank == root); i++) {
        expected = what == CALL__bcast ? 3 * i + root * root :
            3 * i * nprocs + (nprocs - 1) * nprocs * (2 * nprocs - 1) / 6;
        if (values[i] != expected) {
            report_fail("%s of %d from or to %d: element %d is %d, not %d", call_name(what), n, root,
                        i, values[i], expected);
            break;
        }
    }
    free(values);
}

static const enum what whats[] = { CALL__allreduce, CALL__reduce, CALL__bcast };

/* Every call goes this way once it has paid off to map memory.
 *   ncalls  (IN)  after which it must have */
static void ints_all(MPI_Comm comm, int n, int ncalls)
{
    struct mem mem;

    mem_alloc(&mem, kind, (size_t) n * sizeof(int));
    for (int k = 0; k < 3; k++) {
        long before = direct_sum();
        for (int i = 0; i < ncalls; i++)
            ints_run(comm, whats[k], &mem, n, i % nprocs, -1);
        if (direct_sum() == before)
            report_fail("none of %d calls of %s, %d elements, was direct on a node", ncalls,
                        call_name(whats[k]), n);
    }
    mem_free(&mem);
}

/* One process with its data in host memory, or all, keep all from this way. Later calls come back. */
static void mixed_run(MPI_Comm comm)
{
    enum { N = 5000 };
    struct mem mem, host;
    long before;

    mem_alloc(&mem, kind, N * sizeof(int));
    mem_alloc(&host, MEM__PAGEABLE, N * sizeof(int));
    for (int i = 0; i < 12; i++) {
        for (int k = 0; k < 3; k++)
            ints_run(comm, whats[k], &mem, N, i % nprocs, (i + k) % nprocs);
    }
    before = direct_sum();
    for (int k = 0; k < 3; k++)
        ints_run(comm, whats[k], &host, N, k, -1);
    CHECK(direct_sum() == before);
    for (int i = 0; i < 64; i++)
        ints_run(comm, whats[i % 3], &mem, N, i % nprocs, -1);
    CHECK(direct_sum() > before);
    mem_free(&mem);
    mem_free(&host);
}

/* Random datatypes and roots, compared with the same calls on host memory. */
static void bcasts_run(MPI_Comm comm, unsigned long seed)
{
    long before = direct_sum();

    for (unsigned long i = 0; i < 60; i++)
        moving_direct_call(comm, CALL__bcast, MODE__BLOCKING, kind, seed * 1000 + i);
    CHECK(direct_sum() > before);
}

void nodes_run(unsigned long seed)
{
    const char *coll = getenv("MPIR_CVAR_GPUDT_COLL");
    const int is_forced = coll && strcmp(coll, "always") == 0;
    MPI_Comm comm;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    if (mem_exists(MEM__OTHER_DEVICE) && rank % 2)
        kind = MEM__OTHER_DEVICE;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    ints_all(comm, 1, is_forced ? 2 : 40);
    ints_all(comm, 5000, is_forced ? 2 : 40);
    ints_all(comm, 300000, is_forced ? 2 : 10);
    mixed_run(comm);
    if (is_forced)
        bcasts_run(comm, seed);
    MPI_Comm_free(&comm);
}
