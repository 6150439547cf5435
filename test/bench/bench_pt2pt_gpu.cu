/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The GPU operations of bench_pt2pt. See bench_pt2pt_gpu.h. */

#include "bench_pt2pt_gpu.h"
#include "bench_pt2pt_kernels.cuh"
#include <string.h>

#define MAX_BLOCKS 2112         /* 16 per multiprocessor of an H200 */
#define COMPUTE_BLOCKS 32       /* per multiprocessor */
#define OCCUPY_FEW 8            /* blocks */
#define OCCUPY_ROUNDS_FEW (1L << 24)    /* limits a kernel that is not stopped to some 20 s */
#define OCCUPY_ROUNDS_MEMORY (1L << 20)
#define OCCUPY_BYTES (256 << 20)        /* larger than any cache */

#define CUDA_MUST(call_)                                        \
    do {                                                        \
        cudaError_t error_ = (call_);                           \
        if (error_ != cudaSuccess)                              \
            bench_fail(#call_, cudaGetErrorString(error_));     \
    } while (0)

static cudaStream_t stream_of[N_STREAMS];
static cudaEvent_t event_of[N_STREAMS][GPU_EVENTS];
static unsigned long long *counter;     /* in GPU memory */
static int n_multiprocessors;
static int current_gpu, peer_gpu;
static cudaStream_t peer_stream;

static dim3 blocks_for(uint64_t items)
{
    uint64_t blocks = (items + THREADS - 1) / THREADS;

    return dim3(blocks > MAX_BLOCKS ? MAX_BLOCKS : blocks ? (unsigned) blocks : 1);
}

static void launch(const void *kernel, dim3 blocks, void **args, cudaStream_t stream)
{
    CUDA_MUST(cudaLaunchKernel(kernel, blocks, dim3(THREADS), args, 0, stream));
}

int gpu_count(void)
{
    int count = 0;

    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

void gpu_open(int number)
{
    int s, e;

    current_gpu = number;
    CUDA_MUST(cudaSetDevice(number));
    CUDA_MUST(cudaDeviceGetAttribute(&n_multiprocessors, cudaDevAttrMultiProcessorCount, number));
    for (s = 0; s < N_STREAMS; s++) {
        CUDA_MUST(cudaStreamCreateWithFlags(&stream_of[s], cudaStreamNonBlocking));
        for (e = 0; e < GPU_EVENTS; e++)
            CUDA_MUST(cudaEventCreateWithFlags(&event_of[s][e], cudaEventDisableTiming));
    }
    CUDA_MUST(cudaMalloc((void **) &counter, sizeof(*counter)));
}

void *gpu_alloc(size_t bytes)
{
    void *memory = NULL;

    if (cudaMalloc(&memory, bytes) != cudaSuccess) {
        (void) cudaGetLastError();
        return NULL;
    }
    return memory;
}

void gpu_free(void *memory)
{
    CUDA_MUST(cudaFree(memory));
}

void *pinned_alloc(size_t bytes)
{
    void *memory = NULL;

    if (cudaHostAlloc(&memory, bytes, cudaHostAllocDefault) != cudaSuccess) {
        (void) cudaGetLastError();
        return NULL;
    }
    return memory;
}

void pinned_free(void *memory)
{
    CUDA_MUST(cudaFreeHost(memory));
}

int gpu_peer_open(int number)
{
    int can;

    CUDA_MUST(cudaDeviceCanAccessPeer(&can, current_gpu, number));
    if (!can)
        return 0;
    peer_gpu = number;
    CUDA_MUST(cudaDeviceEnablePeerAccess(number, 0));
    CUDA_MUST(cudaSetDevice(number));
    CUDA_MUST(cudaDeviceEnablePeerAccess(current_gpu, 0));
    CUDA_MUST(cudaStreamCreateWithFlags(&peer_stream, cudaStreamNonBlocking));
    CUDA_MUST(cudaSetDevice(current_gpu));
    return 1;
}

void *gpu_peer_alloc(size_t bytes)
{
    void *memory;

    CUDA_MUST(cudaSetDevice(peer_gpu));
    memory = gpu_alloc(bytes);
    CUDA_MUST(cudaSetDevice(current_gpu));
    return memory;
}

void gpu_peer_wait(void)
{
    CUDA_MUST(cudaStreamSynchronize(peer_stream));
}

void gpu_peer_close(void)
{
    CUDA_MUST(cudaDeviceDisablePeerAccess(peer_gpu));
    CUDA_MUST(cudaSetDevice(peer_gpu));
    CUDA_MUST(cudaDeviceReset());
    CUDA_MUST(cudaSetDevice(current_gpu));
}

int gpu_layout_make(const struct layout *layout, struct layout *on_gpu)
{
    size_t entry = layout->family == LAYOUT__BLOCKS ? sizeof(int64_t) : sizeof(uint32_t);
    void *list;

    *on_gpu = *layout;
    if (layout->family == LAYOUT__STRIDED)
        return 1;
    list = gpu_alloc(entry * layout->n_listed);
    if (!list)
        return 0;
    CUDA_MUST(cudaMemcpy(list, layout->family == LAYOUT__BLOCKS ? (const void *) layout->block :
                         (const void *) layout->map, entry * layout->n_listed,
                         cudaMemcpyHostToDevice));
    if (layout->family == LAYOUT__BLOCKS)
        on_gpu->block = (const int64_t *) list;
    else
        on_gpu->map = (const uint32_t *) list;
    return 1;
}

int gpu_peer_layout_make(const struct layout *layout, struct layout *on_peer)
{
    int made;

    CUDA_MUST(cudaSetDevice(peer_gpu));
    made = gpu_layout_make(layout, on_peer);
    CUDA_MUST(cudaSetDevice(current_gpu));
    return made;
}

void gpu_layout_free(struct layout *on_gpu)
{
    if (on_gpu->family == LAYOUT__BLOCKS)
        gpu_free((void *) (const int64_t *) on_gpu->block);
    else if (on_gpu->family == LAYOUT__MAP)
        gpu_free((void *) (const uint32_t *) on_gpu->map);
}

void gpu_fill(void *buffer, size_t bytes, int salt)
{
    uint64_t n = bytes / 8;
    void *args[] = { &buffer, &n, &salt };

    launch((const void *) bench_fill, blocks_for(n), args, NULL);
    CUDA_MUST(cudaDeviceSynchronize());
}

static void counter_clear(void)
{
    CUDA_MUST(cudaMemset(counter, 0, sizeof(*counter)));
}

static long long counter_read(void)
{
    unsigned long long value;

    CUDA_MUST(cudaMemcpy(&value, counter, sizeof(value), cudaMemcpyDeviceToHost));
    return (long long) value;
}

long long gpu_compare(const struct layout *on_gpu, void *buffer, size_t data_at, size_t pattern_at,
                      int salt)
{
    struct layout layout = *on_gpu;
    uint64_t data_arg = data_at, pattern_arg = pattern_at;
    void *args[] = { &layout, &buffer, &data_arg, &pattern_arg, &salt, &counter };

    counter_clear();
    launch((const void *) bench_compare, blocks_for(layout.n_words), args, NULL);
    return counter_read();
}

long long gpu_not_poison(const void *buffer, size_t bytes)
{
    uint64_t n = bytes / 8;
    void *args[] = { &buffer, &n, &counter };

    counter_clear();
    launch((const void *) bench_not_poison, blocks_for(n), args, NULL);
    return counter_read();
}

static void move_launch(cudaStream_t stream, const struct layout *on_gpu, void *data, void *packed,
                        uint32_t first, uint32_t n, int is_unpack)
{
    struct layout layout = *on_gpu;
    void *args[] = { &layout, &data, &packed, &first, &n, &is_unpack };

    launch((const void *) bench_move, blocks_for((n + UNROLL - 1) / UNROLL), args, stream);
}

void gpu_move(int stream, const struct layout *on_gpu, void *data, void *packed, uint32_t first,
              uint32_t n, int is_unpack)
{
    move_launch(stream_of[stream], on_gpu, data, packed, first, n, is_unpack);
}

void gpu_across(const struct layout *on_gpu, void *to, void *from)
{
    struct layout layout = *on_gpu;
    void *args[] = { &layout, &to, &from };

    launch((const void *) bench_across, blocks_for((layout.n_words + UNROLL - 1) / UNROLL), args,
           stream_of[STREAM__SEND]);
}

void gpu_across_packed(const struct layout *on_gpu, const struct layout *on_peer, void *to,
                       void *from, void *packed, int pieces)
{
    const uint32_t n = (on_gpu->n_words + (uint32_t) pieces - 1) / (uint32_t) pieces;
    int piece = 0;

    for (uint32_t first = 0; first < on_gpu->n_words; first += n, piece++) {
        const uint32_t words = on_gpu->n_words - first < n ? on_gpu->n_words - first : n;
        unsigned char *at = (unsigned char *) packed + (size_t) first * (size_t) on_gpu->word;

        gpu_move(STREAM__SEND, on_gpu, from, at, first, words, 0);
        gpu_mark(STREAM__SEND, piece);
        CUDA_MUST(cudaSetDevice(peer_gpu));
        CUDA_MUST(cudaStreamWaitEvent(peer_stream, event_of[STREAM__SEND][piece], 0));
        move_launch(peer_stream, on_peer, to, at, first, words, 1);
        CUDA_MUST(cudaSetDevice(current_gpu));
    }
}

void gpu_copy(int stream, void *to, const void *from, size_t bytes)
{
    CUDA_MUST(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of[stream]));
}

void gpu_copy_2d(int stream, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                 size_t width, size_t height)
{
    CUDA_MUST(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, cudaMemcpyDefault,
                                stream_of[stream]));
}

void gpu_compute(long rounds)
{
    void *args[] = { &rounds, &counter };

    launch((const void *) bench_compute, dim3((unsigned) (n_multiprocessors * COMPUTE_BLOCKS)),
           args, stream_of[STREAM__COMPUTE]);
}

void gpu_nothing(int stream)
{
    long rounds = 0;
    void *args[] = { &rounds, &counter };

    CUDA_MUST(cudaLaunchKernel((const void *) bench_compute, dim3(1), dim3(1), args, 0,
                               stream_of[stream]));
}

static int *occupy_flag;        /* both in GPU memory */
static void *occupy_memory;

static void occupy_flag_set(int stream, int value)
{
    CUDA_MUST(cudaMemcpyAsync(occupy_flag, &value, sizeof(value), cudaMemcpyHostToDevice,
                              stream_of[stream]));
    gpu_wait(stream);
}

void gpu_occupy(int what)
{
    unsigned blocks = what == OCCUPY__FEW ? OCCUPY_FEW : (unsigned) n_multiprocessors * 2;
    uint32_t n = what == OCCUPY__FEW ? 0 : OCCUPY_BYTES / 8;
    long rounds = what == OCCUPY__FEW ? OCCUPY_ROUNDS_FEW : OCCUPY_ROUNDS_MEMORY;
    void *args[] = { &occupy_flag, &rounds, &occupy_memory, &n };

    CUDA_MUST(cudaMalloc((void **) &occupy_flag, sizeof(*occupy_flag)));
    CUDA_MUST(cudaMalloc(&occupy_memory, OCCUPY_BYTES));
    occupy_flag_set(STREAM__SEND, 0);
    launch((const void *) bench_occupy, dim3(blocks), args, stream_of[STREAM__COMPUTE]);
}

void gpu_occupy_end(void)
{
    cudaError_t status = cudaStreamQuery(stream_of[STREAM__COMPUTE]);

    if (status == cudaSuccess)
        bench_fail("a kernel to measure beside", "it has ended before the messages");
    if (status != cudaErrorNotReady)
        CUDA_MUST(status);
    occupy_flag_set(STREAM__SEND, 1);
    gpu_wait(STREAM__COMPUTE);
    gpu_free(occupy_flag);
    gpu_free(occupy_memory);
}

void gpu_block_fill(const struct block *block, void *data)
{
    struct block copy = *block;
    void *args[] = { &copy, &data };

    launch((const void *) bench_block_fill, blocks_for(block_words(block)), args, NULL);
    CUDA_MUST(cudaDeviceSynchronize());
}

long long gpu_block_check(const struct block *block, const void *data)
{
    struct block copy = *block;
    void *args[] = { &copy, &data, &counter };

    counter_clear();
    launch((const void *) bench_block_check, blocks_for(block_words(block)), args, NULL);
    return counter_read();
}

void gpu_regions_move(int stream, const struct regions *regions, void *data, void *packed,
                      int is_unpack)
{
    struct regions copy = *regions;
    void *args[] = { &copy, &data, &packed, &is_unpack };

    launch((const void *) bench_regions, dim3(regions->region[N_DIRECTIONS - 1].block_end), args,
           stream_of[stream]);
}

void gpu_wait(int stream)
{
    CUDA_MUST(cudaStreamSynchronize(stream_of[stream]));
}

void gpu_mark(int stream, int slot)
{
    CUDA_MUST(cudaEventRecord(event_of[stream][slot], stream_of[stream]));
}

int gpu_passed(int stream, int slot)
{
    cudaError_t error = cudaEventQuery(event_of[stream][slot]);

    if (error == cudaErrorNotReady)
        return 0;
    CUDA_MUST(error);
    return 1;
}
