/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Orders transfers after the program's own copies and fills of a buffer. Must not know datatypes or
 * routes.
 *
 * cudaMemcpy and cudaMemset may return before GPU memory has been written: for a copy from pageable
 * host memory, one within a device, and a fill (CUDA driver API, "API synchronization behavior").
 * The program's own later work comes after them in the default stream. The engine's stream knows
 * nothing of that one, and must not: it would wait for the program's kernels. So memory that MPI is
 * given is marked (CU_POINTER_ATTRIBUTE_SYNC_MEMOPS), and from then on the driver ends such calls
 * on it before they return; for what was begun before the mark, the default stream is waited for
 * once. Drivers do not mark mapped virtual ranges, and for memory of pools they take the mark but
 * heed it for fills only: there the context is marked instead (CU_CTX_SYNC_MEMOPS). */

#include "gpudt_internal.h"

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

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* Threads that have marked memory and not yet waited: a mark seen meanwhile is not good yet. */
static MPL_atomic_int_t nmarking = MPL_ATOMIC_INT_T_INITIALIZER(0);

static int settle(MPII_Gpudt_engine_t * engine, const void *addr, bool is_private);
static bool mark(const MPII_Gpudt_driver_t * drv, const void *addr);
static bool mark_context(const MPII_Gpudt_driver_t * drv);

int MPII_Gpudt_memops_order(const void *addr, const MPIR_Gpudt_ptr_t * ptr)
{
    int mpi_errno = MPI_SUCCESS;
    const MPII_Gpudt_driver_t *drv = MPII_Gpudt_driver_get();
    const bool is_private = MPII_Gpudt_is_private(ptr);
    MPII_Gpudt_engine_t *engine;
    MPII_Gpudt_ctx_t entered = {.ctx = NULL };

    if (!MPIR_CVAR_GPUDT_SYNC_MEMOPS ||
        (ptr->sync_memops && !is_private && MPL_atomic_acquire_load_int(&nmarking) == 0))
        goto fn_exit;

    mpi_errno = MPII_Gpudt_engine_enter(drv, ptr->device, ptr->ctx, &engine, &entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (!(is_private && MPL_atomic_acquire_load_int(&engine->sync_memops)))
        mpi_errno = settle(engine, addr, is_private);

  fn_exit:
    MPII_Gpudt_ctx_leave(drv, &entered);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Mark memory or its context, which is current, and wait for what was begun before. */
static int settle(MPII_Gpudt_engine_t * engine, const void *addr, bool is_private)
{
    int mpi_errno = MPI_SUCCESS;
    const MPII_Gpudt_driver_t *drv = engine->drv;
    CUstreamCaptureStatus status;
    bool context_is_marked = false;

    MPL_atomic_fetch_add_int(&nmarking, 1);
    /* During the capture of a stream that the default one waits for, a wait would destroy what is
     * captured, and the program itself cannot copy synchronously. The memory stays unmarked. */
    if (drv->cuStreamIsCapturing(CU_STREAM_LEGACY, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        goto fn_exit;
    if (is_private || !mark(drv, addr))
        context_is_marked = mark_context(drv);
    MPII_GPUDT_CHECK(drv, cuStreamSynchronize(CU_STREAM_LEGACY), mpi_errno);
    MPII_GPUDT_COUNT(memops_waits, 1);
    if (context_is_marked)
        MPL_atomic_release_store_int(&engine->sync_memops, 1);

  fn_exit:
    MPL_atomic_fetch_sub_int(&nmarking, 1);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* False: the driver cannot do it for this memory. */
static bool mark(const MPII_Gpudt_driver_t * drv, const void *addr)
{
    const unsigned on = 1;

    return drv->cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                      (CUdeviceptr) addr) == CUDA_SUCCESS;
}

/* False: the driver is too old. Then each transfer waits. */
static bool mark_context(const MPII_Gpudt_driver_t * drv)
{
    unsigned flags;

    return drv->cuCtxSetFlags && drv->cuCtxGetFlags(&flags) == CUDA_SUCCESS &&
        drv->cuCtxSetFlags(flags | CU_CTX_SYNC_MEMOPS) == CUDA_SUCCESS;
}
