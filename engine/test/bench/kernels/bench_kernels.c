/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The kernels and the plan alone, without MPI: checks them byte for byte against a plain loop over
 * the blocks, and times them beside kernels written by hand and the driver's copies. Must not know
 * the engine's driver table: it calls the driver itself.
 *
 *   bench_kernels check [seed [rounds]] VARIANT...
 *   bench_kernels time BYTES[,BYTES...] LAYOUT[,LAYOUT...]|all VARIANT...
 *
 * A VARIANT is a file with a compiled gpudt_kernels.cu; `time` takes ref_kernels.cu from ref.cubin
 * beside the first of them. Output of `time` is CSV, microseconds, medians of the whole call.
 */

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpudt_plan.h"
#include "layouts.h"
#include "ref_args.h"

#define CU(call_)                                                                       \
    do {                                                                                \
        CUresult res_ = (call_);                                                        \
        if (res_ != CUDA_SUCCESS) {                                                     \
            const char *text_ = "?";                                                    \
            cuGetErrorString(res_, &text_);                                             \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call_, text_);      \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

static CUstream stream;
static int nsms;

struct variant {
    const char *name;
    CUmodule module;
    CUfunction function[MPII_GPUDT_NKERNELS];
};

static void *get_memory(size_t bytes)
{
    void *memory = malloc(bytes + 8);
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return memory;
}

static CUmodule load_module(const char *path)
{
    CUmodule module;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    char *image = get_memory((size_t) size);
    rewind(file);
    if (fread(image, 1, (size_t) size, file) != (size_t) size) {
        perror(path);
        exit(1);
    }
    fclose(file);
    CU(cuModuleLoadData(&module, image));
    free(image);
    return module;
}

static void load_variant(struct variant *v, const char *path)
{
    v->name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    v->module = load_module(path);
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

/* The lists and nodes of a layout in device memory. */
struct upload {
    CUdeviceptr lookaside, nodes;
};

static void upload_layout(const struct layout *l, struct upload *up)
{
    struct MPII_Gpudt_node nodes[LAYOUT_MAX_RECORDS];
    MPII_Gpudt_plan_nodes(&l->serial, nodes);
    CU(cuMemAlloc(&up->nodes, sizeof(nodes)));
    CU(cuMemcpyHtoD(up->nodes, nodes, sizeof(nodes[0]) * (size_t) l->serial.nrecords));
    up->lookaside = 0;
    if (l->serial.lookaside_sz > 0) {
        CU(cuMemAlloc(&up->lookaside, (size_t) l->serial.lookaside_sz));
        CU(cuMemcpyHtoD(up->lookaside, l->serial.lookaside, (size_t) l->serial.lookaside_sz));
    }
}

static void free_upload(struct upload *up)
{
    CU(cuMemFree(up->nodes));
    if (up->lookaside != 0)
        CU(cuMemFree(up->lookaside));
}

static void plan_in_set(struct MPII_Gpudt_plan_in *in, const struct layout *l,
                        const struct upload *up)
{
    memset(in, 0, sizeof(*in));
    in->serial = &l->serial;
    in->top = &l->top;
    in->last = l->size;
    in->nsms = nsms;
    in->lookaside = up->lookaside;
    in->nodes = up->nodes;
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
    im.user = get_memory((size_t) im.user_sz);
    im.packed = get_memory((size_t) im.packed_sz);
    im.seen = get_memory((size_t) (im.user_sz > im.packed_sz ? im.user_sz : im.packed_sz));
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

#define MAX_RUNS 60

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e6 + (double) t.tv_nsec * 1e-3;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return x < y ? -1 : x > y;
}

/* Anything that can be timed. */
struct work {
    const struct variant *variant;      /* with plan, or NULL */
    struct MPII_Gpudt_plan *plan;
    CUfunction function;        /* else: with args and grid, or a copy if NULL */
    struct ref_args args;
    unsigned grid;
    CUdeviceptr to, from;
    size_t bytes;
    int unpack;
};

static void work_start(struct work *w)
{
    if (w->plan != NULL) {
        carry_out(w->variant, w->plan, w->unpack);
    } else if (w->function != NULL) {
        void *params[1] = { &w->args };
        CU(cuLaunchKernel(w->function, w->grid, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    } else {
        CU(cuMemcpyAsync(w->to, w->from, w->bytes, stream));
    }
}

static double time_work(struct work *w)
{
    double run[MAX_RUNS], begin = now_us();
    int n = 0;

    for (int i = 0; i < 3; i++) {
        work_start(w);
        CU(cuStreamSynchronize(stream));
    }
    while (n < MAX_RUNS && (n < 9 || now_us() - begin < 12000)) {
        double t = now_us();
        work_start(w);
        CU(cuStreamSynchronize(stream));
        run[n++] = now_us() - t;
    }
    qsort(run, (size_t) n, sizeof(run[0]), compare_doubles);
    return run[n / 2];
}

/* Kernels written by hand for a layout: name without _pack, bytes a thread moves (0: aux0's blocks,
 * a warp each; -1: n rows; -2: squares of n x n; -3: n structs, 512 a block; -4: turn3d). */
static const struct ref {
    const char *layout, *kernel;
    int word, unroll;
} refs[] = {
    {"contiguous", "contiguous", 16, 1},
    {"vector_8_16", "vector_8_16", 8, 0}, {"vector_8_64", "vector_8_64", 8, 0},
    {"vector_8_512", "vector_8_512", 8, 0}, {"vector_8_4096", "vector_8_4096", 8, 0},
    {"vector_128_512", "vector_128_512", 16, 0}, {"vector_1k_4k", "vector_1k_4k", 16, 0},
    {"vector_4_8", "vector_4_8", 4, 0}, {"vector_16_64", "vector_16_64", 16, 0},
    {"sub4d", "sub4d", 16, 0}, {"vecvec", "vecvec", 8, 0}, {"cyclic", "cyclic", 16, 0},
    {"transpose", "transpose_8", -2, 1}, {"transpose_4", "transpose_4", -2, 1},
    {"turn3d", "turn3d", -4, 1},
    {"indexed_8", "indexed_8", 8, 0}, {"indexed_128", "indexed_128", 8, 0},
    {"indexed_12", "indexed_12", 4, 0},
    {"random_8_248", "map_8", 8, 0}, {"random_8_248", "warps_8", -5, 1},
    {"random_1_31", "map_1", 1, 0}, {"random_1_31", "warps_1", -5, 1},
    {"triangle", "triangle", -1, 1}, {"triangle", "map_8", 8, 0},
    {"struct17", "struct17", 1, 0}, {"struct17", "stage_17_24", -3, 1},
    {"struct17_48", "struct17_48", 1, 0}, {"struct17_48", "stage_17_48", -3, 1},
    {"bytes_3_4", "bytes_3_4", 1, 0}, {"bytes_3_4", "stage_3_4", -3, 1},
    {"bytes_3_5", "bytes_3_5", 1, 0}, {"bytes_3_5", "stage_3_5", -3, 1},
    {"half_2_4", "half_2_4", 2, 0}, {"half_2_4", "stage_2_4", -3, 1},
    {"aos20_8", "aos20_8", 8, 0}, {"aos20_4", "aos20_4", 4, 0}, {"aos20_1", "aos20_1", 1, 0},
    {"struct3", "struct3", 8, 0}, {"struct3_4", "struct3_4", 4, 0},
    {"particles", "particles", 1, 0}, {"particles", "stage_17_24", -6, 1},
};

/* What the kernels written by hand read beside the data. */
struct aux {
    int64_t nblocks, at, unit, nwords;
    int64_t *displ, *prefix;
    uint32_t *map;
};

static void aux_count(void *state, int64_t displ, int64_t len)
{
    struct aux *aux = state;
    (void) displ;
    aux->nblocks++;
    aux->at += len;
}

static void aux_block(void *state, int64_t displ, int64_t len)
{
    struct aux *aux = state;
    aux->displ[aux->nblocks] = displ;
    aux->prefix[aux->nblocks] = aux->at;
    aux->nblocks++;
    aux->at += len;
    aux->prefix[aux->nblocks] = aux->at;
    for (int64_t i = 0; aux->map != NULL && i < len; i += aux->unit) {
        if (aux->nwords < aux->at / aux->unit)
            aux->map[aux->nwords++] = (uint32_t) ((displ + i) / aux->unit);
    }
}

static void make_aux(const struct layout *l, struct ref_args *args, int64_t * nblocks)
{
    struct aux aux;
    int is_map = strncmp(l->name, "random", 6) == 0 || strncmp(l->name, "aos", 3) == 0 ||
        strcmp(l->name, "triangle") == 0;
    int is_list = is_map || strncmp(l->name, "indexed", 7) == 0 || strcmp(l->name, "particles") == 0;

    args->aux0 = args->aux1 = NULL;
    *nblocks = 0;
    if (!is_list)
        return;
    memset(&aux, 0, sizeof(aux));
    l->blocks(l, aux_count, &aux);
    *nblocks = aux.nblocks;
    aux.unit = l->serial.block_gcd;
    aux.displ = get_memory(16 * (size_t) aux.nblocks + 8);
    aux.prefix = aux.displ + aux.nblocks;
    aux.map = is_map ? get_memory(4 * (size_t) (l->size / aux.unit)) : NULL;
    aux.nblocks = aux.at = 0;
    l->blocks(l, aux_block, &aux);
    CUdeviceptr at;
    CU(cuMemAlloc(&at, 16 * (size_t) aux.nblocks + 8));
    CU(cuMemcpyHtoD(at, aux.displ, 16 * (size_t) aux.nblocks + 8));
    args->aux0 = (void *) at;
    if (is_map) {
        CU(cuMemAlloc(&at, 4 * (size_t) aux.nwords));
        CU(cuMemcpyHtoD(at, aux.map, 4 * (size_t) aux.nwords));
        args->aux1 = (void *) at;
    }
    free(aux.displ);
    free(aux.map);
}

/* Fill in how much a kernel by hand has to do. Returns 0 if it does not suit the size. */
static int set_ref(const struct ref *r, const struct layout *l, int64_t nblocks, int unroll,
                   struct work *w)
{
    const int64_t side = (l->n + 31) / 32;
    int64_t blocks;

    w->args.n = l->n;
    w->args.work = 0;
    if (r->word > 0) {
        w->args.work = l->size / r->word;
        blocks = (w->args.work + 256 * unroll - 1) / (256 * unroll);
        if (strcmp(l->name, "sub4d") == 0 && l->param[0] != 32)
            return 0;
    } else if (r->word == -1) {
        w->args.n = l->nblocks;
        blocks = l->nblocks;
    } else if (r->word == -2) {
        blocks = side * side;
    } else if (r->word == -3) {
        w->args.aux0 = NULL;
        blocks = (l->n + 511) / 512;
    } else if (r->word == -4) {
        blocks = side * 96;
    } else if (r->word == -6) {
        w->args.n = nblocks;
        blocks = (nblocks + 511) / 512;
    } else {
        w->args.work = nblocks;
        blocks = (nblocks + 7) / 8;
    }
    w->grid = (unsigned) blocks;
    return blocks > 0;
}

struct bench {
    CUmodule ref;
    CUdeviceptr user, packed, other, packed_host, count;
    size_t user_sz, packed_sz;
};

static void run_ref(struct bench *b, const char *name, char *user, char *packed, int64_t work,
                    int64_t n, void *aux0)
{
    struct ref_args args = { user, packed, work, n, aux0, NULL };
    void *params[1] = { &args };
    CUfunction function;
    CU(cuModuleGetFunction(&function, b->ref, name));
    CU(cuLaunchKernel(function, 132 * 8, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    CU(cuStreamSynchronize(stream));
}

static int64_t count_different(struct bench *b, CUdeviceptr x, CUdeviceptr y, int64_t n)
{
    int64_t found = 0;
    CU(cuMemcpyHtoD(b->count, &found, 8));
    run_ref(b, "differ", (char *) x, (char *) y, n, 0, (void *) b->count);
    CU(cuMemcpyDtoH(&found, b->count, 8));
    return found;
}

/* Fastest of the kernels by hand. Leaves its packed bytes in `other`. */
static double time_refs(struct bench *b, const struct layout *l, struct ref_args *aux,
                        int64_t nblocks, struct work *model, const char **name)
{
    static char best_name[64];
    double best = -1;

    *name = "none";
    for (size_t i = 0; i < sizeof(refs) / sizeof(refs[0]); i++) {
        for (int unroll = 1; unroll <= 4; unroll += 3) {
            struct work w = *model;
            char kernel[96];
            if (strcmp(refs[i].layout, l->name) != 0 || (refs[i].unroll == 1 && unroll == 4))
                continue;
            w.args.aux0 = aux->aux0;
            w.args.aux1 = aux->aux1;
            if (!set_ref(&refs[i], l, nblocks, unroll, &w))
                continue;
            if (refs[i].unroll == 1)
                snprintf(kernel, sizeof(kernel), "%s_%s", refs[i].kernel,
                         model->unpack ? "unpack" : "pack");
            else
                snprintf(kernel, sizeof(kernel), "%s_u%d_%s", refs[i].kernel, unroll,
                         model->unpack ? "unpack" : "pack");
            CU(cuModuleGetFunction(&w.function, b->ref, kernel));
            double t = time_work(&w);
            if (best < 0 || t < best) {
                best = t;
                snprintf(best_name, sizeof(best_name), "%s_u%d", refs[i].kernel, unroll);
                *name = best_name;
            }
        }
    }
    return best;
}

/* One layout, size, place and direction: the yardsticks once, then a row for each variant and for
 * each strategy that applies. */
static int time_case(struct bench *b, const struct layout *l, const struct upload *up,
                     struct ref_args *aux, int64_t nblocks, int host, int unpack, int nvariants,
                     struct variant *v, double empty)
{
    struct MPII_Gpudt_plan_in in;
    struct MPII_Gpudt_plan plan;
    struct work w;
    const char *ref_name;
    const CUdeviceptr packed = host ? b->packed_host : b->packed;
    const CUdeviceptr user = b->user - (CUdeviceptr) l->low;
    int64_t wrong = 0;

    plan_in_set(&in, l, up);
    in.user = user;
    in.packed = packed;
    in.unpack = unpack;
    in.packed_place = host ? MPII_GPUDT_PLACE__HOST : MPII_GPUDT_PLACE__DEVICE;

    memset(&w, 0, sizeof(w));
    w.unpack = unpack;
    w.bytes = (size_t) l->size;
    w.to = unpack ? b->other : packed;
    w.from = unpack ? packed : b->other;
    double copy = time_work(&w);

    w.args.user = (char *) user;
    w.args.packed = (char *) packed;
    run_ref(b, "fill", (char *) b->user, NULL, (l->high - l->low) / 8, 1, NULL);
    double ref = time_refs(b, l, aux, nblocks, &w, &ref_name);
    memset(&w.args, 0, sizeof(w.args));
    int have_ref = ref >= 0 && !unpack && !host;
    if (have_ref)
        CU(cuMemcpyDtoD(b->other, packed, (size_t) l->size));

    for (int n = 0; n < nvariants; n++) {
        unsigned done = 0;
        for (int s = -1; s < MPII_GPUDT_NSTRATEGIES; s++) {
            /* First the plan's own choice, then every other by force */
            in.allowed = s < 0 ? MPII_GPUDT_ALLOW_ALL : 1u << s;
            MPII_Gpudt_plan_make(&in, &plan);
            if (done & 1u << plan.strategy)
                continue;
            done |= 1u << plan.strategy;
            w.variant = &v[n];
            w.plan = &plan;
            if (have_ref)
                CU(cuMemsetD8(packed, 0x5a, (size_t) l->size));
            if (plan.strategy == MPII_GPUDT_STRATEGY__COPY2D && plan.copy.rows > 20000000)
                continue;
            double t = time_work(&w);
            if (have_ref) {
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
    struct ref_args aux;
    struct work w;
    int64_t nblocks;
    int failed = 0;

    layout_make(which, bytes, &l);
    if ((size_t) (l.high - l.low) > b->user_sz || (size_t) l.size > b->packed_sz) {
        printf("# %s does not fit\n", l.name);
        layout_free(&l);
        return 0;
    }
    upload_layout(&l, &up);
    make_aux(&l, &aux, &nblocks);
    memset(&w, 0, sizeof(w));
    CU(cuModuleGetFunction(&w.function, b->ref, "empty"));
    w.grid = 1;
    double empty = time_work(&w);
    for (int host = 0; host < 2; host++)
        for (int unpack = 0; unpack < 2; unpack++)
            failed += time_case(b, &l, &up, &aux, nblocks, host, unpack, nvariants, v, empty);
    if (aux.aux0 != NULL)
        CU(cuMemFree((CUdeviceptr) aux.aux0));
    if (aux.aux1 != NULL)
        CU(cuMemFree((CUdeviceptr) aux.aux1));
    free_upload(&up);
    layout_free(&l);
    return failed;
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

static int time_all(const char *sizes, const char *names, const char *ref_path, int nvariants,
                    struct variant *v)
{
    struct bench b;
    int failed = 0;
    void *host;

    b.ref = load_module(ref_path);
    b.user_sz = (size_t) 40 << 30;
    b.packed_sz = (size_t) 512 << 20;
    CU(cuMemAlloc(&b.user, b.user_sz));
    CU(cuMemAlloc(&b.packed, b.packed_sz));
    CU(cuMemAlloc(&b.other, b.packed_sz));
    CU(cuMemAlloc(&b.count, 8));
    CU(cuMemHostAlloc(&host, b.packed_sz, CU_MEMHOSTALLOC_DEVICEMAP));
    CU(cuMemHostGetDevicePointer(&b.packed_host, host, 0));
    printf("variant,layout,bytes,direction,packed_in,strategy,kernel,us,GBps,by_hand,by_hand_us,"
           "by_hand_ratio,copy_us,copy_ratio,empty_ratio\n");
    for (char *end; *sizes != '\0'; sizes = *end == ',' ? end + 1 : end) {
        int64_t bytes = strtoll(sizes, &end, 0);
        if (end == sizes)
            return 1;
        for (int i = 0; i < layout_count(); i++) {
            if (in_list(names, layout_name(i)))
                failed += time_layout(&b, i, bytes, nvariants, v);
        }
    }
    return failed > 0;
}

int main(int argc, char **argv)
{
    struct variant v[16];
    CUdevice device;
    CUcontext context;
    int is_check = argc > 1 && strcmp(argv[1], "check") == 0;

    if (argc < 5 || (!is_check && strcmp(argv[1], "time") != 0)) {
        fprintf(stderr, "usage: %s check SEED ROUNDS VARIANT... |\n"
                "       %s time BYTES[,BYTES] LAYOUT[,LAYOUT]|all VARIANT...\n", argv[0], argv[0]);
        return 2;
    }
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
    return time_all(argv[2], argv[3], ref_path, n, v);
}
