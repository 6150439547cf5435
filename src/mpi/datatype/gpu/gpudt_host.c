/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Host memory that belongs to the library's devices. Must not know what they use it for. */

#include "gpudt_internal.h"
#include "gpudt_host.h"
#include "gpudt_topo.h"

bool MPIR_Gpudt_is_present(void)
{
    return MPIR_CVAR_ENABLE_GPU && MPII_Gpudt_driver_get() != NULL;
}

/* Have memory on the NUMA node next to a GPU. */
static void place(const MPII_Gpudt_driver_t * drv, int device, void *mem, size_t sz)
{
    char busid[16];
    CUdevice dev;

    if (drv->cuDeviceGet(&dev, device) == CUDA_SUCCESS &&
        drv->cuDeviceGetPCIBusId(busid, sizeof(busid), dev) == CUDA_SUCCESS)
        MPIR_Gpudt_place_near_pci(busid, mem, sz);
}

/* Run one of the two calls in a context; the address is what tells which. */
static CUresult call_in_context(const void *addr, void *mem, size_t sz, bool is_own)
{
    const MPII_Gpudt_driver_t *drv = MPII_Gpudt_driver_get();
    MPIR_Gpudt_ptr_t ptr;
    MPII_Gpudt_ctx_t entered;
    CUresult res;

    if (drv == NULL || MPIR_Gpudt_query_ptr(addr, &ptr) != MPI_SUCCESS ||
        ptr.mem == MPIR_GPUDT_MEM__HOST ||
        MPII_Gpudt_ctx_enter(drv, ptr.device, ptr.ctx, &entered) != MPI_SUCCESS)
        return CUDA_ERROR_INVALID_VALUE;

    if (sz && is_own)
        place(drv, ptr.device, mem, sz);
    if (sz)
        res = drv->cuMemHostRegister(mem, sz, CU_MEMHOSTREGISTER_PORTABLE |
                                     CU_MEMHOSTREGISTER_DEVICEMAP);
    else
        res = drv->cuMemHostUnregister(mem);
    MPII_Gpudt_ctx_leave(drv, &entered);
    return res;
}

bool MPIR_Gpudt_host_register(const void *gpu_addr, void *mem, size_t sz, bool is_own)
{
    if (call_in_context(gpu_addr, mem, sz, is_own) != CUDA_SUCCESS) {
        MPII_GPUDT_COUNT(fallbacks_pinned, 1);
        return false;
    }
    MPII_GPUDT_COUNT(pinned_bytes, sz);
    return true;
}

void MPIR_Gpudt_host_unregister(void *mem, size_t sz)
{
    /* While it is registered, its own address names the context. If that is gone, so is the
     * registration. */
    call_in_context(mem, mem, 0, false);
    MPII_GPUDT_UNCOUNT(pinned_bytes, sz);
}

int MPIR_Gpudt_host_epoch(bool look)
{
    if (look)
        MPII_Gpudt_engines_check();
    return MPL_atomic_acquire_load_int(&MPII_Gpudt_epoch);
}

bool MPIR_Gpudt_host_is_registered(void *mem, size_t sz ATTRIBUTE((unused)))
{
    MPIR_Gpudt_ptr_t ptr;

    return MPIR_Gpudt_query_ptr(mem, &ptr) == MPI_SUCCESS && ptr.mem == MPIR_GPUDT_MEM__PINNED;
}

void MPIR_Gpudt_count_pool(enum MPIR_Gpudt_pool_e what)
{
    switch (what) {
        case MPIR_GPUDT_POOL__HEAP_CHUNK:
            MPII_GPUDT_COUNT(heap_chunks, 1);
            break;
        case MPIR_GPUDT_POOL__REFUSED:
            MPII_GPUDT_COUNT(fallbacks_share, 1);
            break;
        case MPIR_GPUDT_POOL__RENEWED:
            MPII_GPUDT_COUNT(renewed_pieces, 1);
            break;
    }
}
