/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Memory of bench_pt2pt's messages, on the host or on this process's GPU: allocate, fill, check.
 * Must not know of MPI. */

#ifndef BENCH_PT2PT_MEMORY_H_INCLUDED
#define BENCH_PT2PT_MEMORY_H_INCLUDED

#include <stddef.h>
#include "bench_pt2pt_layout.h"

/* Returns NULL if there is none. Host memory is pageable. */
void *memory_alloc(int on_gpu, size_t bytes);
void memory_free(int on_gpu, void *memory);

/* Fill memory, bytes being a multiple of 8, with the pattern of a salt. */
void memory_fill(int on_gpu, void *memory, size_t bytes, int salt);

/* Count the words of the data at data_at that differ from those of a buffer with that salt at
 * pattern_at, and poison them. The layout's lists are in the same kind of memory. */
long long memory_compare(int on_gpu, const struct layout *layout, void *memory, size_t data_at,
                         size_t pattern_at, int salt);

/* Changes a byte. */
void memory_poke(int on_gpu, unsigned char *at, unsigned char byte);

/* Count the 8-byte words that are not poison. */
long long memory_not_poison(int on_gpu, const void *memory, size_t bytes);

#endif /* BENCH_PT2PT_MEMORY_H_INCLUDED */
