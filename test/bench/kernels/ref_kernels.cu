/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Kernels written by hand for one layout each, with its sizes known to the compiler, as a user
 * would write them instead of an MPI datatype. The reference of the kernel benchmark; shares no code
 * with the library's kernels.
 */

#include <stdint.h>

#include "ref_args.h"

#define THREADS 256

template <class T> __device__ __forceinline__ void move(char *user, char *packed, int unpack)
{
    if (unpack)
        *(T *) user = *(T *) packed;
    else
        *(T *) packed = *(T *) user;
}

/* U independent moves of a T per thread; Where gives the displacement of the i-th. */
template <class T, int U, int UNPACK, class Where>
__device__ __forceinline__ void gather(const struct ref_args &a, Where where)
{
    const int64_t i0 = (int64_t) blockIdx.x * THREADS * U + threadIdx.x;
    T value[U];
    int64_t disp[U];
#pragma unroll
    for (int u = 0; u < U; u++)
        if (i0 + u * THREADS < a.work)
            disp[u] = where(i0 + u * THREADS);
#pragma unroll
    for (int u = 0; u < U; u++)
        if (i0 + u * THREADS < a.work)
            value[u] = UNPACK ? ((const T *) a.packed)[i0 + u * THREADS]
                : *(const T *) (a.user + disp[u]);
#pragma unroll
    for (int u = 0; u < U; u++)
        if (i0 + u * THREADS < a.work) {
            if (UNPACK)
                *(T *) (a.user + disp[u]) = value[u];
            else
                ((T *) a.packed)[i0 + u * THREADS] = value[u];
        }
}

#define GATHER_U(name_, type_, expr_, u_)                                                       \
    extern "C" __global__ void name_ ## _u ## u_ ## _pack(const __grid_constant__ struct ref_args a)\
    {                                                                                           \
        gather<type_, u_, 0>(a, [&](int64_t i) -> int64_t { return expr_; });                   \
    }                                                                                           \
    extern "C" __global__ void name_ ## _u ## u_ ## _unpack(const __grid_constant__ struct ref_args a)\
    {                                                                                           \
        gather<type_, u_, 1>(a, [&](int64_t i) -> int64_t { return expr_; });                   \
    }
#define GATHER(name_, type_, expr_)     \
    GATHER_U(name_, type_, expr_, 1)    \
    GATHER_U(name_, type_, expr_, 4)

/* 32-bit index arithmetic: the benchmark stays below 2^31 words. */
#define N ((uint32_t) i)
#define VECTOR(name_, type_, block_, stride_)                                                   \
    GATHER(name_, type_, (int64_t) (N / (uint32_t) (block_ / sizeof(type_))) * stride_ +        \
           (N % (uint32_t) (block_ / sizeof(type_))) * sizeof(type_))

VECTOR(vector_8_16, uint64_t, 8, 16)
VECTOR(vector_8_64, uint64_t, 8, 64)
VECTOR(vector_8_512, uint64_t, 8, 512)
VECTOR(vector_8_4096, uint64_t, 8, 4096)
VECTOR(vector_128_512, uint4, 128, 512)
VECTOR(vector_1k_4k, uint4, 1024, 4096)
VECTOR(vector_4_8, uint32_t, 4, 8)
VECTOR(vector_16_64, uint4, 16, 64)
VECTOR(half_2_4, uint16_t, 2, 4)
VECTOR(struct17, uint8_t, 17, 24)
VECTOR(struct17_48, uint8_t, 17, 48)
VECTOR(bytes_3_4, uint8_t, 3, 4)
VECTOR(bytes_3_5, uint8_t, 3, 5)

VECTOR(face_xz_64, uint4, 512, 32768)
VECTOR(face_xz_128, uint4, 1024, 131072)
VECTOR(face_xz_256, uint4, 2048, 524288)
VECTOR(face_xz_512, uint4, 4096, 2097152)
VECTOR(face_yz_64, uint64_t, 8, 512)
VECTOR(face_yz_128, uint64_t, 8, 1024)
VECTOR(face_yz_256, uint64_t, 8, 2048)
VECTOR(face_yz_512, uint64_t, 8, 4096)

/* From one vector of doubles (a.packed) to another (a.user), 4 doubles for each thread. */
#define COPY(from_, to_, from_stride_, to_stride_)                                              \
    extern "C" __global__ void copy_ ## from_ ## _to_ ## to_(const __grid_constant__ struct ref_args a)\
    {                                                                                           \
        const int64_t i0 = (int64_t) blockIdx.x * THREADS * 4 + threadIdx.x;                    \
        uint64_t value[4];                                                                      \
        _Pragma("unroll")                                                                       \
        for (int u = 0; u < 4; u++)                                                             \
            if (i0 + u * THREADS < a.work)                                                      \
                value[u] = *(const uint64_t *) (a.packed + (i0 + u * THREADS) * from_stride_);  \
        _Pragma("unroll")                                                                       \
        for (int u = 0; u < 4; u++)                                                             \
            if (i0 + u * THREADS < a.work)                                                      \
                *(uint64_t *) (a.user + (i0 + u * THREADS) * to_stride_) = value[u];            \
    }

COPY(vector_8_16, vector_8_16, 16, 16)
COPY(vector_8_16, vector_8_512, 16, 512)
COPY(vector_8_512, vector_8_16, 512, 16)
COPY(vector_8_512, vector_8_512, 512, 512)

/* 32^4 of 64^4 doubles, as words of 16 bytes: 16 words a row */
GATHER(sub4d, uint4, ((int64_t) (N >> 19) << 27) + ((int64_t) (N >> 14 & 31) << 21) +
       (N >> 9 & 31) * 32768 + (N >> 4 & 31) * 512 + (N & 15) * 16)
GATHER(vecvec, uint64_t, (int64_t) (N >> 3) * 4096 + (N & 7) * 64)
GATHER(cyclic, uint4, (int64_t) (N >> 8) * 65536 + (N & 255) * 64)

/* Lists: aux0 is one displacement per block */
GATHER(indexed_8, uint64_t, ((const int64_t *) a.aux0)[N])
GATHER(indexed_128, uint64_t, ((const int64_t *) a.aux0)[N / 16] + N % 16 * 8)
GATHER(indexed_12, uint32_t, ((const int64_t *) a.aux0)[N / 3] + N % 3 * 4)
GATHER(particles, uint8_t, ((const int64_t *) a.aux0)[N / 17] + N % 17)

/* Maps: aux1 is one index per word */
GATHER(map_8, uint64_t, (int64_t) ((const uint32_t *) a.aux1)[N] * 8)
GATHER(map_1, uint8_t, (int64_t) ((const uint32_t *) a.aux1)[N])

/* 20 members of 33 words, a struct every 53; aux1 maps the words of one struct */
GATHER(aos20_8, uint64_t, ((int64_t) (N / 33) * 53 + ((const uint32_t *) a.aux1)[N % 33]) * 8)
GATHER(aos20_4, uint32_t, ((int64_t) (N / 33) * 53 + ((const uint32_t *) a.aux1)[N % 33]) * 4)
GATHER(aos20_1, uint8_t, (int64_t) (N / 33) * 53 + ((const uint32_t *) a.aux1)[N % 33])

/* Three vectors; n structs */
GATHER(struct3, uint64_t, N < a.n ? (int64_t) N * 16 : N < 3 * a.n ?
       a.n * 16 + (int64_t) ((N - (uint32_t) a.n) / 2) * 64 + (N - a.n) % 2 * 8 :
       a.n * 80 + (int64_t) (N - 3 * (uint32_t) a.n) * 24)
GATHER(struct3_4, uint32_t, N < 2 * a.n ? (int64_t) (N / 2) * 16 + N % 2 * 4 : N < 6 * a.n ?
       a.n * 16 + (int64_t) ((N - 2 * (uint32_t) a.n) / 4) * 64 + (N - 2 * a.n) % 4 * 4 :
       a.n * 80 + (int64_t) (N - 6 * (uint32_t) a.n) * 12)

#undef N

/* One thread block per row of the triangle */
template <int UNPACK> __device__ void triangle(const struct ref_args &a)
{
    const int64_t row = blockIdx.x;
    char *user = a.user + row * a.n * 8, *packed = a.packed + row * (row + 1) / 2 * 8;
    for (int64_t j = threadIdx.x; j <= row; j += THREADS)
        move<uint64_t>(user + j * 8, packed + j * 8, UNPACK);
}

/* One warp per block; aux0: displ[work], then prefix[work + 1] in bytes */
template <class T, int UNPACK> __device__ void warps(const struct ref_args &a)
{
    const int64_t block = (int64_t) blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
    if (block >= a.work)
        return;
    const int64_t *displ = (const int64_t *) a.aux0, *prefix = displ + a.work;
    const int len = (int) (prefix[block + 1] - prefix[block]);
    for (int at = threadIdx.x % 32 * sizeof(T); at < len; at += 32 * sizeof(T))
        move<T>(a.user + displ[block] + at, a.packed + prefix[block] + at, UNPACK);
}

/* Squares of 32 words through shared memory; n x n */
template <class T, int UNPACK> __device__ void transpose(const struct ref_args &a)
{
    __shared__ T tile[32][33];
    const int n = (int) a.n, side = (n + 31) / 32;
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    const int i0 = (int) blockIdx.x % side * 32, j0 = (int) blockIdx.x / side * 32;
    T *user = (T *) a.user, *packed = (T *) a.packed;
    /* user[j][i] is packed[i][j] */
#pragma unroll
    for (int k = 0; k < 32; k += 8) {
        if (UNPACK) {
            if (i0 + y + k < n && j0 + x < n)
                tile[x][y + k] = packed[(int64_t) (i0 + y + k) * n + j0 + x];
        } else if (j0 + y + k < n && i0 + x < n) {
            tile[y + k][x] = user[(int64_t) (j0 + y + k) * n + i0 + x];
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 32; k += 8) {
        if (UNPACK) {
            if (j0 + y + k < n && i0 + x < n)
                user[(int64_t) (j0 + y + k) * n + i0 + x] = tile[y + k][x];
        } else if (i0 + y + k < n && j0 + x < n) {
            packed[(int64_t) (i0 + y + k) * n + j0 + x] = tile[x][y + k];
        }
    }
}

/* As transpose, for 96 planes of 40 x n: user[k][j][i] is packed[i][j][k] */
template <int UNPACK> __device__ void turn3d(const struct ref_args &a)
{
    __shared__ double tile[40][33];
    const int n = (int) a.n, side = (n + 31) / 32;
    const int i0 = (int) blockIdx.x % side * 32, j = (int) blockIdx.x / side;
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    double *user = (double *) a.user, *packed = (double *) a.packed;
    if (!UNPACK) {
#pragma unroll
        for (int k = y; k < 40; k += 8)
            if (i0 + x < n)
                tile[k][x] = user[((int64_t) k * 96 + j) * n + i0 + x];
    } else {
#pragma unroll
        for (int at = threadIdx.x; at < 32 * 40; at += THREADS)
            if (i0 + at / 40 < n)
                tile[at % 40][at / 40] = packed[((int64_t) (i0 + at / 40) * 96 + j) * 40 + at % 40];
    }
    __syncthreads();
    if (!UNPACK) {
#pragma unroll
        for (int at = threadIdx.x; at < 32 * 40; at += THREADS)
            if (i0 + at / 40 < n)
                packed[((int64_t) (i0 + at / 40) * 96 + j) * 40 + at % 40] = tile[at % 40][at / 40];
    } else {
#pragma unroll
        for (int k = y; k < 40; k += 8)
            if (i0 + x < n)
                user[((int64_t) k * 96 + j) * n + i0 + x] = tile[k][x];
    }
}

/* Structs of SIZE bytes, STRIDE apart, 512 per thread block through shared memory. User memory is
 * read in words of WORD bytes, including padding; aux0, if not NULL, has the position of each
 * struct. */
template <int SIZE, int STRIDE, class WORD, int UNPACK>
__device__ void structs(const struct ref_args &a)
{
    enum {
        N = 512, WORDS = (SIZE + sizeof(WORD) - 1) / sizeof(WORD), PITCH = WORDS * sizeof(WORD)
    };
    __shared__ __align__(16) unsigned char in[N * PITCH];
    __shared__ __align__(16) unsigned char out[N * SIZE];
    const int64_t first = (int64_t) blockIdx.x * N;
    const int n = a.n - first < N ? (int) (a.n - first) : N;
    const int64_t *displ = (const int64_t *) a.aux0;
    char *packed = a.packed + first * SIZE;

    if (UNPACK) {
        for (int at = threadIdx.x * 16; at < n * SIZE; at += THREADS * 16) {
            if (at + 16 <= n * SIZE)
                *(uint4 *) (out + at) = *(const uint4 *) (packed + at);
            else
                for (int k = at; k < n * SIZE; k++)
                    out[k] = packed[k];
        }
        __syncthreads();
        for (int i = threadIdx.x; i < n * WORDS; i += THREADS) {
            const int which = i / WORDS, at = i % WORDS * sizeof(WORD);
            char *to = a.user + (displ ? displ[first + which] : (first + which) * STRIDE) + at;
            const unsigned char *from = out + which * SIZE + at;
            if (at + sizeof(WORD) <= SIZE) {
                WORD value = 0;
#pragma unroll
                for (int k = 0; k < sizeof(WORD); k++)
                    value |= (WORD) from[k] << 8 * k;
                *(WORD *) to = value;
            } else {
                for (int k = 0; at + k < SIZE; k++)
                    to[k] = from[k];
            }
        }
    } else {
#pragma unroll 4
    for (int i = threadIdx.x; i < n * WORDS; i += THREADS) {
        const int which = i / WORDS, at = i % WORDS * sizeof(WORD);
        *(WORD *) (in + i * sizeof(WORD)) = *(const WORD *)
            (a.user + (displ ? displ[first + which] : (first + which) * STRIDE) + at);
    }
    __syncthreads();
    for (int at = threadIdx.x * 16; at < n * SIZE; at += THREADS * 16) {
        uint32_t word[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            word[k] = 0;
#pragma unroll
            for (int m = 0; m < 4; m++) {
                const int from = at + 4 * k + m;
                if (from < n * SIZE)
                    word[k] |= (uint32_t) in[from / SIZE * PITCH + from % SIZE] << 8 * m;
            }
        }
        if (at + 16 <= n * SIZE)
            *(uint4 *) (packed + at) = make_uint4(word[0], word[1], word[2], word[3]);
        else
            for (int k = at; k < n * SIZE; k++)
                packed[k] = in[k / SIZE * PITCH + k % SIZE];
    }
    }
}

#define ENTRY(name_, ...)                                                                        \
    extern "C" __global__ void name_ ## _pack(const __grid_constant__ struct ref_args a)         \
    {                                                                                            \
        __VA_ARGS__ 0>(a);                                                                       \
    }                                                                                            \
    extern "C" __global__ void name_ ## _unpack(const __grid_constant__ struct ref_args a)       \
    {                                                                                            \
        __VA_ARGS__ 1>(a);                                                                       \
    }

ENTRY(triangle, triangle<)
ENTRY(warps_8, warps<uint64_t,)
ENTRY(warps_1, warps<uint8_t,)
ENTRY(transpose_8, transpose<uint64_t,)
ENTRY(transpose_4, transpose<uint32_t,)
ENTRY(turn3d, turn3d<)
ENTRY(stage_17_24, structs<17, 24, uint64_t,)
ENTRY(stage_17_48, structs<17, 48, uint64_t,)
ENTRY(stage_3_4, structs<3, 4, uint32_t,)
ENTRY(stage_3_5, structs<3, 5, uint8_t,)
ENTRY(stage_2_4, structs<2, 4, uint16_t,)

extern "C" __global__ void empty(const __grid_constant__ struct ref_args a)
{
}

extern "C" __global__ void contiguous_pack(const __grid_constant__ struct ref_args a)
{
    const int64_t i = (int64_t) blockIdx.x * THREADS + threadIdx.x;
    if (i < a.work)
        ((uint4 *) a.packed)[i] = ((const uint4 *) a.user)[i];
}

extern "C" __global__ void contiguous_unpack(const __grid_constant__ struct ref_args a)
{
    const int64_t i = (int64_t) blockIdx.x * THREADS + threadIdx.x;
    if (i < a.work)
        ((uint4 *) a.user)[i] = ((const uint4 *) a.packed)[i];
}

/* Test data: every byte depends on its position. work: words of 8 bytes */
extern "C" __global__ void fill(const __grid_constant__ struct ref_args a)
{
    for (int64_t i = (int64_t) blockIdx.x * THREADS + threadIdx.x; i < a.work;
         i += (int64_t) gridDim.x * THREADS)
        ((uint64_t *) a.user)[i] = (uint64_t) (i + a.n) * 0x9e3779b97f4a7c15ULL ^
            (uint64_t) i << 17;
}

/* aux0[0] += bytes that differ between user and packed. work: bytes */
extern "C" __global__ void differ(const __grid_constant__ struct ref_args a)
{
    unsigned long long found = 0;
    for (int64_t i = (int64_t) blockIdx.x * THREADS + threadIdx.x; i < a.work;
         i += (int64_t) gridDim.x * THREADS)
        found += a.user[i] != a.packed[i];
    if (found)
        atomicAdd((unsigned long long *) a.aux0, found);
}
