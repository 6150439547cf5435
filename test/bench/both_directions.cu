/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures the bus in both directions at once, without MPI: 64 MiB packed to pinned memory and 64
 * MiB unpacked from it, by kernels of given numbers of blocks or by the driver's copies.
 *
 * Build and run: nvcc -O3 -std=c++17 -arch=native -o both_directions both_directions.cu */

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <time.h>
#include <vector>

#define CHECK(call_)                                                                    \
    do {                                                                                \
        cudaError_t res_ = (call_);                                                     \
        if (res_ != cudaSuccess) {                                                      \
            fprintf(stderr, "%s: %s\n", #call_, cudaGetErrorString(res_));              \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

static const long SIZE = 64L << 20;     /* bytes, packed */
static const int REPETITIONS = 12;

static cudaStream_t streams[2];

static double now()
{
    timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

/* Copies every from_stride-th element to every to_stride-th; a thread has four loads in flight. */
template <class T>
__global__ void move(T *to, const T *from, long n, int to_stride, int from_stride)
{
    const long step = (long) gridDim.x * blockDim.x;
    long i = blockIdx.x * (long) blockDim.x + threadIdx.x;

    for (; i + 3 * step < n; i += 4 * step) {
        T value[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            value[k] = from[(i + k * step) * from_stride];
#pragma unroll
        for (int k = 0; k < 4; k++)
            to[(i + k * step) * to_stride] = value[k];
    }
    for (; i < n; i += step)
        to[i * to_stride] = from[i * from_stride];
}

static void measure(const char *name, const std::function<void()> &start)
{
    std::vector<double> times;

    for (int i = 0; i < REPETITIONS; i++) {
        double begin = now();
        start();
        CHECK(cudaStreamSynchronize(streams[0]));
        CHECK(cudaStreamSynchronize(streams[1]));
        times.push_back(now() - begin);
    }
    std::sort(times.begin(), times.end());
    double median = times[times.size() / 2];
    printf("%-50s %8.1f us  %.1f GB/s of 64 MiB\n", name, median, SIZE / median / 1e3);
}

int main()
{
    char *device[2], *host[2], *packed;
    const long n = SIZE / 8;

    for (int i = 0; i < 2; i++) {
        CHECK(cudaMalloc(&device[i], 2 * SIZE));
        CHECK(cudaMemset(device[i], 1, 2 * SIZE));
        CHECK(cudaHostAlloc((void **) &host[i], SIZE, 0));
        memset(host[i], 1, SIZE);
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    }
    CHECK(cudaMalloc(&packed, SIZE));
    for (int blocks : {16, 32, 64, 132, 264, 1056, 8192}) {
        char name[80];
        auto pack = [&] {
            move<uint64_t><<<blocks, 256, 0, streams[0]>>>((uint64_t *) host[0],
                                                           (uint64_t *) device[0], n, 1, 2);
        };
        auto unpack = [&] {
            move<uint64_t><<<blocks, 256, 0, streams[1]>>>((uint64_t *) device[1],
                                                           (uint64_t *) host[1], n, 2, 1);
        };
        snprintf(name, sizeof(name), "pack kernel 8 B, %d blocks", blocks);
        measure(name, pack);
        snprintf(name, sizeof(name), "unpack kernel 8 B, %d blocks", blocks);
        measure(name, unpack);
        snprintf(name, sizeof(name), "both kernels 8 B, %d blocks", blocks);
        measure(name, [&] { pack(); unpack(); });
        CHECK(cudaGetLastError());
    }
    measure("D2H copy", [&] {
        CHECK(cudaMemcpyAsync(host[0], packed, SIZE, cudaMemcpyDefault, streams[0]));
    });
    measure("both copies", [&] {
        CHECK(cudaMemcpyAsync(host[0], packed, SIZE, cudaMemcpyDefault, streams[0]));
        CHECK(cudaMemcpyAsync(device[1], host[1], SIZE, cudaMemcpyDefault, streams[1]));
    });
    return 0;
}
