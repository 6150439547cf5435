/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Updates of a window, which may be in memory of another GPU: one operand is combined with it, or
 * replaces it, and what was there before is a result. Others must not update the same elements
 * meanwhile, unless they and this kernel use atomic operations; see gpudt_window.h. Compiles as CUDA
 * and as host C++.
 */

#ifndef GPUDT_UPDATE_CUH_INCLUDED
#define GPUDT_UPDATE_CUH_INCLUDED

#include "gpudt_atomic.cuh"
#include "gpudt_reduce.cuh"

/* Whether an element of at most 8 bytes has the bytes to compare with. */
template <class T> GPUDT_FN bool gpudt_is_equal(const T &x, uint64_t compare)
{
    uint64_t bytes = 0;
    memcpy(&bytes, &x, sizeof(T) < 8 ? sizeof(T) : 8);
    return bytes == compare;
}

/* Update N elements, x, by as many of the operand, y. */
template <class E, int N>
GPUDT_FN void gpudt_renew(const struct MPII_Gpudt_args_update &args, typename E::T *x,
                          const typename E::T *y)
{
    switch (args.op) {
        case MPII_GPUDT_REDUCE__NO_OP:
            break;
        case MPII_GPUDT_REDUCE__REPLACE:
        case MPII_GPUDT_REDUCE__CAS:
            GPUDT_UNROLL
            for (int i = 0; i < N; i++) {
                if (args.op == MPII_GPUDT_REDUCE__REPLACE || gpudt_is_equal(x[i], args.compare))
                    x[i] = y[i];
            }
            break;
        default:
            E::template apply<N>(args.op, x, y);
    }
}

template <class E, bool IS_DENSE> struct gpudt_update_quad {
    typedef typename E::T T;
    enum { N = 16 / sizeof(T) };
    static GPUDT_METHOD void run(const struct MPII_Gpudt_args_update &args, uint64_t offset)
    {
        T x[N], y[N];
        gpudt_quad a = gpudt_data_load<gpudt_quad>(args.target + offset), b = a;
        if (args.in)
            b = gpudt_data_load<gpudt_quad>(args.in + offset);
        if (args.old)
            gpudt_data_store<gpudt_quad>(args.old + offset, a);
        memcpy(x, &a, 16);
        memcpy(y, &b, 16);
        gpudt_renew<E, N>(args, x, y);
        memcpy(&a, x, 16);
        if (args.op != MPII_GPUDT_REDUCE__NO_OP)
            gpudt_data_store<gpudt_quad>(args.target + offset, a);
    }
};

template <class E> struct gpudt_update_quad<E, false> {
    static GPUDT_METHOD void run(const struct MPII_Gpudt_args_update &, uint64_t)
    {
    }
};

/* The operand at an offset; x if there is none. */
template <class E>
GPUDT_FN typename E::T gpudt_operand(const struct MPII_Gpudt_args_update &args, uint64_t offset,
                                     const typename E::T &x)
{
    typename E::T y = x;

    if (args.in)
        y = E::load(args.in + offset);
    else if (offset < MPII_GPUDT_UPDATE_VALUE)
        memcpy(&y, (const char *) args.value + offset, sizeof(y));
    return y;
}

/* Update an element by atomic operations: one, if the GPU has it with the result of the others, or else
 * a loop of compare and swap. The sum of two floats is not such a one, since it loses subnormal
 * numbers. */
template <class E, class WORD> struct gpudt_update_word {
    typedef typename E::T T;
    static GPUDT_METHOD WORD word(const T &v)
    {
        WORD w;
        memcpy(&w, &v, sizeof(w));
        return w;
    }
    static GPUDT_METHOD WORD loop(const struct MPII_Gpudt_args_update &args, uint64_t at, const T &y)
    {
        WORD seen = gpudt_word_load<WORD>(at), old;
        T x;
        do {
            old = seen;
            memcpy(&x, &old, sizeof(x));
            gpudt_renew<E, 1>(args, &x, &y);
            seen = gpudt_word_cas(at, old, word(x));
        } while (seen != old);
        return old;
    }
    static GPUDT_METHOD void run(const struct MPII_Gpudt_args_update &args, uint64_t offset)
    {
        const uint64_t at = args.target + offset;
        const T y = gpudt_operand<E>(args, offset, T());
        WORD old;
        T sum;

        switch (args.op) {
            case MPII_GPUDT_REDUCE__NO_OP:
                old = gpudt_word_load<WORD>(at);
                break;
            case MPII_GPUDT_REDUCE__REPLACE:
                old = gpudt_word_swap(at, word(y));
                break;
            case MPII_GPUDT_REDUCE__CAS:
                old = gpudt_word_cas(at, (WORD) args.compare, word(y));
                break;
            case MPII_GPUDT_REDUCE__SUM:
                old = gpudt_fetch_add(at, y, &sum) ? word(sum) : loop(args, at, y);
                break;
            default:
                old = loop(args, at, y);
        }
        if (args.old)
            gpudt_data_store<WORD>(args.old + offset, old);
    }
};

template <class E> struct gpudt_update_word<E, void> {
    static GPUDT_METHOD void run(const struct MPII_Gpudt_args_update &, uint64_t)
    {
    }
};

template <class E> GPUDT_FN void gpudt_update(const struct MPII_Gpudt_args_update &args)
{
    typedef typename E::T T;
    typedef typename gpudt_word<E::IS_SCALAR ? sizeof(T) : 0>::type word;

    gpudt_elements<E, gpudt_update_quad<E, E::IS_DENSE> >(args, [&](uint64_t offset) {
        if (args.is_atomic) {
            gpudt_update_word<E, word>::run(args, offset);
            return;
        }
        T x = E::load(args.target + offset);
        const T y = gpudt_operand<E>(args, offset, x);
        if (args.old)
            E::store(args.old + offset, x);
        gpudt_renew<E, 1>(args, &x, &y);
        if (args.op != MPII_GPUDT_REDUCE__NO_OP)
            E::store(args.target + offset, x);
    });
}

#endif /* GPUDT_UPDATE_CUH_INCLUDED */
