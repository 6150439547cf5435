/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that each call leaves the program's CUDA state unchanged: current context, context stack,
 * stream captures in progress, the thread's capture mode. No call uses the default stream, or waits
 * for it except for memory that MPI sees for the first time. With "cold" the captures are in
 * progress when the engine is used for the first time. */

#include "gpu.h"
#include "report.h"
#include "strided.h"

#include <pthread.h>
#include <string.h>

#define BLOCKS 200

static void transfers_run(void)
{
    static const enum mem_kind others[] = { MEM__DEVICE, MEM__PINNED, MEM__PAGEABLE,
        MEM__OTHER_DEVICE };

    for (int i = 0; i < 4; i++) {
        struct strided s;

        if (!mem_exists(others[i]))
            continue;
        strided_make(&s, MEM__DEVICE, others[i], BLOCKS, i % 2);
        strided_both_ways(&s);
        strided_free(&s);
    }
}

static void contexts_stay(void)
{
    struct mem other;
    CUcontext ctx[4] = { NULL, gpu_primary(0), NULL, NULL }, popped;

    mem_alloc(&other, MEM__OTHER_CTX, 4096);
    ctx[2] = other.ctx;
    ctx[3] = mem_exists(MEM__OTHER_DEVICE) ? gpu_primary(1) : gpu_primary(0);
    for (int i = 0; i < 4; i++) {
        CU(CtxSetCurrent(ctx[i]));
        transfers_run();
        CHECK(gpu_get_current() == ctx[i]);
    }

    /* the stack is empty again, as before */
    CU(CtxSetCurrent(NULL));
    CU(CtxPushCurrent(ctx[1]));
    CU(CtxPushCurrent(ctx[2]));
    transfers_run();
    CU(CtxPopCurrent(&popped));
    CHECK(popped == ctx[2]);
    CU(CtxPopCurrent(&popped));
    CHECK(popped == ctx[1]);
    CHECK(gpu_get_current() == NULL);
    mem_free(&other);
}

static void capture_check(CUstream stream)
{
    CUstreamCaptureStatus status;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    CUgraph graph = NULL;

    CU(ThreadExchangeStreamCaptureMode(&mode));
    CHECK(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
    CU(StreamIsCapturing(stream, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHECK(gpu.StreamEndCapture(stream, &graph) == CUDA_SUCCESS);
}

/* Made before a capture begins, since a capture forbids the calls that make and fill it. */
static struct strided prepared;

static void capture_in_this_thread(void)
{
    CUstream stream;

    CU(StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    strided_fill_user(&prepared);
    CU(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK_MPI(strided_pack(&prepared));
    capture_check(stream);
    strided_check_packed(&prepared);
    CU(StreamDestroy(stream));
}

/* The default stream would have to wait for such a stream. Uses memory new to MPI. */
static void capture_of_blocking_stream(void)
{
    struct strided s;
    CUstream stream;

    strided_make(&s, MEM__DEVICE, MEM__DEVICE, BLOCKS, 0);
    strided_fill_user(&s);
    CU(StreamCreate(&stream, CU_STREAM_DEFAULT));
    CU(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK_MPI(strided_pack(&s));
    capture_check(stream);
    strided_check_packed(&s);
    CU(StreamDestroy(stream));
    strided_free(&s);
}

static pthread_barrier_t barrier;

static void *capture_thread(void *unused)
{
    CUstream stream;

    (void) unused;
    CU(CtxSetCurrent(gpu_primary(0)));
    CU(StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    capture_check(stream);
    CU(StreamDestroy(stream));
    return NULL;
}

static void capture_in_other_thread(void)
{
    pthread_t thread;

    strided_fill_user(&prepared);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, capture_thread, NULL);
    pthread_barrier_wait(&barrier);
    CHECK_MPI(strided_pack(&prepared));
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    strided_check_packed(&prepared);
}

/* Long work in the default stream must neither delay a transfer nor be waited for. */
static void default_stream_is_busy(void)
{
    struct mem big;
    CUresult res;

    strided_fill_user(&prepared);
    CHECK_MPI(strided_pack(&prepared));
    strided_fill_user(&prepared);
    mem_alloc(&big, MEM__DEVICE, gpu.is_emulated ? 4096 : (size_t) 1 << 30);
    /* emulated operations take 5 ms at least, see check-gpu; real ones about 300 us each */
    for (int i = 0; i < 200; i++)
        CU(MemsetD8Async((CUdeviceptr) big.addr, (unsigned char) i, big.sz, NULL));
    CHECK_MPI(strided_pack(&prepared));
    gpu_quiet(1);
    res = gpu.StreamQuery(NULL);
    gpu_quiet(0);
    CHECK(res == CUDA_ERROR_NOT_READY);
    CU(StreamSynchronize(NULL));
    strided_check_packed(&prepared);
    mem_free(&big);
}

int main(int argc, char **argv)
{
    int is_cold = argc > 1 && strcmp(argv[1], "cold") == 0;

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    if (!is_cold)
        contexts_stay();
    gpu_set_current(0);
    strided_make(&prepared, MEM__DEVICE, MEM__PAGEABLE, BLOCKS, 1);
    capture_in_this_thread();
    capture_of_blocking_stream();
    capture_in_other_thread();
    default_stream_is_busy();
    strided_free(&prepared);
    MPI_Finalize();
    return report_done();
}
