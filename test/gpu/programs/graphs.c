/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests launches by graphs. Launches that repeat are those of a graph, from the second one on, as
 * MPIR_CVAR_GPUDT_GRAPH_AFTER must be 2. A driver call for graphs that fails costs no transfer, and
 * the number of graphs is bounded. With "none" there are no graphs. That many launches of one graph are
 * under way at once is tested by batches. */

#include "gpu.h"
#include "report.h"
#include "strided.h"

#include <string.h>

enum { AFTER = 2, ROUNDS = 10, MAX_GRAPHS = 7 * 64 };

static unsigned long long by_graph(void)
{
    return report_variable("gpudt_graph_launches");
}

/* Equal transfers, of which each is one launch of two kinds in turns. */
static void repeated(int is_none)
{
    unsigned long long before = by_graph(), expected = is_none ? 0 : 2 * (ROUNDS - AFTER + 1);
    struct strided s;

    strided_make(&s, MEM__DEVICE, MEM__DEVICE, 100, 0);
    for (int i = 0; i < ROUNDS && strided_both_ways(&s); i++);
    strided_free(&s);
    if (by_graph() - before != expected)
        report_fail("%llu launches by graphs, not %llu", by_graph() - before, expected);
}

/* Graphs whose numbers of blocks take each other's places. */
static void many_kinds(void)
{
    struct strided s;

    for (int n = 1000; n < 200000; n += n / 8) {
        strided_make(&s, MEM__DEVICE, MEM__DEVICE, n, n % 2);
        for (int i = 0; i < 3 && strided_both_ways(&s); i++);
        strided_free(&s);
    }
    if (gpu.is_emulated)
        CHECK(gpu.emu_live("graph") > 2 && gpu.emu_live("graph") <= 2 * MAX_GRAPHS);
}

/* A call fails once, in a transfer that makes a graph or in one that uses it. Leaks are found at the end
 * of the program. */
static void faults(void)
{
    static const char *const calls[] = {
        "cuGraphCreate", "cuGraphAddKernelNode", "cuGraphKernelNodeSetAttribute",
        "cuGraphInstantiateWithFlags", "cuGraphExecKernelNodeSetParams", "cuGraphLaunch"
    };
    struct strided s;

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        /* Of another number of blocks for each call */
        strided_make(&s, MEM__DEVICE, MEM__DEVICE, 250000 + 20000 * (int) i, 0);
        gpu.emu_fail_set(calls[i], 1, 999, 1);
        for (int k = 0; k < 2 * AFTER + 2 && strided_both_ways(&s); k++);
        if (gpu.emu_failed_count() == 0)
            report_fail("%s is not called", calls[i]);
        gpu.emu_fail_set(NULL, 0, 0, 1);
        strided_free(&s);
    }
}

int main(int argc, char **argv)
{
    int is_none = argc > 1 && strcmp(argv[1], "none") == 0, provided;

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    repeated(is_none);
    if (!is_none) {
        many_kinds();
        if (gpu.is_emulated)
            faults();
    }
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
