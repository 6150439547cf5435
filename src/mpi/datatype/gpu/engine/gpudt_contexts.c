/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Finds, makes and frees engines: one for each context of a device whose memory is used. Must not
 * know datatypes. */

#include "mpiimpl.h"
#include "gpudt_contexts.h"
#include "gpudt_error.h"
#include "gpudt_flag.h"
#include "gpudt_graph.h"
#include "gpudt_lock.h"
#include "gpudt_module.h"
#include "gpudt_pool.h"
#include "gpudt_upload.h"
#include "gpudt_vars.h"
#include "driver/gpudt_profile.h"

/* Guards the lists. Engines stay in one of the lists until MPI_Finalize. This includes those whose
 * context is destroyed, since operations and datatypes may point to them. */
static MPL_initlock_t engine_lock = MPL_INITLOCK_INITIALIZER;
static MPII_Gpudt_engine_t *engines;
static MPII_Gpudt_engine_t *dead_engines;
static bool finalize_is_registered;

MPL_atomic_int_t MPII_Gpudt_epoch = MPL_ATOMIC_INT_T_INITIALIZER(1);

static MPII_Gpudt_engine_t *engine_find(CUcontext ctx);
static void engines_sort(void);
static int engine_add(const MPII_Gpudt_driver_t * drv, int device, CUcontext ctx,
                      MPII_Gpudt_engine_t ** engine);
static bool engine_enter_last(MPII_Gpudt_engine_t * engine, MPII_Gpudt_ctx_t * entered);
static void engine_end(MPII_Gpudt_engine_t * engine);
static int engines_finalize(void *unused);

int MPII_Gpudt_engine_enter(const MPII_Gpudt_driver_t * drv, int device, void *ctx,
                            MPII_Gpudt_engine_t ** engine, MPII_Gpudt_ctx_t * entered)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *found = NULL;

    mpi_errno = MPII_Gpudt_ctx_enter(drv, device, ctx, entered);

    MPII_Gpudt_lock(&engine_lock);
    if (unlikely(!finalize_is_registered)) {
        /* Needed also if the context could not be entered, since a primary context may be held.
         * Runs after the callbacks of higher priority, in which MPI_Finalize frees datatypes. */
        MPIR_Add_finalize(engines_finalize, NULL, 1);
        finalize_is_registered = true;
    }
    if (likely(mpi_errno == MPI_SUCCESS)) {
        found = engine_find(entered->ctx);
        /* A new context may replace one that was destroyed */
        if (unlikely(found == NULL))
            engines_sort();
        if (unlikely(found == NULL))
            mpi_errno = engine_add(drv, device, entered->ctx, &found);
        if (unlikely(mpi_errno))
            MPII_Gpudt_ctx_leave(drv, entered);
    }
    MPII_Gpudt_unlock(&engine_lock);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *engine = found;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_engine_current(const MPII_Gpudt_driver_t * drv, MPII_Gpudt_engine_t ** engine,
                              MPII_Gpudt_ctx_t * entered)
{
    int mpi_errno = MPI_SUCCESS;
    CUcontext ctx = NULL;
    CUdevice device = 0;

    MPII_GPUDT_CHECK(drv, cuCtxGetCurrent(&ctx), mpi_errno);
    if (ctx)
        MPII_GPUDT_CHECK(drv, cuCtxGetDevice(&device), mpi_errno);
    mpi_errno = MPII_Gpudt_engine_enter(drv, device, ctx, engine, entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

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
        MPII_Gpudt_lock(&engine_lock);
        *engine = engine_find(ctx);
        MPII_Gpudt_unlock(&engine_lock);
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

/* Whether an allocation that exists now is known to be of an engine's context. Since it still exists,
 * the context does: another one at the same address has other allocations, and numbers are never used
 * again. Caller holds engine_lock. */
static bool is_seen(const MPII_Gpudt_engine_t * engine, const MPIR_Gpudt_ptr_t * ptr)
{
    return engine->ctx == ptr->ctx && engine->seen[ptr->id % MPII_GPUDT_NSEEN] == ptr->id;
}

int MPII_Gpudt_engine_of(const MPII_Gpudt_driver_t * drv, const MPIR_Gpudt_ptr_t * ptr,
                         MPII_Gpudt_engine_t ** engine)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *found;

    if (ptr->mem != MPIR_GPUDT_MEM__DEVICE || ptr->ctx == NULL || ptr->id == 0)
        return MPII_Gpudt_engine_get(drv, ptr->device, ptr->ctx, engine);
    MPII_Gpudt_lock(&engine_lock);
    for (found = engines; found && !is_seen(found, ptr); found = found->next);
    MPII_Gpudt_unlock(&engine_lock);
    if (likely(found)) {
        *engine = found;
        goto fn_exit;
    }
    mpi_errno = MPII_Gpudt_engine_get(drv, ptr->device, ptr->ctx, engine);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    /* The engine's context exists. If it has replaced that of the allocation since the query, the
     * allocation no longer exists, and its number is not seen again. */
    MPII_Gpudt_lock(&engine_lock);
    (*engine)->seen[ptr->id % MPII_GPUDT_NSEEN] = ptr->id;
    MPII_Gpudt_unlock(&engine_lock);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

MPII_Gpudt_engine_t *MPII_Gpudt_engine_any(void)
{
    MPII_Gpudt_engine_t *engine;

    MPII_Gpudt_lock(&engine_lock);
    engine = engines;
    while (engine && !MPII_Gpudt_engine_is_alive(engine))
        engine = engine->next;
    MPII_Gpudt_unlock(&engine_lock);
    return engine;
}

void MPII_Gpudt_engines_check(void)
{
    MPII_Gpudt_lock(&engine_lock);
    engines_sort();
    MPII_Gpudt_unlock(&engine_lock);
}

bool MPII_Gpudt_engines_are_idle(void)
{
    bool are_idle = true;

    MPII_Gpudt_lock(&engine_lock);
    engines_sort();
    for (MPII_Gpudt_engine_t * engine = engines; engine && are_idle; engine = engine->next)
        are_idle = MPII_Gpudt_engine_is_idle(engine);
    MPII_Gpudt_unlock(&engine_lock);
    return are_idle;
}

/* The live engine of an existing context, or NULL. An engine's context may have been destroyed and
 * its address reused. */
static MPII_Gpudt_engine_t *engine_find(CUcontext ctx)
{
    for (MPII_Gpudt_engine_t * engine = engines; engine; engine = engine->next) {
        if (engine->ctx == ctx)
            return likely(MPII_Gpudt_engine_is_alive(engine)) ? engine : NULL;
    }
    return NULL;
}

/* Move engines whose contexts are destroyed to dead_engines. */
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

/* Make the engine of the current context. Caller holds engine_lock. */
static int engine_add(const MPII_Gpudt_driver_t * drv, int device, CUcontext ctx,
                      MPII_Gpudt_engine_t ** engine)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = MPII_Gpudt_engine_make(drv, device, ctx, engine);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

    MPII_Gpudt_graphs_make(*engine);
    MPII_GPUDT_PROFILE_INIT();
    (*engine)->next = engines;
    engines = *engine;
    MPII_GPUDT_COUNT(engines, 1);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Enter the context of an engine that is to be freed; false if it is destroyed. */
static bool engine_enter_last(MPII_Gpudt_engine_t * engine, MPII_Gpudt_ctx_t * entered)
{
    /* Twice, because the first failure may be the report of an earlier error */
    for (int i = 0; i < 2 && MPII_Gpudt_engine_is_alive(engine); i++) {
        if (MPII_Gpudt_ctx_enter(engine->drv, engine->device, engine->ctx, entered) == MPI_SUCCESS)
            return true;
    }
    return false;
}

/* Free all that an engine has. Failures cannot be handled: the context is destroyed, or the driver
 * is shutting down. */
static void engine_end(MPII_Gpudt_engine_t * engine)
{
    const MPII_Gpudt_driver_t *drv = engine->drv;
    MPII_Gpudt_ctx_t entered;
    bool is_alive = engine_enter_last(engine, &entered);

    for (int i = 0; is_alive && i < MPII_GPUDT_NLANES; i++)
        drv->cuStreamSynchronize(engine->streams[i]);
    MPII_Gpudt_uploads_free(engine, is_alive);
    MPII_Gpudt_flags_free(engine, is_alive);
    MPII_Gpudt_pools_free(engine, is_alive);
    MPII_Gpudt_graphs_free(engine, is_alive);
    MPII_Gpudt_module_free(engine, is_alive);
    MPII_Gpudt_engine_free(engine, is_alive);
    if (is_alive)
        MPII_Gpudt_ctx_leave(drv, &entered);
    MPII_GPUDT_UNCOUNT(engines, 1);
}

/* Callback of MPIR_Add_finalize. MPI may be initialised again afterwards. */
static int engines_finalize(void *unused ATTRIBUTE((unused)))
{
    MPII_Gpudt_engine_t **lists[] = { &engines, &dead_engines };

    MPII_Gpudt_lock(&engine_lock);
    for (int i = 0; i < 2; i++) {
        while (*lists[i]) {
            MPII_Gpudt_engine_t *engine = *lists[i];
            *lists[i] = engine->next;
            engine_end(engine);
        }
    }
    finalize_is_registered = false;
    MPII_Gpudt_unlock(&engine_lock);
    MPII_Gpudt_ctx_finalize();
    return 0;
}
