/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Units and words: the loads and stores of the kernels, and the conversion between words and units.
 * Knows nothing of datatypes. Compiles as CUDA and as host C++.
 */

#ifndef GPUDT_COPY_CUH_INCLUDED
#define GPUDT_COPY_CUH_INCLUDED

#include <stdint.h>
#ifndef __CUDACC__
#include <unistd.h>
#endif

#include "gpudt_args.h"
#include "tuning/gpudt_tuning.h"

#ifdef __CUDACC__
#define GPUDT_FN static __device__ __forceinline__
#define GPUDT_METHOD __device__ __forceinline__
/* For loops over arrays that must be in registers, which cannot be indexed. */
#define GPUDT_UNROLL _Pragma("unroll")
#define GPUDT_NO_UNROLL _Pragma("unroll 1")
#else
#define GPUDT_FN static inline
#define GPUDT_METHOD inline
#define GPUDT_UNROLL
#define GPUDT_NO_UNROLL
#endif

#ifdef __CUDACC__
typedef ulonglong2 gpudt_quad;  /* the compiler would split the copy of a user-defined struct */
#else
struct alignas(16) gpudt_quad {
    unsigned long long x, y;
};
#endif

/* The type of BYTES bytes. */
template <int BYTES> struct gpudt_bytes;
template <> struct gpudt_bytes<1> {
    typedef uint8_t type;
};
template <> struct gpudt_bytes<2> {
    typedef uint16_t type;
};
template <> struct gpudt_bytes<4> {
    typedef uint32_t type;
};
template <> struct gpudt_bytes<8> {
    typedef uint64_t type;
};
template <> struct gpudt_bytes<16> {
    typedef gpudt_quad type;
};

/* All accesses to device memory. Addresses are integers: a packed address may stand for a stream
 * position before the buffer, where a pointer would be undefined. The emulated driver maps device
 * memory at other addresses, and defines GPUDT_ADDRESS(addr, bytes, alignment) before it includes
 * this file. */
#ifndef GPUDT_ADDRESS
#define GPUDT_ADDRESS(addr_, bytes_, align_) ((void *) (uintptr_t) (addr_))
#endif

template <class T> GPUDT_FN T gpudt_load(uint64_t addr)
{
    return *(const T *) GPUDT_ADDRESS(addr, sizeof(T), sizeof(T));
}

template <class T> GPUDT_FN void gpudt_store(uint64_t addr, T value)
{
    *(T *) GPUDT_ADDRESS(addr, sizeof(T), sizeof(T)) = value;
}

/* Whether this block is the last of nblocks to get here. What the earlier blocks moved is visible
 * to it. */
GPUDT_FN bool gpudt_is_last(uint64_t counter, int32_t nblocks)
{
#ifdef __CUDA_ARCH__
    unsigned *at = (unsigned *) counter;
    __threadfence();
    if (atomicAdd(at, 1u) != (unsigned) nblocks - 1)
        return false;
    *(volatile unsigned *) at = 0;
#else
    uint32_t *at = (uint32_t *) GPUDT_ADDRESS(counter, 4, 4);
    if (__atomic_fetch_add(at, 1, __ATOMIC_ACQ_REL) != (uint32_t) nblocks - 1)
        return false;
    __atomic_store_n(at, 0, __ATOMIC_RELAXED);
#endif
    return true;
}

/* Set a word for the host or another GPU. */
GPUDT_FN void gpudt_word_set(uint64_t addr, int32_t value)
{
#ifdef __CUDA_ARCH__
    *(volatile int32_t *) addr = value;
#else
    __atomic_store_n((int32_t *) GPUDT_ADDRESS(addr, 4, 4), value, __ATOMIC_RELEASE);
#endif
}

/* The end of every kernel. Data that the kernel moved is visible to all who see the flag set. The
 * host sees the flag sooner than the end of the launch.
 *   semaphore  to signal; NULL: none */
GPUDT_FN void gpudt_finish(const struct MPII_Gpudt_end &end,
                           const struct MPII_Gpudt_semaphore *semaphore = NULL)
{
    if (end.flag == 0)
        return;
    __syncthreads();
    if (threadIdx.x != 0 || (end.nblocks > 1 && !gpudt_is_last(end.counter, end.nblocks)))
        return;
    __threadfence_system();
    if (semaphore && semaphore->word)
        gpudt_word_set(semaphore->word, semaphore->value);
    gpudt_word_set(end.flag, end.flag_value);
}

/* Whether a semaphore has been signalled. What was packed before is visible then. */
GPUDT_FN bool gpudt_is_signalled(const struct MPII_Gpudt_semaphore &semaphore)
{
    int32_t now;

#ifdef __CUDA_ARCH__
    asm volatile("ld.acquire.sys.global.s32 %0, [%1];":"=r"(now):"l"(semaphore.word):"memory");
#else
    now = __atomic_load_n((int32_t *) GPUDT_ADDRESS(semaphore.word, 4, 4), __ATOMIC_ACQUIRE);
    usleep(1);
#endif
    return (int32_t) ((uint32_t) now - (uint32_t) semaphore.value) >= 0;
}

/* Have a block of threads wait for a semaphore, if there is one. A block that gives up moves what is
 * there, and the host sees that: for a branch around the rest of the kernel, or for a longer wait, the
 * compiler would take up to a third more registers. */
GPUDT_FN void gpudt_wait(const struct MPII_Gpudt_semaphore &semaphore)
{
    int looks = 0;

    if (semaphore.word == 0)
        return;
    if (threadIdx.x == 0) {
        while (looks < MPII_GPUDT_SEMAPHORE_LOOKS && !gpudt_is_signalled(semaphore))
            looks++;
        if (looks == MPII_GPUDT_SEMAPHORE_LOOKS)
            gpudt_word_set(semaphore.missed, semaphore.missed_value);
    }
    __syncthreads();
}

/* Loads and stores of the data. A benchmark that measures the walk alone defines GPUDT_DATA_ACCESS
 * as a file with replacements. */
#ifdef GPUDT_DATA_ACCESS
#include GPUDT_DATA_ACCESS
#else
template <class T> GPUDT_FN T gpudt_data_load(uint64_t addr)
{
    return gpudt_load<T>(addr);
}

template <class T> GPUDT_FN void gpudt_data_store(uint64_t addr, T value)
{
    gpudt_store<T>(addr, value);
}
#endif

/* Set bits of a word in shared memory in which other threads set bits, too. */
GPUDT_FN void gpudt_shared_or(uint32_t *word, uint32_t bits)
{
#ifdef __CUDA_ARCH__
    atomicOr(word, bits);
#else
    *word |= bits;              /* emulated threads run one after the other between barriers */
#endif
}

/* Entry i of a list in the lookaside. */
GPUDT_FN int64_t gpudt_entry(uint64_t list, int64_t i)
{
    return gpudt_load<int64_t>(list + 8 * (uint64_t) i);
}

/* Splits a word of WORD bytes into units of UNIT bytes, in memory order. */
template <int UNIT, int WORD> struct gpudt_split {
    enum { N = WORD / UNIT };
    typedef typename gpudt_bytes<UNIT>::type unit_type;
    typedef typename gpudt_bytes<WORD>::type word_type;

    static GPUDT_METHOD word_type join(const unit_type *unit)
    {
        word_type word = 0;
        GPUDT_UNROLL
        for (int i = 0; i < N; i++)
            word |= (word_type) unit[i] << (8 * UNIT * i);
        return word;
    }
    static GPUDT_METHOD void cut(word_type word, unit_type *unit)
    {
        GPUDT_UNROLL
        for (int i = 0; i < N; i++)
            unit[i] = (unit_type) (word >> (8 * UNIT * i));
    }
};

template <int UNIT> struct gpudt_split<UNIT, UNIT> {
    enum { N = 1 };
    typedef typename gpudt_bytes<UNIT>::type unit_type;
    typedef unit_type word_type;

    static GPUDT_METHOD word_type join(const unit_type *unit)
    {
        return unit[0];
    }
    static GPUDT_METHOD void cut(word_type word, unit_type *unit)
    {
        unit[0] = word;
    }
};

template <int UNIT> struct gpudt_split<UNIT, 16> {
    enum { N = 16 / UNIT };
    typedef gpudt_split<UNIT, 8> half;
    typedef typename gpudt_bytes<UNIT>::type unit_type;
    typedef gpudt_quad word_type;

    static GPUDT_METHOD word_type join(const unit_type *unit)
    {
        gpudt_quad word;
        word.x = half::join(unit);
        word.y = half::join(unit + N / 2);
        return word;
    }
    static GPUDT_METHOD void cut(word_type word, unit_type *unit)
    {
        half::cut(word.x, unit);
        half::cut(word.y, unit + N / 2);
    }
};

template <> struct gpudt_split<16, 16> {
    enum { N = 1 };
    typedef gpudt_quad unit_type;
    typedef gpudt_quad word_type;

    static GPUDT_METHOD word_type join(const unit_type *unit)
    {
        return unit[0];
    }
    static GPUDT_METHOD void cut(word_type word, unit_type *unit)
    {
        unit[0] = word;
    }
};

#endif /* GPUDT_COPY_CUH_INCLUDED */
