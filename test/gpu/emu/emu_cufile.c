/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* An emulated libcufile.so.0, of which only what the library uses is there. It demands what the real one
 * does or what makes it go directly: a current context that has the memory, device memory, a file open
 * for direct I/O, whole blocks. Handles that are left at the end of the program are an error.
 *
 * EMU_CUFILE says what does not work: see README.md. */

#define _GNU_SOURCE
#include <cuda.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "emu_control.h"

#define EXPORT __attribute__((visibility("default")))
#define BLOCK 4096
#define PIECE (1 << 20)         /* bytes of the buffer between storage and GPU */

enum { SUCCESS = 0, NOT_INITIALIZED = 5001, UNSUPPORTED = 5027, INVALID = 5022 };

typedef struct {
    int err, cu_err;
} error_pair;

struct descr {
    int type;
    union {
        int fd;
        void *handle;
    } handle;
    const void *fs_ops;
};

struct file {
    int fd;
};

static bool is_open;
static int nhandles;

static bool is_set(const char *what)
{
    const char *text = getenv("EMU_CUFILE");

    return text && strcmp(text, what) == 0;
}

static void demand(bool is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "emulated cuFile: not so: %s\n", what);
        abort();
    }
}

__attribute__((destructor))
static void end(void)
{
    demand(nhandles == 0, "all files have been deregistered");
}

EXPORT error_pair cuFileDriverOpen(void)
{
    if (is_set("unopened"))
        return (error_pair) {NOT_INITIALIZED, 0};
    is_open = true;
    return (error_pair) {SUCCESS, 0};
}

EXPORT error_pair cuFileDriverGetProperties(unsigned *properties)
{
    demand(is_open, "the driver is open");
    memset(properties, 0, 128);
    properties[0] = is_set("no-module") ? 0 : 2;
    return (error_pair) {SUCCESS, 0};
}

EXPORT error_pair cuFileHandleRegister(void **handle, struct descr *descr)
{
    struct file *f;

    demand(is_open && descr->type == 1 && descr->fs_ops == NULL, "a file is described");
    demand(fcntl(descr->handle.fd, F_GETFL) & O_DIRECT, "the file is open for direct I/O");
    if (is_set("unsupported"))
        return (error_pair) {UNSUPPORTED, 0};
    f = malloc(sizeof(*f));
    f->fd = descr->handle.fd;
    *handle = f;
    nhandles++;
    return (error_pair) {SUCCESS, 0};
}

EXPORT void cuFileHandleDeregister(void *handle)
{
    free(handle);
    nhandles--;
}

/* The bytes of a call that are moved. */
static ssize_t part(size_t sz)
{
    return is_set("failing") || is_set("short") ? sz / 2 / BLOCK * BLOCK : sz;
}

static void arguments_check(char *base, size_t sz, off_t at, off_t off)
{
    CUcontext current = NULL, owner = NULL;
    CUmemorytype type = 0;
    const CUdeviceptr addr = (CUdeviceptr) (uintptr_t) (base + off);

    demand(sz > 0 && sz % BLOCK == 0 && at % BLOCK == 0, "whole blocks are accessed");
    emu_quiet(1);
    cuCtxGetCurrent(&current);
    cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, addr);
    cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, addr);
    emu_quiet(0);
    demand(type == CU_MEMORYTYPE_DEVICE, "it is device memory");
    demand(current && (owner == NULL || owner == current), "the context of the memory is current");
}

EXPORT ssize_t cuFileRead(struct file *f, char *base, size_t sz, off_t at, off_t off)
{
    void *piece = aligned_alloc(BLOCK, PIECE);
    ssize_t done = 0, got = 1;

    arguments_check(base, sz, at, off);
    while (done < part(sz) && got > 0) {
        const size_t n = part(sz) - done < PIECE ? part(sz) - done : PIECE;
        got = pread(f->fd, piece, n, at + done);
        if (got > 0 && cuMemcpyHtoD((CUdeviceptr) (uintptr_t) (base + off + done), piece, got))
            got = -1;
        done += got > 0 ? got : 0;
    }
    free(piece);
    return got < 0 || is_set("failing") ? -INVALID : done;
}

EXPORT ssize_t cuFileWrite(struct file *f, const char *base, size_t sz, off_t at, off_t off)
{
    void *piece = aligned_alloc(BLOCK, PIECE);
    ssize_t done = 0, got = 1;

    arguments_check((char *) base, sz, at, off);
    while (done < part(sz) && got > 0) {
        const size_t n = part(sz) - done < PIECE ? part(sz) - done : PIECE;
        got = -1;
        if (cuMemcpyDtoH(piece, (CUdeviceptr) (uintptr_t) (base + off + done), n) == CUDA_SUCCESS)
            got = pwrite(f->fd, piece, n, at + done);
        done += got > 0 ? got : 0;
    }
    free(piece);
    return got < 0 || is_set("failing") ? -INVALID : done;
}
