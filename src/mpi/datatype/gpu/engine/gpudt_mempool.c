/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Shares memory of stream-ordered pools. Must not know messages, nor which memory is in use.
 *
 * The driver does not tell when a program destroys a pool, and may use its handle again. Therefore each
 * allocation has a descriptor of its own. The importing driver gives the same pool for all descriptors
 * of one (seen with driver 580 on H200), so that only the first one takes long. */

#include "mpiimpl.h"
#include "gpudt_mempool.h"

#include <unistd.h>

#define FD_TYPE CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

/* A pool of another process. */
static struct imported {
    struct imported *next;
    const MPII_Gpudt_driver_t *drv;
    uint64_t process;
    CUmemoryPool pool;
} *imported;

bool MPII_Gpudt_mempool_exists(const MPII_Gpudt_driver_t * drv)
{
    return drv->cuMemPoolExportToShareableHandle && drv->cuMemPoolImportFromShareableHandle &&
        drv->cuMemPoolExportPointer && drv->cuMemPoolImportPointer && drv->cuMemPoolSetAccess &&
        drv->cuMemPoolDestroy;
}

/* ---- the process that has the memory ---- */

CUmemoryPool MPII_Gpudt_mempool_of(const MPII_Gpudt_driver_t * drv, CUdeviceptr addr)
{
    CUmemoryPool pool = NULL;

    return drv->cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, addr) ==
        CUDA_SUCCESS ? pool : NULL;
}

struct MPII_Gpudt_descriptor *MPII_Gpudt_mempool_open(const MPII_Gpudt_driver_t * drv,
                                                      CUdeviceptr base, size_t sz,
                                                      uint64_t process,
                                                      struct MPII_Gpudt_mempool_name *name,
                                                      const char **why, bool * is_final)
{
    CUmemoryPool pool = MPII_Gpudt_mempool_of(drv, base);
    struct MPII_Gpudt_descriptor *d;
    CUresult res;
    int fd = -1;

    *is_final = true;
    *why = "the driver cannot share pools";
    if (pool == NULL || !MPII_Gpudt_mempool_exists(drv))
        return NULL;
    *why = "it is too large to be imported";
    if (sz > MPII_GPUDT_MEMPOOL_MOST)
        return NULL;
    /* A pool that was not created for it gives an error, too. The pool comes first: without it, the
     * driver refuses the allocation */
    res = drv->cuMemPoolExportToShareableHandle(&fd, pool, FD_TYPE, 0);
    if (res == CUDA_SUCCESS)
        res = drv->cuMemPoolExportPointer(&name->data, base);
    if (res != CUDA_SUCCESS) {
        if (fd >= 0)
            close(fd);
        *is_final = res != CUDA_ERROR_OUT_OF_MEMORY && res != CUDA_ERROR_OPERATING_SYSTEM;
        drv->cuGetErrorName(res, why);
        return NULL;
    }
    d = MPII_Gpudt_descriptor_make(fd, process, why);
    *is_final = false;
    if (d == NULL)
        return NULL;
    name->pid = (int) getpid();
    name->proof = MPII_Gpudt_descriptor_proof();
    name->pool = fd;
    return d;
}

/* ---- other processes ---- */

/* Note a pool, once: the driver counts how often it was imported, and gives its memory back when it was
 * destroyed as often. Returns false without memory for that. */
static bool imported_note(const MPII_Gpudt_driver_t * drv, uint64_t process, CUmemoryPool pool)
{
    struct imported *i;

    for (i = imported; i; i = i->next) {
        if (i->pool == pool) {
            drv->cuMemPoolDestroy(pool);
            return true;
        }
    }
    i = MPL_malloc(sizeof(*i), MPL_MEM_BUFFER);
    if (i == NULL)
        return false;
    i->drv = drv;
    i->process = process;
    i->pool = pool;
    i->next = imported;
    imported = i;
    return true;
}

CUresult MPII_Gpudt_mempool_import(const MPII_Gpudt_engine_t * engine,
                                   const struct MPII_Gpudt_mempool_name *name, uint64_t process,
                                   CUmemoryPool * pool, const char **why)
{
    const MPII_Gpudt_driver_t *drv = engine->drv;
    const CUmemAccessDesc access = {
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,.id = engine->device},
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    };
    CUresult res;
    int fd = MPII_Gpudt_descriptor_take(name->pid, name->proof, name->pool, process, &res, why);

    if (fd < 0)
        return res;
    res = drv->cuMemPoolImportFromShareableHandle(pool, (void *) (uintptr_t) fd, FD_TYPE, 0);
    close(fd);
    if (res != CUDA_SUCCESS)
        return res;
    if (!imported_note(drv, process, *pool)) {
        drv->cuMemPoolDestroy(*pool);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return drv->cuMemPoolSetAccess(*pool, &access, 1);
}

void MPII_Gpudt_mempools_drop(uint64_t process)
{
    struct imported **at = &imported;

    while (*at) {
        struct imported *i = *at;
        if (process == 0 || i->process == process) {
            i->drv->cuMemPoolDestroy(i->pool);
            *at = i->next;
            MPL_free(i);
        } else {
            at = &i->next;
        }
    }
}
