/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Random epochs of one-sided communication, with windows, origins and results in any kind of
 * memory; half of the windows that MPI allocates are in GPU memory. Each epoch is also done on a window in
 * host memory with host buffers, and must leave the same bytes everywhere.
 *
 * An operation has a range of its own in the target's window. Only accumulates, with one operation
 * that commutes, go to a range that all processes share.
 *
 *     rma [SEED [EPOCHS [FIRST [OPS]]]]    an epoch of OPS operations, at most, does not depend on those
 *                                          before it; with an odd seed each process has a GPU of its
 *                                          own, if there are as many */

#include "randtype.h"
#include "report.h"
#include "twin.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPS = 100, MAX_RANKS = 8, FEW = 40, MANY = 70000 };

enum flavor { CREATE, DYNAMIC, ALLOCATE, SHARED, NFLAVORS };
enum sync { FENCE, PSCW, LOCK, LOCK_FLUSH, LOCK_ALL, LOCK_ALL_FLUSH, NSYNCS };
enum kind { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP, NKINDS };

static const char *const flavors[] = { "create", "dynamic", "allocate", "shared" };
static const char *const syncs[] =
    { "fence", "pscw", "lock", "lock and flush", "lock all", "lock all and flush" };
static const char *const kinds[] =
    { "put", "get", "accumulate", "get accumulate", "fetch and op", "compare and swap" };

/* A type for one end of an operation. */
struct end {
    MPI_Datatype type;
    int count;
    MPI_Aint hi;                /* bytes that it spans */
    struct twin t;              /* origin and result only */
    enum mem_kind mem;
    int shift;
};

struct op {
    enum kind kind;
    int origin, target;
    MPI_Datatype base;
    MPI_Op op;
    MPI_Aint n, disp;           /* elements; place in the window */
    bool is_request;            /* the request form */
    struct end at_origin, at_target, at_result, at_compare;
};

struct epoch {
    enum flavor flavor;
    enum sync sync;
    bool is_on_gpu;             /* memory that MPI allocates */
    enum mem_kind mem[MAX_RANKS];
    int nops;
    struct op op[MAX_OPS];
    MPI_Aint sz;                /* of each window */
    struct twin t;
    MPI_Win win[2];
    char *base;                 /* of the tested window */
    MPI_Aint addr[MAX_RANKS];   /* dynamic: where each process's window begins */
};

static int rank, nranks;
static long nmoved;
static int most_ops = 10;       /* of an epoch */
static bool is_node;            /* all processes can share memory */

static enum mem_kind mem_draw(struct rng *rng)
{
    enum mem_kind kind;

    do {
        kind = (enum mem_kind) rng_range(rng, 0, MEM__NKINDS - 1);
    } while (!mem_exists(kind));
    return kind;
}

/* Whether MPI allocates the window. */
static bool is_ours(const struct epoch *e)
{
    return e->flavor == ALLOCATE || e->flavor == SHARED;
}

/* ---- drawing an epoch: the same in all processes ---- */

/* A type and count of n elements of the base type, at displacements that are multiples of its
 * extent. */
static void end_draw(struct rng *rng, struct end *e, MPI_Datatype base, MPI_Aint n, bool is_plain)
{
    MPI_Aint lb, extent, displ[FEW];
    MPI_Datatype inner;
    int form = is_plain ? 0 : (int) rng_range(rng, 0, 5), group = (int) rng_range(rng, 1, 4);

    MPI_Type_get_extent(base, &lb, &extent);
    e->count = 1;
    e->mem = mem_draw(rng);
    e->shift = 0;
    if (form == 1) {
        MPI_Type_vector((int) n, 1, 2, base, &e->type);
    } else if (form == 2 && n % group == 0) {
        MPI_Type_vector((int) n / group, group, group + 1, base, &e->type);
    } else if (form == 3 && n <= FEW) {
        for (int i = 0; i < n; i++)
            displ[i] = (i ? displ[i - 1] + extent : 0) + extent * rng_range(rng, 0, 2);
        MPI_Type_create_hindexed_block((int) n, 1, displ, base, &e->type);
    } else if (form == 4) {
        MPI_Type_create_resized(base, 0, 3 * extent, &e->type);
        e->count = (int) n;
    } else if (form == 5 && n % group == 0) {
        int sizes[2] = { (int) (n / group) + 1, group + 2 }, starts[2] = { 1, 1 };
        int subsizes[2] = { (int) (n / group), group };
        MPI_Type_contiguous(1, base, &inner);
        MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, inner, &e->type);
        MPI_Type_free(&inner);
    } else {
        e->type = base;
        e->count = (int) n;
    }
    if (e->type != base)
        MPI_Type_commit(&e->type);
    e->hi = 4 * (n + 16) * extent;
}

static bool is_pair(MPI_Datatype base)
{
    return base == MPI_2INT || base == MPI_SHORT_INT || base == MPI_LONG_INT ||
        base == MPI_DOUBLE_INT;
}

static MPI_Op op_draw(struct rng *rng, MPI_Datatype base, enum kind kind)
{
    static const MPI_Op integer[] = { MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BXOR, MPI_LAND };
    static const MPI_Op real[] = { MPI_SUM, MPI_PROD, MPI_MAX };

    if (rng_chance(rng, 20))
        return MPI_REPLACE;
    if (kind != ACCUMULATE && rng_chance(rng, 20))
        return MPI_NO_OP;
    if (is_pair(base))
        return rng_chance(rng, 50) ? MPI_MINLOC : MPI_MAXLOC;
    if (base == MPI_DOUBLE || base == MPI_FLOAT)
        return real[rng_range(rng, 0, 2)];
    return integer[rng_range(rng, 0, 5)];
}

static void op_draw_all(struct rng *rng, struct op *o, enum sync sync, bool is_large)
{
    static const MPI_Datatype bases[] = { MPI_INT, MPI_INT64_T, MPI_SIGNED_CHAR, MPI_SHORT,
        MPI_DOUBLE, MPI_FLOAT, MPI_2INT, MPI_SHORT_INT, MPI_LONG_INT, MPI_DOUBLE_INT
    };
    bool is_one;

    o->kind = (enum kind) rng_range(rng, 0, NKINDS - 1);
    o->origin = (int) rng_range(rng, 0, nranks - 1);
    o->target = (int) rng_range(rng, rng_chance(rng, 5) ? -1 : 0, nranks - 1);
    o->is_request = sync >= LOCK && rng_chance(rng, 50);
    is_one = o->kind == FETCH_AND_OP || o->kind == COMPARE_AND_SWAP;
    o->base = bases[rng_range(rng, 0, o->kind == COMPARE_AND_SWAP ? 3 : 9)];
    o->op = op_draw(rng, o->base, o->kind);
    o->n = is_one ? 1 : rng_range(rng, 1, is_large ? MANY : FEW);
    end_draw(rng, &o->at_origin, o->base, o->n, is_one);
    end_draw(rng, &o->at_target, o->base, o->n, is_one);
    end_draw(rng, &o->at_result, o->base, o->n, is_one);
    end_draw(rng, &o->at_compare, o->base, o->n, true);
    if (o->kind == PUT || o->kind == GET)
        o->at_origin.shift = (int) rng_range(rng, 0, 15);
}

static void epoch_draw(struct epoch *e, struct rng *rng)
{
    bool is_large = rng_chance(rng, 15);
    struct op *first = NULL;

    e->flavor = (enum flavor) rng_range(rng, 0, NFLAVORS - 1);
    /* most of them where GPU memory may be */
    if (rng_chance(rng, 60))
        e->flavor = rng_chance(rng, 70) ? CREATE : DYNAMIC;
    if (e->flavor == SHARED && !is_node)
        e->flavor = ALLOCATE;
    e->is_on_gpu = is_ours(e) && rng_chance(rng, 50);
    e->sync = (enum sync) rng_range(rng, 0, NSYNCS - 1);
    for (int i = 0; i < nranks; i++)
        e->mem[i] = mem_draw(rng);
    e->nops = (int) rng_range(rng, 1, is_large ? 3 : most_ops);
    e->sz = 0;
    for (int i = 0; i < e->nops; i++) {
        struct op *o = &e->op[i];
        op_draw_all(rng, o, e->sync, is_large);
        o->disp = e->sz;
        if (o->kind == ACCUMULATE && o->op != MPI_REPLACE && o->base != MPI_DOUBLE &&
            o->base != MPI_FLOAT && !is_pair(o->base) && o->op != MPI_LAND && !first)
            first = o;
        e->sz += (o->at_target.hi + 63) / 64 * 64;
    }
    /* overlapping accumulates by all processes */
    for (int i = 0; first && i < e->nops; i++) {
        struct op *o = &e->op[i];
        if (o->kind == ACCUMULATE && o->base == first->base && o->n <= first->n) {
            o->op = first->op;
            o->disp = first->disp;
        }
    }
}

/* ---- contents ---- */

/* Values that are valid for a base type, in all of a range. */
static void values_fill(struct twin *t, MPI_Aint from, MPI_Aint to, MPI_Datatype base,
                        struct rng *rng)
{
    for (MPI_Aint at = from; at + 8 <= to; at += 8) {
        double d = (double) rng_range(rng, -4, 4);
        float f[2] = { (float) d, (float) rng_range(rng, -4, 4) };
        if (base == MPI_DOUBLE || (base == MPI_DOUBLE_INT && (at - from) % 16 == 0))
            memcpy(twin_at(t, at), &d, 8);
        else if (base == MPI_FLOAT)
            memcpy(twin_at(t, at), f, 8);
    }
}

static void end_make(struct end *e, MPI_Datatype base, unsigned seed)
{
    struct rng rng;

    rng_init(&rng, seed);
    twin_make(&e->t, e->mem, 0, e->hi, e->shift);
    twin_scramble(&e->t, seed);
    values_fill(&e->t, 0, e->hi, base, &rng);
    twin_write(&e->t);
    nmoved += mem_is_gpu(e->mem);
}

/* ---- windows ---- */

/* The info of a window that MPI allocates. */
static MPI_Info info_make(const struct epoch *e)
{
    MPI_Info info = MPI_INFO_NULL;

    if (e->is_on_gpu) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_memory_alloc_kinds", "cuda:device");
    }
    return info;
}

static void window_copy(const struct epoch *e, void *to, const void *from)
{
    if (e->is_on_gpu)
        CHECK(gpu.Memcpy((CUdeviceptr) to, (CUdeviceptr) from, (size_t) e->sz) == CUDA_SUCCESS);
    else
        memcpy(to, from, e->sz);
}

static void windows_make(struct epoch *e, unsigned seed)
{
    struct rng rng;
    MPI_Info info = info_make(e);
    MPI_Aint mine = 0;

    rng_init(&rng, seed);
    twin_make(&e->t, is_ours(e) ? MEM__PAGEABLE : e->mem[rank], 0, e->sz, 0);
    twin_scramble(&e->t, seed);
    for (int i = 0; i < e->nops; i++)
        values_fill(&e->t, e->op[i].disp, e->op[i].disp + e->op[i].at_target.hi, e->op[i].base,
                    &rng);
    twin_write(&e->t);
    CHECK_MPI(MPI_Win_create(e->t.buf[0], e->sz, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &e->win[0]));
    e->base = e->t.buf[1];
    if (e->flavor == CREATE) {
        CHECK_MPI(MPI_Win_create(e->base, e->sz, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &e->win[1]));
    } else if (e->flavor == DYNAMIC) {
        CHECK_MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &e->win[1]));
        CHECK_MPI(MPI_Win_attach(e->win[1], e->base, e->sz));
        MPI_Get_address(e->base, &mine);
    } else if (e->flavor == ALLOCATE) {
        CHECK_MPI(MPI_Win_allocate(e->sz, 1, info, MPI_COMM_WORLD, &e->base, &e->win[1]));
    } else {
        CHECK_MPI(MPI_Win_allocate_shared(e->sz, 1, info, MPI_COMM_WORLD, &e->base, &e->win[1]));
    }
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    if (is_ours(e))
        window_copy(e, e->base, twin_at(&e->t, 0));
    nmoved += is_ours(e) ? e->is_on_gpu : mem_is_gpu(e->mem[rank]);
    for (int w = 0; w < 2; w++)
        MPI_Win_set_errhandler(e->win[w], MPI_ERRORS_RETURN);
    MPI_Allgather(&mine, 1, MPI_AINT, e->addr, 1, MPI_AINT, MPI_COMM_WORLD);
}

static void windows_free(struct epoch *e, int number)
{
    if (is_ours(e))
        window_copy(e, e->t.buf[1], e->base);
    if (!twin_check(&e->t, "the window"))
        report_fail("... in epoch %d, rank %d: %s of %s memory, %s", number, rank,
                    flavors[e->flavor], e->is_on_gpu ? "allocated device" : mem_name(e->t.mem.kind),
                    syncs[e->sync]);
    if (e->flavor == DYNAMIC)
        CHECK_MPI(MPI_Win_detach(e->win[1], e->base));
    CHECK_MPI(MPI_Win_free(&e->win[0]));
    CHECK_MPI(MPI_Win_free(&e->win[1]));
    twin_free(&e->t);
}

/* ---- operations ---- */

/* Start an operation with the buffers of one of both windows. */
static void op_start(const struct epoch *e, struct op *o, int w)
{
    struct end *origin = &o->at_origin, *target = &o->at_target, *result = &o->at_result;
    int to = o->target < 0 ? MPI_PROC_NULL : o->target;
    MPI_Aint disp = o->disp + (w == 1 && to >= 0 ? e->addr[to] : 0);
    const void *from = o->op == MPI_NO_OP ? NULL : origin->t.buf[w];
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Win win = e->win[w];

#define ORIGIN origin->t.buf[w], origin->count, origin->type
#define TARGET to, disp, target->count, target->type
#define RESULT result->t.buf[w], result->count, result->type
    switch (o->kind) {
        case PUT:
            if (o->is_request)
                CHECK_MPI(MPI_Rput(ORIGIN, TARGET, win, &request));
            else
                CHECK_MPI(MPI_Put(ORIGIN, TARGET, win));
            break;
        case GET:
            if (o->is_request)
                CHECK_MPI(MPI_Rget(ORIGIN, TARGET, win, &request));
            else
                CHECK_MPI(MPI_Get(ORIGIN, TARGET, win));
            break;
        case ACCUMULATE:
            if (o->is_request)
                CHECK_MPI(MPI_Raccumulate(ORIGIN, TARGET, o->op, win, &request));
            else
                CHECK_MPI(MPI_Accumulate(ORIGIN, TARGET, o->op, win));
            break;
        case GET_ACCUMULATE:
            if (o->is_request)
                CHECK_MPI(MPI_Rget_accumulate(ORIGIN, RESULT, TARGET, o->op, win, &request));
            else
                CHECK_MPI(MPI_Get_accumulate(ORIGIN, RESULT, TARGET, o->op, win));
            break;
        case FETCH_AND_OP:
            CHECK_MPI(MPI_Fetch_and_op(from, result->t.buf[w], o->base, to, disp, o->op, win));
            break;
        default:
            CHECK_MPI(MPI_Compare_and_swap(origin->t.buf[w], o->at_compare.t.buf[w],
                                           result->t.buf[w], o->base, to, disp, win));
    }
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void begin(const struct epoch *e, MPI_Win win, MPI_Group all)
{
    if (e->sync == FENCE) {
        CHECK_MPI(MPI_Win_fence(0, win));
    } else if (e->sync == PSCW) {
        CHECK_MPI(MPI_Win_post(all, 0, win));
        CHECK_MPI(MPI_Win_start(all, 0, win));
    } else if (e->sync >= LOCK_ALL) {
        CHECK_MPI(MPI_Win_lock_all(0, win));
    }
}

static void end(const struct epoch *e, MPI_Win win)
{
    if (e->sync == FENCE) {
        CHECK_MPI(MPI_Win_fence(0, win));
    } else if (e->sync == PSCW) {
        CHECK_MPI(MPI_Win_complete(win));
        CHECK_MPI(MPI_Win_wait(win));
    } else if (e->sync >= LOCK_ALL) {
        if (e->sync == LOCK_ALL_FLUSH)
            CHECK_MPI(MPI_Win_flush_all(win));
        CHECK_MPI(MPI_Win_sync(win));
        CHECK_MPI(MPI_Win_unlock_all(win));
    }
}

/* One operation, under a lock of its own if so. */
static void op_do(const struct epoch *e, struct op *o, int w)
{
    bool is_locked = (e->sync == LOCK || e->sync == LOCK_FLUSH) && o->target >= 0;

    if (is_locked)
        CHECK_MPI(MPI_Win_lock(e->sync == LOCK ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, o->target,
                               0, e->win[w]));
    /* outside of an epoch only calls without a target would be valid, which MPICH refuses */
    if (is_locked || (e->sync != LOCK && e->sync != LOCK_FLUSH))
        op_start(e, o, w);
    if (is_locked && e->sync == LOCK_FLUSH) {
        CHECK_MPI(MPI_Win_flush_local(o->target, e->win[w]));
        CHECK_MPI(MPI_Win_flush(o->target, e->win[w]));
    }
    if (is_locked)
        CHECK_MPI(MPI_Win_unlock(o->target, e->win[w]));
}

static void end_check(struct end *e, const struct epoch *epoch, const struct op *o, int number,
                      const char *what)
{
    if (!twin_check(&e->t, what))
        report_fail("... in epoch %d, %s of %ld elements, rank %d to %d, %s memory, %s of %s memory, %s",
                    number, kinds[o->kind], (long) o->n, o->origin, o->target, mem_name(e->mem),
                    flavors[epoch->flavor],
                    o->target < 0 ? "no" : mem_name(epoch->mem[o->target]), syncs[epoch->sync]);
    twin_free(&e->t);
}

static void type_free(struct end *e, MPI_Datatype base)
{
    if (e->type != base)
        MPI_Type_free(&e->type);
}

static void epoch_do(unsigned seed, int number)
{
    static struct epoch e;
    struct rng rng;
    MPI_Group all;

    rng_init(&rng, (uint64_t) seed << 32 | (unsigned) number);
    epoch_draw(&e, &rng);
    windows_make(&e, seed + 131 * number + rank);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int i = 0; i < e.nops; i++) {
        struct op *o = &e.op[i];
        unsigned next = seed + 17 * number + 1000 * i;
        if (o->origin != rank)
            continue;
        end_make(&o->at_origin, o->base, next);
        end_make(&o->at_result, o->base, next + 1);
        end_make(&o->at_compare, o->base, next + 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int w = 0; w < 2; w++) {
        begin(&e, e.win[w], all);
        for (int i = 0; i < e.nops; i++) {
            if (e.op[i].origin == rank)
                op_do(&e, &e.op[i], w);
        }
        end(&e, e.win[w]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < e.nops; i++) {
        struct op *o = &e.op[i];
        if (o->origin == rank) {
            end_check(&o->at_origin, &e, o, number, "an origin");
            end_check(&o->at_result, &e, o, number, "a result");
            end_check(&o->at_compare, &e, o, number, "a compared value");
        }
    }
    windows_free(&e, number);
    for (int i = 0; i < e.nops; i++) {
        type_free(&e.op[i].at_origin, e.op[i].base);
        type_free(&e.op[i].at_target, e.op[i].base);
        type_free(&e.op[i].at_result, e.op[i].base);
        type_free(&e.op[i].at_compare, e.op[i].base);
    }
    MPI_Group_free(&all);
}

int main(int argc, char **argv)
{
    MPI_Comm node;
    int nnode;
    unsigned seed = argc > 1 ? (unsigned) atoi(argv[1]) : 1;
    int epochs = argc > 2 ? atoi(argv[2]) : 200, first = argc > 3 ? atoi(argv[3]) : 0, ngpus;

    most_ops = argc > 4 ? atoi(argv[4]) : most_ops;
    report_time_limit(60 + epochs);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    ngpus = gpu_open();
    if (ngpus == 0 || nranks > MAX_RANKS || most_ops < 1 || most_ops > MAX_OPS)
        return 1;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &nnode);
    MPI_Comm_free(&node);
    is_node = nnode == nranks;
    gpu_set_current(seed % 2 ? rank % ngpus : 0);
    for (int i = first; i < first + epochs; i++) {
        int before = report_failures;
        epoch_do(seed, i);
        if (report_failures != before)
            fprintf(stderr, "again: rma %u 1 %d %d\n", seed, i, most_ops);
    }
    CHECK(nmoved > 0);
    MPI_Finalize();
    return report_done();
}
