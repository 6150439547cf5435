/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Copies to and from windows of other processes, which this one maps. Must not know how processes
 * exchange the description of a window, nor when the window may be accessed.
 *
 * Mapped virtual ranges are left out. The driver does not mark them (gpudt_memops.c), so only the
 * process that owns such memory can order a copy after its own fills. */

#include "mpiimpl.h"
#include "gpudt_buffer_impl.h"
#include "gpudt_data.h"
#include "gpudt_batch.h"
#include "gpudt_error.h"
#include "gpudt_offer.h"
#include "gpudt_start.h"
#include "gpudt_vars.h"
#include "gpudt_window_impl.h"
#include "driver/gpudt_sharing.h"
#include "engine/gpudt_contexts.h"

/* A window is used often: mapping it pays off at once. */
#define SAVED_US 1e6

struct exposure {
    uint64_t addr, size;        /* of the window */
    uint64_t process, gpu, id;  /* of its allocation, as in an export; id 0: cannot be mapped */
    uint64_t base, sz;
    uint64_t gpu_name;          /* MPII_Gpudt_gpu_name */
    CUipcMemHandle handle;
};
MPII_GPUDT_STATIC_ASSERT(sizeof(struct exposure) <= MPIR_GPUDT_EXPOSURE_SZ, "it has room");

/* ---- the process that owns the window ---- */

bool MPIR_Gpudt_expose(const void *base, MPI_Aint size, void *mem)
{
    MPIR_Gpudt_buffer *buffer = NULL;
    const struct MPII_Gpudt_export *export = NULL;
    struct exposure *exposure = mem;

    memset(mem, 0, MPIR_GPUDT_EXPOSURE_SZ);
    if (base == NULL || size <= 0)
        goto fn_exit;
    /* An error shows again when the window is used */
    if (MPIR_Gpudt_buffer_make(base, size, MPI_BYTE, &buffer) != MPI_SUCCESS || buffer == NULL)
        goto fn_exit;
    if (!MPIR_Gpudt_ptr_is_private(&buffer->side.ptr))
        export = MPII_Gpudt_buffer_export(buffer);
    if (export == NULL)
        goto fn_exit;
    exposure->addr = (uintptr_t) base;
    /* No more than the allocation has: a kernel beyond it would end the origin's context */
    exposure->size = MPL_MIN((uint64_t) size, export->base + export->sz - exposure->addr);
    exposure->process = export->process;
    exposure->gpu = export->gpu;
    exposure->id = export->id;
    exposure->base = export->base;
    exposure->sz = export->sz;
    exposure->gpu_name = MPII_Gpudt_gpu_name(buffer->side.engine->drv, buffer->side.engine->device);
    exposure->handle = export->handle;

  fn_exit:
    MPIR_Gpudt_buffer_free(buffer);
    return export != NULL;
}

/* ---- a process that maps it ---- */

int MPIR_Gpudt_target_make(const void *mem, MPIR_Gpudt_target_t ** target)
{
    int mpi_errno = MPI_SUCCESS;
    const struct exposure *exposure = mem;
    MPIR_Gpudt_target_t *t;

    *target = NULL;
    if (exposure->id == 0)
        goto fn_exit;
    t = MPL_calloc(1, sizeof(*t), MPL_MEM_RMA);
    MPIR_ERR_CHKANDJUMP1(!t, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "GPU window");
    t->offset = exposure->addr - exposure->base;
    t->size = exposure->size;
    t->export.process = exposure->process;
    t->export.gpu = exposure->gpu;
    t->export.id = exposure->id;
    t->export.base = exposure->base;
    t->export.sz = exposure->sz;
    t->export.handle = exposure->handle;
    t->gpu_name = exposure->gpu_name;
    *target = t;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Gpudt_target_own(const void *base, MPI_Aint size, MPIR_Gpudt_target_t ** target)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Gpudt_buffer *buffer = NULL;
    MPIR_Gpudt_target_t *t;

    *target = NULL;
    mpi_errno = MPIR_Gpudt_buffer_make(base, size, MPI_BYTE, &buffer);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    /* Without a number it could not be known whether the program has freed it */
    if (buffer == NULL || !MPIR_Gpudt_is_direct(buffer) || buffer->id == 0)
        goto fn_exit;
    t = MPL_calloc(1, sizeof(*t), MPL_MEM_RMA);
    MPIR_ERR_CHKANDJUMP1(!t, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "GPU window");
    t->own = buffer;
    t->size = (uint64_t) size;
    t->export.base = (uintptr_t) base;
    t->engine = buffer->side.engine;
    buffer = NULL;
    *target = t;

  fn_exit:
    MPIR_Gpudt_buffer_free(buffer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void mapping_leave(MPIR_Gpudt_target_t * t)
{
    if (t->mapping)
        MPII_Gpudt_import_release(t->mapping);
    t->mapping = NULL;
}

void MPIR_Gpudt_target_unmap(MPIR_Gpudt_target_t * t)
{
    if (t == NULL || t->own)
        return;
    mapping_leave(t);
    MPII_Gpudt_import_close(t->export.process, t->export.id);
}

void MPIR_Gpudt_target_free(MPIR_Gpudt_target_t * t)
{
    if (t) {
        mapping_leave(t);
        MPIR_Gpudt_buffer_free(t->own);
    }
    MPL_free(t);
}

int MPII_Gpudt_target_map(MPIR_Gpudt_target_t * t, MPII_Gpudt_engine_t * engine,
                          struct MPII_Gpudt_mapping **mapping, CUdeviceptr * mem)
{
    int mpi_errno = MPI_SUCCESS;

    if (likely(t->mapping && t->engine == engine)) {
        *mem = MPII_Gpudt_import_open(t->mapping);
        *mapping = t->mapping;
        goto fn_exit;
    }
    mpi_errno = MPII_Gpudt_offer_map(&t->export, engine, SAVED_US, mapping, mem);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (*mapping == NULL)
        goto fn_exit;
    /* One reference for the operation, one that keeps it mapped until the window is freed */
    mapping_leave(t);
    t->mapping = *mapping;
    t->engine = engine;
    MPII_Gpudt_import_open(t->mapping);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_target_side(const MPIR_Gpudt_target_t * t, CUdeviceptr mem, MPI_Aint disp,
                           MPI_Aint count, MPI_Datatype datatype, MPII_Gpudt_engine_t * engine,
                           int64_t n, struct MPII_Gpudt_side *side, bool * is_good)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_data data = {
        .addr = (char *) (uintptr_t) (mem + t->offset + (uint64_t) disp),.count = count,.datatype = datatype
    };

    *is_good = false;
    MPII_Gpudt_side_own(engine, NULL, NULL, side);
    MPII_Gpudt_data_measure(&data);
    if (MPII_Gpudt_data_size(&data) != n)
        goto fn_exit;
    MPII_Gpudt_side_place(&data, n, side);
    mpi_errno = MPII_Gpudt_side_set(&data, n, side);
    if (mpi_errno && MPIR_ERR_GET_CLASS(mpi_errno) == MPI_ERR_NO_MEM) {
        mpi_errno = MPI_SUCCESS;
        goto fn_exit;
    }
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    side->engine = engine;
    side->reached_by = engine;
    side->place = t->own ? MPII_GPUDT_PLACE__DEVICE : MPII_GPUDT_PLACE__PEER;
    *is_good = (uintptr_t) side->low >= mem + t->offset && side->low <= side->high &&
        (uintptr_t) side->high <= mem + t->offset + t->size;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

bool MPII_Gpudt_target_has_atomics(const MPIR_Gpudt_target_t * t,
                                   const MPII_Gpudt_engine_t * engine)
{
    return t->own || MPII_Gpudt_has_atomics(engine->drv, engine->device, t->gpu_name);
}

MPII_Gpudt_engine_t *MPII_Gpudt_target_engine(const MPIR_Gpudt_target_t * t)
{
    MPII_Gpudt_engine_t *engine;

    if (t->mapping && MPII_Gpudt_engine_takes_calls(t->engine))
        return t->engine;
    engine = MPII_Gpudt_engine_any();
    return engine && MPII_Gpudt_engine_takes_calls(engine) ? engine : NULL;
}

/* The engine for a copy between a buffer and a window: that of the buffer's memory, or another one if a
 * GPU cannot access the buffer. NULL: a message is better, or there is none. */
static MPII_Gpudt_engine_t *engine_find(const MPIR_Gpudt_target_t * t,
                                        const MPIR_Gpudt_buffer * buffer, MPI_Datatype datatype)
{
    MPII_Gpudt_engine_t *engine = buffer->side.engine;

    if (buffer->side.is_mixed)
        return NULL;
    if (engine == NULL)
        engine = MPII_Gpudt_target_engine(t);
    if (engine && !MPII_Gpudt_is_good_for_shared(engine, buffer->size,
                                                 buffer->side.type || !HANDLE_IS_BUILTIN(datatype)))
        engine = NULL;
    return engine;
}

void MPII_Gpudt_target_trace(const MPIR_Gpudt_target_t * t, int64_t n, const char *what,
                             bool is_taken)
{
    fprintf(stderr, "[%d] gpudt: %s of %lld bytes, process %llx, GPU %d: %s\n",
            MPIR_Process.rank, what, (long long) n, (unsigned long long) t->export.process,
            (int) t->export.gpu, is_taken ? "mapped" : "by messages");
}

bool MPIR_Gpudt_is_in_use(void)
{
    return MPII_Gpudt_engine_any() != NULL;
}

void MPIR_Gpudt_count_window_message(void)
{
    MPII_GPUDT_COUNT(window_messages, 1);
}

int MPIR_Gpudt_target_move(MPIR_Gpudt_target_t * target, const struct MPIR_Gpudt_rma *r,
                           bool may_lead, bool will_lead, MPIR_Gpudt_op ** op, bool * is_taken)
{
    int mpi_errno = MPI_SUCCESS;
    bool is_set = false;
    MPIR_Gpudt_buffer buffer;
    MPII_Gpudt_engine_t *engine = NULL;
    MPIR_Gpudt_op *work = NULL;
    const enum MPII_Gpudt_lane_e lane = r->is_get ? MPII_GPUDT_LANE__UNPACK :
        MPII_GPUDT_LANE__PACK;
    CUdeviceptr mem = 0;

    MPIR_FUNC_ENTER;

    *op = NULL;
    *is_taken = false;
    mpi_errno = MPII_Gpudt_buffer_set(r->buf, r->bufcount, r->buftype, &buffer, &is_set);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (is_set)
        engine = engine_find(target, &buffer, r->datatype);
    if (engine == NULL)
        goto fn_exit;
    work = MPII_Gpudt_op_make(buffer.size, lane);
    MPIR_ERR_CHKANDJUMP1(!work, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s",
                         "GPU operation");
    work->queued.may_lead = work->queued.ends_with_batch = may_lead;
    mpi_errno = MPII_Gpudt_target_map(target, engine, &work->mapping, &mem);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (work->mapping == NULL)
        goto fn_exit;
    mpi_errno = MPII_Gpudt_target_side(target, mem, r->disp, r->count, r->datatype, engine,
                                       work->n, r->is_get ? &work->src : &work->dst, is_taken);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (!*is_taken)
        goto fn_exit;
    *(r->is_get ? &work->dst : &work->src) = buffer.side;
    is_set = false;
    if (will_lead)
        MPII_Gpudt_batch_hold(engine, lane);
    mpi_errno = MPII_Gpudt_op_start_new(work, op);
    if (will_lead)
        MPII_Gpudt_batch_release(engine, lane, true);
    work = NULL;
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    /* The CPU's steps are made by who waits; work areas would be in use until then. Gets of datatypes
     * were slower so (two H100, 4 MiB: 1.9 ms instead of 0.6) */
    if (*op && !r->is_get && !(*op)->is_direct && buffer.side.ptr.mem == MPIR_GPUDT_MEM__HOST) {
        mpi_errno = MPIR_Gpudt_wait(*op);
        *op = NULL;
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (*op && (*op)->queued.batch)
        MPII_Gpudt_series_note(target, r, *op, buffer.id, mem + target->offset);

  fn_exit:
    if (work) {
        MPII_Gpudt_op_release(work);
        MPII_Gpudt_op_delete(work);
    }
    if (is_set)
        MPII_Gpudt_buffer_clear(&buffer);
    if (*is_taken)
        MPII_GPUDT_COUNT(window_direct, 1);
    else
        MPII_GPUDT_COUNT(window_refused, 1);
    if (unlikely(MPIR_CVAR_GPUDT_TRACE))
        MPII_Gpudt_target_trace(target, buffer.size, r->is_get ? "get" : "put", *is_taken);
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    *is_taken = true;
    goto fn_exit;
}
