/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Orders transfers after the program's own copies and fills of a buffer. Must not know datatypes or
 * routes.
 *
 * cudaMemcpy and cudaMemset may return before GPU memory has been written: for a copy from pageable
 * host memory, a copy within a device, and a fill (CUDA driver API, "API synchronization
 * behavior"). The program's own later work follows them in the default stream. The engine's streams
 * do not wait for the default stream, since they would wait for the program's kernels, too.
 * Therefore memory that is given to MPI is marked (CU_POINTER_ATTRIBUTE_SYNC_MEMOPS). From then on
 * the driver completes such calls on it before they return.
 *
 * Drivers do not mark mapped virtual ranges. They accept the mark for memory of pools, but heed it
 * for fills only. A context can be marked as well (CU_CTX_SYNC_MEMOPS), but the driver then waits
 * for all that runs in it (seen with 580). Therefore the default stream is checked again for each
 * transfer with such memory.
 *
 * Copies and fills started before the mark take microseconds if nothing delays them. The engine
 * waits until the default stream is idle, but only for a short time: the default stream is also
 * busy with kernels of the program in any stream that is not CU_STREAM_NON_BLOCKING. Such kernels
 * may run for long, or until the program acts after this call. Copies behind them are not waited
 * for, as in other MPIs. */

#include "mpiimpl.h"
#include "gpudt_memops.h"
#include "gpudt_contexts.h"
#include "gpudt_error.h"
#include "gpudt_vars.h"
#include "driver/gpudt_sharing.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_SYNC_MEMOPS
      category    : GPUDT
      type        : boolean
      default     : true
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Have the program's cudaMemcpy and cudaMemset on GPU memory that was given to MPI done when
        they return, as programs take for granted. If false, CUDA lets some of them go on in the
        default stream, and the program must synchronize with it before it calls MPI.

    - name        : MPIR_CVAR_GPUDT_SYNC_MEMOPS_WAIT
      category    : GPUDT
      type        : int
      default     : 500
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Microseconds at most that MPI waits for calls of cudaMemcpy and cudaMemset made before it
        first saw the memory. It does not wait for these calls where they are behind kernels that
        run longer, and an eighth of that time as long as it finds the default stream busy. Where
        other processes take turns with this one on the GPU, 5000 more. 0: not at all.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define BUSY_SHARE 8            /* of the time limit, after a wait that timed out */
#define TURN_SECONDS 5e-3       /* for which a copy may wait until it is this process's turn on the GPU:
                                 * a turn takes about 2 ms */

/* Threads that have marked memory and not yet waited. Until they have, a mark says nothing about
 * earlier copies. */
static MPL_atomic_int_t nmarking = MPL_ATOMIC_INT_T_INITIALIZER(0);

static int settle(MPII_Gpudt_engine_t * engine, const void *addr);
static int settle_private(MPII_Gpudt_engine_t * engine);
static int idle_wait(MPII_Gpudt_engine_t * engine);
static void mark(MPII_Gpudt_engine_t * engine, const void *addr);

bool MPII_Gpudt_memops_are_ordered(bool sync_memops)
{
    return !MPIR_CVAR_GPUDT_SYNC_MEMOPS ||
        (sync_memops && MPL_atomic_acquire_load_int(&nmarking) == 0);
}

int MPII_Gpudt_memops_order(const void *addr, const MPIR_Gpudt_ptr_t * ptr)
{
    int mpi_errno = MPI_SUCCESS;
    const MPII_Gpudt_driver_t *drv = MPII_Gpudt_driver_get();
    const bool is_private = MPIR_Gpudt_ptr_is_private(ptr);
    MPII_Gpudt_engine_t *engine;
    MPII_Gpudt_ctx_t entered = {.ctx = NULL };
    CUcontext current = NULL;
    CUdevice device;

    if (!is_private && MPII_Gpudt_memops_are_ordered(ptr->sync_memops))
        goto fn_exit;
    if (!MPIR_CVAR_GPUDT_SYNC_MEMOPS)
        goto fn_exit;

    /* Private memory has no context: the program may copy to it in the current one, too */
    if (is_private &&
        (drv->cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == NULL ||
         drv->cuCtxGetDevice(&device) != CUDA_SUCCESS || device != ptr->device))
        current = NULL;
    mpi_errno = MPII_Gpudt_engine_enter(drv, ptr->device, ptr->ctx, &engine, &entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (is_private)
        mpi_errno = settle_private(engine);
    else if (!MPL_atomic_acquire_load_int(&engine->memops_refused))
        mpi_errno = settle(engine, addr);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    /* An error there is not of the memory's context */
    if (current && current != engine->ctx) {
        MPII_Gpudt_ctx_leave(drv, &entered);
        if (MPII_Gpudt_ctx_enter(drv, ptr->device, current, &entered) == MPI_SUCCESS)
            settle_private(engine);
    }

  fn_exit:
    MPII_Gpudt_ctx_leave(drv, &entered);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* State of the default stream of the current context. A query would invalidate the capture of a stream on
 * which it depends. The program itself cannot copy synchronously during the capture. */
static CUresult default_stream_query(const MPII_Gpudt_driver_t * drv)
{
    CUstreamCaptureStatus status;

    if (drv->cuStreamIsCapturing(CU_STREAM_LEGACY, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    return drv->cuStreamQuery(CU_STREAM_LEGACY);
}

/* Wait for copies to private memory that were started in the current context. */
static int settle_private(MPII_Gpudt_engine_t * engine)
{
    const CUresult res = default_stream_query(engine->drv);

    return res == CUDA_SUCCESS || res == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ? MPI_SUCCESS :
        idle_wait(engine);
}

/* Mark memory, if that is possible, and wait for copies started before. The engine's context is
 * current. */
static int settle(MPII_Gpudt_engine_t * engine, const void *addr)
{
    int mpi_errno = MPI_SUCCESS;
    const MPII_Gpudt_driver_t *drv = engine->drv;
    CUstreamCaptureStatus status;

    MPL_atomic_fetch_add_int(&nmarking, 1);
    /* During a capture on which the default stream depends the memory stays unmarked */
    if (drv->cuStreamIsCapturing(CU_STREAM_LEGACY, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        goto fn_exit;
    mark(engine, addr);
    mpi_errno = idle_wait(engine);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_atomic_fetch_sub_int(&nmarking, 1);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Seconds to wait, at most. */
static double wait_limit(const MPII_Gpudt_engine_t * engine)
{
    double limit = MPIR_CVAR_GPUDT_SYNC_MEMOPS_WAIT * 1e-6;

    if (limit > 0 && MPII_Gpudt_is_shared(engine->shared))
        limit += TURN_SECONDS;
    return MPL_atomic_relaxed_load_int(&engine->memops_busy) ? limit / BUSY_SHARE : limit;
}

/* Wait until the default stream of the current context is idle, with a time limit, or until another thread
 * captures a stream on which it depends. */
static int idle_wait(MPII_Gpudt_engine_t * engine)
{
    int mpi_errno = MPI_SUCCESS;
    const double limit = wait_limit(engine);
    double seconds = 0;
    MPL_time_t start, now;
    CUresult res;

    MPII_GPUDT_COUNT(memops_waits, 1);
    MPL_wtime(&start);
    while ((res = default_stream_query(engine->drv)) == CUDA_ERROR_NOT_READY && seconds < limit) {
        MPL_wtime(&now);
        MPL_wtime_diff(&start, &now, &seconds);
    }
    if (res == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        res = CUDA_ERROR_NOT_READY;
    if (res != CUDA_SUCCESS && res != CUDA_ERROR_NOT_READY) {
        mpi_errno = MPII_Gpudt_driver_error(engine->drv, res, "cuStreamQuery", __func__, __LINE__);
        goto fn_fail;
    }
    if (res == CUDA_ERROR_NOT_READY)
        MPII_GPUDT_COUNT(memops_unfinished, 1);
    MPL_atomic_relaxed_store_int(&engine->memops_busy, res == CUDA_ERROR_NOT_READY);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* A driver that cannot mark allocations is not asked again. Others refuse some memory, as that of
 * graphics: they are asked and waited for each time. */
static void mark(MPII_Gpudt_engine_t * engine, const void *addr)
{
    const unsigned on = 1;
    const CUresult res = engine->drv->cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                                            (CUdeviceptr) addr);

    if (res == CUDA_ERROR_NOT_SUPPORTED)
        MPL_atomic_release_store_int(&engine->memops_refused, 1);
}
