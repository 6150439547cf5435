/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Offers of buffers to other processes, and copies from and to buffers that were offered. Must not
 * know how offers are exchanged, nor which way is best (gpudt_way.c). */

#include "mpiimpl.h"
#include "gpudt_batch.h"
#include "gpudt_buffer_impl.h"
#include "gpudt_error.h"
#include "gpudt_lane.h"
#include "gpudt_offer.h"
#include "gpudt_shared.h"
#include "gpudt_start.h"
#include "gpudt_vars.h"
#include "gpudt_within.h"
#include "driver/gpudt_sharing.h"
#include "engine/gpudt_contexts.h"
#include "tuning/gpudt_tuning.h"
#include "type/gpudt_wire.h"

#include <float.h>

static bool has_finalizer = false;

size_t MPIR_Gpudt_offer_type_sz(const MPIR_Gpudt_buffer * buffer)
{
    return buffer->side.type ? MPII_Gpudt_wire_sz(buffer->side.type) : 0;
}

void MPIR_Gpudt_offer_type_write(const MPIR_Gpudt_buffer * buffer, void *mem)
{
    MPII_Gpudt_wire_write(buffer->side.type, mem);
}

void **MPIR_Gpudt_buffer_published(const MPIR_Gpudt_buffer * buffer, void (*free_fn) (void *))
{
    MPII_Gpudt_published_free = free_fn;
    return &buffer->side.type->published;
}

bool MPIR_Gpudt_is_direct(const MPIR_Gpudt_buffer * buffer)
{
    return !buffer->side.is_mixed && buffer->side.ptr.mem == MPIR_GPUDT_MEM__DEVICE &&
        MPIR_CVAR_GPUDT_DIRECT != MPIR_CVAR_GPUDT_DIRECT_never;
}

uint64_t MPIR_Gpudt_buffer_gpu(const MPIR_Gpudt_buffer * buffer)
{
    const MPII_Gpudt_engine_t *engine = buffer->side.engine;
    const uint64_t *names;
    int n = MPIR_Gpudt_shared_names(&names);

    return engine->shared >= 0 && engine->shared < n ? names[engine->shared] : 0;
}

const struct MPII_Gpudt_export *MPII_Gpudt_buffer_export(const MPIR_Gpudt_buffer * buffer)
{
    const struct MPII_Gpudt_side *side = &buffer->side;

    if (buffer->id == 0 || !MPIR_Gpudt_is_direct(buffer))
        return NULL;
    return MPII_Gpudt_export_get(side->engine, side->low, side->high, buffer->id,
                                 MPIR_Gpudt_ptr_is_private(&side->ptr));
}

bool MPIR_Gpudt_may_offer(const MPIR_Gpudt_buffer * buffer)
{
    const bool may_offer = MPII_Gpudt_buffer_export(buffer) != NULL;

    if (!may_offer && MPIR_Gpudt_is_direct(buffer))
        MPII_GPUDT_COUNT(direct_hidden, 1);
    return may_offer;
}

/* Keep the descriptors that an offer names. An earlier offer of the buffer may have named others: they
 * are opened anew if others have taken their places meanwhile. */
static void descriptors_hold(MPIR_Gpudt_buffer * buffer, const struct MPII_Gpudt_export *export)
{
    struct MPII_Gpudt_descriptor *before[MPII_GPUDT_MAX_HANDLES];

    memcpy(before, buffer->held, sizeof(before));
    memset(buffer->held, 0, sizeof(buffer->held));
    MPII_Gpudt_export_hold(export, buffer->held);
    for (int i = 0; i < MPII_GPUDT_MAX_HANDLES; i++)
        MPII_Gpudt_descriptor_release(before[i]);
}

void MPIR_Gpudt_offer_make(MPIR_Gpudt_buffer * buffer, int type_at,
                           const MPIR_Gpudt_stage_t * stage, void *mem)
{
    const struct MPII_Gpudt_side *side = &buffer->side;
    const struct MPII_Gpudt_export *export = MPII_Gpudt_buffer_export(buffer);
    struct MPIR_Gpudt_offer *offer = mem;
    struct MPII_Gpudt_access access;

    MPII_Gpudt_buffer_access(buffer, buffer->size, &access);
    offer->size = buffer->size;
    offer->read_across = access.read_across;
    offer->read = access.read;
    offer->gpu = MPIR_Gpudt_buffer_gpu(buffer);
    offer->is_shared = MPII_Gpudt_is_shared(side->engine->shared);
    offer->type_sz = 0;
    offer->type_at = MPIR_GPUDT_TYPE__NONE;
    offer->stage_sz = 0;
    offer->export.process = offer->export.id = 0;
    offer->export.kind = MPII_GPUDT_EXPORT__MEMORY;
    if (stage) {
        MPII_Gpudt_export_copy(&stage->export, &offer->stage);
        offer->stage_at = (int64_t) ((uintptr_t) stage->mem - stage->export.base);
        offer->stage_sz = (int64_t) stage->sz;
        offer->stage_segment = stage->segment;
        offer->stage_cost = stage->cost;
        offer->early_place = stage->early_place;
        offer->early_value = stage->early_value;
    }
    if (export == NULL)
        return;
    MPII_Gpudt_export_copy(export, &offer->export);
    descriptors_hold(buffer, export);
    offer->addr = (int64_t) ((uintptr_t) side->addr - export->base);
    offer->low = (int64_t) ((uintptr_t) side->low - export->base);
    offer->high = (int64_t) ((uintptr_t) side->high - export->base);
    if (side->type)
        offer->top = side->top;
    offer->type_sz = (int64_t) MPIR_Gpudt_offer_type_sz(buffer);
    offer->type_at = type_at;
    if (side->type && type_at == MPIR_GPUDT_TYPE__INLINE)
        MPII_Gpudt_wire_write(side->type, offer->type);
}

void MPIR_Gpudt_offer_read(const MPIR_Gpudt_offer_t * offer, void *mem)
{
    struct MPIR_Gpudt_offer *copy = mem;

    memcpy(copy, offer, offsetof(struct MPIR_Gpudt_offer, export));
    if (copy->stage_sz)
        MPII_Gpudt_export_copy(&offer->stage, &copy->stage);
    MPII_Gpudt_export_copy(&offer->export, &copy->export);
}

int MPIR_Gpudt_offer_type_at(const MPIR_Gpudt_offer_t * offer, size_t *sz)
{
    *sz = (size_t) offer->type_sz;
    return (int) offer->type_at;
}

struct MPIR_Gpudt_peer_type MPIR_Gpudt_offer_type_name(const MPIR_Gpudt_offer_t * offer,
                                                       const void *type)
{
    return (struct MPIR_Gpudt_peer_type) {
        .process = offer->export.process,.id = MPII_Gpudt_wire_id(type)
    };
}

bool MPIR_Gpudt_offer_type_is(const void *type, const struct MPIR_Gpudt_peer_type *name)
{
    return __atomic_load_n((const uint64_t *) type, __ATOMIC_RELAXED) == name->id;
}

void MPIR_Gpudt_offer_type_clear(void *type)
{
    __atomic_store_n((uint64_t *) type, 0, __ATOMIC_RELAXED);
}

void MPIR_Gpudt_peer_type_free(const struct MPIR_Gpudt_peer_type *name)
{
    if (MPII_Gpudt_wire_drop(name->process, name->id))
        MPII_GPUDT_COUNT(peer_types_freed, 1);
}

/* For MPIR_Add_finalize: before the engines are freed. */
static int types_end(void *unused ATTRIBUTE((unused)))
{
    MPII_Gpudt_wire_end();
    has_finalizer = false;
    return 0;
}

/* The state of an offered buffer's datatype. */
static int type_read(const struct MPIR_Gpudt_offer *offer, const void *type,
                     struct MPII_Gpudt_type **state)
{
    if (!has_finalizer)
        MPIR_Add_finalize(types_end, NULL, MPIR_FINALIZE_CALLBACK_PRIO - 3);
    has_finalizer = true;
    return MPII_Gpudt_wire_read(offer->export.process,
                                offer->type_at == MPIR_GPUDT_TYPE__INLINE ? offer->type : type,
                                (size_t) offer->type_sz, state);
}

/* Describe offered memory as one of this process. */
static int side_make(const struct MPIR_Gpudt_offer *offer, const void *type, CUdeviceptr mem,
                     MPII_Gpudt_engine_t * engine, int64_t n, struct MPII_Gpudt_side *side)
{
    char *base = (char *) (uintptr_t) mem;
    int mpi_errno = MPI_SUCCESS;

    MPII_Gpudt_side_own(engine, base + offer->low,
                        base + (offer->type_sz ? offer->high : offer->low + n), side);
    side->place = MPII_GPUDT_PLACE__PEER;
    side->addr = base + offer->addr;
    side->top = offer->top;
    if (offer->type_sz)
        mpi_errno = type_read(offer, type, &side->type);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_offer_map(const struct MPII_Gpudt_export *export, MPII_Gpudt_engine_t * engine,
                         double saved_us, struct MPII_Gpudt_mapping **mapping, CUdeviceptr * mem)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_ctx_t entered;

    *mem = 0;
    *mapping = MPII_Gpudt_import_find(engine, export, saved_us);
    if (*mapping == NULL)
        goto fn_exit;
    if (likely(MPII_Gpudt_import_is_open(*mapping))) {
        *mem = MPII_Gpudt_import_open(*mapping);
        goto fn_exit;
    }
    /* The program may have destroyed it since the buffer was described */
    mpi_errno = MPII_Gpudt_engine_reenter(engine, &entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *mem = MPII_Gpudt_import_open(*mapping);
    MPII_Gpudt_ctx_leave(engine->drv, &entered);

  fn_exit:
    if (*mem == 0)
        *mapping = NULL;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

enum copy {
    COPY__PULL,                 /* from the offered buffer, for a packet, after which others may come */
    COPY__PULL_NOW,             /* from there, whatever it costs to map the memory */
    COPY__PUSH                  /* to the offered one; the other one may have been freed */
};

/* Whether a copy would be the only one of this process. */
static bool is_idle(const MPII_Gpudt_engine_t * engine)
{
    for (int i = 0; i < MPII_GPUDT_NLANES; i++) {
        if (MPL_atomic_relaxed_load_int(&engine->nflying[i]))
            return false;
    }
    return true;
}

/* Start to copy between an offered buffer and one of this process. Parameters as of
 * MPIR_Gpudt_offer_pull. */
static int copy_start(const MPIR_Gpudt_offer_t * offer, const void *type,
                      MPIR_Gpudt_buffer * buffer, MPI_Aint n, enum copy copy,
                      MPIR_Gpudt_op ** op, bool * is_taken)
{
    int mpi_errno = MPI_SUCCESS;
    const bool is_push = copy == COPY__PUSH;
    MPII_Gpudt_engine_t *engine = buffer->side.engine;
    const double saved_us = is_push ? MPII_Gpudt_saved_us(engine, n) :
        copy == COPY__PULL_NOW ? DBL_MAX : 0;
    MPIR_Gpudt_op *work = NULL;
    CUdeviceptr mem = 0;

    *op = NULL;
    *is_taken = false;
    MPIR_ERR_CHKANDJUMP(n > offer->size || n > buffer->size, mpi_errno, MPI_ERR_INTERN,
                        "**gpudt_size");
    work = MPII_Gpudt_op_make(n, MPII_Gpudt_lane_choose(engine, is_push, n));
    MPIR_ERR_CHKANDJUMP1(!work, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s",
                         "GPU operation");
    mpi_errno = MPII_Gpudt_offer_map(&offer->export, engine, saved_us, &work->mapping, &mem);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (work->mapping == NULL)
        goto fn_exit;
    if (is_push) {
        mpi_errno = MPIR_Gpudt_buffer_check(buffer);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    mpi_errno = side_make(offer, type, mem, engine, n, is_push ? &work->dst : &work->src);
    if (mpi_errno && MPIR_ERR_GET_CLASS(mpi_errno) == MPI_ERR_NO_MEM) {
        /* The other way needs none for the type */
        mpi_errno = MPI_SUCCESS;
        goto fn_exit;
    }
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_Gpudt_buffer_part(buffer, 0, n, is_push ? &work->src : &work->dst);
    *is_taken = true;
    work->queued.may_wait = work->queued.may_lead = copy == COPY__PULL;
    work->may_leave = copy != COPY__PULL_NOW;
    /* Those of a collective wait for each other */
    if (copy != COPY__PULL_NOW && MPII_Gpudt_within(buffer, offer) == MPII_GPUDT_WITHIN__COPIER)
        MPII_Gpudt_timing_begin(&work->timing, is_idle(engine),
                                MPII_GPUDT_SHARED_COPY_US_PER_BYTE * n);
    mpi_errno = MPII_Gpudt_op_start_new(work, op);
    work = NULL;
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    if (work) {
        MPII_Gpudt_op_release(work);
        MPII_Gpudt_op_delete(work);
    }
    return mpi_errno;
  fn_fail:
    *is_taken = true;
    goto fn_exit;
}

int MPIR_Gpudt_offer_pull(const MPIR_Gpudt_offer_t * offer, const void *type,
                          MPIR_Gpudt_buffer * buffer, MPI_Aint n, MPIR_Gpudt_op ** op,
                          bool * is_taken)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_FUNC_ENTER;

    mpi_errno = copy_start(offer, type, buffer, n, COPY__PULL, op, is_taken);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (*is_taken)
        MPII_GPUDT_COUNT(direct_pulls, 1);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Gpudt_offer_pull_now(const MPIR_Gpudt_offer_t * offer, MPIR_Gpudt_buffer * buffer,
                              MPI_Aint n, MPIR_Gpudt_op ** op, bool * is_taken)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_FUNC_ENTER;

    mpi_errno = copy_start(offer, NULL, buffer, n, COPY__PULL_NOW, op, is_taken);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (*is_taken)
        MPII_GPUDT_COUNT(collective_pulls, 1);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIR_Gpudt_count_offers_kept(void)
{
    MPII_GPUDT_COUNT(offers_kept, 1);
}

void MPIR_Gpudt_pulls_begin(const MPIR_Gpudt_buffer * buffer)
{
    MPII_Gpudt_batch_hold(buffer->side.engine, MPII_GPUDT_LANE__UNPACK);
}

void MPIR_Gpudt_pulls_end(const MPIR_Gpudt_buffer * buffer)
{
    MPII_Gpudt_batch_release(buffer->side.engine, MPII_GPUDT_LANE__UNPACK, false);
}

void MPIR_Gpudt_burst_set(bool is_on)
{
    MPII_Gpudt_batch_burst(is_on);
}

/* Whether to copy what another process of the same GPU asks this one to copy for both. */
static bool may_push(const MPIR_Gpudt_offer_t * offer, const MPIR_Gpudt_buffer * buffer, int64_t n)
{
    return MPIR_CVAR_GPUDT_DIRECT != MPIR_CVAR_GPUDT_DIRECT_auto ||
        MPII_Gpudt_within(buffer, offer) != MPII_GPUDT_WITHIN__COPIER ||
        MPII_Gpudt_within_is_good(n, offer->type_sz || buffer->side.type);
}

int MPIR_Gpudt_offer_push(const MPIR_Gpudt_offer_t * offer, const void *type,
                          MPIR_Gpudt_buffer * buffer, MPI_Aint n, MPIR_Gpudt_op ** op,
                          bool * is_taken, bool * is_final)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_FUNC_ENTER;

    *is_final = *is_taken = false;
    if (!may_push(offer, buffer, n))
        goto fn_exit;
    mpi_errno = copy_start(offer, type, buffer, n, COPY__PUSH, op, is_taken);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (*is_taken)
        MPII_GPUDT_COUNT(direct_pushes, 1);
    else
        *is_final = MPII_Gpudt_import_is_refused(buffer->side.engine, &offer->export);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

uint64_t MPIR_Gpudt_offer_process(const MPIR_Gpudt_offer_t * offer)
{
    if (offer->export.process == 0 && offer->stage_sz)
        return offer->stage.process;
    return offer->export.process;
}

bool MPIR_Gpudt_may_unmap(void)
{
    return MPII_Gpudt_engines_are_idle();
}

void MPIR_Gpudt_process_drop(uint64_t process)
{
    if (process) {
        MPII_Gpudt_import_drop(process);
        MPII_Gpudt_wire_drop(process, 0);
    }
}
