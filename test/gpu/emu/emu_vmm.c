/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Emulated virtual memory management: reserved addresses, physical memory, mappings. Physical
 * memory is a part of the device's file; a mapping maps it at the reserved address's alias. */

#include <stdlib.h>

#include "emu.h"

#define GRANULARITY ((size_t) 64 << 10)

struct physical {
    struct emu_range *backing;  /* its place in the file; not accessible itself */
    int references;             /* the handle and its mappings */
};

static struct mapping {
    uintptr_t base;
    struct physical *physical;
    struct mapping *next;
} *mappings;

static void physical_release(struct physical *p)
{
    if (--p->references > 0)
        return;
    emu_file_give(p->backing->device, p->backing->offset, p->backing->mapped_sz);
    emu_range_remove(p->backing);
    free(p);
}

EMU_EXPORT CUresult CUDAAPI cuMemGetAllocationGranularity(size_t * granularity,
                                                          const CUmemAllocationProp * prop,
                                                          CUmemAllocationGranularity_flags flags)
{
    (void) flags;
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(granularity && prop, CUDA_ERROR_INVALID_VALUE);
    *granularity = GRANULARITY;
    return emu_leave(CUDA_SUCCESS);
}

/* Reservations are not recorded: addresses are taken once, from the upper half of the window, which
 * is large enough and not reached by allocations. */
EMU_EXPORT CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr * addr, size_t size, size_t alignment,
                                                CUdeviceptr wanted, unsigned long long flags)
{
    static size_t reserved;

    (void) wanted;
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(addr && size > 0 && size % GRANULARITY == 0 && flags == 0 &&
              alignment <= GRANULARITY, CUDA_ERROR_INVALID_VALUE);
    emu_lock_take();
    if (reserved + size + GRANULARITY > emu_window_size() / 4) {
        emu_lock_give();
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *addr = (emu_window_base(0) + emu_window_size() / 2 + reserved + GRANULARITY - 1) /
        GRANULARITY * GRANULARITY;
    reserved += size + GRANULARITY;
    emu_lock_give();
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuMemAddressFree(CUdeviceptr addr, size_t size)
{
    (void) size;
    EMU_ENTER(EMU_NEED__INIT | EMU_NEED__DO_IT);
    EMU_CHECK(emu_window_device(addr) >= 0, CUDA_ERROR_INVALID_VALUE);
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle * handle, size_t size,
                                        const CUmemAllocationProp * prop, unsigned long long flags)
{
    struct emu_range range = {.size = size,.mapped_sz = size,.kind = EMU_KIND__VMM };
    struct physical *p;
    CUresult res = CUDA_ERROR_OUT_OF_MEMORY;

    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(handle && prop && size > 0 && size % GRANULARITY == 0 && flags == 0,
              CUDA_ERROR_INVALID_VALUE);
    EMU_CHECK(prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
              prop->location.id >= 0 && prop->location.id < emu_config.nvisible,
              CUDA_ERROR_INVALID_DEVICE);

    p = calloc(1, sizeof(*p));
    EMU_CHECK(p, CUDA_ERROR_OUT_OF_MEMORY);
    range.device = prop->location.id;
    emu_lock_take();
    range.base = emu_window_gap(range.device, size);
    range.offset = emu_file_take(range.device, size);
    if (range.base && range.offset && (p->backing = emu_range_add(&range)) != NULL) {
        p->references = 1;
        *handle = (CUmemGenericAllocationHandle) (uintptr_t) p;
        res = CUDA_SUCCESS;
    }
    emu_lock_give();
    if (res != CUDA_SUCCESS)
        free(p);
    return emu_leave(res);
}

EMU_EXPORT CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
    EMU_ENTER(EMU_NEED__INIT | EMU_NEED__DO_IT);
    EMU_CHECK(handle, CUDA_ERROR_INVALID_VALUE);
    emu_lock_take();
    physical_release((struct physical *) (uintptr_t) handle);
    emu_lock_give();
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuMemMap(CUdeviceptr addr, size_t size, size_t offset,
                                     CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    struct physical *p = (struct physical *) (uintptr_t) handle;
    struct mapping *m;
    struct emu_range range = {.base = addr,.size = size,.mapped_sz = size,.kind = EMU_KIND__VMM };
    CUresult res = CUDA_ERROR_OUT_OF_MEMORY;
    int device;

    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(p && flags == 0 && offset + size <= p->backing->size &&
              emu_window_device(addr) >= 0, CUDA_ERROR_INVALID_VALUE);
    m = malloc(sizeof(*m));
    EMU_CHECK(m, CUDA_ERROR_OUT_OF_MEMORY);

    emu_lock_take();
    device = p->backing->device;
    range.device = device;
    /* The alias of the mapping may be in another device's window than the memory: addresses of any
     * device may map memory of any device. */
    if (emu_alias_map(addr, size, emu_file_fd(device), p->backing->offset + (off_t) offset) &&
        emu_range_add(&range) != NULL) {
        p->references++;
        m->base = addr;
        m->physical = p;
        m->next = mappings;
        mappings = m;
        res = CUDA_SUCCESS;
    }
    emu_lock_give();
    if (res != CUDA_SUCCESS)
        free(m);
    return emu_leave(res);
}

EMU_EXPORT CUresult CUDAAPI cuMemUnmap(CUdeviceptr addr, size_t size)
{
    struct mapping **at, *m = NULL;
    struct emu_range *range;

    EMU_ENTER(EMU_NEED__INIT | EMU_NEED__DO_IT);
    emu_lock_take();
    for (at = &mappings; *at; at = &(*at)->next) {
        if ((*at)->base == addr) {
            m = *at;
            *at = m->next;
            break;
        }
    }
    if (m) {
        range = emu_range_find(addr);
        emu_alias_unmap(addr, size);
        emu_range_remove(range);
        physical_release(m->physical);
        free(m);
    }
    emu_lock_give();
    return emu_leave(m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* Access rights are not recorded per range: a mapping belongs to the device whose memory it
 * maps. */
EMU_EXPORT CUresult CUDAAPI cuMemSetAccess(CUdeviceptr addr, size_t size,
                                           const CUmemAccessDesc * access, size_t n)
{
    (void) size;
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(access && n > 0 && emu_window_device(addr) >= 0, CUDA_ERROR_INVALID_VALUE);
    return emu_leave(CUDA_SUCCESS);
}
