/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Reductions of contiguous operands of several processes: reads them where they are, in memory of
 * this GPU and of others, and writes the result to all places that need it. Each result is combined
 * once, in the order of the operands, so that all places get the same bits. Compiles as CUDA and as
 * host C++.
 */

#ifndef GPUDT_COMBINE_CUH_INCLUDED
#define GPUDT_COMBINE_CUH_INCLUDED

#include "gpudt_reduce.cuh"

/* Several operands are loaded before the first is used: it takes microseconds to get data from
 * another GPU. */
template <class E, bool IS_DENSE> struct gpudt_combine_quad {
    typedef typename E::T T;
    enum { N = 16 / sizeof(T) };
    static GPUDT_METHOD void run(const struct MPII_Gpudt_args_combine &args, uint64_t offset)
    {
        gpudt_quad loaded[MPII_GPUDT_COMBINE_LOADS];
        gpudt_quad result = gpudt_data_load<gpudt_quad>(args.in[0] + offset);
        T x[N], y[N];

        memcpy(x, &result, 16);
        GPUDT_NO_UNROLL
        for (int first = 1; first < args.nin; first += MPII_GPUDT_COMBINE_LOADS) {
            GPUDT_UNROLL
            for (int i = 0; i < MPII_GPUDT_COMBINE_LOADS; i++) {
                if (first + i < args.nin)
                    loaded[i] = gpudt_data_load<gpudt_quad>(args.in[first + i] + offset);
            }
            GPUDT_UNROLL
            for (int i = 0; i < MPII_GPUDT_COMBINE_LOADS; i++) {
                if (first + i < args.nin) {
                    memcpy(y, &loaded[i], 16);
                    E::template apply<N>(args.op, x, y);
                }
            }
        }
        memcpy(&result, x, 16);
        GPUDT_NO_UNROLL
        for (int i = 0; i < args.nout; i++)
            gpudt_data_store<gpudt_quad>(args.out[i] + offset, result);
    }
};

template <class E> struct gpudt_combine_quad<E, false> {
    static GPUDT_METHOD void run(const struct MPII_Gpudt_args_combine &, uint64_t)
    {
    }
};

template <class E> GPUDT_FN void gpudt_combine(const struct MPII_Gpudt_args_combine &args)
{
    typedef typename E::T T;

    gpudt_elements<E, gpudt_combine_quad<E, E::IS_DENSE> >(args, [&](uint64_t offset) {
        T x = E::load(args.in[0] + offset);
        GPUDT_NO_UNROLL
        for (int i = 1; i < args.nin; i++) {
            const T y = E::load(args.in[i] + offset);
            E::template apply<1>(args.op, &x, &y);
        }
        GPUDT_NO_UNROLL
        for (int i = 0; i < args.nout; i++)
            E::store(args.out[i] + offset, x);
    });
}

#endif /* GPUDT_COMBINE_CUH_INCLUDED */
