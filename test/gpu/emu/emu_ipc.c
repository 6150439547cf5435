/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Emulated interprocess memory handles, and memory of pools for other processes. A handle names a part of a memory file of the exporting
 * process (emu_file.c), which the importing process opens by /proc/PID/fd and maps under an address
 * in the window of its current context's device. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu.h"
#include "emu_control.h"

#define MAGIC 0xc0de0005u
#define POOL_MAGIC 0xc0e00000u  /* plus the number of the pool */

struct handle {
    uint32_t magic;
    int32_t pid;
    int32_t fd;                 /* of the memory file, in that process */
    int32_t device;             /* physical number */
    uint64_t inode, nonce;      /* of the file and the process: pid and fd may name others by now */
    uint64_t slot, id;          /* emu_file_head.live[slot] is id while the memory is live */
    uint64_t offset, size;
};
_Static_assert(sizeof(struct handle) == sizeof(CUipcMemHandle), "a handle is filled completely");

/* The memory file of another process, open while this process maps a part of it. */
static struct emu_import {
    int fd;
    uint64_t inode, nonce;
    struct emu_file_head *head;
    int mappings;
    struct emu_import *next;
} *imports;

static long open_now, open_most, opens_ever;

void emu_ipc_mapped(int change)
{
    open_now += change;
    if (change > 0) {
        opens_ever++;
        emu_stale_watch();
    }
    if (open_now > open_most)
        open_most = open_now;
}

/* ---- export ---- */

static size_t slot_of(const struct emu_range *range)
{
    return (range->base - emu_window_base(range->device)) / EMU_PAGE_SZ;
}

void emu_ipc_retract(const struct emu_range *range)
{
    __atomic_store_n(&emu_file_head(range->device)->live[slot_of(range)], 0, __ATOMIC_SEQ_CST);
}

static CUresult export(struct emu_range *range, uint32_t magic, struct handle *h)
{
    struct emu_file_head *head = emu_file_head(range->device);
    struct stat status;

    if (fstat(emu_file_fd(range->device), &status) != 0)
        return CUDA_ERROR_MAP_FAILED;
    range->is_exported = true;
    *h = (struct handle) {
        .magic = magic,
        .pid = getpid(),
        .fd = emu_file_fd(range->device),
        .device = emu_config.visible[range->device],
        .inode = status.st_ino,
        .nonce = head->nonce,
        .slot = slot_of(range),
        .id = range->id,
        .offset = (uint64_t) range->offset,
        .size = range->size
    };
    __atomic_store_n(&head->live[h->slot], h->id, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
}

CUresult emu_ipc_pool_export(struct emu_range *range, unsigned number, CUmemPoolPtrExportData * data)
{
    struct handle h;
    CUresult res = export(range, POOL_MAGIC + number, &h);

    memcpy(data, &h, sizeof(h));
    return res;
}

/* ---- import ---- */

static void import_close(struct emu_import *import)
{
    struct emu_import **at = &imports;

    while (*at != import)
        at = &(*at)->next;
    *at = import->next;
    munmap(import->head, emu_file_head_sz());
    close(import->fd);
    free(import);
}

/* Open the file that a handle names. NULL: it is not there any more, or not accessible. */
static struct emu_import *import_open(const struct handle *h)
{
    struct emu_import *import = calloc(1, sizeof(*import));
    struct stat status;
    char path[64];

    if (import == NULL)
        return NULL;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", h->pid, h->fd);
    import->fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    import->head = MAP_FAILED;
    if (import->fd >= 0 && fstat(import->fd, &status) == 0 && status.st_ino == h->inode &&
        (size_t) status.st_size > emu_file_head_sz())
        import->head = mmap(NULL, emu_file_head_sz(), PROT_READ, MAP_SHARED | MAP_NORESERVE,
                            import->fd, 0);
    if (import->head == MAP_FAILED || import->head->nonce != h->nonce) {
        if (import->head != MAP_FAILED)
            munmap(import->head, emu_file_head_sz());
        if (import->fd >= 0)
            close(import->fd);
        free(import);
        return NULL;
    }
    import->inode = h->inode;
    import->nonce = h->nonce;
    import->next = imports;
    imports = import;
    return import;
}

static struct emu_import *import_get(const struct handle *h)
{
    for (struct emu_import * i = imports; i; i = i->next) {
        if (i->inode == h->inode && i->nonce == h->nonce)
            return i;
    }
    return import_open(h);
}

/* The lock keeps the bytes in the file when the exporter frees them. */
static bool bytes_lock(const struct emu_import *import, off_t offset, short type)
{
    struct flock lock = {.l_type = type,.l_whence = SEEK_SET,.l_start = offset,.l_len = 1 };

    return fcntl(import->fd, F_OFD_SETLK, &lock) == 0;
}

/* Release the lock unless another mapping needs it, and the file unless one is in it. */
static void bytes_unlock(struct emu_import *import, off_t offset)
{
    bool is_needed = false;

    for (int i = 0; i < emu_range_count; i++)
        is_needed |= emu_ranges[i]->import == import && emu_ranges[i]->offset == offset;
    if (!is_needed)
        bytes_lock(import, offset, F_UNLCK);
    if (import->mappings == 0)
        import_close(import);
}

/* Whether a context may map memory of a device. *ordinal: this process's number of that device, or
 * that of the context's device if the process does not see it. */
static CUresult device_check(int physical, CUcontext ctx, unsigned flags, int *ordinal)
{
    *ordinal = ctx->device;
    if (emu_config.visible[ctx->device] == physical)
        return CUDA_SUCCESS;
    if (!emu_config.peer)
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    for (int d = 0; d < emu_config.nvisible; d++) {
        if (emu_config.visible[d] == physical)
            *ordinal = d;
    }
    return flags & CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || (ctx->peers >> *ordinal & 1) ?
        CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Map the memory of a handle, whose bytes are locked.
 *   range   what is not set here
 *   window  device whose addresses it gets */
static CUresult mapping_make(const struct handle *h, struct emu_range range, int window,
                             struct emu_import *import, CUdeviceptr * addr)
{
    range.size = h->size;
    range.mapped_sz = (h->size + EMU_PAGE_SZ - 1) / EMU_PAGE_SZ * EMU_PAGE_SZ;
    range.offset = (off_t) h->offset;
    range.import = import;
    range.live = &import->head->live[h->slot];
    range.live_id = h->id;
    range.opens = 1;
    range.base = emu_window_gap(window, range.mapped_sz);
    if (range.base == 0 || !emu_alias_map(range.base, range.mapped_sz, import->fd, range.offset))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (emu_range_add(&range) == NULL) {
        emu_alias_unmap(range.base, range.mapped_sz);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    import->mappings++;
    emu_ipc_mapped(1);
    *addr = range.base;
    return CUDA_SUCCESS;
}

/* Look for a mapping of the handle in the context. *forbidden: another context of the same device
 * has opened a handle of that process and device, which CUDA does not allow. */
static struct emu_range *mapping_find(const struct handle *h, CUcontext ctx, bool * forbidden)
{
    struct emu_range *found = NULL;

    *forbidden = false;
    for (int i = 0; i < emu_range_count; i++) {
        struct emu_range *r = emu_ranges[i];
        if (r->kind != EMU_KIND__IPC || r->import->inode != h->inode || r->import->nonce != h->nonce)
            continue;
        *forbidden |= r->ctx != ctx && r->ctx->device == ctx->device;
        if (r->ctx == ctx && r->live_id == h->id)
            found = r;
    }
    return found;
}

static CUresult mapping_open(const struct handle *h, CUcontext ctx, unsigned flags,
                             CUdeviceptr * addr)
{
    struct emu_range *range;
    struct emu_import *import;
    CUresult res;
    bool forbidden;
    int ordinal;

    res = device_check(h->device, ctx, flags, &ordinal);
    if (res != CUDA_SUCCESS)
        return res;
    range = mapping_find(h, ctx, &forbidden);
    if (forbidden)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (range && !emu_config.ipc_reopen)
        return CUDA_ERROR_ALREADY_MAPPED;

    import = import_get(h);
    if (import == NULL)
        return CUDA_ERROR_MAP_FAILED;
    res = CUDA_ERROR_INVALID_VALUE;
    /* The exporter withdraws the identity and then looks for locks. */
    if (bytes_lock(import, (off_t) h->offset, F_RDLCK) &&
        emu_is_live(&import->head->live[h->slot], h->id)) {
        if (range) {
            range->opens++;
            *addr = range->base;
            return CUDA_SUCCESS;
        }
        res = mapping_make(h, (struct emu_range) { .kind = EMU_KIND__IPC,.device = ordinal,.ctx = ctx },
                           ctx->device, import, addr);
    }
    if (res != CUDA_SUCCESS)
        bytes_unlock(import, (off_t) h->offset);
    return res;
}

/* Memory that is imported already: its address. The driver does not count imports. */
static struct emu_range *imported_find(const struct handle *h)
{
    for (int i = 0; i < emu_range_count; i++) {
        struct emu_range *r = emu_ranges[i];
        if (r->kind == EMU_KIND__IMPORTED && r->import->inode == h->inode &&
            r->import->nonce == h->nonce && r->live_id == h->id)
            return r;
    }
    return NULL;
}

CUresult emu_ipc_pool_import(const CUmemPoolPtrExportData * data, unsigned number, uint64_t nonce,
                             CUmemoryPool pool, unsigned access, CUdeviceptr * addr)
{
    struct emu_range range = {.kind = EMU_KIND__IMPORTED,.pool = pool,.access = access };
    const struct emu_range *found;
    struct emu_import *import;
    struct handle h;
    CUresult res = CUDA_ERROR_INVALID_VALUE;

    memcpy(&h, data, sizeof(h));
    if (h.magic != POOL_MAGIC + number || h.nonce != nonce ||
        h.slot >= emu_window_size() / EMU_PAGE_SZ)
        return CUDA_ERROR_INVALID_VALUE;
    found = imported_find(&h);
    if (found) {
        *addr = found->base;
        return CUDA_SUCCESS;
    }
    import = import_get(&h);
    if (import == NULL)
        return CUDA_ERROR_MAP_FAILED;
    for (int d = 0; d < emu_config.nvisible; d++) {
        if (emu_config.visible[d] == h.device)
            range.device = d;
    }
    if (bytes_lock(import, (off_t) h.offset, F_RDLCK) &&
        emu_is_live(&import->head->live[h.slot], h.id))
        res = mapping_make(&h, range, range.device, import, addr);
    if (res != CUDA_SUCCESS)
        bytes_unlock(import, (off_t) h.offset);
    return res;
}

void emu_ipc_unmap(struct emu_range *range)
{
    struct emu_import *import = range->import;
    off_t offset = range->offset;

    emu_stale_remember(range->base, range->mapped_sz);
    emu_alias_unmap(range->base, range->mapped_sz);
    emu_range_remove(range);
    emu_ipc_mapped(-1);
    import->mappings--;
    bytes_unlock(import, offset);
}

/* ---- interface ---- */

EMU_EXPORT CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle * handle, CUdeviceptr addr)
{
    struct emu_range *range;
    struct handle h;
    CUresult res = CUDA_ERROR_INVALID_VALUE;

    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(emu_config.ipc, CUDA_ERROR_NOT_SUPPORTED);
    EMU_CHECK(handle, CUDA_ERROR_INVALID_VALUE);
    emu_lock_take();
    range = emu_range_find(addr);
    if (range && range->kind == EMU_KIND__DEVICE)
        res = export(range, MAGIC, &h);
    emu_lock_give();
    if (res == CUDA_SUCCESS)
        memcpy(handle, &h, sizeof(h));
    return emu_leave(res);
}

EMU_EXPORT CUresult CUDAAPI cuIpcOpenMemHandle(CUdeviceptr * addr, CUipcMemHandle handle,
                                               unsigned int flags)
{
    struct handle h;
    CUresult res;

    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__SAFE);
    EMU_CHECK(emu_config.ipc, CUDA_ERROR_NOT_SUPPORTED);
    memcpy(&h, &handle, sizeof(h));
    EMU_CHECK(addr && (flags & ~(unsigned) CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == 0 &&
              h.magic == MAGIC && h.size > 0 && h.slot < emu_window_size() / EMU_PAGE_SZ,
              CUDA_ERROR_INVALID_VALUE);
    for (int d = 0; d < emu_config.nvisible; d++)
        EMU_CHECK(h.nonce != emu_file_head(d)->nonce, CUDA_ERROR_INVALID_CONTEXT);

    if (emu_config.ipc_open_us > 0)
        usleep(emu_config.ipc_open_us);
    emu_lock_take();
    res = mapping_open(&h, emu_current(), flags, addr);
    emu_lock_give();
    return emu_leave(res);
}

/* Does not wait for operations that use the mapping: they must have completed. */
EMU_EXPORT CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr addr)
{
    struct emu_range *range;
    CUresult res = CUDA_SUCCESS;

    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__DO_IT | EMU_NEED__SAFE);
    emu_lock_take();
    range = emu_range_find(addr);
    if (range == NULL || range->kind != EMU_KIND__IPC || range->base != addr)
        res = CUDA_ERROR_INVALID_VALUE;
    else if (range->ctx != emu_current())
        res = CUDA_ERROR_INVALID_CONTEXT;
    else if (--range->opens == 0)
        emu_ipc_unmap(range);
    emu_lock_give();
    return emu_leave(res);
}

static long orphaned(void)
{
    size_t total = 0;

    for (int d = 0; d < emu_config.nvisible; d++)
        total += emu_file_orphaned(d);
    return (long) total;
}

EMU_EXPORT long emu_ipc_count(const char *what)
{
    long n = -1;

    emu_lock_take();
    if (strcmp(what, "open") == 0)
        n = open_now;
    else if (strcmp(what, "most") == 0)
        n = open_most;
    else if (strcmp(what, "opens") == 0)
        n = opens_ever;
    else if (strcmp(what, "stale") == 0)
        n = emu_stale_uses();
    else if (strcmp(what, "orphaned") == 0)
        n = orphaned();
    emu_lock_give();
    return n;
}
