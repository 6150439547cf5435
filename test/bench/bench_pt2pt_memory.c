/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/*
 * Memory of messages. See bench_pt2pt_memory.h.
 */

#include "bench_pt2pt_memory.h"
#include "bench_pt2pt_gpu.h"
#include <stdlib.h>
#include <string.h>

void *memory_alloc(int on_gpu, size_t bytes)
{
#ifdef WITH_GPU
    if (on_gpu)
        return gpu_alloc(bytes);
#endif
    (void) on_gpu;
    return malloc(bytes);
}

void memory_free(int on_gpu, void *memory)
{
#ifdef WITH_GPU
    if (on_gpu && memory)
        gpu_free(memory);
#endif
    if (!on_gpu)
        free(memory);
}

void memory_fill(int on_gpu, void *memory, size_t bytes, int salt)
{
    uint64_t *eight = memory;
    uint64_t i;

#ifdef WITH_GPU
    if (on_gpu) {
        gpu_fill(memory, bytes, salt);
        return;
    }
#endif
    (void) on_gpu;
    for (i = 0; i < bytes / 8; i++)
        eight[i] = pattern_eight(i, salt);
}

/* Whether a word of n times 8 bytes differs from the pattern; poisons it. */
static int eights_differ(uint64_t *eight, uint64_t number, int n, int salt)
{
    int differs = 0, i;

    for (i = 0; i < n; i++) {
        differs |= eight[i] != pattern_eight(number + (uint64_t) i, salt);
        eight[i] = pattern_eight(0, SALT_POISON);
    }
    return differs;
}

static int bytes_differ(unsigned char *byte, uint64_t at, int n, int salt)
{
    int differs = 0, i;

    for (i = 0; i < n; i++) {
        differs |= byte[i] != pattern_byte(at + (uint64_t) i, salt);
        byte[i] = POISON_BYTE;
    }
    return differs;
}

static long long host_compare(const struct layout *layout, unsigned char *memory, size_t data_at,
                              size_t pattern_at, int salt)
{
    int in_eights = layout->word % 8 == 0 && data_at % 8 == 0 && pattern_at % 8 == 0;
    long long n_wrong = 0;
    uint32_t i;

    for (i = 0; i < layout->n_words; i++) {
        uint64_t place = (uint64_t) layout_place(layout, i);

        n_wrong += in_eights ?
            eights_differ((uint64_t *) (memory + data_at + place), (pattern_at + place) / 8,
                          layout->word / 8, salt) :
            bytes_differ(memory + data_at + place, pattern_at + place, layout->word, salt);
    }
    return n_wrong;
}

long long memory_compare(int on_gpu, const struct layout *layout, void *memory, size_t data_at,
                         size_t pattern_at, int salt)
{
#ifdef WITH_GPU
    if (on_gpu)
        return gpu_compare(layout, memory, data_at, pattern_at, salt);
#endif
    (void) on_gpu;
    return host_compare(layout, memory, data_at, pattern_at, salt);
}

long long memory_not_poison(int on_gpu, const void *memory, size_t bytes)
{
    const uint64_t poison = pattern_eight(0, SALT_POISON), *eight = memory;
    long long n_wrong = 0;
    size_t i;

#ifdef WITH_GPU
    if (on_gpu)
        return gpu_not_poison(memory, bytes);
#endif
    (void) on_gpu;
    for (i = 0; i < bytes / 8; i++)
        n_wrong += eight[i] != poison;
    return n_wrong;
}

void memory_poke(int on_gpu, unsigned char *at, unsigned char byte)
{
#ifdef WITH_GPU
    if (on_gpu) {
        gpu_copy(STREAM__RECV, at, &byte, 1);
        gpu_wait(STREAM__RECV);
        return;
    }
#endif
    (void) on_gpu;
    *at = byte;
}
