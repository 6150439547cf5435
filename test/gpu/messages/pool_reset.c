/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that the context that pinned the staging memory ends (cudaDeviceReset), and messages
 * work in its successor: the used parts of the pools, the own one and that of the peer, are
 * pinned again. Two processes.
 *
 *     pool_reset              device 0, between messages
 *     pool_reset other        messages of device 1 through memory that device 0 pinned
 *     pool_reset in-flight    the same, with such a message in flight: it completes, with or
 *                             without an error, and later messages are right, also after a
 *                             reset of device 1 */

#include "report.h"
#include "side.h"

#include <string.h>

#define BLOCK 64                /* ints, followed by a gap as long */
#define MANY 4000               /* blocks: about a megabyte */
#define ROUNDS 3

static int rank, other;
static MPI_Datatype blocks;     /* so that kernels are needed */

static void device_reset(int device)
{
    CUdevice dev;

    CU(DeviceGet(&dev, device));
    CU(DevicePrimaryCtxReset(dev));
    gpu_forget(device);
}

/* One message each way. */
static void exchange(enum mem_kind kind, int count, int tag)
{
    struct side s, r;

    side_make(&s, kind, blocks, count, 0);
    side_make(&r, kind, blocks, count, 0);
    side_fill(&s, 1 + rank);
    side_clear(&r, 1 + other);
    CHECK_MPI(MPI_Sendrecv(s.buf, count, blocks, other, tag, r.buf, count, blocks, other, tag,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    side_check(&r, "a buffer received", 1 + other, r.size);
    side_free(&r);
    side_free(&s);
}

/* Whether messages of a device are staged through pinned memory now; others use the engine's work
 * areas. */
static void expect_pinned(enum mem_kind kind, const char *what)
{
    unsigned long long staged;

    /* The end of a context is detected only in some messages */
    for (int i = 0; i < 100; i++)
        exchange(kind, 1, 2);
    exchange(kind, MANY, 2);
    staged = report_variable("gpudt_staged");
    exchange(kind, 2, 3);
    exchange(kind, MANY, 3);
    if (report_variable("gpudt_staged") != staged)
        report_fail("%s: memory of messages is not pinned", what);
}

static void between(void)
{
    unsigned long long pinned = 0;

    expect_pinned(MEM__DEVICE, "at first");
    for (int i = 0; i < ROUNDS; i++) {
        device_reset(0);
        gpu_set_current(0);
        expect_pinned(MEM__DEVICE, "after a reset");
        if (i == 0)
            pinned = report_variable("gpudt_pinned_bytes");
        CHECK(report_variable("gpudt_pinned_bytes") == pinned);
    }
}

static void other_device(void)
{
    expect_pinned(MEM__DEVICE, "device 0");
    expect_pinned(MEM__OTHER_DEVICE, "device 1");
    for (int i = 0; i < ROUNDS; i++) {
        device_reset(0);
        expect_pinned(MEM__OTHER_DEVICE, "device 1 after a reset of device 0");
        gpu_set_current(0);
        expect_pinned(MEM__DEVICE, "device 0 after its reset");
    }
}

static void in_flight(void)
{
    MPI_Request request;
    struct side s;

    expect_pinned(MEM__DEVICE, "device 0");
    side_make(&s, MEM__OTHER_DEVICE, blocks, MANY, 0);
    side_fill(&s, 1);
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0)
        CHECK_MPI(MPI_Isend(s.buf, MANY, blocks, other, 4, MPI_COMM_WORLD, &request));
    else
        CHECK_MPI(MPI_Irecv(s.buf, MANY, blocks, other, 4, MPI_COMM_WORLD, &request));
    for (int i = 0, flag; i < 1000; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    gpu_quiet(1);
    device_reset(0);
    gpu_quiet(0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* An operation in flight may have broken the context of device 1 */
    device_reset(1);
    memset(&s.mem, 0, sizeof(s.mem));
    side_free(&s);
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    gpu_set_current(0);
    expect_pinned(MEM__OTHER_DEVICE, "device 1 after all");
    expect_pinned(MEM__DEVICE, "device 0 after all");
}

int main(int argc, char **argv)
{
    MPI_Datatype resized;
    int provided;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);

    MPI_Type_contiguous(BLOCK, MPI_INT, &blocks);
    MPI_Type_create_resized(blocks, 0, 2 * BLOCK * sizeof(int), &resized);
    MPI_Type_free(&blocks);
    blocks = resized;
    MPI_Type_commit(&blocks);
    if (argc == 1)
        between();
    else if (strcmp(argv[1], "other") == 0)
        other_device();
    else
        in_flight();
    CHECK(report_variable("gpudt_fallbacks_pinned") == 0);
    MPI_Type_free(&blocks);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
