/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests settings of interprocess memory in the emulated driver, the check for uses of memory that
 * is gone, and the report of leaked mappings. Needs two devices and the self-tests' kernels. */

#include <time.h>

#include "selftest_peer.h"

static int child_uses(const char *mode, struct peer *p, CUdeviceptr d)
{
    CUdeviceptr own;

    OK(cuMemAlloc(&own, 100));
    if (strncmp(mode, "freed", 5) == 0)
        OK(ask_result(p, 'f'));
    if (strncmp(mode, "closed", 6) == 0)
        OK(cuIpcCloseMemHandle(d));
    if (strstr(mode, "copy"))
        cuMemcpyDtoD(own, d, 10);
    if (strstr(mode, "fill"))
        cuMemsetD8(d, 1, 10);
    if (strstr(mode, "kernel"))
        kernel_copy(own, d, 2);
    cuCtxSynchronize();
    return errs != 0;
}

static double open_seconds(CUipcMemHandle handle)
{
    struct timespec a, b;
    CUdeviceptr d;

    clock_gettime(CLOCK_MONOTONIC, &a);
    OK(cuIpcOpenMemHandle(&d, handle, LAZY));
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (double) (b.tv_sec - a.tv_sec) + 1e-9 * (double) (b.tv_nsec - a.tv_nsec);
}

static int child_settings(const char *mode, struct peer *p, CUipcMemHandle handle)
{
    CUdeviceptr d;

    if (strcmp(mode, "off") == 0) {
        OK(cuMemAlloc(&d, 1));
        EXPECT(cuIpcGetMemHandle(&handle, d), CUDA_ERROR_NOT_SUPPORTED);
        CHECK(attribute(d, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE) == 0);
        EXPECT(cuIpcOpenMemHandle(&d, handle, 0), CUDA_ERROR_NOT_SUPPORTED);
    } else if (strcmp(mode, "twice") == 0) {
        OK(cuIpcOpenMemHandle(&d, handle, 0));
        EXPECT(cuIpcOpenMemHandle(&d, handle, 0), CUDA_ERROR_ALREADY_MAPPED);
        OK(cuIpcCloseMemHandle(d));
        OK(cuIpcOpenMemHandle(&d, handle, 0));
    } else if (strcmp(mode, "slow") == 0) {
        CHECK(open_seconds(handle) >= 0.05);
    } else if (strcmp(mode, "hidden") == 0) {
        OK(cuIpcOpenMemHandle(&d, handle, LAZY));       /* the exporter's device is not visible */
        CHECK(attribute(d, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) == 0 && byte_at(d) == FILL);
    } else if (strcmp(mode, "no_peer") == 0) {
        OK(cuIpcOpenMemHandle(&d, handle, LAZY));
        primary_enter(1);
        EXPECT(cuIpcOpenMemHandle(&d, handle, LAZY), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    } else {
        OK(cuIpcOpenMemHandle(&d, handle, 0));
        return child_uses(mode, p, d);
    }
    return errs != 0;
}

static int child(const char *mode)
{
    struct peer p = peer_start("0");
    CUipcMemHandle handle = ask_handle(&p);
    int res;

    emu_quiet(1);               /* the context outlives this, and is no leak */
    primary_enter(0);
    emu_quiet(0);
    res = child_settings(mode, &p, handle);
    if (strstr(mode, "reset"))
        OK(cuDevicePrimaryCtxReset(0));
    peer_end(&p);
    return res || errs;
}

static void test_violations(void)
{
    static const char *const violations[] = {
        "freed copy", "freed fill", "freed kernel", "closed copy", "closed fill", "closed kernel"
    };

    for (size_t i = 0; i < sizeof(violations) / sizeof(violations[0]); i++)
        CHECK(child_exec(violations[i], "EMU_IPC_STALE", "0") == -SIGABRT);
    CHECK(child_exec("live copy fill kernel", "EMU_IPC_STALE", "0") == 0);
    CHECK(child_exec("freed copy kernel", "EMU_IPC_STALE", "1") == 0);
    CHECK(child_exec("freed unused", "EMU_IPC_STALE", "0") == 0);
}

static void test_settings(void)
{
    CHECK(child_exec("off", "EMU_IPC", "0") == 0);
    CHECK(child_exec("twice", "EMU_IPC_REOPEN", "0") == 0);
    CHECK(child_exec("slow", "EMU_IPC_OPEN_US", "50000") == 0);
    CHECK(child_exec("hidden", "CUDA_VISIBLE_DEVICES", "1") == 0);
    CHECK(child_exec("no_peer", "EMU_PEER", "0") == 0);

    /* "twice" and the others leave a mapping open. */
    CHECK(child_exec("leak", "EMU_LEAKS_FATAL", "1") == 66);
    CHECK(child_exec("leak, but reset", "EMU_LEAKS_FATAL", "1") == 0);
}

int main(int argc, char *argv[])
{
    if (argc > 2 && strcmp(argv[1], "serve") == 0)
        return serve(atoi(argv[2]));
    if (argc > 1)
        return child(argv[1]);

    test_violations();
    test_settings();
    return selftest_end();
}
