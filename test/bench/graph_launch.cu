/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/*
 * The time until a kernel has set a flag in pinned memory, without MPI: launched as such, or by a graph
 * whose parameters are set anew each time, with the same number of blocks or another one. Also launches
 * while another kernel keeps spinning, in another stream and ahead in the same one: none of the calls may
 * wait for it. Prints the time from the call to the flag, and the time in the calls.
 *
 * Build and run: nvcc -O3 -std=c++17 -arch=native -o graph_launch graph_launch.cu -lcuda
 */

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <time.h>

#define CHECK(call_)                                                                    \
    do {                                                                                \
        int res_ = (int) (call_);                                                       \
        if (res_ != 0) {                                                                \
            fprintf(stderr, "%s: error %d\n", #call_, res_);                            \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

enum way { LAUNCH, GRAPH, GRAPH_GRID, NWAYS };

static const char *const way_names[NWAYS] = { "launch", "graph", "graph, other grid" };

static const int REPETITIONS = 3000;
static const double PAUSE = 12;         /* us between two of them, so that the GPU is idle */
static const int BLOCKS = 4, THREADS = 256;

static CUstream stream;
static volatile int *flag;

static double now()
{
    timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

template <int SZ> struct args {
    volatile int *flag;
    int value;
    char rest[SZ - 12];
};

template <int SZ> __global__ void set(const __grid_constant__ args<SZ> a)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence_system();
        *a.flag = a.value;
    }
}

__global__ void spin(volatile int *go)
{
    while (*go == 0);
}

/* A graph of one kernel. */
template <int SZ> struct graph {
    args<SZ> a;
    void *params[1] = { &a };
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUgraph made;
    CUgraphNode node;
    CUgraphExec exec;

    graph()
    {
        cudaFunction_t function;

        memset(&a, 0, sizeof(a));
        a.flag = flag;
        CHECK(cudaGetFuncBySymbol(&function, (const void *) set<SZ>));
        memset(&kernel, 0, sizeof(kernel));
        kernel.func = (CUfunction) function;
        kernel.gridDimX = BLOCKS;
        kernel.gridDimY = kernel.gridDimZ = 1;
        kernel.blockDimX = THREADS;
        kernel.blockDimY = kernel.blockDimZ = 1;
        kernel.kernelParams = params;
        CHECK(cuGraphCreate(&made, 0));
        CHECK(cuGraphAddKernelNode(&node, made, NULL, 0, &kernel));
        CHECK(cuGraphInstantiate(&exec, made, 0));
    }
    ~graph()
    {
        CHECK(cuGraphExecDestroy(exec));
        CHECK(cuGraphDestroy(made));
    }
    void start(way w, int value)
    {
        a.value = value;
        kernel.gridDimX = w == GRAPH_GRID ? BLOCKS + value % 5 : BLOCKS;
        if (w == LAUNCH) {
            CHECK(cuLaunchKernel(kernel.func, BLOCKS, 1, 1, THREADS, 1, 1, 0, stream, params, NULL));
        } else {
            CHECK(cuGraphExecKernelNodeSetParams(exec, node, &kernel));
            CHECK(cuGraphLaunch(exec, stream));
        }
    }
};

template <int SZ> static void measure(way w)
{
    static double whole[REPETITIONS], call[REPETITIONS];
    static int value;
    graph<SZ> g;

    for (int i = 0; i < REPETITIONS; i++) {
        double begin = now();
        while (now() < begin + PAUSE);
        begin = now();
        g.start(w, ++value);
        call[i] = now() - begin;
        while (*flag != value);
        whole[i] = now() - begin;
    }
    CHECK(cuStreamSynchronize(stream));
    *flag = value = 0;
    std::sort(whole, whole + REPETITIONS);
    std::sort(call, call + REPETITIONS);
    printf("%5d B of parameters  %-18s %6.2f us, call %5.2f us\n", SZ, way_names[w],
           whole[REPETITIONS / 2], call[REPETITIONS / 2]);
}

template <int SZ> static void measure_all()
{
    for (int w = 0; w < NWAYS; w++)
        measure<SZ>((way) w);
}

/* Make a graph, launch it many times, and free it, while a kernel spins. */
static void beside(bool is_ahead)
{
    enum { MANY = 200 };
    CUstream other;
    volatile int *go = flag + 16;
    double begin, made, launched, freed;

    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    /* Loaded before */
    graph<1024>().start(LAUNCH, 0);
    *go = 1;
    spin<<<1, 1, 0, other>>>(go);
    CHECK(cudaDeviceSynchronize());

    *go = 0;
    spin<<<1, 32, 0, is_ahead ? stream : other>>>(go);
    begin = now();
    {
        graph<1024> g;
        made = now();
        for (int i = 1; i <= MANY; i++)
            g.start(GRAPH, i);
        launched = now();
    }
    freed = now();
    printf("%s a kernel that spins: to make %.0f us, a launch %.2f, to free %.0f\n",
           is_ahead ? "behind" : "beside", made - begin, (launched - made) / MANY, freed - launched);
    *go = 1;
    CHECK(cudaDeviceSynchronize());
    if (*flag != MANY) {
        fprintf(stderr, "the last launch had the parameter %d\n", *flag);
        exit(1);
    }
}

int main()
{
    char *host;

    CHECK(cudaSetDevice(0));
    CHECK(cudaHostAlloc(&host, 4096, cudaHostAllocMapped));
    memset(host, 0, 4096);
    flag = (volatile int *) host;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    measure_all<64>();
    measure_all<256>();
    measure_all<1024>();
    measure_all<2048>();
    measure_all<4000>();
    beside(false);
    beside(true);
    return 0;
}
