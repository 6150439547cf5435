/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests emulated modules, launches, shared memory, barriers and warps. */

#include <stdint.h>
#include <time.h>

#include "emu_graph.h"
#include "selftest.h"

struct copy_args {
    CUdeviceptr src, dst;
    unsigned n;
};

static const unsigned char image[8] = { 0x50, 0xed, 0x55, 0xba };

static CUmodule module;

static CUfunction function(const char *name)
{
    CUfunction f = NULL;

    OK(cuModuleGetFunction(&f, module, name));
    return f;
}

static void test_module(void)
{
    CUmodule other;
    CUfunction f;

    EXPECT(cuModuleLoadData(&other, "no image at all"), CUDA_ERROR_INVALID_IMAGE);
    OK(cuModuleLoadData(&other, image));
    EXPECT(cuModuleGetFunction(&f, other, "no_such_kernel"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleUnload(other));
    EXPECT(cuModuleGetFunction(&f, other, "selftest_copy"), CUDA_ERROR_INVALID_HANDLE);
}

static CUresult copy_launch(CUdeviceptr dst, CUdeviceptr src, unsigned n, unsigned add)
{
    struct copy_args args = { src, dst, n };
    void *params[] = { &args, &add };
    CUresult res;

    res = cuLaunchKernel(function("selftest_copy"), 4, 1, 1, 256, 1, 1, 0, NULL, params, NULL);
    memset(&args, 0xff, sizeof(args));  /* the launch has copied them */
    return res;
}

/* A launch of a graph has the parameters that were set last, also after they were set anew. */
static void test_graph(void)
{
    enum { N = 4096 };
    static unsigned in[N], out[2][N];
    CUdeviceptr src, dst[2];
    struct copy_args args;
    unsigned add = 1;
    void *params[] = { &args, &add };
    CUDA_KERNEL_NODE_PARAMS_v1 node_params = {
        .func = function("selftest_copy"),.gridDimX = 4,.gridDimY = 1,.gridDimZ = 1,
        .blockDimX = 256,.blockDimY = 1,.blockDimZ = 1,.kernelParams = params
    };
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;

    for (int i = 0; i < N; i++)
        in[i] = (unsigned) i;
    OK(cuMemAlloc(&src, sizeof(in)));
    OK(cuMemcpyHtoD(src, in, sizeof(in)));
    for (int i = 0; i < 2; i++)
        OK(cuMemAlloc(&dst[i], sizeof(in)));
    args = (struct copy_args) { src, dst[0], N };

    OK(cuGraphCreate(&graph, 0));
    EXPECT(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
    node_params.blockDimX = 1025;
    EXPECT(cuGraphAddKernelNode(&node, graph, NULL, 0, &node_params), CUDA_ERROR_INVALID_VALUE);
    node_params.blockDimX = 256;
    OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &node_params));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 2; i++) {
        args.dst = dst[i];
        add = 10 + (unsigned) i;
        OK(cuGraphExecKernelNodeSetParams(exec, node, &node_params));
        memset(&args, 0xff, sizeof(args));      /* both have been copied */
        add = 0;
        OK(cuGraphLaunch(exec, NULL));
        args = (struct copy_args) { src, dst[i], N };
    }
    OK(cuGraphDestroy(graph));
    EXPECT(cuGraphExecKernelNodeSetParams(exec, node, &node_params), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphExecDestroy(exec));       /* while the launches are under way */
    EXPECT(cuGraphLaunch(exec, NULL), CUDA_ERROR_INVALID_HANDLE);
    for (int i = 0; i < 2; i++) {
        OK(cuMemcpyDtoH(out[i], dst[i], sizeof(out[i])));
        for (int k = 0; k < N; k++)
            CHECK(out[i][k] == in[k] + 10 + (unsigned) i);
        OK(cuMemFree(dst[i]));
    }
    OK(cuMemFree(src));
}

static void test_copy(void)
{
    enum { N = 16384 };         /* 64 KiB */
    static unsigned in[N], out[N];
    CUdeviceptr src, dst;
    struct timespec a, b;
    double ms;

    for (unsigned i = 0; i < N; i++)
        in[i] = i * 2654435761u;
    OK(cuMemAlloc(&src, sizeof(in)));
    OK(cuMemAlloc(&dst, sizeof(out)));
    OK(cuMemcpyHtoD(src, in, sizeof(in)));
    clock_gettime(CLOCK_MONOTONIC, &a);
    OK(copy_launch(dst, src, N, 7));
    OK(cuCtxSynchronize());
    clock_gettime(CLOCK_MONOTONIC, &b);
    OK(cuMemcpyDtoH(out, dst, sizeof(out)));
    for (unsigned i = 0; i < N; i++) {
        if (out[i] != in[i] + 7) {
            CHECK(out[i] == in[i] + 7);
            break;
        }
    }
    ms = (double) (b.tv_sec - a.tv_sec) * 1e3 + (double) (b.tv_nsec - a.tv_nsec) / 1e6;
    if (ms > 100)
        fprintf(stderr, "64 KiB took %.1f ms\n", ms);

    /* Directly between registered host memory and the device. */
    memset(out, 0, sizeof(out));
    OK(cuMemHostRegister(out, sizeof(out), 0));
    OK(copy_launch((CUdeviceptr) out, src, N, 0));
    OK(cuCtxSynchronize());
    CHECK(memcmp(in, out, sizeof(in)) == 0);
    OK(cuMemHostUnregister(out));
    OK(cuMemFree(src));
    OK(cuMemFree(dst));
}

static void test_blocks(void)
{
    enum { N = 1000 };
    unsigned in[N], out[N], n = N;
    CUdeviceptr d;
    void *params[] = { &d, &n };

    for (unsigned i = 0; i < N; i++)
        in[i] = i;
    OK(cuMemAlloc(&d, sizeof(in)));
    OK(cuMemcpyHtoD(d, in, sizeof(in)));
    for (int round = 0; round < 3; round++)
        OK(cuLaunchKernel(function("selftest_reverse"), 4, 1, 1, 256, 1, 1, 1024, NULL, params,
                          NULL));
    OK(cuMemcpyDtoH(out, d, sizeof(out)));
    for (unsigned i = 0; i < N; i++) {
        unsigned first = i / 256 * 256, last = first + 255 < N ? first + 255 : N - 1;
        CHECK(out[i] == last - (i - first));
    }
    OK(cuMemFree(d));
}

static void test_warps(void)
{
    CUdeviceptr sum, odd;
    unsigned long long s[4];
    unsigned o[4];
    void *params[] = { &sum, &odd };

    OK(cuMemAlloc(&sum, sizeof(s)));
    OK(cuMemAlloc(&odd, sizeof(o)));
    for (int round = 0; round < 5; round++)
        OK(cuLaunchKernel(function("selftest_warp"), 1, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH(s, sum, sizeof(s)));
    OK(cuMemcpyDtoH(o, odd, sizeof(o)));
    for (unsigned w = 0; w < 4; w++) {
        CHECK(s[w] == 32 * 32 * w + 496);
        CHECK(o[w] == 0xaaaaaaaau);
    }
    OK(cuMemFree(sum));
    OK(cuMemFree(odd));
}

static void test_bad_shapes(void)
{
    CUfunction f = function("selftest_copy");
    struct copy_args args = { 0, 0, 0 };
    unsigned add = 0;
    void *params[] = { &args, &add };

    EXPECT(cuLaunchKernel(f, 0, 1, 1, 32, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuLaunchKernel(f, 1, 1, 1, 1025, 1, 1, 0, NULL, params, NULL),
           CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuLaunchKernel(f, 1, 65536, 1, 32, 1, 1, 0, NULL, params, NULL),
           CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 60000, NULL, params, NULL),
           CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
    OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 60000, NULL, params, NULL));
    OK(cuCtxSynchronize());
}

/* An erroneous kernel leaves its context unusable. */
static void broken_by(CUresult expected, CUresult launched)
{
    CUdeviceptr d;
    CUstream s;

    OK(launched);
    EXPECT(cuCtxSynchronize(), expected);
    EXPECT(cuMemAlloc(&d, 1), expected);
    EXPECT(cuStreamCreate(&s, 0), expected);
    OK(cuDevicePrimaryCtxReset(0));
    primary_enter(0);
    OK(cuModuleLoadData(&module, image));
    OK(cuMemAlloc(&d, 1));
    OK(cuMemFree(d));
}

static void test_faults(CUcontext other)
{
    static unsigned host[16];
    CUdeviceptr d, freed, far;
    unsigned *unused = NULL;
    void *params[] = { &unused };

    OK(cuCtxPushCurrent(other));
    OK(cuMemAlloc(&far, 64));
    OK(cuCtxPopCurrent(NULL));

    OK(cuMemAlloc(&d, 64));
    OK(cuMemAlloc(&freed, 64));
    OK(cuMemFree(freed));
    broken_by(CUDA_ERROR_ILLEGAL_ADDRESS, copy_launch(d, freed, 1, 0));

    OK(cuMemAlloc(&d, 64));
    broken_by(CUDA_ERROR_ILLEGAL_ADDRESS, copy_launch((CUdeviceptr) host, d, 16, 0));
    OK(cuMemAlloc(&d, 64));
    broken_by(CUDA_ERROR_ILLEGAL_ADDRESS, copy_launch(d, d, 17, 0));
    OK(cuMemAlloc(&d, 64));
    broken_by(CUDA_ERROR_MISALIGNED_ADDRESS, copy_launch(d + 2, d, 1, 0));
    OK(cuMemAlloc(&d, 64));
    broken_by(CUDA_ERROR_ILLEGAL_ADDRESS, copy_launch(d, far, 1, 0));
    broken_by(CUDA_ERROR_LAUNCH_FAILED,
              cuLaunchKernel(function("selftest_hang"), 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));

    /* Memory of the other device, with peer access enabled. */
    OK(cuMemAlloc(&d, 64));
    OK(cuCtxEnablePeerAccess(other, 0));
    EXPECT(cuCtxEnablePeerAccess(other, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    OK(copy_launch(d, far, 16, 0));
    OK(cuCtxSynchronize());
    test_warps();               /* the scheduler still works after the faults */
    OK(cuMemFree(d));
}

int main(void)
{
    CUcontext other = primary_enter(1);

    primary_enter(0);
    test_module();
    OK(cuModuleLoadData(&module, image));
    test_copy();
    test_graph();
    test_blocks();
    test_warps();
    test_bad_shapes();
    /* The driver prints a message for each fault; discard these expected ones. */
    if (!getenv("SELFTEST_LOUD") && freopen("/dev/null", "w", stderr) == NULL)
        return 3;
    test_faults(other);
    return selftest_end();
}
