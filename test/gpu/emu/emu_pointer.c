/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Pointer attributes in the emulated driver. */

#include <string.h>

#include "emu.h"

static bool is_device_kind(enum emu_kind kind)
{
    return kind == EMU_KIND__DEVICE || kind == EMU_KIND__POOL || kind == EMU_KIND__VMM ||
        kind == EMU_KIND__IPC || kind == EMU_KIND__IMPORTED;
}

/* Whether the device of a context has access to memory. */
static bool may_access(CUcontext ctx, const struct emu_range *range)
{
    int device = range->kind == EMU_KIND__IPC ? range->ctx->device : range->device;

    if (range->kind == EMU_KIND__VMM || range->kind == EMU_KIND__IMPORTED)
        return (range->access >> ctx->device) & 1;
    return !is_device_kind(range->kind) || ctx->device == device || (ctx->peers & (1u << device));
}

/* Store one attribute of an address in range. Returns false if the range does not have the
 * attribute. */
static bool attribute_store(void *value, CUpointer_attribute attribute,
                            const struct emu_range *range, CUdeviceptr addr)
{
    bool is_device = is_device_kind(range->kind);

    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            *(CUcontext *) value = range->ctx;
            return true;
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *(CUmemorytype *) value = is_device || range->kind == EMU_KIND__MANAGED ?
                CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
            return true;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            *(CUdeviceptr *) value = addr;
            return true;
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            *(void **) value = is_device ? NULL : (void *) addr;
            return !is_device;
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
            *(unsigned *) value = range->sync_memops || range->kind == EMU_KIND__MANAGED;
            return true;
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
            *(unsigned long long *) value = range->id;
            return true;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            *(int *) value = range->kind == EMU_KIND__MANAGED;
            return true;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *(int *) value = range->device;
            return true;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            *(CUdeviceptr *) value = range->base;
            return true;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            *(size_t *) value = range->size;
            return true;
        case CU_POINTER_ATTRIBUTE_MAPPED:
            *(int *) value = 1;
            return true;
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
            *(int *) value = range->kind == EMU_KIND__DEVICE && emu_config.ipc;
            return true;
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
            *(unsigned long long *) value = range->kind == EMU_KIND__VMM ? range->flags : 0;
            return true;
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            *(unsigned *) value = !emu_current() || !may_access(emu_current(), range) ?
                CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
            return true;
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            *(CUmemoryPool *) value = range->pool;
            return true;
        default:
            return false;
    }
}

static size_t attribute_sz(CUpointer_attribute attribute)
{
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        case CU_POINTER_ATTRIBUTE_MAPPED:
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
            return sizeof(int);
        default:
            return sizeof(void *);
    }
}

EMU_EXPORT CUresult CUDAAPI cuPointerGetAttribute(void *value, CUpointer_attribute attribute,
                                                  CUdeviceptr addr)
{
    struct emu_range *range;
    bool stored;

    EMU_ENTER(EMU_NEED__INIT);
    emu_lock_take();
    range = emu_range_find(addr);
    stored = range && attribute_store(value, attribute, range, addr);
    emu_lock_give();
    return emu_leave(stored ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* Unlike the singular form, this one succeeds for an address that is unknown to CUDA: every value
 * is zero, but the device is -2. */
EMU_EXPORT CUresult CUDAAPI cuPointerGetAttributes(unsigned int n, CUpointer_attribute * attributes,
                                                   void **values, CUdeviceptr addr)
{
    struct emu_range *range;

    EMU_ENTER(EMU_NEED__INIT);
    emu_lock_take();
    range = emu_range_find(addr);
    for (unsigned i = 0; i < n; i++) {
        memset(values[i], 0, attribute_sz(attributes[i]));
        if (range)
            attribute_store(values[i], attributes[i], range, addr);
        else if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *) values[i] = -2;    /* CU_DEVICE_INVALID */
    }
    emu_lock_give();
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                                                  CUdeviceptr addr)
{
    struct emu_range *range;
    CUresult res = CUDA_ERROR_INVALID_VALUE;

    EMU_ENTER(EMU_NEED__INIT);
    emu_lock_take();
    range = emu_range_find(addr);
    if (range && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
        res = range->kind == EMU_KIND__VMM ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
        range->sync_memops = res == CUDA_SUCCESS && *(const unsigned *) value != 0;
    }
    emu_lock_give();
    return emu_leave(res);
}
