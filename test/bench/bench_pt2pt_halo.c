/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The exchange with 26 neighbours: by MPI's datatypes, and optimized by hand on top of the same
 * library. See bench_pt2pt_group.h. */

#include "bench_pt2pt_group.h"
#include "bench_pt2pt_memory.h"
#include <string.h>
#include <stdio.h>

#define RADIUS 1
#define PACKED_ALIGN 32         /* words; alignment of a region's packed data */

enum {
    HALO__DATATYPE,             /* subarrays of the block */
    HALO__FUSED,                /* a kernel packs all to GPU memory, which is sent; one unpacks */
    HALO__FUSED_HOST,           /* the same through pinned host memory */
    N_HALO_METHODS
};
static const char *const halo_method_name[N_HALO_METHODS] = { "datatype", "fused", "fused-host" };

enum { OUT, IN };

struct halo {
    MPI_Comm comm;              /* Cartesian, with x fastest also in ranks */
    int neighbour[N_DIRECTIONS];
    MPI_Datatype type[2][N_DIRECTIONS];
    struct block block;
    struct regions regions[2];
    uint32_t packed_words, message_words;
    int on_gpu;
    unsigned char *data;
    unsigned char *packed[N_HALO_METHODS][2];
};
static struct halo halo;        /* the current one; samples have no argument for it */

/* ---- geometry ---- */

/* The direction's step in x, y and z: -1, 0, 1. Direction 25 - d is the opposite one. */
static void direction_of(int d, int way[3])
{
    int n = d < N_DIRECTIONS / 2 ? d : d + 1, i;

    for (i = 0; i < 3; i++, n /= 3)
        way[i] = n % 3 - 1;
}

/* First point and number of points sent in a direction, or received from it. */
static void extent_of(int side, int points, int way, int *first, int *count)
{
    *count = way ? RADIUS : points;
    *first = way == 0 ? RADIUS : way < 0 ? (side == OUT ? RADIUS : 0) :
        (side == OUT ? points : points + RADIUS);
}

static void region_make(int side, int d, uint32_t *blocks, uint32_t *packed)
{
    const struct block *block = &halo.block;
    struct region *region = &halo.regions[side].region[d];
    int way[3], first[4], count[4], size[4], i;

    direction_of(d, way);
    size[0] = count[0] = (int) block->variables;
    first[0] = 0;
    for (i = 0; i < 3; i++) {
        extent_of(side, (int) block->points, way[i], &first[3 - i], &count[3 - i]);
        size[3 - i] = (int) block->side;
        region->count[i] = (uint32_t) count[3 - i];
    }
    MPI_Type_create_subarray(4, size, count, first, MPI_ORDER_C, MPI_DOUBLE, &halo.type[side][d]);
    MPI_Type_commit(&halo.type[side][d]);
    region->start = (uint32_t) ((first[1] * size[1] + first[2]) * size[1] + first[3]);
    region->n_words = (uint32_t) (count[0] * count[1] * count[2] * count[3]);
    region->packed = *packed;
    *packed += (region->n_words + PACKED_ALIGN - 1) / PACKED_ALIGN * PACKED_ALIGN;
    *blocks += (region->n_words + REGION_WORDS - 1) / REGION_WORDS;
    region->block_end = *blocks;
}

static void geometry_make(int n_ranks, int points, int variables)
{
    int dims[3] = { 0, 0, 0 }, periods[3] = { 1, 1, 1 }, at[3], to[3], way[3], rank, side, d, i;

    MPI_Dims_create(n_ranks, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &halo.comm);
    MPI_Comm_rank(halo.comm, &rank);
    MPI_Cart_coords(halo.comm, rank, 3, at);
    halo.block.points = (uint32_t) points;
    halo.block.side = (uint32_t) points + 2 * RADIUS;
    halo.block.variables = (uint32_t) variables;
    for (i = 0; i < 3; i++) {
        halo.block.start[i] = (uint32_t) (at[i] * points);
        halo.block.domain[i] = (uint32_t) (dims[i] * points);
    }
    for (d = 0; d < N_DIRECTIONS; d++) {
        direction_of(d, way);
        for (i = 0; i < 3; i++)
            to[i] = at[i] + way[i];
        MPI_Cart_rank(halo.comm, to, &halo.neighbour[d]);
    }
    for (side = OUT; side <= IN; side++) {
        struct regions *regions = &halo.regions[side];
        uint32_t blocks = 0;

        halo.packed_words = halo.message_words = 0;
        regions->step[0] = halo.block.side;
        regions->step[1] = regions->step[0] * halo.block.side;
        regions->step[2] = regions->step[1] * halo.block.side;
        for (d = 0; d < N_DIRECTIONS; d++) {
            region_make(side, d, &blocks, &halo.packed_words);
            halo.message_words += regions->region[d].n_words;
        }
    }
}

/* ---- memory ---- */

static int memory_get(void)
{
    size_t bytes = (size_t) halo.packed_words * 8;
    int is_there, side;

    memset(halo.packed, 0, sizeof(halo.packed));
    halo.data = memory_alloc(halo.on_gpu, (size_t) block_words(&halo.block) * 8);
    is_there = halo.data != NULL;
    for (side = OUT; side <= IN; side++) {
#ifdef WITH_GPU
        if (halo.on_gpu) {
            halo.packed[HALO__FUSED][side] = gpu_alloc(bytes);
            halo.packed[HALO__FUSED_HOST][side] = pinned_alloc(bytes);
            is_there = is_there && halo.packed[HALO__FUSED][side] &&
                halo.packed[HALO__FUSED_HOST][side];
        }
#endif
    }
    (void) bytes;
    return is_there;
}

static void halo_close(void)
{
    int side, d;

    memory_free(halo.on_gpu, halo.data);
    for (side = OUT; side <= IN; side++) {
#ifdef WITH_GPU
        if (halo.packed[HALO__FUSED][side])
            gpu_free(halo.packed[HALO__FUSED][side]);
        if (halo.packed[HALO__FUSED_HOST][side])
            pinned_free(halo.packed[HALO__FUSED_HOST][side]);
#endif
        for (d = 0; d < N_DIRECTIONS; d++)
            MPI_Type_free(&halo.type[side][d]);
    }
    MPI_Comm_free(&halo.comm);
}

static void data_fill(void)
{
    uint64_t *data = (uint64_t *) halo.data;
    uint32_t i;

#ifdef WITH_GPU
    if (halo.on_gpu) {
        gpu_block_fill(&halo.block, halo.data);
        return;
    }
#endif
    for (i = 0; i < block_words(&halo.block); i++) {
        int is_ghost;
        uint64_t word = block_word(&halo.block, i, &is_ghost);

        data[i] = is_ghost ? pattern_eight(0, SALT_POISON) : word;
    }
}

static long long data_check(void)
{
    const uint64_t *data = (const uint64_t *) halo.data;
    long long n_wrong = 0;
    uint32_t i;
    int is_ghost;

#ifdef WITH_GPU
    if (halo.on_gpu)
        return gpu_block_check(&halo.block, halo.data);
#endif
    for (i = 0; i < block_words(&halo.block); i++)
        n_wrong += data[i] != block_word(&halo.block, i, &is_ghost);
    return n_wrong;
}

/* Corrupt a ghost point, or a point that is none. */
static void data_corrupt(int corrupt)
{
    size_t at = corrupt == CORRUPT__DATA ? 0 : (size_t) halo.regions[OUT].region[0].start * 8;

    memory_poke(halo.on_gpu, halo.data + at, POISON_BYTE);
}

/* ---- the exchange ---- */

static void sample_datatype(struct bench *bench)
{
    MPI_Request request[2 * N_DIRECTIONS];
    int d;

    (void) bench;
    for (d = 0; d < N_DIRECTIONS; d++)
        MPI_Irecv(halo.data, 1, halo.type[IN][d], halo.neighbour[d], N_DIRECTIONS - 1 - d,
                  halo.comm, &request[d]);
    for (d = 0; d < N_DIRECTIONS; d++)
        MPI_Isend(halo.data, 1, halo.type[OUT][d], halo.neighbour[d], d, halo.comm,
                  &request[N_DIRECTIONS + d]);
    requests_wait(2 * N_DIRECTIONS, request);
}

#ifdef WITH_GPU

static void sample_fused(struct bench *bench)
{
    unsigned char *const *packed = halo.packed[bench->method];
    MPI_Request request[2 * N_DIRECTIONS];
    int d;

    for (d = 0; d < N_DIRECTIONS; d++) {
        const struct region *region = &halo.regions[IN].region[d];

        MPI_Irecv(packed[IN] + (size_t) region->packed * 8, (int) region->n_words, MPI_DOUBLE,
                  halo.neighbour[d], N_DIRECTIONS - 1 - d, halo.comm, &request[d]);
    }
    gpu_regions_move(STREAM__SEND, &halo.regions[OUT], halo.data, packed[OUT], 0);
    gpu_wait(STREAM__SEND);
    for (d = 0; d < N_DIRECTIONS; d++) {
        const struct region *region = &halo.regions[OUT].region[d];

        MPI_Isend(packed[OUT] + (size_t) region->packed * 8, (int) region->n_words, MPI_DOUBLE,
                  halo.neighbour[d], d, halo.comm, &request[N_DIRECTIONS + d]);
    }
    requests_wait(2 * N_DIRECTIONS, request);
    gpu_regions_move(STREAM__RECV, &halo.regions[IN], halo.data, packed[IN], 1);
    gpu_wait(STREAM__RECV);
}

#endif

/* Whether a method applies: those by hand in GPU memory only; --methods datatype chooses all of them. */
static int has_method(const struct options *opt, int method)
{
    return opt->method[METHOD__DATATYPE] && (method == HALO__DATATYPE || halo.on_gpu);
}

static int method_measure(struct bench *bench)
{
    sample_fn fn = sample_datatype;
    char kind[64];
    int n;

#ifdef WITH_GPU
    if (bench->method != HALO__DATATYPE)
        fn = sample_fused;
#endif
    snprintf(kind, sizeof(kind), "p%u_v%u_r%d", (unsigned) halo.block.points,
             (unsigned) halo.block.variables, bench->n_ranks);
    data_fill();
    MPI_Barrier(MPI_COMM_WORLD);
    n = samples_take(bench, fn);
    samples_slower(bench, n);
    if (bench->rank == 1 && bench->opt.corrupt != CORRUPT__NONE)
        data_corrupt(bench->opt.corrupt);
    if (!all_right(bench, kind, (size_t) halo.message_words * 8, data_check()))
        return 0;
    row_print_of(bench, "halo26", bench->method == 0 ? bench->opt.label :
                 halo_method_name[bench->method], kind, (size_t) halo.message_words * 8,
                 bench->seconds, n, 1.0);
    return 1;
}

static int case_measure(struct bench *bench, int points, int variables)
{
    int is_there, all_there, status = EXIT__GOOD;

    memset(&halo, 0, sizeof(halo));
    halo.on_gpu = bench->place == PLACE__GPU_GPU;
    geometry_make(bench->n_ranks, points, variables);
    is_there = memory_get();
    MPI_Allreduce(&is_there, &all_there, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all_there) {
        status = EXIT__CANNOT_RUN;
        if (bench->rank == 0)
            fprintf(stderr, "bench_pt2pt: no memory for halo26 with %d points and %d variables\n",
                    points, variables);
    }
    for (bench->method = 0; bench->method < N_HALO_METHODS && status == EXIT__GOOD; bench->method++)
        if (has_method(&bench->opt, bench->method) && !method_measure(bench))
            status = EXIT__WRONG_DATA;
    halo_close();
    return status;
}

int halo_measure(struct bench *bench)
{
    static const int places[] = { PLACE__HOST_HOST, PLACE__GPU_GPU };
    const struct options *opt = &bench->opt;
    int i, p, v, status = EXIT__GOOD;

    for (i = 0; i < 2 && opt->measure[MEASURE__HALO26]; i++) {
        bench->place = places[i];
        for (p = 0; p < opt->n_points && opt->place[bench->place]; p++)
            for (v = 0; v < opt->n_variables && status == EXIT__GOOD; v++)
                status = case_measure(bench, opt->points[p], opt->variables[v]);
    }
    return status;
}
