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
#include "gpudt_offer.h"
#include "gpudt_start.h"
#include "gpudt_vars.h"

/* A GPU accesses the memory of another one in sectors of 32 bytes, so it reads up to 24 bytes
 * besides each block, and a request for whole sectors costs as much as 16 more. Staging pays off if
 * the bytes read besides the message's own, less a share that no packed stream is faster than, would
 * be more than the packets and kernels cost that staging adds; these pass in the time of others if
 * there are any. Measured between two H200s, the sizes from which on staging is faster: blocks of 8
 * bytes 64 bytes apart 1 MiB, 16 bytes apart 5 MiB, of 32 bytes 25 MiB, of 128 bytes never. */
#define SECTOR 32               /* bytes */
#define SECTOR_REST 24          /* bytes */
#define REQUEST_REST 16         /* bytes */
#define STAGE_COST (4 << 20)    /* bytes */
#define STAGE_COST_BUSY (2 << 20)       /* bytes */
#define WASTE_SHARE 0.3         /* of the message */

#define HIDDEN_MIN (256 << 10)  /* bytes of a message whose buffer cannot be mapped */

/* Bytes of memory that there are to each block of a datatype: the innermost stride, since the blocks
 * are read in the order of the packed stream, or the average if there is none. */
static double block_spacing(const struct MPII_Gpudt_side *side, double blocks)
{
    const struct MPII_Gpudt_record *records = side->type->serial.records;
    const struct MPII_Gpudt_record *r = &side->top;

    while (r->child >= 0 && records[r->child].kind != MPII_GPUDT_KIND__BLOCK)
        r = &records[r->child];
    if (r->kind == MPII_GPUDT_KIND__VECTOR && r->child >= 0)
        return r->stride < 0 ? -(double) r->stride : (double) r->stride;
    return (double) (side->high - side->low) / blocks;
}

int64_t MPII_Gpudt_buffer_waste(const MPIR_Gpudt_buffer * buffer)
{
    const struct MPII_Gpudt_side *side = &buffer->side;
    const struct MPII_Gpudt_serial *serial;
    double blocks, spacing, block, rest, bytes;

    if (side->type == NULL)
        return 0;
    serial = &side->type->serial;
    blocks = (double) buffer->size / serial->size * serial->nblocks;
    block = buffer->size / blocks;
    spacing = block_spacing(side, blocks);
    rest = serial->block_gcd % SECTOR == 0 && serial->displ_gcd % SECTOR == 0 ? REQUEST_REST :
        SECTOR_REST;
    bytes = blocks * MPL_MAX(block, MPL_MIN(block + rest, spacing));
    return (int64_t) bytes - buffer->size;
}

/* Whether a long message from a buffer is to be staged rather than read from the buffer.
 *   cost  (IN)  of staging, in bytes read besides its own */
static bool is_wanted(const MPIR_Gpudt_buffer * buffer, bool may_pull, int64_t cost)
{
    if (MPIR_CVAR_GPUDT_DIRECT == MPIR_CVAR_GPUDT_DIRECT_staged)
        return true;
    if (!may_pull)
        return buffer->size >= HIDDEN_MIN;
    return MPII_Gpudt_buffer_waste(buffer) > cost;
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
                                         bool is_busy)
{
    MPII_Gpudt_engine_t *engine = buffer->side.engine;
    const struct MPII_Gpudt_export *export = NULL;
    const struct MPII_Gpudt_area *area;
    struct MPIR_Gpudt_stage *stage;
    const int64_t cost = (int64_t) (buffer->size * WASTE_SHARE) +
        (is_busy ? STAGE_COST_BUSY : STAGE_COST);

    if (MPIR_CVAR_GPUDT_DIRECT == MPIR_CVAR_GPUDT_DIRECT_pull ||
        MPIR_CVAR_GPUDT_DIRECT == MPIR_CVAR_GPUDT_DIRECT_push ||
        !MPIR_Gpudt_is_direct(buffer) || !is_wanted(buffer, may_pull, cost))
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
    CUdeviceptr mem;

    if (stage == NULL)
        return NULL;
    /* A failure shows again when the message is staged otherwise */
    if (MPII_Gpudt_offer_map(&offer->stage, engine, &stage->mapping, &mem) != MPI_SUCCESS ||
        stage->mapping == NULL) {
        MPL_free(stage);
        return NULL;
    }
    stage->engine = engine;
    stage->mem = (char *) (uintptr_t) mem + offer->stage_at;
    stage->sz = (size_t) offer->stage_sz;
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
    if (stage->mapping)
        local.src.place = MPII_GPUDT_PLACE__PEER;
    MPII_Gpudt_buffer_part(buffer, first, n, unpack ? &local.dst : &local.src);
    local.lane = unpack ? MPII_GPUDT_LANE__UNPACK : MPII_GPUDT_LANE__PACK;
    mpi_errno = MPII_Gpudt_op_start(&local, op);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
