/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Reductions of contiguous elements: inout[i] = inout[i] op in[i]. One kernel for each type of
 * element, with a switch for the operation around the work on 16 bytes. The expressions are those
 * of MPICH's operations on the host, in the same order of operands, and no product is fused with a
 * sum, so that the results have the same bits. Knows nothing of datatypes. Compiles as CUDA and as
 * host C++.
 */

#ifndef GPUDT_REDUCE_CUH_INCLUDED
#define GPUDT_REDUCE_CUH_INCLUDED

#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif

#include "gpudt_copy.cuh"

/* ---- types of elements ----
 *
 * load and store access the members, which are aligned, and no gap between them. A scalar
 * has one member. A dense type has no gap, so that 16 bytes may be moved at a time. */

template <class T> struct gpudt_scalar {
    typedef T type;
    enum { IS_SCALAR = 1, IS_DENSE = 1 };
    static GPUDT_METHOD T load(uint64_t at)
    {
        return gpudt_data_load<T>(at);
    }
    static GPUDT_METHOD void store(uint64_t at, T v)
    {
        gpudt_data_store<T>(at, v);
    }
};

/* Two members, the second one at its own alignment or at that of the first, whichever is larger:
 * complex numbers, and a value with its location. */
template <class A, class B> struct gpudt_couple {
    A a;
    B b;
};

template <class A, class B> struct gpudt_two {
    typedef gpudt_couple<A, B> type;
    enum {
        IS_SCALAR = 0,
        IS_DENSE = sizeof(A) == sizeof(B),
        SECOND = sizeof(A) > sizeof(B) ? sizeof(A) : sizeof(B)
    };
    static GPUDT_METHOD type load(uint64_t at)
    {
        type v;
        v.a = gpudt_data_load<A>(at);
        v.b = gpudt_data_load<B>(at + SECOND);
        return v;
    }
    static GPUDT_METHOD void store(uint64_t at, const type &v)
    {
        gpudt_data_store<A>(at, v.a);
        gpudt_data_store<B>(at + SECOND, v.b);
    }
};

/* ---- operations ----
 *
 * apply combines N elements of y into x. */

#define GPUDT_APPLY(op_, expr_)                         \
    case MPII_GPUDT_REDUCE__##op_:                      \
        GPUDT_UNROLL                                    \
        for (int i = 0; i < N; i++) {                   \
            const T a = x[i], b = y[i];                 \
            x[i] = (T) (expr_);                         \
        }                                               \
        break;

/* Integers: T is unsigned, so that overflow is defined; W is wide enough for no promotion to a
 * signed type. Orders of signed integers are a type of their own. */
template <class T_, class W> struct gpudt_unsigned : gpudt_scalar<T_> {
    typedef T_ T;
    template <int N> static GPUDT_METHOD void apply(int op, T *x, const T *y)
    {
        switch (op) {
                GPUDT_APPLY(SUM, (W) a + (W) b)
                GPUDT_APPLY(PROD, (W) a * (W) b)
                GPUDT_APPLY(MAX, a > b ? a : b)
                GPUDT_APPLY(MIN, a < b ? a : b)
                GPUDT_APPLY(LAND, a && b)
                GPUDT_APPLY(LOR, a || b)
                GPUDT_APPLY(LXOR, !a != !b)
                GPUDT_APPLY(BAND, a & b)
                GPUDT_APPLY(BOR, a | b)
                GPUDT_APPLY(BXOR, a ^ b)
        }
    }
};

template <class T_> struct gpudt_signed : gpudt_scalar<T_> {
    typedef T_ T;
    template <int N> static GPUDT_METHOD void apply(int op, T *x, const T *y)
    {
        switch (op) {
                GPUDT_APPLY(MAX, a > b ? a : b)
                GPUDT_APPLY(MIN, a < b ? a : b)
        }
    }
};

template <class T_> struct gpudt_real : gpudt_scalar<T_> {
    typedef T_ T;
    template <int N> static GPUDT_METHOD void apply(int op, T *x, const T *y)
    {
        switch (op) {
                GPUDT_APPLY(SUM, a + b)
                GPUDT_APPLY(PROD, a * b)
                GPUDT_APPLY(MAX, a > b ? a : b)
                GPUDT_APPLY(MIN, a < b ? a : b)
        }
    }
};

/* Half precision, by way of float: a sum or product of two is rounded the same in one step or in
 * two. */
GPUDT_FN float gpudt_half_value(uint16_t bits)
{
    return __half2float(__ushort_as_half(bits));
}

GPUDT_FN uint16_t gpudt_half_bits(float value)
{
    return __half_as_ushort(__float2half_rn(value));
}

struct gpudt_half : gpudt_scalar<uint16_t> {
    typedef uint16_t T;
    template <int N> static GPUDT_METHOD void apply(int op, T *x, const T *y)
    {
        switch (op) {
                GPUDT_APPLY(SUM, gpudt_half_bits(gpudt_half_value(a) + gpudt_half_value(b)))
                GPUDT_APPLY(PROD, gpudt_half_bits(gpudt_half_value(a) * gpudt_half_value(b)))
                GPUDT_APPLY(MAX, gpudt_half_value(a) > gpudt_half_value(b) ? a : b)
                GPUDT_APPLY(MIN, gpudt_half_value(a) < gpudt_half_value(b) ? a : b)
        }
    }
};

GPUDT_FN float gpudt_times(float a, float b)
{
    return __fmul_rn(a, b);
}

GPUDT_FN double gpudt_times(double a, double b)
{
    return __dmul_rn(a, b);
}

/* Complex numbers: their product. Their sum is that of twice as many real numbers. */
template <class R> struct gpudt_complex : gpudt_two<R, R> {
    typedef gpudt_couple<R, R> T;
    static GPUDT_METHOD T product(const T &a, const T &b)
    {
        T r;
        r.a = gpudt_times(a.a, b.a) - gpudt_times(a.b, b.b);
        r.b = gpudt_times(a.b, b.a) + gpudt_times(a.a, b.b);
        return r;
    }
    template <int N> static GPUDT_METHOD void apply(int op, T *x, const T *y)
    {
        switch (op) {
                GPUDT_APPLY(PROD, product(a, b))
        }
    }
};

/* A value and its location: the lower location of equal values. */
template <class V, class L> struct gpudt_located : gpudt_two<V, L> {
    typedef gpudt_couple<V, L> T;
    static GPUDT_METHOD T choose(const T &a, const T &b, bool is_worse, bool is_equal)
    {
        T r = is_worse ? b : a;
        if (is_equal)
            r.b = a.b < b.b ? a.b : b.b;
        return r;
    }
    template <int N> static GPUDT_METHOD void apply(int op, T *x, const T *y)
    {
        switch (op) {
                GPUDT_APPLY(MAXLOC, choose(a, b, a.a < b.a, a.a == b.a))
                GPUDT_APPLY(MINLOC, choose(a, b, a.a > b.a, a.a == b.a))
        }
    }
};

#undef GPUDT_APPLY

typedef gpudt_unsigned<uint8_t, uint32_t> gpudt_u8;
typedef gpudt_unsigned<uint16_t, uint32_t> gpudt_u16;
typedef gpudt_unsigned<uint32_t, uint32_t> gpudt_u32;
typedef gpudt_unsigned<uint64_t, uint64_t> gpudt_u64;
typedef gpudt_signed<int8_t> gpudt_i8;
typedef gpudt_signed<int16_t> gpudt_i16;
typedef gpudt_signed<int32_t> gpudt_i32;
typedef gpudt_signed<int64_t> gpudt_i64;
typedef gpudt_half gpudt_f16;
typedef gpudt_real<float> gpudt_f32;
typedef gpudt_real<double> gpudt_f64;
typedef gpudt_complex<float> gpudt_c32;
typedef gpudt_complex<double> gpudt_c64;
typedef gpudt_located<int16_t, int32_t> gpudt_i16_i32;
typedef gpudt_located<int32_t, int32_t> gpudt_i32_i32;
typedef gpudt_located<int64_t, int32_t> gpudt_i64_i32;
typedef gpudt_located<float, int32_t> gpudt_f32_i32;
typedef gpudt_located<double, int32_t> gpudt_f64_i32;
typedef gpudt_located<float, float> gpudt_f32_f32;
typedef gpudt_located<double, double> gpudt_f64_f64;

/* ---- the elements ----
 *
 * Each thread of the grid does its share: quad::run for 16 bytes of dense elements, at an aligned
 * address, and element for the elements before and after them, or for all. Both get the offset in
 * the operands. ARGS has n, head and nquads. */

template <class E, class QUAD, class ARGS, class ELEMENT>
GPUDT_FN void gpudt_elements(const ARGS &args, const ELEMENT &element)
{
    typedef typename E::T T;
    const int64_t thread = (int64_t) blockIdx.x * MPII_GPUDT_THREADS + threadIdx.x;
    const int64_t step = (int64_t) gridDim.x * MPII_GPUDT_THREADS;

    if (E::IS_DENSE) {
        const uint64_t quads = (uint64_t) args.head * sizeof(T);
        GPUDT_NO_UNROLL
        for (int64_t q = thread; q < args.nquads; q += step)
            QUAD::run(args, quads + 16 * (uint64_t) q);
    }
    const int64_t in_quads = args.nquads * (16 / (int64_t) sizeof(T));
    GPUDT_NO_UNROLL
    for (int64_t i = thread; i < args.n - in_quads; i += step)
        element((uint64_t) (i < args.head ? i : i + in_quads) * sizeof(T));
}

/* ---- the kernel ---- */

template <class E, bool IS_DENSE> struct gpudt_reduce_quad {
    typedef typename E::T T;
    enum { N = 16 / sizeof(T) };
    static GPUDT_METHOD void run(const struct MPII_Gpudt_args_reduce &args, uint64_t offset)
    {
        T x[N], y[N];
        gpudt_quad b = gpudt_data_load<gpudt_quad>(args.in + offset);
        gpudt_quad a = gpudt_data_load<gpudt_quad>(args.inout + offset);
        memcpy(x, &a, 16);
        memcpy(y, &b, 16);
        E::template apply<N>(args.op, x, y);
        memcpy(&a, x, 16);
        gpudt_data_store<gpudt_quad>(args.inout + offset, a);
    }
};

template <class E> struct gpudt_reduce_quad<E, false> {
    static GPUDT_METHOD void run(const struct MPII_Gpudt_args_reduce &, uint64_t)
    {
    }
};

template <class E> GPUDT_FN void gpudt_reduce(const struct MPII_Gpudt_args_reduce &args)
{
    typedef typename E::T T;

    gpudt_elements<E, gpudt_reduce_quad<E, E::IS_DENSE> >(args, [&](uint64_t offset) {
        T x = E::load(args.inout + offset);
        const T y = E::load(args.in + offset);
        E::template apply<1>(args.op, &x, &y);
        E::store(args.inout + offset, x);
    });
}

#endif /* GPUDT_REDUCE_CUH_INCLUDED */
