/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The benchmark of copies from layout to layout: by one kernel, by a pack and an unpack kernel, and
 * by hand. Each copy is compared with that of the two kernels.
 */

#include <string.h>

#include "variants.h"

#define USER_SZ ((size_t) 16 << 30)
#define PACKED_SZ ((size_t) 512 << 20)

static const char selection[] =
    "contiguous:vector_8_16,vector_8_16:contiguous,vector_8_16:vector_8_16,"
    "vector_8_512:vector_8_512,vector_8_512:vector_8_16,vector_128_512:vector_128_512,"
    "struct17:struct17,struct17:vector_8_16,indexed_8:indexed_8,random_8_248:vector_8_16,"
    "random_8_248:random_8_248,triangle:triangle,triangle:vector_8_16,sub4d:sub4d,"
    "sub4d:vector_8_16,transpose:vector_8_16,struct3:struct3,ragged_8:ragged_8,"
    "particles:particles,bytes_3_5:bytes_3_5";

struct bench {
    CUmodule ref;
    CUdeviceptr user[2], packed, other, count;
    enum MPII_Gpudt_place_e from_place;
    double empty;
};

struct work {
    const struct variant *variant;
    struct MPII_Gpudt_plan_pair pair;
    struct MPII_Gpudt_plan step[2];
    int nsteps;                 /* 0: pair */
};

static void work_once(void *state)
{
    struct work *w = state;

    if (w->nsteps == 0)
        variant_pair(w->variant, &w->pair);
    for (int i = 0; i < w->nsteps; i++)
        variant_carry_out(w->variant, &w->step[i], i);
    CU(cuStreamSynchronize(variant_stream));
}

static CUdeviceptr memory(size_t bytes)
{
    CUdeviceptr at;

    CU(cuMemAlloc(&at, bytes));
    return at;
}

/* Memory of device 1, which device 0 can access. */
static CUdeviceptr peer_memory(size_t bytes)
{
    CUcontext own, peer;
    CUdevice device;
    CUdeviceptr at;

    CU(cuCtxGetCurrent(&own));
    CU(cuDeviceGet(&device, 1));
    CU(cuDevicePrimaryCtxRetain(&peer, device));
    CU(cuCtxSetCurrent(peer));
    at = memory(bytes);
    CU(cuCtxSetCurrent(own));
    CU(cuCtxEnablePeerAccess(peer, 0));
    return at;
}

/* Both layouts of a pair have this many bytes at least. */
struct ends {
    struct layout l[2];
    struct upload up[2];
    struct MPII_Gpudt_plan_in in[2];
    int64_t n;
};

static int64_t count_different(struct bench *b, const struct ends *e, const struct variant *v,
                               const struct MPII_Gpudt_plan *pack)
{
    struct ref_args args = { (char *) b->packed, (char *) b->other, e->n, 0, (void *) b->count,
        NULL
    };
    struct MPII_Gpudt_plan copy = *pack;
    int64_t found = 0;

    CU(cuMemcpyHtoD(b->count, &found, 8));
    CU(cuMemsetD8(b->other, 0x5a, (size_t) e->n));
    CU(cuCtxSynchronize());
    variant_carry_out(v, &copy, 0);
    CU(cuStreamSynchronize(variant_stream));
    refs_run(b->ref, variant_stream, "differ", &args);
    CU(cuMemcpyDtoH(&found, b->count, 8));
    return found;
}

static int64_t time_variant(struct bench *b, struct ends *e, const struct variant *v, double hand,
                            double copy)
{
    struct work one = { .variant = v }, two = { .variant = v, .nsteps = 2 };
    struct MPII_Gpudt_plan_in in[2] = { e->in[0], e->in[1] };
    struct MPII_Gpudt_plan back;
    int64_t wrong;

    MPII_Gpudt_plan_pair_make(&in[0], &in[1], &one.pair);
    in[0].packed = in[1].packed = b->packed;
    MPII_Gpudt_plan_make(&in[0], &two.step[0]);
    in[1].unpack = 1;
    MPII_Gpudt_plan_make(&in[1], &two.step[1]);
    in[1].unpack = 0;
    in[1].packed = b->other;
    MPII_Gpudt_plan_make(&in[1], &back);

    double t_two = bench_median(work_once, &two);
    CU(cuMemsetD8(b->user[1], 0x5a, (size_t) (e->l[1].high - e->l[1].low)));
    CU(cuCtxSynchronize());
    double t = bench_median(work_once, &one);
    wrong = count_different(b, e, v, &back);
    if (wrong > 0)
        printf("# WRONG: %lld bytes\n", (long long) wrong);
    printf("%s,%s,%s,%lld,%s,%s,%d,%u,%.2f,%.1f,%.2f,%.3f,%.2f,%.3f,%.2f,%.2f\n", v->name,
           e->l[0].name, e->l[1].name, (long long) e->n,
           MPII_Gpudt_plan_strategy_name(one.pair.strategy[0]),
           MPII_Gpudt_plan_strategy_name(one.pair.strategy[1]),
           one.pair.kernel == MPII_GPUDT_KERNEL__PAIR32 ||
           one.pair.kernel == MPII_GPUDT_KERNEL__PAIR64 ? one.pair.args.pair.tile : 0,
           one.pair.grid,
           t, (double) e->n / t * 1e-3, t_two, t_two / t, hand, hand > 0 ? hand / t : 0, copy,
           t / b->empty);
    fflush(stdout);
    return wrong;
}

/* One pair and size. */
static int64_t time_pair(struct bench *b, const int *which, int64_t bytes, int nvariants,
                         struct variant *v)
{
    struct ends e;
    int64_t wrong = 0;
    int fits = 1;

    for (int i = 0; i < 2; i++) {
        layout_make(which[i], bytes, &e.l[i]);
        fits &= (size_t) (e.l[i].high - e.l[i].low) <= USER_SZ && (size_t) e.l[i].size <= PACKED_SZ;
    }
    e.n = e.l[0].size < e.l[1].size ? e.l[0].size : e.l[1].size;
    for (int i = 0; i < 2 && fits; i++) {
        upload_make(&e.l[i], &e.up[i]);
        plan_in_set(&e.in[i], &e.l[i], &e.up[i]);
        e.in[i].last = e.n;
        e.in[i].user = b->user[i] - (CUdeviceptr) e.l[i].low;
    }
    if (fits) {
        struct ref_args fill = { (char *) b->user[0], NULL, (e.l[0].high - e.l[0].low) / 8, 1,
            NULL, NULL
        };
        e.in[0].user_place = b->from_place;
        refs_run(b->ref, variant_stream, "fill", &fill);
        double hand = refs_time_pair(b->ref, variant_stream, e.l[0].name, e.l[1].name,
                                     e.in[0].user, e.in[1].user, e.n);
        double copy = refs_time_copy(variant_stream, b->user[1], b->user[0], (size_t) e.n);
        for (int n = 0; n < nvariants; n++)
            wrong += v[n].moves ? time_variant(b, &e, &v[n], hand, copy) : 0;
    } else {
        printf("# %s to %s does not fit\n", e.l[0].name, e.l[1].name);
    }
    for (int i = 0; i < 2; i++) {
        if (fits)
            upload_free(&e.up[i]);
        layout_free(&e.l[i]);
    }
    return wrong;
}

/* Read FROM:TO. Returns what follows, or NULL if it is no pair of layouts. */
static const char *pair_read(const char *at, int *which)
{
    for (int i = 0; i < 2; i++) {
        const size_t n = strcspn(at, ":,");
        which[i] = -1;
        for (int k = 0; k < layout_count(); k++) {
            if (strlen(layout_name(k)) == n && strncmp(layout_name(k), at, n) == 0)
                which[i] = k;
        }
        if (which[i] < 0)
            return NULL;
        at += n;
        at += *at != '\0';
    }
    return at;
}

int variants_pairs(int nvariants, struct variant *v, CUmodule ref, const char *sizes,
                   const char *names, int peer)
{
    struct bench b = { .ref = ref };
    int64_t wrong = 0;
    int which[2];

    b.user[0] = peer ? peer_memory(USER_SZ) : memory(USER_SZ);
    b.user[1] = memory(USER_SZ);
    b.packed = memory(PACKED_SZ);
    b.other = memory(PACKED_SZ);
    b.count = memory(8);
    b.from_place = peer ? MPII_GPUDT_PLACE__PEER : MPII_GPUDT_PLACE__DEVICE;
    printf("variant,from,to,bytes,from_by,to_by,tile,blocks,us,GBps,two_us,two_ratio,by_hand_us,"
           "by_hand_ratio,copy_us,empty_ratio\n");
    for (char *end; *sizes != '\0'; sizes = *end == ',' ? end + 1 : end) {
        int64_t bytes = strtoll(sizes, &end, 0);
        if (end == sizes)
            return 1;
        b.empty = refs_time_empty(ref, variant_stream);
        for (const char *at = strcmp(names, "all") == 0 ? selection : names; *at != '\0';) {
            at = pair_read(at, which);
            if (at == NULL) {
                fprintf(stderr, "%s: not pairs of layouts\n", names);
                return 1;
            }
            wrong += time_pair(&b, which, bytes, nvariants, v);
        }
    }
    return wrong > 0;
}
