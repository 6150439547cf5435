/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests emulated streams: delays, order within a stream, order among streams by events and the
 * default stream. Run with a delay of 100 ms per operation, so that "not ready" can be observed. */

#include <pthread.h>

#include "selftest.h"

#define N 64

static void test_late_and_in_order(void)
{
    CUstream s;
    unsigned char *pinned;
    CUdeviceptr d;
    int not_ready = 0;

    OK(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, -1));
    OK(cuMemHostAlloc((void **) &pinned, N, 0));
    OK(cuMemAlloc(&d, N));
    memset(pinned, 0, N);
    OK(cuMemsetD8Async(d, 1, N, s));
    OK(cuMemsetD8Async(d, 2, N, s));
    OK(cuMemcpyDtoHAsync(pinned, d, N, s));
    not_ready = cuStreamQuery(s) == CUDA_ERROR_NOT_READY;
    CHECK(not_ready && pinned[0] == 0);
    OK(cuStreamSynchronize(s));
    OK(cuStreamQuery(s));
    CHECK(pinned[0] == 2 && pinned[N - 1] == 2);
    OK(cuMemFree(d));
    OK(cuMemFreeHost(pinned));
    OK(cuStreamDestroy(s));
    EXPECT(cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE);
}

static void test_events(void)
{
    CUstream s, t;
    CUevent e;
    CUdeviceptr d;
    unsigned char back[N];

    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuEventQuery(e));        /* never recorded */
    OK(cuMemAlloc(&d, N));

    for (int round = 0; round < 10; round++) {
        OK(cuMemsetD8Async(d, (unsigned char) round, N, s));
        OK(cuEventRecord(e, s));
        EXPECT(cuEventQuery(e), CUDA_ERROR_NOT_READY);
        OK(cuStreamWaitEvent(t, e, 0));
        OK(cuMemcpyDtoHAsync(back, d, N, t));   /* pageable: complete on return */
        CHECK(back[0] == round && back[N - 1] == round);
        OK(cuEventQuery(e));
    }
    OK(cuMemsetD8Async(d, 99, N, s));
    OK(cuEventRecord(e, s));
    OK(cuEventSynchronize(e));
    CHECK(*(unsigned char *) emu_peek((void *) d, 1) == 99);

    OK(cuMemFree(d));
    OK(cuEventDestroy(e));
    EXPECT(cuEventQuery(e), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamDestroy(s));
    OK(cuStreamDestroy(t));
}

static void test_pageable_source_is_read_at_once(void)
{
    CUstream s;
    CUdeviceptr d;
    unsigned char *source = malloc(N), back[N];

    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&d, N));
    memset(source, 5, N);
    OK(cuMemcpyHtoDAsync(d, source, N, s));
    memset(source, 6, N);
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH(back, d, N));
    CHECK(back[0] == 5);

    /* A pinned source is read when the operation runs. */
    OK(cuMemHostRegister(source, N, 0));
    OK(cuMemcpyHtoDAsync(d, source, N, s));
    memset(source, 7, N);
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH(back, d, N));
    CHECK(back[0] == 7);
    OK(cuMemHostUnregister(source));
    free(source);
    OK(cuMemFree(d));
    OK(cuStreamDestroy(s));
}

static void test_default_stream(void)
{
    CUstream s;
    CUdeviceptr d;
    unsigned char back[N];

    OK(cuStreamCreate(&s, CU_STREAM_DEFAULT));
    OK(cuMemAlloc(&d, N));
    for (int round = 0; round < 5; round++) {
        OK(cuMemsetD8Async(d, 1, N, s));
        OK(cuMemsetD8Async(d, 2, N, NULL));     /* after it */
        OK(cuMemcpyDtoHAsync(back, d, N, s));   /* and before this */
        CHECK(back[0] == 2);
    }
    OK(cuMemFree(d));
    OK(cuStreamDestroy(s));
}

/* Calls without "Async" that return early nevertheless, unless an attribute makes them
 * synchronous. */
static void test_synchronous_forms(void)
{
    CUdeviceptr d, e;
    unsigned char source[N];
    unsigned flags, on = 1;

    OK(cuMemAlloc(&d, N));
    OK(cuMemAlloc(&e, N));
    for (unsigned char way = 1; way <= 3; way++) {
        CUresult busy = way == 1 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;

        memset(source, way, N);
        OK(cuMemcpyHtoD(d, source, N));
        EXPECT(cuStreamQuery(NULL), busy);
        OK(cuStreamSynchronize(NULL));
        OK(cuMemcpyDtoD(e, d, N));
        EXPECT(cuStreamQuery(NULL), busy);
        OK(cuStreamSynchronize(NULL));
        CHECK(*(unsigned char *) emu_peek((void *) e, 1) == way);
        OK(cuMemsetD8(d, 0, N));
        EXPECT(cuStreamQuery(NULL), busy);
        OK(cuStreamSynchronize(NULL));

        on = way == 1;          /* first the memory, then the context */
        OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, d));
        OK(cuPointerGetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, d + 1));
        CHECK(on == (way == 1));
        OK(cuCtxGetFlags(&flags));
        OK(cuCtxSetFlags(way == 2 ? flags | CU_CTX_SYNC_MEMOPS : flags & ~CU_CTX_SYNC_MEMOPS));
    }
    OK(cuMemFree(d));
    OK(cuMemFree(e));
}

static CUdeviceptr seen_addr;
static CUresult seen_answer;

static void CUDA_CB host_function(void *n)
{
    CUmemorytype type;

    ++*(int *) n;
    seen_answer = cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, seen_addr);
}

/* Host functions keep their order in the stream, and driver calls in them fail. */
static void test_host_functions(void)
{
    CUstream blocking;
    int n = 0;

    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(cuMemAlloc(&seen_addr, N));
    OK(cuLaunchHostFunc(blocking, host_function, &n));
    EXPECT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    OK(cuLaunchHostFunc(blocking, host_function, &n));
    OK(cuStreamSynchronize(blocking));
    OK(cuStreamQuery(NULL));
    CHECK(n == 2 && seen_answer == CUDA_ERROR_NOT_PERMITTED);
    EXPECT(cuLaunchHostFunc(blocking, NULL, &n), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(seen_addr));
    OK(cuStreamDestroy(blocking));
}

static void *unsafe_call(void *res)
{
    CUdeviceptr d;
    CUcontext ctx;

    OK(cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cuCtxSetCurrent(ctx));
    *(CUresult *) res = cuMemAlloc(&d, N);
    if (*(CUresult *) res == CUDA_SUCCESS)
        OK(cuMemFree(d));
    OK(cuDevicePrimaryCtxRelease(0));
    return NULL;
}

static CUresult unsafe_elsewhere(void)
{
    pthread_t thread;
    CUresult res;

    pthread_create(&thread, NULL, unsafe_call, &res);
    pthread_join(thread, NULL);
    return res;
}

static void test_capture(void)
{
    CUstream s, blocking;
    CUstreamCaptureStatus status;
    CUgraph graph;
    CUdeviceptr d;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    CHECK(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuMemAlloc(&d, N));
    OK(cuMemFree(d));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    CHECK(mode == CU_STREAM_CAPTURE_MODE_RELAXED);
    OK(cuStreamEndCapture(s, &graph));

    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT(cuMemAlloc(&d, N), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT(cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    EXPECT(cuStreamIsCapturing(NULL, &status), CUDA_SUCCESS);
    OK(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT(cuStreamIsCapturing(NULL, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    OK(cuStreamEndCapture(blocking, &graph));
    OK(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT(cuStreamSynchronize(NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    EXPECT(cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuStreamDestroy(blocking));

    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(unsafe_elsewhere());
    OK(cuStreamEndCapture(s, &graph));
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT(unsafe_elsewhere(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT(cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuStreamDestroy(s));
}

int main(void)
{
    primary_enter(0);
    test_late_and_in_order();
    test_events();
    test_pageable_source_is_read_at_once();
    test_default_stream();
    test_synchronous_forms();
    test_host_functions();
    test_capture();
    CHECK(emu_live("stream") == 0 && emu_live("event") == 0 && emu_live("memory") == 0);
    OK(cuDevicePrimaryCtxRelease(0));
    return selftest_end();
}
