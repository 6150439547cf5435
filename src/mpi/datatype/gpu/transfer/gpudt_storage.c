/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* NVIDIA's GPUDirect Storage, by its library cuFile: data goes between GPU memory and storage, not through
 * host memory. The library is loaded when it is first asked for, and never linked. It is used only if the
 * kernel module nvidia-fs is there: without that, it copies through host memory itself, which the caller
 * does better.
 *
 * Source: NVIDIA, "cuFile API Reference Guide". Files are opened once more, for direct I/O, as the guide
 * demands for data to go directly. */

#define _GNU_SOURCE             /* O_DIRECT */
#include "mpiimpl.h"
#include "gpudt_storage.h"
#include "gpudt_buffer_impl.h"
#include "gpudt_vars.h"
#include "driver/gpudt_ctx.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_STORAGE_MIN
      category    : GPUDT
      type        : int
      default     : -1
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Minimum bytes of a file operation for which GPUDirect Storage (libcufile) is tried, if it is on
        contiguous memory of a GPU and a contiguous part of a file. Negative: never.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define LIBRARY "libcufile.so.0"
#define MOST ((MPI_Aint) 1 << 30)       /* bytes of a call */

/* ---- what the library's header declares ---- */

typedef struct {
    int err;                    /* 0: success */
    int cu_err;
} cufile_error_t;

enum { ALREADY_OPEN = 5026, OPAQUE_FD = 1 };

typedef struct {
    int type;
    union {
        int fd;
        void *handle;
    } handle;
    const void *fs_ops;
} cufile_descr_t;

/* The beginning of the properties, and more room than they take. */
typedef struct {
    unsigned nvfs_major;        /* version of the kernel module; 0: it is not there */
    unsigned rest[255];
} cufile_properties_t;

typedef ssize_t(*read_t) (void *handle, void *base, size_t sz, off_t at, off_t off);
typedef ssize_t(*write_t) (void *handle, const void *base, size_t sz, off_t at, off_t off);

/* ---- the library ---- */

static MPL_initlock_t lock = MPL_INITLOCK_INITIALIZER;
static bool is_tried, is_usable;        /* under the lock; the rest is written before the latter */
static struct {
    cufile_error_t(*open) (void);
    cufile_error_t(*properties) (cufile_properties_t *);
    cufile_error_t(*add) (void **handle, cufile_descr_t *);
    void (*drop) (void *handle);
    read_t read;
    write_t write;
} lib;

/* Find all functions that are used. */
static bool library_load(void)
{
    void *so = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (so == NULL)
        return false;
    lib.open = (cufile_error_t(*)(void)) dlsym(so, "cuFileDriverOpen");
    lib.properties = (cufile_error_t(*)(cufile_properties_t *)) dlsym(so, "cuFileDriverGetProperties");
    lib.add = (cufile_error_t(*)(void **, cufile_descr_t *)) dlsym(so, "cuFileHandleRegister");
    lib.drop = (void (*)(void *)) dlsym(so, "cuFileHandleDeregister");
    lib.read = (read_t) dlsym(so, "cuFileRead");
    lib.write = (write_t) dlsym(so, "cuFileWrite");
    return lib.open && lib.properties && lib.add && lib.drop && lib.read && lib.write;
}

/* It stays open until the process exits: the program may use it, too. */
static bool library_open(void)
{
    cufile_properties_t properties = { 0 };
    cufile_error_t error;

    if (!library_load())
        return false;
    error = lib.open();
    if (error.err != 0 && error.err != ALREADY_OPEN)
        return false;
    return lib.properties(&properties).err == 0 && properties.nvfs_major > 0;
}

static bool library_is_usable(const MPII_Gpudt_engine_t * engine)
{
    MPII_Gpudt_ctx_t entered;
    bool is;

    MPL_initlock_lock(&lock);
    if (!is_tried && MPII_Gpudt_ctx_enter(engine->drv, engine->device, engine->ctx, &entered) == MPI_SUCCESS) {
        is_usable = library_open();
        is_tried = true;
        MPII_Gpudt_ctx_leave(engine->drv, &entered);
    }
    is = is_usable;
    MPL_initlock_unlock(&lock);
    return is;
}

/* ---- files ---- */

/* Open a file once more, for direct I/O, and let the library check that its file system can do that.
 *   fd      (IN)   open for what is to be done
 *   handle  (OUT)  of the library
 * Returns a descriptor, or -1. */
static int file_open(int fd, void **handle)
{
    char path[64];
    const int flags = fcntl(fd, F_GETFL);
    cufile_descr_t descr = {.type = OPAQUE_FD };

    MPL_snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    descr.handle.fd = flags < 0 ? -1 : open(path, (flags & O_ACCMODE) | O_DIRECT | O_CLOEXEC);
    if (descr.handle.fd >= 0 && lib.add(handle, &descr).err != 0) {
        close(descr.handle.fd);
        return -1;
    }
    return descr.handle.fd;
}

static void file_close(int fd, void *handle)
{
    lib.drop(handle);
    close(fd);
}

/* ---- operations ---- */

bool MPIR_Gpudt_storage_may(const MPIR_Gpudt_buffer * buffer, MPI_Aint n)
{
    return MPIR_CVAR_GPUDT_STORAGE_MIN >= 0 && n >= MPIR_CVAR_GPUDT_STORAGE_MIN &&
        buffer->side.type == NULL && buffer->side.ptr.mem == MPIR_GPUDT_MEM__DEVICE &&
        library_is_usable(buffer->side.engine);
}

MPI_Aint MPIR_Gpudt_storage_move(const MPIR_Gpudt_buffer * buffer, MPI_Aint first, MPI_Aint n, int fd,
                                 MPI_Offset at, bool is_read)
{
    const MPII_Gpudt_engine_t *engine = buffer->side.engine;
    MPII_Gpudt_ctx_t entered;
    void *handle;
    MPI_Aint done = 0;
    ssize_t got, sz;
    int direct;

    if (n == 0 || MPII_Gpudt_ctx_enter(engine->drv, engine->device, engine->ctx, &entered))
        return 0;
    direct = file_open(fd, &handle);
    if (direct >= 0) {
        do {
            sz = MPL_MIN(n - done, MOST);
            got = is_read ? lib.read(handle, buffer->side.addr, sz, at + done, first + done) :
                lib.write(handle, buffer->side.addr, sz, at + done, first + done);
            done += MPL_MAX(got, 0);
        } while (got == sz && done < n);
        file_close(direct, handle);
    }
    MPII_Gpudt_ctx_leave(engine->drv, &entered);
    MPII_GPUDT_COUNT(storage_bytes, done);
    return done;
}
