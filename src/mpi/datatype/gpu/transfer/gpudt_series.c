/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Puts and gets that follow one of the same kind on the same target. That one waits in a batch, with
 * its parameters. An operation that differs by its addresses only is added to the batch as a copy of
 * these, without a route, a plan, an operation or a flag of its own. Must not know what a batch
 * launches.
 *
 * What is remembered of the first operation is used only while its batch waits, which the batch's lock
 * guards. It then is in flight, and holds what the copies need, too: references to the datatypes' states
 * and to the mapped memory. What else could have changed is checked for each operation:
 *
 *     datatypes    by keys that are never used again, unlike handles
 *     buffer       the driver is asked for the number of its allocation, which is never used again
 *                  either, and for its bounds. So memory, device and context are those of the first
 *                  operation, and exist. It is not asked again for buffers within these bounds: the
 *                  program must not free the allocation as long as the first operation is in flight
 *     window       the data must be within it
 *     alignment    both addresses must differ from the first ones by multiples of the widest unit */

#include "mpiimpl.h"
#include "gpudt_batch.h"
#include "gpudt_op.h"
#include "gpudt_vars.h"
#include "gpudt_window_impl.h"
#include "driver/gpudt_sharing.h"
#include "engine/gpudt_memops.h"


/* Whether an operation is of the kind of a series.
 *   type, buftype  (IN)  keys of its datatypes */
static bool is_alike(const MPIR_Gpudt_series_t * s, const struct MPIR_Gpudt_rma *r, uint64_t type,
                     uint64_t buftype)
{
    const struct MPIR_Gpudt_rma *first = &s->first;
    const uint64_t shifts = ((uint64_t) r->disp - (uint64_t) first->disp) |
        ((uint64_t) (uintptr_t) r->buf - (uint64_t) (uintptr_t) first->buf);

    return s->type == type && s->buftype == buftype && first->count == r->count &&
        first->bufcount == r->bufcount && first->is_get == r->is_get && shifts % MPII_GPUDT_UNIT_MAX == 0;
}

/* The place of a series; one that is not remembered takes that of the oldest.
 *   id  (IN)  number of the allocation of its buffers */
static MPIR_Gpudt_series_t *series_place(MPIR_Gpudt_target_t * t, const struct MPIR_Gpudt_rma *r,
                                         unsigned long long id, uint64_t type, uint64_t buftype)
{
    for (int i = 0; i < MPII_GPUDT_NSERIES; i++) {
        MPIR_Gpudt_series_t *s = &t->series[i];
        if (s->batch && s->id == id && is_alike(s, r, type, buftype))
            return s;
    }
    return &t->series[t->nseries++ % MPII_GPUDT_NSERIES];
}

void MPII_Gpudt_series_note(MPIR_Gpudt_target_t * t, const struct MPIR_Gpudt_rma *r,
                            const MPIR_Gpudt_op * op, unsigned long long id, CUdeviceptr window)
{
    const uint64_t type = MPII_Gpudt_type_key(r->datatype);
    const uint64_t buftype = MPII_Gpudt_type_key(r->buftype);
    const struct MPII_Gpudt_side *own = r->is_get ? &op->dst : &op->src;
    const struct MPII_Gpudt_side *other = r->is_get ? &op->src : &op->dst;

    /* Memory of other kinds is described by more than its number */
    if (id == 0 || own->ptr.mem != MPIR_GPUDT_MEM__DEVICE || MPIR_Gpudt_ptr_is_private(&own->ptr) ||
        type == 0 || buftype == 0)
        return;
    *series_place(t, r, id, type, buftype) = (MPIR_Gpudt_series_t) {
        .batch = op->queued.batch,.place = op->queued.place,.engine = op->engine,.lane = op->lane,
        .first = *r,.type = type,.buftype = buftype,.id = id,
        .buf_low = (int64_t) ((uintptr_t) own->low - (uintptr_t) r->buf),
        .low = (int64_t) ((uintptr_t) other->low - window - (uint64_t) r->disp),
        .sz = other->high - other->low,.n = op->n
    };
}

/* A series that an operation may join; NULL: there is none.
 *   id  (IN)  number of the allocation of its buffers; 0: any */
static MPIR_Gpudt_series_t *series_of(MPIR_Gpudt_target_t * t, const struct MPIR_Gpudt_rma *r,
                                      unsigned long long id)
{
    const uint64_t type = MPII_Gpudt_type_key(r->datatype);
    const uint64_t buftype = MPII_Gpudt_type_key(r->buftype);

    for (int i = 0; i < MPII_GPUDT_NSERIES; i++) {
        MPIR_Gpudt_series_t *s = &t->series[i];
        if (s->batch && (id == 0 || s->id == id) && is_alike(s, r, type, buftype) &&
            MPII_Gpudt_batch_is_open(s->engine, s->lane, s->batch))
            return s;
    }
    return NULL;
}

MPIR_Gpudt_series_t *MPIR_Gpudt_series_find(MPIR_Gpudt_target_t * t, const struct MPIR_Gpudt_rma *r)
{
    return MPII_Gpudt_batch_are_any_open()? series_of(t, r, 0) : NULL;
}

/* The series from the allocation of a buffer; NULL: there is none.
 *   s    (IN)  a series of the operation's kind
 *   low  (IN)  lowest byte of its data in the buffer */
static MPIR_Gpudt_series_t *series_from(MPIR_Gpudt_target_t * t, MPIR_Gpudt_series_t * s,
                                        const struct MPIR_Gpudt_rma *r, uintptr_t low)
{
    const MPII_Gpudt_driver_t *drv = s->engine->drv;
    unsigned long long id;
    struct MPII_Gpudt_allocation found;

    if (likely(s->from.sync_memops && low - s->from.base < s->from.sz))
        return s;
    id = MPII_Gpudt_ptr_allocation(drv, (const void *) low, &found);
    if (id != s->id)
        s = id ? series_of(t, r, id) : NULL;
    if (s)
        s->from = found;
    return s;
}

bool MPIR_Gpudt_series_join(MPIR_Gpudt_target_t * t, MPIR_Gpudt_series_t * s,
                            const struct MPIR_Gpudt_rma *r)
{
    /* These are the same for all series of this kind */
    const uint64_t at = (uint64_t) r->disp + (uint64_t) s->low;
    const uintptr_t low = (uintptr_t) r->buf + (uintptr_t) s->buf_low;
    uint64_t own, other;

    /* At absolute addresses, blocks may be anywhere */
    if (at > t->size - (uint64_t) s->sz || r->buf == MPI_BOTTOM)
        return false;
    s = series_from(t, s, r, low);
    if (s == NULL || MPII_Gpudt_is_shared(s->engine->shared) ||
        !MPII_Gpudt_memops_are_ordered(s->from.sync_memops))
        return false;
    own = (uint64_t) (uintptr_t) r->buf - (uint64_t) (uintptr_t) s->first.buf;
    other = (uint64_t) r->disp - (uint64_t) s->first.disp;
    if (!MPII_Gpudt_batch_join(s->engine, s->lane, s->batch, s->place, r->is_get ? other : own,
                               r->is_get ? own : other, NULL, NULL))
        return false;
    MPII_GPUDT_COUNT(window_direct, 1);
    MPII_GPUDT_COUNT(window_joined, 1);
    MPII_GPUDT_COUNT(bytes, s->n);
    if (unlikely(MPIR_CVAR_GPUDT_TRACE))
        MPII_Gpudt_target_trace(t, s->n, r->is_get ? "get" : "put", true);
    return true;
}
