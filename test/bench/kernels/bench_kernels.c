/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Benchmark of the kernels and the plan alone, without MPI: checks them byte by byte against a
 * plain loop over the blocks, and times them together with kernels written by hand and the driver's
 * copies. Must not know the engine's driver table: it calls the driver itself.
 *
 *   bench_kernels check SEED ROUNDS VARIANT...
 *   bench_kernels time BYTES[,BYTES...] LAYOUT[,LAYOUT...]|all VARIANT...
 *   bench_kernels choice BYTES[,BYTES...] LAYOUT[,LAYOUT...]|all VARIANT...
 *   bench_kernels middle BYTES[,BYTES...] LAYOUT[,LAYOUT...]|all VARIANT...
 *   bench_kernels pair|peer BYTES[,BYTES...] FROM:TO[,FROM:TO...]|all VARIANT...
 *
 * `choice` is `time` without the strategies that the plan would not choose. `middle` compares a
 * range of 1 MiB from the middle of a message with a message of 1 MiB. `pair` measures copies from
 * layout to layout by one kernel and by two; `peer` the same with the source in the memory of device
 * 1. A VARIANT is a file with a compiled gpudt_kernels.cu; all but `check` load ref_kernels.cu from
 * ref.cubin in the folder of the first one. Output is CSV, microseconds, medians of the whole call.
 */

#include <string.h>

#include "variants.h"

static int only_choice;         /* time only what the plan chooses, and no other strategy */

/* A plan to be run. */
struct work {
    const struct variant *variant;
    struct MPII_Gpudt_plan *plan;
    int unpack;
};

static void work_once(void *state)
{
    struct work *w = state;

    variant_carry_out(w->variant, w->plan, w->unpack);
    CU(cuStreamSynchronize(variant_stream));
}

struct bench {
    CUmodule ref;
    CUdeviceptr user, packed, other, packed_host, count;
    size_t user_sz, packed_sz;
};

static int64_t count_different(struct bench *b, CUdeviceptr x, CUdeviceptr y, int64_t n)
{
    struct ref_args args = { (char *) x, (char *) y, n, 0, (void *) b->count, NULL };
    int64_t found = 0;

    CU(cuMemcpyHtoD(b->count, &found, 8));
    CU(cuCtxSynchronize());
    refs_run(b->ref, variant_stream, "differ", &args);
    CU(cuMemcpyDtoH(&found, b->count, 8));
    return found;
}

/* One layout, size, memory and direction: the references once, then a row for each variant and for
 * each strategy that applies. */
static int time_case(struct bench *b, const struct layout *l, const struct upload *up,
                     const struct refs_aux *aux, int host, int unpack, int nvariants,
                     struct variant *v, double empty)
{
    struct MPII_Gpudt_plan_in in;
    struct MPII_Gpudt_plan plan;
    const char *ref_name;
    const CUdeviceptr packed = host ? b->packed_host : b->packed;
    const CUdeviceptr user = b->user - (CUdeviceptr) l->low;
    int64_t wrong = 0;

    plan_in_set(&in, l, up);
    in.user = user;
    in.packed = packed;
    in.unpack = unpack;
    in.packed_place = host ? MPII_GPUDT_PLACE__HOST : MPII_GPUDT_PLACE__DEVICE;

    double copy = refs_time_copy(variant_stream, unpack ? b->other : packed,
                                 unpack ? packed : b->other, (size_t) l->size);
    struct ref_args fill = { (char *) b->user, NULL, (l->high - l->low) / 8, 1, NULL, NULL };
    refs_run(b->ref, variant_stream, "fill", &fill);
    double ref = refs_time(b->ref, variant_stream, l, aux, user, packed, unpack, &ref_name);
    int have_ref = ref >= 0 && !unpack && !host;
    if (have_ref)
        CU(cuMemcpyDtoD(b->other, packed, (size_t) l->size));

    for (int n = 0; n < nvariants; n++) {
        unsigned done = 0;
        for (int s = -1; s < (only_choice ? 0 : MPII_GPUDT_NSTRATEGIES); s++) {
            /* First the plan's own choice, then every other one, forced */
            in.allowed = s < 0 ? MPII_GPUDT_ALLOW_ALL : 1u << s;
            MPII_Gpudt_plan_make(&in, &plan);
            if (done & 1u << plan.strategy)
                continue;
            done |= 1u << plan.strategy;
            struct work w = { &v[n], &plan, unpack };
            if (have_ref)
                CU(cuMemsetD8(packed, 0x5a, (size_t) l->size));
            CU(cuCtxSynchronize());
            if (plan.strategy == MPII_GPUDT_STRATEGY__COPY2D && plan.copy.rows > 20000000)
                continue;
            double t = bench_median(work_once, &w);
            if (have_ref && v[n].moves) {
                int64_t bad = count_different(b, packed, b->other, l->size);
                if (bad > 0)
                    printf("# WRONG: %lld bytes\n", (long long) bad);
                wrong += bad;
            }
            printf("%s,%s,%lld,%s,%s,%s%s,%s,%.2f,%.1f,%s,%.2f,%.3f,%.2f,%.3f,%.2f\n",
                   v[n].name, l->name, (long long) l->size, unpack ? "unpack" : "pack",
                   host ? "host" : "device", MPII_Gpudt_plan_strategy_name(plan.strategy),
                   s < 0 ? "*" : "", plan.strategy <= MPII_GPUDT_STRATEGY__COPY2D ? "-" :
                   MPII_Gpudt_plan_kernel_name(plan.kernel), t, (double) l->size / t * 1e-3,
                   ref_name, ref, ref > 0 ? ref / t : 0, copy, copy / t, t / empty);
        }
    }
    fflush(stdout);
    return wrong > 0;
}

static int time_layout(struct bench *b, int which, int64_t bytes, int nvariants, struct variant *v)
{
    struct layout l;
    struct upload up;
    struct refs_aux aux;
    int failed = 0;

    layout_make(which, bytes, &l);
    if ((size_t) (l.high - l.low) > b->user_sz || (size_t) l.size > b->packed_sz) {
        printf("# %s does not fit\n", l.name);
        layout_free(&l);
        return 0;
    }
    upload_make(&l, &up);
    refs_aux_make(&l, &aux);
    double empty = refs_time_empty(b->ref, variant_stream);
    for (int host = 0; host < 2; host++)
        for (int unpack = 0; unpack < 2; unpack++)
            failed += time_case(b, &l, &up, &aux, host, unpack, nvariants, v, empty);
    refs_aux_free(&aux);
    upload_free(&up);
    layout_free(&l);
    return failed;
}

/* Median time of the plan's choice for part of a layout. */
static double time_part(struct bench *b, const struct layout *l, struct variant *v, int host,
                        int unpack, int64_t first, int64_t last, const char **strategy)
{
    struct MPII_Gpudt_plan_in in;
    struct MPII_Gpudt_plan plan;
    struct upload up;

    upload_make(l, &up);
    plan_in_set(&in, l, &up);
    in.user = b->user - (CUdeviceptr) l->low;
    in.packed = host ? b->packed_host : b->packed;
    in.packed_place = host ? MPII_GPUDT_PLACE__HOST : MPII_GPUDT_PLACE__DEVICE;
    in.unpack = unpack;
    in.first = first;
    in.last = last;
    MPII_Gpudt_plan_make(&in, &plan);
    struct work w = { v, &plan, unpack };
    double t = bench_median(work_once, &w);
    *strategy = MPII_Gpudt_plan_strategy_name(plan.strategy);
    upload_free(&up);
    return t;
}

static int time_middle(struct bench *b, int which, int64_t bytes, int nvariants, struct variant *v)
{
    const int64_t piece = 1 << 20;
    struct layout large, small;

    layout_make(which, bytes, &large);
    layout_make(which, piece, &small);
    if ((size_t) (large.high - large.low) > b->user_sz || large.size < 4 * piece) {
        printf("# %s does not fit\n", large.name);
    } else {
        const int64_t last = small.size < piece ? small.size : piece;
        const int64_t first = large.size / 2 / 128 * 128;
        for (int n = 0; n < nvariants; n++) {
            for (int i = 0; i < 4; i++) {
                const char *strategy, *whole_strategy;
                double whole = time_part(b, &small, &v[n], i / 2, i % 2, 0, last,
                                         &whole_strategy);
                double t = time_part(b, &large, &v[n], i / 2, i % 2, first, first + last,
                                     &strategy);
                printf("%s,%s,%lld,%s,%s,%s,%.2f,%s,%.2f,%.3f\n", v[n].name, large.name,
                       (long long) large.size, i % 2 ? "unpack" : "pack",
                       i / 2 ? "host" : "device", strategy, t, whole_strategy, whole, t / whole);
            }
        }
    }
    fflush(stdout);
    layout_free(&large);
    layout_free(&small);
    return 0;
}

static int in_list(const char *list, const char *name)
{
    const char *at = strstr(list, name);
    size_t n = strlen(name);

    if (strcmp(list, "all") == 0)
        return 1;
    for (; at != NULL; at = strstr(at + 1, name)) {
        if ((at == list || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
            return 1;
    }
    return 0;
}

typedef int (*time_fn) (struct bench * b, int which, int64_t bytes, int nvariants,
                        struct variant * v);

static int time_all(const char *sizes, const char *names, time_fn fn, const char *head,
                    const char *ref_path, int nvariants, struct variant *v)
{
    struct bench b;
    int failed = 0;
    void *host;

    b.ref = bench_load_module(ref_path);
    b.user_sz = (size_t) 40 << 30;
    b.packed_sz = (size_t) 512 << 20;
    CU(cuMemAlloc(&b.user, b.user_sz));
    CU(cuMemAlloc(&b.packed, b.packed_sz));
    CU(cuMemAlloc(&b.other, b.packed_sz));
    CU(cuMemAlloc(&b.count, 8));
    CU(cuMemHostAlloc(&host, b.packed_sz, CU_MEMHOSTALLOC_DEVICEMAP));
    CU(cuMemHostGetDevicePointer(&b.packed_host, host, 0));
    printf("%s\n", head);
    for (char *end; *sizes != '\0'; sizes = *end == ',' ? end + 1 : end) {
        int64_t bytes = strtoll(sizes, &end, 0);
        if (end == sizes)
            return 1;
        for (int i = 0; i < layout_count(); i++) {
            if (in_list(names, layout_name(i)))
                failed += fn(&b, i, bytes, nvariants, v);
        }
    }
    return failed > 0;
}

#define TIME_HEAD "variant,layout,bytes,direction,packed_in,strategy,kernel,us,GBps,by_hand,"   \
    "by_hand_us,by_hand_ratio,copy_us,copy_ratio,empty_ratio"

/* Ways of timing, and the head of what they print. */
static const struct mode {
    const char *name;
    time_fn fn;
    const char *head;
} modes[] = {
    {"time", time_layout, TIME_HEAD}, {"choice", time_layout, TIME_HEAD},
    {"middle", time_middle, "variant,layout,bytes,direction,packed_in,strategy,piece_us,"
     "message_strategy,message_us,ratio"},
};

int main(int argc, char **argv)
{
    struct variant v[16];
    const struct mode *mode = NULL;
    int is_check = argc > 1 && strcmp(argv[1], "check") == 0;
    int is_peer = argc > 1 && strcmp(argv[1], "peer") == 0;
    int is_pair = is_peer || (argc > 1 && strcmp(argv[1], "pair") == 0);

    for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(argv[1], modes[i].name) == 0)
            mode = &modes[i];
    }
    if (argc < 5 || (!is_check && !is_pair && mode == NULL)) {
        fprintf(stderr, "usage: %s check SEED ROUNDS VARIANT... |\n"
                "       %s time|choice|middle BYTES[,BYTES] LAYOUT[,LAYOUT]|all VARIANT... |\n"
                "       %s pair|peer BYTES[,BYTES] FROM:TO[,FROM:TO]|all VARIANT...\n",
                argv[0], argv[0], argv[0]);
        return 2;
    }
    only_choice = strcmp(argv[1], "choice") == 0;
    variants_open();
    int n = argc - 4 < 16 ? argc - 4 : 16;
    for (int i = 0; i < n; i++)
        variant_load(&v[i], argv[4 + i]);
    if (is_check)
        return variants_check(n, v, strtoull(argv[2], NULL, 0), atoi(argv[3]));

    char ref_path[4096];
    const char *slash = strrchr(argv[4], '/');
    snprintf(ref_path, sizeof(ref_path), "%.*sref.cubin",
             slash != NULL ? (int) (slash - argv[4]) + 1 : 0, argv[4]);
    if (is_pair)
        return variants_pairs(n, v, bench_load_module(ref_path), argv[2], argv[3], is_peer);
    return time_all(argv[2], argv[3], mode->fn, mode->head, ref_path, n, v);
}
