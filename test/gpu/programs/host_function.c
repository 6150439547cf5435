/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests MPI calls in a host function of a stream (cudaLaunchHostFunc), where the driver refuses
 * pointer queries: host memory of every kind is packed, sent and received; GPU memory is an MPI
 * error with the driver's text; and messages on GPU memory that the program has started before, which
 * cannot be advanced there, are complete and right later. */

#include "gpu.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define N (1 << 20)             /* ints; too many for the brk(2) heap */
#define LONG (32 << 20)         /* bytes of a copy that is in flight for some milliseconds */
#define NMESSAGES 4             /* contiguous ones and those of a vector in turn */

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

static MPI_Request requests[2 * NMESSAGES];

/* Progress, while GPU messages are in flight. */
static void CUDA_CB progress_calls(void *unused)
{
    int flag;

    (void) unused;
    for (int i = 0; i < 100; i++) {
        CHECK_MPI(MPI_Sendrecv(from, 1, MPI_INT, 0, 0, to, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_Testall(2 * NMESSAGES, requests, &flag, MPI_STATUSES_IGNORE));
    }
    ncalls++;
}

/* Messages to this process from GPU memory to GPU memory, of which a host function sees some in flight. */
static void test_in_flight(CUstream stream)
{
    struct mem source, target;
    MPI_Datatype vector;
    char *expected = malloc(LONG), *seen = malloc(LONG);

    mem_alloc(&source, MEM__DEVICE, LONG);
    mem_alloc(&target, MEM__DEVICE, LONG);
    for (int i = 0; i < LONG; i++)
        expected[i] = (char) (i * 7 + i / 1000);
    mem_write(&source, 0, expected, LONG);
    MPI_Type_vector(LONG / 2 / NMESSAGES / 8, 8, 16, MPI_BYTE, &vector);
    MPI_Type_commit(&vector);
    mem_read(&target, 0, seen, LONG);
    for (int i = 0; i < NMESSAGES; i++) {
        const MPI_Datatype type = i % 2 ? vector : MPI_BYTE;
        const int count = i % 2 ? 1 : LONG / NMESSAGES;
        const size_t at = (size_t) i * (LONG / NMESSAGES);

        if (i % 2) {
            for (size_t j = 0; j < LONG / NMESSAGES; j += 16)
                memcpy(seen + at + j, expected + at + j, 8);
        } else {
            memcpy(seen + at, expected + at, LONG / NMESSAGES);
        }
        CHECK_MPI(MPI_Irecv(target.addr + at, count, type, 0, i, MPI_COMM_SELF, &requests[2 * i]));
        CHECK_MPI(MPI_Isend(source.addr + at, count, type, 0, i, MPI_COMM_SELF, &requests[2 * i + 1]));
    }
    CU(LaunchHostFunc(stream, progress_calls, NULL));
    CU(StreamSynchronize(stream));
    CHECK_MPI(MPI_Waitall(2 * NMESSAGES, requests, MPI_STATUSES_IGNORE));
    mem_read(&target, 0, expected, LONG);
    report_compare("in flight", expected, seen, LONG);
    MPI_Type_free(&vector);
    mem_free(&source);
    mem_free(&target);
    free(expected);
    free(seen);
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
    test_in_flight(stream);
    CHECK(ncalls == 4);

    CU(StreamDestroy(stream));
    free(to);
    free(packed);
    mem_free(&pinned);
    mem_free(&device);
    MPI_Finalize();
    return report_done();
}
