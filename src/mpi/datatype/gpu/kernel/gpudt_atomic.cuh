/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Atomic operations of a GPU on words of 4 and 8 bytes, which may be in memory of another GPU: atomic
 * to those of all GPUs that have native atomics there. Nothing is ordered by them. Compiles as CUDA
 * and as host C++.
 */

#ifndef GPUDT_ATOMIC_CUH_INCLUDED
#define GPUDT_ATOMIC_CUH_INCLUDED

#include "gpudt_copy.cuh"

/* The word of an element of that many bytes; void: there is none. */
template <int BYTES> struct gpudt_word {
    typedef void type;
};
template <> struct gpudt_word<4> {
    typedef uint32_t type;
};
template <> struct gpudt_word<8> {
    typedef uint64_t type;
};

/* CUDA has atomic functions for the type of 8 bytes of this name. */
GPUDT_FN unsigned *gpudt_word_at(uint64_t at, uint32_t)
{
    return (unsigned *) GPUDT_ADDRESS(at, 4, 4);
}

GPUDT_FN unsigned long long *gpudt_word_at(uint64_t at, uint64_t)
{
    return (unsigned long long *) GPUDT_ADDRESS(at, 8, 8);
}

/* The word at an address. */
template <class W> GPUDT_FN W gpudt_word_load(uint64_t at)
{
#ifdef __CUDA_ARCH__
    return *(volatile W *) gpudt_word_at(at, W());
#else
    return __atomic_load_n(gpudt_word_at(at, W()), __ATOMIC_RELAXED);
#endif
}

/* Replace a word if it is `old`. Returns what it was. */
template <class W> GPUDT_FN W gpudt_word_cas(uint64_t at, W old, W value)
{
    auto word = gpudt_word_at(at, W());
#ifdef __CUDA_ARCH__
    return atomicCAS_system(word, old, value);
#else
    __typeof__(*word) seen = old;
    __atomic_compare_exchange_n(word, &seen, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return seen;
#endif
}

/* Replace a word. Returns what it was. */
template <class W> GPUDT_FN W gpudt_word_swap(uint64_t at, W value)
{
    auto word = gpudt_word_at(at, W());
#ifdef __CUDA_ARCH__
    return atomicExch_system(word, value);
#else
    return __atomic_exchange_n(word, value, __ATOMIC_RELAXED);
#endif
}

/* Add to an element, for types whose sum then has the bits of the GPU's arithmetic. Returns whether there
 * is such an operation.
 *   old  (OUT)  what it was */
template <class T> GPUDT_FN bool gpudt_fetch_add(uint64_t, T, T *)
{
    return false;
}

GPUDT_FN bool gpudt_fetch_add(uint64_t at, uint32_t value, uint32_t *old)
{
#ifdef __CUDA_ARCH__
    *old = atomicAdd_system(gpudt_word_at(at, value), value);
#else
    *old = __atomic_fetch_add(gpudt_word_at(at, value), value, __ATOMIC_RELAXED);
#endif
    return true;
}

GPUDT_FN bool gpudt_fetch_add(uint64_t at, uint64_t value, uint64_t *old)
{
#ifdef __CUDA_ARCH__
    *old = atomicAdd_system(gpudt_word_at(at, value), (unsigned long long) value);
#else
    *old = __atomic_fetch_add(gpudt_word_at(at, value), value, __ATOMIC_RELAXED);
#endif
    return true;
}

#ifdef __CUDACC__
GPUDT_FN bool gpudt_fetch_add(uint64_t at, double value, double *old)
{
    *old = atomicAdd_system((double *) GPUDT_ADDRESS(at, 8, 8), value);
    return true;
}
#endif

#endif /* GPUDT_ATOMIC_CUH_INCLUDED */
