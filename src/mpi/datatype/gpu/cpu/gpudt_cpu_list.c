/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Copies lists of runs in one pass. Memory of the user is asked for some entries ahead, since no
 * prefetcher of the CPU can guess a list. Runs of different lengths cost a mispredicted branch
 * each, unless the CPU can move any number of bytes by one instruction. Must not know records. */

#include "gpudt_cpu_list.h"
#include "gpudt_cpu_copy.h"

bool MPII_Gpudt_cpu_vectors = true;

typedef void (*list_fn) (const int64_t * displ, int64_t n, int64_t size, char *user, char *packed);

GPUDT_CPU_INLINE void list_move(const int64_t * displ, int64_t n, const int64_t size, char *user,
                                char *restrict packed, const bool is_short, const bool is_const,
                                const bool unpack)
{
    const int64_t near = n > GPUDT_CPU_AHEAD ? n - GPUDT_CPU_AHEAD : 0;

    for (int64_t i = 0; i < n; i++) {
        if (i < near)
            GPUDT_CPU_PREFETCH(user + displ[i + GPUDT_CPU_AHEAD], unpack);
        if (is_const)
            gpudt_cpu_move_const(user + displ[i], packed, (size_t) size, unpack);
        else if (is_short)
            gpudt_cpu_move_short(user + displ[i], packed, (size_t) size, unpack);
        else
            gpudt_cpu_move(user + displ[i], packed, (size_t) size, unpack);
        packed += size;
    }
}

#define LIST_FN(name_, size_, is_short_, is_const_, unpack_)                            \
    static void name_(const int64_t * displ, int64_t n, int64_t size, char *user, char *packed) \
    {                                                                                   \
        (void) size;                                                                    \
        list_move(displ, n, size_, user, packed, is_short_, is_const_, unpack_);        \
    }
#define LIST_CONST(n_)                                  \
    LIST_FN(pack_ ## n_, n_, true, true, false)         \
    LIST_FN(unpack_ ## n_, n_, true, true, true)
GPUDT_CPU_SIZES(LIST_CONST)
LIST_FN(pack_short, size, true, false, false)
LIST_FN(unpack_short, size, true, false, true)
LIST_FN(pack_long, size, false, false, false)
LIST_FN(unpack_long, size, false, false, true)

static const list_fn list_fns[2][GPUDT_CPU_NSIZES] = {
#define LIST_PACK(n_) pack_ ## n_,
#define LIST_UNPACK(n_) unpack_ ## n_,
    {GPUDT_CPU_SIZES(LIST_PACK) pack_short, pack_long},
    {GPUDT_CPU_SIZES(LIST_UNPACK) unpack_short, unpack_long}
};

void MPII_Gpudt_cpu_list(const int64_t * displ, int64_t n, int64_t size, char *user, char *packed,
                         bool unpack)
{
    list_fns[unpack][gpudt_cpu_size_class(size)] (displ, n, size, user, packed);
}

GPUDT_CPU_INLINE void runs_move(const int64_t * displ, const int64_t * prefix, int64_t n,
                                int64_t unit, char *user, char *restrict packed, const bool unpack)
{
    const int64_t near = n > GPUDT_CPU_AHEAD ? n - GPUDT_CPU_AHEAD : 0;

    for (int64_t i = 0; i < n; i++) {
        const int64_t len = (prefix[i + 1] - prefix[i]) * unit;

        if (i < near)
            GPUDT_CPU_PREFETCH(user + displ[i + GPUDT_CPU_AHEAD], unpack);
        gpudt_cpu_move_any(user + displ[i], packed, (size_t) len, unpack);
        packed += len;
    }
}

#ifdef GPUDT_CPU_X86
#define MASK_BYTES 64

/* The bytes of a run are those that a mask selects. */
__attribute__ ((target("avx512bw,bmi2")))
static void runs_move_masked(const int64_t * displ, const int64_t * prefix, int64_t n,
                             int64_t unit, char *user, char *packed, bool unpack)
{
    const int64_t near = n > GPUDT_CPU_AHEAD ? n - GPUDT_CPU_AHEAD : 0;

    for (int64_t i = 0; i < n; i++) {
        const int64_t len = (prefix[i + 1] - prefix[i]) * unit;
        char *dst = unpack ? user + displ[i] : packed;
        const char *src = unpack ? packed : user + displ[i];

        if (i < near)
            __builtin_prefetch(user + displ[i + GPUDT_CPU_AHEAD]);
        if (len <= MASK_BYTES) {
            const __mmask64 mask = _bzhi_u64(~(uint64_t) 0, (unsigned) len);

            _mm512_mask_storeu_epi8(dst, mask, _mm512_maskz_loadu_epi8(mask, src));
        } else {
            memcpy(dst, src, (size_t) len);
        }
        packed += len;
    }
}

static bool has_masks(void)
{
    return MPII_Gpudt_cpu_vectors && __builtin_cpu_is("intel") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2");
}
#endif /* GPUDT_CPU_X86 */

void MPII_Gpudt_cpu_runs(const int64_t * displ, const int64_t * prefix, int64_t n, int64_t unit,
                         char *user, char *packed, bool unpack)
{
#ifdef GPUDT_CPU_X86
    if (has_masks()) {
        runs_move_masked(displ, prefix, n, unit, user, packed, unpack);
        return;
    }
#endif
    if (unpack)
        runs_move(displ, prefix, n, unit, user, packed, true);
    else
        runs_move(displ, prefix, n, unit, user, packed, false);
}
