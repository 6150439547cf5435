/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Registers host memory of the library. Must not know what the memory is used for. */

#include "mpiimpl.h"
#include "gpudt_register.h"
#include "gpudt_contexts.h"
#include "gpudt_host.h"
#include "driver/gpudt_ptr.h"
#include "gpudt_topo.h"
#include "gpudt_vars.h"

/* A range of registered memory, for which the driver need not be asked. A range whose context was
 * destroyed stays until it is unregistered or registered again: its engine never becomes alive
 * again. */
struct range {
    struct range *next;
    char *mem;
    size_t sz;
    MPII_Gpudt_engine_t *engine;
    uint64_t shift;             /* from a CPU address to the engine's device address */
};

static MPL_initlock_t ranges_lock = MPL_INITLOCK_INITIALIZER;
static struct range *ranges;

/* Move memory to the NUMA node next to a GPU. */
static void place(const MPII_Gpudt_driver_t * drv, int device, void *mem, size_t sz)
{
    char busid[16];
    CUdevice dev;

    if (drv->cuDeviceGet(&dev, device) == CUDA_SUCCESS &&
        drv->cuDeviceGetPCIBusId(busid, sizeof(busid), dev) == CUDA_SUCCESS)
        MPIR_Gpudt_place_near_pci(busid, mem, sz);
}

/* The link to the range that starts at mem, or the last link; caller holds ranges_lock. */
static struct range **range_at(const void *mem)
{
    struct range **at;

    for (at = &ranges; *at && (*at)->mem != mem; at = &(*at)->next);
    return at;
}

/* Remove the range that starts at mem from the list; NULL if there is none. */
static struct range *range_take(const void *mem)
{
    struct range **at, *range;

    MPL_initlock_lock(&ranges_lock);
    at = range_at(mem);
    range = *at;
    if (range)
        *at = range->next;
    MPL_initlock_unlock(&ranges_lock);
    return range;
}

/* Remove the ranges that were registered in the context of an engine that is freed. */
static void ranges_forget(MPII_Gpudt_engine_t * engine, bool is_alive ATTRIBUTE((unused)))
{
    struct range **at, *range;

    MPL_initlock_lock(&ranges_lock);
    for (at = &ranges; *at;) {
        range = *at;
        if (range->engine == engine) {
            *at = range->next;
            MPII_GPUDT_UNCOUNT(pinned_bytes, range->sz);
            MPL_free(range);
        } else {
            at = &range->next;
        }
    }
    MPL_initlock_unlock(&ranges_lock);
}

/* Register memory in the context of a GPU buffer. */
static bool range_make(struct range *range, const void *gpu_addr, bool is_own)
{
    const MPII_Gpudt_driver_t *drv = MPII_Gpudt_driver_get();
    MPIR_Gpudt_ptr_t ptr;
    MPII_Gpudt_ctx_t entered;
    CUdeviceptr mapped;
    bool is_made;

    if (drv == NULL || MPIR_Gpudt_query_ptr(gpu_addr, &ptr) != MPI_SUCCESS ||
        ptr.mem == MPIR_GPUDT_MEM__HOST ||
        MPII_Gpudt_engine_enter(drv, ptr.device, ptr.ctx, &range->engine, &entered) != MPI_SUCCESS)
        return false;

    if (is_own)
        place(drv, ptr.device, range->mem, range->sz);
    is_made = drv->cuMemHostRegister(range->mem, range->sz, CU_MEMHOSTREGISTER_PORTABLE |
                                     CU_MEMHOSTREGISTER_DEVICEMAP) == CUDA_SUCCESS;
    if (is_made && drv->cuMemHostGetDevicePointer(&mapped, range->mem, 0) == CUDA_SUCCESS) {
        range->shift = mapped - (uint64_t) (uintptr_t) range->mem;
    } else if (is_made) {
        drv->cuMemHostUnregister(range->mem);
        is_made = false;
    }
    MPII_Gpudt_ctx_leave(drv, &entered);
    if (is_made)
        MPII_Gpudt_engine_at_end(range->engine, ranges_forget);
    return is_made;
}

bool MPIR_Gpudt_host_register(const void *gpu_addr, void *mem, size_t sz, bool is_own)
{
    struct range *range = MPL_malloc(sizeof(*range), MPL_MEM_BUFFER), *ended;

    if (range) {
        range->mem = mem;
        range->sz = sz;
    }
    if (range == NULL || !range_make(range, gpu_addr, is_own)) {
        MPL_free(range);
        MPII_GPUDT_COUNT(fallbacks_pinned, 1);
        return false;
    }
    MPII_GPUDT_COUNT(pinned_bytes, sz);

    /* Remove a registration that was lost with its context */
    ended = range_take(mem);
    if (ended)
        MPII_GPUDT_UNCOUNT(pinned_bytes, ended->sz);
    MPL_free(ended);
    MPL_initlock_lock(&ranges_lock);
    range->next = ranges;
    ranges = range;
    MPL_initlock_unlock(&ranges_lock);
    return true;
}

bool MPIR_Gpudt_host_is_registered(void *mem, size_t sz)
{
    const MPII_Gpudt_engine_t *engine = NULL;
    struct range *range;

    MPL_initlock_lock(&ranges_lock);
    range = *range_at(mem);
    if (range && range->sz == sz)
        engine = range->engine;
    MPL_initlock_unlock(&ranges_lock);
    return engine && MPII_Gpudt_engine_is_alive(engine);
}

void MPIR_Gpudt_host_unregister(void *mem, size_t sz)
{
    struct range *range = range_take(mem);
    MPII_Gpudt_engine_t *engine = range ? range->engine : NULL;
    MPII_Gpudt_ctx_t entered;

    /* If the context was destroyed, so was the registration */
    if (engine && MPII_Gpudt_engine_is_alive(engine) &&
        MPII_Gpudt_ctx_enter(engine->drv, engine->device, engine->ctx, &entered) == MPI_SUCCESS) {
        engine->drv->cuMemHostUnregister(mem);
        MPII_Gpudt_ctx_leave(engine->drv, &entered);
    }
    if (range)
        MPII_GPUDT_UNCOUNT(pinned_bytes, sz);
    MPL_free(range);
}

bool MPII_Gpudt_host_find(const MPII_Gpudt_engine_t * engine, const char *low, const char *high,
                          uint64_t * shift)
{
    struct range **at, *range;

    MPL_initlock_lock(&ranges_lock);
    for (at = &ranges; *at; at = &(*at)->next) {
        range = *at;
        if (range->engine == engine && low >= range->mem && high <= range->mem + range->sz)
            break;
    }
    range = *at;
    if (range) {
        *shift = range->shift;
        /* The next look-up is likely to find the same range */
        *at = range->next;
        range->next = ranges;
        ranges = range;
    }
    MPL_initlock_unlock(&ranges_lock);
    return range != NULL;
}

int MPIR_Gpudt_host_epoch(bool look)
{
    if (look)
        MPII_Gpudt_engines_check();
    return MPL_atomic_acquire_load_int(&MPII_Gpudt_epoch);
}
