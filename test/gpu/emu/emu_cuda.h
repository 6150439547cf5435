/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The part of CUDA C that the library's kernels use, for compiling them with a C++ compiler and
 * running them in the emulated driver. See README.md for the requirements on kernels. A kernel file
 * includes this instead of CUDA's headers if EMU_CUDA is defined. */

#ifndef EMU_CUDA_H_INCLUDED
#define EMU_CUDA_H_INCLUDED

/* Before the qualifiers are defined: the standard library uses some of these names itself. */
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "emu_block.h"

/* In programs with kernels the runtime's headers come first, and define these for the host's
 * compiler. */
#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __shared__
#undef __forceinline__
#undef __noinline__
#undef __align__
#undef __launch_bounds__
#undef __grid_constant__

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n_) __attribute__((aligned(n_)))
#define __launch_bounds__(...)
#define __grid_constant__

#define threadIdx (emu_self->thread_idx)
#define blockIdx (emu_self->block_idx)
#define blockDim (emu_self->block_dim)
#define gridDim (emu_self->grid_dim)
#define warpSize 32

/* Dynamic shared memory: in CUDA
 *     extern __shared__ __align__(16) char name_[];
 * which has no counterpart here, so kernels write EMU_DYNAMIC_SHARED(name_) for both. */
#define EMU_DYNAMIC_SHARED(name_) char *const name_ = emu_dynamic_shared

/* The CPU's pointer for a global-memory pointer. Every access of a kernel to memory that it did not
 * declare itself must use it. Checks bounds and alignment for T. */
template<typename T> static inline T *emu_ptr(T * p)
{
    return (T *) emu_launched->translate((const void *) p, sizeof(T), alignof(T));
}

/* The same for an address that the kernel keeps as an integer. */
static inline void *emu_address(uint64_t addr, size_t n, size_t align)
{
    return emu_launched->translate((const void *) (uintptr_t) addr, n, align);
}

/* A pointer to global memory that checks each access. A kernel that has it instead of T *, in its
 * parameters and in structures, needs no emu_ptr. Same size and representation as T *. */
template<typename T> class emu_pointer {
    T *addr;
  public:
    emu_pointer() = default;
    emu_pointer(T * p) : addr(p) {}
    operator T *() const { return addr; }       /* for host code */
    T & operator*() const { return *emu_ptr(addr); }
    template<typename I> T & operator[](I i) const { return *emu_ptr(addr + i); }
    template<typename I> emu_pointer operator+(I i) const { return emu_pointer(addr + i); }
};

/* ---- types ---- */

#ifndef __VECTOR_TYPES_H__      /* CUDA's own */
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(16) ulonglong2 { unsigned long long x, y; };
struct alignas(16) longlong2 { long long x, y; };
struct alignas(16) double2 { double x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(4) uchar4 { unsigned char x, y, z, w; };
struct alignas(4) ushort2 { unsigned short x, y; };
#endif

static inline uint2 make_uint2(unsigned x, unsigned y) { return uint2 { x, y }; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return uint4 { x, y, z, w };
}
static inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y)
{
    return ulonglong2 { x, y };
}

/* ---- barriers, fences, warps ---- */

static inline void __syncthreads(void) { emu_block_sync(0, nullptr, nullptr, nullptr); }
static inline int __syncthreads_or(int v)
{
    int r;
    emu_block_sync(v, &r, nullptr, nullptr);
    return r;
}
static inline int __syncthreads_and(int v)
{
    int r;
    emu_block_sync(v, nullptr, &r, nullptr);
    return r;
}
static inline int __syncthreads_count(int v)
{
    int r;
    emu_block_sync(v, nullptr, nullptr, &r);
    return r;
}
static inline void __threadfence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_block(void) { __threadfence(); }
static inline void __threadfence_system(void) { __threadfence(); }
static inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    char nothing = 0;
    emu_warp_exchange(mask, &nothing, 1);
}

template<typename T> static inline T emu_lane_value(unsigned mask, T v, unsigned lane)
{
    T r;
    static_assert(sizeof(T) <= EMU_SLOT_SZ, "too large for a warp exchange");
    const char *slots = (const char *) emu_warp_exchange(mask, &v, sizeof(v));
    memcpy(&r, slots + lane * EMU_SLOT_SZ, sizeof(r));
    return r;
}
template<typename T> static inline T __shfl_sync(unsigned mask, T v, int from, int width = 32)
{
    unsigned lane = emu_self->index % 32, first = lane / (unsigned) width * (unsigned) width;
    return emu_lane_value(mask, v, first + (unsigned) from % (unsigned) width);
}
template<typename T> static inline T __shfl_up_sync(unsigned mask, T v, unsigned d, int width = 32)
{
    unsigned lane = emu_self->index % 32, first = lane / (unsigned) width * (unsigned) width;
    return emu_lane_value(mask, v, lane < first + d ? lane : lane - d);
}
template<typename T>
static inline T __shfl_down_sync(unsigned mask, T v, unsigned d, int width = 32)
{
    unsigned lane = emu_self->index % 32, end = (lane / (unsigned) width + 1) * (unsigned) width;
    return emu_lane_value(mask, v, lane + d >= end ? lane : lane + d);
}
template<typename T> static inline T __shfl_xor_sync(unsigned mask, T v, int x, int width = 32)
{
    unsigned lane = emu_self->index % 32, to = lane ^ (unsigned) x;
    return emu_lane_value(mask, v, to / (unsigned) width <= lane / (unsigned) width ? to : lane);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    unsigned bits = 0;
    char p = predicate != 0;
    const char *slots = (const char *) emu_warp_exchange(mask, &p, 1);
    for (unsigned lane = 0; lane < 32; lane++) {
        if ((mask >> lane & 1) && slots[lane * EMU_SLOT_SZ])
            bits |= 1u << lane;
    }
    return bits;
}
static inline int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
static inline int __all_sync(unsigned mask, int p) { return __ballot_sync(mask, p) == mask; }

/* ---- arithmetic and memory intrinsics ---- */

static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned) ((uint64_t) a * b >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long) ((unsigned __int128) a * b >> 64);
}
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
static inline int __clz(int v) { return v ? __builtin_clz((unsigned) v) : 32; }
static inline int __clzll(long long v) { return v ? __builtin_clzll((unsigned long long) v) : 64; }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __ffsll(long long v) { return __builtin_ffsll(v); }
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned) (((uint64_t) high << 32 | low) >> (shift & 31));
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector)
{
    uint64_t both = (uint64_t) b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; i++)
        r |= (unsigned) (both >> ((selector >> (4 * i) & 7) * 8) & 0xff) << (8 * i);
    return r;
}
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline double __dmul_rn(double a, double b) { return a * b; }

/* Half precision: 1 sign bit, 5 of the exponent, 10 of the fraction. */
#ifndef __CUDA_FP16_H__         /* CUDA's own */
struct __half { unsigned short bits; };
static inline __half __ushort_as_half(unsigned short bits) { return __half { bits }; }
static inline unsigned short __half_as_ushort(__half h) { return h.bits; }
static inline float __half2float(__half h)
{
    const int exponent = h.bits >> 10 & 31, fraction = h.bits & 1023;
    float value = exponent == 0 ? __builtin_ldexpf((float) fraction, -24) :
        exponent == 31 ? (fraction ? __builtin_nanf("") : __builtin_inff()) :
        __builtin_ldexpf((float) (1024 + fraction), exponent - 25);
    return h.bits >> 15 ? -value : value;
}
static inline __half __float2half_rn(float value)
{
    const unsigned short sign = (unsigned short) (__builtin_signbit(value) ? 0x8000 : 0);
    const float size = __builtin_fabsf(value);
    int exponent;
    if (value != value)
        return __half { 0x7fff };
    if (size >= 65520.0f)
        return __half { (unsigned short) (sign | 0x7c00) };
    (void) __builtin_frexpf(size, &exponent);
    /* One unit of the result: rounding up to the next exponent carries over by itself */
    const int unit = exponent < -13 ? -24 : exponent - 11;
    const int n = (int) __builtin_rintf(__builtin_ldexpf(size, -unit));
    return __half { (unsigned short) (sign | (n + (size == 0 || exponent < -13 ? 0 : (exponent + 13) * 1024))) };
}
#endif

template<typename T> static inline T min(T a, T b) { return b < a ? b : a; }
template<typename T> static inline T max(T a, T b) { return a < b ? b : a; }

template<typename T> static inline T __ldg(const T * p) { return *emu_ptr(p); }
template<typename T> static inline T __ldcg(const T * p) { return *emu_ptr(p); }
template<typename T> static inline T __ldcs(const T * p) { return *emu_ptr(p); }
template<typename T> static inline T __ldlu(const T * p) { return *emu_ptr(p); }
template<typename T> static inline T __ldcv(const T * p) { return *emu_ptr(p); }
template<typename T> static inline void __stwb(T * p, T v) { *emu_ptr(p) = v; }
template<typename T> static inline void __stcg(T * p, T v) { *emu_ptr(p) = v; }
template<typename T> static inline void __stcs(T * p, T v) { *emu_ptr(p) = v; }
template<typename T> static inline void __stwt(T * p, T v) { *emu_ptr(p) = v; }

template<typename T> static inline T atomicAdd(T * p, T v)
{
    return __atomic_fetch_add(emu_ptr(p), v, __ATOMIC_RELAXED);
}
template<typename T> static inline T atomicAdd(emu_pointer<T> p, T v)
{
    return atomicAdd((T *) p, v);
}
template<typename T> static inline T atomicExch(T * p, T v)
{
    return __atomic_exchange_n(emu_ptr(p), v, __ATOMIC_RELAXED);
}
template<typename T> static inline T atomicCAS(T * p, T expected, T v)
{
    __atomic_compare_exchange_n(emu_ptr(p), &expected, v, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    return expected;
}
static inline void __trap(void) { emu_launched->fail("__trap was called"); }

/* ---- export of kernels ---- */

template<typename... A, std::size_t... I>
static inline void emu_call(void (*kernel) (A...), void **params, std::index_sequence<I...>)
{
    (void) params;
    kernel(*(typename std::remove_const<typename std::remove_reference<A>::type>::type *)
           params[I]...);
}
template<typename... A> struct emu_signature {
    static constexpr std::size_t sizes[sizeof...(A) + 1] = { sizeof(A)..., 0 };
};
template<typename... A> constexpr std::size_t emu_signature<A...>::sizes[];
template<typename... A> static constexpr int emu_nparams(void (*)(A...)) { return sizeof...(A); }
template<typename... A> static constexpr const std::size_t *emu_sizes(void (*)(A...))
{
    return emu_signature<A...>::sizes;
}
template<typename... A> static inline void emu_call_any(void (*kernel) (A...), void **params)
{
    emu_call(kernel, params, std::index_sequence_for<A...>());
}

/* Export kernel_, an extern "C" __global__ function, to the emulated driver. Once for each kernel,
 * at file scope, if EMU_CUDA is defined. */
#define EMU_KERNEL(kernel_)                                                             \
    static void emu_body_##kernel_(void **params) { emu_call_any(kernel_, params); }    \
    static void emu_run_##kernel_(const struct emu_launch *launch, void **params)       \
    {                                                                                   \
        emu_grid_run(launch, emu_body_##kernel_, params);                               \
    }                                                                                   \
    extern "C" __attribute__((visibility("default")))                                   \
    const struct emu_kernel emu_kernel_##kernel_ = {                                    \
        #kernel_, emu_nparams(kernel_), emu_sizes(kernel_), emu_run_##kernel_           \
    }

#endif /* EMU_CUDA_H_INCLUDED */
