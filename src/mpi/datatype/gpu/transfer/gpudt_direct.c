/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Offers of buffers to other processes, and copies from buffers that were offered. Must not know
 * how offers are exchanged. */

#include "mpiimpl.h"
#include "gpudt_buffer_impl.h"
#include "gpudt_direct.h"
#include "gpudt_error.h"
#include "gpudt_start.h"
#include "gpudt_vars.h"
#include "driver/gpudt_sharing.h"
#include "engine/gpudt_import.h"
#include "type/gpudt_wire.h"

struct MPIR_Gpudt_offer {
    struct MPII_Gpudt_export export;
    int64_t addr, low, high;    /* as in a side, relative to the allocation */
    int64_t size;               /* packed bytes of the buffer */
    struct MPII_Gpudt_record top;       /* as in a side; not for a contiguous buffer */
    int64_t type_sz;            /* bytes of the description of the datatype; 0: contiguous */
    int64_t type_at;            /* where it is; -1: in type[] */
    char type[];
};
MPII_GPUDT_STATIC_ASSERT(sizeof(struct MPIR_Gpudt_offer) <= MPIR_GPUDT_OFFER_HEAD, "it has room");

/* Microseconds that a message takes less than through host memory: a launch, and the difference of
 * the time for its bytes. */
#define SAVED_US 5.0
#define SAVED_US_PER_BYTE (1 / 60e3)

/* Bytes of messages below which host memory is better on a GPU that processes share: copies within
 * a GPU wait until it switches to the process that makes them. Measured on an H200: 64 KiB 20 to
 * 40 us by way of the host and 146 to 160 us direct; 1 MiB 52 to 200 and 147 to 204; 64 MiB 3,200
 * to 3,700 and 183 to 2,240. */
#define SHARED_MIN (2 << 20)

/* Long messages of a datatype with large gaps, by the ratio of its extent to its bytes: host
 * memory is better. Measured between two H200s, 8 bytes in 512: 4 MiB 156 us by way of the host
 * and 88 direct, 64 MiB 1,435 and 1,874. */
#define SPARSE_MIN (32 << 20)
#define SPARSE_RATIO 32

static bool has_finalizer = false;

size_t MPIR_Gpudt_offer_type_sz(const MPIR_Gpudt_buffer * buffer)
{
    return buffer->side.type ? MPII_Gpudt_wire_sz(buffer->side.type) : 0;
}

void MPIR_Gpudt_offer_type_write(const MPIR_Gpudt_buffer * buffer, void *mem)
{
    MPII_Gpudt_wire_write(buffer->side.type, mem);
}

void **MPIR_Gpudt_buffer_published(const MPIR_Gpudt_buffer * buffer, void (*free_fn) (void *))
{
    MPII_Gpudt_published_free = free_fn;
    return &buffer->side.type->published;
}

/* How other processes map the memory of a buffer; NULL: they cannot. */
static const struct MPII_Gpudt_export *export_of(const MPIR_Gpudt_buffer * buffer)
{
    const struct MPII_Gpudt_side *side = &buffer->side;
    const struct MPII_Gpudt_export *export;

    if (buffer->id == 0 || side->is_mixed || side->ptr.mem != MPIR_GPUDT_MEM__DEVICE ||
        side->ptr.ctx == NULL || MPIR_CVAR_GPUDT_DIRECT == MPIR_CVAR_GPUDT_DIRECT_never)
        return NULL;
    export = MPII_Gpudt_export_get(side->engine, buffer->gpu_addr, buffer->id);
    if (export == NULL || (uintptr_t) side->low < export->base ||
        (uintptr_t) side->high > export->base + export->sz)
        return NULL;
    return export;
}

bool MPIR_Gpudt_may_offer(const MPIR_Gpudt_buffer * buffer)
{
    return export_of(buffer) != NULL;
}

void MPIR_Gpudt_offer_make(const MPIR_Gpudt_buffer * buffer, int type_at, void *mem)
{
    const struct MPII_Gpudt_side *side = &buffer->side;
    const struct MPII_Gpudt_export *export = export_of(buffer);
    struct MPIR_Gpudt_offer *offer = mem;

    offer->export = *export;
    offer->addr = (int64_t) ((uintptr_t) side->addr - export->base);
    offer->low = (int64_t) ((uintptr_t) side->low - export->base);
    offer->high = (int64_t) ((uintptr_t) side->high - export->base);
    offer->size = buffer->size;
    offer->top = side->top;
    offer->type_sz = (int64_t) MPIR_Gpudt_offer_type_sz(buffer);
    offer->type_at = type_at;
    if (side->type && type_at < 0)
        MPII_Gpudt_wire_write(side->type, offer->type);
}

int MPIR_Gpudt_offer_type_at(const MPIR_Gpudt_offer_t * offer, size_t *sz)
{
    *sz = (size_t) offer->type_sz;
    return (int) offer->type_at;
}

/* Whether a message is faster by way of host memory. */
static bool is_slow(const MPIR_Gpudt_offer_t * offer, const MPII_Gpudt_engine_t * engine,
                    int64_t n)
{
    if (MPIR_CVAR_GPUDT_DIRECT == MPIR_CVAR_GPUDT_DIRECT_always)
        return false;
    return (n < SHARED_MIN && MPII_Gpudt_is_shared(engine->shared)) ||
        (n >= SPARSE_MIN && offer->type_sz && (offer->high - offer->low) / SPARSE_RATIO > n);
}

bool MPIR_Gpudt_offer_is_good(const MPIR_Gpudt_offer_t * offer, const MPIR_Gpudt_buffer * buffer,
                              MPI_Aint n)
{
    bool is_good = buffer->side.ptr.mem == MPIR_GPUDT_MEM__DEVICE && !buffer->side.is_mixed &&
        !is_slow(offer, buffer->side.engine, n) &&
        MPII_Gpudt_import_find(buffer->side.engine, &offer->export,
                               SAVED_US + SAVED_US_PER_BYTE * n) != NULL;

    if (!is_good)
        MPII_GPUDT_COUNT(direct_refused, 1);
    return is_good;
}

/* For MPIR_Add_finalize: before the engines are freed. */
static int types_end(void *unused ATTRIBUTE((unused)))
{
    MPII_Gpudt_wire_end();
    has_finalizer = false;
    return 0;
}

/* The state of the sender's datatype. */
static int type_read(const struct MPIR_Gpudt_offer *offer, const void *type,
                     struct MPII_Gpudt_type **state)
{
    if (!has_finalizer)
        MPIR_Add_finalize(types_end, NULL, MPIR_FINALIZE_CALLBACK_PRIO - 3);
    has_finalizer = true;
    return MPII_Gpudt_wire_read(offer->export.process, offer->type_at < 0 ? offer->type : type,
                                (size_t) offer->type_sz, state);
}

/* Describe the sender's memory as one of this process. */
static int side_make(const struct MPIR_Gpudt_offer *offer, const void *type, CUdeviceptr mem,
                     MPII_Gpudt_engine_t * engine, int64_t n, struct MPII_Gpudt_side *side)
{
    char *base = (char *) (uintptr_t) mem;
    int mpi_errno = MPI_SUCCESS;

    memset(side, 0, sizeof(*side));
    if (offer->type_sz)
        mpi_errno = type_read(offer, type, &side->type);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    side->addr = base + offer->addr;
    side->top = offer->top;
    side->is_exact = true;
    side->low = base + offer->low;
    side->high = side->type ? base + offer->high : side->low + n;
    side->ptr.mem = MPIR_GPUDT_MEM__DEVICE;
    side->ptr.device = engine->device;
    side->ptr.ctx = engine->ctx;
    side->engine = engine;
    side->reached_by = engine;
    side->place = MPII_GPUDT_PLACE__PEER;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Map the memory. The mapping is NULL if that is not possible. */
static int mapping_open(const MPIR_Gpudt_offer_t * offer, MPII_Gpudt_engine_t * engine,
                        struct MPII_Gpudt_mapping **mapping, CUdeviceptr * mem)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_ctx_t entered;

    *mem = 0;
    *mapping = MPII_Gpudt_import_find(engine, &offer->export, 0);
    if (*mapping == NULL)
        goto fn_exit;
    mpi_errno = MPII_Gpudt_ctx_enter(engine->drv, engine->device, engine->ctx, &entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *mem = MPII_Gpudt_import_open(*mapping);
    MPII_Gpudt_ctx_leave(engine->drv, &entered);

  fn_exit:
    if (*mem == 0)
        *mapping = NULL;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Gpudt_offer_pull(const MPIR_Gpudt_offer_t * offer, const void *type,
                          MPIR_Gpudt_buffer * buffer, MPI_Aint n, MPIR_Gpudt_op ** op,
                          bool * is_taken)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *engine = buffer->side.engine;
    MPIR_Gpudt_op local = {.n = n,.lane = MPII_GPUDT_LANE__UNPACK };
    CUdeviceptr mem = 0;

    MPIR_FUNC_ENTER;

    *op = NULL;
    *is_taken = false;
    MPIR_ERR_CHKANDJUMP(n > offer->size || n > buffer->size, mpi_errno, MPI_ERR_INTERN,
                        "**gpudt_size");
    mpi_errno = MPIR_Gpudt_buffer_check(buffer);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = mapping_open(offer, engine, &local.mapping, &mem);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (local.mapping == NULL)
        goto fn_exit;
    mpi_errno = side_make(offer, type, mem, engine, n, &local.src);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_Gpudt_buffer_part(buffer, 0, n, &local.dst);
    *is_taken = true;
    mpi_errno = MPII_Gpudt_op_start(&local, op);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_GPUDT_COUNT(direct_pulls, 1);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    *is_taken = true;
    if (local.mapping && mem)
        MPII_Gpudt_op_release(&local);
    goto fn_exit;
}
