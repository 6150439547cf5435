/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Emulated streams: queues of operations. Each is executed in order by a thread of its own, with
 * delays, so that a missing wait is detected. */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "emu.h"

/* The special values for the default stream in a stream argument. */
static bool is_legacy_handle(CUstream handle)
{
    return handle == NULL || handle == CU_STREAM_LEGACY;
}

CUstream emu_stream_get(CUstream handle)
{
    if (is_legacy_handle(handle))
        return emu_current()->legacy;
    if (handle == CU_STREAM_PER_THREAD || handle->magic != EMU_STREAM_MAGIC || !handle->is_alive)
        return NULL;
    return handle;
}

/* Caller holds emu_lock. */
struct CUstream_st *emu_stream_new(CUcontext ctx, unsigned flags, int priority)
{
    struct CUstream_st *stream = calloc(1, sizeof(*stream));

    if (stream == NULL)
        return NULL;
    stream->magic = EMU_STREAM_MAGIC;
    stream->ctx = ctx;
    stream->flags = flags;
    stream->priority = priority;
    stream->is_alive = true;
    stream->quiet = emu_is_quiet();
    stream->caller = emu_caller();
    stream->next = ctx->streams;
    ctx->streams = stream;
    return stream;
}

static bool deps_met(const struct emu_op *op)
{
    for (int i = 0; i < op->ndeps; i++) {
        if (op->deps[i].stream->done < op->deps[i].seq)
            return false;
    }
    return true;
}

static void op_end(struct emu_op *op)
{
    if (op->drop)
        op->drop(op);
    free(op->deps);
    free(op);
}

static void linger(void)
{
    struct timespec pause = { 0, 0 };

    unsigned us = emu_config.delay_min_us;

    if (emu_config.delay_us > us)
        us += emu_random() % (emu_config.delay_us - us);
    if (us == 0)
        return;
    pause.tv_sec = us / 1000000;
    pause.tv_nsec = (long) (us % 1000000) * 1000;
    nanosleep(&pause, NULL);
}

static void *worker(void *arg)
{
    struct CUstream_st *stream = arg;

    emu_lock_take();
    while (stream->is_alive || stream->head) {
        struct emu_op *op = stream->head;
        bool is_broken;

        if (op == NULL || !deps_met(op)) {
            pthread_cond_wait(&emu_changed, &emu_lock);
            continue;
        }
        /* After a fault, operations of a context complete without being run. */
        is_broken = emu_broken(stream->ctx) != CUDA_SUCCESS;
        emu_lock_give();
        if (!is_broken) {
            linger();
            op->run(op);
        }
        emu_lock_take();

        stream->head = op->next;
        if (stream->head == NULL)
            stream->tail = NULL;
        stream->done++;
        pthread_cond_broadcast(&emu_changed);
        emu_lock_give();
        op_end(op);
        emu_lock_take();
    }
    emu_lock_give();
    return NULL;
}

static bool worker_start(struct CUstream_st *stream)
{
    if (!stream->has_worker)
        stream->has_worker = emu_thread_start(worker, stream);
    return stream->has_worker;
}

/* The default stream waits for every stream not created as non-blocking, and they wait for it. */
static int legacy_deps(struct CUstream_st *stream, struct emu_dep *deps)
{
    struct CUctx_st *ctx = stream->ctx;
    int n = 0;

    if (stream->flags & CU_STREAM_NON_BLOCKING)
        return 0;
    for (struct CUstream_st * s = ctx->streams; s; s = s->next) {
        if (s == stream || (s->flags & CU_STREAM_NON_BLOCKING) || s->done == s->queued)
            continue;
        if (stream == ctx->legacy || s == ctx->legacy) {
            if (deps) {
                deps[n].stream = s;
                deps[n].seq = s->queued;
            }
            n++;
        }
    }
    return n;
}

/* Append an operation to a stream; dep, if not NULL, must be complete before it starts. args is
 * owned by the operation (drop frees it), also on failure. */
CUresult emu_enqueue(CUstream stream, void (*run) (struct emu_op *),
                     void (*drop) (struct emu_op *), void *args, struct emu_dep *dep)
{
    struct emu_op *op = calloc(1, sizeof(*op));
    struct emu_op scratch = {.args = args };
    CUresult res = CUDA_ERROR_OUT_OF_MEMORY;
    int n;

    emu_lock_take();
    n = legacy_deps(stream, NULL) + (dep ? 1 : 0);
    if (stream->is_captured) {
        /* Captures are not emulated: the library must not enqueue anything in them. */
        stream->capture_broken = true;
        res = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    } else if (op && (n == 0 || (op->deps = calloc((size_t) n, sizeof(*op->deps)))) &&
               worker_start(stream)) {
        op->ndeps = legacy_deps(stream, op->deps);
        if (dep)
            op->deps[op->ndeps++] = *dep;
        op->run = run;
        op->drop = drop;
        op->args = args;
        op->stream = stream;
        if (stream->tail)
            stream->tail->next = op;
        else
            stream->head = op;
        stream->tail = op;
        stream->queued++;
        pthread_cond_broadcast(&emu_changed);
        res = CUDA_SUCCESS;
    }
    emu_lock_give();

    if (res != CUDA_SUCCESS) {
        if (drop)
            drop(&scratch);
        if (op)
            free(op->deps);
        free(op);
    }
    return res;
}

static void wait_for(struct CUstream_st *stream, uint64_t seq)
{
    while (stream->done < seq)
        pthread_cond_wait(&emu_changed, &emu_lock);
}

CUresult emu_stream_wait(CUstream stream)
{
    CUresult res;

    emu_lock_take();
    if (stream == stream->ctx->legacy) {
        for (struct CUstream_st * s = stream->ctx->streams; s; s = s->next) {
            if (!(s->flags & CU_STREAM_NON_BLOCKING))
                wait_for(s, s->queued);
        }
    }
    wait_for(stream, stream->queued);
    res = emu_broken(stream->ctx);
    emu_lock_give();
    return res;
}

CUresult emu_ctx_wait(CUcontext ctx)
{
    CUresult res;

    emu_lock_take();
    for (struct CUstream_st * s = ctx->streams; s; s = s->next)
        wait_for(s, s->queued);
    res = emu_broken(ctx);
    emu_lock_give();
    return res;
}

void emu_stream_close(CUstream stream)
{
    if (!stream->is_alive)
        return;
    wait_for(stream, stream->queued);
    stream->is_alive = false;
    pthread_cond_broadcast(&emu_changed);
}

void emu_stream_report(void)
{
    for (struct CUctx_st * ctx = emu_ctx_first(); ctx; ctx = ctx->next) {
        if (emu_broken(ctx) != CUDA_SUCCESS)
            continue;
        for (struct CUstream_st * s = ctx->streams; s; s = s->next) {
            char detail[64];
            if (!s->is_alive || s->quiet || s == ctx->legacy)
                continue;
            snprintf(detail, sizeof(detail), "of device %d, %lu operations", ctx->device,
                     (unsigned long) s->queued);
            emu_leak("stream", s->caller, detail);
        }
    }
}

EMU_EXPORT CUresult CUDAAPI cuStreamCreateWithPriority(CUstream * stream, unsigned int flags,
                                                       int priority)
{
    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(stream && (flags & ~(unsigned) CU_STREAM_NON_BLOCKING) == 0,
              CUDA_ERROR_INVALID_VALUE);
    emu_lock_take();
    *stream = emu_stream_new(emu_current(), flags, priority);
    emu_lock_give();
    return emu_leave(*stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

EMU_EXPORT CUresult CUDAAPI cuStreamCreate(CUstream * stream, unsigned int flags)
{
    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(stream && (flags & ~(unsigned) CU_STREAM_NON_BLOCKING) == 0,
              CUDA_ERROR_INVALID_VALUE);
    emu_lock_take();
    *stream = emu_stream_new(emu_current(), flags, 0);
    emu_lock_give();
    return emu_leave(*stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

EMU_EXPORT CUresult CUDAAPI cuStreamDestroy(CUstream stream)
{
    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__DO_IT);
    EMU_CHECK(!is_legacy_handle(stream) && stream->magic == EMU_STREAM_MAGIC && stream->is_alive,
              CUDA_ERROR_INVALID_HANDLE);
    /* Queued operations still run; only the handle becomes invalid. */
    emu_lock_take();
    stream->is_alive = false;
    pthread_cond_broadcast(&emu_changed);
    emu_lock_give();
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuStreamSynchronize(CUstream handle)
{
    CUstream stream;

    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__DO_IT);
    stream = emu_stream_get(handle);
    EMU_CHECK(stream, CUDA_ERROR_INVALID_HANDLE);
    EMU_CHECK(!stream->is_captured, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EMU_CHECK(!emu_capture_implied(stream, true), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    return emu_leave(emu_stream_wait(stream));
}

/* The default stream is not idle while a stream is busy that it would wait for. */
static bool legacy_is_kept(CUstream stream)
{
    return stream == stream->ctx->legacy && legacy_deps(stream, NULL) > 0;
}

EMU_EXPORT CUresult CUDAAPI cuStreamQuery(CUstream handle)
{
    CUstream stream;
    CUresult res;

    EMU_ENTER(EMU_NEED__CTX);
    stream = emu_stream_get(handle);
    EMU_CHECK(stream, CUDA_ERROR_INVALID_HANDLE);
    EMU_CHECK(!emu_capture_implied(stream, true), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    emu_lock_take();
    res = emu_broken(stream->ctx) != CUDA_SUCCESS ? emu_broken(stream->ctx) :
        stream->done < stream->queued || legacy_is_kept(stream) ? CUDA_ERROR_NOT_READY :
        CUDA_SUCCESS;
    emu_lock_give();
    return emu_leave(res);
}

static void nothing_run(struct emu_op *op)
{
    (void) op;
}

EMU_EXPORT CUresult CUDAAPI cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags)
{
    struct emu_dep dep;
    CUstream stream;

    EMU_ENTER(EMU_NEED__CTX);
    stream = emu_stream_get(handle);
    EMU_CHECK(stream && event, CUDA_ERROR_INVALID_HANDLE);
    EMU_CHECK(flags == 0, CUDA_ERROR_INVALID_VALUE);
    EMU_CHECK(emu_event_dep(event, &dep), CUDA_ERROR_INVALID_HANDLE);
    if (dep.stream == NULL)
        return emu_leave(CUDA_SUCCESS); /* never recorded: nothing to wait for */
    return emu_leave(emu_enqueue(stream, nothing_run, NULL, NULL, &dep));
}

/* ---- host functions ---- */

static __thread bool in_host_function;

struct host_call {
    CUhostFn function;
    void *data;
};

bool emu_in_host_function(void)
{
    return in_host_function;
}

static void host_call_run(struct emu_op *op)
{
    const struct host_call *call = op->args;

    in_host_function = true;
    call->function(call->data);
    in_host_function = false;
}

static void host_call_drop(struct emu_op *op)
{
    free(op->args);
}

EMU_EXPORT CUresult CUDAAPI cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data)
{
    CUstream stream;
    struct host_call *call;

    EMU_ENTER(EMU_NEED__CTX);
    stream = emu_stream_get(handle);
    EMU_CHECK(stream, CUDA_ERROR_INVALID_HANDLE);
    EMU_CHECK(function, CUDA_ERROR_INVALID_VALUE);
    call = malloc(sizeof(*call));
    EMU_CHECK(call, CUDA_ERROR_OUT_OF_MEMORY);
    call->function = function;
    call->data = data;
    return emu_leave(emu_enqueue(stream, host_call_run, host_call_drop, call, NULL));
}
