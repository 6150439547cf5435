/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Makes and frees an engine, and checks whether its context still exists. Must not know other
 * engines. */

#include "mpiimpl.h"
#include "gpudt_engine.h"
#include "gpudt_error.h"
#include "gpudt_lock.h"
#include "driver/gpudt_sharing.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_PEER
      category    : GPUDT
      type        : boolean
      default     : true
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Let kernels access the memory of another GPU of the process directly where the program has
        switched peer access on between the two contexts. If false, data between GPUs passes through
        a work area.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define SENTINEL_SZ 256             /* bytes; the driver's granularity of allocations */

/* Guards the callbacks for the end of an engine. */
static MPL_initlock_t ends_lock = MPL_INITLOCK_INITIALIZER;
static MPL_initlock_t peer_lock = MPL_INITLOCK_INITIALIZER;     /* of checks of peer access */

static void streams_destroy(MPII_Gpudt_engine_t * engine)
{
    for (int i = 0; i < MPII_GPUDT_NLANES; i++) {
        if (engine->streams[i])
            engine->drv->cuStreamDestroy(engine->streams[i]);
    }
}

/* The priority of a stream: above the program's kernels, which may wait for a message, if these have
 * the default one. What is packed is awaited by another process. Kernels that unpack wait for the
 * link themselves, and would keep the multiprocessors from those that pack: they come second, where
 * there is a priority between the greatest and the default one.
 *   least, greatest  (IN)  of the driver, where lower numbers are greater priorities */
static int lane_priority(enum MPII_Gpudt_lane_e lane, int least, int greatest)
{
    const bool is_second = lane != MPII_GPUDT_LANE__PACK && lane != MPII_GPUDT_LANE__PUSH;

    return greatest + is_second < least ? greatest + is_second : greatest;
}

/* Make what an engine has from the beginning: its sentinel and its streams. */
static int engine_fill(MPII_Gpudt_engine_t * engine)
{
    int mpi_errno = MPI_SUCCESS;
    const MPII_Gpudt_driver_t *drv = engine->drv;
    int least, greatest, is_concurrent = 0;
    CUdevice device;

    MPII_GPUDT_CHECK(drv, cuCtxGetDevice(&device), mpi_errno);
    /* Where the CPU may not access managed memory while a kernel runs, a flag set by the kernel
     * comes too early: the driver must have seen the end of the kernel */
    MPII_GPUDT_CHECK(drv, cuDeviceGetAttribute(&is_concurrent,
                                               CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
                                               device), mpi_errno);
    engine->no_flags = !is_concurrent;
    MPII_GPUDT_CHECK(drv, cuDeviceGetAttribute(&engine->nsms,
                                               CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
                     mpi_errno);
    MPII_GPUDT_CHECK(drv, cuCtxGetStreamPriorityRange(&least, &greatest), mpi_errno);
    MPII_GPUDT_CHECK(drv, cuMemAlloc(&engine->sentinel, SENTINEL_SZ), mpi_errno);
    MPII_GPUDT_CHECK(drv, cuPointerGetAttribute(&engine->sentinel_id, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                                engine->sentinel), mpi_errno);
    for (int i = 0; i < MPII_GPUDT_NLANES; i++) {
        engine->priorities[i] = lane_priority((enum MPII_Gpudt_lane_e) i, least, greatest);
        MPII_GPUDT_CHECK(drv, cuStreamCreateWithPriority(&engine->streams[i],
                                                         CU_STREAM_NON_BLOCKING,
                                                         engine->priorities[i]), mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    streams_destroy(engine);
    if (engine->sentinel)
        drv->cuMemFree(engine->sentinel);
    goto fn_exit;
}

int MPII_Gpudt_engine_make(const MPII_Gpudt_driver_t * drv, int device, CUcontext ctx,
                           MPII_Gpudt_engine_t ** engine)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *fresh;

    fresh = MPL_calloc(1, sizeof(*fresh), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP1(!fresh, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "GPU engine");
    fresh->drv = drv;
    fresh->device = device;
    fresh->ctx = ctx;
    fresh->shared = MPII_Gpudt_shared_add(drv, device);
    mpi_errno = engine_fill(fresh);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *engine = fresh;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(fresh);
    goto fn_exit;
}

void MPII_Gpudt_engine_free(MPII_Gpudt_engine_t * engine, bool is_alive)
{
    for (int i = 0; i < MPII_GPUDT_MAX_ENDS && engine->ends[i]; i++)
        engine->ends[i] (engine, is_alive);
    if (is_alive) {
        streams_destroy(engine);
        engine->drv->cuMemFree(engine->sentinel);
    }
    MPL_free(engine);
}

void MPII_Gpudt_engine_at_end(MPII_Gpudt_engine_t * engine, MPII_Gpudt_end_fn fn)
{
    int i = 0;

    MPL_initlock_lock(&ends_lock);
    while (i < MPII_GPUDT_MAX_ENDS && engine->ends[i] && engine->ends[i] != fn)
        i++;
    MPIR_Assert(i < MPII_GPUDT_MAX_ENDS);
    engine->ends[i] = fn;
    MPL_initlock_unlock(&ends_lock);
}

/* Ask for the number of the engine's sentinel, which ends with the context. */
static CUresult sentinel_query(const MPII_Gpudt_engine_t * engine, unsigned long long *id)
{
    *id = 0;
    return engine->drv->cuPointerGetAttribute(id, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                              engine->sentinel);
}

bool MPII_Gpudt_engine_is_alive(const MPII_Gpudt_engine_t * engine)
{
    unsigned long long id;
    CUresult res = sentinel_query(engine, &id);

    switch (res) {
        case CUDA_SUCCESS:
            return id == engine->sentinel_id;
        case CUDA_ERROR_INVALID_VALUE: /* no such allocation */
        case CUDA_ERROR_NOT_INITIALIZED:
        case CUDA_ERROR_DEINITIALIZED:
        case CUDA_ERROR_INVALID_CONTEXT:
        case CUDA_ERROR_CONTEXT_IS_DESTROYED:
            return false;
        default:
            /* The driver may report an earlier asynchronous error here */
            return true;
    }
}

bool MPII_Gpudt_engine_takes_calls(const MPII_Gpudt_engine_t * engine)
{
    unsigned long long id;

    return sentinel_query(engine, &id) == CUDA_SUCCESS && id == engine->sentinel_id;
}

/* A query of the default stream would invalidate the capture of a stream on which it depends. */
bool MPII_Gpudt_engine_is_idle(const MPII_Gpudt_engine_t * engine)
{
    const MPII_Gpudt_driver_t *drv = engine->drv;
    CUstreamCaptureStatus status;
    MPII_Gpudt_ctx_t entered;
    bool idle;

    if (MPII_Gpudt_ctx_enter(drv, engine->device, engine->ctx, &entered) != MPI_SUCCESS)
        return false;
    idle = drv->cuStreamIsCapturing(CU_STREAM_LEGACY, &status) == CUDA_SUCCESS &&
        drv->cuStreamQuery(CU_STREAM_LEGACY) == CUDA_SUCCESS;
    MPII_Gpudt_ctx_leave(drv, &entered);
    return idle;
}

int MPII_Gpudt_engine_reenter(const MPII_Gpudt_engine_t * engine, MPII_Gpudt_ctx_t * entered)
{
    int mpi_errno = MPI_SUCCESS;

    entered->ctx = NULL;
    MPIR_ERR_CHKANDJUMP1(!MPII_Gpudt_engine_is_alive(engine), mpi_errno, MPI_ERR_BUFFER,
                         "**gpudt_ended", "**gpudt_ended %d", engine->device);
    mpi_errno = MPII_Gpudt_ctx_enter(engine->drv, engine->device, engine->ctx, entered);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_engine_reenter_twice(const MPII_Gpudt_engine_t * engine, MPII_Gpudt_ctx_t * entered)
{
    int mpi_errno = MPII_Gpudt_engine_reenter(engine, entered);

    return mpi_errno ? MPII_Gpudt_engine_reenter(engine, entered) : mpi_errno;
}

/* Peer access is for the program to enable and disable. If the library enabled it, the program's
 * own cudaDeviceEnablePeerAccess would fail; after the program's cudaDeviceDisablePeerAccess,
 * kernels of the library would fail. It is therefore checked for each transfer. If it is not enabled, the check
 * enables it for a moment, in which another thread of the program would find that it is. Where there may be
 * others, that is done once for each device, by one thread at a time: of two, the second one would find what
 * the first one has enabled. */
bool MPII_Gpudt_engine_peer(MPII_Gpudt_engine_t * engine, const MPII_Gpudt_engine_t * peer)
{
    const MPII_Gpudt_driver_t *drv = engine->drv;
    const int bit = peer->device < 31 ? 1 << peer->device : 0;
    unsigned flags = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
    CUresult res = CUDA_SUCCESS;
    int closed;

    if (!MPIR_CVAR_GPUDT_PEER || peer->device == engine->device ||
        drv->cuPointerGetAttribute(&flags, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, peer->sentinel) !=
        CUDA_SUCCESS || flags != CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE)
        return false;

    MPII_Gpudt_lock(&peer_lock);
    closed = MPL_atomic_relaxed_load_int(&engine->closed);
    if (MPIR_ThreadInfo.thread_provided == MPI_THREAD_SINGLE || !(closed & bit)) {
        /* The attribute may only tell what the hardware can do; this error tells that access is
         * enabled */
        res = drv->cuCtxEnablePeerAccess(peer->ctx, 0);
        if (res == CUDA_SUCCESS) {
            drv->cuCtxDisablePeerAccess(peer->ctx);
            MPL_atomic_relaxed_store_int(&engine->closed, closed | bit);
        }
    }
    MPII_Gpudt_unlock(&peer_lock);
    return res == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}
