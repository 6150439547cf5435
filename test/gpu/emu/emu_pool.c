/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Emulated pools of device memory. One that can be exported has a file that says which it is. What a
 * process has imported it must free before the process that made it does (emu_mem.c). */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu.h"

#define MAGIC 0xc0de0007u

/* The contents of a pool's file. */
struct identity {
    uint32_t magic;
    uint32_t number;            /* of the pool in its process */
    int32_t device;             /* physical number */
    int32_t pid;
    uint64_t nonce;             /* of the file of the device's memory */
};

struct CUmemPoolHandle_st {
    struct CUmemPoolHandle_st *next;
    struct identity identity;
    int device;                 /* ordinal; -1: not visible */
    int fd;                     /* of its file; -1: cannot be exported, or is another process's */
    bool is_imported;
    bool is_exported;           /* what it has cannot be exported before */
    int references;             /* to be destroyed as often as it was made or imported */
    unsigned access;            /* of an imported one: bit d: device d may access it */
};

static struct CUmemPoolHandle_st *pools, default_pool = {.fd = -1 };
static unsigned npools;

CUmemoryPool emu_pool_default(void)
{
    return &default_pool;
}

static bool is_pool(CUmemoryPool pool)
{
    struct CUmemPoolHandle_st *p = pools;

    while (p && p != pool)
        p = p->next;
    return p != NULL;
}

CUresult emu_pool_alloc(CUmemoryPool pool, size_t size, int device, CUdeviceptr * addr)
{
    CUresult res = emu_device_alloc(size, EMU_KIND__POOL, device, NULL, addr);

    if (res == CUDA_SUCCESS)
        emu_range_find(*addr)->pool = pool;
    return res;
}

/* ---- the process that has the memory ---- */

static int file_make(const struct identity *identity)
{
    int fd = memfd_create("emulated-gpu-pool", MFD_CLOEXEC);

    if (fd >= 0 && pwrite(fd, identity, sizeof(*identity), 0) != sizeof(*identity)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

EMU_EXPORT CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool * pool, const CUmemPoolProps * props)
{
    struct CUmemPoolHandle_st *p;
    bool is_shared;

    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(pool && props && props->allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
              props->location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_INVALID_VALUE);
    EMU_CHECK(props->location.id >= 0 && props->location.id < emu_config.nvisible,
              CUDA_ERROR_INVALID_DEVICE);
    is_shared = props->handleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    EMU_CHECK(props->handleTypes == CU_MEM_HANDLE_TYPE_NONE || (is_shared && emu_config.ipc),
              CUDA_ERROR_NOT_SUPPORTED);
    p = calloc(1, sizeof(*p));
    EMU_CHECK(p, CUDA_ERROR_OUT_OF_MEMORY);
    emu_lock_take();
    p->references = 1;
    p->device = props->location.id;
    p->identity = (struct identity) {
        .magic = MAGIC,.number = ++npools,.device = emu_config.visible[p->device],
        .pid = getpid(),.nonce = emu_file_head(p->device)->nonce
    };
    p->fd = is_shared ? file_make(&p->identity) : -1;
    p->next = pools;
    pools = p;
    emu_lock_give();
    *pool = p;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool)
{
    struct CUmemPoolHandle_st **at = &pools;
    bool is_good;

    EMU_ENTER(EMU_NEED__INIT | EMU_NEED__DO_IT);
    emu_lock_take();
    is_good = is_pool(pool);
    if (is_good && pool->references > 1) {
        pool->references--;
        emu_lock_give();
        return emu_leave(CUDA_SUCCESS);
    }
    for (int i = 0; is_good && i < emu_range_count; i++)
        is_good = emu_ranges[i]->pool != pool;
    if (is_good) {
        while (*at != pool)
            at = &(*at)->next;
        *at = pool->next;
        if (pool->fd >= 0)
            close(pool->fd);
        free(pool);
    }
    emu_lock_give();
    return emu_leave(is_good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

EMU_EXPORT CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr * addr, size_t size,
                                                    CUmemoryPool pool, CUstream handle)
{
    CUresult res = CUDA_ERROR_INVALID_VALUE;

    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(addr && size > 0, CUDA_ERROR_INVALID_VALUE);
    EMU_CHECK(emu_stream_get(handle), CUDA_ERROR_INVALID_HANDLE);
    emu_lock_take();
    if (is_pool(pool) && !pool->is_imported)
        res = emu_pool_alloc(pool, size, pool->device, addr);
    emu_lock_give();
    return emu_leave(res);
}

/* The descriptor is the caller's. */
EMU_EXPORT CUresult CUDAAPI cuMemPoolExportToShareableHandle(void *shareable, CUmemoryPool pool,
                                                             CUmemAllocationHandleType type,
                                                             unsigned long long flags)
{
    bool is_good;
    int fd;

    EMU_ENTER(EMU_NEED__INIT);
    emu_lock_take();
    is_good = is_pool(pool) && pool->fd >= 0;
    if (is_good)
        pool->is_exported = true;
    emu_lock_give();
    EMU_CHECK(is_good && shareable && flags == 0 &&
              type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_INVALID_VALUE);
    fd = fcntl(pool->fd, F_DUPFD_CLOEXEC, 0);
    EMU_CHECK(fd >= 0, CUDA_ERROR_OPERATING_SYSTEM);
    *(int *) shareable = fd;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuMemPoolExportPointer(CUmemPoolPtrExportData * data, CUdeviceptr addr)
{
    struct emu_range *range;
    CUresult res = CUDA_ERROR_INVALID_VALUE;

    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(data, CUDA_ERROR_INVALID_VALUE);
    emu_lock_take();
    range = emu_range_find(addr);
    if (range && range->kind == EMU_KIND__POOL && range->base == addr &&
        range->pool->is_exported)
        res = emu_ipc_pool_export(range, range->pool->identity.number, data);
    emu_lock_give();
    return emu_leave(res);
}

/* ---- other processes ---- */

/* A pool that is imported again is the same one, and counted. */
EMU_EXPORT CUresult CUDAAPI cuMemPoolImportFromShareableHandle(CUmemoryPool * pool, void *shareable,
                                                               CUmemAllocationHandleType type,
                                                               unsigned long long flags)
{
    struct identity identity;
    struct CUmemPoolHandle_st *p;

    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(emu_config.ipc, CUDA_ERROR_NOT_SUPPORTED);
    EMU_CHECK(pool && flags == 0 && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR &&
              pread((int) (uintptr_t) shareable, &identity, sizeof(identity), 0) ==
              sizeof(identity) && identity.magic == MAGIC && identity.pid != getpid(),
              CUDA_ERROR_INVALID_VALUE);
    emu_lock_take();
    p = pools;
    while (p && !(p->is_imported && memcmp(&p->identity, &identity, sizeof(identity)) == 0))
        p = p->next;
    if (p == NULL)
        p = calloc(1, sizeof(*p));
    if (p && !p->is_imported) {
        p->identity = identity;
        p->is_imported = true;
        p->device = p->fd = -1;
        for (int d = 0; d < emu_config.nvisible; d++) {
            if (emu_config.visible[d] == identity.device)
                p->device = d;
        }
        p->access = p->device >= 0 ? 1u << p->device : 0;
        p->next = pools;
        pools = p;
    }
    if (p)
        p->references++;
    emu_lock_give();
    EMU_CHECK(p, CUDA_ERROR_OUT_OF_MEMORY);
    *pool = p;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc * access,
                                               size_t n)
{
    CUresult res = CUDA_ERROR_INVALID_VALUE;

    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(access && n > 0, CUDA_ERROR_INVALID_VALUE);
    emu_lock_take();
    if (is_pool(pool))
        res = CUDA_SUCCESS;
    for (size_t i = 0; i < n && res == CUDA_SUCCESS; i++) {
        int id = access[i].location.id;
        if (access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || id < 0 ||
            id >= emu_config.nvisible || (id != pool->device && !emu_config.peer))
            res = CUDA_ERROR_INVALID_DEVICE;
        else if (access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            pool->access |= 1u << id;
    }
    emu_lock_give();
    return emu_leave(res);
}

EMU_EXPORT CUresult CUDAAPI cuMemPoolImportPointer(CUdeviceptr * addr, CUmemoryPool pool,
                                                   CUmemPoolPtrExportData * data)
{
    CUresult res = CUDA_ERROR_INVALID_VALUE;

    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(addr && data, CUDA_ERROR_INVALID_VALUE);
    emu_lock_take();
    if (is_pool(pool) && pool->is_imported)
        res = emu_ipc_pool_import(data, pool->identity.number, pool->identity.nonce, pool,
                                  pool->access, addr);
    emu_lock_give();
    return emu_leave(res);
}
