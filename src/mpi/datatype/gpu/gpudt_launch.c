/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* From a plan to work on an engine's stream: kernel launch or driver copy. Decides nothing but
 * what to do without kernels; must not know routes. */

#include "gpudt_internal.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_MAX_BLOCKS
      category    : GPUDT
      type        : int
      default     : 0
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Thread blocks of a kernel at most, to leave multiprocessors to the application. 0: as many
        as are fastest.

    - name        : MPIR_CVAR_GPUDT_TRACE
      category    : GPUDT
      type        : boolean
      default     : false
      class       : none
      verbosity   : MPI_T_VERBOSITY_MPIDEV_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        If true, print the plan of each move by a GPU to stderr.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

static int plan_copy(MPII_Gpudt_engine_t * engine, const struct MPII_Gpudt_plan *plan, bool unpack);
static int plan_kernel(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_plan *plan,
                       struct MPII_Gpudt_flag *flag, bool * is_started);
static bool kernels_are_ready(MPII_Gpudt_engine_t * engine, const struct MPII_Gpudt_side *side,
                              struct MPII_Gpudt_plan_in *in, int *mpi_errno);

int MPII_Gpudt_launch(MPII_Gpudt_engine_t * engine, const struct MPII_Gpudt_side *side,
                      int64_t pos, int64_t len, uint64_t contig,
                      enum MPII_Gpudt_place_e contig_place, bool unpack,
                      struct MPII_Gpudt_flag *flag)
{
    int mpi_errno = MPI_SUCCESS;
    bool is_started = false;
    struct MPII_Gpudt_plan plan;
    struct MPII_Gpudt_plan_in in = {
        .serial = &side->type->serial,
        .top = &side->top,
        .first = side->first + pos,
        .last = side->first + pos + len,
        .user = (uint64_t) (uintptr_t) side->addr + side->shift,
        .packed = contig,
        .user_place = side->place,
        .packed_place = contig_place,
        .unpack = unpack,
        .nsms = engine->nsms,
        .max_blocks = MPIR_CVAR_GPUDT_MAX_BLOCKS,
        .allowed = MPII_Gpudt_allowed_strategies()
    };

    if (flag)
        flag->word = NULL;
    if (kernels_are_ready(engine, side, &in, &mpi_errno)) {
        MPII_Gpudt_plan_make(&in, &plan);
        if (unlikely(MPIR_CVAR_GPUDT_TRACE))
            fprintf(stderr, "[%d] gpudt: %s [%lld, %lld) by %s, %.0f ns\n", MPIR_Process.rank,
                    unpack ? "unpack" : "pack", (long long) in.first, (long long) in.last,
                    MPII_Gpudt_plan_strategy_name(plan.strategy), plan.cost);
        if (plan.strategy == MPII_GPUDT_STRATEGY__COPY1D ||
            plan.strategy == MPII_GPUDT_STRATEGY__COPY2D) {
            mpi_errno = plan_copy(engine, &plan, unpack);
            is_started = true;
        } else {
            mpi_errno = plan_kernel(engine, &plan, flag, &is_started);
        }
    }
    MPII_GPUDT_ERR_CHECK(mpi_errno);

    if (!is_started) {
        mpi_errno = MPII_Gpudt_rows_launch(engine, side, pos, len, (char *) (uintptr_t) contig,
                                           unpack);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Whether a plan can be carried out on this device; if so, in gets the addresses it needs. */
static bool kernels_are_ready(MPII_Gpudt_engine_t * engine, const struct MPII_Gpudt_side *side,
                              struct MPII_Gpudt_plan_in *in, int *mpi_errno)
{
    bool usable = false;

    if (in->allowed == 0)
        return false;
    *mpi_errno = MPII_Gpudt_module_usable(engine, &usable);
    if (*mpi_errno)
        return false;
    if (!usable) {
        MPII_GPUDT_COUNT(fallbacks_image, 1);
        return false;
    }
    *mpi_errno = MPII_Gpudt_upload_get(engine, side->type, &in->image);
    if (*mpi_errno && MPIR_ERR_GET_CLASS(*mpi_errno) == MPI_ERR_NO_MEM) {
        MPII_GPUDT_COUNT(fallbacks_memory, 1);
        *mpi_errno = MPI_SUCCESS;
        return false;
    }
    return *mpi_errno == MPI_SUCCESS;
}

static int plan_copy(MPII_Gpudt_engine_t * engine, const struct MPII_Gpudt_plan *plan, bool unpack)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_copy *c = &plan->copy;
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = unpack ? c->packed : c->user,
        .srcPitch = unpack ? c->width : c->pitch,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = unpack ? c->user : c->packed,
        .dstPitch = unpack ? c->pitch : c->width,
        .WidthInBytes = c->width,
        .Height = c->rows
    };

    if (plan->strategy == MPII_GPUDT_STRATEGY__COPY1D)
        MPII_GPUDT_CHECK(engine->drv, cuMemcpyAsync(copy.dstDevice, copy.srcDevice, c->width,
                                                    engine->stream), mpi_errno);
    else
        MPII_GPUDT_CHECK(engine->drv, cuMemcpy2DAsync(&copy, engine->stream), mpi_errno);
    MPII_GPUDT_COUNT(copies, 1);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* is_started is false afterwards if the device turns out to have no kernels after all. */
static int plan_kernel(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_plan *plan,
                       struct MPII_Gpudt_flag *flag, bool * is_started)
{
    int mpi_errno = MPI_SUCCESS;
    CUfunction function;
    void *params[] = { (void *) &plan->args };

    mpi_errno = MPII_Gpudt_module_kernel(engine, plan->kernel, &function);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (function == NULL) {
        MPII_GPUDT_COUNT(fallbacks_image, 1);
        goto fn_exit;
    }
    if (flag && plan->grid == 1)
        MPII_Gpudt_flag_get(engine, flag);
    if (flag && flag->word) {
        plan->args.span.flag = flag->addr;
        plan->args.span.flag_value = flag->value;
    }
    MPII_GPUDT_CHECK(engine->drv, cuLaunchKernel(function, plan->grid, 1, 1, MPII_GPUDT_THREADS, 1,
                                                 1, 0, engine->stream, params, NULL), mpi_errno);
    MPII_GPUDT_COUNT(launches, 1);
    if (flag && flag->word)
        MPII_GPUDT_COUNT(flags, 1);
    *is_started = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (flag)
        MPII_Gpudt_flag_put(engine, flag);
    goto fn_exit;
}
