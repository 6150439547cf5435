/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Emulated virtual memory management: physical memory and its mappings at reserved addresses
 * (emu_reserve.c). Physical memory is a part of the device's file, or a file of its own if it can
 * be exported; a mapping maps it at the reserved address's alias. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu.h"

#define MAGIC 0xc0de0006u

struct physical {
    struct emu_range *backing;  /* its place in the file; not accessible itself */
    int references;             /* handles and mappings */
    int fd;                     /* its own file, or -1 */
    struct file_head *head;     /* of that file, mapped */
    CUmemAllocationProp prop;
};

/* First page of a physical memory's own file. */
struct file_head {
    uint32_t magic;
    int32_t device;             /* physical number */
    uint64_t size;
    int32_t pid;                /* of the process that made it */
    int32_t holders;            /* handles that this process has of it */
    uint64_t live;              /* LIVE while there are any */
};
#define LIVE 1

static struct mapping {
    uintptr_t base;
    struct physical *physical;
    struct mapping *next;
} *mappings;

static bool is_foreign(const struct physical *p)
{
    return p->head && p->head->pid != getpid();
}

/* Count a handle that the maker of a file has of it. */
static void holder_count(struct file_head *head, int change)
{
    if (head->pid != getpid())
        return;
    head->holders += change;
    __atomic_store_n(&head->live, head->holders > 0 ? LIVE : 0, __ATOMIC_SEQ_CST);
}

static void physical_release(struct physical *p)
{
    if (--p->references > 0)
        return;
    if (p->fd >= 0) {
        holder_count(p->head, -1);
        munmap(p->head, EMU_PAGE_SZ);
        close(p->fd);
    } else {
        emu_file_give(p->backing->device, p->backing->offset, p->backing->mapped_sz);
    }
    emu_range_remove(p->backing);
    free(p);
}

static int file_make(int device, size_t size)
{
    struct file_head head = {
        .magic = MAGIC,.device = emu_config.visible[device],.size = size,.pid = getpid()
    };
    int fd = memfd_create("emulated-gpu-vmm", MFD_CLOEXEC);

    if (fd >= 0 && (ftruncate(fd, (off_t) (EMU_PAGE_SZ + size)) != 0 ||
                    pwrite(fd, &head, sizeof(head), 0) != sizeof(head))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Make physical memory, in file fd or (-1) in the device's file. Takes over fd if it succeeds.
 * NULL: no memory. */
static struct physical *physical_make(const CUmemAllocationProp * prop, size_t size, int fd)
{
    struct emu_range range = {.size = size,.mapped_sz = size,.kind = EMU_KIND__VMM };
    struct physical *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return NULL;
    p->prop = *prop;
    p->references = 1;
    p->fd = fd;
    if (fd >= 0) {
        p->head = mmap(NULL, EMU_PAGE_SZ, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p->head == MAP_FAILED) {
            free(p);
            return NULL;
        }
    }
    range.device = prop->location.id;
    emu_lock_take();
    range.base = emu_window_gap(range.device, size);
    range.offset = fd >= 0 ? (off_t) EMU_PAGE_SZ : emu_file_take(range.device, size);
    if (range.base && range.offset)
        p->backing = emu_range_add(&range);
    if (p->backing && p->head)
        holder_count(p->head, 1);
    emu_lock_give();
    if (p->backing)
        return p;
    if (p->head)
        munmap(p->head, EMU_PAGE_SZ);
    free(p);
    return NULL;
}

static struct mapping *mapping_of(uintptr_t addr)
{
    struct emu_range *range = emu_range_find(addr);
    struct mapping *m = mappings;

    while (m && (range == NULL || m->base != range->base))
        m = m->next;
    return m;
}

EMU_EXPORT CUresult CUDAAPI cuMemGetAllocationGranularity(size_t * granularity,
                                                          const CUmemAllocationProp * prop,
                                                          CUmemAllocationGranularity_flags flags)
{
    (void) flags;
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(granularity && prop, CUDA_ERROR_INVALID_VALUE);
    *granularity = EMU_GRANULARITY;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle * handle, size_t size,
                                        const CUmemAllocationProp * prop, unsigned long long flags)
{
    struct physical *p;
    bool is_shared;
    int fd = -1;

    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(handle && prop && size > 0 && size % EMU_GRANULARITY == 0 && flags == 0,
              CUDA_ERROR_INVALID_VALUE);
    EMU_CHECK(prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
              prop->location.id >= 0 && prop->location.id < emu_config.nvisible,
              CUDA_ERROR_INVALID_DEVICE);
    is_shared = prop->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    EMU_CHECK(prop->requestedHandleTypes == 0 || (is_shared && emu_config.ipc),
              CUDA_ERROR_NOT_SUPPORTED);

    if (is_shared)
        fd = file_make(prop->location.id, size);
    EMU_CHECK(!is_shared || fd >= 0, CUDA_ERROR_OUT_OF_MEMORY);
    p = physical_make(prop, size, fd);
    if (p == NULL && fd >= 0)
        close(fd);
    EMU_CHECK(p, CUDA_ERROR_OUT_OF_MEMORY);
    *handle = (CUmemGenericAllocationHandle) (uintptr_t) p;
    return emu_leave(CUDA_SUCCESS);
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
    if (!emu_is_reserved(addr, size)) {
        emu_lock_give();
        free(m);
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    }
    device = p->backing->device;
    if (is_foreign(p)) {
        range.live = &p->head->live;
        range.live_id = LIVE;
    }
    range.device = device;
    /* The alias of the mapping may be in another device's window than the memory: addresses of any
     * device may map memory of any device. */
    range.flags = p->prop.requestedHandleTypes;
    if (emu_alias_map(addr, size, p->fd >= 0 ? p->fd : emu_file_fd(device),
                      p->backing->offset + (off_t) offset) &&
        emu_range_add(&range) != NULL) {
        p->references++;
        m->base = addr;
        m->physical = p;
        m->next = mappings;
        mappings = m;
        if (is_foreign(p))
            emu_ipc_mapped(1);
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
        if (is_foreign(m->physical)) {
            emu_ipc_mapped(-1);
            emu_stale_remember(addr, size);
        }
        emu_alias_unmap(addr, size);
        emu_range_remove(range);
        physical_release(m->physical);
        free(m);
    }
    emu_lock_give();
    return emu_leave(m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

static bool access_allowed(const CUmemAccessDesc * access, int device)
{
    int id = access->location.id;

    return access->location.type == CU_MEM_LOCATION_TYPE_DEVICE && id >= 0 &&
        id < emu_config.nvisible && (id == device || emu_config.peer);
}

static void access_set(struct emu_range *range, const CUmemAccessDesc * access, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        range->access &= ~(1u << access[i].location.id);
        if (access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            range->access |= 1u << access[i].location.id;
    }
    __atomic_add_fetch(&emu_range_changes, 1, __ATOMIC_RELEASE);
}

/* Read-only access is not emulated: it is no access. */
EMU_EXPORT CUresult CUDAAPI cuMemSetAccess(CUdeviceptr addr, size_t size,
                                           const CUmemAccessDesc * access, size_t n)
{
    CUresult res = CUDA_SUCCESS;
    struct emu_range *range;

    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(access && n > 0 && size > 0, CUDA_ERROR_INVALID_VALUE);
    emu_lock_take();
    for (CUdeviceptr at = addr; at < addr + size && res == CUDA_SUCCESS; at += range->size) {
        range = emu_range_find(at);
        if (range == NULL || mapping_of(at) == NULL || range->base != at ||
            at + range->size > addr + size) {
            res = CUDA_ERROR_INVALID_VALUE;
            break;
        }
        for (size_t i = 0; i < n; i++) {
            if (!access_allowed(&access[i], range->device))
                res = CUDA_ERROR_INVALID_DEVICE;
        }
        if (res == CUDA_SUCCESS)
            access_set(range, access, n);
    }
    emu_lock_give();
    return emu_leave(res);
}

EMU_EXPORT CUresult CUDAAPI cuMemGetAccess(unsigned long long *flags,
                                           const CUmemLocation * location, CUdeviceptr addr)
{
    bool is_mapped;

    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(flags && location && location->id >= 0 && location->id < emu_config.nvisible,
              CUDA_ERROR_INVALID_VALUE);
    emu_lock_take();
    is_mapped = mapping_of(addr) != NULL;
    if (is_mapped)
        *flags = (emu_range_find(addr)->access >> location->id) & 1 ?
            CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    emu_lock_give();
    return emu_leave(is_mapped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

EMU_EXPORT CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle * handle,
                                                        void *addr)
{
    struct mapping *m;

    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(handle, CUDA_ERROR_INVALID_VALUE);
    emu_lock_take();
    m = mapping_of((uintptr_t) addr);
    if (m) {
        m->physical->references++;
        *handle = (CUmemGenericAllocationHandle) (uintptr_t) m->physical;
    }
    emu_lock_give();
    return emu_leave(m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

EMU_EXPORT CUresult CUDAAPI
cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp * prop,
                                       CUmemGenericAllocationHandle handle)
{
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(prop && handle, CUDA_ERROR_INVALID_VALUE);
    *prop = ((struct physical *) (uintptr_t) handle)->prop;
    return emu_leave(CUDA_SUCCESS);
}

/* The descriptor is the caller's, who sends it to another process and closes it. */
EMU_EXPORT CUresult CUDAAPI cuMemExportToShareableHandle(void *shareable,
                                                         CUmemGenericAllocationHandle handle,
                                                         CUmemAllocationHandleType type,
                                                         unsigned long long flags)
{
    struct physical *p = (struct physical *) (uintptr_t) handle;
    int fd;

    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(shareable && p && p->fd >= 0 && flags == 0 &&
              type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_INVALID_VALUE);
    fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 0);
    EMU_CHECK(fd >= 0, CUDA_ERROR_OUT_OF_MEMORY);
    *(int *) shareable = fd;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI
cuMemImportFromShareableHandle(CUmemGenericAllocationHandle * handle, void *shareable,
                               CUmemAllocationHandleType type)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,.id = -1}
    };
    struct file_head head;
    struct physical *p;
    int fd = (int) (uintptr_t) shareable;

    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(emu_config.ipc, CUDA_ERROR_NOT_SUPPORTED);
    EMU_CHECK(handle && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR &&
              pread(fd, &head, sizeof(head), 0) == sizeof(head) && head.magic == MAGIC,
              CUDA_ERROR_INVALID_VALUE);
    for (int d = 0; d < emu_config.nvisible; d++) {
        if (emu_config.visible[d] == head.device)
            prop.location.id = d;
    }
    EMU_CHECK(prop.location.id >= 0, CUDA_ERROR_INVALID_DEVICE);

    fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    EMU_CHECK(fd >= 0, CUDA_ERROR_OUT_OF_MEMORY);
    p = physical_make(&prop, head.size, fd);
    if (p == NULL)
        close(fd);
    EMU_CHECK(p, CUDA_ERROR_OUT_OF_MEMORY);
    *handle = (CUmemGenericAllocationHandle) (uintptr_t) p;
    return emu_leave(CUDA_SUCCESS);
}
