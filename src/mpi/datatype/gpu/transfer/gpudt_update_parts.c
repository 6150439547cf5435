/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Does an update of a window part by part: a kernel combines the origin's elements with those of
 * the window, and stores what these were before. An origin or result that the kernel cannot access
 * goes through pinned memory, or through the kernel's parameters if it is small. Elements of the
 * window that do not lie as in an array are gathered before the kernel and put back after it, by
 * transfers of the same GPU; all who update the window are kept off meanwhile. */

#include "mpiimpl.h"
#include "gpudt_error.h"
#include "gpudt_launch.h"
#include "gpudt_run.h"
#include "gpudt_start.h"
#include "gpudt_update_impl.h"
#include "driver/gpudt_profile.h"
#include "engine/gpudt_module.h"
#include "engine/gpudt_pool.h"
#include "plan/gpudt_plan_reduce.h"

/* Bytes of the window that are updated by one kernel at most: others wait meanwhile. */
#define PART (16 * 1024 * 1024)

/* Get what the kernel takes from its parameters. */
static int values_get(struct MPII_Gpudt_update *up)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_operand *o = &up->origin;
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
static int part_copy(const struct MPII_Gpudt_update *up, const struct MPII_Gpudt_operand *o,
                     int64_t first, int64_t n, bool is_result)
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
static uint64_t part_addr(const struct MPII_Gpudt_update *up, const struct MPII_Gpudt_operand *o,
                          int64_t first)
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

/* Gather elements of the window, or put them back. */
static int part_move(const struct MPII_Gpudt_update *up, int64_t first, int64_t n, bool is_back)
{
    char *mem = up->gathered->mem;
    MPIR_Gpudt_op local;

    MPII_Gpudt_op_init(&local, n * up->size, lane_find(up->engine));
    MPII_Gpudt_side_part(&up->window, first * up->size, local.n, is_back ? &local.dst : &local.src);
    MPII_Gpudt_side_own(up->engine, mem, mem + local.n, is_back ? &local.src : &local.dst);
    return MPII_Gpudt_op_start(&local, NULL);
}

/* Start the kernel for elements [first, first + n), with the origin's in place. */
static int part_start(const struct MPII_Gpudt_update *up, int64_t first, int64_t n,
                      enum MPII_Gpudt_lane_e lane, struct MPII_Gpudt_flag *flag)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *engine = up->engine;
    struct MPII_Gpudt_plan_update plan;
    bool is_started = false;
    struct MPII_Gpudt_plan_update_in in = {
        .kernel = up->r.kernel,.op = up->r.op,.size = up->r.size,.is_dense = up->r.is_dense,
        .is_atomic = up->is_atomic,
        .target = up->is_apart ? (uint64_t) (uintptr_t) up->gathered->mem :
            up->at + (uint64_t) (first * up->extent),
        .in = part_addr(up, &up->origin, first),.old = part_addr(up, &up->result, first),
        .n = n * up->r.parts,.nsms = engine->nsms,.max_blocks = MPIR_CVAR_GPUDT_MAX_BLOCKS
    };

    MPII_Gpudt_plan_update_make(&in, &plan);
    plan.args.compare = up->compare;
    memcpy(plan.args.value, up->value, sizeof(up->value));
    struct MPII_Gpudt_launch launch = {
        .engine = engine,.lane = lane,
        .kernel = plan.kernel,.grid = plan.grid,.args = &plan.args,.end = &plan.args.end,
        .flag = flag,.is_waited_for = true
    };
    mpi_errno = MPII_Gpudt_kernel_start(&launch, &is_started);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKINTERNAL(!is_started, mpi_errno, "a GPU no longer has its kernels");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Update elements [first, first + n). Other threads can call MPI while the kernel works, except where
 * elements are put back after that: then the guard must be held, which the threads might wait for. */
static int part_run(const struct MPII_Gpudt_update *up, int64_t first, int64_t n)
{
    int mpi_errno = MPI_SUCCESS;
    const enum MPII_Gpudt_lane_e lane = lane_find(up->engine);
    struct MPII_Gpudt_flag flag = {.word = NULL };
    bool is_entered = false, is_paused = false;

    /* Functions of the program may run until it is */
    MPII_Gpudt_ctx_leave(up->engine->drv, up->entered);
    mpi_errno = up->guard->enter(up->guard->state, up->is_atomic);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    is_entered = true;
    mpi_errno = MPII_Gpudt_engine_reenter(up->engine, up->entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (up->is_apart)
        mpi_errno = part_move(up, first, n, false);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = part_start(up, first, n, lane, &flag);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    is_paused = !up->is_apart;
    if (is_paused)
        up->guard->pause();
    mpi_errno = MPII_Gpudt_launch_wait(up->engine, lane, &flag, NULL, NULL);
    if (mpi_errno == MPI_SUCCESS && up->is_apart && up->u->op != MPI_NO_OP)
        mpi_errno = part_move(up, first, n, true);

  fn_exit:
    if (is_entered)
        up->guard->leave(up->guard->state);
    if (is_paused)
        up->guard->resume();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Update all elements, part by part. */
static int parts_run(const struct MPII_Gpudt_update *up)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_operand *o = &up->origin, *res = &up->result;
    int64_t most = PART / up->extent, n;

    if (o->area)
        most = MPL_MIN(most, (int64_t) o->area->sz / up->extent);
    if (res->area)
        most = MPL_MIN(most, (int64_t) res->area->sz / up->extent);
    if (up->is_apart)
        most = MPL_MIN(most, (int64_t) up->gathered->sz / up->size);
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

/* Get memory that elements go through. Returns false if there is none of that kind. */
static bool area_get(const struct MPII_Gpudt_update *up, enum MPII_Gpudt_area_e kind,
                     struct MPII_Gpudt_area **area)
{
    MPII_Gpudt_area_get(up->engine, kind, area);
    return *area && (*area)->kind == kind;
}

/* The same for all that the kernel cannot access, or that does not lie as in an array. */
static bool areas_get(struct MPII_Gpudt_update *up)
{
    struct MPII_Gpudt_operand *o = &up->origin, *res = &up->result;
    const bool is_passed = up->has_origin && !o->is_direct && !up->has_value;

    return (!is_passed || area_get(up, MPII_GPUDT_AREA__PINNED, &o->area)) &&
        (!up->u->has_result || res->is_direct ||
         area_get(up, MPII_GPUDT_AREA__PINNED, &res->area)) &&
        (!up->is_apart || area_get(up, MPII_GPUDT_AREA__DEVICE, &up->gathered));
}

int MPII_Gpudt_update_run(struct MPII_Gpudt_update *up, bool * is_taken)
{
    int mpi_errno = MPI_SUCCESS;
    CUfunction function = NULL;

    *is_taken = false;
    mpi_errno = MPII_Gpudt_module_kernel(up->engine, up->r.kernel, &function);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = values_get(up);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (function == NULL || !areas_get(up))
        goto fn_exit;
    *is_taken = true;
    MPII_GPUDT_PROFILE_PUSH("MPI update of a window");
    mpi_errno = parts_run(up);
    MPII_GPUDT_PROFILE_POP();
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    if (up->origin.area)
        MPII_Gpudt_area_put(up->engine, up->origin.area);
    if (up->result.area)
        MPII_Gpudt_area_put(up->engine, up->result.area);
    if (up->gathered)
        MPII_Gpudt_area_put(up->engine, up->gathered);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
