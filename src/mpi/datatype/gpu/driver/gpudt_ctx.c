/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Enters the context that owns some device memory, and restores the thread's CUDA state afterwards.
 * Knows nothing of datatypes or messages. */

#include "mpiimpl.h"
#include "gpudt_ctx.h"
#include "gpudt_error.h"

/* Primary contexts that this library holds, by device ordinal; NULL: not held. Needed only for
 * memory that belongs to no context (pools, mapped virtual ranges). */
static MPL_initlock_t primary_lock = MPL_INITLOCK_INITIALIZER;
static CUcontext *primary_ctx;
static int primary_count;

static int primary_retain(const MPII_Gpudt_driver_t * drv, int ordinal, CUcontext * ctx);
static int primary_table_alloc(const MPII_Gpudt_driver_t * drv);

int MPII_Gpudt_ctx_enter(const MPII_Gpudt_driver_t * drv, int device, void *ctx,
                         MPII_Gpudt_ctx_t * entered)
{
    int mpi_errno = MPI_SUCCESS;
    CUcontext target = ctx, current = NULL;

    entered->ctx = NULL;
    entered->pushed = false;
    entered->capture_mode = CU_STREAM_CAPTURE_MODE_RELAXED;

    if (target == NULL) {
        mpi_errno = primary_retain(drv, device, &target);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

    /* Otherwise an allocation here would invalidate a stream capture of the application. */
    MPII_GPUDT_CHECK(drv, cuThreadExchangeStreamCaptureMode(&entered->capture_mode), mpi_errno);

    /* On any failure here no usable context is current, and one is pushed below. */
    if (drv->cuCtxGetCurrent(&current) != CUDA_SUCCESS || current != target) {
        CUresult res = drv->cuCtxPushCurrent(target);
        if (res != CUDA_SUCCESS) {
            drv->cuThreadExchangeStreamCaptureMode(&entered->capture_mode);
            mpi_errno = MPII_Gpudt_driver_error(drv, res, "cuCtxPushCurrent", __func__, __LINE__);
            goto fn_fail;
        }
        entered->pushed = true;
    }
    entered->ctx = target;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPII_Gpudt_ctx_leave(const MPII_Gpudt_driver_t * drv, MPII_Gpudt_ctx_t * entered)
{
    CUcontext popped;

    if (entered->ctx == NULL)
        return;
    /* Failures cannot be handled here: the context is destroyed, or the driver is shutting down. */
    if (entered->pushed)
        drv->cuCtxPopCurrent(&popped);
    drv->cuThreadExchangeStreamCaptureMode(&entered->capture_mode);
    entered->ctx = NULL;
}

void MPII_Gpudt_ctx_finalize(void)
{
    const MPII_Gpudt_driver_t *drv = MPII_Gpudt_driver_get();

    MPL_initlock_lock(&primary_lock);
    for (int i = 0; i < primary_count; i++) {
        /* The context may have been destroyed: then there is nothing to release. */
        CUdevice device;
        if (primary_ctx[i] && drv && drv->cuDeviceGet(&device, i) == CUDA_SUCCESS)
            drv->cuDevicePrimaryCtxRelease(device);
    }
    MPL_free(primary_ctx);
    primary_ctx = NULL;
    primary_count = 0;
    MPL_initlock_unlock(&primary_lock);
}

/* The primary context of a device, held until MPII_Gpudt_ctx_finalize. If the program resets the device, the
 * next one is another, which the library's reference holds, too: it is asked for each time. */
static int primary_retain(const MPII_Gpudt_driver_t * drv, int ordinal, CUcontext * ctx)
{
    int mpi_errno = MPI_SUCCESS;
    CUcontext now = NULL;
    CUdevice device;

    MPL_initlock_lock(&primary_lock);
    mpi_errno = primary_table_alloc(drv);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP1(ordinal < 0 || ordinal >= primary_count, mpi_errno, MPI_ERR_OTHER,
                         "**gpudt_device", "**gpudt_device %d", ordinal);
    MPII_GPUDT_CHECK(drv, cuDeviceGet(&device, ordinal), mpi_errno);
    MPII_GPUDT_CHECK(drv, cuDevicePrimaryCtxRetain(&now, device), mpi_errno);
    if (primary_ctx[ordinal])
        drv->cuDevicePrimaryCtxRelease(device);
    primary_ctx[ordinal] = now;
    *ctx = primary_ctx[ordinal];

  fn_exit:
    MPL_initlock_unlock(&primary_lock);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Caller holds primary_lock. */
static int primary_table_alloc(const MPII_Gpudt_driver_t * drv)
{
    int mpi_errno = MPI_SUCCESS;
    int ndevices;

    if (primary_ctx)
        goto fn_exit;

    MPII_GPUDT_CHECK(drv, cuDeviceGetCount(&ndevices), mpi_errno);
    primary_ctx = MPL_calloc(ndevices, sizeof(*primary_ctx), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP1(!primary_ctx, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s",
                         "GPU contexts");
    primary_count = ndevices;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
