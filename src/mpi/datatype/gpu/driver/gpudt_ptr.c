/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Classifies addresses by asking the driver. Knows nothing of datatypes or messages. */

#include "mpiimpl.h"
#include "gpudt_ptr.h"
#include "gpudt_driver.h"
#include "gpudt.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Bounds of the addresses of GPU memory seen in this process, rounded to regions: drivers map all
 * memory of a device in one region. */
#define REGION_SZ ((uint64_t) 1 << 32)
static MPL_atomic_uint64_t gpu_low = MPL_ATOMIC_UINT64_T_INITIALIZER(UINT64_MAX);
static MPL_atomic_uint64_t gpu_high = MPL_ATOMIC_UINT64_T_INITIALIZER(0);

static void gpu_address_note(const void *addr);
static bool is_gone(const void *addr);
static bool is_readable(const void *addr);

/* Errors of the driver while CUDA is not initialised in this process, after it was torn down, or in
 * a forked child: there can be no device address. */
static bool means_no_cuda(CUresult res)
{
    switch (res) {
        case CUDA_ERROR_NOT_INITIALIZED:
        case CUDA_ERROR_DEINITIALIZED:
        case CUDA_ERROR_INVALID_CONTEXT:
        case CUDA_ERROR_NO_DEVICE:
        case CUDA_ERROR_STUB_LIBRARY:
        case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
        case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
        case CUDA_ERROR_SYSTEM_NOT_READY:
            return true;
        default:
            return false;
    }
}

bool MPIR_Gpudt_is_loaded(void)
{
    return MPIR_CVAR_ENABLE_GPU && MPII_Gpudt_driver_get() != NULL;
}

bool MPIR_Gpudt_may_become_present(void)
{
    return MPIR_CVAR_ENABLE_GPU && MPII_Gpudt_driver_may_be_found();
}

/* The driver's attributes of an address; 0 where an attribute does not apply. */
struct attributes {
    CUmemorytype type;          /* 0: not known to the driver */
    int is_managed, device;
    unsigned sync_memops;
    CUcontext ctx;
    unsigned long long id;
};

/* Whether the driver has taken a call of this thread. Host functions run in threads of the driver, which
 * never run anything else. */
static MPL_TLS bool has_taken_call;

static CUresult attributes_get(const MPII_Gpudt_driver_t * drv, const void *addr,
                               struct attributes *a)
{
    CUresult res;

    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT,
        CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, CU_POINTER_ATTRIBUTE_BUFFER_ID
    };
    void *values[] = {
        &a->type, &a->is_managed, &a->device, &a->ctx, &a->sync_memops, &a->id
    };

    *a = (struct attributes) {.device = -1 };
    res = drv->cuPointerGetAttributes(6, names, values, (CUdeviceptr) addr);
    if (unlikely(!has_taken_call))
        has_taken_call = res != CUDA_ERROR_NOT_PERMITTED;
    return res;
}

bool MPIR_Gpudt_takes_calls(void)
{
    const MPII_Gpudt_driver_t *drv;
    struct attributes a;

    if (likely(has_taken_call))
        return true;
    drv = MPII_Gpudt_driver_get();
    if (drv == NULL)
        return true;
    (void) attributes_get(drv, &a, &a);
    return has_taken_call;
}

/* NULL if addr can only be host memory. */
static const MPII_Gpudt_driver_t *driver_for(const void *addr)
{
    if (addr == NULL || !MPIR_CVAR_ENABLE_GPU)
        return NULL;
    return MPII_Gpudt_driver_get();
}

/* The kind of memory of an address that the driver knows. */
static void known_set(const void *addr, const struct attributes *a, MPIR_Gpudt_ptr_t * ptr)
{
    if (a->is_managed || a->type != CU_MEMORYTYPE_HOST)
        gpu_address_note(addr);
    ptr->mem = a->is_managed ? MPIR_GPUDT_MEM__MANAGED :
        a->type == CU_MEMORYTYPE_HOST ? MPIR_GPUDT_MEM__PINNED : MPIR_GPUDT_MEM__DEVICE;
    ptr->device = a->device;
    ptr->ctx = a->ctx;
    ptr->sync_memops = a->sync_memops != 0;
    ptr->id = a->id;
}

int MPIR_Gpudt_query_ptr(const void *addr, MPIR_Gpudt_ptr_t * ptr)
{
    int mpi_errno = MPI_SUCCESS;
    const MPII_Gpudt_driver_t *drv = driver_for(addr);
    const MPIR_Gpudt_ptr_t host = {.mem = MPIR_GPUDT_MEM__HOST,.device = -1 };
    struct attributes a;
    CUresult res;

    MPIR_FUNC_ENTER;

    if (drv == NULL) {
        *ptr = host;
        goto fn_exit;
    }

    res = attributes_get(drv, addr, &a);
    if (unlikely(res == CUDA_ERROR_NOT_PERMITTED && is_readable(addr))) {
        /* The driver rejects queries inside of cudaLaunchHostFunc and stream callbacks */
        *ptr = host;
        goto fn_exit;
    }
    if (unlikely(res != CUDA_SUCCESS && !means_no_cuda(res))) {
        mpi_errno = MPII_Gpudt_driver_error(drv, res, "cuPointerGetAttributes", __func__, __LINE__);
        goto fn_fail;
    }

    if (res != CUDA_SUCCESS || (a.type == 0 && !a.is_managed)) {
        MPIR_ERR_CHKANDJUMP1(is_gone(addr), mpi_errno, MPI_ERR_BUFFER, "**gpudt_gone",
                             "**gpudt_gone %p", addr);
        *ptr = host;
    } else {
        known_set(addr, &a, ptr);
    }

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

unsigned long long MPII_Gpudt_ptr_allocation(const MPII_Gpudt_driver_t * drv, const void *addr,
                                             struct MPII_Gpudt_allocation *found)
{
    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE
    };
    unsigned long long id = 0;
    unsigned sync = 0;
    CUdeviceptr base = 0;
    size_t sz = 0;
    void *values[] = { &id, &sync, &base, &sz };

    if (drv->cuPointerGetAttributes(4, names, values, (CUdeviceptr) addr) != CUDA_SUCCESS)
        id = sz = 0;
    found->base = base;
    found->sz = sz;
    found->sync_memops = sync != 0;
    return id;
}

bool MPII_Gpudt_ptr_range(const MPII_Gpudt_driver_t * drv, CUdeviceptr addr, CUdeviceptr * base,
                          size_t * sz)
{
    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE
    };
    void *values[] = { base, sz };

    *base = 0;
    *sz = 0;
    if (drv->cuPointerGetAttributes(2, names, values, addr) == CUDA_SUCCESS && *base <= addr &&
        addr - *base < *sz)
        return true;
    *base = 0;
    *sz = 0;
    return false;
}

static void gpu_address_note(const void *addr)
{
    uint64_t low = (uint64_t) (uintptr_t) addr / REGION_SZ * REGION_SZ;
    uint64_t high = low + (REGION_SZ - 1);

    /* A race loses a bound at worst, until the next message */
    if (unlikely(low < MPL_atomic_relaxed_load_uint64(&gpu_low)))
        MPL_atomic_relaxed_store_uint64(&gpu_low, low);
    if (unlikely(high > MPL_atomic_relaxed_load_uint64(&gpu_high)))
        MPL_atomic_relaxed_store_uint64(&gpu_high, high);
}

/* Whether an address unknown to the driver is not host memory either, as that of GPU memory that
 * was freed: the CPU would fault on it. Checks only addresses within the bounds of GPU memory,
 * since it costs a system call. */
static bool is_gone(const void *addr)
{
    uint64_t at = (uint64_t) (uintptr_t) addr;

    return at >= MPL_atomic_relaxed_load_uint64(&gpu_low) &&
        at <= MPL_atomic_relaxed_load_uint64(&gpu_high) && !is_readable(addr);
}

/* The kernel reads the signal set before it rejects the invalid operation -1. */
static bool is_readable(const void *addr)
{
#ifdef SYS_rt_sigprocmask
    const void *set = (const void *) ((uintptr_t) addr & ~(uintptr_t) 7);

    return !(syscall(SYS_rt_sigprocmask, -1, set, NULL, (size_t) 8) == -1 && errno == EFAULT);
#else
    return true;
#endif
}
