/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Keeps the images of datatypes in device memory: one for each engine on which a datatype was used.
 * An image is made at first use, and freed with the datatype or with the engine. Must not know
 * transfers. */

#include "mpiimpl.h"
#include "gpudt_upload.h"
#include "gpudt_error.h"
#include "gpudt_lock.h"
#include "gpudt_vars.h"
#include "type/gpudt_rows.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_SPARE_MAX
      category    : GPUDT
      type        : int
      default     : 67108864
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Bytes of GPU memory that freed datatypes leave for later ones, for each GPU in use. More is given
        back to the driver when a datatype is freed while the default stream is idle, since that waits
        for kernels of the application.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define BLOCK_ALIGN 256         /* bytes; the driver's alignment of allocations */

/* Device memory for a datatype's image. Owned by the datatype's state while in use, else by the
 * engine's list of spare blocks. */
struct MPII_Gpudt_block {
    struct MPII_Gpudt_block *next;      /* list of the engine's spare blocks, or of the blocks of
                                         * one datatype */
    struct MPII_Gpudt_block *engine_next;       /* list of all blocks of the engine */
    struct MPII_Gpudt_engine *engine;   /* NULL: the engine is freed, and mem with it */
    CUdeviceptr mem;
    size_t sz;
    struct MPII_Gpudt_image_at at;
    bool is_spare;
};

struct MPII_Gpudt_upload {
    struct MPII_Gpudt_block *blocks;    /* at most one for each engine */
};

/* Guards all lists of blocks, including those of the engines, and MPII_Gpudt_type.upload. */
static MPL_initlock_t upload_lock = MPL_INITLOCK_INITIALIZER;

static int upload_make(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_type *type,
                       struct MPII_Gpudt_block **block);
static int block_get(MPII_Gpudt_engine_t * engine, size_t sz, struct MPII_Gpudt_block **block);
static void block_put(struct MPII_Gpudt_block *block);
static void spares_free(MPII_Gpudt_engine_t * engine, size_t most);
static int block_fill(struct MPII_Gpudt_block *block, const struct MPII_Gpudt_serial *serial,
                      const struct MPII_Gpudt_image *image);
static void upload_free(struct MPII_Gpudt_upload *upload);

int MPII_Gpudt_upload_get(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_type *type,
                          struct MPII_Gpudt_image_at *at)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_serial *serial = &type->serial;
    struct MPII_Gpudt_block *block = NULL;

    /* Regular types, which are the most frequent, need no device memory and no lock */
    if (serial->lookaside_sz == 0 && serial->nrecords <= MPII_GPUDT_MAX_NODES) {
        memset(at, 0, sizeof(*at));
        goto fn_exit;
    }

    MPII_Gpudt_lock(&upload_lock);
    if (type->upload == NULL) {
        struct MPII_Gpudt_upload *fresh = MPL_calloc(1, sizeof(*fresh), MPL_MEM_DATATYPE);
        if (fresh) {
            type->upload_free = upload_free;
            type->upload = fresh;
        }
    }
    if (type->upload) {
        block = type->upload->blocks;
        while (block && block->engine != engine)
            block = block->next;
        if (block == NULL)
            mpi_errno = upload_make(engine, type, &block);
    }
    MPII_Gpudt_unlock(&upload_lock);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP1(!block, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s",
                         "datatype on a GPU");

    *at = block->at;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPII_Gpudt_uploads_free(MPII_Gpudt_engine_t * engine, bool is_alive)
{
    struct MPII_Gpudt_block *block, *next;

    MPII_Gpudt_lock(&upload_lock);
    for (block = engine->blocks; block; block = next) {
        next = block->engine_next;
        if (is_alive)
            engine->drv->cuMemFree(block->mem);
        MPII_GPUDT_UNCOUNT(device_bytes, block->sz);
        if (!block->is_spare)
            MPII_GPUDT_UNCOUNT(cached_types, 1);
        /* The structure of a block in use is freed with its datatype */
        block->engine = NULL;
        if (block->is_spare)
            MPL_free(block);
    }
    engine->blocks = engine->spare_blocks = NULL;
    MPII_Gpudt_unlock(&upload_lock);
}

/* MPII_Gpudt_type.upload_free: may run inside progress, or after the context was destroyed. */
static void upload_free(struct MPII_Gpudt_upload *upload)
{
    MPII_Gpudt_lock(&upload_lock);
    while (upload->blocks) {
        struct MPII_Gpudt_block *block = upload->blocks;
        upload->blocks = block->next;
        if (block->engine) {
            MPII_GPUDT_UNCOUNT(cached_types, 1);
            block_put(block);
        } else {
            MPL_free(block);
        }
    }
    MPII_Gpudt_unlock(&upload_lock);
    MPL_free(upload);
}

/* Caller holds upload_lock, as for all functions below. */
static int upload_make(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_type *type,
                       struct MPII_Gpudt_block **block)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_serial *serial = &type->serial;
    struct MPII_Gpudt_image image;
    struct MPII_Gpudt_block *fresh = NULL;

    MPII_Gpudt_image_measure(serial, &image);
    mpi_errno = block_get(engine, image.sz, &fresh);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = block_fill(fresh, serial, &image);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

    fresh->next = type->upload->blocks;
    type->upload->blocks = fresh;
    MPII_GPUDT_COUNT(cached_types, 1);
    *block = fresh;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (fresh)
        block_put(fresh);
    goto fn_exit;
}

/* Sizes in steps of a quarter of a power of two. Freed blocks then fit later datatypes, and at most
 * a fifth of a block is unused. */
static size_t block_round(size_t sz)
{
    size_t step = BLOCK_ALIGN;

    while (8 * step <= sz)
        step *= 2;
    return (sz + step - 1) / step * step;
}

static int block_get(MPII_Gpudt_engine_t * engine, size_t sz, struct MPII_Gpudt_block **block)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_block *found;
    CUresult res;

    sz = block_round(sz);
    for (struct MPII_Gpudt_block ** at = &engine->spare_blocks; *at; at = &(*at)->next) {
        if ((*at)->sz != sz)
            continue;
        /* Not in use: an operation holds its datatype until it is complete */
        found = *at;
        *at = found->next;
        engine->spare_sz -= sz;
        found->is_spare = false;
        *block = found;
        goto fn_exit;
    }

    found = MPL_calloc(1, sizeof(*found), MPL_MEM_DATATYPE);
    MPIR_ERR_CHKANDJUMP1(!found, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s",
                         "datatype on a GPU");
    found->engine = engine;
    found->sz = sz;
    res = engine->drv->cuMemAlloc(&found->mem, sz);
    if (res == CUDA_ERROR_OUT_OF_MEMORY && engine->spare_sz > 0 &&
        MPII_Gpudt_engine_is_idle(engine)) {
        spares_free(engine, 0);
        res = engine->drv->cuMemAlloc(&found->mem, sz);
    }
    if (res != CUDA_SUCCESS) {
        mpi_errno = MPII_Gpudt_driver_error(engine->drv, res, "cuMemAlloc", __func__, __LINE__);
        goto fn_fail;
    }
    MPII_GPUDT_COUNT(device_bytes, sz);
    found->engine_next = engine->blocks;
    engine->blocks = found;
    *block = found;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(found);
    goto fn_exit;
}

/* Free blocks that are kept for later datatypes until they have `most` bytes. cuMemFree may free memory and
 * return an earlier error. */
static void spares_free(MPII_Gpudt_engine_t * engine, size_t most)
{
    MPII_Gpudt_ctx_t entered;
    struct MPII_Gpudt_block *block, **at;

    if (MPII_Gpudt_ctx_enter(engine->drv, engine->device, engine->ctx, &entered) != MPI_SUCCESS)
        return;
    while (engine->spare_sz > most) {
        block = engine->spare_blocks;
        engine->spare_blocks = block->next;
        engine->spare_sz -= block->sz;
        for (at = &engine->blocks; *at != block; at = &(*at)->engine_next);
        *at = block->engine_next;
        engine->drv->cuMemFree(block->mem);
        MPII_GPUDT_UNCOUNT(device_bytes, block->sz);
        MPL_free(block);
    }
    MPII_Gpudt_ctx_leave(engine->drv, &entered);
}

/* Keep a block for later datatypes. If there are too many, some are freed: now if the default stream is idle, since
 * cuMemFree waits for kernels of the program, or when a later datatype is freed, or there is no memory for one. */
static void block_put(struct MPII_Gpudt_block *block)
{
    const size_t most = (size_t) MPL_MAX(0, MPIR_CVAR_GPUDT_SPARE_MAX);
    MPII_Gpudt_engine_t *engine = block->engine;

    block->next = engine->spare_blocks;
    engine->spare_blocks = block;
    engine->spare_sz += block->sz;
    block->is_spare = true;
    if (engine->spare_sz > most && MPII_Gpudt_engine_is_alive(engine) &&
        MPII_Gpudt_engine_is_idle(engine))
        spares_free(engine, most);
}

/* A table that is being made. */
struct table {
    const struct MPII_Gpudt_serial *serial;
    int64_t unit;
    int64_t *at;
};

static int table_row(void *arg, int64_t displ, int64_t size, int64_t n, int64_t stride)
{
    struct table *table = arg;

    for (int64_t i = 0; i < n; i++)
        table->at = MPII_Gpudt_table_add(table->at, table->unit,
                                         displ - table->serial->base_displ + i * stride, size);
    return MPI_SUCCESS;
}

static int block_fill(struct MPII_Gpudt_block *block, const struct MPII_Gpudt_serial *serial,
                      const struct MPII_Gpudt_image *image)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *engine = block->engine;
    const MPII_Gpudt_driver_t *drv = engine->drv;
    /* Other streams may have kernels that wait for those of the program */
    const CUstream stream = engine->streams[MPII_GPUDT_LANE__FROM_HOST];
    char *mem = NULL;

    MPII_Gpudt_image_place(image, block->mem, &block->at);

    mem = MPL_malloc(image->sz, MPL_MEM_DATATYPE);
    MPIR_ERR_CHKANDJUMP1(!mem, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s",
                         "datatype on a GPU");
    MPII_Gpudt_image_make(serial, image, mem);
    if (image->kind == MPII_GPUDT_INDEX__TABLE) {
        struct table table = {.serial = serial,.unit = MPII_Gpudt_table_unit(serial),
            .at = (int64_t *) (void *) (mem + image->index)
        };
        mpi_errno = MPII_Gpudt_rows_visit(serial, &serial->records[0], 0, serial->size, table_row,
                                          &table);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    MPII_GPUDT_CHECK(drv, cuMemcpyHtoDAsync(block->mem, mem, image->sz, stream), mpi_errno);
    /* Afterwards the host's copy can be freed, all streams can read the device's, and errors are
     * known */
    MPII_GPUDT_CHECK(drv, cuStreamSynchronize(stream), mpi_errno);

  fn_exit:
    MPL_free(mem);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
