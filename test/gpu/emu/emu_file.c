/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The memory files of emulated devices. A file has the bytes of one device's memory, as far as this
 * process allocated it; other processes open it by /proc/PID/fd.
 *
 * A part of a file is used once. So an address that is allocated again has other bytes than before,
 * and a process that still maps the old ones never sees the new ones. Parts that are given back are
 * holes in the file. A process that maps a part holds a lock on the part's first byte, which
 * disappears with the process; a part with a lock becomes a hole later. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "emu.h"

#define FILE_SZ ((off_t) 1 << 50)

static struct {
    int fd;
    struct emu_file_head *head;
    off_t next;                 /* the file is unused from here on */
} files[EMU_MAX_DEVICES];

/* Parts given back that other processes still map. */
static struct orphan {
    int device;
    off_t offset;
    size_t size;
    struct orphan *next;
} *orphans;

size_t emu_file_head_sz(void)
{
    size_t size = (1 + emu_window_size() / EMU_PAGE_SZ) * sizeof(uint64_t);

    return (size + EMU_PAGE_SZ - 1) / EMU_PAGE_SZ * EMU_PAGE_SZ;
}

bool emu_file_init(int device)
{
    int fd = memfd_create("emulated-gpu", MFD_CLOEXEC);
    void *head;

    if (fd < 0 || ftruncate(fd, FILE_SZ) != 0)
        return false;
    head = mmap(NULL, emu_file_head_sz(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                0);
    if (head == MAP_FAILED)
        return false;
    files[device].fd = fd;
    files[device].head = head;
    files[device].next = (off_t) emu_file_head_sz();
    return getrandom(&files[device].head->nonce, sizeof(uint64_t), 0) == sizeof(uint64_t);
}

int emu_file_fd(int device)
{
    return files[device].fd;
}

struct emu_file_head *emu_file_head(int device)
{
    return files[device].head;
}

off_t emu_file_take(int device, size_t mapped_sz)
{
    off_t offset = files[device].next;

    if ((off_t) mapped_sz > FILE_SZ - offset)
        return 0;
    files[device].next += (off_t) mapped_sz;
    return offset;
}

bool emu_file_is_mapped_elsewhere(int device, off_t offset)
{
    struct flock lock = {.l_type = F_WRLCK,.l_whence = SEEK_SET,.l_start = offset,.l_len = 1 };

    return fcntl(files[device].fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static void hole_make(int device, off_t offset, size_t size)
{
    fallocate(files[device].fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, (off_t) size);
}

size_t emu_file_orphaned(int device)
{
    struct orphan **at = &orphans;
    size_t total = 0;

    while (*at) {
        struct orphan *o = *at;
        if (emu_file_is_mapped_elsewhere(o->device, o->offset)) {
            total += o->device == device ? o->size : 0;
            at = &o->next;
        } else {
            hole_make(o->device, o->offset, o->size);
            *at = o->next;
            free(o);
        }
    }
    return total;
}

void emu_file_give(int device, off_t offset, size_t mapped_sz)
{
    struct orphan *o;

    if (!emu_file_is_mapped_elsewhere(device, offset)) {
        hole_make(device, offset, mapped_sz);
        return;
    }
    o = malloc(sizeof(*o));
    if (o == NULL)
        return;                 /* the bytes stay until the process ends */
    o->device = device;
    o->offset = offset;
    o->size = mapped_sz;
    o->next = orphans;
    orphans = o;
}
