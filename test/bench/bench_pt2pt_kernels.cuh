/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The kernels of bench_pt2pt. Must not know of MPI. */

#ifndef BENCH_PT2PT_KERNELS_CUH_INCLUDED
#define BENCH_PT2PT_KERNELS_CUH_INCLUDED

#include "bench_pt2pt_block.h"
#include "bench_pt2pt_layout.h"

#define THREADS 256
#define UNROLL 4                /* independent words that a thread has in flight */
#define OCCUPY_STEPS 64         /* between checks of the flag */

/* The address of a T, which is aligned for it. */
template<class T> __device__ static inline GPU_POINTER(T) word_at(GPU_POINTER(unsigned char) memory,
                                                                  int64_t place)
{
    return (T *) ((unsigned char *) memory + place);
}

extern "C" __global__ void bench_fill(GPU_POINTER(uint64_t) buffer, uint64_t n, int salt)
{
    uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;

    for (; i < n; i += (uint64_t) gridDim.x * blockDim.x)
        buffer[i] = pattern_eight(i, salt);
}

extern "C" __global__ void bench_compare(const __grid_constant__ struct layout layout,
                                         GPU_POINTER(unsigned char) buffer, uint64_t data_at,
                                         uint64_t pattern_at, int salt,
                                         GPU_POINTER(unsigned long long) n_wrong)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long wrong = 0;

    for (; i < layout.n_words; i += gridDim.x * blockDim.x) {
        uint64_t place = (uint64_t) layout_place(&layout, i);
        int differs = 0;

        for (uint64_t b = place; b < place + (uint64_t) layout.word; b++) {
            differs |= buffer[data_at + b] != pattern_byte(pattern_at + b, salt);
            buffer[data_at + b] = POISON_BYTE;
        }
        wrong += differs;
    }
    if (wrong)
        atomicAdd(n_wrong + 0, wrong);
}

extern "C" __global__ void bench_not_poison(GPU_POINTER(const uint64_t) buffer, uint64_t n,
                                            GPU_POINTER(unsigned long long) n_wrong)
{
    uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long wrong = 0;

    for (; i < n; i += (uint64_t) gridDim.x * blockDim.x)
        wrong += buffer[i] != pattern_eight(i, SALT_POISON);
    if (wrong)
        atomicAdd(n_wrong + 0, wrong);
}

/* All reads of a round precede its writes, so that they are in flight together. */
template<class T>
__device__ static inline void words_move(const struct layout &layout,
                                         GPU_POINTER(unsigned char) data,
                                         GPU_POINTER(unsigned char) packed, uint32_t first,
                                         uint32_t n, int is_unpack)
{
    const uint32_t step = gridDim.x * THREADS * UNROLL;

    for (uint32_t i0 = blockIdx.x * THREADS * UNROLL + threadIdx.x; i0 < n; i0 += step) {
        T value[UNROLL];
        int64_t place[UNROLL];

#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            uint32_t i = i0 + u * THREADS;

            if (i >= n)
                continue;
            place[u] = layout_place(&layout, first + i);
            value[u] = is_unpack ? *word_at<T>(packed, (int64_t) i * (int64_t) sizeof(T)) :
                *word_at<T>(data, place[u]);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            uint32_t i = i0 + u * THREADS;

            if (i >= n)
                continue;
            if (is_unpack)
                *word_at<T>(data, place[u]) = value[u];
            else
                *word_at<T>(packed, (int64_t) i * (int64_t) sizeof(T)) = value[u];
        }
    }
}

extern "C" __global__ void bench_move(const __grid_constant__ struct layout layout,
                                      GPU_POINTER(unsigned char) data,
                                      GPU_POINTER(unsigned char) packed, uint32_t first, uint32_t n,
                                      int is_unpack)
{
    switch (layout.word) {
        case 16:
            words_move<uint4>(layout, data, packed, first, n, is_unpack);
            break;
        case 8:
            words_move<uint64_t>(layout, data, packed, first, n, is_unpack);
            break;
        case 4:
            words_move<uint32_t>(layout, data, packed, first, n, is_unpack);
            break;
        default:
            words_move<unsigned char>(layout, data, packed, first, n, is_unpack);
            break;
    }
}

template<class T>
__device__ static inline void words_across(const struct layout &layout,
                                           GPU_POINTER(unsigned char) to,
                                           GPU_POINTER(unsigned char) from)
{
    const uint32_t step = gridDim.x * THREADS * UNROLL;

    for (uint32_t i0 = blockIdx.x * THREADS * UNROLL + threadIdx.x; i0 < layout.n_words; i0 += step) {
        T value[UNROLL];
        int64_t place[UNROLL];

#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            uint32_t i = i0 + u * THREADS;

            if (i >= layout.n_words)
                continue;
            place[u] = layout_place(&layout, i);
            value[u] = *word_at<T>(from, place[u]);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            if (i0 + u * THREADS < layout.n_words)
                *word_at<T>(to, place[u]) = value[u];
        }
    }
}

extern "C" __global__ void bench_across(const __grid_constant__ struct layout layout,
                                        GPU_POINTER(unsigned char) to,
                                        GPU_POINTER(unsigned char) from)
{
    switch (layout.word) {
        case 16:
            words_across<uint4>(layout, to, from);
            break;
        case 8:
            words_across<uint64_t>(layout, to, from);
            break;
        case 4:
            words_across<uint32_t>(layout, to, from);
            break;
        default:
            words_across<unsigned char>(layout, to, from);
            break;
    }
}

/* The result is stored if it has a value that never occurs; otherwise the loop would be optimized
 * out. */
extern "C" __global__ void bench_compute(long rounds, GPU_POINTER(unsigned long long) never)
{
    float value = (float) threadIdx.x;

    for (long r = 0; r < rounds; r++)
        value = value * 0.5f + 1.0f;
    if (value < -1.0f)
        never[0] = 1;
}

/* Runs until the flag is set; with n words, continuously reads and writes them. */
extern "C" __global__ void bench_occupy(GPU_POINTER(const int) flag, long rounds,
                                        GPU_POINTER(uint64_t) memory, uint32_t n)
{
    const uint32_t n_threads = gridDim.x * blockDim.x;
    uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
    uint64_t value = at;

    for (long r = 0; r < rounds; r++) {
        int ends = threadIdx.x == 0 && __ldcv((const int *) flag);

        if (__syncthreads_or(ends))
            return;
        for (int s = 0; s < OCCUPY_STEPS; s++) {
            uint64_t word[UNROLL];

            value = value * (value | 5) + 1;
            if (n == 0)
                continue;
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                word[u] = memory[(at + u * n_threads) % n];
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                memory[(at + u * n_threads) % n] = word[u] + 1;
            at = (at + UNROLL * n_threads) % n;
        }
        if (value == 3)         /* never true, but prevents that the loop is optimized out */
            memory[0] = value;
    }
}

extern "C" __global__ void bench_block_fill(const __grid_constant__ struct block block,
                                            GPU_POINTER(uint64_t) data)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, n = block_words(&block);

    for (; i < n; i += gridDim.x * blockDim.x) {
        int is_ghost;
        uint64_t word = block_word(&block, i, &is_ghost);

        data[i] = is_ghost ? pattern_eight(0, SALT_POISON) : word;
    }
}

extern "C" __global__ void bench_block_check(const __grid_constant__ struct block block,
                                             GPU_POINTER(const uint64_t) data,
                                             GPU_POINTER(unsigned long long) n_wrong)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, n = block_words(&block);
    unsigned long long wrong = 0;

    for (; i < n; i += gridDim.x * blockDim.x) {
        int is_ghost;

        wrong += data[i] != block_word(&block, i, &is_ghost);
    }
    if (wrong)
        atomicAdd(n_wrong + 0, wrong);
}

/* All regions at once: each thread block moves a part of one region. */
extern "C" __global__ void bench_regions(const __grid_constant__ struct regions regions,
                                         GPU_POINTER(uint64_t) data, GPU_POINTER(uint64_t) packed,
                                         int is_unpack)
{
    const struct region *region;
    uint64_t value[REGION_WORDS / THREADS];
    uint32_t place[REGION_WORDS / THREADS], r = 0, first;

    while (blockIdx.x >= regions.region[r].block_end)
        r++;
    region = &regions.region[r];
    first = (blockIdx.x - (r ? regions.region[r - 1].block_end : 0)) * REGION_WORDS + threadIdx.x;
#pragma unroll
    for (uint32_t u = 0; u < REGION_WORDS / THREADS; u++) {
        uint32_t i = first + u * THREADS;

        if (i >= region->n_words)
            continue;
        place[u] = region_place(&regions, region, i);
        value[u] = is_unpack ? packed[region->packed + i] : data[place[u]];
    }
#pragma unroll
    for (uint32_t u = 0; u < REGION_WORDS / THREADS; u++) {
        uint32_t i = first + u * THREADS;

        if (i >= region->n_words)
            continue;
        if (is_unpack)
            data[place[u]] = value[u];
        else
            packed[region->packed + i] = value[u];
    }
}

#endif /* BENCH_PT2PT_KERNELS_CUH_INCLUDED */
