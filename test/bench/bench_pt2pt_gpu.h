/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* GPU operations of bench_pt2pt: memory, fill and check, a user's own packing kernels, copies, a
 * kernel to overlap with. Failures abort the job by bench_fail. Must not know of MPI. */

#ifndef BENCH_PT2PT_GPU_H_INCLUDED
#define BENCH_PT2PT_GPU_H_INCLUDED

#include <stddef.h>
#include "bench_pt2pt_layout.h"
#include "bench_pt2pt_block.h"

#define GPU_EVENTS 8            /* of each stream */

enum { STREAM__SEND, STREAM__RECV, STREAM__COMPUTE, N_STREAMS };

#ifdef __cplusplus
extern "C" {
#endif

/* Print a failure and its reason, and abort the job. Defined by the benchmark. */
void bench_fail(const char *what, const char *why);

/* Number of GPUs that this process sees; 0 if there is none or no driver. */
int gpu_count(void);

/* Make a GPU current, by its number from 0, and create the streams. Called once. */
void gpu_open(int number);

/* Allocate GPU memory, or pinned host memory that the GPU can access; NULL if there is none. */
void *gpu_alloc(size_t bytes);
void gpu_free(void *memory);
void *pinned_alloc(size_t bytes);
void pinned_free(void *memory);

/* Make memory of another GPU accessible to the current one, by its number from 0; returns 0 if it
 * cannot be. Memory that is allocated there is freed by gpu_free. Closing ends this process's use
 * of that GPU. */
int gpu_peer_open(int number);
void *gpu_peer_alloc(size_t bytes);
void gpu_peer_wait(void);
void gpu_peer_close(void);

/* Copy a layout, with its lists in GPU memory; returns 0 if there is none. */
int gpu_layout_make(const struct layout *layout, struct layout *on_gpu);
int gpu_peer_layout_make(const struct layout *layout, struct layout *on_peer);
void gpu_layout_free(struct layout *on_gpu);

/* Fill a buffer, bytes being a multiple of 8, with the pattern of a salt. */
void gpu_fill(void *buffer, size_t bytes, int salt);

/* Count the words of the data at data_at that differ from those of a buffer with that salt at
 * pattern_at, and poison them. */
long long gpu_compare(const struct layout *on_gpu, void *buffer, size_t data_at, size_t pattern_at,
                      int salt);

/* Count the 8-byte words of a buffer that are not poison. */
long long gpu_not_poison(const void *buffer, size_t bytes);

/* Start a kernel that packs n words from word `first` on to packed, or unpacks them from there.
 * packed may be pinned host memory. */
void gpu_move(int stream, const struct layout *on_gpu, void *data, void *packed, uint32_t first,
              uint32_t n, int is_unpack);

/* Start a kernel that copies a message between two buffers, one of them on the peer, which both have
 * the layout. */
void gpu_across(const struct layout *on_gpu, void *to, void *from);

/* Copy a message from this GPU to the peer in equal pieces, up to GPU_EVENTS: a kernel of this GPU
 * packs each to `packed` in its memory, and one of the peer reads it from there and unpacks it.
 * Starts all; gpu_peer_wait waits for the end. */
void gpu_across_packed(const struct layout *on_gpu, const struct layout *on_peer, void *to,
                       void *from, void *packed, int pieces);

/* Start a copy between any two memories. */
void gpu_copy(int stream, void *to, const void *from, size_t bytes);
void gpu_copy_2d(int stream, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                 size_t width, size_t height);

/* Start a kernel on the whole GPU that uses no memory and takes time proportional to rounds. */
void gpu_compute(long rounds);

/* Start a kernel of one thread that does nothing. */
void gpu_nothing(int stream);

/* Start a kernel on the compute stream that runs until it is stopped: with few blocks that use no
 * memory, or with two per multiprocessor that continuously read and write memory. Stopping checks
 * that it was still running. */
enum { OCCUPY__FEW, OCCUPY__MEMORY };
void gpu_occupy(int what);
void gpu_occupy_end(void);

/* Fill a block with its points' patterns and its ghosts with poison. */
void gpu_block_fill(const struct block *block, void *data);

/* Count the words of a block, including ghosts, that differ from the expected ones. */
long long gpu_block_check(const struct block *block, const void *data);

/* Start one kernel that packs all regions of a block, or unpacks them. packed may be pinned host
 * memory. */
void gpu_regions_move(int stream, const struct regions *regions, void *data, void *packed,
                      int is_unpack);

void gpu_wait(int stream);

/* Record event number slot (below GPU_EVENTS) in a stream; test whether the stream has reached
 * it. */
void gpu_mark(int stream, int slot);
int gpu_passed(int stream, int slot);

#ifdef __cplusplus
}
#endif

#endif /* BENCH_PT2PT_GPU_H_INCLUDED */
