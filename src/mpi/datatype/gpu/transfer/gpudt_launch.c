/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Starts a plan on an engine's stream: a kernel launch or a driver copy. The only decision made
 * here is what to do without kernels. Must not know routes. */

#include "mpiimpl.h"
#include "gpudt_launch.h"
#include "gpudt_batch.h"
#include "gpudt_choice.h"
#include "gpudt_error.h"
#include "gpudt_lane.h"
#include "gpudt_rowcopy.h"
#include "gpudt_stream.h"
#include "tuning/gpudt_tuning.h"
#include "gpudt_vars.h"
#include "plan/gpudt_plan.h"
#include "driver/gpudt_sharing.h"
#include "engine/gpudt_module.h"
#include "engine/gpudt_upload.h"

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
        as are fastest. With a limit, operations do not share launches (MPIR_CVAR_GPUDT_BATCH).

    - name        : MPIR_CVAR_GPUDT_TRACE
      category    : GPUDT
      type        : boolean
      default     : false
      class       : none
      verbosity   : MPI_T_VERBOSITY_MPIDEV_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        If true, print to stderr the plan of each pack, unpack and copy by a GPU, the way of each message
        and window operation, and what memory of other processes is mapped.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* Contiguous memory as a datatype of one block, which may be longer than the range to move. */
struct contig {
    struct MPII_Gpudt_record record;
    struct MPII_Gpudt_serial serial;
};

/* Let the stream of contiguous user memory begin where the widest unit may begin. Units are as wide
 * as the distance between the two sides allows. */
static void contig_set(struct contig *c, struct MPII_Gpudt_plan_in *in)
{
    const int64_t len = in->last - in->first;

    in->user += (uint64_t) in->first;
    in->first = (int64_t) (in->user % MPII_GPUDT_UNIT_MAX);
    in->last = in->first + len;
    in->user -= (uint64_t) in->first;
    in->allowed = 1u << MPII_GPUDT_STRATEGY__BOX;
    if (in->switch_ns > 0)
        in->allowed |= 1u << MPII_GPUDT_STRATEGY__COPY1D;

    memset(c, 0, sizeof(*c));
    c->record.kind = MPII_GPUDT_KIND__BLOCK;
    c->record.child = -1;
    c->record.count = 1;
    c->record.size = (in->last + MPII_GPUDT_UNIT_MAX - 1) / MPII_GPUDT_UNIT_MAX * MPII_GPUDT_UNIT_MAX;
    c->serial.nrecords = c->serial.depth = 1;
    c->serial.records = &c->record;
    c->serial.size = c->serial.extent = c->serial.true_extent = c->record.size;
    c->serial.block_gcd = MPII_GPUDT_UNIT_MAX;
    c->serial.nblocks = 1;
    in->serial = &c->serial;
    in->top = &c->record;
}

void MPII_Gpudt_plan_in_set(const MPII_Gpudt_engine_t * engine, const struct MPII_Gpudt_side *side,
                            int64_t pos, int64_t len, struct MPII_Gpudt_plan_in *in)
{
    *in = (struct MPII_Gpudt_plan_in) {
        .first = (side->type ? side->first : 0) + pos,
        .user = (uint64_t) (uintptr_t) side->addr + side->shift,
        .user_place = side->place,
        .nsms = engine->nsms,
        .switch_ns = MPII_Gpudt_is_shared(engine->shared) ? MPII_GPUDT_SWITCH_NS : 0,
        .max_blocks = MPIR_CVAR_GPUDT_MAX_BLOCKS,
        .allowed = MPII_Gpudt_allowed_strategies()
    };
    in->last = in->first + len;
    if (side->type) {
        in->serial = &side->type->serial;
        in->top = &side->top;
    }
    if (in->max_blocks == 0 && in->user_place == MPII_GPUDT_PLACE__HOST)
        in->max_blocks = MPII_GPUDT_HOST_BLOCKS_PER_SM * engine->nsms;
}

/* Fill in the input of the plan, except the datatype's image.
 *   contig  (OUT)  in refers to it if the side is contiguous */
static void in_set(const struct MPII_Gpudt_move *m, struct contig *contig,
                   struct MPII_Gpudt_plan_in *in)
{
    MPII_Gpudt_plan_in_set(m->engine, m->side, m->pos, m->len, in);
    in->packed = m->contig;
    in->packed_place = m->contig_place;
    in->unpack = m->unpack;
    if (m->side->type == NULL)
        contig_set(contig, in);
    if (m->max_blocks && (in->max_blocks == 0 || in->max_blocks > m->max_blocks))
        in->max_blocks = m->max_blocks;
    if (in->max_blocks == 0 && in->packed_place == MPII_GPUDT_PLACE__HOST)
        in->max_blocks = MPII_GPUDT_HOST_BLOCKS_PER_SM * m->engine->nsms;
}

int MPII_Gpudt_image_get(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_type *type,
                         struct MPII_Gpudt_image_at *at, bool * is_available)
{
    int mpi_errno = MPII_Gpudt_upload_get(engine, type, at);

    *is_available = mpi_errno == MPI_SUCCESS;
    if (mpi_errno && MPIR_ERR_GET_CLASS(mpi_errno) == MPI_ERR_NO_MEM) {
        MPII_GPUDT_COUNT(fallbacks_memory, 1);
        mpi_errno = MPI_SUCCESS;
    }
    return mpi_errno;
}

/* Whether kernels can run on this device; if so, in gets the addresses of the image. */
static int kernels_are_ready(const struct MPII_Gpudt_move *m, struct MPII_Gpudt_plan_in *in,
                             bool * is_ready)
{
    int mpi_errno = MPI_SUCCESS;

    *is_ready = false;
    if (in->allowed == 0)
        goto fn_exit;
    mpi_errno = MPII_Gpudt_module_usable(m->engine, is_ready);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (!*is_ready)
        MPII_GPUDT_COUNT(fallbacks_image, 1);
    else if (m->side->type)
        mpi_errno = MPII_Gpudt_image_get(m->engine, m->side->type, &in->image, is_ready);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Start the copy of a plan.
 *   is_started  (OUT)  false: the driver refuses rows, as it does if they are in more than one
 *                      allocation */
static int plan_copy(const struct MPII_Gpudt_move *m, const struct MPII_Gpudt_plan *plan,
                     bool * is_started)
{
    int mpi_errno = MPI_SUCCESS;
    CUresult res;
    const struct MPII_Gpudt_copy *c = &plan->copy;
    const struct MPII_Gpudt_rows rows = {
        .src = m->unpack ? c->packed : c->user,
        .dst = m->unpack ? c->user : c->packed,
        .width = c->width,.rows = c->rows,.planes = c->planes,
        .src_pitch = m->unpack ? c->width : c->pitch,
        .dst_pitch = m->unpack ? c->pitch : c->width,
        .src_height = m->unpack ? c->rows : c->height,
        .dst_height = m->unpack ? c->height : c->rows
    };

    *is_started = true;
    if (plan->strategy == MPII_GPUDT_STRATEGY__COPY1D)
        return MPII_Gpudt_copy_launch(m->engine, m->lane, (char *) rows.dst, (char *) rows.src,
                                      c->width);
    res = MPII_Gpudt_rows_copy(m->engine, m->lane, &rows);
    /* A kernel can do it as well; an error that is not the copy's own shows again then */
    *is_started = res != CUDA_ERROR_INVALID_VALUE && (res == CUDA_SUCCESS || c->planes <= 1);
    if (res == CUDA_SUCCESS)
        MPII_GPUDT_COUNT(copies, 1);
    else if (*is_started)
        mpi_errno = MPII_Gpudt_driver_error(m->engine->drv, res, "cuMemcpy2DAsync", __func__,
                                            __LINE__);
    return mpi_errno;
}

int MPII_Gpudt_kernel_start(const struct MPII_Gpudt_launch *l, bool * is_started)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *engine = l->engine;
    struct MPII_Gpudt_flag *flag = l->flag;
    CUfunction function;

    mpi_errno = MPII_Gpudt_module_kernel(engine, l->kernel, &function);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (function == NULL) {
        MPII_GPUDT_COUNT(fallbacks_image, 1);
        goto fn_exit;
    }
    MPII_Gpudt_module_modest(engine, l->kernel, function,
                             !l->is_waited_for || l->kernel == MPII_GPUDT_KERNEL__PAIR32 ||
                             l->kernel == MPII_GPUDT_KERNEL__PAIR64 ||
                             l->kernel == MPII_GPUDT_KERNEL__COPIES_FEW);
    if (flag && (l->grid <= MPII_GPUDT_FLAG_BLOCKS || !l->is_waited_for))
        MPII_Gpudt_flag_get(engine, l->lane, l->grid, flag);
    if (flag && flag->word)
        MPII_Gpudt_flag_ask(l->end, flag);
    /* The blocks that have the flag to set know which one is the last */
    if (l->ahead && (l->unpack || (flag && flag->word))) {
        *l->semaphore = l->ahead->semaphore;
        l->ahead->is_used = true;
    }
    mpi_errno = MPII_Gpudt_kernel_launch(engine, l->lane, l->kernel, function, l->grid, l->args,
                                         MPL_atomic_relaxed_load_int(&engine->nflying[l->lane]) ==
                                         0);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
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

/* Make the plan and start it.
 *   is_started  (OUT)  false if the device has no kernels */
static int plan_start(const struct MPII_Gpudt_move *m, struct MPII_Gpudt_plan_in *in,
                      bool * is_started)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_plan plan;
    enum MPII_Gpudt_lane_e lane = m->lane;

    if ((in->user_place == MPII_GPUDT_PLACE__PEER || in->packed_place == MPII_GPUDT_PLACE__PEER) &&
        !MPII_Gpudt_batch_prefers_copy(m->engine, m->lane, m->len))
        in->allowed &= ~(1u << MPII_GPUDT_STRATEGY__COPY2D);
    MPII_Gpudt_plan_make(in, &plan);
    if (unlikely(MPIR_CVAR_GPUDT_TRACE))
        fprintf(stderr, "[%d] gpudt: %s [%lld, %lld) by %s, %.0f ns\n", MPIR_Process.rank,
                m->unpack ? "unpack" : "pack", (long long) in->first, (long long) in->last,
                MPII_Gpudt_plan_strategy_name(plan.strategy), plan.cost);
    if (plan.strategy == MPII_GPUDT_STRATEGY__COPY1D ||
        plan.strategy == MPII_GPUDT_STRATEGY__COPY2D) {
        mpi_errno = plan_copy(m, &plan, is_started);
        if (mpi_errno || *is_started)
            return mpi_errno;
        in->allowed &= ~(1u << MPII_GPUDT_STRATEGY__COPY2D);
        MPII_Gpudt_plan_make(in, &plan);
    }
    if (m->may_leave)
        lane = MPII_Gpudt_lane_least(m->engine, lane, m->len, plan.strategy == MPII_GPUDT_STRATEGY__BOX);
    struct MPII_Gpudt_launch launch = {
        .engine = m->engine,
        .lane = lane,
        .kernel = plan.kernel,
        .grid = plan.grid,
        .args = &plan.args,
        .end = &plan.args.span.end,
        .flag = m->flag,
        .is_waited_for = m->is_waited_for,
        .semaphore = &plan.args.span.semaphore,
        .ahead = m->ahead,
        .unpack = m->unpack
    };
    mpi_errno = MPII_Gpudt_kernel_start(&launch, is_started);
    if (m->may_leave && *is_started)
        *m->may_leave = lane;
    return mpi_errno;
}

int MPII_Gpudt_launch(const struct MPII_Gpudt_move *m)
{
    int mpi_errno = MPI_SUCCESS;
    bool is_ready, is_started = false;
    struct contig contig;
    struct MPII_Gpudt_plan_in in;

    if (m->flag)
        m->flag->word = NULL;
    in_set(m, &contig, &in);
    mpi_errno = kernels_are_ready(m, &in, &is_ready);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (m->ahead && (m->unpack || m->ahead->is_promised))
        in.allowed &= ~(1u << MPII_GPUDT_STRATEGY__COPY1D | 1u << MPII_GPUDT_STRATEGY__COPY2D);
    if (is_ready && m->may_queue) {
        mpi_errno = MPII_Gpudt_batch_add(m, &in, &is_started);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (is_ready && !is_started) {
        mpi_errno = plan_start(m, &in, &is_started);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    /* What is to be unpacked may not be there yet: the caller sees that nothing was */
    if (!is_started && !(m->ahead && m->unpack)) {
        mpi_errno = MPII_Gpudt_rows_launch(m);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
