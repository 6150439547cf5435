/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests injected failures, counting, and reports of leaks. */

#include "selftest.h"

#define EXIT_LEAKS 66

static void test_by_number(void)
{
    CUdeviceptr d, e;

    emu_fail_set(NULL, 2, CUDA_ERROR_OUT_OF_MEMORY, 1);
    OK(cuMemAlloc(&d, 10));
    EXPECT(cuMemAlloc(&e, 10), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAlloc(&e, 10));
    CHECK(emu_call_count() == 3 && emu_failed_count() == 1);

    /* A call that frees does its work nevertheless. */
    emu_fail_set(NULL, 1, CUDA_ERROR_UNKNOWN, 1);
    EXPECT(cuMemFree(e), CUDA_ERROR_UNKNOWN);
    EXPECT(cuMemFree(e), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(d));
    CHECK(emu_live("memory") == 0);
}

static void test_by_name(void)
{
    CUdeviceptr d;
    CUstream s;

    emu_fail_set("cuStreamCreate", 1, CUDA_ERROR_INVALID_VALUE, 0);
    OK(cuMemAlloc(&d, 10));
    EXPECT(cuStreamCreate(&s, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuStreamCreate(&s, 0), CUDA_ERROR_INVALID_VALUE);
    emu_fail_set(NULL, 0, 0, 0);
    OK(cuStreamCreate(&s, 0));
    OK(cuStreamDestroy(s));
    OK(cuMemFree(d));

    /* The test's own calls are not affected. */
    emu_fail_set("cuMemAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY, 0);
    emu_quiet(1);
    OK(cuMemAlloc(&d, 10));
    emu_quiet(0);
    CHECK(emu_live(NULL) == 1); /* the context retained by main */
    OK(cuMemFree(d));
    CHECK(cudaMalloc((void **) &d, 10) == cudaSuccess);
    CHECK(cudaFree((void *) d) == cudaSuccess);
    emu_fail_set(NULL, 0, 0, 0);
}

static void test_lost_device(void)
{
    CUdeviceptr d;

    OK(cuMemAlloc(&d, 10));
    emu_device_lose(0, CUDA_ERROR_LAUNCH_FAILED);
    EXPECT(cuMemsetD8(d, 0, 10), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT(cuMemFree(d), CUDA_ERROR_LAUNCH_FAILED);
    CHECK(emu_live("memory") == 0);     /* memory of a broken context cannot be freed and is not
                                         * counted */
    OK(cuDevicePrimaryCtxReset(0));
}

/* Test programs run as children; mode selects one. */
static int child(const char *mode)
{
    CUdeviceptr d;
    CUstream s;
    CUevent e;

    if (strcmp(mode, "env") == 0)
        return cuInit(0) == CUDA_SUCCESS && cuInit(0) == CUDA_ERROR_UNKNOWN ? 0 : 1;

    primary_enter(0);
    if (strcmp(mode, "clean") == 0) {
        OK(cuMemAlloc(&d, 10));
        OK(cuMemFree(d));
        OK(cuDevicePrimaryCtxRelease(0));
    } else if (strcmp(mode, "memory") == 0) {
        OK(cuMemAlloc(&d, 10));
    } else if (strcmp(mode, "stream") == 0) {
        OK(cuStreamCreate(&s, 0));
    } else if (strcmp(mode, "event") == 0) {
        OK(cuEventCreate(&e, 0));
    } else if (strcmp(mode, "registration") == 0) {
        OK(cuMemHostRegister(&errs, sizeof(errs), 0));
    }
    /* Another retain keeps the context, and the objects in it, alive. */
    if (getenv("EMU_SELFTEST_KEEP")) {
        CUcontext ctx;
        emu_quiet(1);
        OK(cuDevicePrimaryCtxRetain(&ctx, 0));
        emu_quiet(0);
    }
    if (strcmp(mode, "context") != 0 && strcmp(mode, "clean") != 0)
        OK(cuDevicePrimaryCtxRelease(0));
    return errs != 0;
}

static void test_leaks(void)
{
    CHECK(child_exec("clean", "EMU_LEAKS_FATAL", "1") == 0);
    CHECK(child_exec("context", "EMU_LEAKS_FATAL", "1") == EXIT_LEAKS);
    CHECK(child_exec("context", "EMU_LEAKS_FATAL", NULL) == 0);

    /* Objects of a destroyed context are not leaks. */
    CHECK(child_exec("memory", "EMU_LEAKS_FATAL", "1") == 0);
    setenv("EMU_SELFTEST_KEEP", "1", 1);
    CHECK(child_exec("clean", "EMU_LEAKS_FATAL", "1") == 0);
    CHECK(child_exec("memory", "EMU_LEAKS_FATAL", "1") == EXIT_LEAKS);
    CHECK(child_exec("stream", "EMU_LEAKS_FATAL", "1") == EXIT_LEAKS);
    CHECK(child_exec("event", "EMU_LEAKS_FATAL", "1") == EXIT_LEAKS);
    CHECK(child_exec("registration", "EMU_LEAKS_FATAL", "1") == EXIT_LEAKS);
    setenv("EMU_LEAKS_FROM", "libmpi", 1);
    CHECK(child_exec("memory", "EMU_LEAKS_FATAL", "1") == 0);
    unsetenv("EMU_LEAKS_FROM");
    unsetenv("EMU_SELFTEST_KEEP");
}

static void test_environment(void)
{
    char line[200] = "";
    FILE *counts;
    const char *name = getenv("EMU_SELFTEST_FILE");

    setenv("EMU_FAIL_AT", "2", 1);
    CHECK(child_exec("env", "EMU_FAIL_CODE", "999") == 0);
    setenv("EMU_FAIL_FN", "cuMemAlloc", 1);
    CHECK(child_exec("env", "EMU_FAIL_CODE", "999") == 1);
    unsetenv("EMU_FAIL_AT");
    unsetenv("EMU_FAIL_FN");

    CHECK(name && child_exec("env", "EMU_COUNT", name) == 1);
    counts = name ? fopen(name, "r") : NULL;
    CHECK(counts && fgets(line, sizeof(line), counts) && strstr(line, " 2 calls"));
    CHECK(counts && fgets(line, sizeof(line), counts) && strstr(line, "2 cuInit"));
    if (counts)
        fclose(counts);
}

int main(int argc, char *argv[])
{
    if (argc > 1)
        return child(argv[1]);

    primary_enter(0);
    test_by_number();
    test_by_name();
    test_lost_device();
    test_leaks();
    test_environment();
    return selftest_end();
}
