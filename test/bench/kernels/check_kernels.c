/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The check of bench_kernels: random cases, compared with a plain loop over the blocks.
 */

#include <string.h>

#include "variants.h"

#define GUARD 512
#define CHECK_USER_SZ (24 << 20)  /* a size of a layout that needs more is left out */

static unsigned long long random_state;

static int64_t random_below(int64_t n)
{
    random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int64_t) ((random_state >> 33) % (unsigned long long) n);
}

static int64_t pick(const int64_t * from, int n)
{
    return from[random_below(n)];
}

static void random_bytes(unsigned char *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (unsigned char) random_below(256);
}

struct expect {
    unsigned char *user, *packed;       /* displacement 0, stream position `first` */
    int64_t first, last, at;
    int unpack;
};

static void expect_block(void *state, int64_t displ, int64_t len)
{
    struct expect *e = state;
    int64_t begin = e->at > e->first ? e->at : e->first;
    int64_t end = e->at + len < e->last ? e->at + len : e->last;
    if (begin < end) {
        unsigned char *user = e->user + displ + (begin - e->at);
        unsigned char *packed = e->packed + (begin - e->first);
        if (e->unpack)
            memcpy(user, packed, (size_t) (end - begin));
        else
            memcpy(packed, user, (size_t) (end - begin));
    }
    e->at += len;
}

/* A range of n bytes: all of it, or with ends anywhere, or aligned. */
static void random_range(int64_t n, int64_t * first, int64_t * last)
{
    switch (random_below(4)) {
        case 0:
            *first = 0;
            *last = n;
            break;
        case 1:
            *first = random_below(n);
            *last = *first + 1 + random_below(n - *first);
            break;
        case 2:
            *first = random_below(n);
            *last = *first + 1 + random_below(n - *first < 40 ? n - *first : 40);
            break;
        default:
            *first = random_below(n) / 64 * 64;
            *last = n;
            break;
    }
}

struct images {
    int64_t user_sz, packed_sz;
    unsigned char *user, *packed, *seen;
    CUdeviceptr user_dev, packed_dev;
    void *packed_host;
};

/* One random case: returns the number of wrong bytes, and prints which case it was. */
static int64_t check_once(const struct variant *v, const struct layout *l, const struct upload *up,
                          struct images *im)
{
    static const int64_t shifts[] = { 0, 0, 0, 8, 4, 2, 1, 128, 24, 16 };
    const int64_t user_shift = pick(shifts, 10), packed_shift = pick(shifts, 10);
    const int host = random_below(2) == 0;
    const unsigned only = 1u << random_below(MPII_GPUDT_NSTRATEGIES);
    struct MPII_Gpudt_plan_in in;
    struct MPII_Gpudt_plan plan;
    CUdeviceptr packed_dev = im->packed_dev;

    plan_in_set(&in, l, up);
    random_range(l->size, &in.first, &in.last);
    in.unpack = (int) random_below(2);
    in.wide = random_below(3) == 0;
    in.max_blocks = random_below(3) == 0 ? 1 + (int) random_below(5) : 0;
    in.allowed = random_below(4) == 0 ? MPII_GPUDT_ALLOW_ALL : only;
    if (host) {
        CU(cuMemHostGetDevicePointer(&packed_dev, im->packed_host, 0));
        in.packed_place = MPII_GPUDT_PLACE__HOST;
    }
    in.user = im->user_dev + (CUdeviceptr) (GUARD + user_shift - l->low);
    in.packed = packed_dev + (CUdeviceptr) (GUARD + packed_shift);

    CU(cuMemcpyHtoD(im->user_dev, im->user, (size_t) im->user_sz));
    CU(cuMemcpyHtoD(packed_dev, im->packed, (size_t) im->packed_sz));
    /* Copies may still be in flight from the driver's staging buffer. */
    CU(cuCtxSynchronize());
    MPII_Gpudt_plan_make(&in, &plan);
    if (plan.strategy == MPII_GPUDT_STRATEGY__COPY2D)
        return 0;       /* the driver's own work */
    variant_carry_out(v, &plan, in.unpack);
    CU(cuStreamSynchronize(variant_stream));

    struct expect e = { im->user + GUARD + user_shift - l->low, im->packed + GUARD + packed_shift,
        in.first, in.last, 0, in.unpack
    };
    l->blocks(l, expect_block, &e);

    int64_t wrong = 0, first_wrong = -1;
    for (int side = 0; side < 2; side++) {
        const int64_t size = side == 0 ? im->user_sz : im->packed_sz;
        const unsigned char *want = side == 0 ? im->user : im->packed;
        CU(cuMemcpyDtoH(im->seen, side == 0 ? im->user_dev : packed_dev, (size_t) size));
        if (memcmp(im->seen, want, (size_t) size) == 0)
            continue;
        for (int64_t i = 0; i < size; i++) {
            if (im->seen[i] != want[i]) {
                first_wrong = first_wrong < 0 ? i : first_wrong;
                wrong++;
            }
        }
        printf("WRONG %s %s: %lld bytes of %s side, first at %lld\n", v->name, l->name,
               (long long) wrong, side == 0 ? "user" : "packed", (long long) first_wrong - GUARD);
    }
    if (wrong > 0)
        printf("  %s %s [%lld, %lld) of %lld, user + %lld, packed + %lld%s, kernel %s, grid %u, "
               "%lld tiles of %d, lead %d\n",
               in.unpack ? "unpack" : "pack", MPII_Gpudt_plan_strategy_name(plan.strategy),
               (long long) in.first, (long long) in.last, (long long) l->size,
               (long long) user_shift, (long long) packed_shift, host ? " on host" : "",
               plan.strategy == MPII_GPUDT_STRATEGY__COPY1D ? "none" :
               MPII_Gpudt_plan_kernel_name(plan.kernel), plan.grid,
               (long long) plan.args.span.ntiles, plan.args.span.tile, plan.args.span.skip);
    return wrong;
}

/* Returns the number of cases that failed; adds their total number to *cases. */
static int check_layout(const struct variant *v, int which, int64_t bytes, int rounds, int *cases)
{
    struct layout l;
    struct upload up;
    struct images im;
    int failed = 0;

    layout_make(which, bytes, &l);
    if (l.high - l.low > CHECK_USER_SZ) {
        layout_free(&l);
        return 0;
    }
    upload_make(&l, &up);
    im.user_sz = l.high - l.low + 2 * GUARD + 256;
    im.packed_sz = l.size + 2 * GUARD + 256;
    im.user = bench_memory((size_t) im.user_sz);
    im.packed = bench_memory((size_t) im.packed_sz);
    im.seen = bench_memory((size_t) (im.user_sz > im.packed_sz ? im.user_sz : im.packed_sz));
    random_bytes(im.user, im.user_sz);
    random_bytes(im.packed, im.packed_sz);
    CU(cuMemAlloc(&im.user_dev, (size_t) im.user_sz));
    CU(cuMemAlloc(&im.packed_dev, (size_t) im.packed_sz));
    CU(cuMemHostAlloc(&im.packed_host, (size_t) im.packed_sz, CU_MEMHOSTALLOC_DEVICEMAP));
    for (int i = 0; i < rounds; i++)
        failed += check_once(v, &l, &up, &im) > 0;
    *cases += rounds;
    CU(cuMemFreeHost(im.packed_host));
    CU(cuMemFree(im.user_dev));
    CU(cuMemFree(im.packed_dev));
    free(im.user);
    free(im.packed);
    free(im.seen);
    upload_free(&up);
    layout_free(&l);
    return failed;
}

int variants_check(int nvariants, struct variant *v, unsigned long long seed, int rounds)
{
    static const int64_t sizes[] = { 100, 3000, 40000, 300000 };
    int failed = 0, cases = 0;

    random_state = seed;
    for (int n = 0; n < nvariants; n++) {
        for (int i = 0; i < layout_count(); i++) {
            for (int s = 0; s < 4; s++) {
                failed += check_layout(&v[n], i, sizes[s], s == 3 ? (rounds + 3) / 4 : rounds,
                                       &cases);
            }
        }
    }
    printf("check: %d cases, %d failed (seed %llu)\n", cases, failed, seed);
    return failed > 0;
}
