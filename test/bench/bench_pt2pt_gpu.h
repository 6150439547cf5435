/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/*
 * What bench_pt2pt does on a GPU by itself: memory, fill and check, a user's own packing kernels,
 * copies, a kernel to overlap with. What fails ends the job through bench_fail. It must not know of
 * MPI.
 */

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

/* Ends the job on all ranks after saying what failed and why. The benchmark has it. */
void bench_fail(const char *what, const char *why);

/* GPUs this process sees; 0 if there is none or no driver. */
int gpu_count(void);

/* Uses a GPU, by its number from 0, and makes the streams. Once. */
void gpu_open(int number);

/* Memory of the GPU, or pinned host memory that the GPU can reach; NULL where there is none. */
void *gpu_alloc(size_t bytes);
void gpu_free(void *memory);
void *pinned_alloc(size_t bytes);
void pinned_free(void *memory);

/* A copy of a layout whose lists are in GPU memory; returns 0 where there is none. */
int gpu_layout_make(const struct layout *layout, struct layout *on_gpu);
void gpu_layout_free(struct layout *on_gpu);

/* Fills a buffer, bytes being a multiple of 8, with the pattern of a salt. */
void gpu_fill(void *buffer, size_t bytes, int salt);

/* Counts the words of the data at data_at that are not what a buffer with that salt has at
 * pattern_at, and poisons them. */
long long gpu_compare(const struct layout *on_gpu, void *buffer, size_t data_at, size_t pattern_at,
                      int salt);

/* Counts the eights of a buffer that are not poison throughout. */
long long gpu_not_poison(const void *buffer, size_t bytes);

/* Starts a kernel that packs words first, first + 1, ... (n of them) to packed, or unpacks them from
 * there. packed may be pinned host memory. */
void gpu_move(int stream, const struct layout *on_gpu, void *data, void *packed, uint32_t first,
              uint32_t n, int is_unpack);

/* Starts a copy between any two places. */
void gpu_copy(int stream, void *to, const void *from, size_t bytes);
void gpu_copy_2d(int stream, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                 size_t width, size_t height);

/* Starts a kernel on all of the GPU that takes time and no memory, proportional to rounds. */
void gpu_compute(long rounds);

/* Starts a kernel of one thread that does nothing. */
void gpu_nothing(int stream);

/* Starts a kernel on the compute stream that runs until it is told to end: of few blocks, which use
 * no memory, or of two for each multiprocessor, which read and write memory all the time. That it
 * ran until then is made sure of. */
enum { OCCUPY__FEW, OCCUPY__MEMORY };
void gpu_occupy(int what);
void gpu_occupy_end(void);

/* Fills a block with its points' patterns and its ghosts with poison. */
void gpu_block_fill(const struct block *block, void *data);

/* Counts the words of a block, ghosts included, that are not those of the points they stand for. */
long long gpu_block_check(const struct block *block, const void *data);

/* Starts one kernel that packs all the regions of a block, or unpacks them. packed may be pinned
 * host memory. */
void gpu_regions_move(int stream, const struct regions *regions, void *data, void *packed,
                      int is_unpack);

void gpu_wait(int stream);

/* Notes in event number slot (below GPU_EVENTS) what the stream has been given so far; says whether
 * that is done. */
void gpu_mark(int stream, int slot);
int gpu_passed(int stream, int slot);

#ifdef __cplusplus
}
#endif

#endif /* BENCH_PT2PT_GPU_H_INCLUDED */
