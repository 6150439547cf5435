/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Runs routed transfers: starts the steps of chunks, waits for the GPU or asks it, does the CPU's
 * steps, and gives back what an operation holds. Must not know how a route is chosen. */

#include "gpudt_internal.h"

#define FLAG_LOOKS 1000         /* at a flag by calls that do not block, before the driver is asked */
#define NOTE_MAX (128 * 1024)   /* bytes of a copy that small moves wait for, to go out together */
#define FLAG_SECONDS 30e-6      /* of looking at it by one that blocks */

static int step_start(MPIR_Gpudt_op * op, struct MPII_Gpudt_chunk *chunk, int i);
static int step_follow(MPIR_Gpudt_op * op, struct MPII_Gpudt_chunk *chunk, int i);
static int step_direct(MPIR_Gpudt_op * op, const struct MPII_Gpudt_chunk *chunk,
                       struct MPII_Gpudt_flag *flag);
static int step_by_area(MPIR_Gpudt_op * op, const struct MPII_Gpudt_chunk *chunk, int i,
                        struct MPII_Gpudt_flag *flag);
static int step_cpu(const struct MPII_Gpudt_side *side, const struct MPII_Gpudt_chunk *chunk,
                    bool unpack);
static int chunk_run(MPIR_Gpudt_op * op, struct MPII_Gpudt_chunk *chunk, bool * ended);
static int chunk_wait(MPIR_Gpudt_op * op, struct MPII_Gpudt_chunk *chunk, bool * ready);
static int queue_leave(MPIR_Gpudt_op * op, bool * is_started);
static int flag_wait(MPIR_Gpudt_op * op, const struct MPII_Gpudt_step *step,
                     struct MPII_Gpudt_flag *flag, bool * ready);
static void op_drain(MPIR_Gpudt_op * op);
static void op_finish(MPIR_Gpudt_op * op);

static bool op_is_one_chunk(const MPIR_Gpudt_op * op)
{
    return op->n <= op->chunk_sz;
}

static int op_nsteps(const MPIR_Gpudt_op * op)
{
    return op->is_direct ? 1 : 2;
}

/* ---- the whole transfer ---- */

int MPII_Gpudt_op_advance(MPIR_Gpudt_op * op, bool * done)
{
    int mpi_errno = MPI_SUCCESS;
    bool ended, ready;

    *done = false;
    while (true) {
        while (op->nbusy < op->nchunks && op->started < op->n) {
            struct MPII_Gpudt_chunk *fresh =
                &op->chunk[(op->oldest + op->nbusy) % op->nchunks];
            fresh->pos = op->started;
            fresh->len = MPL_MIN(op->chunk_sz, op->n - op->started);
            fresh->nsteps = 0;
            op->started += fresh->len;
            op->nbusy++;
            mpi_errno = chunk_run(op, fresh, &ended);
            MPII_GPUDT_ERR_CHECK(mpi_errno);
        }
        if (op->nbusy == 0)
            break;

        struct MPII_Gpudt_chunk *oldest = &op->chunk[op->oldest];
        mpi_errno = chunk_wait(op, oldest, &ready);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        if (!ready)
            goto fn_exit;
        mpi_errno = chunk_run(op, oldest, &ended);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        if (ended) {
            op->oldest = (op->oldest + 1) % op->nchunks;
            op->nbusy--;
        }
    }
    *done = true;
    op_finish(op);

  fn_exit:
    return mpi_errno;
  fn_fail:
    op_drain(op);
    op_finish(op);
    goto fn_exit;
}

/* What is on the streams may still use the buffers and work areas: wait for it. The failure has
 * been reported, more of them tell nothing new. */
static void op_drain(MPIR_Gpudt_op * op)
{
    if (MPL_atomic_acquire_load_int(&op->is_queued))
        MPII_Gpudt_batch_poll(op->engine, op->lane, true);
    for (int i = 0; i < op_nsteps(op); i++) {
        MPII_Gpudt_engine_t *engine = op->step[i].engine;
        MPII_Gpudt_ctx_t entered;
        if (engine && MPII_Gpudt_engine_reenter(engine, &entered) == MPI_SUCCESS) {
            op->drv->cuStreamSynchronize(engine->streams[op->step[i].lane]);
            MPII_Gpudt_ctx_leave(op->drv, &entered);
        }
    }
}

static void op_finish(MPIR_Gpudt_op * op)
{
    for (int k = 0; k < op->nchunks; k++) {
        struct MPII_Gpudt_chunk *chunk = &op->chunk[k];
        if (chunk->area)
            MPII_Gpudt_area_put(op->engine, chunk->area);
        for (int i = 0; i < 2; i++) {
            if (chunk->event[i])
                MPII_Gpudt_event_put(op->step[i].engine, chunk->event[i]);
            MPII_Gpudt_flag_put(op->step[i].engine, &chunk->flag[i]);
        }
    }
    op->nchunks = 0;
    if (op->noted)
        MPII_Gpudt_batch_note_copy(op->engine, op->lane, -op->noted);
    op->noted = 0;
    MPII_Gpudt_op_release_types(op);
}

void MPII_Gpudt_op_release_types(MPIR_Gpudt_op * op)
{
    struct MPII_Gpudt_side *side[2] = { &op->src, &op->dst };

    for (int i = 0; i < 2; i++) {
        if (side[i]->type)
            MPII_Gpudt_type_release(side[i]->type);
        side[i]->type = NULL;
    }
}

/* ---- one chunk ---- */

/* Start as many of a chunk's steps as can be without waiting.
 *   ended  (OUT)  true: all are done; false: the GPU works on the last one started */
static int chunk_run(MPIR_Gpudt_op * op, struct MPII_Gpudt_chunk *chunk, bool * ended)
{
    int mpi_errno = MPI_SUCCESS;
    int total = op_nsteps(op);

    *ended = false;
    while (chunk->nsteps < total) {
        int i = chunk->nsteps;
        MPII_Gpudt_engine_t *engine = op->step[i].engine;

        mpi_errno = step_start(op, chunk, i);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        chunk->nsteps++;
        if (engine && (i + 1 == total || op->step[i + 1].engine != engine))
            goto fn_exit;
        /* A stream keeps two steps in order by itself */
        if (engine && op->step[i + 1].lane != op->step[i].lane) {
            mpi_errno = step_follow(op, chunk, i);
            MPII_GPUDT_ERR_CHECK(mpi_errno);
        }
    }
    *ended = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Record an event where step i ends on its stream. */
static int step_record(MPIR_Gpudt_op * op, struct MPII_Gpudt_chunk *chunk, int i)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *engine = op->step[i].engine;

    if (chunk->event[i] == NULL) {
        mpi_errno = MPII_Gpudt_event_get(engine, &chunk->event[i]);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    MPII_GPUDT_CHECK(op->drv, cuEventRecord(chunk->event[i], engine->streams[op->step[i].lane]),
                     mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Have step i + 1 wait for step i, which is in another stream of the same engine. */
static int step_follow(MPIR_Gpudt_op * op, struct MPII_Gpudt_chunk *chunk, int i)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_step *next = &op->step[i + 1];

    mpi_errno = step_record(op, chunk, i);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_GPUDT_CHECK(op->drv, cuStreamWaitEvent(next->engine->streams[next->lane], chunk->event[i], 0),
                     mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Let small moves know that they would wait for step i, unless it is in a queue itself. */
static void step_note(MPIR_Gpudt_op * op, const struct MPII_Gpudt_chunk *chunk, int i,
                      const struct MPII_Gpudt_flag *flag)
{
    if (flag->word && !MPL_atomic_relaxed_load_int(&op->is_queued)) {
        MPII_Gpudt_batch_note(op->step[i].engine, op->step[i].lane, flag, chunk->len);
    } else if (!flag->word && op->is_direct && chunk->len <= NOTE_MAX &&
               MPII_Gpudt_batch_note_copy(op->engine, op->lane, chunk->len)) {
        op->noted = chunk->len;
    }
}

/* Start step i, and mark its end on the stream if somebody will wait for it there. */
static int step_start(MPIR_Gpudt_op * op, struct MPII_Gpudt_chunk *chunk, int i)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *engine = op->step[i].engine;
    bool is_waited_for = engine && (i + 1 == op_nsteps(op) || op->step[i + 1].engine != engine);
    struct MPII_Gpudt_flag *flag = is_waited_for ? &chunk->flag[i] : NULL;
    MPII_Gpudt_ctx_t entered = {.ctx = NULL };

    if (engine && engine != op->engine) {
        mpi_errno = MPII_Gpudt_ctx_enter(op->drv, engine->device, engine->ctx, &entered);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    mpi_errno = op->is_direct ? step_direct(op, chunk, flag) : step_by_area(op, chunk, i, flag);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

    if (is_waited_for && !op->is_blocking)
        step_note(op, chunk, i, flag);
    if (is_waited_for && flag->word == NULL && !(op->is_blocking && op_is_one_chunk(op))) {
        mpi_errno = step_record(op, chunk, i);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPII_Gpudt_ctx_leave(op->drv, &entered);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Have an operation's move started that waits in a queue, unless it has just got there.
 *   is_started  (OUT)  whether the GPU knows of it */
static int queue_leave(MPIR_Gpudt_op * op, bool * is_started)
{
    if (MPL_atomic_acquire_load_int(&op->is_queued)) {
        if (op->is_blocking || op->nlooks > 0)
            MPII_Gpudt_batch_poll(op->engine, op->lane, true);
        *is_started = !MPL_atomic_acquire_load_int(&op->is_queued);
    }
    return *is_started ? op->batch_errno : MPI_SUCCESS;
}

/* Wait for the last step started, which is the GPU's, or only ask if the call may not block. */
static int chunk_wait(MPIR_Gpudt_op * op, struct MPII_Gpudt_chunk *chunk, bool * ready)
{
    int mpi_errno = MPI_SUCCESS;
    int i = chunk->nsteps - 1;
    MPII_Gpudt_engine_t *engine = op->step[i].engine;
    MPII_Gpudt_ctx_t entered = {.ctx = NULL };
    CUresult res;

    *ready = true;
    mpi_errno = queue_leave(op, ready);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (!*ready)
        goto fn_exit;
    if (chunk->flag[i].word && MPII_Gpudt_flag_is_set(&chunk->flag[i])) {
        MPII_Gpudt_flag_put(engine, &chunk->flag[i]);
        goto fn_exit;
    }
    if (engine != op->engine) {
        mpi_errno = MPII_Gpudt_ctx_enter(op->drv, engine->device, engine->ctx, &entered);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

    if (chunk->flag[i].word) {
        mpi_errno = flag_wait(op, &op->step[i], &chunk->flag[i], ready);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    } else if (!op->is_blocking) {
        res = op->drv->cuEventQuery(chunk->event[i]);
        if (res == CUDA_ERROR_NOT_READY) {
            *ready = false;
        } else if (res != CUDA_SUCCESS) {
            mpi_errno = MPII_Gpudt_driver_error(op->drv, res, "cuEventQuery", __func__, __LINE__);
            goto fn_fail;
        }
    } else if (chunk->event[i]) {
        MPII_GPUDT_CHECK(op->drv, cuEventSynchronize(chunk->event[i]), mpi_errno);
    } else {
        MPII_GPUDT_CHECK(op->drv, cuStreamSynchronize(engine->streams[op->step[i].lane]), mpi_errno);
    }

  fn_exit:
    MPII_Gpudt_ctx_leave(op->drv, &entered);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Look at a flag for as long as short kernels take. */
static bool flag_spin(const struct MPII_Gpudt_flag *flag)
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
    } while (seconds < FLAG_SECONDS);
    return false;
}

/* Wait for a flag, or, now and then, see whether a kernel that has not set it has failed. */
static int flag_wait(MPIR_Gpudt_op * op, const struct MPII_Gpudt_step *step,
                     struct MPII_Gpudt_flag *flag, bool * ready)
{
    int mpi_errno = MPI_SUCCESS;
    CUstream stream = step->engine->streams[step->lane];

    *ready = false;
    if (op->is_blocking) {
        /* Longer waits are the driver's, which may give the processor away */
        if (!flag_spin(flag))
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

/* ---- steps ---- */

/* From source to destination, at least one of which is contiguous. */
static int step_direct(MPIR_Gpudt_op * op, const struct MPII_Gpudt_chunk *chunk,
                       struct MPII_Gpudt_flag *flag)
{
    MPII_Gpudt_engine_t *engine = op->step[0].engine;
    bool unpack = op->src.type == NULL;
    struct MPII_Gpudt_side *contig = unpack ? &op->src : &op->dst;
    struct MPII_Gpudt_move move = {
        .engine = engine,
        .lane = op->lane,
        .side = unpack ? &op->dst : &op->src,
        .pos = chunk->pos,
        .len = chunk->len,
        .contig = (uint64_t) (uintptr_t) contig->addr + (uint64_t) chunk->pos,
        .contig_place = contig->place,
        .unpack = unpack,
        .flag = flag,
        .is_waited_for = op->is_blocking,
        .may_queue = op->is_blocking ? NULL : op
    };

    switch (op->step[0].method) {
        case MPII_GPUDT_METHOD__KERNEL:
            move.contig += contig->shift;
            return MPII_Gpudt_launch(&move);
        case MPII_GPUDT_METHOD__ROWS:
            return MPII_Gpudt_rows_launch(&move);
        default:
            return MPII_Gpudt_copy_launch(engine, op->lane, op->dst.addr + chunk->pos,
                                          op->src.addr + chunk->pos, chunk->len);
    }
}

/* Step 0 packs the source into the work area, step 1 unpacks it to the destination. */
static int step_by_area(MPIR_Gpudt_op * op, const struct MPII_Gpudt_chunk *chunk, int i,
                        struct MPII_Gpudt_flag *flag)
{
    MPII_Gpudt_engine_t *engine = op->step[i].engine;
    struct MPII_Gpudt_side *side = i == 0 ? &op->src : &op->dst;
    const struct MPII_Gpudt_area *area = chunk->area;
    bool unpack = i == 1;
    char *addr = side->addr + chunk->pos;
    struct MPII_Gpudt_move move = {
        .engine = engine,
        .lane = op->step[i].lane,
        .side = side,
        .pos = chunk->pos,
        .len = chunk->len,
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
            return MPII_Gpudt_copy_launch(engine, op->step[i].lane,
                                          unpack ? addr : area->mem,
                                          unpack ? area->mem : addr, chunk->len);
        default:
            return step_cpu(side, chunk, unpack);
    }
}

static int step_cpu(const struct MPII_Gpudt_side *side, const struct MPII_Gpudt_chunk *chunk,
                    bool unpack)
{
    MPII_GPUDT_COUNT(cpu_bytes, chunk->len);
    if (side->type)
        return MPII_Gpudt_rows_cpu(side, chunk->pos, chunk->len, chunk->area->mem, unpack);
    if (unpack)
        memcpy(side->addr + chunk->pos, chunk->area->mem, chunk->len);
    else
        memcpy(chunk->area->mem, side->addr + chunk->pos, chunk->len);
    return MPI_SUCCESS;
}

/* ---- operations in flight ---- */

/* Advance an operation, or end it if its context cannot be entered any more. It is freed when done
 * or failed. */
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
        op_drain(op);
        op_finish(op);
    }
    if (mpi_errno)
        *done = true;
    if (*done) {
        MPL_free(op);
        MPII_Gpudt_batch_poll(engine, lane, false);
    }
    return mpi_errno;
}

/* The flag that an operation waits for and that ends it; NULL: there is more to it. */
static struct MPII_Gpudt_flag *flag_last(MPIR_Gpudt_op * op)
{
    struct MPII_Gpudt_chunk *chunk = &op->chunk[op->oldest];
    struct MPII_Gpudt_flag *flag = &chunk->flag[chunk->nsteps - 1];

    if (op->started < op->n || op->nbusy > 1 || chunk->nsteps < op_nsteps(op))
        return NULL;
    return flag->word ? flag : NULL;
}

/* End an operation whose last flag is set: no call of the driver but for what waits in the queue. */
static void op_end(MPIR_Gpudt_op * op)
{
    MPII_Gpudt_engine_t *engine = op->engine;
    enum MPII_Gpudt_lane_e lane = op->lane;

    op_finish(op);
    MPL_free(op);
    MPII_Gpudt_batch_poll(engine, lane, false);
}

/* Whether there is nothing to do but to look at a flag again: costs a load. */
static bool flag_is_awaited(MPIR_Gpudt_op * op)
{
    const struct MPII_Gpudt_chunk *chunk = &op->chunk[op->oldest];
    const struct MPII_Gpudt_flag *flag = &chunk->flag[chunk->nsteps - 1];

    if (!flag->word || (op->nbusy < op->nchunks && op->started < op->n) ||
        ++op->nlooks % FLAG_LOOKS == 0)
        return false;
    /* The flag may be set before the thread that started the batch has let go of the operation */
    if (MPL_atomic_acquire_load_int(&op->is_queued)) {
        MPII_Gpudt_batch_poll(op->engine, op->lane, false);
        if (MPL_atomic_acquire_load_int(&op->is_queued))
            return true;
    }
    return op->batch_errno == MPI_SUCCESS && !MPII_Gpudt_flag_is_set(flag);
}

int MPIR_Gpudt_test(MPIR_Gpudt_op * op, int *done)
{
    int mpi_errno = MPI_SUCCESS;
    bool is_done = false;
    const struct MPII_Gpudt_flag *last;

    MPIR_FUNC_ENTER;

    op->is_blocking = false;
    if (!flag_is_awaited(op)) {
        last = flag_last(op);
        if (last && !MPL_atomic_acquire_load_int(&op->is_queued) &&
            op->batch_errno == MPI_SUCCESS && MPII_Gpudt_flag_is_set(last)) {
            op_end(op);
            is_done = true;
        } else {
            mpi_errno = op_progress(op, &is_done);
        }
    }
    *done = is_done;

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
        if (MPL_atomic_acquire_load_int(&op->is_queued))
            MPII_Gpudt_batch_poll(op->engine, op->lane, true);
        last = flag_last(op);
        if (last && op->batch_errno == MPI_SUCCESS && flag_spin(last))
            op_end(op);
        else
            mpi_errno = op_progress(op, &is_done);
    }

    MPIR_FUNC_EXIT;
    return mpi_errno;
}

void MPIR_Gpudt_free(MPIR_Gpudt_op * op)
{
    if (op) {
        op_drain(op);
        op_finish(op);
        MPL_free(op);
    }
}
