/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/*
 * The ways to move a few contiguous bytes between GPU memory and pinned memory, without MPI: a kernel
 * of one block or the driver's copy, waited for by a flag in pinned memory, by the stream or by an
 * event. Prints the time from the call to the end, and the time in the call.
 *
 * Build and run: nvcc -O3 -std=c++17 -arch=native -o small_copies small_copies.cu -lcuda
 */

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <time.h>

#define CHECK(call_)                                                                    \
    do {                                                                                \
        int res_ = (int) (call_);                                                       \
        if (res_ != 0) {                                                                \
            fprintf(stderr, "%s: error %d\n", #call_, res_);                            \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

enum way { KERNEL_FLAG, KERNEL_SYNC, COPY_SYNC, COPY_WRITE, COPY_EVENT, NWAYS };

static const char *const way_names[NWAYS] = {
    "kernel, flag", "kernel, synchronize", "copy, synchronize", "copy, written flag", "copy, event"
};

static const int REPETITIONS = 2000;
static const double PAUSE = 15;         /* us between two of them, so that the GPU is idle */
static const int SIZES[] = { 8, 64, 1024, 4096, 8192, 16384, 32768, 65536 };

static CUstream stream;
static CUevent event;
static volatile int *flag;
static int value;

static double now()
{
    timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

/* n is a multiple of 8. */
__global__ void move(long *to, const long *from, int n, volatile int *done, int done_value)
{
    for (int i = threadIdx.x; i < n / 8; i += blockDim.x)
        to[i] = from[i];
    __syncthreads();
    if (done && threadIdx.x == 0) {
        __threadfence_system();
        *done = done_value;
    }
}

/* Returns the time when the call is over. */
static double start(way w, void *to, const void *from, int n)
{
    value++;
    if (w == KERNEL_FLAG || w == KERNEL_SYNC) {
        move<<<1, 256, 0, stream>>>((long *) to, (const long *) from, n,
                                    w == KERNEL_FLAG ? flag : NULL, value);
    } else {
        CHECK(cuMemcpyAsync((CUdeviceptr) to, (CUdeviceptr) from, n, stream));
        if (w == COPY_WRITE)
            CHECK(cuStreamWriteValue32(stream, (CUdeviceptr) flag, value,
                                       CU_STREAM_WRITE_VALUE_DEFAULT));
        else if (w == COPY_EVENT)
            CHECK(cuEventRecord(event, stream));
    }
    return now();
}

static void wait(way w)
{
    if (w == KERNEL_FLAG || w == COPY_WRITE) {
        while (*flag != value);
    } else if (w == COPY_EVENT) {
        while (cuEventQuery(event) == CUDA_ERROR_NOT_READY);
    } else {
        CHECK(cuStreamSynchronize(stream));
    }
}

static void measure(way w, const char *direction, void *to, const void *from, int n)
{
    static double whole[REPETITIONS], call[REPETITIONS];

    for (int i = 0; i < REPETITIONS; i++) {
        double begin = now();
        while (now() < begin + PAUSE);
        begin = now();
        call[i] = start(w, to, from, n) - begin;
        wait(w);
        whole[i] = now() - begin;
    }
    std::sort(whole, whole + REPETITIONS);
    std::sort(call, call + REPETITIONS);
    printf("%s %6d B  %-20s %6.2f us, call %5.2f us\n", direction, n, way_names[w],
           whole[REPETITIONS / 2], call[REPETITIONS / 2]);
}

int main()
{
    char *device, *host;

    CHECK(cudaSetDevice(0));
    CHECK(cudaMalloc(&device, 1 << 20));
    CHECK(cudaHostAlloc(&host, 1 << 20, cudaHostAllocMapped));
    flag = (volatile int *) (host + (1 << 19));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (int n : SIZES) {
        for (int w = 0; w < NWAYS; w++)
            measure((way) w, "to host  ", host, device, n);
        for (int w = 0; w < NWAYS; w++)
            measure((way) w, "from host", device, host, n);
    }
    return 0;
}
