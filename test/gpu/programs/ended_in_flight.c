/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The program destroys a context while a short kernel in it works for an operation: that ends well or
 * with an error, soon, and what comes later works. Emulated driver only, whose operations are late:
 * see check-gpu. */

#include "mpiimpl.h"
#include "gpudt.h"

#include "gpu.h"
#include "report.h"
#include "strided.h"

#define N 100                   /* ints, moved by one block */
#define ROUNDS 20

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
    CHECK(handled && op != NULL);
    CU(CtxDestroy(ctx));
    if (is_waited_for) {
        (void) MPIR_Gpudt_wait(op);
    } else {
        int is_done = 0;
        while (!is_done)
            (void) MPIR_Gpudt_test(op, &is_done);
    }
}

int main(void)
{
    struct strided s;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    strided_make(&s, MEM__DEVICE, MEM__DEVICE, N, 0);
    for (int i = 0; i < ROUNDS; i++) {
        run(&s, i % 2);
        strided_both_ways(&s);
    }
    strided_free(&s);
    CHECK_MPI(MPI_Finalize());
    return report_done();
}
