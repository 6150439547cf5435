/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Host memory that belongs to the library's devices. Must not know what they use it for. */

#include "gpudt_internal.h"
#include "gpudt_host.h"

#include <sys/syscall.h>
#include <unistd.h>

/* As in the kernel's linux/mempolicy.h, which not every system has */
#define MPOL_PREFERRED 1
#define MPOL_MF_MOVE 2

bool MPIR_Gpudt_is_present(void)
{
    return MPIR_CVAR_ENABLE_GPU && MPII_Gpudt_driver_get() != NULL;
}

/* The NUMA node next to a GPU; -1 if there is only one or none is known. */
static int numa_node(const MPII_Gpudt_driver_t * drv, int device)
{
    char path[96] = "/sys/bus/pci/devices/", *id = path + strlen(path);
    int node = -1;
    CUdevice dev;
    FILE *file;

    if (drv->cuDeviceGet(&dev, device) != CUDA_SUCCESS ||
        drv->cuDeviceGetPCIBusId(id, 16, dev) != CUDA_SUCCESS)
        return -1;
    for (char *at = id; *at; at++)
        *at = tolower((unsigned char) *at);
    strcat(path, "/numa_node");
    file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%d", &node) != 1)
            node = -1;
        fclose(file);
    }
    return node;
}

/* Have memory on the node next to a GPU, as far as there is room. */
static void place(const MPII_Gpudt_driver_t * drv, int device, void *mem, size_t sz)
{
    int node = numa_node(drv, device);
    unsigned long mask[16] = { 0 };
    int bits = 8 * (int) sizeof(mask[0]);

    if (node < 0 || node >= bits * 16)
        return;
    mask[node / bits] |= 1ul << node % bits;
    syscall(SYS_mbind, mem, sz, MPOL_PREFERRED, mask, (unsigned long) bits * 16, MPOL_MF_MOVE);
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

void MPIR_Gpudt_count_heap_chunk(void)
{
    MPII_GPUDT_COUNT(heap_chunks, 1);
}
