/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Updates of windows of other processes, which this one maps: a kernel combines the origin's elements
 * with those of the window, and stores what these were before. An origin or result that the kernel
 * cannot access goes through pinned memory, or through the kernel's parameters if it is small. Must
 * not know what keeps others from updating the window meanwhile. */

#include "mpiimpl.h"
#include "gpudt_buffer_impl.h"
#include "gpudt_data.h"
#include "gpudt_error.h"
#include "gpudt_launch.h"
#include "gpudt_offer.h"
#include "gpudt_reduce_impl.h"
#include "gpudt_run.h"
#include "gpudt_vars.h"
#include "gpudt_window_impl.h"
#include "driver/gpudt_range.h"
#include "engine/gpudt_contexts.h"
#include "engine/gpudt_module.h"
#include "engine/gpudt_pool.h"
#include "plan/gpudt_plan_reduce.h"

/* Bytes of the window that are updated by one kernel at most: others wait meanwhile. */
#define PART (16 * 1024 * 1024)

/* The origin or the result. */
struct operand {
    void *buf;
    MPI_Aint count;
    MPI_Datatype datatype;
    MPIR_Gpudt_buffer *buffer;  /* NULL: not on a GPU, or not used */
    bool is_flat;               /* its elements lie as in an array */
    char *low;                  /* the first one */
    bool is_direct;             /* the kernel accesses it where it is */
    struct MPII_Gpudt_area *area;       /* NULL: none is needed */
};

struct update {
    const struct MPIR_Gpudt_update *u;
    const struct MPIR_Gpudt_guard *guard;
    struct MPII_Gpudt_reduction r;
    MPI_Datatype basic;
    int64_t n;                  /* elements of the basic type */
    int64_t size, extent;       /* bytes of one, without its gap and with it */
    bool has_origin, has_value;
    struct operand origin, result;
    MPII_Gpudt_engine_t *engine;
    struct MPII_Gpudt_mapping *mapping;
    uint64_t at;                /* address of the first element in the window */
    uint64_t compare;
    uint64_t value[MPII_GPUDT_UPDATE_VALUE / sizeof(uint64_t)];
};

/* ---- what is updated by what ---- */

/* Find the elements of a buffer. Returns false if they are not of one predefined type. */
static bool elements_find(MPI_Aint count, MPI_Datatype datatype, MPI_Datatype * basic, int64_t * n)
{
    MPIR_Datatype *dtp;
    MPI_Aint size;

    *basic = datatype;
    *n = count;
    if (MPIR_DATATYPE_IS_PREDEFINED(datatype))
        return true;
    MPIR_Datatype_get_ptr(datatype, dtp);
    *basic = dtp->basic_type;
    if (*basic == MPI_DATATYPE_NULL)
        return false;
    MPIR_Datatype_get_size_macro(*basic, size);
    return !__builtin_mul_overflow(dtp->size / size, count, n);
}

/* Whether elements of a datatype lie as in an array. */
static bool is_flat(const struct update *up, const struct MPII_Gpudt_data *data)
{
    return MPIR_DATATYPE_IS_PREDEFINED(data->datatype) || (up->r.is_dense && data->is_contig);
}

/* Find out where an operand is.
 *   fits  (OUT)  false: its elements are others than the window's, or have gaps in a datatype */
static int operand_find(const struct update *up, const void *buf, MPI_Aint count,
                        MPI_Datatype datatype, struct operand *o, bool * fits)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_data data = {.addr = buf,.count = count,.datatype = datatype };
    MPI_Datatype basic;
    int64_t n;

    *fits = elements_find(count, datatype, &basic, &n) && basic == up->basic && n == up->n;
    if (!*fits)
        goto fn_exit;
    MPII_Gpudt_data_measure(&data);
    o->buf = (void *) buf;
    o->count = count;
    o->datatype = datatype;
    o->is_flat = is_flat(up, &data);
    o->low = MPIR_DATATYPE_IS_PREDEFINED(datatype) ? (char *) buf : data.low;
    *fits = o->is_flat || up->r.is_dense;
    if (*fits)
        mpi_errno = MPIR_Gpudt_buffer_make(buf, count, datatype, &o->buffer);

  fn_exit:
    return mpi_errno;
}

/* Whether kernels of its own GPU can use an operand where it is. */
static bool operand_is_direct(const struct update *up, const struct operand *o)
{
    return o->buffer && MPIR_Gpudt_is_direct(o->buffer) && o->is_flat &&
        (uintptr_t) o->low % up->r.align == 0;
}

/* Find the origin, the result and the engine for them.
 *   is_good  (OUT)  false: this process cannot do it */
static int operands_find(struct update *up, const MPIR_Gpudt_target_t * target, bool * is_good)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPIR_Gpudt_update *u = up->u;
    struct operand *o = &up->origin, *res = &up->result;

    *is_good = true;
    up->has_origin = u->op != MPI_NO_OP;
    if (up->has_origin)
        mpi_errno = operand_find(up, u->origin, u->origin_count, u->origin_type, o, is_good);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (*is_good && u->has_result)
        mpi_errno = operand_find(up, u->result, u->result_count, u->result_type, res, is_good);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (!*is_good)
        goto fn_exit;

    if (target->own)
        up->engine = target->engine;
    else if (operand_is_direct(up, o))
        up->engine = o->buffer->side.engine;
    else if (operand_is_direct(up, res))
        up->engine = res->buffer->side.engine;
    else if (target->mapping && MPII_Gpudt_engine_is_alive(target->engine))
        up->engine = target->engine;
    else
        up->engine = MPII_Gpudt_engine_any();
    o->is_direct = operand_is_direct(up, o) && o->buffer->side.engine == up->engine;
    res->is_direct = operand_is_direct(up, res) && res->buffer->side.engine == up->engine;
    *is_good = target->own || (up->engine &&
                               MPII_Gpudt_is_good_for_shared(up->engine, up->n * up->size, false));

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Find the kernel and the elements in the window. Returns false if there is none, or they do not lie
 * as in an array. */
static bool kernel_find(struct update *up)
{
    const struct MPIR_Gpudt_update *u = up->u;
    struct MPII_Gpudt_data data = {.count = u->count,.datatype = u->datatype };
    MPI_Aint size;

    if (!elements_find(u->count, u->datatype, &up->basic, &up->n) || up->n <= 0 ||
        !MPII_Gpudt_update_find(u->op, up->basic, &up->r))
        return false;
    MPIR_Datatype_get_size_macro(up->basic, size);
    up->size = size;
    up->extent = (int64_t) up->r.size * up->r.parts;
    MPII_Gpudt_data_measure(&data);
    return is_flat(up, &data);
}

/* Map the window, or see that it still exists.
 *   is_good  (OUT)  false: that is not so, or the elements are not within it */
static int window_map(struct update *up, MPIR_Gpudt_target_t * target, bool * is_good)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPIR_Gpudt_update *u = up->u;
    struct MPII_Gpudt_data data = {.count = u->count,.datatype = u->datatype };
    CUdeviceptr mem = 0;
    uint64_t end;

    *is_good = false;
    if (target->own) {
        if (MPIR_Gpudt_buffer_check(target->own) == MPI_SUCCESS)
            mem = target->export.base;
    } else {
        mpi_errno = MPII_Gpudt_target_map(target, up->engine, &up->mapping, &mem);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        if (up->mapping == NULL)
            mem = 0;
    }
    if (mem == 0 || (uint64_t) up->n > target->export.sz / (uint64_t) up->size)
        goto fn_exit;
    data.addr = (char *) (uintptr_t) (mem + target->offset) + u->disp;
    MPII_Gpudt_data_measure(&data);
    up->at = (uint64_t) (uintptr_t) (MPIR_DATATYPE_IS_PREDEFINED(u->datatype) ? data.addr :
                                     data.low);
    end = up->at + (uint64_t) ((up->n - 1) * up->extent + up->r.last);
    *is_good = up->at >= mem && end <= mem + target->export.sz && up->at % up->r.align == 0;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Get what the kernel takes from its parameters. */
static int values_get(struct update *up)
{
    int mpi_errno = MPI_SUCCESS;
    const struct operand *o = &up->origin;
    const int64_t n = (up->n - 1) * up->extent + up->r.last;

    if (up->r.op == MPII_GPUDT_REDUCE__CAS)
        mpi_errno = MPIR_Typerep_copy(&up->compare, up->u->compare, up->size);
    up->has_value = up->has_origin && !o->buffer && o->is_flat && n <= MPII_GPUDT_UPDATE_VALUE;
    if (up->has_value)
        MPIR_Memcpy(up->value, o->low, n);
    return mpi_errno;
}

/* ---- parts ---- */

/* Copy elements between an operand and its area. */
static int part_copy(const struct update *up, const struct operand *o, int64_t first, int64_t n,
                     bool is_result)
{
    int mpi_errno = MPI_SUCCESS;
    char *mem = o->area->mem, *at = o->low + first * up->extent;
    MPI_Aint actual, bytes = n * up->size;

    if (up->r.is_dense && o->is_flat && !o->buffer)
        MPIR_Memcpy(is_result ? at : mem, is_result ? mem : at, bytes);
    else if (is_result && up->r.is_dense)
        mpi_errno = MPIR_Typerep_unpack(mem, bytes, o->buf, o->count, o->datatype,
                                        first * up->size, &actual);
    else if (up->r.is_dense)
        mpi_errno = MPIR_Typerep_pack(o->buf, o->count, o->datatype, first * up->size, mem, bytes,
                                      &actual);
    else if (is_result)
        mpi_errno = MPIR_Localcopy(mem, n, up->basic, at, n, up->basic);
    else
        mpi_errno = MPIR_Localcopy(at, n, up->basic, mem, n, up->basic);
    return mpi_errno;
}

/* The address of elements of an operand for the kernel; 0: it has none. */
static uint64_t part_addr(const struct update *up, const struct operand *o, int64_t first)
{
    if (o->area)
        return (uint64_t) (uintptr_t) o->area->mem;
    return o->is_direct ? (uint64_t) (uintptr_t) (o->low + first * up->extent) : 0;
}

/* A stream that does not have to end other work before the kernel: others wait for it. */
static enum MPII_Gpudt_lane_e lane_find(const MPII_Gpudt_engine_t * engine)
{
    for (int i = 0; i < MPII_GPUDT_NLANES; i++) {
        if (MPL_atomic_relaxed_load_int(&engine->nflying[i]) == 0)
            return (enum MPII_Gpudt_lane_e) i;
    }
    return MPII_GPUDT_LANE__PACK;
}

/* Update elements [first, first + n), with the origin's in place. */
static int part_run(const struct update *up, int64_t first, int64_t n)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *engine = up->engine;
    struct MPII_Gpudt_plan_update plan;
    struct MPII_Gpudt_flag flag = {.word = NULL };
    bool is_started = false, is_entered = false;
    struct MPII_Gpudt_plan_update_in in = {
        .kernel = up->r.kernel,.op = up->r.op,.size = up->r.size,.is_dense = up->r.is_dense,
        .target = up->at + (uint64_t) (first * up->extent),
        .in = part_addr(up, &up->origin, first),.old = part_addr(up, &up->result, first),
        .n = n * up->r.parts,.nsms = engine->nsms,.max_blocks = MPIR_CVAR_GPUDT_MAX_BLOCKS
    };

    MPII_Gpudt_plan_update_make(&in, &plan);
    plan.args.compare = up->compare;
    memcpy(plan.args.value, up->value, sizeof(up->value));
    struct MPII_Gpudt_launch launch = {
        .engine = engine,.lane = lane_find(engine),
        .kernel = plan.kernel,.grid = plan.grid,.args = &plan.args,.end = &plan.args.end,
        .flag = &flag,.is_waited_for = true
    };
    mpi_errno = up->guard->enter(up->guard->state);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    is_entered = true;
    mpi_errno = MPII_Gpudt_kernel_start(&launch, &is_started);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKINTERNAL(!is_started, mpi_errno, "a GPU no longer has its kernels");
    up->guard->pause();
    mpi_errno = MPII_Gpudt_launch_wait(engine, launch.lane, &flag, NULL);
    up->guard->leave(up->guard->state);
    is_entered = false;
    up->guard->resume();
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    if (is_entered)
        up->guard->leave(up->guard->state);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Update all elements, part by part. */
static int parts_run(const struct update *up)
{
    int mpi_errno = MPI_SUCCESS;
    const struct operand *o = &up->origin, *res = &up->result;
    int64_t most = PART / up->extent, n;

    if (o->area || res->area)
        most = MPL_MIN(most, (int64_t) (o->area ? o->area : res->area)->sz / up->extent);
    for (int64_t first = 0; first < up->n; first += n) {
        n = MPL_MIN(most, up->n - first);
        if (o->area) {
            mpi_errno = part_copy(up, o, first, n, false);
            MPII_GPUDT_ERR_CHECK(mpi_errno);
        }
        mpi_errno = part_run(up, first, n);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        if (res->area) {
            mpi_errno = part_copy(up, res, first, n, true);
            MPII_GPUDT_ERR_CHECK(mpi_errno);
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Get pinned memory for an operand. Returns false if there is none. */
static bool area_get(const struct update *up, struct operand *o)
{
    MPII_Gpudt_area_get(up->engine, MPII_GPUDT_AREA__PINNED, &o->area);
    return o->area && o->area->kind == MPII_GPUDT_AREA__PINNED;
}

/* Update the window, in the engine's context, which is current.
 *   is_taken  (OUT)  false: nothing was done; the GPU has no kernels, or there is no memory */
static int update_run(struct update *up, bool * is_taken)
{
    int mpi_errno = MPI_SUCCESS;
    CUfunction function = NULL;

    *is_taken = false;
    mpi_errno = MPII_Gpudt_module_kernel(up->engine, up->r.kernel, &function);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = values_get(up);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (function == NULL ||
        (up->has_origin && !up->origin.is_direct && !up->has_value && !area_get(up, &up->origin)) ||
        (up->u->has_result && !up->result.is_direct && !area_get(up, &up->result)))
        goto fn_exit;
    *is_taken = true;
    MPII_GPUDT_RANGE_PUSH("MPI update of a window");
    mpi_errno = parts_run(up);
    MPII_GPUDT_RANGE_POP();
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    if (up->origin.area)
        MPII_Gpudt_area_put(up->engine, up->origin.area);
    if (up->result.area)
        MPII_Gpudt_area_put(up->engine, up->result.area);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The same, if this process can. */
static int update_do(struct update *up, MPIR_Gpudt_target_t * target, bool * is_taken)
{
    int mpi_errno = MPI_SUCCESS;
    bool is_good;
    MPII_Gpudt_ctx_t entered;

    *is_taken = false;
    if (!kernel_find(up))
        goto fn_exit;
    mpi_errno = operands_find(up, target, &is_good);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (!is_good)
        goto fn_exit;
    mpi_errno = window_map(up, target, &is_good);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (!is_good)
        goto fn_exit;
    mpi_errno = MPII_Gpudt_engine_reenter(up->engine, &entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = update_run(up, is_taken);
    MPII_Gpudt_ctx_leave(up->engine->drv, &entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    *is_taken = true;
    goto fn_exit;
}

int MPIR_Gpudt_target_update(MPIR_Gpudt_target_t * target, const struct MPIR_Gpudt_update *u,
                             const struct MPIR_Gpudt_guard *guard, bool * is_taken)
{
    int mpi_errno = MPI_SUCCESS;
    struct update up = {.u = u,.guard = guard };

    MPIR_FUNC_ENTER;

    mpi_errno = update_do(&up, target, is_taken);
    if (up.mapping)
        MPII_Gpudt_import_release(up.mapping);
    MPIR_Gpudt_buffer_free(up.origin.buffer);
    MPIR_Gpudt_buffer_free(up.result.buffer);
    if (*is_taken)
        MPII_GPUDT_COUNT(window_direct, 1);
    else
        MPII_GPUDT_COUNT(window_refused, 1);
    if (unlikely(MPIR_CVAR_GPUDT_TRACE))
        MPII_Gpudt_target_trace(target, up.n * up.size, u->name, *is_taken);

    MPIR_FUNC_EXIT;
    return mpi_errno;
}
