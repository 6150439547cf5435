/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Emulated events. An event refers to the last operation of a stream at the time of recording. */

#include <stdlib.h>

#include "emu.h"

struct CUevent_st {
    unsigned magic;
    struct CUctx_st *ctx;
    bool is_alive;
    bool quiet;
    const char *caller;
    struct emu_dep mark;        /* stream NULL: never recorded */
    struct CUevent_st *next;
};
#define EVENT_MAGIC 0xc0de0003u

/* Live events first; destroyed ones are reused only after many others, to catch stale handles. */
static struct CUevent_st *events;
static struct CUevent_st *dead_first, *dead_last;
static int dead_count;
#define DEAD_KEPT 1024

static bool event_valid(CUevent event)
{
    return event && event->magic == EVENT_MAGIC && event->is_alive;
}

bool emu_event_dep(CUevent event, struct emu_dep *dep)
{
    bool ok;

    emu_lock_take();
    ok = event_valid(event);
    if (ok)
        *dep = event->mark;
    emu_lock_give();
    return ok;
}

/* Caller holds emu_lock. */
static struct CUevent_st *event_new(void)
{
    struct CUevent_st *event;

    if (dead_count < DEAD_KEPT)
        return calloc(1, sizeof(*event));
    event = dead_first;
    dead_first = event->next;
    dead_count--;
    return event;
}

static void event_end(struct CUevent_st *event)
{
    struct CUevent_st **at = &events;

    while (*at != event)
        at = &(*at)->next;
    *at = event->next;

    event->is_alive = false;
    event->next = NULL;
    if (dead_count++ == 0)
        dead_first = event;
    else
        dead_last->next = event;
    dead_last = event;
}

void emu_events_close(CUcontext ctx)
{
    struct CUevent_st *next;

    for (struct CUevent_st * e = events; e; e = next) {
        next = e->next;
        if (e->ctx == ctx)
            event_end(e);
    }
}

void emu_event_report(void)
{
    for (struct CUevent_st * e = events; e; e = e->next) {
        if (!e->quiet && emu_broken(e->ctx) == CUDA_SUCCESS)
            emu_leak("event", e->caller, e->mark.stream ? "recorded" : "never recorded");
    }
}

EMU_EXPORT CUresult CUDAAPI cuEventCreate(CUevent * event, unsigned int flags)
{
    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(event, CUDA_ERROR_INVALID_VALUE);
    EMU_CHECK(!(flags & CU_EVENT_INTERPROCESS), CUDA_ERROR_NOT_SUPPORTED);

    emu_lock_take();
    *event = event_new();
    if (*event) {
        (*event)->magic = EVENT_MAGIC;
        (*event)->ctx = emu_current();
        (*event)->is_alive = true;
        (*event)->quiet = emu_is_quiet();
        (*event)->caller = emu_caller();
        (*event)->mark.stream = NULL;
        (*event)->mark.seq = 0;
        (*event)->next = events;
        events = *event;
    }
    emu_lock_give();
    return emu_leave(*event ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

EMU_EXPORT CUresult CUDAAPI cuEventDestroy(CUevent event)
{
    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__DO_IT);
    EMU_CHECK(event_valid(event), CUDA_ERROR_INVALID_HANDLE);
    emu_lock_take();
    event_end(event);
    emu_lock_give();
    return emu_leave(CUDA_SUCCESS);
}

static void nothing_run(struct emu_op *op)
{
    (void) op;
}

EMU_EXPORT CUresult CUDAAPI cuEventRecord(CUevent event, CUstream handle)
{
    CUstream stream;

    EMU_ENTER(EMU_NEED__CTX);
    stream = emu_stream_get(handle);
    EMU_CHECK(stream && event_valid(event), CUDA_ERROR_INVALID_HANDLE);
    EMU_CHECK(stream->ctx == event->ctx, CUDA_ERROR_INVALID_HANDLE);
    EMU_CHECK(!stream->is_captured, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (stream == stream->ctx->legacy) {
        /* In the default stream an event also waits for the other streams' work. */
        CUresult res = emu_enqueue(stream, nothing_run, NULL, NULL, NULL);
        EMU_CHECK(res == CUDA_SUCCESS, res);
    }
    emu_lock_take();
    event->mark.stream = stream;
    event->mark.seq = stream->queued;
    emu_lock_give();
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuEventQuery(CUevent event)
{
    CUresult res = CUDA_SUCCESS;

    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(event_valid(event), CUDA_ERROR_INVALID_HANDLE);
    emu_lock_take();
    if (emu_broken(event->ctx) != CUDA_SUCCESS)
        res = emu_broken(event->ctx);
    else if (event->mark.stream && event->mark.stream->done < event->mark.seq)
        res = CUDA_ERROR_NOT_READY;
    emu_lock_give();
    return emu_leave(res);
}

EMU_EXPORT CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
    struct emu_dep mark;
    CUresult res;

    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__DO_IT);
    EMU_CHECK(event_valid(event), CUDA_ERROR_INVALID_HANDLE);
    emu_lock_take();
    mark = event->mark;
    while (mark.stream && mark.stream->done < mark.seq)
        pthread_cond_wait(&emu_changed, &emu_lock);
    res = emu_broken(event->ctx);
    emu_lock_give();
    return emu_leave(res);
}

EMU_EXPORT CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(event_valid(start) && event_valid(end), CUDA_ERROR_INVALID_HANDLE);
    /* Emulated time has no meaning. */
    *ms = 0.001f;
    return emu_leave(CUDA_SUCCESS);
}
