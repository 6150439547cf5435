/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Shares mapped virtual ranges, and whatever has descriptors, by these, which other processes take by pidfd_getfd
 * (Linux 5.6). The system permits that to whom it permits to debug the process. Must not know
 * messages, nor which memory is in use.
 *
 * A process id may mean another process by now, or in another container. Therefore each process
 * that shares memory has a file with its random number, and a descriptor is taken only from a
 * process whose file has the expected number. */

#include "mpiimpl.h"
#include "gpudt_descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FD_TYPE CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

/* Descriptors open at a time, at most; programs often may have 1,024. */
#define MAX_OPEN 320

struct MPII_Gpudt_descriptor {
    int fd;
    int nrefs;
};

static int nopen;
static int proof = -1;

bool MPII_Gpudt_descriptor_exists(const MPII_Gpudt_driver_t * drv)
{
    return drv->cuMemRetainAllocationHandle && drv->cuMemExportToShareableHandle &&
        drv->cuMemImportFromShareableHandle && drv->cuMemAddressReserve &&
        drv->cuMemAddressFree && drv->cuMemMap && drv->cuMemUnmap && drv->cuMemRelease &&
        drv->cuMemSetAccess;
}

/* ---- the process that has the memory ---- */

static bool proof_make(uint64_t process)
{
    if (proof >= 0)
        return true;
    proof = memfd_create("mpich-gpudt-process", MFD_CLOEXEC);
    if (proof >= 0 && pwrite(proof, &process, sizeof(process), 0) != sizeof(process)) {
        close(proof);
        proof = -1;
    }
    return proof >= 0;
}

/* Drivers may report handle types for pools, too. */
bool MPII_Gpudt_descriptor_is_possible(const MPII_Gpudt_driver_t * drv, CUdeviceptr addr)
{
    unsigned long long types = 0;
    CUmemoryPool pool = NULL;

    if (!MPII_Gpudt_descriptor_exists(drv) ||
        drv->cuPointerGetAttribute(&types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, addr) !=
        CUDA_SUCCESS || !(types & FD_TYPE))
        return false;
    return drv->cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, addr) !=
        CUDA_SUCCESS || pool == NULL;
}

/* Get the handle of a range, if that is one handle. */
static bool handle_get(const MPII_Gpudt_driver_t * drv, CUdeviceptr base, size_t sz,
                       CUmemGenericAllocationHandle * handle)
{
    CUmemGenericAllocationHandle last;

    if (drv->cuMemRetainAllocationHandle(handle, (void *) base) != CUDA_SUCCESS)
        return false;
    if (drv->cuMemRetainAllocationHandle(&last, (void *) (base + sz - 1)) == CUDA_SUCCESS) {
        drv->cuMemRelease(last);
        if (last == *handle)
            return true;
    }
    drv->cuMemRelease(*handle);
    return false;
}

struct MPII_Gpudt_descriptor *MPII_Gpudt_descriptor_make(int fd, uint64_t process,
                                                         const char **why)
{
    struct MPII_Gpudt_descriptor *d = NULL;

    *why = "the process cannot make a file in memory";
    if (proof_make(process)) {
        *why = "too many files are open";
        if (nopen < MAX_OPEN)
            d = MPL_malloc(sizeof(*d), MPL_MEM_BUFFER);
    }
    if (d == NULL) {
        close(fd);
        return NULL;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    d->fd = fd;
    d->nrefs = 1;
    nopen++;
    return d;
}

int MPII_Gpudt_descriptor_proof(void)
{
    return proof;
}

struct MPII_Gpudt_descriptor *MPII_Gpudt_descriptor_open(const MPII_Gpudt_driver_t * drv,
                                                         CUdeviceptr base, size_t sz,
                                                         uint64_t process,
                                                         struct MPII_Gpudt_descriptor_name *name,
                                                         const char **why, bool * is_final)
{
    CUmemGenericAllocationHandle handle;
    struct MPII_Gpudt_descriptor *d;
    CUresult res;
    int fd = -1;

    *is_final = true;
    *why = "it is not one handle of memory";
    if (!handle_get(drv, base, sz, &handle))
        return NULL;
    res = drv->cuMemExportToShareableHandle(&fd, handle, FD_TYPE, 0);
    drv->cuMemRelease(handle);
    if (res != CUDA_SUCCESS) {
        *is_final = res == CUDA_ERROR_NOT_SUPPORTED || res == CUDA_ERROR_NOT_PERMITTED ||
            res == CUDA_ERROR_INVALID_VALUE;
        drv->cuGetErrorName(res, why);
        return NULL;
    }
    d = MPII_Gpudt_descriptor_make(fd, process, why);
    *is_final = false;
    if (d == NULL)
        return NULL;
    name->pid = (int) getpid();
    name->proof = proof;
    name->nhandles = 1;
    name->memory[0] = d->fd;
    name->sz[0] = sz;
    return d;
}

struct MPII_Gpudt_descriptor *MPII_Gpudt_descriptor_add_ref(struct MPII_Gpudt_descriptor *d)
{
    if (d)
        d->nrefs++;
    return d;
}

void MPII_Gpudt_descriptor_release(struct MPII_Gpudt_descriptor *d)
{
    if (d == NULL || --d->nrefs > 0)
        return;
    close(d->fd);
    nopen--;
    MPL_free(d);
}

void MPII_Gpudt_descriptors_end(void)
{
    if (proof >= 0)
        close(proof);
    proof = -1;
}

/* ---- other processes ---- */

#if defined(SYS_pidfd_open) && defined(SYS_pidfd_getfd)

/* Whether a process is the one of that number. If not, its file may be anything, and to read some
 * files has side effects. */
static bool is_proved(int pidfd, int file, uint64_t process)
{
    int fd = (int) syscall(SYS_pidfd_getfd, pidfd, file, 0);
    struct stat st;
    uint64_t number = 0;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
        pread(fd, &number, sizeof(number), 0) != sizeof(number))
        number = 0;
    close(fd);
    if (number != process)
        errno = ESRCH;
    return number == process;
}

/* Open a process, as named by pid, proof and number. Returns -1, and errno, on failure. */
static int process_open(int pid, int file, uint64_t process)
{
    int pidfd = (int) syscall(SYS_pidfd_open, pid, 0), err;

    if (pidfd < 0 || is_proved(pidfd, file, process))
        return pidfd;
    err = errno;
    close(pidfd);
    errno = err;
    return -1;
}

static int descriptor_take(int pidfd, int fd)
{
    return (int) syscall(SYS_pidfd_getfd, pidfd, fd, 0);
}

#else

static int process_open(int pid ATTRIBUTE((unused)), int file ATTRIBUTE((unused)),
                        uint64_t process ATTRIBUTE((unused)))
{
    errno = ENOSYS;
    return -1;
}

static int descriptor_take(int pidfd ATTRIBUTE((unused)), int fd ATTRIBUTE((unused)))
{
    return -1;
}

#endif

/* The driver's error that corresponds to one of the system. */
static CUresult system_error(int err)
{
    switch (err) {
        case EMFILE:
        case ENFILE:
        case ENOMEM:
            return CUDA_ERROR_OUT_OF_MEMORY;
        case EPERM:
        case EACCES:
            return CUDA_ERROR_NOT_PERMITTED;
        case ENOSYS:
            return CUDA_ERROR_NOT_SUPPORTED;
        default:
            return CUDA_ERROR_MAP_FAILED;
    }
}

int MPII_Gpudt_descriptor_take(int pid, int file, int fd, uint64_t process, CUresult * res,
                               const char **why)
{
    int pidfd = process_open(pid, file, process), own = -1;

    if (pidfd >= 0)
        own = descriptor_take(pidfd, fd);
    if (own < 0) {
        *why = strerror(errno);
        *res = system_error(errno);
    }
    if (pidfd >= 0)
        close(pidfd);
    return own;
}

static size_t total_sz(const struct MPII_Gpudt_descriptor_name *name)
{
    size_t sz = 0;

    for (int i = 0; i < name->nhandles; i++)
        sz += name->sz[i];
    return sz;
}

/* Take a descriptor and map its memory at a reserved address. */
static CUresult handle_map(const MPII_Gpudt_driver_t * drv, int pidfd, int memory, CUdeviceptr at,
                           size_t sz, const char **why)
{
    CUmemGenericAllocationHandle handle;
    int fd = descriptor_take(pidfd, memory);
    CUresult res;

    if (fd < 0) {
        *why = strerror(errno);
        return system_error(errno);
    }
    res = drv->cuMemImportFromShareableHandle(&handle, (void *) (uintptr_t) fd, FD_TYPE);
    close(fd);
    if (res != CUDA_SUCCESS)
        return res;
    res = drv->cuMemMap(at, sz, 0, handle, 0);
    /* The mapping keeps the memory */
    drv->cuMemRelease(handle);
    return res;
}

/* Unmap the first n ranges, and free the addresses of all. */
static void ranges_free(const MPII_Gpudt_driver_t * drv,
                        const struct MPII_Gpudt_descriptor_name *name, CUdeviceptr mem, int n)
{
    CUdeviceptr at = mem;

    for (int i = 0; i < n; i++) {
        drv->cuMemUnmap(at, name->sz[i]);
        at += name->sz[i];
    }
    drv->cuMemAddressFree(mem, total_sz(name));
}

/* Map the memory of a process at a new address, with access for the engine's GPU. */
static CUresult ranges_map(const MPII_Gpudt_engine_t * engine, int pidfd,
                           const struct MPII_Gpudt_descriptor_name *name, CUdeviceptr * mem,
                           unsigned long long *id, const char **why)
{
    const MPII_Gpudt_driver_t *drv = engine->drv;
    const CUmemAccessDesc access = {
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,.id = engine->device},
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    };
    const size_t sz = total_sz(name);
    CUdeviceptr at;
    CUresult res;
    int n;

    res = drv->cuMemAddressReserve(mem, sz, 0, 0, 0);
    if (res != CUDA_SUCCESS)
        return res;
    at = *mem;
    for (n = 0; n < name->nhandles && res == CUDA_SUCCESS; n++) {
        res = handle_map(drv, pidfd, name->memory[n], at, name->sz[n], why);
        at += name->sz[n];
    }
    if (res != CUDA_SUCCESS) {
        ranges_free(drv, name, *mem, n - 1);
        return res;
    }
    res = drv->cuMemSetAccess(*mem, sz, &access, 1);
    if (res == CUDA_SUCCESS)
        res = drv->cuPointerGetAttribute(id, CU_POINTER_ATTRIBUTE_BUFFER_ID, *mem);
    if (res != CUDA_SUCCESS)
        ranges_free(drv, name, *mem, n);
    return res;
}

CUresult MPII_Gpudt_descriptor_map(const MPII_Gpudt_engine_t * engine,
                                   const struct MPII_Gpudt_descriptor_name *name, uint64_t process,
                                   CUdeviceptr * mem, unsigned long long *id, const char **why)
{
    int pidfd = process_open(name->pid, name->proof, process);
    CUresult res;

    if (pidfd < 0) {
        *why = strerror(errno);
        return system_error(errno);
    }
    res = ranges_map(engine, pidfd, name, mem, id, why);
    close(pidfd);
    return res;
}

/* Mappings belong to no context. One that did not outlive a reset of its device is not unmapped,
 * since its addresses may be in use again. */
void MPII_Gpudt_descriptor_unmap(const MPII_Gpudt_driver_t * drv,
                                 const struct MPII_Gpudt_descriptor_name *name, CUdeviceptr mem,
                                 unsigned long long id)
{
    unsigned long long now = 0;

    if (drv->cuPointerGetAttribute(&now, CU_POINTER_ATTRIBUTE_BUFFER_ID, mem) == CUDA_SUCCESS &&
        now == id)
        ranges_free(drv, name, mem, name->nhandles);
}
