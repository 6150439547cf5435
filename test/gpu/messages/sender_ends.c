/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that a process starts to send GPU memory, and its context ends before the receiver can ask
 * for the data: the message completes or is an error, in both processes, and later messages are
 * right. Two processes.
 *
 * Usage: sender_ends HOW [pushed]
 *   destroyed   the context is one that the driver has made for the program
 *   reset       it is the primary context (cudaDeviceReset)
 *   pushed      the sender is to copy to the receiver's memory (MPIR_CVAR_GPUDT_DIRECT=push), and
 *               cannot any more: an error */

#include "report.h"
#include "gpu.h"

#include <stdbool.h>
#include <string.h>

enum { BLOCKS = 4000, BLOCK = 16, SPAN = BLOCKS * BLOCK * 2, ROUNDS = 3 };

/* Sent strided or not; the receiver's buffer always is the other one. */
static MPI_Datatype strided, whole;
static int rank;
static bool is_primary, are_pushed;

static int host[SPAN];

/* The sender's context and memory. */
struct own {
    CUcontext ctx;
    CUdeviceptr mem;
};

static void own_make(struct own *own, int seed)
{
    CUdevice device;
    CUcontext popped;

    CU(DeviceGet(&device, 0));
    if (is_primary) {
        CU(DevicePrimaryCtxRetain(&own->ctx, device));
        CU(CtxPushCurrent(own->ctx));
    } else {
        CU(CtxCreate(&own->ctx, NULL, 0, device));
    }
    CU(MemAlloc(&own->mem, sizeof(host)));
    for (int i = 0; i < SPAN; i++)
        host[i] = seed + i;
    CU(MemcpyAsync(own->mem, (CUdeviceptr) host, sizeof(host), NULL));
    CU(StreamSynchronize(NULL));
    CU(CtxPopCurrent(&popped));
}

static void own_end(struct own *own)
{
    CUdevice device;

    if (is_primary) {
        CU(DeviceGet(&device, 0));
        CU(DevicePrimaryCtxReset(device));      /* the reference to it is lost as well */
    } else {
        CU(CtxDestroy(own->ctx));
    }
}

/* Element i of a message, as a place in the sender's buffer. */
static int place_of(int i, bool is_strided)
{
    return is_strided ? i / BLOCK * 2 * BLOCK + i % BLOCK : i;
}

/* What the receiver has got. */
static void received_check(const struct mem *mem, int seed, bool is_strided)
{
    mem_read(mem, 0, host, sizeof(host));
    for (int i = 0; i < BLOCKS * BLOCK; i++) {
        const int seen = host[place_of(i, !is_strided)];
        if (seen != seed + place_of(i, is_strided)) {
            report_fail("element %d of message %d is %d", i, seed, seen);
            break;
        }
    }
}

/* Make progress, so that the request to send is out. */
static void progress(void)
{
    for (int i = 0, flag; i < 1000; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

/* A message from process 0 to 1.
 *   ends  (IN)  the context ends before the receive is posted */
static void message(struct own *own, const struct mem *mem, int seed, bool is_strided, bool ends)
{
    MPI_Request req;
    int err, errors[2];

    if (rank == 0) {
        CHECK_MPI(MPI_Isend((void *) own->mem, 1, is_strided ? strided : whole, 1, 0,
                            MPI_COMM_WORLD, &req));
        progress();
        if (ends)
            own_end(own);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        CHECK_MPI(MPI_Irecv(mem->addr, 1, is_strided ? whole : strided, 0, 0, MPI_COMM_WORLD,
                            &req));
    err = MPI_Wait(&req, MPI_STATUS_IGNORE);
    MPI_Allgather(&err, 1, MPI_INT, errors, 1, MPI_INT, MPI_COMM_WORLD);
    if ((errors[0] == MPI_SUCCESS) != (errors[1] == MPI_SUCCESS))
        report_fail("message %d: errors %x of the sender, %x of the receiver", seed, errors[0],
                    errors[1]);
    if (!ends)
        CHECK_MPI(err);
    else if (are_pushed)
        CHECK(err != MPI_SUCCESS);
    if (rank == 1 && err == MPI_SUCCESS)
        received_check(mem, seed, is_strided);
}

int main(int argc, char **argv)
{
    struct own own;
    struct mem mem;
    int seed = 1, provided;

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 2 || gpu_open() == 0)
        return 1;
    is_primary = strcmp(argv[1], "reset") == 0;
    are_pushed = argc == 3;
    MPI_Type_vector(BLOCKS, BLOCK, 2 * BLOCK, MPI_INT, &strided);
    MPI_Type_contiguous(BLOCKS * BLOCK, MPI_INT, &whole);
    MPI_Type_commit(&strided);
    MPI_Type_commit(&whole);
    if (rank == 1)
        mem_alloc(&mem, mem_exists(MEM__OTHER_DEVICE) ? MEM__OTHER_DEVICE : MEM__DEVICE,
                  sizeof(host));
    for (int i = 0; i < 4 * ROUNDS; i++, seed += SPAN) {
        const bool is_strided = i % 2, was_used = i / 2 % 2;

        if (rank == 0)
            own_make(&own, seed);
        if (was_used)
            message(&own, &mem, seed, is_strided, false);
        message(&own, &mem, seed, is_strided, true);
        /* and in a new context, which may be at the same address */
        seed += SPAN;
        if (rank == 0)
            own_make(&own, seed);
        message(&own, &mem, seed, !is_strided, false);
        if (rank == 0)
            own_end(&own);
    }
    CHECK(!are_pushed || rank == 1 || report_variable("gpudt_direct_pushes") > 0);
    if (rank == 1)
        mem_free(&mem);
    MPI_Type_free(&strided);
    MPI_Type_free(&whole);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
