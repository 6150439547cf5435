/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Kernels that compute all addresses of a datatype but do not move its data (GPUDT_DATA_ACCESS,
 * gpudt_copy.cuh), in a way that the compiler cannot optimize out. */

#ifndef WALK_ONLY_CUH_INCLUDED
#define WALK_ONLY_CUH_INCLUDED

#define WALK_NEVER UINT64_C(0x5eed5eed5eed5eed)  /* never the value of an address, or of a
                                                  * combination of addresses */

template <class T> struct walk_word {
    static GPUDT_METHOD T of(uint64_t addr)
    {
        return (T) addr;
    }
    static GPUDT_METHOD uint64_t bits(T word)
    {
        return (uint64_t) word;
    }
};

template <> struct walk_word<gpudt_quad> {
    static GPUDT_METHOD gpudt_quad of(uint64_t addr)
    {
        gpudt_quad word;
        word.x = addr;
        word.y = addr;
        return word;
    }
    static GPUDT_METHOD uint64_t bits(gpudt_quad word)
    {
        return word.x ^ (word.y << 1);
    }
};

template <class T> GPUDT_FN T gpudt_data_load(uint64_t addr)
{
    return walk_word<T>::of(addr);
}

template <class T> GPUDT_FN void gpudt_data_store(uint64_t addr, T value)
{
    if ((addr ^ walk_word<T>::bits(value)) == WALK_NEVER)
        gpudt_store<T>(addr, value);
}

#endif /* WALK_ONLY_CUH_INCLUDED */
