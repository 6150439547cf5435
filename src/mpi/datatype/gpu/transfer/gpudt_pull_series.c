/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Messages that follow one of the same kind from the same process. That one is pulled by an operation
 * that waits in a batch. A message that differs by its addresses only joins it there: it gets an operation
 * and a flag of its own, but its buffer is not classified, and no way, mapping, route or plan is looked
 * for. The same for puts is in gpudt_series.c. Must not know how offers are exchanged.
 *
 * What is remembered of the first operation is used only while its batch waits. It then is in flight, and
 * holds what the others need, who take references of their own. What else could have changed is checked
 * for each message:
 *
 *     datatypes    by keys that are never used again, unlike handles
 *     receiver     the buffer must be within the allocation of the first one, whose bounds the driver is
 *                  asked for once. So memory, device and context are the same. The program must not free
 *                  the allocation as long as the first operation is in flight
 *     sender       its allocation, by a number that is never used again
 *     alignment    both addresses must differ from the first ones by multiples of the widest unit
 *     way          the same ones must be allowed, and staging must not have become cheaper */

#include "mpiimpl.h"
#include "gpudt_batch.h"
#include "gpudt_buffer_impl.h"
#include "gpudt_offer.h"
#include "tuning/gpudt_tuning.h"
#include "gpudt_op.h"
#include "gpudt_lane.h"
#include "gpudt_vars.h"
#include "driver/gpudt_sharing.h"
#include "engine/gpudt_memops.h"
#include "type/gpudt_wire.h"

#define NSERIES 8               /* that are remembered, of all processes */

/* Nothing here is a reference: unless the batch waits, all of it may be outdated. */
static struct MPIR_Gpudt_pulls {
    uint64_t batch;             /* its number; 0: there is no series */
    MPII_Gpudt_engine_t *engine;
    enum MPII_Gpudt_lane_e lane;
    const MPIR_Gpudt_op *lead;
    struct MPIR_Gpudt_receive to;
    uint64_t to_type;           /* key of the datatype */
    unsigned long long to_id;   /* of the allocation */
    struct MPII_Gpudt_allocation allocation;    /* that allocation; sz 0: not known yet */
    uint64_t process, id;       /* of the sender's allocation */
    int64_t addr;               /* of the sender's buffer, as in the offer */
    uint64_t type;              /* the sender's id of its datatype; 0: contiguous */
    struct MPII_Gpudt_record top;
    int64_t stage_cost;
    int forced;                 /* MPIR_CVAR_GPUDT_DIRECT */
} series[NSERIES];
static unsigned nseries = 0;    /* so far: the next takes place n % NSERIES */
static bool has_finalizer = false;

/* For MPIR_Add_finalize: engines are freed then. */
static int series_end(void *unused ATTRIBUTE((unused)))
{
    memset(series, 0, sizeof(series));
    has_finalizer = false;
    return 0;
}

/* Whether an offered buffer's datatype, if it has one, is part of the offer. */
static bool has_type(const MPIR_Gpudt_offer_t * offer)
{
    return offer->type_sz == 0 || offer->type_at == MPIR_GPUDT_TYPE__INLINE;
}

/* The sender's id of a datatype that is part of an offer. */
static uint64_t offered_type(const MPIR_Gpudt_offer_t * offer)
{
    return offer->type_sz ? MPII_Gpudt_wire_id(offer->type) : 0;
}

static int64_t stage_cost(const MPIR_Gpudt_offer_t * offer)
{
    return offer->stage_sz ? offer->stage_cost : INT64_MAX;
}

void MPIR_Gpudt_pulls_note(const MPIR_Gpudt_offer_t * offer, const struct MPIR_Gpudt_receive *r,
                           const MPIR_Gpudt_buffer * buffer, const MPIR_Gpudt_op * op)
{
    const struct MPII_Gpudt_side *side = &buffer->side;
    const uint64_t to_type = MPII_Gpudt_type_key(r->datatype);

    /* Memory of other kinds is described by more than its number. At absolute addresses, blocks may be
     * anywhere */
    if (op == NULL || op->queued.batch == 0 ||
        !MPII_Gpudt_batch_is_open(op->engine, op->lane, op->queued.batch) ||
        op->n != offer->size || buffer->id == 0 || to_type == 0 || r->buf == MPI_BOTTOM ||
        side->ptr.mem != MPIR_GPUDT_MEM__DEVICE || MPIR_Gpudt_ptr_is_private(&side->ptr) ||
        offer->export.kind != MPII_GPUDT_EXPORT__MEMORY || !has_type(offer))
        return;
    if (!has_finalizer)
        MPIR_Add_finalize(series_end, NULL, 0);
    has_finalizer = true;
    series[nseries++ % NSERIES] = (struct MPIR_Gpudt_pulls) {
        .batch = op->queued.batch,.engine = op->engine,.lane = op->lane,.lead = op,
        .to = *r,.to_type = to_type,.to_id = buffer->id,
        .process = offer->export.process,.id = offer->export.id,
        .addr = offer->addr,.type = offered_type(offer),.top = offer->top,.stage_cost = stage_cost(offer),
        .forced = MPIR_CVAR_GPUDT_DIRECT
    };
}

/* Whether the data of a receive is in the allocation of the first one. */
static bool is_beside(struct MPIR_Gpudt_pulls *s, const struct MPIR_Gpudt_receive *r)
{
    const struct MPII_Gpudt_side *first = &s->lead->dst;
    const uintptr_t shift = (uintptr_t) r->buf - (uintptr_t) s->to.buf;
    const uintptr_t low = (uintptr_t) first->low + shift;
    struct MPII_Gpudt_allocation *in = &s->allocation;

    if (unlikely(in->sz == 0) &&
        MPII_Gpudt_ptr_allocation(s->lead->drv, first->low, in) != s->to_id)
        in->sz = 0;
    return low - in->base < in->sz &&
        (uintptr_t) (first->high - first->low) <= in->sz - (low - in->base);
}

static bool is_alike(const struct MPIR_Gpudt_pulls *s, const MPIR_Gpudt_offer_t * offer,
                     const struct MPIR_Gpudt_receive *r, int64_t n)
{
    const uint64_t shifts = ((uint64_t) offer->addr - (uint64_t) s->addr) |
        ((uint64_t) (uintptr_t) r->buf - (uint64_t) (uintptr_t) s->to.buf);

    return s->lead->n == n && offer->size == n && s->to.count == r->count && s->to.ways == r->ways &&
        s->forced == MPIR_CVAR_GPUDT_DIRECT && shifts % MPII_GPUDT_UNIT_MAX == 0 &&
        s->id == offer->export.id && s->process == offer->export.process &&
        s->to_type == MPII_Gpudt_type_key(r->datatype) && has_type(offer) &&
        s->type == offered_type(offer) &&
        (s->type == 0 || memcmp(&s->top, &offer->top, sizeof(s->top)) == 0) &&
        stage_cost(offer) >= s->stage_cost;
}

bool MPIR_Gpudt_pulls_exist(void)
{
    return MPII_Gpudt_batch_are_any_open();
}

const MPIR_Gpudt_pulls_t *MPIR_Gpudt_pulls_find(const MPIR_Gpudt_offer_t * offer,
                                                const struct MPIR_Gpudt_receive *r, MPI_Aint n)
{
    if (r->buf == MPI_BOTTOM)
        return NULL;
    for (int i = 0; i < NSERIES; i++) {
        struct MPIR_Gpudt_pulls *s = &series[i];
        if (s->batch == 0)
            continue;
        /* First: what is remembered may be freed memory else */
        if (!MPII_Gpudt_batch_is_open(s->engine, s->lane, s->batch)) {
            s->batch = 0;
            continue;
        }
        /* Long ones take the lane in which fewer are in flight */
        if (is_alike(s, offer, r, n) && is_beside(s, r) &&
            (n < MPII_GPUDT_BESIDE_MIN || s->lane == MPII_Gpudt_lane_choose(s->engine, false, n)) &&
            !MPII_Gpudt_is_shared(s->engine->shared) &&
            MPII_Gpudt_memops_are_ordered(s->allocation.sync_memops))
            return s;
    }
    return NULL;
}

MPIR_Gpudt_op *MPIR_Gpudt_pulls_join(const MPIR_Gpudt_pulls_t * s, const MPIR_Gpudt_offer_t * offer,
                                     const struct MPIR_Gpudt_receive *r)
{
    MPIR_Gpudt_op *op = MPII_Gpudt_op_make_like(s->lead);

    if (unlikely(op == NULL))
        return NULL;
    if (!MPII_Gpudt_batch_join(s->engine, s->lane, s->batch, s->lead->queued.place,
                               (uint64_t) offer->addr - (uint64_t) s->addr,
                               (uint64_t) (uintptr_t) r->buf - (uint64_t) (uintptr_t) s->to.buf,
                               &op->slice[0].flag[0], &op->queued)) {
        MPII_Gpudt_op_release(op);
        MPII_Gpudt_op_delete(op);
        return NULL;
    }
    op->is_flying = true;
    MPII_Gpudt_op_count(op, 1);
    MPII_GPUDT_COUNT(direct_pulls, 1);
    MPII_GPUDT_COUNT(pulls_joined, 1);
    MPII_GPUDT_COUNT(bytes, op->n);
    if (unlikely(MPIR_CVAR_GPUDT_TRACE))
        fprintf(stderr, "[%d] gpudt: message of %lld bytes pulled together with another one\n",
                MPIR_Process.rank, (long long) op->n);
    return op;
}
