/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures both directions at once, without MPI: 64 MiB packed to pinned memory and 64 MiB unpacked
 * from it, by kernels of given numbers of blocks or by the driver's copies. With two GPUs also 64
 * MiB from one to the other by way of packed pieces: a kernel of the sender packs a piece into its
 * memory, one of the receiver reads it across and unpacks it (pulled). Or the copy engine moves the
 * piece to the receiver's memory, and a kernel unpacks it there (copied). Or the sender's kernel packs it
 * into the receiver's memory (pushed), also by stores of 16 bytes (pushed wide). Or one kernel of the
 * receiver reads the blocks where they are (read). Each direction has a thread that starts its pieces.
 * The same for 64 messages of 256 KiB, 1, 4 and 16 MiB, one after the other, and the copy engine in one to
 * four streams.
 *
 * Build and run: nvcc -O3 -std=c++17 -arch=native -o both_directions both_directions.cu */

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
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

/* Packs n elements of 8 bytes at 16, n even; a thread has four stores of 16 bytes in flight. */
__global__ void pack_wide(ulonglong2 *to, const unsigned long long *from, long n)
{
    const long step = (long) gridDim.x * blockDim.x, end = n / 2;
    long i = blockIdx.x * (long) blockDim.x + threadIdx.x;

    for (; i + 3 * step < end; i += 4 * step) {
        ulonglong2 value[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            value[k] = make_ulonglong2(from[4 * (i + k * step)], from[4 * (i + k * step) + 2]);
#pragma unroll
        for (int k = 0; k < 4; k++)
            to[i + k * step] = value[k];
    }
    for (; i < end; i += step)
        to[i] = make_ulonglong2(from[4 * i], from[4 * i + 2]);
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

enum way { PULLED, COPIED, PUSHED, PUSHED_WIDE, READ, ENGINE };
static const char *const way_names[] =
    { "pulled", "copied", "pushed", "pushed wide", "read", "copy engine" };

/* The staged ways of one direction, from device `from` to the other: blocks of 8 bytes at 16. */
struct staged {
    enum { PIECES_MOST = 32, PLACES = 4, STREAMS_MOST = 4 };
    int from;
    char *src, *stage, *arrived, *dst;
    cudaStream_t pack, copy, unpack, engine[STREAMS_MOST];
    cudaEvent_t is_packed[PIECES_MOST], is_copied[PIECES_MOST], is_free[PIECES_MOST];

    static void events_create(cudaEvent_t *events)
    {
        for (int i = 0; i < PIECES_MOST; i++)
            CHECK(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
    }

    explicit staged(int from_):from(from_)
    {
        CHECK(cudaSetDevice(from));
        CHECK(cudaMalloc(&src, 2 * SIZE));
        CHECK(cudaMemset(src, 1, 2 * SIZE));
        CHECK(cudaMalloc(&stage, SIZE));
        CHECK(cudaStreamCreateWithFlags(&pack, cudaStreamNonBlocking));
        events_create(is_packed);
        CHECK(cudaSetDevice(1 - from));
        CHECK(cudaMalloc(&dst, 2 * SIZE));
        CHECK(cudaMalloc(&arrived, SIZE));
        CHECK(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&unpack, cudaStreamNonBlocking));
        for (cudaStream_t &stream : engine)
            CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        events_create(is_copied);
        events_create(is_free);
    }

    /* Starts piece i, of n elements, and the kernels with so many blocks; copies by the engine in so many
     * streams. */
    void start(int i, long n, int blocks, enum way way)
    {
        const long first = i % (SIZE / 8 / n) * n;
        const int event = i % PIECES_MOST, before = (i - PLACES) % PIECES_MOST;
        uint64_t *place = (uint64_t *) stage + i % PLACES * n;
        uint64_t *there = (uint64_t *) arrived + i % PLACES * n;
        uint64_t *from_here = (uint64_t *) src + 2 * first, *to = (uint64_t *) dst + 2 * first;

        if (way == READ || way == ENGINE) {
            CHECK(cudaSetDevice(1 - from));
            if (way == ENGINE)
                CHECK(cudaMemcpyAsync(there, place, n * 8, cudaMemcpyDefault, engine[i % blocks]));
            else
                move<uint64_t><<<blocks, 256, 0, unpack>>>(to, from_here, n, 2, 2);
            return;
        }
        CHECK(cudaSetDevice(from));
        if (i >= PLACES)
            CHECK(cudaStreamWaitEvent(pack, (way == COPIED ? is_copied : is_free)[before], 0));
        if (way == PUSHED_WIDE)
            pack_wide<<<blocks, 256, 0, pack>>>((ulonglong2 *) there,
                                                (unsigned long long *) from_here, n);
        else
            move<uint64_t><<<blocks, 256, 0, pack>>>(way == PUSHED ? there : place, from_here, n, 1, 2);
        CHECK(cudaEventRecord(is_packed[event], pack));
        CHECK(cudaSetDevice(1 - from));
        if (way == COPIED) {
            CHECK(cudaStreamWaitEvent(copy, is_packed[event], 0));
            if (i >= PLACES)
                CHECK(cudaStreamWaitEvent(copy, is_free[before], 0));
            CHECK(cudaMemcpyAsync(there, place, n * 8, cudaMemcpyDefault, copy));
            CHECK(cudaEventRecord(is_copied[event], copy));
            CHECK(cudaStreamWaitEvent(unpack, is_copied[event], 0));
        } else {
            CHECK(cudaStreamWaitEvent(unpack, is_packed[event], 0));
        }
        move<uint64_t><<<blocks, 256, 0, unpack>>>(to, way == PULLED ? place : there, n, 2, 1);
        CHECK(cudaEventRecord(is_free[event], unpack));
    }

    void run(int n_pieces, long size, int blocks, enum way way)
    {
        for (int i = 0; i < n_pieces; i++)
            start(i, size / 8, blocks, way);
        CHECK(cudaStreamSynchronize(unpack));
        for (cudaStream_t stream : engine)
            CHECK(cudaStreamSynchronize(stream));
    }
};

/* Measures n_pieces of so many bytes one way (n_ways is 1) or both ways (2). */
static void measure_ways(staged *ways, int n_ways, int n_pieces, long size, int blocks, enum way way)
{
    std::vector<double> times;

    for (int k = 0; k < REPETITIONS; k++) {
        double begin = now();
        std::thread other([&] {
            if (n_ways == 2)
                ways[1].run(n_pieces, size, blocks, way);
        });
        ways[0].run(n_pieces, size, blocks, way);
        other.join();
        times.push_back(now() - begin);
    }
    std::sort(times.begin(), times.end());
    double median = times[times.size() / 2];
    printf("%-11s, %s %2d pieces of %5ld KiB, %4d %s %8.1f us  %.1f GB/s\n", way_names[way],
           n_ways == 1 ? "one way,  " : "both ways,", n_pieces, size >> 10, blocks,
           way == ENGINE ? "streams" : "blocks ", median, n_pieces * size / median / 1e3);
}

/* The copy engine alone. */
static void measure_copies(staged *ways, int n_ways)
{
    std::vector<double> times;

    for (int k = 0; k < REPETITIONS; k++) {
        double begin = now();
        for (int w = 0; w < n_ways; w++)
            CHECK(cudaMemcpyAsync(ways[w].arrived, ways[w].stage, SIZE, cudaMemcpyDefault,
                                  ways[w].copy));
        for (int w = 0; w < n_ways; w++)
            CHECK(cudaStreamSynchronize(ways[w].copy));
        times.push_back(now() - begin);
    }
    std::sort(times.begin(), times.end());
    double median = times[times.size() / 2];
    printf("copy engine alone, %s %8.1f us  %.1f GB/s of 64 MiB\n",
           n_ways == 1 ? "one way,  " : "both ways,", median, SIZE / median / 1e3);
}

static void measure_staged()
{
    for (int i = 0; i < 2; i++) {
        CHECK(cudaSetDevice(i));
        CHECK(cudaDeviceEnablePeerAccess(1 - i, 0));
    }
    staged ways[2] = { staged(0), staged(1) };

    for (int n_ways = 1; n_ways <= 2; n_ways++)
        measure_copies(ways, n_ways);
    for (enum way way : {PULLED, COPIED, PUSHED, PUSHED_WIDE})
        for (int n_pieces : {1, 4, 8, 16})
            for (int blocks : {66, 132, 264, 1056, 4096})
                for (int n_ways = 1; n_ways <= 2; n_ways++)
                    measure_ways(ways, n_ways, n_pieces, SIZE / n_pieces, blocks, way);
    for (long size : {256L << 10, 1L << 20, 4L << 20, 16L << 20}) {
        for (int streams : {1, 2, staged::STREAMS_MOST + 0})
            for (int n_ways = 1; n_ways <= 2; n_ways++)
                measure_ways(ways, n_ways, 64, size, streams, ENGINE);
        for (enum way way : {READ, PULLED, COPIED, PUSHED_WIDE})
            for (int blocks : {33, 66, 132, 264, 1056})
                for (int n_ways = 1; n_ways <= 2; n_ways++)
                    measure_ways(ways, n_ways, 64, size, blocks, way);
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
