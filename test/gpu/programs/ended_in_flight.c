/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that the program may destroy a context while a short kernel of an operation runs in it: the
 * operation soon completes, with or without an error, and later calls work. With "reset" it is the
 * device's primary context, which is created again at the same address before the operation is
 * polled; and some operations have several chunks. Emulated driver only, with delayed operations:
 * see check-gpu. */

#include "mpiimpl.h"
#include "gpudt.h"

#include "gpu.h"
#include "report.h"
#include "strided.h"

#include <stdlib.h>
#include <string.h>

#define N 100                   /* ints, moved by one block */
#define ROUNDS 20

static int nseen;

/* Whether a transfer is in flight. On a busy machine it may have ended in the call that started it. */
static bool op_seen(const MPIR_Gpudt_op * op)
{
    nseen += op != NULL;
    return op != NULL;
}

static void run(struct strided *s, bool is_waited_for)
{
    MPIR_Gpudt_op *op = NULL;
    CUdeviceptr user, packed;
    CUdevice device;
    CUcontext ctx, popped;
    MPI_Aint actual;
    bool handled;

    CU(DeviceGet(&device, 0));
    CU(CtxCreate(&ctx, NULL, 0, device));
    CU(MemAlloc(&user, N * 12));
    CU(MemAlloc(&packed, N * 4));
    CU(CtxPopCurrent(&popped));
    CHECK_MPI(MPIR_Gpudt_ipack((void *) user, 1, s->type, 0, (void *) packed, N * 4, &actual, &op,
                               &handled));
    CHECK(handled);
    CU(CtxDestroy(ctx));
    if (!op_seen(op))
        return;
    if (is_waited_for) {
        (void) MPIR_Gpudt_wait(op);
    } else {
        int is_done = 0;
        while (!is_done)
            (void) MPIR_Gpudt_test(op, &is_done);
    }
}

/* Device 1, so that the context of the other transfers stays. */
static void reset_run(struct strided *s, bool is_waited_for, bool is_long)
{
    MPI_Aint actual, count = is_long ? 300 : 1;
    MPIR_Gpudt_op *op = NULL;
    CUdeviceptr user;
    CUdevice device;
    CUcontext ctx;
    bool handled;
    char *packed = malloc(count * N * 4);
    int err = MPI_SUCCESS, is_done = 0;

    CU(DeviceGet(&device, 1));
    CU(DevicePrimaryCtxRetain(&ctx, device));
    CU(CtxPushCurrent(ctx));
    CU(MemAlloc(&user, count * N * 12));
    CHECK_MPI(MPIR_Gpudt_ipack((void *) user, count, s->type, 0, packed, count * N * 4, &actual,
                               &op, &handled));
    CHECK(handled);
    CU(DevicePrimaryCtxReset(device));
    CU(CtxPopCurrent(&ctx));
    CU(DevicePrimaryCtxRetain(&ctx, device));
    if (op_seen(op) && is_waited_for)
        err = MPIR_Gpudt_wait(op);
    while (op && !is_waited_for && !is_done && err == MPI_SUCCESS)
        err = MPIR_Gpudt_test(op, &is_done);
    /* Data that had not reached the work areas is lost */
    CHECK(err != MPI_SUCCESS || !is_long || !op);
    free(packed);
}

int main(int argc, char **argv)
{
    struct strided s;
    bool is_reset = argc > 1 && strcmp(argv[1], "reset") == 0;

    report_time_limit(60);
    if (is_reset)
        setenv("MPIR_CVAR_GPUDT_PINNED_CHUNK", "4096", 1);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    strided_make(&s, MEM__DEVICE, MEM__DEVICE, N, 0);
    for (int i = 0; i < ROUNDS; i++) {
        if (is_reset)
            reset_run(&s, i % 2, i / 2 % 2);
        else
            run(&s, i % 2);
        strided_both_ways(&s);
    }
    CHECK(nseen >= ROUNDS / 2);
    strided_free(&s);
    CHECK_MPI(MPI_Finalize());
    return report_done();
}
