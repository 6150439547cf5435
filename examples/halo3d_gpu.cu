/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The field of the halo3d example in GPU memory: allocated, filled and checked by kernels, one
 * thread per value. Only a field with wrong values is copied to the host, to list them. Must not
 * know of MPI. */

#define PROGRAM "halo3d"
#include "example_gpu.cuh"
#include "halo3d_value.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A pointer that kernels dereference; the tests without a GPU define it differently. */
#ifndef GPU_POINTER
#define GPU_POINTER(type_) type_ *
#endif

#define THREADS 256
#define MAX_BLOCKS 4096         /* of threads; each thread loops over the remaining values */

/* The expected value at a position, before or after an exchange. */
__device__ static inline double value_expected(const struct block *block, long long where,
                                               int pass, int is_exchanged)
{
    int point[N_DIMS], element;

    if (where < 0 || where >= (long long) block->n_values)
        return POISON;
    element = point_of_value(block, where, point);
    if (!is_exchanged && !point_is_owned(block, point))
        return POISON;
    return value_of(block, point_number(block, point), element, pass);
}

extern "C" __global__ void halo3d_fill(struct block block, GPU_POINTER(double) field, int pass)
{
    long long n = (long long) block.n_values + 2 * GUARD_COUNT;
    long long i = (long long) blockIdx.x * blockDim.x + threadIdx.x;

    for (; i < n; i += (long long) gridDim.x * blockDim.x)
        field[i] = value_expected(&block, i - GUARD_COUNT, pass, 0);
}

/* Adds the number of wrong values to *n_wrong. */
extern "C" __global__ void halo3d_check(struct block block, GPU_POINTER(const double) field,
                                        int pass, GPU_POINTER(unsigned long long) n_wrong)
{
    long long n = (long long) block.n_values + 2 * GUARD_COUNT;
    long long i = (long long) blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long wrong = 0;

    for (; i < n; i += (long long) gridDim.x * blockDim.x)
        wrong += field[i] != value_expected(&block, i - GUARD_COUNT, pass, 1);
    if (wrong)
        atomicAdd(n_wrong + 0, wrong);
}

static size_t field_bytes(const struct block *block)
{
    return (block->n_values + 2 * GUARD_COUNT) * sizeof(double);
}

static dim3 grid_for(const struct block *block)
{
    size_t blocks = (block->n_values + 2 * GUARD_COUNT + THREADS - 1) / THREADS;
    return dim3(blocks < MAX_BLOCKS ? (unsigned) blocks : MAX_BLOCKS);
}

static int gpu_alloc(const struct block *block, double **field)
{
    cudaError_t error = cudaMalloc((void **) field, field_bytes(block));

    if (error == cudaErrorMemoryAllocation) {
        *field = NULL;
        (void) cudaGetLastError();      /* the error has been handled */
        return 0;
    }
    CUDA_TRY(error);
    return 0;
}

static void gpu_free(double *field)
{
    cudaFree(field);
}

static int gpu_fill(const struct block *block, double *field, int pass)
{
    struct block by_value = *block;
    void *args[] = { &by_value, &field, &pass };

    CUDA_TRY(cudaLaunchKernel((const void *) halo3d_fill, grid_for(block), dim3(THREADS), args, 0,
                              NULL));
    /* MPI does not wait for kernels: this one must finish before MPI reads the field */
    CUDA_TRY(cudaDeviceSynchronize());
    return 0;
}

static int gpu_corrupt(const struct block *block, double *field, int corrupt)
{
    double *value = field + corrupt_place(block, corrupt);
    uint64_t bits;

    CUDA_TRY(cudaMemcpy(&bits, value, sizeof(bits), cudaMemcpyDeviceToHost));
    bits ^= 1;
    CUDA_TRY(cudaMemcpy(value, &bits, sizeof(bits), cudaMemcpyHostToDevice));
    return 0;
}

/* Lists the wrong values: copies the field to the host and checks it there. */
static int mismatches_list(const struct block *block, const double *field, int pass,
                           struct mismatch *list, long long n_wrong)
{
    double *copy = (double *) malloc(field_bytes(block));
    long long n_listed;

    if (!copy) {
        fprintf(stderr, "halo3d: %lld wrong values, and no memory to list them\n", n_wrong);
        return -1;
    }
    cudaError_t error = cudaMemcpy(copy, field, field_bytes(block), cudaMemcpyDeviceToHost);
    if (error == cudaSuccess)
        host_memory.check(block, copy, pass, list, &n_listed);
    free(copy);
    CUDA_TRY(error);
    if (n_listed != n_wrong) {
        fprintf(stderr, "halo3d: %lld wrong values seen on the GPU, %lld in a copy on the host\n",
                n_wrong, n_listed);
        return -1;
    }
    return 0;
}

static int gpu_check(const struct block *block, const double *field, int pass,
                     struct mismatch *list, long long *n_wrong)
{
    struct block by_value = *block;
    unsigned long long *counter, counted = 0;
    void *args[] = { &by_value, &field, &pass, &counter };

    CUDA_TRY(cudaMalloc((void **) &counter, sizeof(counted)));
    CUDA_TRY(cudaMemcpy(counter, &counted, sizeof(counted), cudaMemcpyHostToDevice));
    CUDA_TRY(cudaLaunchKernel((const void *) halo3d_check, grid_for(block), dim3(THREADS), args, 0,
                              NULL));
    CUDA_TRY(cudaMemcpy(&counted, counter, sizeof(counted), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaFree(counter));
    *n_wrong = (long long) counted;
    return counted ? mismatches_list(block, field, pass, list, *n_wrong) : 0;
}

const struct memory gpu_memory = {
    "GPU memory", gpu_alloc, gpu_free, gpu_fill, gpu_corrupt, gpu_check
};
