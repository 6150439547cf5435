/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests a program with kernels of its own, launched through the runtime, as the examples and
 * benchmarks are when they run on the emulated driver. */

#include "selftest.h"
#include "emu_cuda.h"

struct sum_args {
    emu_pointer<const unsigned> value;
    unsigned n;
};

/* Adds up the values; atomics and a pointer inside a structure. */
extern "C" __global__ void selftest_sum(sum_args args, emu_pointer<unsigned> total, unsigned scale)
{
    __shared__ unsigned part[64];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    part[threadIdx.x] = i < args.n ? args.value[i] * scale : 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned sum = 0;
        for (unsigned k = 0; k < blockDim.x; k++)
            sum += part[k];
        atomicAdd(total + 1, sum);
        total[0] = args.n;
    }
}

EMU_KERNEL(selftest_sum);

/* Not a kernel for the runtime. */
extern "C" void selftest_no_kernel(void)
{
}

static cudaError_t sum_launch(const unsigned *value, unsigned n, unsigned *total, unsigned scale)
{
    sum_args args = { value, n };
    emu_pointer<unsigned> to = total;
    void *params[] = { &args, &to, &scale };
    cudaError_t res = cudaLaunchKernel((const void *) selftest_sum, dim3((n + 63) / 64), dim3(64),
                                       params, 0, NULL);

    scale = 0;                  /* the launch has copied it */
    return res;
}

int main(void)
{
    enum { N = 1000 };
    unsigned value[N], total[2] = { 0, 0 }, expected = 0, *d_value, *d_total;
    void *none[] = { NULL };

    for (unsigned i = 0; i < N; i++)
        expected += 3 * (value[i] = i * i);
    CHECK(cudaSetDevice(1) == cudaSuccess);
    CHECK(cudaMalloc((void **) &d_value, sizeof(value)) == cudaSuccess);
    CHECK(cudaMalloc((void **) &d_total, sizeof(total)) == cudaSuccess);
    CHECK(cudaMemcpy(d_value, value, sizeof(value), cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(cudaMemset(d_total, 0, sizeof(total)) == cudaSuccess);
    CHECK(sum_launch(d_value, N, d_total, 3) == cudaSuccess);
    CHECK(cudaMemcpy(total, d_total, sizeof(total), cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(total[0] == N && total[1] == expected);
    CHECK(cudaLaunchKernel((const void *) selftest_no_kernel, dim3(1), dim3(1), none, 0, NULL) ==
          cudaErrorInvalidDeviceFunction);
    CHECK(cudaLaunchKernel((const void *) selftest_sum, dim3(1), dim3(2048), none, 0, NULL) ==
          cudaErrorInvalidValue);

    /* The driver prints a message for the fault, which is discarded. Kernels must not access host
     * memory. */
    if (freopen("/dev/null", "w", stderr) == NULL)
        return 3;
    CHECK(sum_launch(value, N, d_total, 3) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    return selftest_end();
}
