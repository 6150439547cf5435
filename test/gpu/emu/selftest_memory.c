/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests emulated memory of all kinds: pointer attributes, access rights, and copies. Needs two
 * devices of 64 MiB. */

#include "selftest.h"

static void byte_read(void *arg)
{
    _exit(*(volatile char *) arg == 1);
}

static void byte_write(void *arg)
{
    *(volatile char *) arg = 1;
    _exit(0);
}

static void test_cpu_access(void)
{
    CUdeviceptr d, managed;
    char host;
    int fds[2];

    OK(cuMemAlloc(&d, 1000));
    OK(cuMemAllocManaged(&managed, 1000, CU_MEM_ATTACH_GLOBAL));
    CHECK(child_run(byte_read, (void *) d) == -SIGSEGV);
    CHECK(child_run(byte_write, (void *) (d + 999)) == -SIGSEGV);
    CHECK(child_run(byte_write, (void *) managed) == 0);

    /* System calls cannot access it either. */
    CHECK(pipe(fds) == 0);
    CHECK(write(fds[1], (void *) d, 1) < 0);
    CHECK(write(fds[1], &host, 1) == 1);
    close(fds[0]);
    close(fds[1]);
    OK(cuMemFree(d));
    OK(cuMemFree(managed));
}

static CUmemorytype type_of(const void *addr, int *is_managed, int *device, CUcontext * ctx)
{
    CUmemorytype type = 77;
    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT
    };
    void *values[] = { &type, is_managed, device, ctx };

    OK(cuPointerGetAttributes(4, names, values, (CUdeviceptr) addr));
    return type;
}

static void test_kinds(CUcontext mine)
{
    CUdeviceptr d, managed, pool;
    CUcontext ctx;
    CUmemorytype type;
    int is_managed, device;
    static char pageable[4096], registered[4096];
    void *pinned;

    OK(cuMemAlloc(&d, 100));
    CHECK(type_of((void *) (d + 99), &is_managed, &device, &ctx) == CU_MEMORYTYPE_DEVICE);
    CHECK(!is_managed && device == 0 && ctx == mine);
    CHECK(type_of((void *) (d + 100), &is_managed, &device, &ctx) == 0);

    OK(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
    CHECK(type_of((void *) managed, &is_managed, &device, &ctx) == CU_MEMORYTYPE_DEVICE);
    CHECK(is_managed);

    OK(cuMemHostAlloc(&pinned, 100, CU_MEMHOSTALLOC_PORTABLE));
    CHECK(type_of(pinned, &is_managed, &device, &ctx) == CU_MEMORYTYPE_HOST && !is_managed);

    OK(cuMemHostRegister(registered, 2000, 0));
    EXPECT(cuMemHostRegister(registered + 100, 10, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CHECK(type_of(registered + 1999, &is_managed, &device, &ctx) == CU_MEMORYTYPE_HOST);
    CHECK(type_of(registered + 2000, &is_managed, &device, &ctx) == 0);
    OK(cuMemHostUnregister(registered));
    EXPECT(cuMemHostUnregister(registered), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);

    CHECK(type_of(pageable, &is_managed, &device, &ctx) == 0 && ctx == NULL);
    EXPECT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr) pageable),
           CUDA_ERROR_INVALID_VALUE);

    /* Pool memory belongs to no context. */
    OK(cuMemAllocAsync(&pool, 100, NULL));
    CHECK(type_of((void *) pool, &is_managed, &device, &ctx) == CU_MEMORYTYPE_DEVICE);
    CHECK(ctx == NULL && device == 0);
    OK(cuMemFreeAsync(pool, NULL));
    OK(cuCtxSynchronize());
    CHECK(type_of((void *) pool, &is_managed, &device, &ctx) == 0);

    OK(cuMemFree(d));
    OK(cuMemFree(managed));
    OK(cuMemFreeHost(pinned));
    EXPECT(cuMemFree(d), CUDA_ERROR_INVALID_VALUE);
}

static void test_copies(CUcontext second)
{
    unsigned char a[300], b[300];
    CUdeviceptr d, e, f;
    CUDA_MEMCPY2D box = { 0 };
    CUDA_MEMCPY3D cube = { 0 };
    CUcontext first;

    for (int i = 0; i < 300; i++)
        a[i] = (unsigned char) (i * 7 + 1);
    OK(cuMemAlloc(&d, 300));
    OK(cuMemAlloc(&e, 300));
    OK(cuMemcpyHtoD(d, a, 300));
    OK(cuMemcpyDtoD(e, d, 300));
    OK(cuMemcpyDtoH(b, e, 300));
    CHECK(memcmp(a, b, 300) == 0);
    EXPECT(cuMemcpyDtoH(b, d + 1, 300), CUDA_ERROR_INVALID_VALUE);

    /* Rows 3 bytes wide, 10 apart, to rows 5 apart. */
    OK(cuMemsetD8(e, 0, 300));
    box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    box.srcDevice = d;
    box.srcPitch = 10;
    box.dstDevice = e;
    box.dstPitch = 5;
    box.WidthInBytes = 3;
    box.Height = 20;
    OK(cuMemcpy2DAsync(&box, NULL));
    OK(cuMemcpyDtoH(b, e, 300));
    for (int i = 0; i < 100; i++)
        CHECK(b[i] == (i % 5 < 3 ? a[i / 5 * 10 + i % 5] : 0));

    cube.srcMemoryType = cube.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    cube.srcDevice = d;
    cube.srcPitch = 10;
    cube.srcHeight = 6;
    cube.srcXInBytes = 1;
    cube.srcY = 2;
    cube.srcZ = 1;
    cube.dstDevice = e;
    cube.dstPitch = 4;
    cube.dstHeight = 3;
    cube.WidthInBytes = 4;
    cube.Height = 3;
    cube.Depth = 2;
    OK(cuMemcpy3DAsync(&cube, NULL));
    OK(cuMemcpyDtoH(b, e, 24));
    for (int i = 0; i < 24; i++)
        CHECK(b[i] == a[(i / 12 + 1) * 60 + (i / 4 % 3 + 2) * 10 + i % 4 + 1]);

    OK(cuCtxGetCurrent(&first));
    OK(cuCtxPushCurrent(second));
    OK(cuMemAlloc(&f, 300));
    OK(cuMemcpyPeerAsync(f, second, d, first, 300, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(b, f, 300));
    CHECK(memcmp(a, b, 300) == 0);
    OK(cuMemFree(f));
    OK(cuCtxPopCurrent(NULL));

    OK(cuMemFree(d));
    EXPECT(cuMemcpyDtoH(b, d, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(e));
}

static void test_limits(void)
{
    CUdeviceptr d, e;

    EXPECT(cuMemAlloc(&d, (size_t) 65 << 20), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAlloc(&d, (size_t) 40 << 20));
    EXPECT(cuMemAlloc(&e, (size_t) 40 << 20), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemFree(d));
    OK(cuMemAlloc(&e, (size_t) 40 << 20));
    CHECK(d == e);              /* addresses are reused */
    OK(cuMemFree(e));
}

/* In a program of its own: the driver aborts it at the free. */
static int overrun(void)
{
    CUdeviceptr d;
    char *alias;

    primary_enter(0);
    OK(cuMemAlloc(&d, 100));
    alias = emu_peek((void *) d, 100);
    alias[100] = 1;
    OK(cuMemFree(d));
    return 0;
}

static void test_bounds(void)
{
    CUdeviceptr d;

    CHECK(child_exec("overrun", NULL, NULL) == -SIGABRT);
    OK(cuMemAlloc(&d, 100));
    CHECK(emu_peek((void *) d, 100) != NULL);
    CHECK(emu_peek((void *) d, 101) == NULL);
    OK(cuMemFree(d));
    CHECK(emu_peek((void *) d, 1) == NULL);
}

static void test_vmm(void)
{
    CUmemAllocationProp prop = { 0 };
    CUmemAccessDesc access = { 0 };
    CUmemGenericAllocationHandle handle;
    CUdeviceptr d;
    CUcontext ctx, owner;
    size_t granularity;
    int is_managed, device;
    char text[] = "mapped", back[sizeof(text)];

    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = 1;
    OK(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cuMemAddressReserve(&d, 2 * granularity, 0, 0, 0));
    OK(cuMemCreate(&handle, granularity, &prop, 0));
    OK(cuMemMap(d, granularity, 0, handle, 0));
    OK(cuMemMap(d + granularity, granularity, 0, handle, 0));
    OK(cuMemRelease(handle));
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    OK(cuMemSetAccess(d, 2 * granularity, &access, 1));

    CHECK(type_of((void *) d, &is_managed, &device, &ctx) == CU_MEMORYTYPE_DEVICE);
    CHECK(device == 1 && ctx == NULL);
    /* the other device has no access */
    EXPECT(cuMemcpyHtoD(d + 8, text, sizeof(text)), CUDA_ERROR_INVALID_VALUE);
    OK(cuDevicePrimaryCtxRetain(&owner, 1));
    OK(cuCtxPushCurrent(owner));
    OK(cuMemcpyHtoD(d + 8, text, sizeof(text)));
    OK(cuMemcpyDtoH(back, d + granularity + 8, sizeof(text)));
    OK(cuCtxPopCurrent(&owner));
    OK(cuDevicePrimaryCtxRelease(1));
    CHECK(strcmp(text, back) == 0);
    CHECK(child_run(byte_read, (void *) d) == -SIGSEGV);
    OK(cuMemUnmap(d, granularity));
    OK(cuMemUnmap(d + granularity, granularity));
    EXPECT(cuMemcpyDtoH(back, d, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAddressFree(d, 2 * granularity));
}

int main(int argc, char *argv[])
{
    CUcontext first, second;

    if (argc > 1 && strcmp(argv[1], "overrun") == 0)
        return overrun();

    second = primary_enter(1);
    first = primary_enter(0);
    test_cpu_access();
    test_kinds(first);
    test_copies(second);
    test_limits();
    test_bounds();
    test_vmm();
    CHECK(emu_live("memory") == 0 && emu_live("host") == 0 && emu_live("registration") == 0);
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxRelease(1));
    CHECK(emu_live(NULL) == 0);
    return selftest_end();
}
