/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that MPI does not wait for work in the program's streams when it sees memory for the first
 * time: a stream that continues only after MPI_Sendrecv into new memory, or MPI_Pack from it, has
 * returned causes no deadlock and little delay. On a GPU that processes share it waits longer, since a
 * copy may be waiting for its turn. If the driver cannot mark memory, the default stream is not
 * queried repeatedly. */

#include "gpu.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N (1 << 20)
#define NEW 20                  /* buffers */

static int is_shared;
static char *host;

/* Uses memory in both directions. */
static void use(const struct mem *mem)
{
    int position = 0;

    CHECK_MPI(MPI_Sendrecv(host, N, MPI_BYTE, 0, 0, mem->addr, N, MPI_BYTE, 0, 0, MPI_COMM_SELF,
                           MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Pack(mem->addr, N, MPI_BYTE, host, N, &position, MPI_COMM_SELF));
}

/* The default stream waits for this stream. */
static void held_stream_check(enum mem_kind kind)
{
    struct mem fresh[NEW];
    CUstream stream;
    double begin, seconds;
    unsigned long long unfinished = report_variable("gpudt_memops_unfinished");

    for (int i = 0; i < NEW; i++)
        mem_alloc(&fresh[i], kind, N);
    stream = gpu_stream_hold();
    begin = MPI_Wtime();
    use(&fresh[0]);
    /* Afterwards it waits for a shorter time */
    if (is_shared && kind == MEM__DEVICE && MPI_Wtime() - begin < 5e-3)
        report_fail("waited %.6f s for copies to a shared GPU", MPI_Wtime() - begin);
    begin = MPI_Wtime();
    for (int i = 1; i < NEW; i++)
        use(&fresh[i]);
    seconds = MPI_Wtime() - begin;
    gpu_quiet(1);
    CHECK(gpu.StreamQuery(stream) == CUDA_ERROR_NOT_READY);
    gpu_quiet(0);
    unfinished = report_variable("gpudt_memops_unfinished") - unfinished;
    CHECK(kind == MEM__DEVICE ? unfinished == NEW : unfinished == 2 * NEW);
    if (seconds > 1)
        report_fail("%d new %s buffers took %.3f s beside a stream that does not go on", NEW,
                    mem_name(kind), seconds);
    gpu_stream_release(stream);
    for (int i = 0; i < NEW; i++)
        mem_free(&fresh[i]);
}

/* The driver refuses to mark memory. */
static void refused_check(const char *what)
{
    unsigned long long before;
    struct mem mem;
    long refused;

    mem_alloc(&mem, MEM__DEVICE, N);
    before = report_variable("gpudt_memops_waits");
    gpu.emu_fail_set(what, 1, CUDA_ERROR_NOT_SUPPORTED, 0);
    for (int i = 0; i < 10; i++)
        use(&mem);
    refused = gpu.emu_failed_count();
    gpu.emu_fail_set(NULL, 0, 0, 0);
    CHECK(refused > 0);
    if (report_variable("gpudt_memops_waits") - before > 1)
        report_fail("%llu waits for 20 messages where %s is refused",
                    report_variable("gpudt_memops_waits") - before, what);
    mem_free(&mem);
}

int main(int argc, char **argv)
{
    int provided;
    struct mem known;

    is_shared = argc > 1 && strcmp(argv[1], "shared") == 0;
    if (is_shared)
        setenv("MPIR_CVAR_GPUDT_SHARED_GPU", "yes", 1);
    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    host = malloc(N);
    memset(host, 1, N);
    if (argc > 1 && !is_shared) {
        refused_check(argv[1]);
    } else {
        /* Load kernels and allocate all memory before the stream is blocked */
        mem_alloc(&known, MEM__DEVICE, N);
        use(&known);
        held_stream_check(MEM__DEVICE);
        held_stream_check(MEM__POOL);
        mem_free(&known);
    }
    free(host);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
