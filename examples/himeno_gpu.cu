/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The grid of the himeno example in GPU memory, and Jacobi's loop as kernels: a thread computes a
 * column of points in i, adjacent threads are adjacent in k. Must not know of MPI. */

#define PROGRAM "himeno"
#include "example_gpu.cuh"
#include "himeno_point.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS_K 64
#define THREADS_J 4
#define THREADS (THREADS_K * THREADS_J)
#define PIECES_I 16             /* threads that share a column, so that there are enough threads */

extern "C" __global__ void himeno_fill(struct part part, struct grid grid, int values)
{
    int k = (int) (blockIdx.x * blockDim.x + threadIdx.x);
    int j = (int) (blockIdx.y * blockDim.y + threadIdx.y);

    if (j < part.owned[0] + 2 && k < part.owned[1] + 2)
        for (int i = (int) blockIdx.z; i < part.whole[0]; i += (int) gridDim.z)
            point_fill(&part, &grid, values, i, j, k);
}

/* Sum of a block's values, returned to its first thread, in an order that is the same in every run.
 * thread is the thread's number in the block; sum has an element for each. */
__device__ static inline double block_sum(double value, int thread, double *sum)
{
    sum[thread] = value;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();        /* the sums of the other half are written */
        if (thread < half)
            sum[thread] += sum[thread + half];
    }
    return sum[0];
}

/* One iteration; each block writes its part of the residual to partial. */
extern "C" __global__ void himeno_step(struct part part, struct grid grid)
{
    __shared__ double sum[THREADS];
    int k = 1 + (int) (blockIdx.x * blockDim.x + threadIdx.x);
    int j = 1 + (int) (blockIdx.y * blockDim.y + threadIdx.y);
    int thread = (int) (threadIdx.y * blockDim.x + threadIdx.x);
    double residual = 0.0;

    if (j <= part.owned[0] && k <= part.owned[1] && point_is_computed(&part, j, k))
        for (int i = 1 + (int) blockIdx.z; i < part.whole[0] - 1; i += (int) gridDim.z)
            residual += point_step(&part, &grid, i, j, k);
    residual = block_sum(residual, thread, sum);
    if (thread == 0)
        grid.partial[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = residual;
}

/* Adds up the partial sums of n blocks; runs as one block. */
extern "C" __global__ void himeno_residual(struct grid grid, int n, int iteration)
{
    __shared__ double sum[THREADS];
    double residual = 0.0;

    for (int block = (int) threadIdx.x; block < n; block += THREADS)
        residual += grid.partial[block];
    residual = block_sum(residual, (int) threadIdx.x, sum);
    if (threadIdx.x == 0)
        grid.residual[iteration] = residual;
}

/* Blocks for the points in j and in k. */
static dim3 blocks_for(const struct part *part, int halo)
{
    int in_j = part->owned[0] + halo, in_k = part->owned[1] + halo;

    return dim3((unsigned) ((in_k + THREADS_K - 1) / THREADS_K),
                (unsigned) ((in_j + THREADS_J - 1) / THREADS_J), PIECES_I);
}

static size_t blocks_count(const dim3 &blocks)
{
    return (size_t) blocks.x * blocks.y * blocks.z;
}

static int gpu_alloc(const struct part *part, int iterations, struct grid *grid)
{
    size_t arrays = part->n_points * N_ARRAYS * sizeof(float);
    size_t sums = (blocks_count(blocks_for(part, 0)) + (size_t) iterations) * sizeof(double);
    size_t sums_at = (arrays + 255) / 256 * 256;
    char *base;
    cudaError_t error = cudaMalloc((void **) &base, sums_at + sums);

    if (error == cudaErrorMemoryAllocation) {
        (void) cudaGetLastError();      /* the error has been handled */
        grid->a[0] = NULL;
        return 0;
    }
    CUDA_TRY(error);
    grid_place(part, (float *) base, grid);
    grid->residual = (double *) (base + sums_at);
    grid->partial = (double *) (base + sums_at) + iterations;
    return 0;
}

static void gpu_free(struct grid *grid)
{
    cudaFree((float *) grid->a[0]);
}

static int gpu_fill(const struct part *part, const struct grid *grid, int values)
{
    struct part part_arg = *part;
    struct grid grid_arg = *grid;
    void *args[] = { &part_arg, &grid_arg, &values };

    CUDA_TRY(cudaLaunchKernel((const void *) himeno_fill, blocks_for(part, 2),
                              dim3(THREADS_K, THREADS_J), args, 0, NULL));
    CUDA_TRY(cudaDeviceSynchronize());
    return 0;
}

static int gpu_step(const struct part *part, const struct grid *grid, int iteration)
{
    struct part part_arg = *part;
    struct grid grid_arg = *grid;
    dim3 blocks = blocks_for(part, 0);
    int n = (int) blocks_count(blocks);
    void *step_args[] = { &part_arg, &grid_arg };
    void *residual_args[] = { &grid_arg, &n, &iteration };

    CUDA_TRY(cudaLaunchKernel((const void *) himeno_step, blocks, dim3(THREADS_K, THREADS_J),
                              step_args, 0, NULL));
    CUDA_TRY(cudaLaunchKernel((const void *) himeno_residual, dim3(1), dim3(THREADS),
                              residual_args, 0, NULL));
    /* MPI does not wait for kernels: these must finish before MPI reads their output */
    CUDA_TRY(cudaDeviceSynchronize());
    return 0;
}

static int gpu_residuals(const struct grid *grid, int n, double *to)
{
    CUDA_TRY(cudaMemcpy(to, (double *) grid->residual, (size_t) n * sizeof(double),
                        cudaMemcpyDeviceToHost));
    return 0;
}

static int gpu_pressure(const struct part *part, const struct grid *grid, float *to)
{
    CUDA_TRY(cudaMemcpy(to, (float *) grid->pressure, part->n_points * sizeof(float),
                        cudaMemcpyDeviceToHost));
    return 0;
}

static int gpu_corrupt(const struct part *part, const struct grid *grid)
{
    float *value = (float *) grid->pressure + part->row + 1;
    uint32_t bits;

    CUDA_TRY(cudaMemcpy(&bits, value, sizeof(bits), cudaMemcpyDeviceToHost));
    bits ^= 1;
    CUDA_TRY(cudaMemcpy(value, &bits, sizeof(bits), cudaMemcpyHostToDevice));
    return 0;
}

const struct memory gpu_memory = {
    "GPU memory", gpu_alloc, gpu_free, gpu_fill, gpu_step, gpu_residuals, gpu_pressure, gpu_corrupt
};
