/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Copies of a few bytes between the user's buffer and packed memory, for loops over blocks. The
 * direction, and mostly the length, is a constant where these are inlined. Must not know MPI. */

#ifndef GPUDT_CPU_COPY_H_INCLUDED
#define GPUDT_CPU_COPY_H_INCLUDED

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Functions for vector instructions that are used if the CPU has them: only where that was measured
 * to be faster. */
#if defined(__x86_64__) && defined(__GNUC__)
#define GPUDT_CPU_X86 1
#include <immintrin.h>
#endif

#define GPUDT_CPU_INLINE static inline __attribute__((always_inline))

/* Blocks of at most so many bytes are copied by instructions of a loop, longer ones by memcpy. */
#define GPUDT_CPU_SHORT 128

/* So many entries ahead a list asks for the user's memory. */
#define GPUDT_CPU_AHEAD 24

GPUDT_CPU_INLINE void gpudt_cpu_move(char *restrict user, char *restrict packed, size_t n,
                                     const bool unpack)
{
    if (unpack)
        memcpy(user, packed, n);
    else
        memcpy(packed, user, n);
}

/* n from `word` to 2 * `word` bytes, as two words that may share bytes. Both are read before one is
 * written. */
#define GPUDT_CPU_TWO_WORDS(type_, dst_, src_, n_)                      \
    do {                                                                \
        type_ head_, tail_;                                             \
        memcpy(&head_, src_, sizeof(type_));                            \
        memcpy(&tail_, src_ + n_ - sizeof(type_), sizeof(type_));       \
        memcpy(dst_, &head_, sizeof(type_));                            \
        memcpy(dst_ + n_ - sizeof(type_), &tail_, sizeof(type_));       \
    } while (0)

struct gpudt_cpu_word16 {
    uint64_t half[2];
};

struct gpudt_cpu_word32 {
    uint64_t quarter[4];
};

/* A block of up to GPUDT_CPU_SHORT bytes. */
GPUDT_CPU_INLINE void gpudt_cpu_move_short(char *restrict user, char *restrict packed,
                                           const size_t n, const bool unpack)
{
    char *restrict dst = unpack ? user : packed;
    const char *restrict src = unpack ? packed : user;

    if (n > 64) {
        memcpy(dst, src, 64);
        memcpy(dst + n - 64, src + n - 64, 64);
    } else if (n > 32) {
        GPUDT_CPU_TWO_WORDS(struct gpudt_cpu_word32, dst, src, n);
    } else if (n > 16) {
        GPUDT_CPU_TWO_WORDS(struct gpudt_cpu_word16, dst, src, n);
    } else if (n >= 8) {
        GPUDT_CPU_TWO_WORDS(uint64_t, dst, src, n);
    } else if (n >= 4) {
        GPUDT_CPU_TWO_WORDS(uint32_t, dst, src, n);
    } else if (n >= 2) {
        GPUDT_CPU_TWO_WORDS(uint16_t, dst, src, n);
    } else if (n == 1) {
        *dst = *src;
    }
}

/* A block of exactly n bytes, n being a constant. Powers of two are one move. */
GPUDT_CPU_INLINE void gpudt_cpu_move_const(char *restrict user, char *restrict packed,
                                           const size_t n, const bool unpack)
{
    if ((n & (n - 1)) == 0)
        gpudt_cpu_move(user, packed, n, unpack);
    else
        gpudt_cpu_move_short(user, packed, n, unpack);
}

/* A block of any length. */
GPUDT_CPU_INLINE void gpudt_cpu_move_any(char *restrict user, char *restrict packed, size_t n,
                                         const bool unpack)
{
    if (n <= GPUDT_CPU_SHORT)
        gpudt_cpu_move_short(user, packed, n, unpack);
    else
        gpudt_cpu_move(user, packed, n, unpack);
}

/* Ask for memory that will be read, or written, soon. */
#define GPUDT_CPU_PREFETCH(addr_, unpack_)      \
    do {                                        \
        if (unpack_)                            \
            __builtin_prefetch(addr_, 1);       \
        else                                    \
            __builtin_prefetch(addr_, 0);       \
    } while (0)

/* The block sizes that have loops of their own. */
#define GPUDT_CPU_SIZES(F)                                                                      \
    F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15) F(16)      \
    F(20) F(24) F(28) F(32) F(40) F(48) F(56) F(64)

/* The place of a block size in a table with an entry for each of GPUDT_CPU_SIZES, or else one of
 * two: up to GPUDT_CPU_SHORT bytes, and more. */
enum gpudt_cpu_size_e {
#define GPUDT_CPU_SIZE_ID(n_) GPUDT_CPU_SIZE__ ## n_,
    GPUDT_CPU_SIZES(GPUDT_CPU_SIZE_ID)
#undef GPUDT_CPU_SIZE_ID
    GPUDT_CPU_SIZE__SHORT,
    GPUDT_CPU_SIZE__LONG,
    GPUDT_CPU_NSIZES
};

static inline enum gpudt_cpu_size_e gpudt_cpu_size_class(int64_t size)
{
    switch (size) {
#define GPUDT_CPU_SIZE_CASE(n_) case n_: return GPUDT_CPU_SIZE__ ## n_;
        GPUDT_CPU_SIZES(GPUDT_CPU_SIZE_CASE)
#undef GPUDT_CPU_SIZE_CASE
        default:
            return size <= GPUDT_CPU_SHORT ? GPUDT_CPU_SIZE__SHORT : GPUDT_CPU_SIZE__LONG;
    }
}

#endif /* GPUDT_CPU_COPY_H_INCLUDED */
