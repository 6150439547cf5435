/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Finds, makes and ends engines: one for each context of a device whose memory is used. Must not
 * know datatypes. */

#include "gpudt_internal.h"
#include "gpudt_range.h"

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

#define MARK_SZ 256             /* bytes; what the driver rounds allocations up to anyway */

/* Guards the lists and serial_last. Engines stay in one of the lists until MPI_Finalize: those
 * whose context is gone are kept too, since operations and datatypes may point to them. */
static MPL_initlock_t engine_lock = MPL_INITLOCK_INITIALIZER;
static MPII_Gpudt_engine_t *engines;
static MPII_Gpudt_engine_t *dead_engines;
static uint64_t serial_last;
static bool finalize_is_registered;

MPL_atomic_int_t MPII_Gpudt_epoch = MPL_ATOMIC_INT_T_INITIALIZER(1);

static MPII_Gpudt_engine_t *engine_find(CUcontext ctx);
static void engines_sort(void);
static int engine_make(const MPII_Gpudt_driver_t * drv, int device, CUcontext ctx,
                       MPII_Gpudt_engine_t ** engine);
static int engine_fill(MPII_Gpudt_engine_t * engine);
static bool engine_enter_last(MPII_Gpudt_engine_t * engine, MPII_Gpudt_ctx_t * entered);
static void engine_end(MPII_Gpudt_engine_t * engine);
static int engines_finalize(void *unused);

int MPII_Gpudt_engine_enter(const MPII_Gpudt_driver_t * drv, int device, void *ctx,
                            MPII_Gpudt_engine_t ** engine, MPII_Gpudt_ctx_t * entered)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *found = NULL;

    mpi_errno = MPII_Gpudt_ctx_enter(drv, device, ctx, entered);

    MPL_initlock_lock(&engine_lock);
    if (unlikely(!finalize_is_registered)) {
        /* Also if the context could not be entered: it may be held all the same. After the
         * datatypes that end with MPI_Finalize are gone, which the callbacks of a higher priority
         * see to. */
        MPIR_Add_finalize(engines_finalize, NULL, 1);
        finalize_is_registered = true;
    }
    if (likely(mpi_errno == MPI_SUCCESS)) {
        found = engine_find(entered->ctx);
        /* A context that is new may be there because another one has ended */
        if (unlikely(found == NULL))
            engines_sort();
        if (unlikely(found == NULL))
            mpi_errno = engine_make(drv, device, entered->ctx, &found);
        if (unlikely(mpi_errno))
            MPII_Gpudt_ctx_leave(drv, entered);
    }
    MPL_initlock_unlock(&engine_lock);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *engine = found;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_engine_get(const MPII_Gpudt_driver_t * drv, int device, void *ctx,
                          MPII_Gpudt_engine_t ** engine)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_ctx_t entered;

    *engine = NULL;
    if (ctx) {
        MPL_initlock_lock(&engine_lock);
        *engine = engine_find(ctx);
        MPL_initlock_unlock(&engine_lock);
    }
    if (*engine)
        goto fn_exit;
    mpi_errno = MPII_Gpudt_engine_enter(drv, device, ctx, engine, &entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_Gpudt_ctx_leave(drv, &entered);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPII_Gpudt_engines_check(void)
{
    MPL_initlock_lock(&engine_lock);
    engines_sort();
    MPL_initlock_unlock(&engine_lock);
}

bool MPII_Gpudt_engine_is_alive(const MPII_Gpudt_engine_t * engine)
{
    unsigned long long id = 0;
    CUresult res = engine->drv->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                                      engine->mark);

    switch (res) {
        case CUDA_SUCCESS:
            return id == engine->mark_id;
        case CUDA_ERROR_INVALID_VALUE: /* no such allocation */
        case CUDA_ERROR_NOT_INITIALIZED:
        case CUDA_ERROR_DEINITIALIZED:
        case CUDA_ERROR_INVALID_CONTEXT:
        case CUDA_ERROR_CONTEXT_IS_DESTROYED:
            return false;
        default:
            /* The driver may report here what went wrong elsewhere */
            return true;
    }
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

/* Peer access is the program's to switch on and off: had we done so, its own cudaDeviceEnablePeerAccess
 * would fail, and after its cudaDeviceDisablePeerAccess our kernels. So this is asked anew for each
 * transfer. */
bool MPII_Gpudt_engine_peer(MPII_Gpudt_engine_t * engine, const MPII_Gpudt_engine_t * peer)
{
    const MPII_Gpudt_driver_t *drv = engine->drv;
    unsigned flags = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
    CUresult res;

    if (!MPIR_CVAR_GPUDT_PEER || peer->device == engine->device ||
        drv->cuPointerGetAttribute(&flags, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, peer->mark) !=
        CUDA_SUCCESS || flags != CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE)
        return false;

    /* The attribute may be about what the hardware can; that it is on is what this says for sure */
    res = drv->cuCtxEnablePeerAccess(peer->ctx, 0);
    if (res == CUDA_SUCCESS)
        drv->cuCtxDisablePeerAccess(peer->ctx);
    return res == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

/* The live engine of a context that exists now, or NULL. A context that was destroyed may have had
 * the same address. */
static MPII_Gpudt_engine_t *engine_find(CUcontext ctx)
{
    for (MPII_Gpudt_engine_t * engine = engines; engine; engine = engine->next) {
        if (engine->ctx == ctx)
            return likely(MPII_Gpudt_engine_is_alive(engine)) ? engine : NULL;
    }
    return NULL;
}

/* Put the engines aside whose contexts are gone. */
static void engines_sort(void)
{
    MPII_Gpudt_engine_t **at = &engines;

    while (*at) {
        MPII_Gpudt_engine_t *engine = *at;
        if (MPII_Gpudt_engine_is_alive(engine)) {
            at = &engine->next;
        } else {
            *at = engine->next;
            engine->next = dead_engines;
            dead_engines = engine;
            MPL_atomic_fetch_add_int(&MPII_Gpudt_epoch, 1);
        }
    }
}

/* The context is current. */
static int engine_make(const MPII_Gpudt_driver_t * drv, int device, CUcontext ctx,
                       MPII_Gpudt_engine_t ** engine)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *fresh;

    fresh = MPL_calloc(1, sizeof(*fresh), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP1(!fresh, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "GPU engine");
    fresh->drv = drv;
    fresh->device = device;
    fresh->ctx = ctx;
    fresh->serial = ++serial_last;
    fresh->shared = MPII_Gpudt_shared_add(drv, device);
    mpi_errno = engine_fill(fresh);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

    MPII_GPUDT_RANGE_INIT();
    fresh->next = engines;
    engines = fresh;
    MPII_GPUDT_COUNT(engines, 1);
    *engine = fresh;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(fresh);
    goto fn_exit;
}

static void streams_destroy(MPII_Gpudt_engine_t * engine)
{
    for (int i = 0; i < MPII_GPUDT_NLANES; i++) {
        if (engine->streams[i])
            engine->drv->cuStreamDestroy(engine->streams[i]);
    }
}

/* What an engine has from the beginning: its mark and its streams. */
static int engine_fill(MPII_Gpudt_engine_t * engine)
{
    int mpi_errno = MPI_SUCCESS;
    const MPII_Gpudt_driver_t *drv = engine->drv;
    int least, greatest, is_concurrent = 0;
    CUdevice device;

    MPII_GPUDT_CHECK(drv, cuCtxGetDevice(&device), mpi_errno);
    /* Where the CPU may not touch managed memory beside a kernel, a kernel's own word that it is done
     * comes too soon: the driver must have seen its end */
    MPII_GPUDT_CHECK(drv, cuDeviceGetAttribute(&is_concurrent,
                                               CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
                                               device), mpi_errno);
    engine->no_flags = !is_concurrent;
    MPII_GPUDT_CHECK(drv, cuDeviceGetAttribute(&engine->nsms,
                                               CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
                     mpi_errno);
    MPII_GPUDT_CHECK(drv, cuCtxGetStreamPriorityRange(&least, &greatest), mpi_errno);
    MPII_GPUDT_CHECK(drv, cuMemAlloc(&engine->mark, MARK_SZ), mpi_errno);
    MPII_GPUDT_CHECK(drv, cuPointerGetAttribute(&engine->mark_id, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                                engine->mark), mpi_errno);
    for (int i = 0; i < MPII_GPUDT_NLANES; i++)
        MPII_GPUDT_CHECK(drv, cuStreamCreateWithPriority(&engine->streams[i], CU_STREAM_NON_BLOCKING,
                                                         greatest), mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    streams_destroy(engine);
    if (engine->mark)
        drv->cuMemFree(engine->mark);
    goto fn_exit;
}

/* Enter the context of an engine that is to end; false if it is gone. */
static bool engine_enter_last(MPII_Gpudt_engine_t * engine, MPII_Gpudt_ctx_t * entered)
{
    /* Twice, because the first failure may be the report of something that happened before */
    for (int i = 0; i < 2 && MPII_Gpudt_engine_is_alive(engine); i++) {
        if (MPII_Gpudt_ctx_enter(engine->drv, engine->device, engine->ctx, entered) == MPI_SUCCESS)
            return true;
    }
    return false;
}

/* Give back all that an engine has. Nothing can be done about failures: the context is dead, or the
 * driver is shutting down. */
static void engine_end(MPII_Gpudt_engine_t * engine)
{
    const MPII_Gpudt_driver_t *drv = engine->drv;
    MPII_Gpudt_ctx_t entered;
    bool is_alive = engine_enter_last(engine, &entered);

    for (int i = 0; is_alive && i < MPII_GPUDT_NLANES; i++)
        drv->cuStreamSynchronize(engine->streams[i]);
    MPII_Gpudt_uploads_free(engine, is_alive);
    MPII_Gpudt_batches_free(engine, is_alive);
    MPII_Gpudt_pools_free(engine, is_alive);
    MPII_Gpudt_host_forget(engine);
    if (is_alive) {
        if (engine->module_state == MPII_GPUDT_MODULE__LOADED)
            drv->cuModuleUnload(engine->module);
        streams_destroy(engine);
        drv->cuMemFree(engine->mark);
        MPII_Gpudt_ctx_leave(drv, &entered);
    }
    MPL_free(engine);
    MPII_GPUDT_UNCOUNT(engines, 1);
}

/* For MPIR_Add_finalize; MPI may be initialised again afterwards. */
static int engines_finalize(void *unused ATTRIBUTE((unused)))
{
    MPII_Gpudt_engine_t **lists[] = { &engines, &dead_engines };

    MPL_initlock_lock(&engine_lock);
    for (int i = 0; i < 2; i++) {
        while (*lists[i]) {
            MPII_Gpudt_engine_t *engine = *lists[i];
            *lists[i] = engine->next;
            engine_end(engine);
        }
    }
    finalize_is_registered = false;
    MPL_initlock_unlock(&engine_lock);
    MPII_Gpudt_ctx_finalize();
    return 0;
}
