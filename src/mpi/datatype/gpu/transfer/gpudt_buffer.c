/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Buffers of the program that are described once for many moves. Their memory is classified when
 * they are described. Memory that the library registered itself needs no query at all. Must not
 * know routes, kernels or streams. */

#include "mpiimpl.h"
#include "gpudt_buffer_impl.h"
#include "gpudt_data.h"
#include "gpudt_error.h"
#include "gpudt_start.h"
#include "gpudt_vars.h"
#include "driver/gpudt_near.h"
#include "engine/gpudt_contexts.h"
#include "engine/gpudt_register.h"

/* The driver would take an address that is no longer GPU memory for host memory, and a fault in a
 * kernel invalidates the context. */
int MPIR_Gpudt_buffer_check(const MPIR_Gpudt_buffer * buffer)
{
    int mpi_errno = MPI_SUCCESS;
    const MPII_Gpudt_engine_t *engine = buffer->side.engine;
    const MPII_Gpudt_driver_t *drv = engine->drv;
    unsigned long long id = 0;
    CUresult res = CUDA_SUCCESS;

    if (buffer->id) {
        res = drv->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                         (CUdeviceptr) buffer->gpu_addr);
        if (likely(res == CUDA_SUCCESS && id == buffer->id))
            goto fn_exit;
        /* In a host function that cannot be known, nor anything be done with the buffer */
        if (res == CUDA_ERROR_NOT_PERMITTED)
            goto fn_exit;
    }
    MPIR_ERR_CHKANDJUMP1(!MPII_Gpudt_engine_is_alive(engine), mpi_errno, MPI_ERR_BUFFER,
                         "**gpudt_ended", "**gpudt_ended %d", engine->device);
    if (res != CUDA_SUCCESS && res != CUDA_ERROR_INVALID_VALUE)
        mpi_errno = MPII_Gpudt_driver_error(drv, res, "cuPointerGetAttribute", __func__, __LINE__);
    else if (buffer->id)
        MPIR_ERR_SET1(mpi_errno, MPI_ERR_BUFFER, "**gpudt_freed", "**gpudt_freed %p",
                      buffer->gpu_addr);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Classify the memory of a buffer that is not known to be host memory.
 *   with_host  (IN)   host memory counts, too: pinned memory as that of the GPU in whose context it is
 *   is_gpu     (OUT)  false: there is nothing for a GPU to do */
static int buffer_fill(const struct MPII_Gpudt_data *b, bool with_host,
                       MPIR_Gpudt_buffer * buffer, bool * is_gpu)
{
    int mpi_errno = MPI_SUCCESS, set_errno;
    struct MPII_Gpudt_side *side = &buffer->side;

    *is_gpu = false;
    buffer->gpu_addr = NULL;
    buffer->id = 0;
    memset(buffer->held, 0, sizeof(buffer->held));
    MPII_Gpudt_side_place(b, buffer->size, side);
    /* A failure matters only if a GPU takes part */
    set_errno = MPII_Gpudt_side_set(b, buffer->size, side);
    mpi_errno = MPII_Gpudt_side_classify(side, b->is_absolute && side->type);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    /* A message from host memory does without the state of its datatype */
    if (!MPIR_Gpudt_ptr_is_gpu(&side->ptr) && (!with_host || set_errno))
        goto fn_exit;
    mpi_errno = set_errno;
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (side->ptr.mem != MPIR_GPUDT_MEM__HOST)
        mpi_errno = MPII_Gpudt_engine_of(MPII_Gpudt_driver_get(), &side->ptr, &side->engine);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (!b->is_absolute && MPIR_Gpudt_ptr_is_gpu(&side->ptr)) {
        buffer->gpu_addr = side->low;
        buffer->id = side->ptr.id;
    }
    *is_gpu = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The same for any buffer; a reference to the datatype is left only if is_gpu. */
static int buffer_set(const struct MPII_Gpudt_data *b, bool with_host,
                      MPIR_Gpudt_buffer * buffer, bool * is_gpu)
{
    int mpi_errno = MPI_SUCCESS;

    *is_gpu = false;
    buffer->size = MPII_Gpudt_data_size(b);
    buffer->side.type = NULL;
    if (buffer->size > 0)
        mpi_errno = buffer_fill(b, with_host, buffer, is_gpu);
    if (!*is_gpu)
        MPII_Gpudt_buffer_clear(buffer);
    return mpi_errno;
}

int MPII_Gpudt_buffer_set(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                          MPIR_Gpudt_buffer * buffer, bool * is_set)
{
    struct MPII_Gpudt_data b = {.addr = buf,.count = count,.datatype = datatype };

    MPII_Gpudt_data_measure(&b);
    return buffer_set(&b, true, buffer, is_set);
}

void MPII_Gpudt_buffer_clear(MPIR_Gpudt_buffer * buffer)
{
    if (buffer->side.type)
        MPII_Gpudt_type_release(buffer->side.type);
    buffer->side.type = NULL;
}

int MPIR_Gpudt_buffer_make(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                           MPIR_Gpudt_buffer ** buffer)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_data b = {.addr = buf,.count = count,.datatype = datatype };
    MPIR_Gpudt_buffer found;
    bool is_gpu = false;

    *buffer = NULL;
    if (likely(MPII_Gpudt_driver_get() == NULL))
        goto fn_exit;
    MPII_Gpudt_data_measure(&b);
    if (!b.is_absolute && MPII_Gpudt_is_near(b.low))
        goto fn_exit;
    mpi_errno = buffer_set(&b, false, &found, &is_gpu);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (!is_gpu)
        goto fn_exit;

    *buffer = MPL_malloc(sizeof(**buffer), MPL_MEM_BUFFER);
    if (unlikely(*buffer == NULL))
        MPII_Gpudt_buffer_clear(&found);
    MPIR_ERR_CHKANDJUMP1(!*buffer, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s",
                         "GPU buffer");
    **buffer = found;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIR_Gpudt_buffer_free(MPIR_Gpudt_buffer * buffer)
{
    if (buffer)
        MPII_Gpudt_buffer_clear(buffer);
    for (int i = 0; buffer && i < MPII_GPUDT_MAX_HANDLES; i++)
        MPII_Gpudt_descriptor_release(buffer->held[i]);
    MPL_free(buffer);
}

const void *MPIR_Gpudt_buffer_addr(const MPIR_Gpudt_buffer * buffer)
{
    return buffer->gpu_addr;
}

void MPII_Gpudt_buffer_part(const MPIR_Gpudt_buffer * buffer, int64_t first, int64_t n,
                            struct MPII_Gpudt_side *side)
{
    MPII_Gpudt_side_part(&buffer->side, first, n, side);
}

/* Whether a contiguous side is in memory that the library registered with an engine. If so, fill in
 * the description of its memory without a driver call. */
static bool side_is_registered(const MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_side *side)
{
    if (!MPII_Gpudt_host_find(engine, side->low, side->high, &side->shift))
        return false;
    side->ptr.mem = MPIR_GPUDT_MEM__PINNED;
    side->ptr.device = engine->device;
    side->ptr.ctx = engine->ctx;
    side->ptr.sync_memops = false;
    side->is_mixed = false;
    side->place = MPII_GPUDT_PLACE__HOST;
    side->reached_by = engine;
    return true;
}

int MPIR_Gpudt_buffer_move(MPIR_Gpudt_buffer * buffer, MPI_Aint first, MPI_Aint n, void *packed,
                           bool unpack, MPIR_Gpudt_op ** op)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *engine = buffer->side.engine;
    struct MPII_Gpudt_data contig = {.addr = packed,.count = n,.datatype = MPI_BYTE };
    MPIR_Gpudt_op local;
    struct MPII_Gpudt_side *other = unpack ? &local.src : &local.dst;

    MPIR_FUNC_ENTER;

    if (op)
        *op = NULL;
    MPII_Gpudt_op_init(&local, n, unpack ? MPII_GPUDT_LANE__UNPACK : MPII_GPUDT_LANE__PACK);
    MPIR_ERR_CHKANDJUMP(first + n > buffer->size, mpi_errno, MPI_ERR_INTERN, "**gpudt_size");
    mpi_errno = MPIR_Gpudt_buffer_check(buffer);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_Gpudt_data_measure(&contig);
    MPII_Gpudt_side_place(&contig, n, other);
    if (!side_is_registered(engine, other)) {
        mpi_errno = MPII_Gpudt_side_classify(other, false);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    MPII_Gpudt_buffer_part(buffer, first, n, unpack ? &local.dst : &local.src);
    mpi_errno = MPII_Gpudt_op_start(&local, op);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (unpack)
        MPII_GPUDT_COUNT(unpacks, 1);
    else
        MPII_GPUDT_COUNT(packs, 1);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
