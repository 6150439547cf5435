/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The kernels and the plan alone, without MPI: checks them byte for byte against a plain loop over
 * the blocks, and times them beside kernels written by hand and the driver's copies. Must not know
 * the engine's driver table: it calls the driver itself.
 *
 *   bench_kernels check SEED ROUNDS VARIANT...
 *   bench_kernels time BYTES[,BYTES...] LAYOUT[,LAYOUT...]|all VARIANT...
 *   bench_kernels choice BYTES[,BYTES...] LAYOUT[,LAYOUT...]|all VARIANT...
 *   bench_kernels middle BYTES[,BYTES...] LAYOUT[,LAYOUT...]|all VARIANT...
 *
 * `choice` is `time` without the strategies that the plan would not choose. `middle` compares a
 * piece of 1 MiB from the middle of a message with a message of 1 MiB. A VARIANT is a file with a
 * compiled gpudt_kernels.cu; `time` and `choice` take ref_kernels.cu from ref.cubin beside the
 * first of them. Output is CSV, microseconds, medians of the whole call.
 */

#include <string.h>

#include "gpudt_plan.h"
#include "gpudt_image.h"
#include "refs.h"

static CUstream stream;
static int nsms;
static int only_choice;         /* time what the plan chooses, and no other strategy */

struct variant {
    const char *name;
    int moves;                  /* 0: walks only (walk.cubin), so that there are no bytes to check */
    CUmodule module;
    CUfunction function[MPII_GPUDT_NKERNELS];
};

static void load_variant(struct variant *v, const char *path)
{
    v->name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    v->moves = strncmp(v->name, "walk", 4) != 0;
    v->module = bench_load_module(path);
    for (int i = 0; i < MPII_GPUDT_NKERNELS; i++)
        CU(cuModuleGetFunction(&v->function[i], v->module, MPII_Gpudt_plan_kernel_name(i)));
}

static void launch(const struct variant *v, struct MPII_Gpudt_plan *plan)
{
    void *params[1] = { &plan->args };
    CU(cuLaunchKernel(v->function[plan->kernel], plan->grid, 1, 1, MPII_GPUDT_THREADS, 1, 1, 0,
                      stream, params, NULL));
}

static void copy_2d(const struct MPII_Gpudt_copy *copy, int unpack)
{
    CUDA_MEMCPY2D c;
    memset(&c, 0, sizeof(c));
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    c.srcDevice = unpack ? copy->packed : copy->user;
    c.dstDevice = unpack ? copy->user : copy->packed;
    c.srcPitch = (size_t) (unpack ? copy->width : copy->pitch);
    c.dstPitch = (size_t) (unpack ? copy->pitch : copy->width);
    c.WidthInBytes = (size_t) copy->width;
    c.Height = (size_t) copy->rows;
    CU(cuMemcpy2DAsync(&c, stream));
}

static void carry_out(const struct variant *v, struct MPII_Gpudt_plan *plan, int unpack)
{
    if (plan->strategy == MPII_GPUDT_STRATEGY__COPY1D)
        CU(cuMemcpyAsync(unpack ? plan->copy.user : plan->copy.packed,
                         unpack ? plan->copy.packed : plan->copy.user,
                         (size_t) plan->copy.width, stream));
    else if (plan->strategy == MPII_GPUDT_STRATEGY__COPY2D)
        copy_2d(&plan->copy, unpack);
    else
        launch(v, plan);
}

/* The image of a layout's type in device memory. */
struct upload {
    struct MPII_Gpudt_image image;
    CUdeviceptr mem;
};

/* A table in the making, from the blocks of a layout that is one datatype or several. */
struct table {
    int64_t *at, *end;
    int64_t unit;
};

static void table_block(void *state, int64_t displ, int64_t len)
{
    struct table *t = state;

    if (t->at < t->end)
        t->at = MPII_Gpudt_table_add(t->at, t->unit, displ, len);
}

static void upload_layout(const struct layout *l, struct upload *up)
{
    up->mem = 0;
    MPII_Gpudt_image_measure(&l->serial, &up->image);
    if (up->image.sz > 0) {
        char *mem = bench_memory((size_t) up->image.sz);
        struct table t = { (int64_t *) (void *) (mem + up->image.index),
            (int64_t *) (void *) (mem + up->image.sz), MPII_Gpudt_table_unit(&l->serial)
        };
        MPII_Gpudt_image_make(&l->serial, &up->image, mem);
        if (up->image.kind == MPII_GPUDT_INDEX__TABLE)
            l->blocks(l, table_block, &t);
        CU(cuMemAlloc(&up->mem, (size_t) up->image.sz));
        CU(cuMemcpyHtoD(up->mem, mem, (size_t) up->image.sz));
        CU(cuCtxSynchronize());
        free(mem);
    }
}

static void free_upload(struct upload *up)
{
    if (up->mem != 0)
        CU(cuMemFree(up->mem));
}

static void plan_in_set(struct MPII_Gpudt_plan_in *in, const struct layout *l,
                        const struct upload *up)
{
    memset(in, 0, sizeof(*in));
    in->serial = &l->serial;
    in->top = &l->top;
    in->last = l->size;
    in->nsms = nsms;
    in->lookaside = up->mem;
    in->nodes = up->image.has_nodes ? up->mem + (CUdeviceptr) up->image.nodes : 0;
    in->index = up->image.kind != MPII_GPUDT_INDEX__NONE ?
        up->mem + (CUdeviceptr) up->image.index : 0;
    in->allowed = MPII_GPUDT_ALLOW_ALL;
}

/* ---------------------------------------------------------------- check */

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

/* One random case: returns the number of wrong bytes, and says which case it was. */
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
    /* The copies may still be on their way from the driver's own buffer. */
    CU(cuCtxSynchronize());
    MPII_Gpudt_plan_make(&in, &plan);
    if (plan.strategy == MPII_GPUDT_STRATEGY__COPY2D)
        return 0;       /* the driver's own work */
    carry_out(v, &plan, in.unpack);
    CU(cuStreamSynchronize(stream));

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
               (long long) plan.args.span.ntiles, plan.args.span.tile, plan.args.span.lead);
    return wrong;
}

/* Returns the number of cases that failed; adds those done to *cases. */
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
    upload_layout(&l, &up);
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
    free_upload(&up);
    layout_free(&l);
    return failed;
}

static int check(int nvariants, struct variant *v, unsigned long long seed, int rounds)
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

/* ---------------------------------------------------------------- time */

/* A plan as it is carried out. */
struct work {
    const struct variant *variant;
    struct MPII_Gpudt_plan *plan;
    int unpack;
};

static void work_once(void *state)
{
    struct work *w = state;

    carry_out(w->variant, w->plan, w->unpack);
    CU(cuStreamSynchronize(stream));
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
    refs_run(b->ref, stream, "differ", &args);
    CU(cuMemcpyDtoH(&found, b->count, 8));
    return found;
}

/* One layout, size, place and direction: the yardsticks once, then a row for each variant and for
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

    double copy = refs_time_copy(stream, unpack ? b->other : packed, unpack ? packed : b->other,
                                 (size_t) l->size);
    struct ref_args fill = { (char *) b->user, NULL, (l->high - l->low) / 8, 1, NULL, NULL };
    refs_run(b->ref, stream, "fill", &fill);
    double ref = refs_time(b->ref, stream, l, aux, user, packed, unpack, &ref_name);
    int have_ref = ref >= 0 && !unpack && !host;
    if (have_ref)
        CU(cuMemcpyDtoD(b->other, packed, (size_t) l->size));

    for (int n = 0; n < nvariants; n++) {
        unsigned done = 0;
        for (int s = -1; s < (only_choice ? 0 : MPII_GPUDT_NSTRATEGIES); s++) {
            /* First the plan's own choice, then every other by force */
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
    upload_layout(&l, &up);
    refs_aux_make(&l, &aux);
    double empty = refs_time_empty(b->ref, stream);
    for (int host = 0; host < 2; host++)
        for (int unpack = 0; unpack < 2; unpack++)
            failed += time_case(b, &l, &up, &aux, host, unpack, nvariants, v, empty);
    refs_aux_free(&aux);
    free_upload(&up);
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

    upload_layout(l, &up);
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
    free_upload(&up);
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
    CUdevice device;
    CUcontext context;
    const struct mode *mode = NULL;
    int is_check = argc > 1 && strcmp(argv[1], "check") == 0;

    for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(argv[1], modes[i].name) == 0)
            mode = &modes[i];
    }
    if (argc < 5 || (!is_check && mode == NULL)) {
        fprintf(stderr, "usage: %s check SEED ROUNDS VARIANT... |\n"
                "       %s time|choice|middle BYTES[,BYTES] LAYOUT[,LAYOUT]|all VARIANT...\n",
                argv[0], argv[0]);
        return 2;
    }
    only_choice = strcmp(argv[1], "choice") == 0;
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    CU(cuDeviceGetAttribute(&nsms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    int n = argc - 4 < 16 ? argc - 4 : 16;
    for (int i = 0; i < n; i++)
        load_variant(&v[i], argv[4 + i]);
    if (is_check)
        return check(n, v, strtoull(argv[2], NULL, 0), atoi(argv[3]));

    char ref_path[4096];
    const char *slash = strrchr(argv[4], '/');
    snprintf(ref_path, sizeof(ref_path), "%.*sref.cubin",
             slash != NULL ? (int) (slash - argv[4]) + 1 : 0, argv[4]);
    return time_all(argv[2], argv[3], mode->fn, mode->head, ref_path, n, v);
}
