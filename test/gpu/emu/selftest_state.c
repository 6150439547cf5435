/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests emulated devices, contexts, processes, symbol look-up, and the runtime. */

#include <dlfcn.h>
#include <sys/single_threaded.h>

#include "selftest.h"

static int devices_seen(void)
{
    int n = -1;
    CUresult res = cuInit(0);

    if (res == CUDA_ERROR_NO_DEVICE)
        return 0;
    OK(res);
    OK(cuDeviceGetCount(&n));
    return n;
}

static void test_visible(void)
{
    static const struct {
        const char *list;
        int n;
    } cases[] = {
        {NULL, 2}, {"", 0}, {"0", 1}, {"1", 1}, {"1,0", 2}, {"0,7,1", 1}, {"-1", 0}, {"0,0", 0},
        {"GPU-e0e0e0e0-0000-0000-0000-000000000001", 1}, {"GPU-e0e0", 0}, {"x", 0},
        {"MIG-e0e0e0e0-0000-0000-0000-000000000000", 1}, {"0,1", 2}
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int n = child_exec("count", "CUDA_VISIBLE_DEVICES", cases[i].list);
        if (n != cases[i].n) {
            CHECK(n == cases[i].n);
            fprintf(stderr, "CUDA_VISIBLE_DEVICES=%s: %d devices\n",
                    cases[i].list ? cases[i].list : "(unset)", n);
        }
    }
    CHECK(child_exec("count", "EMU_DEVICES", "0") == 0);
    CHECK(child_exec("init", "EMU_INIT_ERROR", "803") == 803 % 256);
    CHECK(child_exec("init", "EMU_DEVICES", "0") == CUDA_ERROR_NO_DEVICE);
}

static void test_before_init(void)
{
    int n, version = 0;
    CUmemorytype type;
    const char *name;

    EXPECT(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr) & n),
           CUDA_ERROR_NOT_INITIALIZED);
    OK(cuDriverGetVersion(&version));
    CHECK(version == CUDA_VERSION);
    OK(cuGetErrorName(CUDA_ERROR_NO_DEVICE, &name));
    CHECK(strcmp(name, "CUDA_ERROR_NO_DEVICE") == 0);
    EXPECT(cuGetErrorName((CUresult) 12345, &name), CUDA_ERROR_INVALID_VALUE);
    CHECK(name == NULL);
}

static void test_contexts(void)
{
    CUcontext a, b, c, current, popped;
    unsigned long long id_a, id;
    unsigned flags;
    int active;
    CUdeviceptr d;
    CUdevice device;

    EXPECT(cuMemAlloc(&d, 1), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxGetCurrent(&current));
    CHECK(current == NULL);
    CHECK(__libc_single_threaded);
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(!active);
    OK(cuDevicePrimaryCtxRetain(&a, 0));
    CHECK(!__libc_single_threaded);     /* programs rely on it: see README.md */
    OK(cuDevicePrimaryCtxRetain(&b, 0));
    CHECK(a == b);
    OK(cuDevicePrimaryCtxRetain(&b, 1));
    CHECK(a != b);
    OK(cuCtxGetId(a, &id_a));

    OK(cuCtxPushCurrent(a));
    OK(cuCtxPushCurrent(b));
    OK(cuCtxGetDevice(&device));
    CHECK(device == 1);
    OK(cuCtxPopCurrent(&popped));
    CHECK(popped == b);
    OK(cuCtxGetDevice(&device));
    CHECK(device == 0);
    OK(cuCtxPopCurrent(&popped));
    EXPECT(cuCtxPopCurrent(&popped), CUDA_ERROR_INVALID_CONTEXT);

    OK(cuCtxCreate(&c, NULL, 0, 0));
    OK(cuMemAlloc(&d, 1));
    OK(cuCtxDestroy(c));
    OK(cuCtxGetCurrent(&current));
    CHECK(current == NULL);
    EXPECT(cuCtxPushCurrent(c), CUDA_ERROR_INVALID_CONTEXT);

    /* A reset ends the primary context even if others retain it; the next one has another handle and id, and is
     * retained by them, too. */
    OK(cuDevicePrimaryCtxReset(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(!active);
    EXPECT(cuCtxPushCurrent(a), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxRetain(&c, 0));
    OK(cuCtxGetId(c, &id));
    CHECK(c != a && id != id_a);
    for (int i = 0; i < 3; i++)
        OK(cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxRelease(1));
    EXPECT(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
    CHECK(emu_live(NULL) == 0);
}

static void forked(void *unused)
{
    int n;

    (void) unused;
    EXPECT(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
}

static void test_symbols(void)
{
    void *f = NULL;
    CUdriverProcAddressQueryResult status;
    void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

    CHECK(self != NULL && dlsym(self, "cuMemAlloc_v2") != NULL);
    OK(cuGetProcAddress("cuMemAlloc", &f, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    CHECK(f == dlsym(self, "cuMemAlloc_v2") && status == CU_GET_PROC_ADDRESS_SUCCESS);
    EXPECT(cuGetProcAddress("cuMemAlloc", &f, 2000, CU_GET_PROC_ADDRESS_DEFAULT, &status),
           CUDA_ERROR_NOT_FOUND);
    CHECK(f == NULL && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    EXPECT(cuGetProcAddress("cuNothing", &f, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status),
           CUDA_ERROR_NOT_FOUND);
    CHECK(child_exec("hidden", "EMU_HIDE", "cuCtxGetId,cuMemAlloc") == 0);
    CHECK(child_exec("trap", NULL, NULL) == -SIGABRT);
    dlclose(self);
}

static void test_runtime(void)
{
    struct cudaPointerAttributes attributes;
    int n = -1, text[4] = { 1, 2, 3, 4 }, back[4] = { 0 };
    void *d, *h;

    CHECK(cudaGetDeviceCount(&n) == cudaSuccess && n == 2);
    CHECK(cudaSetDevice(1) == cudaSuccess);
    CHECK(cudaMalloc(&d, sizeof(text)) == cudaSuccess);
    CHECK(cudaMallocHost(&h, 100) == cudaSuccess);
    CHECK(cudaMemcpy(d, text, sizeof(text), cudaMemcpyDefault) == cudaSuccess);
    CHECK(cudaMemcpy(back, d, sizeof(text), cudaMemcpyDefault) == cudaSuccess);
    CHECK(memcmp(text, back, sizeof(text)) == 0);
    CHECK(cudaPointerGetAttributes(&attributes, d) == cudaSuccess);
    CHECK(attributes.type == cudaMemoryTypeDevice && attributes.device == 1);
    CHECK(cudaPointerGetAttributes(&attributes, text) == cudaSuccess);
    CHECK(attributes.type == cudaMemoryTypeUnregistered);
    CHECK(cudaSetDevice(5) == cudaErrorInvalidDevice);
    CHECK(cudaGetDevice(&n) == cudaSuccess && n == 1);
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaSuccess);
    CHECK(cudaFree(d) == cudaSuccess && cudaFreeHost(h) == cudaSuccess);
    CHECK(strcmp(cudaGetErrorName(cudaErrorNoDevice), "CUDA_ERROR_NO_DEVICE") == 0);
    CHECK(emu_live(NULL) == 0); /* the runtime's objects are the program's own */
}

static int child(const char *mode)
{
    void *f;
    CUdriverProcAddressQueryResult status;

    if (strcmp(mode, "count") == 0)
        return devices_seen();
    if (strcmp(mode, "init") == 0)
        return (int) cuInit(0);
    if (strcmp(mode, "hidden") == 0)
        return cuGetProcAddress("cuCtxGetId", &f, 13000, 0, &status) != CUDA_ERROR_NOT_FOUND ||
            cuGetProcAddress("cuMemAlloc", &f, 13000, 0, &status) != CUDA_ERROR_NOT_FOUND ||
            cuGetProcAddress("cuMemAllocHost", &f, 13000, 0, &status) != CUDA_SUCCESS;
    if (strcmp(mode, "trap") == 0) {
        void (*legacy) (void);
        f = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemFree");
        memcpy(&legacy, &f, sizeof(f));
        legacy();
    }
    return 1;
}

int main(int argc, char *argv[])
{
    if (argc > 1)
        return child(argv[1]);

    test_visible();
    test_before_init();
    test_symbols();
    OK(cuInit(0));
    test_contexts();
    CHECK(child_run(forked, NULL) == 0);
    test_runtime();
    return selftest_end();
}
