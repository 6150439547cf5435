/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The positions of a message's words in a buffer, as a formula independent of MPI's datatypes.
 * bench_pt2pt's own kernels pack by it and its checks compare by it, on the host (C) and on a GPU
 * (CUDA C). Must not know of MPI. */

#ifndef BENCH_PT2PT_LAYOUT_H_INCLUDED
#define BENCH_PT2PT_LAYOUT_H_INCLUDED

#include <stdint.h>

#ifdef __CUDACC__
#define FOR_BOTH __host__ __device__ static inline
#else
#define FOR_BOTH static inline
#endif

/* A pointer that kernels dereference; the tests without a GPU define it differently. */
#ifndef GPU_POINTER
#define GPU_POINTER(type_) type_ *
#endif

#define LAYOUT_LEVELS 5
#define POISON_BYTE 0xa5        /* for bytes that no message may change */
#define SALT_POISON (-1)        /* fill a buffer with poison */

enum { LAYOUT__STRIDED, LAYOUT__BLOCKS, LAYOUT__MAP };

/* The words of the packed message, each of word bytes, are numbered from 0. Their positions are
 * bytes from the start of the data, multiples of word.
 *
 * strided: the number has mixed-radix digits, the lowest with base count[0], the next with
 *          count[1], ...; each digit adds a multiple of its step
 * blocks:  a list has the position of each block of count[0] words
 * map:     a list has the position, in words, of each of count[0] words; repeated every step[1] */
struct layout {
    int family;
    int word;                   /* 1, 4, 8 or 16 */
    uint32_t n_words;
    int levels;                 /* number of digits; the highest is not bounded by its count */
    uint32_t count[LAYOUT_LEVELS];
    int shift[LAYOUT_LEVELS];   /* log2 of the count if it is a power of two, else -1 */
    int64_t step[LAYOUT_LEVELS];
    GPU_POINTER(const int64_t) block;
    GPU_POINTER(const uint32_t) map;
    uint32_t n_listed;          /* entries of the list */
};

FOR_BOTH int64_t layout_place(const struct layout *layout, uint32_t n)
{
    int64_t place = 0;
    int d;

    if (layout->family == LAYOUT__BLOCKS)
        return layout->block[n / layout->count[0]] +
            (int64_t) (n % layout->count[0]) * layout->word;
    if (layout->family == LAYOUT__MAP)
        return (int64_t) (n / layout->count[0]) * layout->step[1] +
            (int64_t) layout->map[n % layout->count[0]] * layout->word;
    for (d = 0; d < layout->levels - 1; d++) {
        if (layout->shift[d] >= 0) {
            place += (int64_t) (n & (layout->count[d] - 1)) * layout->step[d];
            n >>= layout->shift[d];
        } else {
            place += (int64_t) (n % layout->count[d]) * layout->step[d];
            n /= layout->count[d];
        }
    }
    return place + (int64_t) n * layout->step[d];
}

/* Eight bytes of a buffer filled with a pattern, by their index in the buffer; each salt gives a
 * different pattern. */
FOR_BOTH uint64_t pattern_eight(uint64_t number, int salt)
{
    uint64_t mix;

    if (salt == SALT_POISON)
        return POISON_BYTE * 0x0101010101010101ull;
    mix = (number + (uint64_t) salt * 0x632be59bd9b4e019ull + 1) * 0x9e3779b97f4a7c15ull;
    return mix ^ mix >> 29;
}

FOR_BOTH unsigned char pattern_byte(uint64_t at, int salt)
{
    return (unsigned char) (pattern_eight(at / 8, salt) >> (8 * (at % 8)));
}

#endif /* BENCH_PT2PT_LAYOUT_H_INCLUDED */
