/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Kernels for the emulated driver's own tests. Compiled for the CPU only. */

#include "emu_cuda.h"

struct copy_args {
    const unsigned *src;        /* a pointer inside a structure, as the library passes them */
    unsigned *dst;
    unsigned n;
};

/* dst[i] = src[i] + add, grid-stride. */
extern "C" __global__ void selftest_copy(copy_args args, unsigned add)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < args.n;
         i += gridDim.x * blockDim.x)
        *emu_ptr(args.dst + i) = *emu_ptr(args.src + i) + add;
}

/* Each block reverses its 256 elements through shared memory; some threads exit early. */
extern "C" __global__ void selftest_reverse(unsigned *data, unsigned n)
{
    __shared__ unsigned tile[256];
    EMU_DYNAMIC_SHARED(extra);
    unsigned *copy = (unsigned *) extra;
    unsigned t = threadIdx.x, i = blockIdx.x * 256 + t;

    if (i >= n)
        return;
    tile[t] = *emu_ptr(data + i);
    copy[t] = tile[t];
    __syncthreads();
    unsigned last = min(255u, n - 1 - blockIdx.x * 256);
    unsigned v = tile[last - t];
    __syncthreads();
    if (copy[last - t] != v)
        __trap();
    *emu_ptr(data + i) = v;
}

/* out[warp] = sum of the lanes' indices by shuffles, and a ballot of the odd lanes. */
extern "C" __global__ void selftest_warp(unsigned long long *sum, unsigned *odd)
{
    unsigned lane = threadIdx.x % 32;
    unsigned long long v = threadIdx.x;

    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    unsigned b = __ballot_sync(0xffffffffu, lane & 1);
    /* The halves of the warp diverge. */
    unsigned half = lane < 16 ? 0xffffu : 0xffff0000u;
    for (unsigned round = 0; round < (lane < 16 ? 5u : 2u); round++) {
        if (__shfl_sync(half, lane, lane < 16 ? 3 : 20) != (lane < 16 ? 3u : 20u))
            __trap();
    }
    if (lane == 0) {
        *emu_ptr(sum + threadIdx.x / 32) = v;
        *emu_ptr(odd + threadIdx.x / 32) = b;
    }
}

/* Some threads wait for others that never arrive. */
extern "C" __global__ void selftest_hang(unsigned *unused)
{
    (void) unused;
    if (threadIdx.x < 32)
        __syncwarp(0xffffffffu);
    if (threadIdx.x == 0)
        __syncwarp(0x3u);
    else
        __syncthreads();
}

/* The first access of an erroneous kernel. */
extern "C" __global__ void selftest_null_store(void)
{
    *emu_ptr((unsigned *) 0) = 1;
}

EMU_KERNEL(selftest_null_store);
EMU_KERNEL(selftest_copy);
EMU_KERNEL(selftest_reverse);
EMU_KERNEL(selftest_warp);
EMU_KERNEL(selftest_hang);
