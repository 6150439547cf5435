/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests interprocess memory handles of the emulated driver. Needs two devices, the self-tests'
 * kernels, and EMU_IPC_STALE=1. */

#include "selftest_peer.h"

static void test_sharing(void)
{
    struct peer p = peer_start("0");
    CUipcMemHandle handle = ask_handle(&p), other = ask_handle(&p);
    CUdeviceptr d, again, base, own;
    CUcontext ctx;
    size_t size;
    unsigned char byte;
    long long id;

    OK(cuCtxGetCurrent(&ctx));
    OK(cuIpcOpenMemHandle(&d, handle, 0));
    OK(cuMemGetAddressRange(&base, &size, d + 99));
    CHECK(base == d && size == SZ);
    CHECK(attribute(d, CU_POINTER_ATTRIBUTE_MEMORY_TYPE) == CU_MEMORYTYPE_DEVICE);
    CHECK(attribute(d, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) == 0);
    CHECK(attribute(d, CU_POINTER_ATTRIBUTE_CONTEXT) == (long long) ctx);
    CHECK(attribute(d, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE) == 0);
    id = attribute(d, CU_POINTER_ATTRIBUTE_BUFFER_ID);
    CHECK(byte_at(d + 5) == FILL && byte_at(d + SZ - 1) == FILL);
    EXPECT(cuMemcpyDtoH(&byte, d + SZ, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemFree(d), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuIpcGetMemHandle(&other, d), CUDA_ERROR_INVALID_VALUE);

    /* Kernels and copies of either process write what the other one reads. */
    OK(cuMemAlloc(&own, SZ));
    OK(cuMemsetD8(own, 0x11, SZ));
    OK(kernel_copy(d, own, 10));
    OK(kernel_copy(own + 400, d + 400, 10));
    CHECK(byte_at(own + 405) == FILL);

    /* The handle is counted, and a later open has another identity. */
    OK(cuIpcOpenMemHandle(&again, handle, LAZY));
    CHECK(again == d && emu_ipc_count("open") == 1);
    OK(cuIpcCloseMemHandle(d));
    CHECK(byte_at(d) == 0x11 && emu_live("mapping") == 1);
    EXPECT(cuIpcCloseMemHandle(d + 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuIpcCloseMemHandle(own), CUDA_ERROR_INVALID_VALUE);
    OK(cuIpcCloseMemHandle(d));
    EXPECT(cuIpcCloseMemHandle(d), CUDA_ERROR_INVALID_VALUE);
    CHECK(emu_ipc_count("open") == 0 && emu_live("mapping") == 0);
    OK(cuIpcOpenMemHandle(&d, handle, 0));
    CHECK(attribute(d, CU_POINTER_ATTRIBUTE_BUFFER_ID) > id && byte_at(d) == 0x11);
    OK(cuIpcCloseMemHandle(d));
    CHECK(emu_ipc_count("opens") == 2 && emu_ipc_count("most") == 1);
    CHECK(emu_ipc_count("stale") == 0 && emu_ipc_count("else") == -1);
    OK(cuMemFree(own));
    peer_end(&p);
}

/* What cannot be exported or opened. */
static void test_refusals(void)
{
    CUipcMemHandle handle, nonsense;
    CUdeviceptr d, managed, pool;
    void *pinned;

    OK(cuMemAlloc(&d, 100));
    OK(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocAsync(&pool, 100, NULL));
    OK(cuMemHostAlloc(&pinned, 100, 0));
    CHECK(attribute(d, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE) == 1);
    EXPECT(cuIpcGetMemHandle(&handle, managed), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuIpcGetMemHandle(&handle, pool), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuIpcGetMemHandle(&handle, (CUdeviceptr) pinned), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuIpcGetMemHandle(&handle, (CUdeviceptr) & handle), CUDA_ERROR_INVALID_VALUE);
    OK(cuIpcGetMemHandle(&handle, d));
    EXPECT(cuIpcOpenMemHandle(&d, handle, 0), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuIpcOpenMemHandle(&d, handle, 2), CUDA_ERROR_INVALID_VALUE);
    memset(&nonsense, 0x5a, sizeof(nonsense));
    EXPECT(cuIpcOpenMemHandle(&d, nonsense, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(d));
    OK(cuMemFree(managed));
    OK(cuMemFree(pool));
    OK(cuMemFreeHost(pinned));
}

/* The exporter frees memory that is mapped and allocates again at its address. */
static void test_reuse(void)
{
    struct peer p = peer_start("0");
    CUipcMemHandle first = ask_handle(&p), second;
    CUdeviceptr d, e, was, is;
    long stale;

    OK(cuIpcOpenMemHandle(&d, first, 0));
    OK(cuMemsetD8(d, 0x44, SZ));
    OK(cuCtxSynchronize());
    ask(&p, 'A', &was, sizeof(was));
    CHECK(ask_orphaned(&p) == 0);
    OK(ask_result(&p, 'f'));
    CHECK(ask_orphaned(&p) >= (long) SZ);
    second = ask_handle(&p);
    ask(&p, 'A', &is, sizeof(is));
    CHECK(was == is && memcmp(&first, &second, sizeof(first)) != 0);

    /* The old mapping has the old bytes, and its use is noticed. */
    OK(cuIpcOpenMemHandle(&e, second, 0));
    CHECK(e != d && byte_at(e) == FILL);
    stale = emu_ipc_count("stale");
    CHECK(byte_at(d) == 0x44 && emu_ipc_count("stale") > stale);
    stale = emu_ipc_count("stale");
    OK(kernel_copy(e, d, 1));
    CHECK(byte_at(e) == 0x44 && byte_at(e + 4) == FILL && emu_ipc_count("stale") > stale);
    stale = emu_ipc_count("stale");
    EXPECT(cuIpcOpenMemHandle(&is, first, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuIpcCloseMemHandle(d));
    CHECK(ask_orphaned(&p) == 0);
    CHECK(byte_at(e) == 0x44 && emu_ipc_count("stale") == stale);

    /* A reset frees, too. */
    OK(ask_result(&p, 'x'));
    byte_at(e);
    CHECK(emu_ipc_count("stale") > stale);
    OK(cuIpcCloseMemHandle(e));
    peer_end(&p);
}

static void test_dead_exporter(void)
{
    struct peer p = peer_start("0");
    CUipcMemHandle handle = ask_handle(&p);
    long stale = emu_ipc_count("stale");
    CUdeviceptr d, e;

    OK(cuIpcOpenMemHandle(&d, handle, 0));
    peer_kill(&p);
    OK(cuMemsetD8(d + 9, 1, 1));
    CHECK(byte_at(d + 8) == FILL && byte_at(d + 9) == 1 && byte_at(d + SZ - 1) == FILL);
    CHECK(emu_ipc_count("stale") == stale);
    OK(cuIpcCloseMemHandle(d));
    EXPECT(cuIpcOpenMemHandle(&e, handle, 0), CUDA_ERROR_MAP_FAILED);
}

/* Importers that do not descend from the exporter, or that die. */
static void test_siblings(void)
{
    struct peer a = peer_start("0"), b = peer_start("0"), c = peer_start("1");
    CUipcMemHandle handle = ask_handle(&a);
    char byte;

    OK(ask_open(&b, handle));
    OK(ask_open(&c, handle));
    ask(&c, 'w', &byte, 1);
    ask(&a, 'r', &byte, 1);
    CHECK(byte == 0x77);
    OK(ask_result(&a, 'f'));
    CHECK(ask_orphaned(&a) >= (long) SZ);
    peer_kill(&b);
    CHECK(ask_orphaned(&a) >= (long) SZ);
    peer_kill(&c);
    CHECK(ask_orphaned(&a) == 0);
    peer_end(&a);
}

static void test_other_device(CUcontext first)
{
    struct peer p = peer_start("1");
    CUipcMemHandle handle = ask_handle(&p);
    CUcontext second, extra;
    CUdeviceptr d, own;

    EXPECT(cuIpcOpenMemHandle(&d, handle, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuIpcOpenMemHandle(&d, handle, LAZY));
    CHECK(attribute(d, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) == 1);
    CHECK(attribute(d, CU_POINTER_ATTRIBUTE_CONTEXT) == (long long) first);
    OK(kernel_copy(d, d + 4, 4));

    /* Not by another context of the device; contexts of other devices need peer access. */
    OK(cuCtxCreate(&extra, NULL, 0, 0));
    EXPECT(cuIpcOpenMemHandle(&own, handle, LAZY), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuIpcCloseMemHandle(d), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxDestroy(extra));
    OK(cuCtxCreate(&extra, NULL, 0, 1));
    EXPECT(kernel_copy(d, d + 4, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuCtxDestroy(extra));
    second = primary_enter(1);
    OK(cuCtxEnablePeerAccess(first, 0));
    OK(kernel_copy(d, d + 4, 4));
    OK(cuIpcOpenMemHandle(&own, handle, 0));
    CHECK(own != d && byte_at(own) == FILL && emu_ipc_count("open") == 2);

    /* The end of a context closes its mappings. */
    CHECK(second != first);
    OK(cuDevicePrimaryCtxReset(1));
    CHECK(emu_ipc_count("open") == 1);
    OK(cuCtxSetCurrent(first));
    CHECK(byte_at(d) == FILL);
    OK(cuIpcCloseMemHandle(d));
    peer_end(&p);
}

static void test_faults(void)
{
    struct peer p = peer_start("0");
    CUipcMemHandle handle = ask_handle(&p);
    CUdeviceptr d = 0;

    emu_fail_set("cuIpcGetMemHandle", 1, CUDA_ERROR_OUT_OF_MEMORY, 1);
    EXPECT(cuIpcGetMemHandle(&handle, 0), CUDA_ERROR_OUT_OF_MEMORY);
    emu_fail_set("cuIpcOpenMemHandle", 1, CUDA_ERROR_MAP_FAILED, 1);
    EXPECT(cuIpcOpenMemHandle(&d, handle, 0), CUDA_ERROR_MAP_FAILED);
    CHECK(d == 0 && emu_ipc_count("open") == 0);
    OK(cuIpcOpenMemHandle(&d, handle, 0));
    emu_fail_set("cuIpcCloseMemHandle", 1, CUDA_ERROR_UNKNOWN, 1);
    EXPECT(cuIpcCloseMemHandle(d), CUDA_ERROR_UNKNOWN);
    CHECK(emu_ipc_count("open") == 0);
    emu_fail_set(NULL, 0, 0, 0);
    peer_end(&p);
}

int main(int argc, char *argv[])
{
    CUcontext first;

    if (argc > 2 && strcmp(argv[1], "serve") == 0)
        return serve(atoi(argv[2]));

    first = primary_enter(0);
    test_sharing();
    test_refusals();
    test_reuse();
    test_dead_exporter();
    test_siblings();
    test_other_device(first);
    test_faults();
    CHECK(emu_ipc_count("open") == 0 && emu_live("mapping") == 0);
    return selftest_end();
}
