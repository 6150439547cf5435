/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests entering and leaving a context: the thread's CUDA state is the same afterwards on every
 * path, also if any of the driver's calls fails. Two devices. */

#include "driver_test.h"

static const MPII_Gpudt_driver_t *drv;

static CUcontext current(void)
{
    CUcontext ctx = NULL;

    OK(APP(cuCtxGetCurrent) (&ctx));
    return ctx;
}

static CUstreamCaptureMode capture_mode(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

    OK(APP(cuThreadExchangeStreamCaptureMode) (&mode));
    OK(APP(cuThreadExchangeStreamCaptureMode) (&mode));
    return mode;
}

static void enter_and_leave(void *target, CUcontext expected)
{
    CUcontext before = current();
    MPII_Gpudt_ctx_t outer, inner;

    OK(MPII_Gpudt_ctx_enter(drv, 0, target, &outer));
    CHECK(outer.ctx == expected && current() == expected);
    OK(MPII_Gpudt_ctx_enter(drv, 0, target, &inner));
    CHECK(!inner.pushed && current() == expected);
    MPII_Gpudt_ctx_leave(drv, &inner);
    CHECK(current() == expected);
    MPII_Gpudt_ctx_leave(drv, &outer);
    CHECK(current() == before);
    MPII_Gpudt_ctx_leave(drv, &outer);  /* harmless */
    CHECK(current() == before);
    CHECK(capture_mode() == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static void test_restored(CUcontext a, CUcontext b)
{
    CUcontext starts[] = { NULL, a, b };

    for (int i = 0; i < 3; i++) {
        OK(APP(cuCtxSetCurrent) (starts[i]));
        enter_and_leave(a, a);
        enter_and_leave(b, b);
        enter_and_leave(NULL, a);       /* the primary context of device 0 */
    }
    OK(APP(cuCtxSetCurrent) (a));
}

static void test_failures(CUcontext a, CUcontext b)
{
    MPII_Gpudt_ctx_t entered;
    CUdeviceptr d;
    int mpi_errno;

    /* nth 0: no failure, to count the calls. */
    for (long nth = 0, calls = 1; nth <= calls; nth++) {
        for (int to_primary = 0; to_primary < 2; to_primary++) {
            OK(APP(cuCtxSetCurrent) (b));
            EMU(emu_fail_set) (NULL, nth, CUDA_ERROR_OUT_OF_MEMORY, 1);
            mpi_errno = MPII_Gpudt_ctx_enter(drv, 0, to_primary ? NULL : a, &entered);
            if (mpi_errno == MPI_SUCCESS)
                CHECK(entered.ctx == a);
            else
                check_error(mpi_errno, MPI_ERR_NO_MEM, "cu", "CUDA_ERROR_OUT_OF_MEMORY");
            MPII_Gpudt_ctx_leave(drv, &entered);
            if (nth == 0 && EMU(emu_call_count) () > calls)
                calls = EMU(emu_call_count) ();
            CHECK(nth != 1 || EMU(emu_failed_count) () == 1);
            EMU(emu_fail_set) (NULL, 0, 0, 0);
            CHECK(current() == b);
        }
    }
    OK(APP(cuCtxSetCurrent) (a));
    OK(APP(cuMemAlloc) (&d, 1));
    OK(APP(cuMemFree) (d));

    check_error(MPII_Gpudt_ctx_enter(drv, 9, NULL, &entered), MPI_ERR_OTHER, "GPU 9",
                "does not have");
    CHECK(entered.ctx == NULL);
}

static void test_capture(CUcontext a)
{
    MPII_Gpudt_ctx_t entered;
    CUstream stream;
    CUgraph graph;
    CUdeviceptr d;

    OK(APP(cuStreamCreate) (&stream, CU_STREAM_NON_BLOCKING));
    OK(APP(cuStreamBeginCapture) (stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(MPII_Gpudt_ctx_enter(drv, 0, a, &entered));
    OK(drv->cuMemAlloc(&d, 100));
    OK(drv->cuMemFree(d));
    MPII_Gpudt_ctx_leave(drv, &entered);
    OK(APP(cuStreamEndCapture) (stream, &graph));
    OK(APP(cuStreamDestroy) (stream));
}

/* The library's retain of a primary context ends with its finalize, and holds the one after a reset. */
static void test_primary(void)
{
    MPII_Gpudt_ctx_t entered;
    CUcontext next, current;
    unsigned flags;
    int active;

    MPII_Gpudt_ctx_finalize();
    OK(APP(cuCtxSetCurrent) (NULL));
    OK(APP(cuDevicePrimaryCtxGetState) (1, &flags, &active));
    CHECK(!active);
    OK(MPII_Gpudt_ctx_enter(drv, 1, NULL, &entered));
    MPII_Gpudt_ctx_leave(drv, &entered);
    OK(APP(cuDevicePrimaryCtxGetState) (1, &flags, &active));
    CHECK(active);

    OK(APP(cuDevicePrimaryCtxReset) (1));
    OK(MPII_Gpudt_ctx_enter(drv, 1, NULL, &entered));
    MPII_Gpudt_ctx_leave(drv, &entered);
    MPII_Gpudt_ctx_finalize();
    OK(APP(cuDevicePrimaryCtxGetState) (1, &flags, &active));
    CHECK(!active);

    /* Reset, and in use by the application again, before the library enters it. */
    OK(MPII_Gpudt_ctx_enter(drv, 1, NULL, &entered));
    MPII_Gpudt_ctx_leave(drv, &entered);
    OK(APP(cuDevicePrimaryCtxReset) (1));
    OK(APP(cuDevicePrimaryCtxRetain) (&next, 1));
    OK(MPII_Gpudt_ctx_enter(drv, 1, NULL, &entered));
    OK(APP(cuCtxGetCurrent) (&current));
    CHECK(current == next);
    MPII_Gpudt_ctx_leave(drv, &entered);
    OK(APP(cuDevicePrimaryCtxRelease) (1));
    MPII_Gpudt_ctx_finalize();
    OK(APP(cuDevicePrimaryCtxGetState) (1, &flags, &active));
    CHECK(!active);

    /* Reset by the application, then finalized by the library. */
    OK(MPII_Gpudt_ctx_enter(drv, 1, NULL, &entered));
    MPII_Gpudt_ctx_leave(drv, &entered);
    OK(APP(cuDevicePrimaryCtxReset) (1));
    MPII_Gpudt_ctx_finalize();
    MPII_Gpudt_ctx_finalize();
}

static void test_stale(void)
{
    MPII_Gpudt_ctx_t entered;
    CUcontext own;

    OK(APP(cuCtxCreate) (&own, NULL, 0, 1));
    OK(APP(cuCtxDestroy) (own));
    check_error(MPII_Gpudt_ctx_enter(drv, 1, own, &entered), MPI_ERR_OTHER, "cuCtxPushCurrent",
                "CUDA_ERROR_INVALID_CONTEXT");
    CHECK(current() == NULL && capture_mode() == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

int main(int argc, char *argv[])
{
    CUcontext a, b;

    MPI_Init(&argc, &argv);
    app_load();
    a = app_primary(0);
    OK(APP(cuCtxCreate) (&b, NULL, 0, 1));
    drv = MPII_Gpudt_driver_get();
    CHECK(drv != NULL);
    test_restored(a, b);
    test_failures(a, b);
    test_capture(a);
    OK(APP(cuCtxDestroy) (b));
    test_primary();
    test_stale();
    OK(APP(cuDevicePrimaryCtxRelease) (0));
    CHECK(EMU(emu_live) (NULL) == 0);
    MPI_Finalize();
    return test_end();
}
