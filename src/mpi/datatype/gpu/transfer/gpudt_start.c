/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Starts transfers. Must not know their callers. */

#include "mpiimpl.h"
#include "gpudt_start.h"
#include "gpudt_error.h"
#include "gpudt_route.h"
#include "gpudt_run.h"
#include "gpudt_vars.h"
#include "driver/gpudt_profile.h"
#include "engine/gpudt_contexts.h"

/* Enter the lead's context, choose the route, and start. On failure nothing is in flight and the
 * operation holds no resources. */
static int op_begin(MPIR_Gpudt_op * op, bool * done)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_side *lead = MPII_Gpudt_lead(op);
    MPII_Gpudt_ctx_t entered = {.ctx = NULL };

    MPII_Gpudt_op_reset(op);
    op->engine = lead->engine;
    mpi_errno = lead->engine ?
        MPII_Gpudt_ctx_enter(op->drv, lead->engine->device, lead->engine->ctx, &entered) :
        MPII_Gpudt_engine_enter(op->drv, lead->ptr.device, lead->ptr.ctx, &op->engine, &entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_GPUDT_PROFILE_PUSH("MPI datatype on GPU");
    mpi_errno = MPII_Gpudt_route(op, lead);
    if (likely(mpi_errno == MPI_SUCCESS))
        mpi_errno = MPII_Gpudt_op_advance(op, done);
    MPII_GPUDT_PROFILE_POP();
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    MPII_Gpudt_ctx_leave(op->drv, &entered);
    return mpi_errno;
  fn_fail:
    MPII_Gpudt_op_release(op);
    goto fn_exit;
}

/* Start a transfer and wait for its end. */
static int op_run(MPIR_Gpudt_op * op)
{
    int mpi_errno = MPI_SUCCESS;
    bool done = false;

    op->drv = MPII_Gpudt_driver_get();
    op->is_blocking = true;
    op->timing.is_on = false;
    mpi_errno = op_begin(op, &done);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_GPUDT_COUNT(bytes, op->n);

  fn_exit:
    MPII_Gpudt_op_release(op);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_op_start_new(MPIR_Gpudt_op * work, MPIR_Gpudt_op ** op)
{
    int mpi_errno = MPI_SUCCESS;
    bool done = false;

    work->drv = MPII_Gpudt_driver_get();
    work->is_blocking = false;
    mpi_errno = op_begin(work, &done);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_GPUDT_COUNT(bytes, work->n);
    if (!done) {
        work->is_flying = true;
        if (work->is_copy)
            MPL_wtime(&work->looked);
        MPII_Gpudt_op_count(work, 1);
        *op = work;
        work = NULL;
    }

  fn_exit:
    if (work)
        MPII_Gpudt_op_delete(work);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_op_start(MPIR_Gpudt_op * local, MPIR_Gpudt_op ** op)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Gpudt_op *work;

    if (op == NULL)
        return op_run(local);
    work = MPII_Gpudt_op_make(local->n, local->lane);
    MPIR_ERR_CHKANDJUMP1(!work, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s",
                         "GPU operation");
    work->src = local->src;
    work->dst = local->dst;
    work->mapping = local->mapping;
    work->is_alone = local->is_alone;
    work->max_blocks = local->max_blocks;
    work->ahead = local->ahead;
    local->src.type = local->dst.type = NULL;
    local->mapping = NULL;
    return MPII_Gpudt_op_start_new(work, op);

  fn_fail:
    MPII_Gpudt_op_release(local);
    return mpi_errno;
}
