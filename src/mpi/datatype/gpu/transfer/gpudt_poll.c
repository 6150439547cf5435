/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Operations in flight: test, wait, cancel. Must not know routes, kernels or streams. */

#include "mpiimpl.h"
#include "gpudt_batch.h"
#include "gpudt_run.h"
#include "tuning/gpudt_tuning.h"

#define FLAG_LOOKS 1000         /* checks of a flag by calls that do not block, before the driver is
                                 * asked */
#define FIRST_LOOKS 8           /* the same for a copy beside other work, if it is the next to end */
#define FIRST_SECONDS 20e-6     /* and was looked at in this time, */
#define COPY_LOOKS 64           /* and if it is not the next to end */

/* Advance an operation; an error if its context cannot be entered any more. The operation is freed
 * when it is complete or failed. */
static int op_progress(MPIR_Gpudt_op * op, bool * done)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *engine = op->engine;
    enum MPII_Gpudt_lane_e lane = op->lane;
    MPII_Gpudt_ctx_t entered;

    mpi_errno = MPII_Gpudt_engine_reenter(engine, &entered);
    if (mpi_errno == MPI_SUCCESS) {
        mpi_errno = MPII_Gpudt_op_advance(op, done);
        MPII_Gpudt_ctx_leave(op->drv, &entered);
    } else {
        MPII_Gpudt_op_drain(op);
        MPII_Gpudt_op_finish(op);
    }
    if (mpi_errno)
        *done = true;
    if (*done) {
        MPII_Gpudt_op_delete(op);
        MPII_Gpudt_batch_poll(engine, lane, false);
    }
    return mpi_errno;
}

/* The flag whose setting completes an operation; NULL: there is more to do. */
static struct MPII_Gpudt_flag *flag_last(MPIR_Gpudt_op * op)
{
    struct MPII_Gpudt_slice *slice = &op->slice[op->oldest];
    struct MPII_Gpudt_flag *flag = &slice->flag[slice->nsteps - 1];

    if (op->started < op->n || op->nbusy > 1 || slice->nsteps < MPII_Gpudt_op_nsteps(op))
        return NULL;
    return flag->word ? flag : NULL;
}

/* Complete an operation whose last flag is set. Makes no driver call, except to launch queued
 * moves. */
static void op_end(MPIR_Gpudt_op * op)
{
    MPII_Gpudt_engine_t *engine = op->engine;
    enum MPII_Gpudt_lane_e lane = op->lane;

    MPII_Gpudt_op_finish(op);
    MPII_Gpudt_op_delete(op);
    MPII_Gpudt_batch_poll(engine, lane, false);
}

/* Whether checking a flag again is all there is to do: costs a load. */
static bool flag_is_awaited(MPIR_Gpudt_op * op)
{
    const struct MPII_Gpudt_slice *slice = &op->slice[op->oldest];
    const struct MPII_Gpudt_flag *flag = &slice->flag[slice->nsteps - 1];

    if (!flag->word || (op->nbusy < op->nslices && op->started < op->n) ||
        ++op->nlooks % FLAG_LOOKS == 0)
        return false;
    /* The flag may be set while the thread that launched the batch still uses the operation */
    if (MPL_atomic_acquire_load_int(&op->queued.is_queued)) {
        MPII_Gpudt_batch_poll(op->engine, op->lane, false);
        if (MPL_atomic_acquire_load_int(&op->queued.is_queued))
            return true;
    }
    return op->queued.mpi_errno == MPI_SUCCESS && !MPII_Gpudt_flag_is_set(flag);
}

/* Operations in flight in the two lanes of a lane's direction. */
static int nflying_beside(const MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane)
{
    const bool is_out = lane == MPII_GPUDT_LANE__PACK || lane == MPII_GPUDT_LANE__PUSH;
    const MPL_atomic_int_t *n = engine->nflying;

    return MPL_atomic_relaxed_load_int(&n[is_out ? MPII_GPUDT_LANE__PACK :
                                          MPII_GPUDT_LANE__UNPACK]) +
        MPL_atomic_relaxed_load_int(&n[is_out ? MPII_GPUDT_LANE__PUSH : MPII_GPUDT_LANE__PULL]);
}

/* Whether the event of a copy need not be looked at now, because one before it on the stream is not
 * known to be complete, or because there is other work to look after. Asking the driver takes as
 * long as the packets of several messages do. */
static bool copy_is_early(MPIR_Gpudt_op * op)
{
    const MPII_Gpudt_engine_t *engine = op->engine;
    MPL_time_t now;
    double seconds;
    int ended;

    if (!op->is_copy || nflying_beside(engine, op->lane) <= 1)
        return false;
    ended = MPL_atomic_relaxed_load_int(&engine->copies_ended[op->lane]);
    if (MPII_Gpudt_copies_from(ended, op->copy) > 1)
        return ++op->nlooks % COPY_LOOKS;
    if (++op->nlooks % FIRST_LOOKS == 0)
        return false;
    /* A program that computes between its tests has nothing to wait for */
    MPL_wtime(&now);
    MPL_wtime_diff(&op->looked, &now, &seconds);
    if (seconds < FIRST_SECONDS)
        return true;
    op->looked = now;
    return false;
}

/*   is_urgent  (IN)  look also at a copy that others come before */
static int op_test(MPIR_Gpudt_op * op, bool is_urgent, int *done)
{
    int mpi_errno = MPI_SUCCESS;
    bool is_done = false;
    const struct MPII_Gpudt_flag *last;

    op->is_blocking = false;
    if (unlikely(!MPIR_Gpudt_takes_calls())) {
        *done = false;
        return MPI_SUCCESS;
    }
    if ((is_urgent || !copy_is_early(op)) && !flag_is_awaited(op)) {
        last = flag_last(op);
        if (last && !MPL_atomic_acquire_load_int(&op->queued.is_queued) &&
            op->queued.mpi_errno == MPI_SUCCESS && MPII_Gpudt_flag_is_set(last)) {
            op_end(op);
            is_done = true;
        } else {
            mpi_errno = op_progress(op, &is_done);
        }
        if (unlikely(!is_done && op->timing.is_on))
            MPII_Gpudt_timing_look(&op->timing);
    }
    *done = is_done;
    return mpi_errno;
}

int MPIR_Gpudt_test(MPIR_Gpudt_op * op, int *done)
{
    int mpi_errno;

    MPIR_FUNC_ENTER;

    mpi_errno = op_test(op, false, done);

    MPIR_FUNC_EXIT;
    return mpi_errno;
}

int MPIR_Gpudt_wait(MPIR_Gpudt_op * op)
{
    int mpi_errno = MPI_SUCCESS;
    bool is_done = false;
    const struct MPII_Gpudt_flag *last;

    MPIR_FUNC_ENTER;

    if (op) {
        op->is_blocking = true;
        MPIR_Gpudt_urge(op);
        last = flag_last(op);
        if (last && op->queued.mpi_errno == MPI_SUCCESS && MPII_Gpudt_flag_spin(last))
            op_end(op);
        else
            mpi_errno = op_progress(op, &is_done);
    }

    MPIR_FUNC_EXIT;
    return mpi_errno;
}

void MPIR_Gpudt_urge(MPIR_Gpudt_op * op)
{
    if (MPL_atomic_acquire_load_int(&op->queued.is_queued))
        MPII_Gpudt_batch_poll(op->engine, op->lane, true);
}

int MPIR_Gpudt_test_urgent(MPIR_Gpudt_op * op, int *done)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_flag *last;
    MPL_time_t start, now;
    double seconds;

    MPIR_FUNC_ENTER;

    MPIR_Gpudt_urge(op);
    last = flag_last(op);
    if (last && op->queued.mpi_errno == MPI_SUCCESS && MPII_Gpudt_flag_spin(last)) {
        op_end(op);
        *done = true;
        goto fn_exit;
    }
    MPL_wtime(&start);
    do {
        mpi_errno = op_test(op, true, done);
        MPL_wtime(&now);
        MPL_wtime_diff(&start, &now, &seconds);
    } while (!*done && last == NULL && seconds < MPII_GPUDT_FLAG_SECONDS);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
}

void MPIR_Gpudt_free(MPIR_Gpudt_op * op)
{
    if (op) {
        MPII_Gpudt_op_drain(op);
        MPII_Gpudt_op_finish(op);
        MPII_Gpudt_op_delete(op);
    }
}
