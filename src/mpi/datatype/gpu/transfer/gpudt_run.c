/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Runs routed transfers, slice by slice: starts their steps, and waits for the GPU or tests for
 * completion. Must not know how a route is chosen. */

#include "mpiimpl.h"
#include "gpudt_run.h"
#include "gpudt_batch.h"
#include "gpudt_error.h"
#include "gpudt_step.h"
#include "tuning/gpudt_tuning.h"

static int slice_run(MPIR_Gpudt_op * op, struct MPII_Gpudt_slice *slice, bool * ended);
static int slice_wait(MPIR_Gpudt_op * op, struct MPII_Gpudt_slice *slice, bool * ready);
static int queue_leave(MPIR_Gpudt_op * op, bool * is_started);
static int flag_wait(MPIR_Gpudt_op * op, const struct MPII_Gpudt_step *step,
                     struct MPII_Gpudt_flag *flag, bool * ready);

/* ---- the whole transfer ---- */

int MPII_Gpudt_op_advance(MPIR_Gpudt_op * op, bool * done)
{
    int mpi_errno = MPI_SUCCESS;
    bool ended, ready;

    *done = false;
    while (true) {
        while (op->nbusy < op->nslices && op->started < op->n) {
            struct MPII_Gpudt_slice *fresh =
                &op->slice[(op->oldest + op->nbusy) % op->nslices];
            fresh->pos = op->started;
            fresh->len = MPL_MIN(op->slice_sz, op->n - op->started);
            fresh->nsteps = 0;
            op->started += fresh->len;
            op->nbusy++;
            mpi_errno = slice_run(op, fresh, &ended);
            MPII_GPUDT_ERR_CHECK(mpi_errno);
        }
        if (op->nbusy == 0)
            break;

        struct MPII_Gpudt_slice *oldest = &op->slice[op->oldest];
        mpi_errno = slice_wait(op, oldest, &ready);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        if (!ready)
            goto fn_exit;
        mpi_errno = slice_run(op, oldest, &ended);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        if (ended) {
            op->oldest = (op->oldest + 1) % op->nslices;
            op->nbusy--;
        }
    }
    *done = true;
    MPII_Gpudt_op_finish(op);

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPII_Gpudt_op_drain(op);
    MPII_Gpudt_op_finish(op);
    goto fn_exit;
}

/* ---- one slice ---- */

/* Start the steps of a slice that can be started without waiting.
 *   ended  (OUT)  true: all are complete; false: the last one started is in flight on the GPU */
static int slice_run(MPIR_Gpudt_op * op, struct MPII_Gpudt_slice *slice, bool * ended)
{
    int mpi_errno = MPI_SUCCESS;
    int total = MPII_Gpudt_op_nsteps(op);

    *ended = false;
    while (slice->nsteps < total) {
        int i = slice->nsteps;

        mpi_errno = MPII_Gpudt_step_start(op, slice, i);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        slice->nsteps++;
        if (MPII_Gpudt_step_is_awaited(op, i))
            goto fn_exit;
        if (op->step[i].engine && slice->nsteps < total) {
            mpi_errno = MPII_Gpudt_step_follow(op, slice, i);
            MPII_GPUDT_ERR_CHECK(mpi_errno);
        }
    }
    *ended = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Launch an operation's queued move, unless a non-blocking call has just queued it.
 *   is_started  (OUT)  whether the move has left the queue */
static int queue_leave(MPIR_Gpudt_op * op, bool * is_started)
{
    if (MPL_atomic_acquire_load_int(&op->queued.is_queued)) {
        if (op->is_blocking || op->nlooks > 0)
            MPII_Gpudt_batch_poll(op->engine, op->lane, true);
        *is_started = !MPL_atomic_acquire_load_int(&op->queued.is_queued);
    }
    return *is_started ? op->queued.mpi_errno : MPI_SUCCESS;
}

/* Wait for a step without a flag, whose engine's context is current: for its event, or for its
 * stream if it has none. Or only test the event if the call must not block. */
static int step_wait(const MPIR_Gpudt_op * op, const struct MPII_Gpudt_step *step, CUevent event,
                     bool * ready)
{
    int mpi_errno = MPI_SUCCESS;
    CUresult res;

    if (!op->is_blocking) {
        res = op->drv->cuEventQuery(event);
        *ready = res != CUDA_ERROR_NOT_READY;
        if (*ready && res != CUDA_SUCCESS)
            mpi_errno = MPII_Gpudt_driver_error(op->drv, res, "cuEventQuery", __func__, __LINE__);
    } else if (event) {
        MPII_GPUDT_CHECK(op->drv, cuEventSynchronize(event), mpi_errno);
    } else {
        MPII_GPUDT_CHECK(op->drv, cuStreamSynchronize(step->engine->streams[step->lane]),
                         mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Wait for the last step started, which is a GPU's, or only test if the call must not block. */
static int slice_wait(MPIR_Gpudt_op * op, struct MPII_Gpudt_slice *slice, bool * ready)
{
    int mpi_errno = MPI_SUCCESS;
    int i = slice->nsteps - 1;
    MPII_Gpudt_engine_t *engine = op->step[i].engine;
    MPII_Gpudt_ctx_t entered = {.ctx = NULL };

    *ready = true;
    mpi_errno = queue_leave(op, ready);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (!*ready)
        goto fn_exit;
    if (slice->flag[i].word && MPII_Gpudt_flag_is_set(&slice->flag[i])) {
        MPII_Gpudt_flag_put(engine, &slice->flag[i]);
        goto fn_exit;
    }
    if (engine != op->engine) {
        mpi_errno = MPII_Gpudt_ctx_enter(op->drv, engine->device, engine->ctx, &entered);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

    mpi_errno = slice->flag[i].word ? flag_wait(op, &op->step[i], &slice->flag[i], ready) :
        step_wait(op, &op->step[i], slice->event[i], ready);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    MPII_Gpudt_ctx_leave(op->drv, &entered);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

bool MPII_Gpudt_flag_spin(const struct MPII_Gpudt_flag *flag)
{
    MPL_time_t start, now;
    double seconds;

    MPL_wtime(&start);
    do {
        for (int i = 0; i < 100; i++) {
            if (MPII_Gpudt_flag_is_set(flag))
                return true;
        }
        MPL_wtime(&now);
        MPL_wtime_diff(&start, &now, &seconds);
    } while (seconds < MPII_GPUDT_FLAG_SECONDS);
    return false;
}

int MPII_Gpudt_launch_wait(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                           struct MPII_Gpudt_flag *flag, void (*others) (void),
                           MPII_Gpudt_ctx_t * entered)
{
    int mpi_errno = MPI_SUCCESS;

    if (flag->word && MPII_Gpudt_flag_spin(flag))
        goto fn_exit;
    /* Other threads may launch more on the stream meanwhile */
    while (others && !(flag->word && MPII_Gpudt_flag_is_set(flag)) &&
           engine->drv->cuStreamQuery(engine->streams[lane]) == CUDA_ERROR_NOT_READY) {
        MPII_Gpudt_ctx_leave(engine->drv, entered);
        others();
        /* The kernel may complete all the same, and until then it accesses the buffers */
        if (MPII_Gpudt_engine_reenter_twice(engine, entered))
            break;
    }
    if (!(flag->word && MPII_Gpudt_flag_is_set(flag)))
        MPII_GPUDT_CHECK(engine->drv, cuStreamSynchronize(engine->streams[lane]), mpi_errno);

  fn_exit:
    MPII_Gpudt_flag_put(engine, flag);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Wait for a flag. Now and then check whether its kernel has failed. */
static int flag_wait(MPIR_Gpudt_op * op, const struct MPII_Gpudt_step *step,
                     struct MPII_Gpudt_flag *flag, bool * ready)
{
    int mpi_errno = MPI_SUCCESS;
    CUstream stream = step->engine->streams[step->lane];

    *ready = false;
    if (op->is_blocking) {
        /* Longer waits are left to the driver, which may yield the processor */
        if (!MPII_Gpudt_flag_spin(flag))
            MPII_GPUDT_CHECK(op->drv, cuStreamSynchronize(stream), mpi_errno);
        *ready = true;
    } else if (op->nlooks > 0) {
        CUresult res = op->drv->cuStreamQuery(stream);
        if (res != CUDA_SUCCESS && res != CUDA_ERROR_NOT_READY) {
            mpi_errno = MPII_Gpudt_driver_error(op->drv, res, "cuStreamQuery", __func__, __LINE__);
            goto fn_fail;
        }
        *ready = res == CUDA_SUCCESS;
    }
    if (*ready)
        MPII_Gpudt_flag_put(step->engine, flag);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
