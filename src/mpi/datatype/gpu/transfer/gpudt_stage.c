/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Staging memory for messages between GPUs: memory of the sender's GPU, which the receiver maps.
 * Both ends access their own memory in whatever order its datatype has it, and the packed data is
 * read across in order. Must not know messages. */

#include "mpiimpl.h"
#include "gpudt_buffer_impl.h"
#include "gpudt_error.h"
#include "gpudt_limits.h"
#include "gpudt_offer.h"
#include "gpudt_start.h"
#include "gpudt_vars.h"
#include "driver/gpudt_sharing.h"

#define HIDDEN_MIN (256 << 10)  /* bytes of a message whose buffer cannot be mapped */

void MPII_Gpudt_buffer_access(const MPIR_Gpudt_buffer * buffer, int64_t n,
                              struct MPII_Gpudt_access *access)
{
    const struct MPII_Gpudt_side *side = &buffer->side;

    MPII_Gpudt_access_find(side->type ? &side->type->serial : NULL, &side->top,
                           side->high - side->low, buffer->size, n, access);
}

/* Whether a long message from a buffer is to be staged rather than read from the buffer.
 *   read_across, cost  (IN)  what the one and the other would cost */
static bool is_wanted(const MPIR_Gpudt_buffer * buffer, bool may_pull, int64_t read_across,
                      int64_t cost)
{
    if (MPIR_CVAR_GPUDT_DIRECT == MPIR_CVAR_GPUDT_DIRECT_staged)
        return true;
    if (!may_pull)
        return buffer->size >= HIDDEN_MIN;
    return read_across > cost;
}

/* Allocate the staging memory of an engine, if there is memory for it. */
static void memory_make(MPII_Gpudt_engine_t * engine)
{
    MPII_Gpudt_ctx_t entered;

    if (MPII_Gpudt_ctx_enter(engine->drv, engine->device, engine->ctx, &entered) != MPI_SUCCESS)
        return;
    MPII_Gpudt_area_get_spare(engine, MPII_GPUDT_AREA__STAGE, 0, &engine->stage);
    if (engine->stage &&
        engine->drv->cuPointerGetAttribute(&engine->stage_id, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                           (CUdeviceptr) engine->stage->mem) != CUDA_SUCCESS)
        engine->stage_id = 0;
    MPII_Gpudt_ctx_leave(engine->drv, &entered);
}

MPIR_Gpudt_stage_t *MPIR_Gpudt_stage_get(const MPIR_Gpudt_buffer * buffer, bool may_pull,
                                         int nothers)
{
    MPII_Gpudt_engine_t *engine = buffer->side.engine;
    const struct MPII_Gpudt_export *export = NULL;
    const struct MPII_Gpudt_area *area;
    struct MPIR_Gpudt_stage *stage;
    const int64_t segment = (int64_t) MPII_Gpudt_area_sz(MPII_GPUDT_AREA__DEVICE);
    struct MPII_Gpudt_access access;
    int64_t cost;

    MPII_Gpudt_buffer_access(buffer, buffer->size, &access);
    cost = MPII_Gpudt_stage_cost(buffer->size, segment, access.pack, nothers);
    if (MPIR_CVAR_GPUDT_DIRECT == MPIR_CVAR_GPUDT_DIRECT_pull ||
        MPIR_CVAR_GPUDT_DIRECT == MPIR_CVAR_GPUDT_DIRECT_push ||
        !MPIR_Gpudt_is_direct(buffer) || !is_wanted(buffer, may_pull, access.read_across, cost))
        return NULL;
    if (engine->stage == NULL)
        memory_make(engine);
    area = engine->stage;
    if (area && engine->stage_id)
        export = MPII_Gpudt_export_get(engine, area->mem, area->mem + area->sz, engine->stage_id,
                                       false);
    if (export == NULL)
        return NULL;
    stage = MPL_calloc(1, sizeof(*stage), MPL_MEM_BUFFER);
    if (stage) {
        stage->engine = engine;
        stage->export = *export;
        stage->mem = area->mem;
        stage->sz = area->sz;
        stage->cost = cost;
    }
    return stage;
}

bool MPIR_Gpudt_stage_take(const MPIR_Gpudt_stage_t * stage, int n, char **place)
{
    uint32_t taken = 0;
    int nfound = 0;

    for (int i = 0; i < MPIR_GPUDT_STAGE_PLACES && nfound < n; i++) {
        if (stage->engine->stage_used & 1u << i)
            continue;
        taken |= 1u << i;
        place[nfound++] = stage->mem + i * (stage->sz / MPIR_GPUDT_STAGE_PLACES);
    }
    if (nfound < n)
        return false;
    stage->engine->stage_used |= taken;
    return true;
}

void MPIR_Gpudt_stage_put(const MPIR_Gpudt_stage_t * stage, char *place)
{
    size_t i = (size_t) (place - stage->mem) / (stage->sz / MPIR_GPUDT_STAGE_PLACES);

    stage->engine->stage_used &= ~(1u << i);
}

MPIR_Gpudt_stage_t *MPIR_Gpudt_stage_map(const MPIR_Gpudt_offer_t * offer,
                                         const MPIR_Gpudt_buffer * buffer)
{
    MPII_Gpudt_engine_t *engine = buffer->side.engine;
    struct MPIR_Gpudt_stage *stage = MPL_calloc(1, sizeof(*stage), MPL_MEM_BUFFER);
    const uint64_t gpu = MPIR_Gpudt_buffer_gpu(buffer);
    CUdeviceptr mem;

    if (stage == NULL)
        return NULL;
    /* A failure shows again when the message is staged otherwise */
    if (MPII_Gpudt_offer_map(&offer->stage, engine, 0, &stage->mapping, &mem) != MPI_SUCCESS ||
        stage->mapping == NULL) {
        MPL_free(stage);
        return NULL;
    }
    stage->engine = engine;
    stage->mem = (char *) (uintptr_t) mem + offer->stage_at;
    stage->sz = (size_t) offer->stage_sz;
    stage->is_far = gpu && offer->gpu && gpu != offer->gpu;
    MPII_GPUDT_COUNT(direct_staged, 1);
    return stage;
}

void MPIR_Gpudt_stage_free(MPIR_Gpudt_stage_t * stage)
{
    if (stage && stage->mapping)
        MPII_Gpudt_import_release(stage->mapping);
    MPL_free(stage);
}

char *MPIR_Gpudt_stage_mem(const MPIR_Gpudt_stage_t * stage, size_t * sz)
{
    *sz = stage->sz;
    return stage->mem;
}

/* Whether a copy engine may bring a segment of n bytes from the other GPU before it is unpacked. As on
 * the bus, kernels of both directions slow each other down, and copy engines do not. Places of this
 * GPU's stage that are in use stand for the other direction, whichever GPU reads them. */
static bool may_fetch(const MPIR_Gpudt_stage_t * stage, MPI_Aint n)
{
    int nused = 0;

    if (MPIR_CVAR_GPUDT_ROUTE != MPIR_CVAR_GPUDT_ROUTE_auto)
        return MPIR_CVAR_GPUDT_ROUTE == MPIR_CVAR_GPUDT_ROUTE_staged;
    if (n < MPII_GPUDT_FETCH_MIN || (size_t) n > MPII_Gpudt_area_sz(MPII_GPUDT_AREA__DEVICE) ||
        !stage->is_far || MPII_Gpudt_is_shared(stage->engine->shared))
        return false;
    for (uint32_t used = stage->engine->stage_used; used; used &= used - 1)
        nused++;
    return nused >= MPII_GPUDT_FETCH_BESIDE;
}

int MPIR_Gpudt_stage_move(const MPIR_Gpudt_stage_t * stage, MPIR_Gpudt_buffer * buffer,
                          MPI_Aint first, MPI_Aint n, char *packed, bool unpack,
                          MPIR_Gpudt_op ** op)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Gpudt_op local = {.n = n,.is_alone = true };

    MPIR_FUNC_ENTER;

    *op = NULL;
    MPIR_ERR_CHKANDJUMP(first + n > buffer->size || packed < stage->mem ||
                        packed + n > stage->mem + stage->sz, mpi_errno, MPI_ERR_INTERN,
                        "**gpudt_size");
    mpi_errno = MPIR_Gpudt_buffer_check(buffer);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_Gpudt_side_own(stage->engine, packed, packed + n, unpack ? &local.src : &local.dst);
    if (stage->mapping) {
        local.src.place = MPII_GPUDT_PLACE__PEER;
        local.may_fetch = may_fetch(stage, n);
    }
    MPII_Gpudt_buffer_part(buffer, first, n, unpack ? &local.dst : &local.src);
    /* Segments are packed one after the other: the first one is awaited most */
    local.lane = unpack ? MPII_Gpudt_lane_choose(stage->engine, false, n) : MPII_GPUDT_LANE__PACK;
    mpi_errno = MPII_Gpudt_op_start(&local, op);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
