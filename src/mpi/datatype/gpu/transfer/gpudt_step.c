/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Starts the steps of a transfer: kernels, driver copies, copies by the CPU. Must not know how a
 * route is chosen, nor who waits for a step. */

#include "mpiimpl.h"
#include "gpudt_step.h"
#include "gpudt_batch.h"
#include "gpudt_error.h"
#include "gpudt_launch.h"
#include "tuning/gpudt_tuning.h"
#include "gpudt_pair.h"
#include "gpudt_rowcopy.h"
#include "gpudt_stream.h"
#include "gpudt_vars.h"
#include "cpu/gpudt_cpu.h"

/* Copy by the CPU between a side and the work area. */
static int step_cpu(const struct MPII_Gpudt_side *side, const struct MPII_Gpudt_slice *slice,
                    bool unpack)
{
    MPII_GPUDT_COUNT(cpu_bytes, slice->len);
    if (side->type)
        MPII_Gpudt_cpu_move(&side->type->serial, &side->top, side->first + slice->pos,
                            side->first + slice->pos + slice->len, side->addr, slice->area->mem,
                            unpack);
    else if (unpack)
        memcpy(side->addr + slice->pos, slice->area->mem, slice->len);
    else
        memcpy(slice->area->mem, side->addr + slice->pos, slice->len);
    return MPI_SUCCESS;
}

static bool op_is_one_slice(const MPIR_Gpudt_op * op)
{
    return op->n <= op->slice_sz;
}

/* Where a move gets its lane if it gets a launch of its own, or NULL: as in struct MPII_Gpudt_move. */
static enum MPII_Gpudt_lane_e *may_leave(MPIR_Gpudt_op * op)
{
    return op->may_leave && op_is_one_slice(op) ? &op->lane : NULL;
}

/* From source to destination, one of which is contiguous. */
static int step_direct(MPIR_Gpudt_op * op, const struct MPII_Gpudt_slice *slice,
                       struct MPII_Gpudt_flag *flag)
{
    MPII_Gpudt_engine_t *engine = op->step[0].engine;
    bool unpack = op->src.type == NULL;
    struct MPII_Gpudt_side *contig = unpack ? &op->src : &op->dst;
    struct MPII_Gpudt_move move = {
        .engine = engine,
        .lane = op->lane,
        .side = unpack ? &op->dst : &op->src,
        .pos = slice->pos,
        .len = slice->len,
        .contig = (uint64_t) (uintptr_t) contig->addr + (uint64_t) slice->pos,
        .contig_place = contig->place,
        .unpack = unpack,
        .flag = flag,
        .is_waited_for = op->is_blocking,
        .may_queue = op->is_blocking || op->is_alone ? NULL : &op->queued,
        .may_leave = may_leave(op),
        .ahead = op->ahead,
        .max_blocks = op->max_blocks
    };

    switch (op->step[0].method) {
        case MPII_GPUDT_METHOD__KERNEL:
            move.contig += contig->shift;
            return MPII_Gpudt_launch(&move);
        case MPII_GPUDT_METHOD__ROWS:
            return MPII_Gpudt_rows_launch(&move);
        default:
            return MPII_Gpudt_copy_launch(engine, op->lane, op->dst.addr + slice->pos,
                                          op->src.addr + slice->pos, slice->len);
    }
}

/* From source to destination, both of which have datatypes. */
static int step_pair(MPIR_Gpudt_op * op, const struct MPII_Gpudt_slice *slice,
                     struct MPII_Gpudt_flag *flag)
{
    const struct MPII_Gpudt_pair pair = {
        .engine = op->step[0].engine,
        .lane = op->lane,
        .src = &op->src,
        .dst = &op->dst,
        .pos = slice->pos,
        .len = slice->len,
        .flag = flag,
        .is_waited_for = op->is_blocking,
        .may_queue = op->is_blocking || op->is_alone ? NULL : &op->queued,
        .may_leave = may_leave(op)
    };

    return MPII_Gpudt_pair_start(&pair);
}

/* Step 0 packs the source into the work area, step 1 unpacks it to the destination. */
static int step_by_area(MPIR_Gpudt_op * op, const struct MPII_Gpudt_slice *slice, int i,
                        struct MPII_Gpudt_flag *flag)
{
    MPII_Gpudt_engine_t *engine = op->step[i].engine;
    struct MPII_Gpudt_side *side = i == 0 ? &op->src : &op->dst;
    const struct MPII_Gpudt_area *area = slice->area;
    bool unpack = i == 1;
    char *addr = side->addr + slice->pos;
    struct MPII_Gpudt_move move = {
        .engine = engine,
        .lane = op->step[i].lane,
        .side = side,
        .pos = slice->pos,
        .len = slice->len,
        .contig = (uint64_t) (uintptr_t) area->mem,
        .contig_place = area->kind != MPII_GPUDT_AREA__DEVICE ? MPII_GPUDT_PLACE__HOST :
            engine == op->engine ? MPII_GPUDT_PLACE__DEVICE : MPII_GPUDT_PLACE__PEER,
        .unpack = unpack,
        .flag = flag,
        .is_waited_for = op->is_blocking
    };

    switch (op->step[i].method) {
        case MPII_GPUDT_METHOD__KERNEL:
            return MPII_Gpudt_launch(&move);
        case MPII_GPUDT_METHOD__ROWS:
            return MPII_Gpudt_rows_launch(&move);
        case MPII_GPUDT_METHOD__COPY:
            return MPII_Gpudt_copy_launch(engine, op->step[i].lane, unpack ? addr : area->mem,
                                          unpack ? area->mem : addr, slice->len);
        default:
            return step_cpu(side, slice, unpack);
    }
}

int MPII_Gpudt_step_record(MPIR_Gpudt_op * op, struct MPII_Gpudt_slice *slice, int i)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *engine = op->step[i].engine;

    if (slice->event[i] == NULL) {
        mpi_errno = MPII_Gpudt_event_get(engine, &slice->event[i]);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    MPII_GPUDT_CHECK(op->drv, cuEventRecord(slice->event[i], engine->streams[op->step[i].lane]),
                     mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_step_follow(MPIR_Gpudt_op * op, struct MPII_Gpudt_slice *slice, int i)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_step *next = &op->step[i + 1];

    /* Steps on one stream are in order already */
    if (next->lane == op->step[i].lane)
        goto fn_exit;
    mpi_errno = MPII_Gpudt_step_record(op, slice, i);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_GPUDT_CHECK(op->drv, cuStreamWaitEvent(next->engine->streams[next->lane], slice->event[i],
                                                0), mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Bytes of a copy for which small moves would wait, at most. */
static int64_t note_max(const MPIR_Gpudt_op * op)
{
    return op->src.ptr.mem == MPIR_GPUDT_MEM__DEVICE && op->dst.ptr.mem == MPIR_GPUDT_MEM__DEVICE ?
        MPII_GPUDT_BATCH_MEDIUM : MPII_GPUDT_NOTE_MAX;
}

/* Note step i as work in flight for which small moves would wait, unless it is queued itself. */
static void step_note(MPIR_Gpudt_op * op, const struct MPII_Gpudt_slice *slice, int i,
                      const struct MPII_Gpudt_flag *flag)
{
    if (flag->word && !MPL_atomic_relaxed_load_int(&op->queued.is_queued)) {
        MPII_Gpudt_batch_note(op->step[i].engine, op->step[i].lane, flag, slice->len);
    } else if (!flag->word && op->is_direct && slice->len <= note_max(op) &&
               MPII_Gpudt_batch_note_copy(op->engine, op->lane, slice->len)) {
        op->noted = slice->len;
    }
}

int MPII_Gpudt_step_start(MPIR_Gpudt_op * op, struct MPII_Gpudt_slice *slice, int i)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *engine = op->step[i].engine;
    bool is_waited_for = MPII_Gpudt_step_is_awaited(op, i);
    struct MPII_Gpudt_flag *flag = is_waited_for ? &slice->flag[i] : NULL;
    MPII_Gpudt_ctx_t entered = {.ctx = NULL };

    if (engine && engine != op->engine) {
        mpi_errno = MPII_Gpudt_ctx_enter(op->drv, engine->device, engine->ctx, &entered);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    mpi_errno = !op->is_direct ? step_by_area(op, slice, i, flag) :
        op->src.type && op->dst.type ? step_pair(op, slice, flag) : step_direct(op, slice, flag);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (op->is_direct)
        op->step[i].lane = op->lane;

    if (is_waited_for && !op->is_blocking)
        step_note(op, slice, i, flag);
    if (is_waited_for && flag->word == NULL && !(op->is_blocking && op_is_one_slice(op))) {
        mpi_errno = MPII_Gpudt_step_record(op, slice, i);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        op->is_copy = op->is_direct && op_is_one_slice(op);
        if (op->is_copy)
            op->copy = 1 + MPL_atomic_fetch_add_int(&op->engine->copies_started[op->lane], 1);
    }

  fn_exit:
    MPII_Gpudt_ctx_leave(op->drv, &entered);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
