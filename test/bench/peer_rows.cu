/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures, without MPI, copies of rows at a pitch of four times their length from one GPU to rows of
 * another: by the driver's 2-D copy, and by a kernel of the receiving GPU that reads 8 bytes at a
 * time. Then the same for every second double, by kernels that read from the other GPU (as a get) or
 * write to it (as a put), for the best of several numbers of blocks, beside the contiguous copy of as
 * many bytes: only half of each sector of 32 bytes that crosses the link is of use.
 *
 * Build and run: nvcc -O3 -std=c++17 -arch=native -o peer_rows peer_rows.cu */

#include <algorithm>
#include <cstdio>
#include <cstdlib>
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

static const long MAX_SIZE = 64L << 20;         /* bytes, packed */
static const int REPETITIONS = 30;

static cudaStream_t stream;

static double now()
{
    timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

/* Copies n units of 8 bytes, of which rows of 1 << row_log are 1 << pitch_log units apart. */
__global__ void move(uint2 *to, const uint2 *from, unsigned n, int row_log, int pitch_log)
{
    const unsigned step = gridDim.x * blockDim.x;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    auto at = [=](unsigned unit) {
        return ((size_t) (unit >> row_log) << pitch_log) + (unit & ((1u << row_log) - 1));
    };

    for (; i < n; i += 4 * step) {
        uint2 value[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (i + k * step < n)
                value[k] = from[at(i + k * step)];
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (i + k * step < n)
                to[at(i + k * step)] = value[k];
        }
    }
}

static double measure(const std::function<void()> &start)
{
    std::vector<double> times;

    for (int i = 0; i < REPETITIONS; i++) {
        double begin = now();
        start();
        CHECK(cudaStreamSynchronize(stream));
        times.push_back(now() - begin);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

static void rows(char *to, char *from)
{
    printf("row and size in bytes, us by the 2-D copy, by the kernel, and by a 3-D copy of planes of 4 rows\n");
    for (long size = 1L << 10; size <= MAX_SIZE; size *= 4) {
        for (long row = 8; row <= 8L << 10 && row <= size / 4; row *= 4) {
            int row_log = __builtin_ctzl(row / 8);
            int blocks = (int) std::min(size / 8 / 256 / 4 + 1, 8L * 132);
            double copy = measure([&] {
                CHECK(cudaMemcpy2DAsync(to, 4 * row, from, 4 * row, row, size / row,
                                        cudaMemcpyDefault, stream));
            });
            double kernel = measure([&] {
                move<<<blocks, 256, 0, stream>>>((uint2 *) to, (uint2 *) from, size / 8, row_log,
                                                row_log + 2);
            });
            CHECK(cudaGetLastError());
            double box = size / row < 16 ? 0 : measure([&] {
                cudaMemcpy3DParms p = {};
                p.srcPtr = make_cudaPitchedPtr(from, 4 * row, row, 8);
                p.dstPtr = make_cudaPitchedPtr(to, 4 * row, row, 8);
                p.extent = make_cudaExtent(row, 4, size / row / 4);
                p.kind = cudaMemcpyDefault;
                CHECK(cudaMemcpy3DAsync(&p, stream));
            });
            printf("%6ld %9ld %9.1f %9.1f %9.1f\n", row, size, copy, kernel, box);
        }
    }
}

static double doubles_measure(char *to, char *from, long size)
{
    double best = 1e9;

    for (int blocks : {66, 132, 264, 528, 1056, 2112}) {
        best = std::min(best, measure([&] {
            move<<<blocks, 256, 0, stream>>>((uint2 *) to, (uint2 *) from, size / 8, 0, 1);
        }));
        CHECK(cudaGetLastError());
    }
    return best;
}

static void doubles(char *own, char *other)
{
    printf("every second double: size in bytes, us read across, written across, and by the driver's "
           "contiguous copy; parts of the latter's rate\n");
    for (long size = 1L << 10; size <= MAX_SIZE; size *= 4) {
        double read = doubles_measure(own, other, size);
        double written = doubles_measure(other, own, size);
        double copy = measure([&] {
            CHECK(cudaMemcpyAsync(other, own, size, cudaMemcpyDefault, stream));
        });
        printf("       %9ld %9.1f %9.1f %9.1f   %.2f %.2f\n", size, read, written, copy, copy / read,
               copy / written);
    }
}

int main()
{
    char *own, *other;

    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&other, 8 * MAX_SIZE));
    CHECK(cudaMemset(other, 1, 8 * MAX_SIZE));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(0));
    CHECK(cudaDeviceEnablePeerAccess(1, 0));
    CHECK(cudaMalloc(&own, 8 * MAX_SIZE));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    rows(own, other);
    doubles(own, other);
    return 0;
}
