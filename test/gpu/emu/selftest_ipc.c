/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests interprocess memory handles of the emulated driver. Needs two devices, the self-tests'
 * kernels, and EMU_IPC_STALE=1. Other processes are this program in mode "serve": they execute
 * commands of one character from standard input and answer on standard output. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <time.h>

#include "selftest.h"

#define LAZY CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
#define SZ ((size_t) 100000)
#define FILL 0x3c

/* ---- the other process ---- */

struct peer {
    pid_t pid;
    int to, from;
};

static void answer(const void *data, size_t n)
{
    if (write(STDOUT_FILENO, data, n) != (ssize_t) n)
        _exit(4);
}

static void serve_one(char command)
{
    static CUdeviceptr own, mapped;
    CUipcMemHandle handle;
    CUresult res = CUDA_SUCCESS;
    unsigned char byte;
    long count;

    switch (command) {
        case 'a':              /* allocate and fill; answer: a handle made from inside */
            OK(cuMemAlloc(&own, SZ));
            OK(cuMemsetD8(own, FILL, SZ));
            OK(cuCtxSynchronize());
            OK(cuIpcGetMemHandle(&handle, own + 777));
            answer(&handle, sizeof(handle));
            break;
        case 'A':              /* address and size of the allocation */
            answer(&own, sizeof(own));
            break;
        case 'r':              /* its byte 5 */
            OK(cuMemcpyDtoH(&byte, own + 5, 1));
            answer(&byte, 1);
            break;
        case 'f':              /* free it */
            res = cuMemFree(own);
            answer(&res, sizeof(res));
            break;
        case 'c':              /* orphaned bytes */
            count = emu_ipc_count("orphaned");
            answer(&count, sizeof(count));
            break;
        case 'x':              /* reset */
            res = cuDevicePrimaryCtxReset(0);
            answer(&res, sizeof(res));
            break;
        case 'o':              /* open the handle that follows */
            if (read(STDIN_FILENO, &handle, sizeof(handle)) != sizeof(handle))
                _exit(5);
            res = cuIpcOpenMemHandle(&mapped, handle, LAZY);
            answer(&res, sizeof(res));
            break;
        case 'w':              /* write a byte of the mapping */
            OK(cuMemsetD8(mapped + 5, 0x77, 1));
            OK(cuCtxSynchronize());
            answer("w", 1);
            break;
    }
}

static int serve(int device)
{
    char command;

    primary_enter(device);
    while (read(STDIN_FILENO, &command, 1) == 1)
        serve_one(command);
    return errs != 0;
}

static struct peer peer_start(const char *device)
{
    struct peer p;
    int to[2], from[2];

    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
        exit(1);
    p.pid = fork();
    if (p.pid == 0) {
        unsetenv("CUDA_VISIBLE_DEVICES");
        unsetenv("EMU_IPC");
        unsetenv("EMU_LEAKS_FATAL");
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        execl("/proc/self/exe", "selftest", "serve", device, (char *) NULL);
        _exit(3);
    }
    close(to[0]);
    close(from[1]);
    p.to = to[1];
    p.from = from[0];
    return p;
}

static void ask(struct peer *p, char command, void *reply, size_t n)
{
    CHECK(write(p->to, &command, 1) == 1);
    if (read(p->from, reply, n) != (ssize_t) n) {
        CHECK(!"the other process answers");
        exit(1);
    }
}

static CUipcMemHandle ask_handle(struct peer *p)
{
    CUipcMemHandle handle;

    ask(p, 'a', &handle, sizeof(handle));
    return handle;
}

static CUresult ask_result(struct peer *p, char command)
{
    CUresult res = CUDA_ERROR_UNKNOWN;

    ask(p, command, &res, sizeof(res));
    return res;
}

static long ask_orphaned(struct peer *p)
{
    long count = -1;

    ask(p, 'c', &count, sizeof(count));
    return count;
}

static CUresult ask_open(struct peer *p, CUipcMemHandle handle)
{
    char message[1 + sizeof(handle)] = "o";
    CUresult res = CUDA_ERROR_UNKNOWN;

    memcpy(message + 1, &handle, sizeof(handle));
    CHECK(write(p->to, message, sizeof(message)) == sizeof(message));
    CHECK(read(p->from, &res, sizeof(res)) == sizeof(res));
    return res;
}

static void peer_end(struct peer *p)
{
    close(p->to);
    close(p->from);
    CHECK(child_wait(p->pid) == 0);
}

static void peer_kill(struct peer *p)
{
    kill(p->pid, SIGKILL);
    CHECK(child_wait(p->pid) == -SIGKILL);
    close(p->to);
    close(p->from);
}

/* ---- this process ---- */

static unsigned char byte_at(CUdeviceptr d)
{
    unsigned char byte = 0;

    OK(cuMemcpyDtoH(&byte, d, 1));
    return byte;
}

static long long attribute(CUdeviceptr d, CUpointer_attribute which)
{
    long long value = 0;

    OK(cuPointerGetAttribute(&value, which, d));
    return value;
}

/* Copy n 4-byte elements from src to dst in a kernel of the current context. */
static CUresult kernel_copy(CUdeviceptr dst, CUdeviceptr src, unsigned n)
{
    static const unsigned char image[8] = { 0x50, 0xed, 0x55, 0xba };
    struct {
        CUdeviceptr src, dst;
        unsigned n;
    } args = { src, dst, n };
    unsigned add = 0;
    void *params[] = { &args, &add };
    CUmodule module;
    CUfunction f;
    CUresult res;

    OK(cuModuleLoadData(&module, image));
    OK(cuModuleGetFunction(&f, module, "selftest_copy"));
    OK(cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
    res = cuCtxSynchronize();
    cuModuleUnload(module);
    return res;
}

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

/* ---- settings and violations, in programs of their own ---- */

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

static void test_settings(void)
{
    static const char *const violations[] = {
        "freed copy", "freed fill", "freed kernel", "closed copy", "closed fill", "closed kernel"
    };

    for (size_t i = 0; i < sizeof(violations) / sizeof(violations[0]); i++)
        CHECK(child_exec(violations[i], "EMU_IPC_STALE", "0") == -SIGABRT);
    CHECK(child_exec("live copy fill kernel", "EMU_IPC_STALE", "0") == 0);
    CHECK(child_exec("freed copy kernel", "EMU_IPC_STALE", "1") == 0);
    CHECK(child_exec("freed unused", "EMU_IPC_STALE", "0") == 0);

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
    CUcontext first;

    if (argc > 2 && strcmp(argv[1], "serve") == 0)
        return serve(atoi(argv[2]));
    if (argc > 1)
        return child(argv[1]);

    first = primary_enter(0);
    test_sharing();
    test_refusals();
    test_reuse();
    test_dead_exporter();
    test_siblings();
    test_other_device(first);
    test_faults();
    test_settings();
    CHECK(emu_ipc_count("open") == 0 && emu_live("mapping") == 0);
    return selftest_end();
}
