/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* See refs.h. */

#include <string.h>
#include <time.h>

#include "refs.h"

void *bench_memory(size_t bytes)
{
    void *memory = malloc(bytes + 8);
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return memory;
}

CUmodule bench_load_module(const char *path)
{
    CUmodule module;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    char *image = bench_memory((size_t) size);
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

double bench_median(void (*once) (void *state), void *state)
{
    double run[MAX_RUNS], begin;
    int n = 0;

    for (int i = 0; i < 3; i++)
        once(state);
    begin = now_us();
    while (n < MAX_RUNS && (n < 9 || now_us() - begin < 12000)) {
        double t = now_us();
        once(state);
        run[n++] = now_us() - t;
    }
    qsort(run, (size_t) n, sizeof(run[0]), compare_doubles);
    return run[n / 2];
}

/* Kernels written by hand for a layout: name without _pack, bytes that a thread moves (0: aux0's
 * blocks, a warp each; -1: n rows; -2: squares of n x n; -3: n structs, 512 per block; -4:
 * turn3d). */
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
    {"ragged_1", "map_1", 1, 0}, {"ragged_8", "map_8", 8, 0},
    {"triangle", "triangle", -1, 1}, {"triangle", "map_8", 8, 0},
    {"struct17", "struct17", 1, 0}, {"struct17", "stage_17_24", -3, 1},
    {"struct17_48", "struct17_48", 1, 0}, {"struct17_48", "stage_17_48", -3, 1},
    {"bytes_3_4", "bytes_3_4", 1, 0}, {"bytes_3_4", "stage_3_4", -3, 1},
    {"bytes_3_5", "bytes_3_5", 1, 0}, {"bytes_3_5", "stage_3_5", -3, 1},
    {"half_2_4", "half_2_4", 2, 0}, {"half_2_4", "stage_2_4", -3, 1},
    {"aos20_8", "aos20_8", 8, 0}, {"aos20_4", "aos20_4", 4, 0}, {"aos20_1", "aos20_1", 1, 0},
    {"struct3", "struct3", 8, 0}, {"struct3_4", "struct3_4", 4, 0},
    {"particles", "particles", 1, 0}, {"particles", "stage_17_24", -6, 1},
    {"face_xz_64", "face_xz_64", 16, 0}, {"face_yz_64", "face_yz_64", 8, 0},
    {"face_xz_128", "face_xz_128", 16, 0}, {"face_yz_128", "face_yz_128", 8, 0},
    {"face_xz_256", "face_xz_256", 16, 0}, {"face_yz_256", "face_yz_256", 8, 0},
    {"face_xz_512", "face_xz_512", 16, 0}, {"face_yz_512", "face_yz_512", 8, 0},
};

/* Inputs of the kernels written by hand, besides the data. */
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

void refs_aux_make(const struct layout *l, struct refs_aux *refs)
{
    struct ref_args *args = &refs->args;
    struct aux aux;
    const int is_map = strncmp(l->name, "random", 6) == 0 || strncmp(l->name, "ragged", 6) == 0 ||
        strncmp(l->name, "aos", 3) == 0 || strcmp(l->name, "triangle") == 0;
    const int is_list = is_map || strncmp(l->name, "indexed", 7) == 0 ||
        strcmp(l->name, "particles") == 0;

    memset(refs, 0, sizeof(*refs));
    if (!is_list)
        return;
    memset(&aux, 0, sizeof(aux));
    l->blocks(l, aux_count, &aux);
    refs->nblocks = aux.nblocks;
    aux.unit = l->serial.block_gcd;
    aux.displ = bench_memory(16 * (size_t) aux.nblocks + 8);
    aux.prefix = aux.displ + aux.nblocks;
    aux.map = is_map ? bench_memory(4 * (size_t) (l->size / aux.unit)) : NULL;
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
    CU(cuCtxSynchronize());
    free(aux.displ);
    free(aux.map);
}

void refs_aux_free(struct refs_aux *aux)
{
    if (aux->args.aux0 != NULL)
        CU(cuMemFree((CUdeviceptr) aux->args.aux0));
    if (aux->args.aux1 != NULL)
        CU(cuMemFree((CUdeviceptr) aux->args.aux1));
}

/* Set the amount of work of a kernel by hand. Returns 0 if the kernel does not support the size. */
static int set_ref(const struct ref *r, const struct layout *l, int64_t nblocks, int unroll,
                   struct ref_args *args,
                   unsigned *grid)
{
    const int64_t side = (l->n + 31) / 32;
    int64_t blocks;

    args->n = l->n;
    args->work = 0;
    if (r->word > 0) {
        args->work = l->size / r->word;
        blocks = (args->work + 256 * unroll - 1) / (256 * unroll);
        if (strcmp(l->name, "sub4d") == 0 && l->param[0] != 32)
            return 0;
    } else if (r->word == -1) {
        args->n = l->nblocks;
        blocks = l->nblocks;
    } else if (r->word == -2) {
        blocks = side * side;
    } else if (r->word == -3) {
        args->aux0 = NULL;
        blocks = (l->n + 511) / 512;
    } else if (r->word == -4) {
        blocks = side * 96;
    } else if (r->word == -6) {
        args->n = nblocks;
        blocks = (nblocks + 511) / 512;
    } else {
        args->work = nblocks;
        blocks = (nblocks + 7) / 8;
    }
    *grid = (unsigned) blocks;
    return blocks > 0;
}

/* A kernel, or a copy if there is none. */
struct work {
    CUstream stream;
    CUfunction function;
    struct ref_args args;
    unsigned grid;
    CUdeviceptr to, from;
    size_t bytes;
};

static void work_once(void *state)
{
    struct work *w = state;
    void *params[1] = { &w->args };

    if (w->function != NULL)
        CU(cuLaunchKernel(w->function, w->grid, 1, 1, 256, 1, 1, 0, w->stream, params, NULL));
    else
        CU(cuMemcpyAsync(w->to, w->from, w->bytes, w->stream));
    CU(cuStreamSynchronize(w->stream));
}

double refs_time(CUmodule module, CUstream stream, const struct layout *l,
                 const struct refs_aux *aux, CUdeviceptr user, CUdeviceptr packed, int unpack,
                 const char **name)
{
    static char best_name[64];
    const char *direction = unpack ? "unpack" : "pack";
    double best = -1;

    *name = "none";
    for (size_t i = 0; i < sizeof(refs) / sizeof(refs[0]); i++) {
        for (int unroll = 1; unroll <= 4; unroll += 3) {
            struct work w = { .stream = stream, .args = aux->args };
            char kernel[96];
            if (strcmp(refs[i].layout, l->name) != 0 || (refs[i].unroll == 1 && unroll == 4))
                continue;
            w.args.user = (char *) user;
            w.args.packed = (char *) packed;
            if (!set_ref(&refs[i], l, aux->nblocks, unroll, &w.args, &w.grid))
                continue;
            if (refs[i].unroll == 1)
                snprintf(kernel, sizeof(kernel), "%s_%s", refs[i].kernel, direction);
            else
                snprintf(kernel, sizeof(kernel), "%s_u%d_%s", refs[i].kernel, unroll, direction);
            CU(cuModuleGetFunction(&w.function, module, kernel));
            double t = bench_median(work_once, &w);
            if (best < 0 || t < best) {
                best = t;
                snprintf(best_name, sizeof(best_name), "%s_u%d", refs[i].kernel, unroll);
                *name = best_name;
            }
        }
    }
    return best;
}

double refs_time_pair(CUmodule module, CUstream stream, const char *from_name,
                      const char *to_name, CUdeviceptr from, CUdeviceptr to, int64_t bytes)
{
    struct work w = { .stream = stream };
    char kernel[96];

    w.args.user = (char *) to;
    w.args.packed = (char *) from;
    w.args.work = bytes / 8;
    w.grid = (unsigned) ((w.args.work + 256 * 4 - 1) / (256 * 4));
    snprintf(kernel, sizeof(kernel), "copy_%s_to_%s", from_name, to_name);
    if (cuModuleGetFunction(&w.function, module, kernel) != CUDA_SUCCESS)
        return -1;
    return bench_median(work_once, &w);
}

double refs_time_empty(CUmodule module, CUstream stream)
{
    struct work w = { .stream = stream, .grid = 1 };

    CU(cuModuleGetFunction(&w.function, module, "empty"));
    return bench_median(work_once, &w);
}

double refs_time_copy(CUstream stream, CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    struct work w = { .stream = stream, .to = to, .from = from, .bytes = bytes };

    return bench_median(work_once, &w);
}

void refs_run(CUmodule module, CUstream stream, const char *name, struct ref_args *args)
{
    void *params[1] = { args };
    CUfunction function;

    CU(cuModuleGetFunction(&function, module, name));
    CU(cuLaunchKernel(function, 132 * 8, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    CU(cuStreamSynchronize(stream));
}
