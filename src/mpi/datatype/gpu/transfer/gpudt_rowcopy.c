/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Moves data between a datatype and contiguous memory by driver copies. Used where no kernel can:
 * no image for the device, no memory for a work area, blocks in different kinds of memory. Slow
 * with many blocks, but has no requirements. Must not know routes. */

#include "mpiimpl.h"
#include "gpudt_rowcopy.h"
#include "gpudt_stream.h"
#include "gpudt_error.h"
#include "gpudt_vars.h"
#include "cpu/gpudt_cpu.h"
#include "type/gpudt_rows.h"
#include "engine/gpudt_contexts.h"

#define MAX_PITCH 0x7fffffff    /* bytes; the least limit of any driver for 2-D copies */
#define MANY_BLOCKS 256         /* from here on one large copy is faster than a copy for each
                                 * block */
#define MAX_WASTE 8             /* bytes of a large copy, at most, as a multiple of the data */

struct row_copies {
    MPII_Gpudt_engine_t *engine;
    enum MPII_Gpudt_lane_e lane;
    char *user;
    char *contig;               /* address of the next block in contiguous memory */
    bool unpack;
    bool is_mixed;
};

/* The extent of one large copy. */
struct footprint {
    int64_t low, high;          /* bytes from the user's buffer */
    int64_t nblocks;
};

static int row_copy(void *arg, int64_t displ, int64_t size, int64_t n, int64_t stride);
static int row_measure(void *arg, int64_t displ, int64_t size, int64_t n, int64_t stride);
static int pack_by_extent(const struct MPII_Gpudt_move *m, bool * is_done);

int MPII_Gpudt_rows_launch(const struct MPII_Gpudt_move *m)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_side *side = m->side;
    bool is_done = false;
    struct row_copies copies = {
        .engine = m->engine,
        .lane = m->lane,
        .user = side->addr,
        .contig = (char *) (uintptr_t) m->contig,
        .unpack = m->unpack,
        .is_mixed = side->is_mixed
    };

    if (side->type == NULL)
        return row_copy(&copies, m->pos, m->len, 1, 0);
    if (!m->unpack && !side->is_mixed) {
        mpi_errno = pack_by_extent(m, &is_done);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (!is_done) {
        mpi_errno = MPII_Gpudt_rows_visit(&side->type->serial, &side->top, side->first + m->pos,
                                          side->first + m->pos + m->len, row_copy, &copies);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Start a 2-D copy.
 *   is_started  (OUT)  false: the driver refuses it, as it does for blocks in more than one
 *                      allocation */
static int rows_copy_2d(const struct row_copies *c, char *user, int64_t size, int64_t n,
                        int64_t stride, bool * is_started)
{
    int mpi_errno = MPI_SUCCESS;
    CUresult res;
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = (CUdeviceptr) (c->unpack ? c->contig : user),
        .srcPitch = c->unpack ? size : stride,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = (CUdeviceptr) (c->unpack ? user : c->contig),
        .dstPitch = c->unpack ? stride : size,
        .WidthInBytes = size,
        .Height = n
    };

    res = c->engine->drv->cuMemcpy2DAsync(&copy, c->engine->streams[c->lane]);
    *is_started = res != CUDA_ERROR_INVALID_VALUE;
    if (res == CUDA_SUCCESS)
        MPII_GPUDT_COUNT(copies, 1);
    else if (*is_started)
        mpi_errno = MPII_Gpudt_driver_error(c->engine->drv, res, "cuMemcpy2DAsync", __func__,
                                            __LINE__);
    return mpi_errno;
}

/* Copy in a context of the GPU that owns an address, and wait. */
static int block_copy_by_owner(const struct row_copies *c, const MPIR_Gpudt_ptr_t * owner, char *to,
                               const char *from, int64_t size)
{
    int mpi_errno = MPI_SUCCESS;
    const MPII_Gpudt_driver_t *drv = c->engine->drv;
    MPII_Gpudt_engine_t *other;
    MPII_Gpudt_ctx_t entered = {.ctx = NULL };
    CUresult res;

    /* This copy may read what earlier ones write */
    MPII_GPUDT_CHECK(drv, cuStreamSynchronize(c->engine->streams[c->lane]), mpi_errno);
    mpi_errno = MPII_Gpudt_engine_enter(drv, owner->device, owner->ctx, &other, &entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    res = MPII_Gpudt_memcpy(drv, to, from, size, other->streams[c->lane]);
    if (res != CUDA_SUCCESS) {
        mpi_errno = MPII_Gpudt_driver_error(drv, res, "cuMemcpyAsync", __func__, __LINE__);
        goto fn_fail;
    }
    MPII_GPUDT_CHECK(drv, cuStreamSynchronize(other->streams[c->lane]), mpi_errno);

  fn_exit:
    MPII_Gpudt_ctx_leave(drv, &entered);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int block_copy(const struct row_copies *c, char *to, const char *from, int64_t size)
{
    MPII_Gpudt_engine_t *engine = c->engine;
    const char *ends[] = { to, from };
    MPIR_Gpudt_ptr_t ptr;
    CUresult res;

    MPII_GPUDT_COUNT(copies, 1);
    res = MPII_Gpudt_memcpy(engine->drv, to, from, size, engine->streams[c->lane]);
    if (likely(res == CUDA_SUCCESS))
        return MPI_SUCCESS;

    /* Only the driver's refusal tells that another device's memory is not accessible */
    for (int i = 0; i < 2 && res == CUDA_ERROR_INVALID_VALUE; i++) {
        if (MPIR_Gpudt_query_ptr(ends[i], &ptr) == MPI_SUCCESS && MPIR_Gpudt_ptr_is_private(&ptr) &&
            ptr.device != engine->device)
            return block_copy_by_owner(c, &ptr, to, from, size);
    }
    return MPII_Gpudt_driver_error(engine->drv, res, "cuMemcpyAsync", __func__, __LINE__);
}

static int row_copy(void *arg, int64_t displ, int64_t size, int64_t n, int64_t stride)
{
    int mpi_errno = MPI_SUCCESS;
    struct row_copies *c = arg;
    char *user = c->user + displ;
    bool is_started = false;

    if (n > 1 && stride >= size && stride <= MAX_PITCH && !c->is_mixed) {
        mpi_errno = rows_copy_2d(c, user, size, n, stride, &is_started);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (is_started) {
        c->contig += size * n;
        goto fn_exit;
    }
    for (int64_t i = 0; i < n; i++) {
        char *block = user + i * stride;
        mpi_errno = c->unpack ? block_copy(c, block, c->contig, size) :
            block_copy(c, c->contig, block, size);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        c->contig += size;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int row_measure(void *arg, int64_t displ, int64_t size, int64_t n, int64_t stride)
{
    struct footprint *f = arg;
    int64_t last = displ + (n - 1) * stride;

    f->low = MPL_MIN(f->low, MPL_MIN(displ, last));
    f->high = MPL_MAX(f->high, MPL_MAX(displ, last) + size);
    f->nblocks += n > 1 && stride >= size && stride <= MAX_PITCH ? 1 : n;
    return MPI_SUCCESS;
}

/* Copy the extent of a move to the host, pack it there, and copy the result to its destination.
 *   extent, packed  (OUT)  host memory for it
 *   is_done         (OUT)  false: memory between the blocks is not the program's */
static int extent_pack(const struct MPII_Gpudt_move *m, const struct footprint *f, char *extent,
                       char *packed, bool * is_done)
{
    int mpi_errno = MPI_SUCCESS;
    const MPII_Gpudt_driver_t *drv = m->engine->drv;
    const struct MPII_Gpudt_side *side = m->side;
    const CUstream stream = m->engine->streams[m->lane];
    CUresult res;

    res = MPII_Gpudt_memcpy(drv, extent, side->addr + f->low, f->high - f->low, stream);
    if (res != CUDA_SUCCESS)
        goto fn_fail;           /* a part may be under way */
    MPII_GPUDT_CHECK(drv, cuStreamSynchronize(stream), mpi_errno);

    MPII_Gpudt_cpu_move(&side->type->serial, &side->top, side->first + m->pos,
                        side->first + m->pos + m->len, extent - f->low, packed, false);
    MPII_GPUDT_CHECK(drv, cuMemcpyAsync((CUdeviceptr) m->contig, (CUdeviceptr) packed, m->len,
                                        stream), mpi_errno);
    /* The copy must complete before its source is freed */
    MPII_GPUDT_CHECK(drv, cuStreamSynchronize(stream), mpi_errno);
    MPII_GPUDT_COUNT(copies, 2);
    *is_done = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    drv->cuStreamSynchronize(stream);
    goto fn_exit;
}

/* Copy everything from the first to the last byte to the host, and pack there.
 *   is_done  (OUT)  false: not worthwhile, or memory between the blocks is not the program's */
static int pack_by_extent(const struct MPII_Gpudt_move *m, bool * is_done)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_side *side = m->side;
    const int64_t first = side->first + m->pos;
    struct footprint f = {.low = INT64_MAX,.high = INT64_MIN };
    char *extent = NULL, *packed = NULL;

    *is_done = false;
    mpi_errno = MPII_Gpudt_rows_visit(&side->type->serial, &side->top, first, first + m->len,
                                      row_measure, &f);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (f.nblocks < MANY_BLOCKS || (f.high - f.low) / MAX_WASTE > m->len)
        goto fn_exit;

    extent = MPL_malloc(f.high - f.low, MPL_MEM_BUFFER);
    packed = MPL_malloc(m->len, MPL_MEM_BUFFER);
    if (extent && packed) {
        mpi_errno = extent_pack(m, &f, extent, packed, is_done);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPL_free(extent);
    MPL_free(packed);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
