/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Classifies addresses with the driver's help. Knows nothing of datatypes or messages. */

#include "mpiimpl.h"
#include "gpudt_ptr.h"
#include "gpudt_driver.h"

/* The driver answers so as long as nothing in this process has brought CUDA up (or after it is
 * torn down, or in a forked child that inherited it dead): there can be no device address. */
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

/* NULL if addr can only be host memory as far as this library is concerned. */
static const MPII_Gpudt_driver_t *driver_for(const void *addr)
{
    if (addr == NULL || !MPIR_CVAR_ENABLE_GPU)
        return NULL;
    return MPII_Gpudt_driver_get();
}

int MPIR_Gpudt_query_ptr(const void *addr, MPIR_Gpudt_ptr_t * ptr)
{
    int mpi_errno = MPI_SUCCESS;
    const MPII_Gpudt_driver_t *drv = driver_for(addr);
    const MPIR_Gpudt_ptr_t host = {.mem = MPIR_GPUDT_MEM__HOST,.device = -1,.ctx = NULL };

    /* Attributes that do not apply are set to 0 by the driver and are no error. */
    CUmemorytype type = 0;
    int is_managed = 0, device = -1;
    CUcontext ctx = NULL;
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT
    };
    void *values[] = { &type, &is_managed, &device, &ctx };
    CUresult res;

    MPIR_FUNC_ENTER;

    if (drv == NULL) {
        *ptr = host;
        goto fn_exit;
    }

    res = drv->cuPointerGetAttributes(4, attributes, values, (CUdeviceptr) addr);
    if (unlikely(res != CUDA_SUCCESS && !means_no_cuda(res))) {
        mpi_errno = MPII_Gpudt_driver_error(drv, res, "cuPointerGetAttributes", __func__, __LINE__);
        goto fn_fail;
    }

    if (res != CUDA_SUCCESS || (type == 0 && !is_managed)) {
        *ptr = host;
    } else {
        ptr->mem = is_managed ? MPIR_GPUDT_MEM__MANAGED :
            type == CU_MEMORYTYPE_HOST ? MPIR_GPUDT_MEM__PINNED : MPIR_GPUDT_MEM__DEVICE;
        ptr->device = device;
        ptr->ctx = ctx;
    }

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Gpudt_is_device(const void *addr)
{
    const MPII_Gpudt_driver_t *drv = driver_for(addr);
    CUmemorytype type = 0;
    CUresult res;

    if (drv == NULL)
        return false;

    /* One attribute is cheaper than several. Unknown addresses are an error of this call;
     * managed memory is reported as device memory. */
    res = drv->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr) addr);
    if (likely(res == CUDA_SUCCESS))
        return type == CU_MEMORYTYPE_DEVICE;
    return !(res == CUDA_ERROR_INVALID_VALUE || means_no_cuda(res));
}
