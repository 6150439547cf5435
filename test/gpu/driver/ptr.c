/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that every kind of memory is distinguished, with primary contexts and the application's
 * own, whichever is current. Failures of the driver become MPI errors with its own text. Two
 * devices. */

#include "driver_test.h"

static void expect(const void *addr, MPIR_Gpudt_mem_e mem, int device, CUcontext ctx)
{
    MPIR_Gpudt_ptr_t ptr = { 0 };

    OK(MPIR_Gpudt_query_ptr(addr, &ptr));
    CHECK(ptr.mem == mem);
    CHECK(ptr.device == device);
    CHECK(ptr.ctx == (void *) ctx);
}

static void test_kinds(CUcontext ctx, int device)
{
    static char registered[1000];
    CUdeviceptr d, managed, pool;
    char *pinned, *pageable = malloc(1000);

    OK(APP(cuMemAlloc) (&d, 1000));
    OK(APP(cuMemAllocManaged) (&managed, 1000, CU_MEM_ATTACH_GLOBAL));
    OK(APP(cuMemAllocAsync) (&pool, 1000, NULL));
    OK(APP(cuMemHostAlloc) ((void **) &pinned, 1000, 0));
    OK(APP(cuMemHostRegister) (registered, 1000, 0));

    for (int round = 0; round < 2; round++) {
        expect((char *) d, MPIR_GPUDT_MEM__DEVICE, device, ctx);
        expect((char *) d + 999, MPIR_GPUDT_MEM__DEVICE, device, ctx);
        expect((char *) managed + 1, MPIR_GPUDT_MEM__MANAGED, device, ctx);
        expect((char *) pool + 999, MPIR_GPUDT_MEM__DEVICE, device, NULL);
        expect(pinned + 500, MPIR_GPUDT_MEM__PINNED, device, ctx);
        expect(registered + 999, MPIR_GPUDT_MEM__PINNED, device, ctx);
        expect(pageable, MPIR_GPUDT_MEM__HOST, -1, NULL);
        expect(&d, MPIR_GPUDT_MEM__HOST, -1, NULL);
        /* The second time with no context current. */
        OK(APP(cuCtxSetCurrent) (NULL));
    }

    OK(APP(cuCtxSetCurrent) (ctx));
    OK(APP(cuMemHostUnregister) (registered));
    expect(registered, MPIR_GPUDT_MEM__HOST, -1, NULL);
    OK(APP(cuMemFreeHost) (pinned));
    OK(APP(cuMemFreeAsync) (pool, NULL));
    OK(APP(cuMemFree) (managed));
    OK(APP(cuMemFree) (d));
    free(pageable);
}

static void test_own_context(void)
{
    CUcontext own;

    OK(APP(cuCtxCreate) (&own, NULL, 0, 1));
    test_kinds(own, 1);
    OK(APP(cuCtxDestroy) (own));
}

static void test_driver_errors(CUcontext ctx)
{
    MPIR_Gpudt_ptr_t ptr = {.mem = MPIR_GPUDT_MEM__PINNED,.device = 7,.ctx = &ptr };
    CUdeviceptr d;

    OK(APP(cuMemAlloc) (&d, 10));
    EMU(emu_fail_set) ("cuPointerGetAttributes", 1, CUDA_ERROR_LAUNCH_FAILED, 1);
    check_error(MPIR_Gpudt_query_ptr((void *) d, &ptr), MPI_ERR_OTHER, "cuPointerGetAttributes",
                "CUDA_ERROR_LAUNCH_FAILED");
    CHECK(ptr.mem == MPIR_GPUDT_MEM__PINNED && ptr.device == 7 && ptr.ctx == &ptr);

    EMU(emu_fail_set) (NULL, 0, 0, 0);
    expect((void *) d, MPIR_GPUDT_MEM__DEVICE, 0, ctx);
    OK(APP(cuMemFree) (d));

    check_error(MPII_Gpudt_driver_error(MPII_Gpudt_driver_get(), CUDA_ERROR_OUT_OF_MEMORY,
                                        "cuMemAlloc(&p, n)", __func__, __LINE__),
                MPI_ERR_NO_MEM, "call cuMemAlloc failed", "out of memory");
    check_error(MPII_Gpudt_driver_error(MPII_Gpudt_driver_get(), (CUresult) 4711, "call", __func__,
                                        __LINE__), MPI_ERR_OTHER, "call", "error 4711");
    check_error(MPII_Gpudt_driver_error(NULL, CUDA_ERROR_UNKNOWN, "call", __func__, __LINE__),
                MPI_ERR_OTHER, "call", "error 999");
}

int main(int argc, char *argv[])
{
    CUcontext ctx;

    MPI_Init(&argc, &argv);
    app_load();
    ctx = app_primary(0);
    test_kinds(ctx, 0);
    test_own_context();
    OK(APP(cuCtxSetCurrent) (ctx));
    test_driver_errors(ctx);
    OK(APP(cuDevicePrimaryCtxRelease) (0));
    MPI_Finalize();
    return test_end();
}
