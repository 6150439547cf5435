/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests MPI calls in a host function of a stream (cudaLaunchHostFunc), where the driver refuses
 * pointer queries: host memory of every kind is packed, sent and received; GPU memory is an MPI
 * error with the driver's text. */

#include "gpu.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define N (1 << 20)             /* ints; too many for the brk(2) heap */

static struct mem device;
static int *from, *to, *packed;
static int ncalls;

static void from_fill(int seed)
{
    for (int i = 0; i < N; i++)
        from[i] = i * 7 + seed;
}

/* Host to host: plain, with a datatype, packed. */
static void CUDA_CB host_calls(void *seed_arg)
{
    int seed = *(const int *) seed_arg, position = 0;
    MPI_Datatype type;

    from_fill(seed);
    CHECK_MPI(MPI_Sendrecv(from, N, MPI_INT, 0, 0, to, N, MPI_INT, 0, 0, MPI_COMM_SELF,
                           MPI_STATUS_IGNORE));
    report_compare("received", to, from, N * sizeof(int));

    MPI_Type_vector(N / 4, 2, 4, MPI_INT, &type);
    MPI_Type_commit(&type);
    memset(packed, 0, N * sizeof(int));
    CHECK_MPI(MPI_Pack(from, 1, type, packed, N * (int) sizeof(int), &position, MPI_COMM_SELF));
    CHECK(position == N / 2 * (int) sizeof(int));
    for (int i = 0; i < N / 2; i++)
        to[i] = (i / 2 * 4 + i % 2) * 7 + seed;
    report_compare("packed", packed, to, N / 2 * sizeof(int));
    MPI_Type_free(&type);
    ncalls++;
}

static void CUDA_CB gpu_call(void *unused)
{
    int position = 0, there = 0, err;

    (void) unused;
    err = MPI_Pack(device.addr, 1, MPI_INT, &there, sizeof(there), &position, MPI_COMM_SELF);
    CHECK(err != MPI_SUCCESS);
    CHECK(err == MPI_SUCCESS || strstr(report_mpi_text(err), "cuPointerGetAttributes failed"));
    CHECK(!gpu.is_emulated || strstr(report_mpi_text(err), "CUDA_ERROR_NOT_PERMITTED"));
    ncalls++;
}

static int *host_alloc(void)
{
    int *memory = malloc(N * sizeof(int));

    memset(memory, 0, N * sizeof(int));
    return memory;
}

int main(void)
{
    int provided, seeds[2] = { 3, 4 }, there = 0, position = 0;
    struct mem pinned;
    CUstream stream;

    report_time_limit(60);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    if (!report_may_thread(NULL)) {
        MPI_Finalize();
        return report_done();
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    mem_alloc(&device, MEM__DEVICE, 4096);
    mem_alloc(&pinned, MEM__PINNED, N * sizeof(int));
    CHECK_MPI(MPI_Pack(device.addr, 1, MPI_INT, &there, sizeof(there), &position, MPI_COMM_SELF));
    to = host_alloc();
    packed = host_alloc();

    CU(StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    from = host_alloc();
    CU(LaunchHostFunc(stream, host_calls, &seeds[0]));
    CU(StreamSynchronize(stream));
    free(from);
    from = (int *) pinned.addr;
    CU(LaunchHostFunc(stream, host_calls, &seeds[1]));
    CU(LaunchHostFunc(stream, gpu_call, NULL));
    CU(StreamSynchronize(stream));
    CHECK(ncalls == 3);

    CU(StreamDestroy(stream));
    free(to);
    free(packed);
    mem_free(&pinned);
    mem_free(&device);
    MPI_Finalize();
    return report_done();
}
