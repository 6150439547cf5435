/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* See bench_transpose_gpu.h. The usual way: tiles through shared memory, with a column to spare so that
 * no two threads of a warp meet in a bank. */

#include "bench_transpose_gpu.h"

#define TILE 32
#define ROWS 8                  /* of a tile that a thread block moves at a time */

__global__ void bench_transpose(double *to, int to_pitch, const double *from, int n)
{
    __shared__ double tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;

#pragma unroll
    for (int i = 0; i < TILE; i += ROWS)
        tile[threadIdx.y + i][threadIdx.x] = from[(size_t) (y + i) * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
    for (int i = 0; i < TILE; i += ROWS)
        to[(size_t) (y + i) * to_pitch + x] = tile[threadIdx.x][threadIdx.y + i];
}

void transpose_start(double *to, int to_pitch, const double *from, int n, CUstream stream)
{
    bench_transpose<<<dim3(n / TILE, n / TILE), dim3(TILE, ROWS), 0, stream>>>(to, to_pitch, from, n);
}
