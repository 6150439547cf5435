/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Emulated pinned host memory, registered and allocated, and managed memory. */

#define _GNU_SOURCE
#include <sys/mman.h>

#include "emu.h"

/* Anonymous memory that CPU and emulated device share. */
static CUresult shared_alloc(size_t size, enum emu_kind kind, unsigned flags, void **addr)
{
    struct emu_range range = {.size = size,.kind = kind,.flags = flags };
    CUcontext ctx = emu_current();
    void *memory;

    range.mapped_sz = (size + EMU_PAGE_SZ - 1) / EMU_PAGE_SZ * EMU_PAGE_SZ;
    range.device = ctx->device;
    range.ctx = ctx;
    memory = mmap(NULL, range.mapped_sz, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1, 0);
    if (memory == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;

    range.base = (uintptr_t) memory;
    emu_lock_take();
    if (emu_range_add(&range) == NULL) {
        emu_lock_give();
        munmap(memory, range.mapped_sz);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    emu_lock_give();
    *addr = memory;
    return CUDA_SUCCESS;
}

EMU_EXPORT CUresult CUDAAPI cuMemHostAlloc(void **addr, size_t size, unsigned int flags)
{
    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__SAFE);
    EMU_CHECK(addr && size > 0, CUDA_ERROR_INVALID_VALUE);
    return emu_leave(shared_alloc(size, EMU_KIND__HOST, flags, addr));
}

EMU_EXPORT CUresult CUDAAPI cuMemAllocHost(void **addr, size_t size)
{
    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__SAFE);
    EMU_CHECK(addr && size > 0, CUDA_ERROR_INVALID_VALUE);
    return emu_leave(shared_alloc(size, EMU_KIND__HOST, 0, addr));
}

EMU_EXPORT CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr * addr, size_t size, unsigned int flags)
{
    void *memory = NULL;
    CUresult res;

    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__SAFE);
    EMU_CHECK(addr && size > 0, CUDA_ERROR_INVALID_VALUE);
    EMU_CHECK(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST,
              CUDA_ERROR_INVALID_VALUE);
    res = shared_alloc(size, EMU_KIND__MANAGED, flags, &memory);
    *addr = (CUdeviceptr) memory;
    return emu_leave(res);
}

EMU_EXPORT CUresult CUDAAPI cuMemFreeHost(void *addr)
{
    struct emu_range *range;
    CUcontext owner = NULL;

    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__DO_IT | EMU_NEED__SAFE);
    emu_lock_take();
    range = emu_range_find((uintptr_t) addr);
    if (range && range->base == (uintptr_t) addr && range->kind == EMU_KIND__HOST)
        owner = range->ctx;
    emu_lock_give();
    EMU_CHECK(owner, CUDA_ERROR_INVALID_VALUE);

    emu_ctx_wait(owner);
    emu_lock_take();
    munmap(addr, range->mapped_sz);
    emu_range_remove(range);
    emu_lock_give();
    return emu_leave(CUDA_SUCCESS);
}

static bool overlaps_a_range(uintptr_t base, size_t size)
{
    for (int i = 0; i < emu_range_count; i++) {
        if (base < emu_ranges[i]->base + emu_ranges[i]->size && emu_ranges[i]->base < base + size)
            return true;
    }
    return false;
}

EMU_EXPORT CUresult CUDAAPI cuMemHostRegister(void *addr, size_t size, unsigned int flags)
{
    struct emu_range range = {.base = (uintptr_t) addr,.size = size,.mapped_sz = size,
        .kind = EMU_KIND__REGISTERED,.flags = flags
    };
    CUresult res = CUDA_SUCCESS;

    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__SAFE);
    EMU_CHECK(addr && size > 0 && range.base + size > range.base, CUDA_ERROR_INVALID_VALUE);
    range.device = emu_current()->device;
    range.ctx = emu_current();

    emu_lock_take();
    if (overlaps_a_range(range.base, size))
        res = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    else if (emu_range_add(&range) == NULL)
        res = CUDA_ERROR_OUT_OF_MEMORY;
    emu_lock_give();
    return emu_leave(res);
}

EMU_EXPORT CUresult CUDAAPI cuMemHostUnregister(void *addr)
{
    struct emu_range *range;
    CUresult res = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;

    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__DO_IT | EMU_NEED__SAFE);
    emu_lock_take();
    range = emu_range_find((uintptr_t) addr);
    if (range && range->base == (uintptr_t) addr && range->kind == EMU_KIND__REGISTERED) {
        emu_range_remove(range);
        res = CUDA_SUCCESS;
    }
    emu_lock_give();
    return emu_leave(res);
}

EMU_EXPORT CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr * device_addr, void *addr,
                                                      unsigned int flags)
{
    struct emu_range *range;

    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(device_addr && flags == 0, CUDA_ERROR_INVALID_VALUE);
    emu_lock_take();
    range = emu_range_find((uintptr_t) addr);
    emu_lock_give();
    EMU_CHECK(range && (range->kind == EMU_KIND__HOST || range->kind == EMU_KIND__REGISTERED),
              CUDA_ERROR_INVALID_VALUE);
    *device_addr = (CUdeviceptr) addr;
    return emu_leave(CUDA_SUCCESS);
}
