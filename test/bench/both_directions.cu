/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures both directions at once, without MPI: 64 MiB packed to pinned memory and 64 MiB unpacked
 * from it, by kernels of given numbers of blocks or by the driver's copies. With two GPUs also 64
 * MiB from one to the other by way of packed pieces in the sender's memory: a kernel of the sender
 * packs a piece, one of the receiver reads it across and unpacks it.
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

/* The staged way of one direction, from device `from` to the other: blocks of 8 bytes at 16. */
struct staged {
    enum { PIECES = 8, PLACES = 4 };
    int from;
    char *src, *stage, *dst;
    cudaStream_t pack, unpack;
    cudaEvent_t is_packed[PIECES], is_free[PIECES];

    explicit staged(int from_):from(from_)
    {
        CHECK(cudaSetDevice(from));
        CHECK(cudaMalloc(&src, 2 * SIZE));
        CHECK(cudaMemset(src, 1, 2 * SIZE));
        CHECK(cudaMalloc(&stage, SIZE / PIECES * PLACES));
        CHECK(cudaStreamCreateWithFlags(&pack, cudaStreamNonBlocking));
        for (int i = 0; i < PIECES; i++)
            CHECK(cudaEventCreateWithFlags(&is_packed[i], cudaEventDisableTiming));
        CHECK(cudaSetDevice(1 - from));
        CHECK(cudaMalloc(&dst, 2 * SIZE));
        CHECK(cudaStreamCreateWithFlags(&unpack, cudaStreamNonBlocking));
        for (int i = 0; i < PIECES; i++)
            CHECK(cudaEventCreateWithFlags(&is_free[i], cudaEventDisableTiming));
    }

    void start(int i, int blocks)
    {
        const long n = SIZE / PIECES / 8;
        uint64_t *place = (uint64_t *) stage + i % PLACES * n;

        CHECK(cudaSetDevice(from));
        if (i >= PLACES)
            CHECK(cudaStreamWaitEvent(pack, is_free[i - PLACES], 0));
        move<uint64_t><<<blocks, 256, 0, pack>>>(place, (uint64_t *) src + 2 * i * n, n, 1, 2);
        CHECK(cudaEventRecord(is_packed[i], pack));
        CHECK(cudaSetDevice(1 - from));
        CHECK(cudaStreamWaitEvent(unpack, is_packed[i], 0));
        move<uint64_t><<<blocks, 256, 0, unpack>>>((uint64_t *) dst + 2 * i * n, place, n, 2, 1);
        CHECK(cudaEventRecord(is_free[i], unpack));
    }
};

static void measure_staged()
{
    for (int i = 0; i < 2; i++) {
        CHECK(cudaSetDevice(i));
        CHECK(cudaDeviceEnablePeerAccess(1 - i, 0));
    }
    staged ways[2] = { staged(0), staged(1) };

    for (int blocks : {132, 264, 528, 1056, 4096}) {
        for (int nways = 1; nways <= 2; nways++) {
            std::vector<double> times;
            for (int k = 0; k < REPETITIONS; k++) {
                double begin = now();
                for (int i = 0; i < staged::PIECES; i++) {
                    for (int w = 0; w < nways; w++)
                        ways[w].start(i, blocks);
                }
                for (int w = 0; w < nways; w++)
                    CHECK(cudaStreamSynchronize(ways[w].unpack));
                times.push_back(now() - begin);
            }
            std::sort(times.begin(), times.end());
            double median = times[times.size() / 2];
            printf("staged between GPUs, %s %4d blocks %15.1f us  %.1f GB/s of 64 MiB\n",
                   nways == 1 ? "one way,  " : "both ways,", blocks, median, SIZE / median / 1e3);
        }
    }
}

int main()
{
    int ndevices;

    CHECK(cudaGetDeviceCount(&ndevices));
    if (ndevices > 1)
        measure_staged();
    CHECK(cudaSetDevice(0));
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
