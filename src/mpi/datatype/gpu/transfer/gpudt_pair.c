/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Starts moves from datatype to datatype. Must not know routes, nor where datatypes come from. */

#include "mpiimpl.h"
#include "gpudt_pair.h"
#include "gpudt_batch.h"
#include "gpudt_choice.h"
#include "gpudt_error.h"
#include "gpudt_lane.h"
#include "gpudt_launch.h"
#include "tuning/gpudt_tuning.h"
#include "gpudt_plan_cache.h"
#include "gpudt_stream.h"
#include "gpudt_vars.h"
#include "driver/gpudt_sharing.h"
#include "plan/gpudt_plan.h"
#include "plan/gpudt_plan_pair.h"
#include "engine/gpudt_module.h"
#include "engine/gpudt_upload.h"

/* Whether the program wants the driver's copy of rows wherever it applies. */
static bool is_copy_forced(void)
{
    return MPII_Gpudt_allowed_strategies() == 1u << MPII_GPUDT_STRATEGY__COPY2D;
}

int MPII_Gpudt_pair_prepare(MPII_Gpudt_engine_t * engine, const struct MPII_Gpudt_side *src,
                            const struct MPII_Gpudt_side *dst, bool * is_possible)
{
    static const int kernels[] = {
        MPII_GPUDT_KERNEL__PAIR32, MPII_GPUDT_KERNEL__PAIR64, MPII_GPUDT_KERNEL__PAIRBOX,
        MPII_GPUDT_KERNEL__PAIRLIST, MPII_GPUDT_KERNEL__PAIRRUNS
    };
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_side *side[2] = { src, dst };
    struct MPII_Gpudt_image_at at;
    CUfunction function;

    *is_possible = false;
    /* Rows are copied so between GPUs only */
    if (!(MPII_Gpudt_allowed_strategies() & 1u << MPII_GPUDT_STRATEGY__PAIR) &&
        !(is_copy_forced() && (src->place == MPII_GPUDT_PLACE__PEER) !=
          (dst->place == MPII_GPUDT_PLACE__PEER)))
        goto fn_exit;
    /* Without kernels the steps by a work area find that out again, and count it */
    *is_possible = true;
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]) && *is_possible; i++) {
        mpi_errno = MPII_Gpudt_module_kernel(engine, kernels[i], &function);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        *is_possible = function != NULL;
    }
    for (int i = 0; i < 2 && *is_possible; i++) {
        mpi_errno = MPII_Gpudt_image_get(engine, side[i]->type, &at, is_possible);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void pair_trace(const struct MPII_Gpudt_pair *p, const struct MPII_Gpudt_plan_pair *plan)
{
    fprintf(stderr, "[%d] gpudt: copy [%lld, %lld) by pair of %s and %s, %.0f ns, rows %.0f ns\n",
            MPIR_Process.rank, (long long) p->pos, (long long) (p->pos + p->len),
            MPII_Gpudt_plan_strategy_name(plan->strategy[0]),
            MPII_Gpudt_plan_strategy_name(plan->strategy[1]), plan->cost, plan->copy_cost);
}

/* Queue a move between boxes, if it would wait for others anyway. */
static int pair_queue(const struct MPII_Gpudt_pair *p, struct MPII_Gpudt_plan_pair *plan,
                      bool * is_queued)
{
    const struct MPII_Gpudt_args_pairbox *args = &plan->args.box;
    const struct MPII_Gpudt_planned what = {
        .kernel = plan->kernel,
        .grid = plan->grid,
        .args = args,
        .args_sz = sizeof(*args),
        .args_used = offsetof(struct MPII_Gpudt_args_pairbox, side[1].levels.level) +
            args->side[1].levels.nlevels * sizeof(struct MPII_Gpudt_level),
        .end = &plan->args.end,
        .src_at = offsetof(struct MPII_Gpudt_args_pairbox, side[0].user),
        .dst_at = offsetof(struct MPII_Gpudt_args_pairbox, side[1].user),
        .bytes = p->len,
        .most_ahead = p->len > MPII_GPUDT_BATCH_MEDIUM ? MPII_GPUDT_BATCH_AHEAD_GPU :
            MPII_GPUDT_BATCH_AHEAD,
        .flag = p->flag,
        .queued = p->may_queue
    };

    return MPII_Gpudt_batch_add_planned(p->engine, p->lane, &what, is_queued);
}

/* Let the driver copy, if that is faster or wanted.
 *   is_started  (OUT)  false: not, or the driver refuses, as it does for rows in more than one
 *                      allocation */
static void pair_copy(const struct MPII_Gpudt_pair *p, const struct MPII_Gpudt_plan_pair *plan,
                      bool * is_started)
{
    *is_started = plan->copy_cost > 0 &&
        (is_copy_forced() ||
         (plan->copy_cost < plan->cost &&
          MPII_Gpudt_batch_prefers_copy(p->engine, p->lane, p->len))) &&
        MPII_Gpudt_rows_copy(p->engine, p->lane, &plan->copy) == CUDA_SUCCESS;
    if (*is_started)
        MPII_GPUDT_COUNT(copies, 1);
}

int MPII_Gpudt_pair_start(const struct MPII_Gpudt_pair *p)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_side *const side[2] = { p->src, p->dst };
    struct MPII_Gpudt_plan_in in[2];
    struct MPII_Gpudt_plan_pair plan;
    enum MPII_Gpudt_lane_e lane = p->lane;
    bool is_started = false;

    if (p->flag)
        p->flag->word = NULL;
    for (int i = 0; i < 2; i++) {
        MPII_Gpudt_plan_in_set(p->engine, side[i], p->pos, p->len, &in[i]);
        mpi_errno = MPII_Gpudt_upload_get(p->engine, side[i]->type, &in[i].image);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    MPII_Gpudt_plan_pair_find(p->engine, side, in, &plan);
    if (unlikely(MPIR_CVAR_GPUDT_TRACE))
        pair_trace(p, &plan);

    /* On a shared GPU what comes after the end of another launch may have to wait for its turn */
    if (p->may_queue && plan.kernel == MPII_GPUDT_KERNEL__PAIRBOX && !is_copy_forced() &&
        !MPII_Gpudt_is_shared(p->engine->shared)) {
        mpi_errno = pair_queue(p, &plan, &is_started);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (!is_started)
        pair_copy(p, &plan, &is_started);
    if (is_started)
        goto fn_exit;
    if (p->may_leave)
        lane = *p->may_leave = MPII_Gpudt_lane_least(p->engine, lane, p->len,
                                                     plan.kernel == MPII_GPUDT_KERNEL__PAIRBOX);
    struct MPII_Gpudt_launch launch = {
        .engine = p->engine,
        .lane = lane,
        .kernel = plan.kernel,
        .grid = plan.grid,
        .args = &plan.args,
        .end = &plan.args.end,
        .flag = p->flag,
        .is_waited_for = p->is_waited_for
    };
    mpi_errno = MPII_Gpudt_kernel_start(&launch, &is_started);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKINTERNAL(!is_started, mpi_errno, "a GPU no longer has its kernels");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
