/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests mapped ranges of the emulated driver: reservations, access rights, and physical memory that
 * another process imports by a file descriptor. Needs two devices. */

#include <fcntl.h>

#include "selftest.h"

#define SZ ((size_t) 1 << 20)
#define FD CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

static CUmemGenericAllocationHandle make(int device, CUmemAllocationHandleType type)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = type,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,.id = device}
    };
    CUmemGenericAllocationHandle handle = 0;

    OK(cuMemCreate(&handle, SZ, &prop, 0));
    return handle;
}

static CUresult access_set(CUdeviceptr d, int device, CUmemAccess_flags flags)
{
    CUmemAccessDesc access = {.flags = flags,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,.id = device}
    };

    return cuMemSetAccess(d, SZ, &access, 1);
}

static CUdeviceptr map(CUmemGenericAllocationHandle handle)
{
    CUdeviceptr d = 0;

    OK(cuMemAddressReserve(&d, SZ, 0, 0, 0));
    OK(cuMemMap(d, SZ, 0, handle, 0));
    return d;
}

static void unmap(CUdeviceptr d)
{
    OK(cuMemUnmap(d, SZ));
    OK(cuMemAddressFree(d, SZ));
}

/* The importer: a program of its own. fd has been inherited. */
static int import(int fd)
{
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop;
    CUdeviceptr d;
    unsigned char byte;

    primary_enter(0);
    OK(cuMemImportFromShareableHandle(&handle, (void *) (uintptr_t) fd, FD));
    close(fd);
    OK(cuMemGetAllocationPropertiesFromHandle(&prop, handle));
    CHECK(prop.location.id == 1 && prop.requestedHandleTypes == FD);
    d = map(handle);
    OK(cuMemRelease(handle));
    EXPECT(cuMemcpyDtoH(&byte, d, 1), CUDA_ERROR_INVALID_VALUE);        /* no access yet */
    OK(access_set(d, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    OK(cuMemcpyDtoH(&byte, d + SZ - 1, 1));
    CHECK(byte == 0x21);
    OK(cuMemsetD8(d, 0x22, 1));
    OK(cuCtxSynchronize());
    unmap(d);
    CHECK(emu_live("memory") == 0);
    return errs;
}

/* Use memory that its maker has freed, or a mapping that was removed: another program, likewise. */
static int use_stale(const char *mode, int fd)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr d;
    unsigned char byte;

    primary_enter(0);
    OK(cuMemImportFromShareableHandle(&handle, (void *) (uintptr_t) fd, FD));
    close(fd);
    d = map(handle);
    OK(cuMemRelease(handle));
    OK(access_set(d, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    CHECK(emu_ipc_count("open") == 1 && emu_ipc_count("opens") == 1);
    if (strcmp(mode, "unmapped") == 0)
        OK(cuMemUnmap(d, SZ));
    if (strcmp(mode, "unused") != 0)
        cuMemcpyDtoH(&byte, d, 1);
    cuMemUnmap(d, SZ);
    OK(cuMemAddressFree(d, SZ));
    CHECK(emu_ipc_count("open") == 0 && emu_live("reservation") == 0);
    return errs;
}

static int child_with(const char *mode, int fd, const char *stale)
{
    char word[32];

    snprintf(word, sizeof(word), "%d %s", fd, mode);
    return child_exec(word, "EMU_IPC_STALE", stale);
}

static void test_stale(void)
{
    CUmemGenericAllocationHandle handle = make(1, FD);
    int fd = -1;

    OK(cuMemExportToShareableHandle(&fd, handle, FD, 0));
    fcntl(fd, F_SETFD, 0);
    CHECK(child_with("live", fd, "0") == 0);
    CHECK(child_with("unmapped", fd, "0") == -SIGABRT);
    CHECK(child_with("unmapped", fd, "1") == 0);
    OK(cuMemRelease(handle));
    CHECK(child_with("freed", fd, "0") == -SIGABRT);
    CHECK(child_with("freed", fd, "1") == 0);
    CHECK(child_with("unused", fd, "0") == 0);
    close(fd);
}

/* Addresses are reserved, freed and reserved again; a range that is mapped anew has a new
 * number. */
static void test_reservations(void)
{
    CUmemGenericAllocationHandle handle = make(0, CU_MEM_HANDLE_TYPE_NONE);
    CUmemGenericAllocationHandle second_handle = make(1, CU_MEM_HANDLE_TYPE_NONE);
    unsigned long long first = 0, second = 0;
    CUdeviceptr d, e, base;
    size_t size;

    OK(cuMemAddressReserve(&d, 2 * SZ, 0, 0, 0));
    OK(cuMemMap(d, SZ, 0, handle, 0));
    OK(cuPointerGetAttribute(&first, CU_POINTER_ATTRIBUTE_BUFFER_ID, d + 1));
    OK(cuMemGetAddressRange(&base, &size, d + SZ - 1));
    CHECK(base == d && size == SZ);
    EXPECT(cuMemAddressFree(d, 2 * SZ), CUDA_ERROR_INVALID_VALUE);

    /* A copy may pass from one part of a reservation to the next. */
    OK(access_set(d, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    EXPECT(cuMemsetD8(d, 1, SZ + 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemMap(d + SZ, SZ, 0, second_handle, 0));
    EXPECT(cuMemsetD8(d, 1, SZ + 1), CUDA_ERROR_INVALID_VALUE);
    OK(access_set(d + SZ, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    OK(cuMemsetD8(d, 1, SZ + 1));
    OK(cuCtxSynchronize());
    OK(cuMemUnmap(d + SZ, SZ));
    OK(cuMemRelease(second_handle));

    OK(cuMemUnmap(d, SZ));
    OK(cuMemMap(d, SZ, 0, handle, 0));
    OK(cuPointerGetAttribute(&second, CU_POINTER_ATTRIBUTE_BUFFER_ID, d + 1));
    CHECK(second > first);
    OK(cuMemUnmap(d, SZ));
    EXPECT(cuMemAddressFree(d, SZ), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAddressFree(d, 2 * SZ));
    EXPECT(cuMemMap(d, SZ, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAddressReserve(&e, SZ, 0, 0, 0));
    CHECK(e == d && emu_live("reservation") == 1);
    OK(cuMemAddressFree(e, SZ));
    OK(cuMemRelease(handle));
}

static void test_sharing(void)
{
    CUmemGenericAllocationHandle handle = make(1, FD), again;
    CUdeviceptr d = map(handle);
    unsigned long long types = 0;
    unsigned char byte = 0;
    char mode[16];
    int fd = -1;

    OK(cuPointerGetAttribute(&types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, d));
    CHECK(types == FD);
    OK(access_set(d, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    OK(cuMemsetD8(d, 0x21, SZ));
    OK(cuCtxSynchronize());
    OK(cuMemRetainAllocationHandle(&again, (void *) (d + 5)));
    CHECK(again == handle);
    OK(cuMemRelease(handle));
    OK(cuMemExportToShareableHandle(&fd, again, FD, 0));
    OK(cuMemRelease(again));
    fcntl(fd, F_SETFD, 0);
    snprintf(mode, sizeof(mode), "%d", fd);
    CHECK(child_exec(mode, NULL, NULL) == 0);
    OK(cuMemcpyDtoH(&byte, d, 1));
    CHECK(byte == 0x22);

    /* The descriptor holds the memory. */
    unmap(d);
    OK(cuMemImportFromShareableHandle(&handle, (void *) (uintptr_t) fd, FD));
    close(fd);
    d = map(handle);
    OK(access_set(d, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    OK(cuMemcpyDtoH(&byte, d + 1, 1));
    CHECK(byte == 0x21);
    OK(cuMemRelease(handle));
    unmap(d);
}

static void test_refusals(void)
{
    CUmemGenericAllocationHandle handle = make(0, CU_MEM_HANDLE_TYPE_NONE), other;
    CUipcMemHandle legacy;
    CUdeviceptr d = map(handle), plain;
    int fd, fds[2];

    EXPECT(cuMemExportToShareableHandle(&fd, handle, FD, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuIpcGetMemHandle(&legacy, d), CUDA_ERROR_INVALID_VALUE);
    CHECK(pipe(fds) == 0);
    EXPECT(cuMemImportFromShareableHandle(&other, (void *) (uintptr_t) fds[0], FD),
           CUDA_ERROR_INVALID_VALUE);
    close(fds[0]);
    close(fds[1]);
    OK(cuMemAlloc(&plain, 10));
    EXPECT(cuMemRetainAllocationHandle(&other, (void *) plain), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(plain));
    OK(cuMemRelease(handle));
    unmap(d);
}

/* Access is per device and range; peer access between contexts has no part in it. */
static void test_access(CUcontext first)
{
    CUmemGenericAllocationHandle handle = make(0, CU_MEM_HANDLE_TYPE_NONE);
    CUmemLocation second = {.type = CU_MEM_LOCATION_TYPE_DEVICE,.id = 1 };
    CUdeviceptr d = map(handle);
    unsigned long long flags = 0;

    primary_enter(1);
    OK(cuCtxEnablePeerAccess(first, 0));
    OK(access_set(d, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    EXPECT(cuMemsetD8(d, 1, 1), CUDA_ERROR_INVALID_VALUE);
    OK(access_set(d, 1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    OK(cuMemGetAccess(&flags, &second, d));
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemsetD8(d, 1, 1));
    OK(cuCtxSynchronize());
    OK(access_set(d, 1, CU_MEM_ACCESS_FLAGS_PROT_NONE));
    EXPECT(cuMemsetD8(d, 1, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT(access_set(d, 2, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), CUDA_ERROR_INVALID_DEVICE);
    EXPECT(access_set(d + SZ, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), CUDA_ERROR_INVALID_VALUE);
    OK(cuDevicePrimaryCtxRelease(1));
    OK(cuCtxSetCurrent(first));
    OK(cuMemRelease(handle));
    unmap(d);
}

int main(int argc, char *argv[])
{
    CUcontext first;

    if (argc > 1 && strchr(argv[1], ' '))
        return use_stale(strchr(argv[1], ' ') + 1, atoi(argv[1]));
    if (argc > 1)
        return import(atoi(argv[1]));

    first = primary_enter(0);
    test_sharing();
    test_stale();
    test_refusals();
    test_reservations();
    test_access(first);
    CHECK(emu_live("memory") == 0 && emu_live("reservation") == 0);
    return selftest_end();
}
