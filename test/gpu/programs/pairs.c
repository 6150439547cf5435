/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests copies from datatype to datatype by one kernel: every form of datatype at either end,
 * ranges of both streams that begin and end anywhere, at any alignment, by each of the kernels,
 * within a GPU and between two. Each copy must take one launch and no work area; boxes of the same
 * rows and planes on two GPUs are one copy by the driver. With
 * "forbidden", which needs MPIR_CVAR_GPUDT_FORBID=pair, the same by work areas. */

#include "mpiimpl.h"
#include "transfer/gpudt_choice.h"
#include "transfer/gpudt_data.h"
#include "transfer/gpudt_launch.h"
#include "transfer/gpudt_start.h"
#include "engine/gpudt_contexts.h"
#include "engine/gpudt_upload.h"
#include "plan/gpudt_plan.h"
#include "plan/gpudt_plan_pair.h"

#include "gpu.h"
#include "oracle.h"
#include "randtype.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define ARENA_SZ ((size_t) 1 << 20)
#define GUARD 256
#define ROUNDS 4                /* ranges of each pair of datatypes */
#define MAX_BLOCKS 1600

static struct rng rng;
static int is_forbidden;

/* ---- datatypes ---- */

static MPI_Datatype list_make(int n, int min_len, int max_len, int max_gap, MPI_Datatype unit)
{
    static int lens[MAX_BLOCKS];
    static MPI_Aint displs[MAX_BLOCKS];
    MPI_Aint at = 0, lb, extent;
    MPI_Datatype type;

    MPI_Type_get_extent(unit, &lb, &extent);
    for (int i = 0; i < n; i++) {
        lens[i] = (int) rng_range(&rng, min_len, max_len);
        displs[i] = at * extent;
        at += lens[i] + rng_range(&rng, 1, max_gap);
    }
    MPI_Type_create_hindexed(n, lens, displs, unit, &type);
    return type;
}

static MPI_Datatype vector_8(void)
{
    MPI_Datatype type;
    MPI_Type_vector(3000, 1, 2, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype vector_48(void)
{
    MPI_Datatype type;
    MPI_Type_create_hvector(700, 6, 80, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype vector_bytes(void)
{
    MPI_Datatype type;
    MPI_Type_create_hvector(3000, 3, 5, MPI_BYTE, &type);
    return type;
}

static MPI_Datatype backwards(void)
{
    MPI_Datatype type;
    MPI_Type_create_hvector(4000, 3, -16, MPI_FLOAT, &type);
    return type;
}

static MPI_Datatype box(void)
{
    const int sizes[3] = { 20, 30, 40 }, subsizes[3] = { 15, 20, 25 }, starts[3] = { 2, 3, 5 };
    MPI_Datatype type;
    MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_FLOAT, &type);
    return type;
}

static MPI_Datatype transposed(void)
{
    MPI_Datatype column, resized, type;
    MPI_Type_vector(60, 1, 60, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, 8, &resized);
    MPI_Type_contiguous(60, resized, &type);
    MPI_Type_free(&column);
    MPI_Type_free(&resized);
    return type;
}

static MPI_Datatype structs(void)
{
    const int lens[4] = { 1, 1, 1, 1 };
    const MPI_Aint displs[4] = { 0, 8, 12, 16 };
    const MPI_Datatype types[4] = { MPI_DOUBLE, MPI_INT, MPI_INT, MPI_CHAR };
    MPI_Datatype members, resized, type;
    MPI_Type_create_struct(4, lens, displs, types, &members);
    MPI_Type_create_resized(members, 0, 24, &resized);
    MPI_Type_contiguous(1500, resized, &type);
    MPI_Type_free(&members);
    MPI_Type_free(&resized);
    return type;
}

static MPI_Datatype table(void)
{
    MPI_Datatype list = list_make(40, 1, 9, 5, MPI_INT), type;
    MPI_Type_create_hvector(30, 1, 2000, list, &type);
    MPI_Type_free(&list);
    return type;
}

static MPI_Datatype bitmap(void)
{
    return list_make(1200, 1, 16, 4, MPI_DOUBLE);
}

static MPI_Datatype bitmap_bytes(void)
{
    return list_make(1500, 1, 31, 9, MPI_BYTE);
}

/* Lists of long entries, the second with more of them than a window has, repeated. */
static MPI_Datatype list(void)
{
    return list_make(200, 30, 200, 4, MPI_FLOAT);
}

static MPI_Datatype long_list(void)
{
    MPI_Datatype list = list_make(600, 33, 80, 3, MPI_SHORT), type;
    MPI_Type_create_hvector(2, 1, 100000, list, &type);
    MPI_Type_free(&list);
    return type;
}

/* Lists of long runs. */
static MPI_Datatype runs(void)
{
    return list_make(30, 250, 700, 40, MPI_FLOAT);
}

static MPI_Datatype runs_repeated(void)
{
    MPI_Datatype list = list_make(12, 600, 1500, 20, MPI_SHORT), type;
    MPI_Type_create_hvector(3, 1, 40002, list, &type);
    MPI_Type_free(&list);
    return type;
}

/* Entries that are pieces at a stride. */
static MPI_Datatype pieces(void)
{
    MPI_Datatype piece, type;
    MPI_Type_create_resized(MPI_FLOAT, 0, 12, &piece);
    type = list_make(300, 33, 60, 5, piece);
    MPI_Type_free(&piece);
    return type;
}

/* Three vectors, too large for a table. */
static MPI_Datatype tree(void)
{
    const int lens[3] = { 1, 1, 1 };
    const MPI_Aint displs[3] = { 0, 80000, 320000 };
    MPI_Datatype types[3], type;
    MPI_Type_create_hvector(4000, 1, 16, MPI_DOUBLE, &types[0]);
    MPI_Type_create_hvector(3000, 2, 64, MPI_DOUBLE, &types[1]);
    MPI_Type_create_hvector(3000, 1, 12, MPI_DOUBLE, &types[2]);
    MPI_Type_create_struct(3, lens, displs, types, &type);
    for (int i = 0; i < 3; i++)
        MPI_Type_free(&types[i]);
    return type;
}

/* A list of vectors, which kernels search from the top. */
static MPI_Datatype tree_list(void)
{
    MPI_Datatype pair, type;
    MPI_Type_create_hvector(2, 1, 12, MPI_DOUBLE, &pair);
    type = list_make(1000, 1, 4, 3, pair);
    MPI_Type_free(&pair);
    return type;
}

/* Every byte is sent several times: not for a destination. */
static MPI_Datatype repeated(void)
{
    MPI_Datatype type;
    MPI_Type_create_hvector(500, 10, 0, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype overlapping(void)
{
    MPI_Datatype type;
    MPI_Type_create_hvector(2000, 3, 8, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype (*const makers[]) (void) = {
    vector_8, vector_48, vector_bytes, backwards, box, transposed, structs, table, bitmap,
    bitmap_bytes, list, long_list, runs, runs_repeated, pieces, tree, tree_list,
    repeated, overlapping       /* sources only */
};
#define NTYPES ((int) (sizeof(makers) / sizeof(makers[0])))
#define NRECEIVED (NTYPES - 2)

struct layout {
    MPI_Datatype type;
    oracle *map;
    MPI_Aint size, lo, hi;
};
static struct layout layouts[NTYPES];

static void layout_make(struct layout *l, MPI_Datatype type)
{
    l->type = type;
    MPI_Type_commit(&l->type);
    l->map = oracle_create(l->type);
    oracle_span(l->map, 1, &l->size, &l->lo, &l->hi);
}

static void layout_free(struct layout *l)
{
    oracle_free(l->map);
    MPI_Type_free(&l->type);
}

/* ---- copies ---- */

struct end {
    const struct layout *layout;
    struct mem mem;
    unsigned char *image;
    MPI_Aint off;               /* of the buffer in the memory */
    MPI_Aint first;
};

struct copy {
    struct end from, to;
    MPI_Aint n;
    int is_wide;
};

static void end_make(struct end *e, enum mem_kind kind)
{
    mem_alloc(&e->mem, kind, ARENA_SZ);
    e->image = malloc(ARENA_SZ);
    for (size_t i = 0; i < ARENA_SZ; i += 8) {
        uint64_t bytes = rng_next(&rng);
        memcpy(e->image + i, &bytes, 8);
    }
    mem_write(&e->mem, 0, e->image, ARENA_SZ);
}

static void end_free(struct end *e)
{
    mem_free(&e->mem);
    free(e->image);
}

static struct MPII_Gpudt_data end_data(const struct end *e)
{
    return (struct MPII_Gpudt_data) {.addr = e->mem.addr + e->off,.count = 1,
        .datatype = e->layout->type,.first = e->first
    };
}

static int side_make(const struct end *e, MPI_Aint n, struct MPII_Gpudt_side *side)
{
    struct MPII_Gpudt_data data = end_data(e);
    int err;

    MPII_Gpudt_data_measure(&data);
    MPII_Gpudt_side_place(&data, n, side);
    err = MPII_Gpudt_side_set(&data, n, side);
    return err ? err : MPII_Gpudt_side_classify(side, false);
}

/* By the engine, as MPIR_Gpudt_ilocalcopy does it. */
static void copy_by_engine(const struct copy *c)
{
    MPIR_Gpudt_op local, *op = NULL;
    int is_blocking = rng_chance(&rng, 50);
    unsigned long long launches =
        report_variable("gpudt_launches") + report_variable("gpudt_copies");
    unsigned long long staged = report_variable("gpudt_staged");

    memset(&local, 0, sizeof(local));
    CHECK_MPI(side_make(&c->from, c->n, &local.src));
    CHECK_MPI(side_make(&c->to, c->n, &local.dst));
    local.n = c->n;
    local.lane = MPII_GPUDT_LANE__PACK;
    CHECK_MPI(MPII_Gpudt_op_start(&local, is_blocking ? NULL : &op));
    CHECK_MPI(MPIR_Gpudt_wait(op));
    launches = report_variable("gpudt_launches") + report_variable("gpudt_copies") - launches;
    staged = report_variable("gpudt_staged") - staged;
    if (is_forbidden ? staged != 1 : staged != 0 || launches != 1)
        report_fail("%llu launches and copies, %llu work areas", launches, staged);
}

static int seen_forms[MPII_GPUDT_NSTRATEGIES][MPII_GPUDT_NSTRATEGIES];
static int seen_kernels[MPII_GPUDT_NKERNELS];

/* Plan it; mostly at other addresses, from which the plan is moved to the right ones. */
static void plan_make(struct MPII_Gpudt_plan_in in[2], struct MPII_Gpudt_plan_pair *plan)
{
    const uint64_t by[2] = {
        (uint64_t) rng_range(&rng, -3, 3) * MPII_GPUDT_PAIR_ALIGN,
        (uint64_t) rng_range(&rng, -3, 3) * MPII_GPUDT_PAIR_ALIGN
    };

    for (int i = 0; i < 2; i++)
        in[i].user -= by[i];
    MPII_Gpudt_plan_pair_make(&in[0], &in[1], plan);
    MPII_Gpudt_plan_pair_shift(plan, by);
}

/* By the kernel that the plan chooses, or one with 64-bit indices, which the engine uses for far
 * larger buffers. */
static void copy_by_plan(const struct copy *c)
{
    const MPII_Gpudt_driver_t *drv = MPII_Gpudt_driver_get();
    struct MPII_Gpudt_side side[2];
    struct MPII_Gpudt_plan_in in[2];
    struct MPII_Gpudt_plan_pair plan;
    MPII_Gpudt_engine_t *engine = NULL;
    MPII_Gpudt_ctx_t entered;
    bool is_started = false;

    CHECK_MPI(side_make(&c->from, c->n, &side[0]));
    CHECK_MPI(side_make(&c->to, c->n, &side[1]));
    CHECK_MPI(MPII_Gpudt_engine_enter(drv, side[1].ptr.device, side[1].ptr.ctx, &engine,
                                      &entered));
    for (int i = 0; i < 2; i++) {
        CHECK(MPII_Gpudt_side_reach(engine, NULL, &side[i]));
        MPII_Gpudt_plan_in_set(engine, &side[i], 0, c->n, &in[i]);
        CHECK_MPI(MPII_Gpudt_upload_get(engine, side[i].type, &in[i].image));
        in[i].wide = c->is_wide;
    }
    plan_make(in, &plan);
    seen_forms[plan.strategy[0]][plan.strategy[1]] = 1;
    seen_kernels[plan.kernel] = 1;

    struct MPII_Gpudt_launch launch = {
        .engine = engine,
        .lane = MPII_GPUDT_LANE__PACK,
        .kernel = plan.kernel,
        .grid = plan.grid,
        .args = &plan.args,
        .end = &plan.args.end
    };
    CHECK_MPI(MPII_Gpudt_kernel_start(&launch, &is_started));
    CHECK(is_started);
    CHECK(drv->cuStreamSynchronize(engine->streams[MPII_GPUDT_LANE__PACK]) == CUDA_SUCCESS);
    MPII_Gpudt_ctx_leave(drv, &entered);
    for (int i = 0; i < 2; i++)
        MPII_Gpudt_type_release(side[i].type);
}

static void end_place(struct end *e, const struct layout *l)
{
    static const int steps[] = { 16, 16, 8, 4, 2, 1 };
    int step = steps[rng_range(&rng, 0, 5)];

    e->layout = l;
    e->off = GUARD - l->lo / 16 * 16 + step * rng_range(&rng, 0, 64 / step);
    if (GUARD + e->off + l->hi > (MPI_Aint) ARENA_SZ) {
        fprintf(stderr, "a datatype spans %ld bytes\n", (long) (l->hi - l->lo));
        exit(1);
    }
}

/* A range that both streams have. */
static void range_draw(struct copy *c, int round)
{
    MPI_Aint src = c->from.layout->size, dst = c->to.layout->size;

    c->from.first = c->to.first = 0;
    switch (round % 4) {
        case 0:
            break;
        case 1:                /* a part of a message: the same position in both */
            c->from.first = c->to.first = rng_range(&rng, 0, (src < dst ? src : dst) - 1);
            break;
        case 2:
            c->from.first = rng_range(&rng, 0, src - 1);
            c->to.first = rng_range(&rng, 0, dst - 1);
            break;
        default:
            c->from.first = rng_range(&rng, 0, src / 16 - 1) * 16;
            c->to.first = rng_range(&rng, 0, dst / 16 - 1) * 16 +
                (rng_chance(&rng, 50) ? 0 : rng_range(&rng, 0, 7));
            break;
    }
    c->n = src - c->from.first < dst - c->to.first ? src - c->from.first : dst - c->to.first;
    if (round % 4 != 0 && rng_chance(&rng, 70))
        c->n = rng_range(&rng, 1, rng_chance(&rng, 50) && c->n > 40 ? 40 : c->n);
}

static void copy_check(struct copy *c)
{
    unsigned char *seen = malloc(ARENA_SZ), *bytes = malloc((size_t) c->n);

    oracle_pack(c->from.layout->map, c->from.image + c->from.off, 1, c->from.first, c->n, bytes);
    oracle_unpack(c->to.layout->map, c->to.image + c->to.off, 1, c->to.first, c->n, bytes);
    mem_read(&c->to.mem, 0, seen, ARENA_SZ);
    if (!report_compare("the destination", seen, c->to.image, ARENA_SZ)) {
        report_fail("datatype %d + %ld from byte %ld to datatype %d + %ld from byte %ld, "
                    "%ld bytes, strategy %d, at most %d blocks, wide %d",
                    (int) (c->from.layout - layouts), (long) c->from.off, (long) c->from.first,
                    (int) (c->to.layout - layouts), (long) c->to.off, (long) c->to.first,
                    (long) c->n, MPIR_CVAR_GPUDT_STRATEGY, MPIR_CVAR_GPUDT_MAX_BLOCKS, c->is_wide);
        memcpy(c->to.image, seen, ARENA_SZ);
    }
    free(seen);
    free(bytes);
}

/* All pairs of datatypes between two kinds of memory. */
static void pairs_run(enum mem_kind from, enum mem_kind to, int rounds)
{
    static const int strategies[] = {
        MPIR_CVAR_GPUDT_STRATEGY_auto, MPIR_CVAR_GPUDT_STRATEGY_pair,
        MPIR_CVAR_GPUDT_STRATEGY_list, MPIR_CVAR_GPUDT_STRATEGY_tree
    };
    struct copy c = {.n = 0 };

    end_make(&c.from, from);
    end_make(&c.to, to);
    for (int i = 0; i < NTYPES * NRECEIVED; i++) {
        for (int round = 0; round < rounds; round++) {
            end_place(&c.from, &layouts[i / NRECEIVED]);
            end_place(&c.to, &layouts[i % NRECEIVED]);
            range_draw(&c, round);
            if (!is_forbidden)
                MPIR_CVAR_GPUDT_STRATEGY = strategies[round == 0 ? 0 : rng_range(&rng, 0, 3)];
            MPIR_CVAR_GPUDT_MAX_BLOCKS = rng_chance(&rng, 70) ? 0 : (int) rng_range(&rng, 1, 3);
            c.is_wide = rng_chance(&rng, 50);
            /* Each pair at least once, so that all forms are seen */
            if (!is_forbidden && from == to && (round == 0 || rng_chance(&rng, 20)))
                copy_by_plan(&c);
            else
                copy_by_engine(&c);
            copy_check(&c);
        }
    }
    end_free(&c.from);
    end_free(&c.to);
}

/* Planes of rows of 64 bytes. */
static MPI_Datatype planes(int nplanes, int nrows, MPI_Aint pitch, MPI_Aint distance)
{
    MPI_Datatype plane, type;
    MPI_Type_create_hvector(nrows, 8, pitch, MPI_DOUBLE, &plane);
    MPI_Type_create_hvector(nplanes, 1, distance, plane, &type);
    MPI_Type_free(&plane);
    return type;
}

/* 120 rows between two GPUs: planes of the same number of rows, and rows that are no planes, are
 * copied by the driver. Others are not, nor are planes that do not begin where rows could. */
static void planes_run(enum mem_kind from, enum mem_kind to)
{
    enum { nlike = 3, n = 5, times = 4 };
    struct layout l[n];
    struct copy c = {.is_wide = 0 };

    layout_make(&l[0], planes(12, 10, 160, 14 * 160));
    layout_make(&l[1], planes(12, 10, 72, 11 * 72));
    layout_make(&l[2], planes(120, 1, 64, 96));
    layout_make(&l[3], planes(10, 12, 160, 14 * 160));
    layout_make(&l[4], planes(12, 10, 160, 14 * 160 + 80));
    end_make(&c.from, from);
    end_make(&c.to, to);
    MPIR_CVAR_GPUDT_STRATEGY = MPIR_CVAR_GPUDT_STRATEGY_auto;
    MPIR_CVAR_GPUDT_MAX_BLOCKS = 0;
    for (int k = 0; k < n * n * times; k++) {
        const int i = k / times;        /* at several places: a plan serves many of them */
        unsigned long long copies = report_variable("gpudt_copies");

        end_place(&c.from, &l[i / n]);
        end_place(&c.to, &l[i % n]);
        c.n = l[0].size;
        copy_by_engine(&c);
        copy_check(&c);
        copies = report_variable("gpudt_copies") - copies;
        if (i / n < nlike && i % n < nlike && copies != 1)
            report_fail("planes %d to %d are not copied by the driver", i / n, i % n);
        if (i / n < 2 && i % n >= nlike && copies != 0)
            report_fail("planes %d to %d are copied by the driver", i / n, i % n);
    }
    end_free(&c.from);
    end_free(&c.to);
    for (int i = 0; i < n; i++)
        layout_free(&l[i]);
}

int main(int argc, char **argv)
{
    int provided, ndevices, nforms = 0;

    is_forbidden = argc > 1 && strcmp(argv[1], "forbidden") == 0;
    report_time_limit(540);
    rng_init(&rng, 1);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    ndevices = gpu_open();
    if (ndevices == 0)
        return 1;
    gpu_set_current(0);
    for (int i = 0; i < NTYPES; i++)
        layout_make(&layouts[i], makers[i] ());

    pairs_run(MEM__DEVICE, MEM__DEVICE, ROUNDS);
    if (!is_forbidden) {
        pairs_run(MEM__PINNED, MEM__DEVICE, 1);
        pairs_run(MEM__DEVICE, MEM__PINNED, 1);
    }
    if (ndevices > 1 && gpu_peers_enable()) {
        gpu_set_current(0);
        pairs_run(MEM__OTHER_DEVICE, MEM__DEVICE, 1);
        pairs_run(MEM__DEVICE, MEM__OTHER_DEVICE, 1);
        if (!is_forbidden) {
            planes_run(MEM__OTHER_DEVICE, MEM__DEVICE);
            planes_run(MEM__DEVICE, MEM__OTHER_DEVICE);
        }
    }
    for (int i = 0; i < MPII_GPUDT_NSTRATEGIES * MPII_GPUDT_NSTRATEGIES; i++)
        nforms += seen_forms[i / MPII_GPUDT_NSTRATEGIES][i % MPII_GPUDT_NSTRATEGIES];
    /* box, table, bitmap, list and tree at either end */
    CHECK(is_forbidden || nforms == 25);
    CHECK(is_forbidden || (seen_kernels[MPII_GPUDT_KERNEL__PAIR32] &&
                           seen_kernels[MPII_GPUDT_KERNEL__PAIR64] &&
                           seen_kernels[MPII_GPUDT_KERNEL__PAIRBOX] &&
                           seen_kernels[MPII_GPUDT_KERNEL__PAIRLIST] &&
                           seen_kernels[MPII_GPUDT_KERNEL__PAIRRUNS]));

    for (int i = 0; i < NTYPES; i++)
        layout_free(&layouts[i]);
    gpu_set_current(0);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
