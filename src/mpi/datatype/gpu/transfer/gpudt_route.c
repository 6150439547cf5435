/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Decides the steps and the work area of a transfer. Must not know how a step is carried out.
 *
 *   lead             other                     direct     staged: lead's step, area, other's step
 *   --------------   -----------------------   --------   ---------------------------------------
 *   contiguous       contiguous                copy
 *   few bytes        few bytes, reachable      kernel
 *   datatype         contiguous, reachable     kernel     long, in the host: kernel, device, copy
 *   datatype         contiguous, another GPU              kernel, device, copy
 *   datatype         contiguous, pageable                 kernel, pinned, CPU
 *   datatype         datatype, reachable       kernel     no pair kernels: kernel, device, kernel
 *   datatype         datatype, another GPU                kernel, device or pinned, kernel
 *   datatype         datatype, pageable                   kernel, pinned, CPU
 *   contiguous       datatype, pageable                   copy, pinned, CPU
 *   mixed datatype   contiguous                rows
 *
 * Between GPUs, a "kernel" that moves equal rows, or planes of them, may be a 2-D or 3-D copy by
 * the driver, which starts sooner.
 *
 * The lead is the side whose GPU does the work; see lead_priority. "Reachable" means that its
 * kernels can access the memory. If a work area is not available, one of another kind is used; the
 * last resort is the heap, which rules out kernels. */

#include "mpiimpl.h"
#include "gpudt_route.h"
#include "gpudt_batch.h"
#include "gpudt_choice.h"
#include "gpudt_error.h"
#include "tuning/gpudt_tuning.h"
#include "gpudt_pair.h"
#include "gpudt_vars.h"
#include "driver/gpudt_sharing.h"
#include "engine/gpudt_contexts.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_ROUTE
      category    : GPUDT
      type        : enum
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : |-
        How packed data gets to and from host memory that the GPU can access.
        auto     - Choose: staged for long pieces of messages, which leaves both directions of the bus
                   their whole rate and the multiprocessors to the program; else zerocopy
        zerocopy - The kernel accesses the memory itself
        staged   - By way of the GPU's own memory and the copy engine

    - name        : MPIR_CVAR_GPUDT_DEPTH
      category    : GPUDT
      type        : int
      default     : 4
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Work areas that one transfer has in use at a time, 1 to 8, so that its steps overlap.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* A route under construction. Indices of arrays: 0 source, 1 destination. */
struct route {
    MPIR_Gpudt_op *op;
    int lead, other;            /* 0 or 1 */
    struct MPII_Gpudt_side *side[2];
    enum MPII_Gpudt_area_e area;        /* kind of the work area, if staged */
    struct MPII_Gpudt_area *first;      /* the first work area, if already allocated; NULL: none */
    bool was_replaced;          /* area is not the kind that was chosen first */
};

static bool other_reaches_area(struct route *r, MPII_Gpudt_engine_t * other_engine);
static void route_mixed(struct route *r);
static void route_to_other_gpu(struct route *r, MPII_Gpudt_engine_t * other_engine);
static void route_to_host(struct route *r);
static void route_reachable(struct route *r);
static int areas_get(struct route *r);
static void route_without(struct route *r, enum MPII_Gpudt_area_e refused);

static void step_set(struct route *r, int i, enum MPII_Gpudt_method_e method,
                     MPII_Gpudt_engine_t * engine)
{
    r->op->step[i].method = method;
    r->op->step[i].engine = engine;
    r->op->step[i].lane = r->op->lane;
}

static void direct_set(struct route *r, enum MPII_Gpudt_method_e method)
{
    step_set(r, 0, method, r->op->engine);
    r->op->is_direct = true;
}

/* The method by which a GPU moves the data of a side that it can access. */
static enum MPII_Gpudt_method_e gpu_method(const struct MPII_Gpudt_side *side)
{
    if (side->type == NULL)
        return MPII_GPUDT_METHOD__COPY;
    return side->is_mixed ? MPII_GPUDT_METHOD__ROWS : MPII_GPUDT_METHOD__KERNEL;
}

/* Preferred as lead: device memory over managed memory, which any GPU can access; non-contiguous
 * data over contiguous data, which the driver can copy; memory that other devices cannot access. */
static int lead_priority(const struct MPII_Gpudt_side *side)
{
    switch (side->ptr.mem) {
        case MPIR_GPUDT_MEM__DEVICE:
            return (side->type ? 5 : 3) + (MPIR_Gpudt_ptr_is_private(&side->ptr) ? 1 : 0);
        case MPIR_GPUDT_MEM__MANAGED:
            return side->type ? 2 : 1;
        default:
            return 0;
    }
}

const struct MPII_Gpudt_side *MPII_Gpudt_lead(const MPIR_Gpudt_op * op)
{
    int src = lead_priority(&op->src), dst = lead_priority(&op->dst);

    /* Between GPUs, strided loads from the other's memory are faster than strided stores to it */
    return src > dst || (src == dst && !op->dst.type) ? &op->src : &op->dst;
}

/* The engine of the other side's memory; NULL if it is the lead's engine, if the memory is not
 * device memory, or if the side is known to be reachable. Memory without a context can be accessed
 * from any context of its device. */
static int other_engine_find(const MPIR_Gpudt_op * op, const struct MPII_Gpudt_side *other,
                             MPII_Gpudt_engine_t ** other_engine)
{
    int mpi_errno = MPI_SUCCESS;
    const MPIR_Gpudt_ptr_t *ptr = &other->ptr;

    *other_engine = NULL;
    if (ptr->mem == MPIR_GPUDT_MEM__DEVICE && other->reached_by != op->engine &&
        (ptr->device != op->engine->device || (ptr->ctx && ptr->ctx != op->engine->ctx))) {
        *other_engine = other->engine;
        if (other->engine)
            goto fn_exit;
        mpi_errno = MPII_Gpudt_engine_get(op->drv, ptr->device, ptr->ctx, other_engine);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Whether to move contiguous data by a kernel. A single copy by the driver completes earlier and
 * costs the CPU less, but a batch needs one launch for all its moves. */
static bool is_for_batch(const MPIR_Gpudt_op * op)
{
    bool may_wait;

    if (op->is_blocking || op->is_alone)        /* the state of a queued move may not be set */
        return false;
    may_wait = op->queued.may_wait;
    return op->n <= MPII_Gpudt_batch_contig_max(op->engine, op->lane, may_wait) &&
        (MPII_Gpudt_allowed_strategies() & 1u << MPII_GPUDT_STRATEGY__BOX) &&
        MPII_Gpudt_batch_is_due(op->engine, op->lane, op->n, may_wait);
}

/* Choose the steps.
 *   other_engine  (IN)  engine of the other side's memory, if it is not the lead's */
static int steps_choose(struct route *r, MPII_Gpudt_engine_t * other_engine)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Gpudt_op *op = r->op;
    bool is_reachable, is_pair = false;
    struct MPII_Gpudt_side *lead = r->side[r->lead], *other = r->side[r->other];

    if (!lead->type && !other->type && !(other_engine && MPIR_Gpudt_ptr_is_private(&other->ptr))) {
        direct_set(r, !other_engine && is_for_batch(op) &&
                   MPII_Gpudt_side_reach(op->engine, NULL, lead) &&
                   MPII_Gpudt_side_reach(op->engine, NULL, other) ?
                   MPII_GPUDT_METHOD__KERNEL : MPII_GPUDT_METHOD__COPY);
    } else if (lead->is_mixed || other->is_mixed) {
        MPII_GPUDT_COUNT(fallbacks_mixed, 1);
        route_mixed(r);
    } else {
        MPII_Gpudt_side_reach(op->engine, NULL, lead);
        is_reachable = MPII_Gpudt_side_reach(op->engine, other_engine, other);
        if (is_reachable && lead->type && other->type) {
            mpi_errno = MPII_Gpudt_pair_prepare(op->engine, &op->src, &op->dst, &is_pair);
            MPII_GPUDT_ERR_CHECK(mpi_errno);
        }
        if (is_pair)
            direct_set(r, MPII_GPUDT_METHOD__KERNEL);
        else if (is_reachable && !(other_engine && other->type))
            route_reachable(r);
        else if (other_engine)
            route_to_other_gpu(r, other_engine);
        else
            route_to_host(r);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_route(MPIR_Gpudt_op * op, const struct MPII_Gpudt_side *lead)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *other_engine;
    struct route r = {.op = op,.side = {&op->src, &op->dst},.area = MPII_GPUDT_AREA__DEVICE };

    r.lead = lead == &op->src ? 0 : 1;
    r.other = 1 - r.lead;
    mpi_errno = other_engine_find(op, r.side[r.other], &other_engine);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

    op->is_direct = false;
    mpi_errno = steps_choose(&r, other_engine);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (op->is_direct) {
        memset(&op->slice[0], 0, sizeof(op->slice[0]));
        op->nslices = 1;
        op->slice_sz = op->n;
    } else {
        mpi_errno = areas_get(&r);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        MPII_GPUDT_COUNT(staged, 1);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* A side has blocks in different kinds of memory: the driver copies blocks one by one. */
static void route_mixed(struct route *r)
{
    struct MPII_Gpudt_side *lead = r->side[r->lead], *other = r->side[r->other];

    if (!lead->type || !other->type) {
        direct_set(r, MPII_GPUDT_METHOD__ROWS);
        return;
    }
    for (int i = 0; i < 2; i++) {
        bool by_cpu = !r->side[i]->is_mixed && lead_priority(r->side[i]) == 0;
        step_set(r, i, by_cpu ? MPII_GPUDT_METHOD__CPU : MPII_GPUDT_METHOD__ROWS,
                 by_cpu ? NULL : r->op->engine);
    }
    r->area = MPII_GPUDT_AREA__PINNED;
}

/* Whether to stage long non-contiguous data in GPU memory, if an area is available now. Concurrent
 * kernels of both directions slow each other down on the bus (64 MiB each way: 38 GB/s of 51), copy
 * engines do not (50); see doc/data/both-directions-h200.txt. */
static bool is_staged_by_choice(struct route *r)
{
    const MPIR_Gpudt_op *op = r->op;

    if (MPIR_CVAR_GPUDT_ROUTE == MPIR_CVAR_GPUDT_ROUTE_auto && !op->is_blocking &&
        op->n >= MPII_GPUDT_STAGED_MIN && !MPII_Gpudt_is_shared(op->engine->shared) &&
        MPII_Gpudt_area_sz(MPII_GPUDT_AREA__DEVICE) >= MPII_GPUDT_STAGED_MIN)
        MPII_Gpudt_area_get_spare(op->engine, MPII_GPUDT_AREA__DEVICE,
                                  MPL_MIN(MPIR_CVAR_GPUDT_DEPTH, MPII_GPUDT_MAX_SLICES), &r->first);
    return r->first != NULL;
}

/* Whether contiguous data passes through a work area although the kernel could access it. */
static bool is_staged(struct route *r)
{
    const struct MPII_Gpudt_side *other = r->side[r->other];

    return other->type == NULL && other->place == MPII_GPUDT_PLACE__HOST &&
        (MPIR_CVAR_GPUDT_ROUTE == MPIR_CVAR_GPUDT_ROUTE_staged || is_staged_by_choice(r));
}

/* A kernel of the lead's engine can access the other side. */
static void route_reachable(struct route *r)
{
    struct MPII_Gpudt_side *lead = r->side[r->lead], *other = r->side[r->other];

    if (lead->type && other->type) {
        step_set(r, 0, MPII_GPUDT_METHOD__KERNEL, r->op->engine);
        step_set(r, 1, MPII_GPUDT_METHOD__KERNEL, r->op->engine);
    } else if (is_staged(r)) {
        step_set(r, r->lead, gpu_method(lead), r->op->engine);
        step_set(r, r->other, MPII_GPUDT_METHOD__COPY, r->op->engine);
        r->op->step[r->other].lane = r->other == 1 ? MPII_GPUDT_LANE__TO_HOST :
            MPII_GPUDT_LANE__FROM_HOST;
    } else {
        direct_set(r, MPII_GPUDT_METHOD__KERNEL);
    }
}

/* The other side is device memory of another context, which kernels of the lead's engine cannot
 * access, or should not access in small pieces. */
static void route_to_other_gpu(struct route *r, MPII_Gpudt_engine_t * other_engine)
{
    struct MPII_Gpudt_side *other = r->side[r->other];

    step_set(r, r->lead, gpu_method(r->side[r->lead]), r->op->engine);
    if (other->type) {
        /* Each GPU packs or unpacks its own memory */
        step_set(r, r->other, MPII_GPUDT_METHOD__KERNEL, other_engine);
        MPII_Gpudt_side_reach(other_engine, NULL, other);
        r->area = other_reaches_area(r, other_engine) ? MPII_GPUDT_AREA__DEVICE :
            MPII_GPUDT_AREA__PINNED;
    } else {
        /* The driver can copy from the work area to any memory */
        step_set(r, r->other, MPII_GPUDT_METHOD__COPY,
                 MPIR_Gpudt_ptr_is_private(&other->ptr) ? other_engine : r->op->engine);
    }
}

/* The other side is host memory that the GPU cannot access. */
static void route_to_host(struct route *r)
{
    step_set(r, r->lead, gpu_method(r->side[r->lead]), r->op->engine);
    step_set(r, r->other, MPII_GPUDT_METHOD__CPU, NULL);
    r->area = MPII_GPUDT_AREA__PINNED;
}

/* Whether kernels of the other GPU can access a work area in the lead's device memory. */
static bool other_reaches_area(struct route *r, MPII_Gpudt_engine_t * other_engine)
{
    bool reaches = false;
    MPII_Gpudt_ctx_t entered;

    if (MPII_Gpudt_ctx_enter(r->op->drv, other_engine->device, other_engine->ctx, &entered) ==
        MPI_SUCCESS) {
        reaches = MPII_Gpudt_engine_peer(other_engine, r->op->engine);
        MPII_Gpudt_ctx_leave(r->op->drv, &entered);
    }
    return reaches;
}

/* Get as many work areas as the transfer can use, or as are available, but at least one. */
static int areas_get(struct route *r)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Gpudt_op *op = r->op;
    struct MPII_Gpudt_area *area = r->first;
    int depth = MPL_MAX(1, MPL_MIN(MPIR_CVAR_GPUDT_DEPTH, MPII_GPUDT_MAX_SLICES));

    for (int tries = 0; area == NULL && tries < MPII_GPUDT_NAREAS; tries++) {
        MPII_Gpudt_area_get(op->engine, r->area, &area);
        if (area == NULL) {
            if (tries == 0)
                MPII_GPUDT_COUNT(fallbacks_memory, 1);
            route_without(r, r->area);
        }
    }
    MPIR_ERR_CHKANDJUMP1(!area, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s",
                         "GPU work area");

    memset(op->slice, 0, sizeof(op->slice));
    op->slice_sz = area->sz;
    op->slice[0].area = area;
    op->nslices = 1;
    while (op->nslices < depth && op->nslices * op->slice_sz < op->n) {
        MPII_Gpudt_area_get(op->engine, r->area, &area);
        if (area == NULL)
            break;
        op->slice_sz = MPL_MIN(op->slice_sz, (int64_t) area->sz);
        op->slice[op->nslices++].area = area;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Change the route to avoid the kind of work area that was refused. The order is pinned, device,
 * heap, or device, pinned, heap. */
static void route_without(struct route *r, enum MPII_Gpudt_area_e refused)
{
    MPIR_Gpudt_op *op = r->op;
    struct MPII_Gpudt_step *other_step = &op->step[r->other];
    bool by_cpu = other_step->method == MPII_GPUDT_METHOD__CPU;
    bool was_first = !r->was_replaced;

    r->was_replaced = true;
    if (was_first && refused == MPII_GPUDT_AREA__DEVICE) {
        r->area = MPII_GPUDT_AREA__PINNED;
    } else if (was_first && by_cpu && !r->side[r->other]->type) {
        /* The driver also copies between pageable and device memory */
        r->area = MPII_GPUDT_AREA__DEVICE;
        step_set(r, r->other, MPII_GPUDT_METHOD__COPY, op->engine);
    } else {
        r->area = MPII_GPUDT_AREA__HEAP;
        for (int i = 0; i < 2; i++) {
            if (op->step[i].method == MPII_GPUDT_METHOD__KERNEL)
                op->step[i].method = MPII_GPUDT_METHOD__ROWS;
        }
    }
}
