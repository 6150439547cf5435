/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Reductions by kernels. Operands that the kernel can access are used where they are; others pass
 * through work areas in GPU memory, a part at a time: those of other GPUs, in pageable memory, or
 * not aligned. Must not know collectives. */

#include "mpiimpl.h"
#include "gpudt_reduce_impl.h"
#include "gpudt_data.h"
#include "gpudt_error.h"
#include "gpudt_launch.h"
#include "gpudt_run.h"
#include "gpudt_vars.h"
#include "driver/gpudt_profile.h"
#include "engine/gpudt_contexts.h"
#include "engine/gpudt_module.h"
#include "engine/gpudt_pool.h"
#include "plan/gpudt_plan_reduce.h"

/* A reduction in progress. Indices of arrays: 0 the operand that is read, 1 the result. */
struct reduce {
    const struct MPII_Gpudt_operands *o;
    const struct MPII_Gpudt_reduction *r;
    int64_t extent;             /* bytes of an element of the datatype */
    struct MPII_Gpudt_side side[2];
    struct MPII_Gpudt_area *area[2];    /* NULL: the operand is used where it is */
    MPII_Gpudt_engine_t *engine;
};

static char *operand_addr(const struct reduce *rd, int i, int64_t first)
{
    return (char *) (i == 0 ? rd->o->in : rd->o->inout) + first * rd->extent;
}

/* Find out in what memory the operands are. */
static int operands_classify(struct reduce *rd)
{
    int mpi_errno = MPI_SUCCESS;

    for (int i = 0; i < 2; i++) {
        struct MPII_Gpudt_data bytes = {.addr = operand_addr(rd, i, 0),.datatype = MPI_BYTE };

        bytes.count = (rd->o->count - 1) * rd->extent + rd->r->last;
        MPII_Gpudt_data_measure(&bytes);
        MPII_Gpudt_side_place(&bytes, bytes.count, &rd->side[i]);
        mpi_errno = MPII_Gpudt_side_classify(&rd->side[i], false);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The operand whose GPU does the work: device memory over managed memory, which any can access. */
static const MPIR_Gpudt_ptr_t *lead(const struct reduce *rd)
{
    const MPIR_Gpudt_ptr_t *in = &rd->side[0].ptr, *inout = &rd->side[1].ptr;

    if (inout->mem == MPIR_GPUDT_MEM__DEVICE ||
        (inout->mem == MPIR_GPUDT_MEM__MANAGED && in->mem != MPIR_GPUDT_MEM__DEVICE))
        return inout;
    return in;
}

/* Let the kernel access an operand: where it is, or through a work area.
 *   is_possible  (OUT)  false: there is no work area that the kernel can access */
static int operand_prepare(struct reduce *rd, int i, bool * is_possible)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_side *side = &rd->side[i];
    const MPIR_Gpudt_ptr_t *ptr = &side->ptr;
    MPII_Gpudt_engine_t *other = NULL;

    *is_possible = true;
    if (ptr->mem == MPIR_GPUDT_MEM__DEVICE &&
        (ptr->device != rd->engine->device || (ptr->ctx && ptr->ctx != rd->engine->ctx))) {
        mpi_errno = MPII_Gpudt_engine_get(rd->engine->drv, ptr->device, ptr->ctx, &other);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (MPII_Gpudt_side_reach(rd->engine, other, side) &&
        ((uintptr_t) side->addr + side->shift) % rd->r->align == 0)
        goto fn_exit;
    MPII_Gpudt_area_get(rd->engine, MPII_GPUDT_AREA__DEVICE, &rd->area[i]);
    if (!rd->area[i] || rd->area[i]->kind != MPII_GPUDT_AREA__DEVICE) {
        MPII_GPUDT_COUNT(fallbacks_memory, 1);
        *is_possible = false;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Reduce elements [first, first + n) of the datatype, which are in place. */
static int part_reduce(struct reduce *rd, int64_t first, int64_t n)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_reduction *r = rd->r;
    uint64_t at[2];
    struct MPII_Gpudt_plan_reduce plan;
    struct MPII_Gpudt_flag flag = {.word = NULL };
    bool is_started = false;

    for (int i = 0; i < 2; i++)
        at[i] = rd->area[i] ? (uint64_t) (uintptr_t) rd->area[i]->mem :
            (uint64_t) (uintptr_t) operand_addr(rd, i, first) + rd->side[i].shift;
    struct MPII_Gpudt_plan_reduce_in in = {
        .kernel = r->kernel,.op = r->op,.size = r->size,.is_dense = r->is_dense,
        .in = at[0],.inout = at[1],.n = n * r->parts,
        .nsms = rd->engine->nsms,.max_blocks = MPIR_CVAR_GPUDT_MAX_BLOCKS
    };
    MPII_Gpudt_plan_reduce_make(&in, &plan);
    if (unlikely(MPIR_CVAR_GPUDT_TRACE))
        fprintf(stderr, "[%d] gpudt: reduce %lld elements of %d bytes, %lld quads\n",
                MPIR_Process.rank, (long long) in.n, in.size, (long long) plan.args.nquads);

    struct MPII_Gpudt_launch launch = {
        .engine = rd->engine,.lane = MPII_GPUDT_LANE__PACK,
        .kernel = plan.kernel,.grid = plan.grid,.args = &plan.args,.end = &plan.args.end,
        .flag = &flag,.is_waited_for = true
    };
    mpi_errno = MPII_Gpudt_kernel_start(&launch, &is_started);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKINTERNAL(!is_started, mpi_errno, "a GPU no longer has its kernels");
    mpi_errno = MPII_Gpudt_launch_wait(rd->engine, launch.lane, &flag, NULL, NULL);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Reduce all elements, as many at a time as a work area has room for. */
static int parts_reduce(struct reduce *rd)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_operands *o = rd->o;
    int64_t most = o->count, n;

    for (int i = 0; i < 2; i++) {
        if (rd->area[i])
            most = MPL_MIN(most, (int64_t) rd->area[i]->sz / rd->extent);
    }
    for (int64_t first = 0; first < o->count; first += n) {
        n = MPL_MIN(most, o->count - first);
        for (int i = 0; i < 2; i++) {
            if (rd->area[i]) {
                mpi_errno = MPIR_Localcopy(operand_addr(rd, i, first), n, o->datatype,
                                           rd->area[i]->mem, n, o->datatype);
                MPII_GPUDT_ERR_CHECK(mpi_errno);
            }
        }
        mpi_errno = part_reduce(rd, first, n);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        if (rd->area[1]) {
            mpi_errno = MPIR_Localcopy(rd->area[1]->mem, n, o->datatype,
                                       operand_addr(rd, 1, first), n, o->datatype);
            MPII_GPUDT_ERR_CHECK(mpi_errno);
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The same in the engine's context, which is current. */
static int reduce_run(struct reduce *rd, bool * is_done)
{
    int mpi_errno = MPI_SUCCESS;
    CUfunction function;
    bool is_possible;

    mpi_errno = MPII_Gpudt_module_kernel(rd->engine, rd->r->kernel, &function);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    is_possible = function != NULL;
    if (!is_possible)
        MPII_GPUDT_COUNT(fallbacks_image, 1);
    for (int i = 0; i < 2 && is_possible; i++) {
        mpi_errno = operand_prepare(rd, i, &is_possible);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (is_possible) {
        mpi_errno = parts_reduce(rd);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        MPII_GPUDT_COUNT(reductions, 1);
        *is_done = true;
    }

  fn_exit:
    for (int i = 0; i < 2; i++) {
        if (rd->area[i])
            MPII_Gpudt_area_put(rd->engine, rd->area[i]);
    }
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_reduce_by_kernel(const struct MPII_Gpudt_operands *o,
                                const struct MPII_Gpudt_reduction *r, bool * is_done)
{
    int mpi_errno = MPI_SUCCESS;
    const MPII_Gpudt_driver_t *drv = MPII_Gpudt_driver_get();
    struct reduce rd = {.o = o,.r = r,.extent = (int64_t) r->size * r->parts };
    MPII_Gpudt_ctx_t entered = {.ctx = NULL };

    *is_done = false;
    mpi_errno = operands_classify(&rd);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    /* The CPU would have to copy the result twice */
    if (rd.side[1].ptr.mem == MPIR_GPUDT_MEM__HOST)
        goto fn_exit;
    mpi_errno = MPII_Gpudt_engine_enter(drv, lead(&rd)->device, lead(&rd)->ctx, &rd.engine,
                                        &entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_GPUDT_PROFILE_PUSH("MPI reduction on GPU");
    mpi_errno = reduce_run(&rd, is_done);
    MPII_GPUDT_PROFILE_POP();
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    MPII_Gpudt_ctx_leave(drv, &entered);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
