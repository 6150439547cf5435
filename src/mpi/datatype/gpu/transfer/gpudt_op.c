/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The resources of an operation, and their release. Must not know how an operation runs. */

#include "mpiimpl.h"
#include "gpudt_op.h"
#include "gpudt_batch.h"
#include "tuning/gpudt_tuning.h"
#include "gpudt_lock.h"
#include "engine/gpudt_import.h"

#define MAX_SPARE 256           /* operations kept for later ones; as many as a window has in flight */

/* The C library's allocator takes long for memory of this size if many operations are in flight. */
static MPL_initlock_t spare_lock = MPL_INITLOCK_INITIALIZER;
static MPIR_Gpudt_op *spare = NULL;
static int nspare = 0;
static bool has_finalizer = false;

/* For MPIR_Add_finalize: after the engines, whose end may complete operations. */
static int spare_end(void *unused ATTRIBUTE((unused)))
{
    MPII_Gpudt_lock(&spare_lock);
    while (spare) {
        MPIR_Gpudt_op *op = spare;
        spare = op->next;
        MPL_free(op);
    }
    nspare = 0;
    has_finalizer = false;
    MPII_Gpudt_unlock(&spare_lock);
    return 0;
}

/* Memory for an operation, of which nothing but is_kept is set; NULL: there is none. */
static MPIR_Gpudt_op *op_new(void)
{
    MPIR_Gpudt_op *op;

    MPII_Gpudt_lock(&spare_lock);
    if (unlikely(!has_finalizer)) {
        MPIR_Add_finalize(spare_end, NULL, 0);
        has_finalizer = true;
    }
    op = spare;
    if (likely(op)) {
        spare = op->next;
        nspare--;
    }
    MPII_Gpudt_unlock(&spare_lock);
    if (unlikely(op == NULL))
        op = MPL_malloc(sizeof(*op), MPL_MEM_BUFFER);
    if (likely(op))
        op->is_kept = true;
    return op;
}

void MPII_Gpudt_op_init(MPIR_Gpudt_op * op, int64_t n, enum MPII_Gpudt_lane_e lane)
{
    op->src.type = op->dst.type = NULL;
    op->mapping = NULL;
    op->mapped = NULL;
    op->n = n;
    op->lane = lane;
    op->is_alone = op->may_leave = op->timing.is_on = false;
    op->max_blocks = 0;
    op->ahead = NULL;
    op->queued.may_lead = op->queued.ends_with_batch = op->queued.may_wait = false;
}

MPIR_Gpudt_op *MPII_Gpudt_op_make(int64_t n, enum MPII_Gpudt_lane_e lane)
{
    MPIR_Gpudt_op *op = op_new();

    if (likely(op))
        MPII_Gpudt_op_init(op, n, lane);
    return op;
}

void MPII_Gpudt_op_reset(MPIR_Gpudt_op * op)
{
    op->oldest = op->nbusy = op->nslices = 0;
    op->started = 0;
    op->nlooks = 0;
    MPL_atomic_relaxed_store_int(&op->queued.is_queued, 0);
    op->queued.mpi_errno = MPI_SUCCESS;
    op->queued.batch = 0;
    op->noted = 0;
    op->is_flying = op->is_copy = false;
}

MPIR_Gpudt_op *MPII_Gpudt_op_make_like(const MPIR_Gpudt_op * lead)
{
    MPIR_Gpudt_op *op = MPII_Gpudt_op_make(lead->n, lead->lane);

    if (unlikely(op == NULL))
        return NULL;
    MPII_Gpudt_op_reset(op);
    op->drv = lead->drv;
    op->engine = lead->engine;
    op->src.type = lead->src.type;
    op->dst.type = lead->dst.type;
    op->mapping = lead->mapping;
    if (op->src.type)
        MPII_Gpudt_type_add_ref(op->src.type);
    if (op->dst.type)
        MPII_Gpudt_type_add_ref(op->dst.type);
    if (op->mapping)
        MPII_Gpudt_import_open(op->mapping);
    op->queued.may_wait = lead->queued.may_wait;
    op->is_blocking = false;
    op->is_direct = true;
    op->step[0] = lead->step[0];
    op->slice_sz = op->started = op->n;
    op->nslices = op->nbusy = 1;
    memset(&op->slice[0], 0, sizeof(op->slice[0]));
    op->slice[0].len = op->n;
    op->slice[0].nsteps = 1;
    return op;
}

void MPII_Gpudt_op_delete(MPIR_Gpudt_op * op)
{
    if (likely(op->is_kept)) {
        MPII_Gpudt_lock(&spare_lock);
        if (likely(nspare < MAX_SPARE)) {
            op->next = spare;
            spare = op;
            nspare++;
            op = NULL;
        }
        MPII_Gpudt_unlock(&spare_lock);
    }
    MPL_free(op);
}

void MPII_Gpudt_op_drain(MPIR_Gpudt_op * op)
{
    if (MPL_atomic_acquire_load_int(&op->queued.is_queued))
        MPII_Gpudt_batch_poll(op->engine, op->lane, true);
    for (int i = 0; i < MPII_Gpudt_op_nsteps(op); i++) {
        MPII_Gpudt_engine_t *engine = op->step[i].engine;
        MPII_Gpudt_ctx_t entered;
        /* The operation has failed or is cancelled: errors here are ignored */
        if (engine && MPII_Gpudt_engine_reenter(engine, &entered) == MPI_SUCCESS) {
            op->drv->cuStreamSynchronize(engine->streams[op->step[i].lane]);
            MPII_Gpudt_ctx_leave(op->drv, &entered);
        }
    }
}

static void copy_end(const MPIR_Gpudt_op * op)
{
    MPL_atomic_int_t *ended = &op->engine->copies_ended[op->lane];

    if (MPII_Gpudt_copies_from(MPL_atomic_relaxed_load_int(ended), op->copy) > 0)
        MPL_atomic_relaxed_store_int(ended, op->copy);
}

void MPII_Gpudt_op_finish(MPIR_Gpudt_op * op)
{
    for (int k = 0; k < op->nslices; k++) {
        struct MPII_Gpudt_slice *slice = &op->slice[k];
        if (slice->area)
            MPII_Gpudt_area_put(op->engine, slice->area);
        for (int i = 0; i < 2; i++) {
            if (slice->event[i])
                MPII_Gpudt_event_put(op->step[i].engine, slice->event[i]);
            MPII_Gpudt_flag_put(op->step[i].engine, &slice->flag[i]);
        }
    }
    op->nslices = 0;
    if (op->noted)
        MPII_Gpudt_batch_note_copy(op->engine, op->lane, -op->noted);
    op->noted = 0;
    if (op->is_copy)
        copy_end(op);
    if (op->is_flying)
        MPII_Gpudt_op_count(op, -1);
    if (unlikely(op->timing.is_on))
        MPII_Gpudt_timing_end(&op->timing);
    op->is_flying = op->is_copy = false;
    MPII_Gpudt_op_release(op);
}

void MPII_Gpudt_op_count(MPIR_Gpudt_op * op, int by)
{
    MPL_atomic_fetch_add_int(&op->engine->nflying[op->lane], by);
    if (op->n >= MPII_GPUDT_BESIDE_MIN)
        MPL_atomic_fetch_add_int(&op->engine->nlong[op->lane], by);
}

void MPII_Gpudt_op_release(MPIR_Gpudt_op * op)
{
    struct MPII_Gpudt_side *side[2] = { &op->src, &op->dst };

    for (int i = 0; i < 2; i++) {
        if (side[i]->type)
            MPII_Gpudt_type_release(side[i]->type);
        side[i]->type = NULL;
    }
    if (op->mapping)
        MPII_Gpudt_import_release(op->mapping);
    op->mapping = NULL;
    for (int i = 0; op->mapped && i < op->mapped->n; i++)
        MPII_Gpudt_import_release(op->mapped->mapping[i]);
    op->mapped = NULL;
}
