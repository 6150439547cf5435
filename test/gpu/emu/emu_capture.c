/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Emulated stream capture, limited to its effect on other users of the process: which calls it
 * forbids and which captures such calls invalidate. Nothing is recorded. */

#include "emu.h"

#define MAX_CAPTURES 16
static CUstream captures[MAX_CAPTURES];
static int capture_count;
static int capture_count_seen;  /* read without the lock by every call */

static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/* Whether capture s forbids an unsafe call in this thread. */
static bool capture_concerns(CUstream s)
{
    bool is_mine = pthread_equal(s->capture_thread, pthread_self());

    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    if (is_mine)
        return s->capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
        s->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

bool emu_capture_forbids(void)
{
    bool forbidden = false;

    if (__atomic_load_n(&capture_count_seen, __ATOMIC_ACQUIRE) == 0)
        return false;
    emu_lock_take();
    for (int i = 0; i < capture_count; i++) {
        if (capture_concerns(captures[i])) {
            captures[i]->capture_broken = true;
            forbidden = true;
        }
    }
    emu_lock_give();
    return forbidden;
}

bool emu_capture_implied(CUstream stream, bool break_it)
{
    bool implied = false;

    if (stream != stream->ctx->legacy ||
        __atomic_load_n(&capture_count_seen, __ATOMIC_ACQUIRE) == 0)
        return false;
    emu_lock_take();
    for (int i = 0; i < capture_count; i++) {
        if (captures[i]->ctx == stream->ctx && !(captures[i]->flags & CU_STREAM_NON_BLOCKING)) {
            captures[i]->capture_broken |= break_it;
            implied = true;
        }
    }
    emu_lock_give();
    return implied;
}

EMU_EXPORT CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode * mode)
{
    CUstreamCaptureMode before = thread_mode;

    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(mode, CUDA_ERROR_INVALID_VALUE);
    thread_mode = *mode;
    *mode = before;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(stream && emu_stream_get(stream) == stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EMU_CHECK(capture_count < MAX_CAPTURES && !stream->is_captured, CUDA_ERROR_INVALID_VALUE);
    emu_lock_take();
    stream->is_captured = true;
    stream->capture_broken = false;
    stream->capture_mode = mode;
    stream->capture_thread = pthread_self();
    captures[capture_count++] = stream;
    __atomic_store_n(&capture_count_seen, capture_count, __ATOMIC_RELEASE);
    emu_lock_give();
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph * graph)
{
    CUresult res;

    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(stream && emu_stream_get(stream) == stream && stream->is_captured,
              CUDA_ERROR_ILLEGAL_STATE);
    emu_lock_take();
    stream->is_captured = false;
    for (int i = 0; i < capture_count; i++) {
        if (captures[i] == stream)
            captures[i] = captures[--capture_count];
    }
    __atomic_store_n(&capture_count_seen, capture_count, __ATOMIC_RELEASE);
    res = stream->capture_broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
    emu_lock_give();
    *graph = NULL;
    return emu_leave(res);
}

EMU_EXPORT CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus * status)
{
    EMU_ENTER(EMU_NEED__CTX);
    stream = emu_stream_get(stream);
    EMU_CHECK(stream, CUDA_ERROR_INVALID_HANDLE);
    EMU_CHECK(!emu_capture_implied(stream, false), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    emu_lock_take();
    *status = !stream->is_captured ? CU_STREAM_CAPTURE_STATUS_NONE :
        stream->capture_broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED :
        CU_STREAM_CAPTURE_STATUS_ACTIVE;
    emu_lock_give();
    return emu_leave(CUDA_SUCCESS);
}
