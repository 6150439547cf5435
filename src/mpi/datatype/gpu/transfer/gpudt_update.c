/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Updates of windows of other processes, which this one maps, and of its own: whether a kernel can
 * do one, of which GPU, and where its elements are. The kernels are started in
 * gpudt_update_parts.c. Must not know what keeps others from updating the window meanwhile. */

#include "mpiimpl.h"
#include "gpudt_data.h"
#include "gpudt_error.h"
#include "gpudt_offer.h"
#include "tuning/gpudt_tuning.h"
#include "gpudt_update_impl.h"
#include "gpudt_vars.h"
#include "gpudt_window_impl.h"
#include "engine/gpudt_engine.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_ATOMICS
      category    : GPUDT
      type        : enum
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : |-
        Whether accumulates to windows in GPU memory use atomic operations of the GPU, so that several
        processes may update a window at the same time. They exist for elements of 4 and 8 bytes.
        auto   - For short ones
        always - Where they exist
        never  - One process after the other

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

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
static bool is_flat(const struct MPII_Gpudt_update *up, const struct MPII_Gpudt_data *data)
{
    return MPIR_DATATYPE_IS_PREDEFINED(data->datatype) || (up->r.is_dense && data->is_contig);
}

/* Find out where an operand is.
 *   fits  (OUT)  false: its elements are others than the window's, or have gaps in a datatype */
static int operand_find(const struct MPII_Gpudt_update *up, const void *buf, MPI_Aint count,
                        MPI_Datatype datatype, struct MPII_Gpudt_operand *o, bool * fits)
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
static bool operand_is_direct(const struct MPII_Gpudt_update *up,
                              const struct MPII_Gpudt_operand *o)
{
    return o->buffer && MPIR_Gpudt_is_direct(o->buffer) && o->is_flat &&
        (uintptr_t) o->low % up->r.align == 0;
}

/* Find the origin, the result and the engine for them.
 *   is_good  (OUT)  false: this process cannot do it */
static int operands_find(struct MPII_Gpudt_update *up, const MPIR_Gpudt_target_t * target,
                         bool * is_good)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPIR_Gpudt_update *u = up->u;
    struct MPII_Gpudt_operand *o = &up->origin, *res = &up->result;

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
    else
        up->engine = MPII_Gpudt_target_engine(target);
    o->is_direct = operand_is_direct(up, o) && o->buffer->side.engine == up->engine;
    res->is_direct = operand_is_direct(up, res) && res->buffer->side.engine == up->engine;
    *is_good = target->own || (up->engine &&
                               MPII_Gpudt_is_good_for_shared(up->engine, up->n * up->size, false));

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Find the kernel and the elements in the window. Returns false if there is none, or they do not
 * lie as in an array and cannot be gathered. */
static bool kernel_find(struct MPII_Gpudt_update *up)
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
    up->is_apart = !is_flat(up, &data);
    return !up->is_apart || up->r.is_dense;
}

/* Map the window, or see that it still exists.
 *   is_good  (OUT)  false: that is not so, or the elements are not within it */
static int window_map(struct MPII_Gpudt_update *up, MPIR_Gpudt_target_t * target, bool * is_good)
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
    if (mem == 0 || (uint64_t) up->n > target->size / (uint64_t) up->size)
        goto fn_exit;
    if (up->is_apart) {
        mpi_errno = MPII_Gpudt_target_side(target, mem, u->disp, u->count, u->datatype, up->engine,
                                           up->n * up->size, &up->window, is_good);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        goto fn_exit;
    }
    data.addr = (char *) (uintptr_t) (mem + target->offset + (uint64_t) u->disp);
    MPII_Gpudt_data_measure(&data);
    up->at = (uint64_t) (uintptr_t) (MPIR_DATATYPE_IS_PREDEFINED(u->datatype) ? data.addr :
                                     data.low);
    end = up->at + (uint64_t) ((up->n - 1) * up->extent + up->r.last);
    *is_good = up->at >= mem + target->offset && end <= mem + target->offset + target->size &&
        up->at % up->r.align == 0;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Whether the kernel can update the elements by atomic operations, and that is better. What it needs is
 * a property of the elements and their address, so that updates of one element differ in it only by
 * their size, or by how their process accesses it. */
static bool atomic_check(const struct MPII_Gpudt_update *up, const MPIR_Gpudt_target_t * target)
{
    const struct MPII_Gpudt_reduction *r = &up->r;

    if (MPIR_CVAR_GPUDT_ATOMICS == MPIR_CVAR_GPUDT_ATOMICS_never || up->is_apart || r->parts != 1 ||
        r->align != r->size || (r->size != 4 && r->size != 8))
        return false;
    return (up->n * up->size <= MPII_GPUDT_ATOMIC_MAX ||
            MPIR_CVAR_GPUDT_ATOMICS == MPIR_CVAR_GPUDT_ATOMICS_always) &&
        MPII_Gpudt_target_has_atomics(target, up->engine);
}

/* Update a window, if this process can. */
static int update_do(struct MPII_Gpudt_update *up, MPIR_Gpudt_target_t * target, bool * is_taken)
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
    up->is_atomic = atomic_check(up, target);
    up->entered = &entered;
    mpi_errno = MPII_Gpudt_engine_reenter(up->engine, &entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = MPII_Gpudt_update_run(up, is_taken);
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
    struct MPII_Gpudt_update up = {.u = u,.guard = guard };

    MPIR_FUNC_ENTER;

    mpi_errno = update_do(&up, target, is_taken);
    if (up.mapping)
        MPII_Gpudt_import_release(up.mapping);
    if (up.window.type)
        MPII_Gpudt_type_release(up.window.type);
    MPIR_Gpudt_buffer_free(up.origin.buffer);
    MPIR_Gpudt_buffer_free(up.result.buffer);
    if (*is_taken)
        MPII_GPUDT_COUNT(window_direct, 1);
    else
        MPII_GPUDT_COUNT(window_refused, 1);
    if (*is_taken && up.is_atomic)
        MPII_GPUDT_COUNT(window_atomic, 1);
    if (unlikely(MPIR_CVAR_GPUDT_TRACE))
        MPII_Gpudt_target_trace(target, up.n * up.size, u->name, *is_taken);

    MPIR_FUNC_EXIT;
    return mpi_errno;
}
