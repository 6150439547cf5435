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
#define PIECES_STRIP 64         /* in a strip, which has few columns */

/* The interior is computed beside the exchange of the halo: its stream has a lower priority than
 * those of the strips and of MPI, so that their kernels start as soon as a multiprocessor has
 * room. */
enum { STREAM__STRIPS, STREAM__INTERIOR };

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

/* One iteration of a box's points; each block writes its part of the residual to partial, from the
 * element first on. */
extern "C" __global__ void himeno_step(struct part part, struct grid grid, struct box box,
                                       int first)
{
    __shared__ double sum[THREADS];
    int k = box.first[1] + (int) (blockIdx.x * blockDim.x + threadIdx.x);
    int j = box.first[0] + (int) (blockIdx.y * blockDim.y + threadIdx.y);
    int thread = (int) (threadIdx.y * blockDim.x + threadIdx.x);
    double residual = 0.0;

    if (j <= box.last[0] && k <= box.last[1] && point_is_computed(&part, j, k))
        for (int i = 1 + (int) blockIdx.z; i < part.whole[0] - 1; i += (int) gridDim.z)
            residual += point_step(&part, &grid, i, j, k);
    residual = block_sum(residual, thread, sum);
    if (thread == 0)
        grid.partial[first + (int) ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x +
                                    blockIdx.x)] = residual;
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

/* Blocks of so many threads for so many points in j and in k. */
static dim3 blocks_for(int in_j, int in_k, dim3 threads, unsigned pieces)
{
    return dim3(((unsigned) in_k + threads.x - 1) / threads.x,
                ((unsigned) in_j + threads.y - 1) / threads.y, pieces);
}

/* Points of a box in j (d 0) or in k (d 1). */
static int box_points(const struct box *box, int d)
{
    return box->last[d] - box->first[d] + 1;
}

/* The threads of a block; in a strip each has a point to compute. */
static dim3 box_threads(const struct box *box)
{
    if (box_points(box, 0) == 1)
        return dim3(THREADS, 1);
    if (box_points(box, 1) == 1)
        return dim3(1, THREADS);
    return dim3(THREADS_K, THREADS_J);
}

static dim3 box_blocks(const struct box *box)
{
    int in_j = box_points(box, 0), in_k = box_points(box, 1);

    return blocks_for(in_j, in_k, box_threads(box),
                      in_j == 1 || in_k == 1 ? PIECES_STRIP : PIECES_I);
}

/* Blocks of a box, each of which writes a sum. */
static int box_count(const struct box *box)
{
    dim3 blocks = box_blocks(box);

    return box_is_empty(box) ? 0 : (int) (blocks.x * blocks.y * blocks.z);
}

static int boxes_count(const struct part *part)
{
    struct box box[N_BOXES];
    int n = boxes_split(part, box), count = 0;

    while (n > 0)
        count += box_count(&box[--n]);
    return count;
}

static int streams_create(struct grid *grid)
{
    int least, greatest;

    CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CUDA_TRY(cudaStreamCreateWithPriority((cudaStream_t *) &grid->streams[STREAM__STRIPS],
                                          cudaStreamNonBlocking, greatest));
    CUDA_TRY(cudaStreamCreateWithPriority((cudaStream_t *) &grid->streams[STREAM__INTERIOR],
                                          cudaStreamNonBlocking, least));
    CUDA_TRY(cudaEventCreateWithFlags((cudaEvent_t *) &grid->is_complete, cudaEventDisableTiming));
    return 0;
}

static int gpu_alloc(const struct part *part, int iterations, struct grid *grid)
{
    size_t arrays = part->n_points * N_ARRAYS * sizeof(float);
    struct box whole = box_whole(part);
    int blocks = box_count(&whole), split = boxes_count(part);
    size_t sums = (size_t) (iterations + (blocks > split ? blocks : split)) * sizeof(double);
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
    return streams_create(grid);
}

static void gpu_free(struct grid *grid)
{
    cudaEventDestroy((cudaEvent_t) grid->is_complete);
    cudaStreamDestroy((cudaStream_t) grid->streams[STREAM__STRIPS]);
    cudaStreamDestroy((cudaStream_t) grid->streams[STREAM__INTERIOR]);
    cudaFree((float *) grid->a[0]);
}

static int gpu_fill(const struct part *part, const struct grid *grid, int values)
{
    struct part part_arg = *part;
    struct grid grid_arg = *grid;
    dim3 threads(THREADS_K, THREADS_J);
    void *args[] = { &part_arg, &grid_arg, &values };

    CUDA_TRY(cudaLaunchKernel((const void *) himeno_fill,
                              blocks_for(part->owned[0] + 2, part->owned[1] + 2, threads, PIECES_I),
                              threads, args, 0, NULL));
    CUDA_TRY(cudaDeviceSynchronize());
    return 0;
}

/* Starts to compute the points of a box; its sums begin at *first (IN/OUT). */
static int box_start(const struct part *part, const struct grid *grid, const struct box *box,
                     int *first, cudaStream_t stream)
{
    struct part part_arg = *part;
    struct grid grid_arg = *grid;
    struct box box_arg = *box;
    void *args[] = { &part_arg, &grid_arg, &box_arg, first };

    if (box_is_empty(box))
        return 0;
    CUDA_TRY(cudaLaunchKernel((const void *) himeno_step, box_blocks(box), box_threads(box), args, 0,
                              stream));
    *first += box_count(box);
    return 0;
}

/* Starts to add up n sums. */
static int residual_start(const struct grid *grid, int n, int iteration, cudaStream_t stream)
{
    struct grid grid_arg = *grid;
    void *args[] = { &grid_arg, &n, &iteration };

    CUDA_TRY(cudaLaunchKernel((const void *) himeno_residual, dim3(1), dim3(THREADS), args, 0,
                              stream));
    return 0;
}

static int gpu_step(const struct part *part, const struct grid *grid, int iteration)
{
    struct box whole = box_whole(part);
    int n = 0;

    if (box_start(part, grid, &whole, &n, NULL) || residual_start(grid, n, iteration, NULL))
        return -1;
    /* MPI does not wait for kernels: these must finish before MPI reads their output */
    CUDA_TRY(cudaDeviceSynchronize());
    return 0;
}

static int gpu_begin(const struct part *part, const struct grid *grid, int iteration)
{
    cudaStream_t strips = (cudaStream_t) grid->streams[STREAM__STRIPS];
    cudaStream_t interior = (cudaStream_t) grid->streams[STREAM__INTERIOR];
    struct box box[N_BOXES];
    int n_boxes = boxes_split(part, box), n = 0, b;

    (void) iteration;
    /* The strips overwrite what the iteration before has read, and its sums */
    CUDA_TRY(cudaStreamWaitEvent(strips, (cudaEvent_t) grid->is_complete, 0));
    for (b = 1; b < n_boxes; b++)
        if (box_start(part, grid, &box[b], &n, strips))
            return -1;
    if (box_start(part, grid, &box[0], &n, interior))
        return -1;
    /* MPI reads the strips next, and does not touch what the interior's kernel accesses */
    CUDA_TRY(cudaStreamSynchronize(strips));
    return 0;
}

static int gpu_end(const struct part *part, const struct grid *grid, int iteration)
{
    cudaStream_t interior = (cudaStream_t) grid->streams[STREAM__INTERIOR];

    if (residual_start(grid, boxes_count(part), iteration, interior))
        return -1;
    CUDA_TRY(cudaEventRecord((cudaEvent_t) grid->is_complete, interior));
    return 0;
}

static int gpu_wait(const struct grid *grid)
{
    CUDA_TRY(cudaStreamSynchronize((cudaStream_t) grid->streams[STREAM__INTERIOR]));
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
    "GPU memory", gpu_alloc, gpu_free, gpu_fill, gpu_step, gpu_begin, gpu_end,
    gpu_wait, gpu_residuals, gpu_pressure, gpu_corrupt
};
