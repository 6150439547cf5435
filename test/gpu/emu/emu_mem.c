/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Emulated device memory, plain and from pools (emu_pool.c). */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu.h"

#define FRESH_BYTE 0xcb         /* new device memory: not zero, as on a device that was in use
                                 * before */
#define SLACK_BYTE 0xe5         /* between the end of an allocation and the end of its last page */
#define FRESH_MAX ((size_t) 64 << 20)   /* larger allocations stay zero, to save time */

static size_t used[EMU_MAX_DEVICES];

size_t emu_device_used(int device)
{
    return used[device] + emu_file_orphaned(device);
}

/* Map a new part of the device's file at a free address and record it. */
static bool range_make(struct emu_range *range)
{
    int device = range->device;

    range->base = emu_window_gap(device, range->mapped_sz);
    range->offset = range->base ? emu_file_take(device, range->mapped_sz) : 0;
    if (range->offset == 0)
        return false;
    if (emu_alias_map(range->base, range->mapped_sz, emu_file_fd(device), range->offset)) {
        if (emu_range_add(range) != NULL)
            return true;
        emu_alias_unmap(range->base, range->mapped_sz);
    }
    emu_file_give(device, range->offset, range->mapped_sz);
    return false;
}

/* Caller holds emu_lock. */
CUresult emu_device_alloc(size_t size, enum emu_kind kind, int device, CUcontext ctx,
                          CUdeviceptr * addr)
{
    struct emu_range range = {.size = size,.kind = kind,.device = device,.ctx = ctx };
    char *alias;

    range.mapped_sz = (size + EMU_PAGE_SZ - 1) / EMU_PAGE_SZ * EMU_PAGE_SZ;
    if (range.mapped_sz < size ||
        emu_device_used(device) + range.mapped_sz > emu_config.memory_sz || !range_make(&range))
        return CUDA_ERROR_OUT_OF_MEMORY;

    alias = emu_alias(range.base);
    if (size <= FRESH_MAX)
        memset(alias, FRESH_BYTE, size);
    memset(alias + size, SLACK_BYTE, range.mapped_sz - size);
    used[device] += range.mapped_sz;
    *addr = range.base;
    return CUDA_SUCCESS;
}

/* Caller holds emu_lock. */
void emu_device_free(struct emu_range *range)
{
    const unsigned char *alias = emu_alias(range->base);

    for (size_t i = range->size; i < range->mapped_sz; i++) {
        if (alias[i] != SLACK_BYTE) {
            fprintf(stderr, "emulated GPU: device memory was written %zu bytes past the end of the "
                    "%zu bytes at %#lx\n", i - range->size + 1, range->size,
                    (unsigned long) range->base);
            abort();
        }
    }
    if (range->kind == EMU_KIND__POOL && range->is_exported &&
        emu_file_is_mapped_elsewhere(range->device, range->offset)) {
        fprintf(stderr, "emulated GPU: memory of a pool was freed while another process has "
                "imported it: %zu bytes at %#lx\n", range->size, (unsigned long) range->base);
        abort();
    }
    if (range->is_exported)
        emu_ipc_retract(range);
    used[range->device] -= range->mapped_sz;
    emu_alias_unmap(range->base, range->mapped_sz);
    emu_file_give(range->device, range->offset, range->mapped_sz);
    emu_range_remove(range);
}

void emu_ctx_memory_free(CUcontext ctx)
{
    for (int i = emu_range_count - 1; i >= 0; i--) {
        struct emu_range *range = emu_ranges[i];
        if (range->ctx != ctx)
            continue;
        if (range->kind == EMU_KIND__DEVICE) {
            emu_device_free(range);
        } else if (range->kind == EMU_KIND__IPC) {
            emu_ipc_unmap(range);
        } else {
            if (range->kind != EMU_KIND__REGISTERED)
                munmap((void *) range->base, range->mapped_sz);
            emu_range_remove(range);
        }
    }
}

EMU_EXPORT CUresult CUDAAPI cuMemAlloc(CUdeviceptr * addr, size_t size)
{
    CUresult res;

    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__SAFE);
    EMU_CHECK(addr && size > 0, CUDA_ERROR_INVALID_VALUE);
    emu_lock_take();
    res = emu_device_alloc(size, EMU_KIND__DEVICE, emu_current()->device, emu_current(), addr);
    emu_lock_give();
    return emu_leave(res);
}

EMU_EXPORT CUresult CUDAAPI cuMemFree(CUdeviceptr addr)
{
    struct emu_range *range;
    CUcontext owner;
    CUresult res = CUDA_ERROR_INVALID_VALUE;

    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__DO_IT | EMU_NEED__SAFE);
    if (addr == 0)
        return emu_leave(CUDA_SUCCESS);

    emu_lock_take();
    range = emu_range_find(addr);
    owner = range ? range->ctx : NULL;
    emu_lock_give();

    /* A free waits for all operations queued in the context before it. */
    if (owner)
        emu_ctx_wait(owner);

    emu_lock_take();
    range = emu_range_find(addr);
    if (range && range->base == addr) {
        if (range->kind == EMU_KIND__DEVICE || range->kind == EMU_KIND__POOL) {
            emu_device_free(range);
            res = CUDA_SUCCESS;
        } else if (range->kind == EMU_KIND__IMPORTED) {
            emu_ipc_unmap(range);
            res = CUDA_SUCCESS;
        } else if (range->kind == EMU_KIND__MANAGED) {
            munmap((void *) range->base, range->mapped_sz);
            emu_range_remove(range);
            res = CUDA_SUCCESS;
        }
    }
    emu_lock_give();
    return emu_leave(res);
}

EMU_EXPORT CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr * addr, size_t size, CUstream handle)
{
    CUstream stream;
    CUresult res;

    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(addr && size > 0, CUDA_ERROR_INVALID_VALUE);
    stream = emu_stream_get(handle);
    EMU_CHECK(stream, CUDA_ERROR_INVALID_HANDLE);
    emu_lock_take();
    res = emu_pool_alloc(emu_pool_default(), size, stream->ctx->device, addr);
    emu_lock_give();
    return emu_leave(res);
}

static void free_run(struct emu_op *op)
{
    struct emu_range *range;

    emu_lock_take();
    range = emu_range_find(*(CUdeviceptr *) op->args);
    if (range)
        emu_device_free(range);
    emu_lock_give();
}

static void args_drop(struct emu_op *op)
{
    free(op->args);
}

EMU_EXPORT CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr addr, CUstream handle)
{
    struct emu_range *range;
    CUdeviceptr *args;
    CUstream stream;
    bool is_pool;

    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__DO_IT);
    stream = emu_stream_get(handle);
    EMU_CHECK(stream, CUDA_ERROR_INVALID_HANDLE);
    emu_lock_take();
    range = emu_range_find(addr);
    is_pool = range && range->base == addr && range->kind == EMU_KIND__POOL;
    emu_lock_give();
    EMU_CHECK(is_pool, CUDA_ERROR_INVALID_VALUE);

    args = malloc(sizeof(*args));
    EMU_CHECK(args, CUDA_ERROR_OUT_OF_MEMORY);
    *args = addr;
    return emu_leave(emu_enqueue(stream, free_run, args_drop, args, NULL));
}

EMU_EXPORT CUresult CUDAAPI cuMemGetAddressRange(CUdeviceptr * base, size_t * size,
                                                 CUdeviceptr addr)
{
    struct emu_range *range;

    EMU_ENTER(EMU_NEED__INIT);
    emu_lock_take();
    range = emu_range_find(addr);
    if (range) {
        if (base)
            *base = range->base;
        if (size)
            *size = range->size;
    }
    emu_lock_give();
    return emu_leave(range ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}
