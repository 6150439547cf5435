/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Staging memory for messages between GPUs: a work area of the sender, which the receiver maps.
 * Both ends access their own memory in whatever order its datatype has it, and the packed data is
 * read across in order. Must not know messages. */

#include "mpiimpl.h"
#include "gpudt_buffer_impl.h"
#include "gpudt_error.h"
#include "gpudt_offer.h"
#include "gpudt_start.h"
#include "gpudt_vars.h"

/* A GPU reads the memory of another one in sectors of 32 bytes, so it reads up to 24 bytes besides
 * each block. Staging pays off if the bytes read besides the message's own, less a share that no
 * packed stream is faster than, would be more than the packets and kernels cost that staging adds.
 * Measured between two H200s: blocks of 8 bytes 64 bytes apart from 2 MiB on, 16 bytes apart from
 * 12 MiB on, of 128 bytes never. */
#define SECTOR_REST 24          /* bytes */
#define STAGE_COST (8 << 20)    /* bytes */
#define WASTE_SHARE 5           /* a fifth of the message */

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

/* Whether a long message from a buffer is to be staged rather than read from the buffer. */
static bool is_wanted(const MPIR_Gpudt_buffer * buffer, bool may_pull)
{
    const struct MPII_Gpudt_side *side = &buffer->side;
    const struct MPII_Gpudt_serial *serial;
    double blocks, spacing, block, bytes;

    if (MPIR_CVAR_GPUDT_DIRECT == MPIR_CVAR_GPUDT_DIRECT_staged)
        return true;
    if (!may_pull)
        return buffer->size >= HIDDEN_MIN;
    if (side->type == NULL)
        return false;
    serial = &side->type->serial;
    blocks = (double) buffer->size / serial->size * serial->nblocks;
    block = buffer->size / blocks;
    spacing = block_spacing(side, blocks);
    bytes = blocks * MPL_MAX(block, MPL_MIN(block + SECTOR_REST, spacing));
    return bytes - buffer->size - buffer->size / WASTE_SHARE > STAGE_COST;
}

static struct MPII_Gpudt_area *area_get(MPII_Gpudt_engine_t * engine)
{
    struct MPII_Gpudt_area *area;
    MPII_Gpudt_ctx_t entered;

    if (MPII_Gpudt_ctx_enter(engine->drv, engine->device, engine->ctx, &entered) != MPI_SUCCESS)
        return NULL;
    MPII_Gpudt_area_get_spare(engine, MPII_GPUDT_AREA__STAGE, 0, &area);
    MPII_Gpudt_ctx_leave(engine->drv, &entered);
    return area;
}

static const struct MPII_Gpudt_export *area_export(const MPII_Gpudt_engine_t * engine,
                                                   const struct MPII_Gpudt_area *area)
{
    unsigned long long id = 0;

    if (engine->drv->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                           (CUdeviceptr) area->mem) != CUDA_SUCCESS || id == 0)
        return NULL;
    return MPII_Gpudt_export_get(engine, area->mem, area->mem + area->sz, id, false);
}

MPIR_Gpudt_stage_t *MPIR_Gpudt_stage_get(const MPIR_Gpudt_buffer * buffer, bool may_pull)
{
    MPII_Gpudt_engine_t *engine = buffer->side.engine;
    const struct MPII_Gpudt_export *export;
    struct MPIR_Gpudt_stage *stage = NULL;
    struct MPII_Gpudt_area *area = NULL;

    if (MPIR_CVAR_GPUDT_DIRECT == MPIR_CVAR_GPUDT_DIRECT_pull ||
        !MPIR_Gpudt_is_direct(buffer) || !is_wanted(buffer, may_pull))
        goto fn_exit;
    area = area_get(engine);
    if (area == NULL)
        goto fn_exit;
    export = area_export(engine, area);
    if (export)
        stage = MPL_calloc(1, sizeof(*stage), MPL_MEM_BUFFER);
    if (stage == NULL)
        goto fn_exit;
    stage->engine = engine;
    stage->export = *export;
    stage->mem = area->mem;
    stage->sz = area->sz;
    stage->area = area;
    area = NULL;

  fn_exit:
    if (area)
        MPII_Gpudt_area_put(engine, area);
    return stage;
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
    if (stage && stage->area)
        MPII_Gpudt_area_put(stage->engine, stage->area);
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
