/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/*
 * The ways to put the X-Y face and the X-Z face of 512^3 doubles, x fastest, into the same array of
 * another GPU, without MPI: the driver's copy, waited for in several ways, in one stream or by halves
 * in two; a kernel that writes to the other GPU 16 bytes at a time, for the best of several numbers of
 * blocks and threads; and a part by the kernel and the rest by the copy at once. Last, the copy after
 * one query of the address, without which a library cannot know where the memory is. Prints the median
 * of nine medians from the call to the end, the ways in turns, and the least and the greatest.
 *
 * Build and run: nvcc -O3 -std=c++17 -arch=native -o peer_faces peer_faces.cu -lcuda
 */

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <functional>
#include <string>
#include <time.h>
#include <vector>

#define CHECK(call_)                                                                    \
    do {                                                                                \
        int res_ = (int) (call_);                                                       \
        if (res_ != 0) {                                                                \
            fprintf(stderr, "%s: error %d\n", #call_, res_);                            \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

static const size_t N = 512;            /* doubles along an edge */
static const size_t LINE = N * sizeof(double), SIZE = N * LINE;
static const int ROUNDS = 9, REPETITIONS = 60;

static char *to, *from;
static cudaStream_t stream, other;
static cudaEvent_t event;
static unsigned *counter;
static volatile unsigned *flag;
static unsigned value;

static double now()
{
    timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

__global__ void empty()
{
}

/* Copies n units of 16 bytes: of lines, which are `pitch` units apart. The last block to end sets
 * `done`, if that is not NULL. */
__global__ void move(uint4 *dst, const uint4 *src, unsigned n, size_t pitch, unsigned *ended,
                     volatile unsigned *done, unsigned done_value)
{
    const unsigned step = gridDim.x * blockDim.x, line = LINE / sizeof(uint4);
    auto at = [=](unsigned unit) { return unit / line * pitch + unit % line; };

    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 4 * step) {
        uint4 unit[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (i + k * step < n)
                unit[k] = src[at(i + k * step)];
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (i + k * step < n)
                dst[at(i + k * step)] = unit[k];
        }
    }
    if (done == NULL)
        return;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence_system();
        if (atomicAdd(ended, 1) == gridDim.x - 1) {
            *ended = 0;
            __threadfence_system();
            *done = done_value;
        }
    }
}

/* A face: lines at a pitch. */
struct face {
    const char *name;
    size_t pitch;

    /* Lines [first, last) */
    void copy(cudaStream_t in, size_t first, size_t last) const
    {
        const size_t at = first * pitch;

        if (pitch == LINE)
            CHECK(cuMemcpyDtoDAsync((CUdeviceptr) (to + at), (CUdeviceptr) (from + at),
                                    (last - first) * LINE, in));
        else
            CHECK(cudaMemcpy2DAsync(to + at, pitch, from + at, pitch, LINE, last - first,
                                    cudaMemcpyDeviceToDevice, in));
    }

    void launch(int blocks, int threads, size_t last, bool has_flag) const
    {
        value++;
        move<<<blocks, threads, 0, stream>>>((uint4 *) to, (const uint4 *) from,
                                             (unsigned) (last * LINE / sizeof(uint4)),
                                             pitch / sizeof(uint4), counter, has_flag ? flag : NULL, value);
        CHECK(cudaGetLastError());
    }
};

static void flag_wait()
{
    while (*flag != value)
        ;
}

struct way {
    std::string name;
    std::function<void()> run;
    std::vector<double> medians;

    way(const std::string &name_, std::function<void()> run_) : name(name_), run(run_)
    {
    }
};

static double median(std::vector<double> times)
{
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

static void measure(way *w)
{
    std::vector<double> times;

    for (int i = 0; i < REPETITIONS; i++) {
        const double begin = now();
        w->run();
        times.push_back(now() - begin);
    }
    w->medians.push_back(median(times));
}

static void print(const face &f, const way &w)
{
    const auto ends = std::minmax_element(w.medians.begin(), w.medians.end());

    printf("%s  %-40s %6.2f us (%.2f to %.2f)\n", f.name, w.name.c_str(), median(w.medians), *ends.first,
           *ends.second);
}

static void face_measure(const face &f)
{
    std::vector<way> ways = {
        {"empty kernel, synchronize", [] { empty<<<1, 1, 0, stream>>>(); CHECK(cudaStreamSynchronize(stream)); }},
        {"copy, synchronize", [=] { f.copy(stream, 0, N); CHECK(cudaStreamSynchronize(stream)); }},
        {"copy, event", [=] {
            f.copy(stream, 0, N);
            CHECK(cudaEventRecord(event, stream));
            CHECK(cudaEventSynchronize(event));
        }},
        {"copy, written flag", [=] {
            f.copy(stream, 0, N);
            value++;
            CHECK(cuStreamWriteValue32(stream, (CUdeviceptr) flag, value, 0));
            flag_wait();
        }},
        {"copy of halves in two streams", [=] {
            f.copy(stream, 0, N / 2);
            f.copy(other, N / 2, N);
            CHECK(cudaStreamSynchronize(stream));
            CHECK(cudaStreamSynchronize(other));
        }},
        {"query of the address, copy, synchronize", [=] {
            unsigned long long id;
            CHECK(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, (CUdeviceptr) from));
            f.copy(stream, 0, N);
            CHECK(cudaStreamSynchronize(stream));
        }},
    };
    const way *best = NULL;

    for (int quarters = 1; quarters <= 3; quarters++)
        ways.push_back({std::to_string(25 * quarters) + "% by a kernel, the rest by the copy", [=] {
            f.copy(other, quarters * N / 4, N);
            f.launch(64, 512, quarters * N / 4, true);
            CHECK(cudaStreamSynchronize(other));
            flag_wait();
        }});
    const size_t nplain = ways.size();
    for (int threads : {256, 512, 1024}) {
        for (int blocks : {16, 32, 64, 128, 132, 264}) {
            const std::string shape = std::to_string(blocks) + " blocks of " + std::to_string(threads);
            ways.push_back({"kernel, flag, " + shape, [=] { f.launch(blocks, threads, N, true); flag_wait(); }});
            ways.push_back({"kernel, synchronize, " + shape, [=] {
                f.launch(blocks, threads, N, false);
                CHECK(cudaStreamSynchronize(stream));
            }});
        }
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (way &w : ways)
            measure(&w);
    }
    for (size_t i = 0; i < nplain; i++)
        print(f, ways[i]);
    for (size_t first = nplain; first < nplain + 2; first++) {
        best = &ways[first];
        for (size_t i = first; i < ways.size(); i += 2) {
            if (median(ways[i].medians) < median(best->medians))
                best = &ways[i];
        }
        print(f, *best);
    }
}

int main()
{
    const size_t array = N * SIZE;
    void *pinned;

    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc((void **) &to, array));
    CHECK(cudaSetDevice(0));
    CHECK(cudaDeviceEnablePeerAccess(1, 0));
    CHECK(cudaMalloc((void **) &from, array));
    CHECK(cudaMalloc((void **) &counter, sizeof(*counter)));
    CHECK(cudaMemset(counter, 0, sizeof(*counter)));
    CHECK(cudaHostAlloc(&pinned, sizeof(*flag), cudaHostAllocMapped));
    flag = (volatile unsigned *) pinned;
    *flag = 0;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    face_measure({"X-Y", LINE});
    face_measure({"X-Z", SIZE});
    return 0;
}
