/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures, without MPI, what two processes that share a GPU can do: they take turns, and in its
 * turn a process copies from the other's memory, which it maps, to its own: by the driver's copy, by
 * a kernel from blocks of 8 bytes at 16 to such blocks, or an empty kernel. Or it copies from pinned host
 * memory that both share to its own, and from its own to there, by the driver's copies, contiguous or of
 * rows of 8 bytes at 16: what a message takes that goes through the host. A turn ends with a word
 * in memory that both processes share. For comparison one process takes all turns, so that the GPU
 * does not change contexts.
 *
 * Build and run: nvcc -O3 -std=c++17 -arch=native -o one_gpu one_gpu.cu */

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
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
static const int REPETITIONS = 200;

struct shared {
    cudaIpcMemHandle_t handle[2];
    std::atomic<int> turn;
    std::atomic<int> nready;
};

enum what { EMPTY, COPY, VECTOR, HOST_COPIES, HOST_ROWS };
static const char *const names[] = { "empty kernel", "driver's copy", "vector kernel", "copies, host",
    "rows, host"
};

__global__ void move(uint64_t *to, const uint64_t *from, long n)
{
    const long step = (long) gridDim.x * blockDim.x;

    for (long i = blockIdx.x * (long) blockDim.x + threadIdx.x; i < n; i += step)
        to[2 * i] = from[2 * i];
}

static double now()
{
    timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static void wait_for(std::atomic<int> &word, int value)
{
    while (word.load(std::memory_order_acquire) < value)
        ;
}

/* To and from host memory. */
static void transfer_host(what w, char *mem, char *host, long size, cudaStream_t stream)
{
    const long n = size / 8;

    if (w == HOST_COPIES)
        CHECK(cudaMemcpyAsync(mem, host, size, cudaMemcpyDefault, stream));
    else
        CHECK(cudaMemcpy2DAsync(mem, 16, host, 8, 8, n, cudaMemcpyDefault, stream));
    CHECK(cudaStreamSynchronize(stream));
    if (w == HOST_COPIES)
        CHECK(cudaMemcpyAsync(host, mem, size, cudaMemcpyDefault, stream));
    else
        CHECK(cudaMemcpy2DAsync(host, 8, mem, 16, 8, n, cudaMemcpyDefault, stream));
    CHECK(cudaStreamSynchronize(stream));
}

static void transfer(what w, char *to, const char *from, long size, cudaStream_t stream)
{
    const long n = size / 8;

    if (w == COPY)
        CHECK(cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, stream));
    else
        move<<<std::min(n / 256 + 1, 2112L), 256, 0, stream>>>((uint64_t *) to, (uint64_t *) from,
                                                               w == EMPTY ? 0 : n);
    CHECK(cudaStreamSynchronize(stream));
}

/* The median time of a turn.
 *   nprocs    (IN)  1: process 0 takes all turns
 *   to, from  (IN)  from the other's memory to this process's own
 *   host      (IN)  pinned memory that both share */
static double measure(shared *s, int me, int nprocs, what w, char *to, const char *from, char *host,
                      long size, cudaStream_t stream, int *first)
{
    std::vector<double> times;
    double begin = now();

    for (int i = *first; i < *first + REPETITIONS; i++) {
        if (i % nprocs != me)
            continue;
        wait_for(s->turn, i);
        if (w == HOST_COPIES || w == HOST_ROWS)
            transfer_host(w, to, host, size, stream);
        else
            transfer(w, to, from, size, stream);
        s->turn.store(i + 1, std::memory_order_release);
        times.push_back((now() - begin) / nprocs);
        begin = now();
    }
    *first += REPETITIONS;
    wait_for(s->turn, *first);
    if (times.empty())
        return 0;
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

static int run(shared *s, int me, char *host)
{
    char *mem, *other;
    cudaStream_t stream;
    int turn = 0;

    CHECK(cudaSetDevice(0));
    CHECK(cudaMalloc(&mem, 4 * MAX_SIZE));
    CHECK(cudaMemset(mem, 1, 4 * MAX_SIZE));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaHostRegister(host, MAX_SIZE, 0));
    CHECK(cudaIpcGetMemHandle(&s->handle[me], mem));
    CHECK(cudaDeviceSynchronize());
    s->nready++;
    wait_for(s->nready, 2);
    CHECK(cudaIpcOpenMemHandle((void **) &other, s->handle[1 - me],
                               cudaIpcMemLazyEnablePeerAccess));
    for (int nprocs = 1; nprocs <= 2; nprocs++) {
        for (what w : { EMPTY, COPY, VECTOR, HOST_COPIES, HOST_ROWS }) {
            for (long size : { 8L, 64L << 10, 4L << 20, MAX_SIZE }) {
                if (w == EMPTY && size > 8)
                    continue;
                double t = measure(s, me, nprocs, w, mem, other + 2 * MAX_SIZE, host, size, stream,
                                   &turn);
                if (me == 0)
                    printf("%s takes turns: %-14s %9ld bytes %8.1f us\n",
                           nprocs == 1 ? "one process " : "each process", names[w], size, t);
            }
        }
    }
    s->nready++;
    wait_for(s->nready, 4);
    CHECK(cudaIpcCloseMemHandle(other));
    return 0;
}

int main()
{
    void *mem = mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *host = (char *) mmap(NULL, MAX_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status;

    if (mem == MAP_FAILED || host == MAP_FAILED)
        return 1;
    shared *s = new(mem) shared;
    pid_t child = fork();
    if (child < 0)
        return 1;
    if (child == 0)
        return run(s, 1, host);
    int rc = run(s, 0, host);
    return waitpid(child, &status, 0) == child && status == 0 ? rc : 1;
}
