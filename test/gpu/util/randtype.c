/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* See randtype.h. A type is made from the leaf outwards. Numbers are drawn so that sizes stay
 * within the limits. A type that covers too wide a range, or in tidy mode a byte twice, is
 * discarded and the type inside it is kept. */

#include "randtype.h"
#include "oracle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A library built without Fortran does not have these. */
#pragma weak MPI_Type_create_f90_integer
#pragma weak MPI_Type_create_f90_real
#pragma weak MPI_Type_create_f90_complex

/* MPICH's own engine aborts on dataloops nested deeper than 16, including the count of a call. */
#define MAX_LOOPS 15
#define MAX_LIST 24
#define MAX_MEMBERS 40

void rng_init(struct rng *rng, uint64_t seed)
{
    /* neighbouring seeds must not give shifted copies of one sequence */
    rng->state = seed;
    rng->state = rng_next(rng) ^ (seed << 32);
}

/* splitmix64 */
uint64_t rng_next(struct rng *rng)
{
    uint64_t z = (rng->state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

int64_t rng_range(struct rng *rng, int64_t lo, int64_t hi)
{
    return lo + (int64_t) (rng_next(rng) % (uint64_t) (hi - lo + 1));
}

int rng_chance(struct rng *rng, int percent)
{
    return rng_range(rng, 0, 99) < percent;
}

/* A type under construction. */
struct made {
    MPI_Datatype type;
    char *text;
    MPI_Aint size;
    MPI_Aint extent;
    MPI_Aint lo, hi;            /* range of bytes covered */
    int loops;                  /* upper bound of its dataloops' nesting depth */
};

struct maker {
    struct rng *rng;
    const struct randtype_opts *opts;
    int outside;                /* constructors still to be applied */
};

static char *text_format(const char *format, ...) __attribute__ ((format(printf, 1, 2)));

static char *text_format(const char *format, ...)
{
    va_list args;
    int len;
    char *text;

    va_start(args, format);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    text = malloc(len + 1);
    if (!text)
        abort();
    va_start(args, format);
    vsnprintf(text, len + 1, format, args);
    va_end(args);
    return text;
}

static char *text_numbers(const char *name, const MPI_Count * list, int n)
{
    char *text = text_format(" %s", name);

    for (int i = 0; i < n; i++) {
        char *longer = text_format("%s%c%lld", text, i ? ',' : '=', (long long) list[i]);

        free(text);
        text = longer;
    }
    return text;
}

static int is_predefined(MPI_Datatype type)
{
    MPI_Count unused[4];
    int combiner;

    MPI_Type_get_envelope_c(type, &unused[0], &unused[1], &unused[2], &unused[3], &combiner);
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER ||
        combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX;
}

void randtype_free(MPI_Datatype * datatype)
{
    if (!is_predefined(*datatype))
        MPI_Type_free(datatype);
    *datatype = MPI_DATATYPE_NULL;
}

static void made_free(struct made *m)
{
    randtype_free(&m->type);
    free(m->text);
    m->text = NULL;
}

/* Measure a type by its type map. Returns 1 if it is within the limits. */
static int made_measure(const struct maker *mk, struct made *m)
{
    oracle *o = oracle_create(m->type);
    MPI_Aint lb, size;
    MPI_Count size_c;
    int ok;

    if (!o)
        abort();
    MPI_Type_size_c(m->type, &size_c);
    m->size = size_c;
    MPI_Type_get_extent(m->type, &lb, &m->extent);
    ok = m->size <= mk->opts->max_size;
    if (ok) {
        oracle_span(o, 1, &size, &m->lo, &m->hi);
        ok = m->hi - m->lo <= mk->opts->max_span && m->lo >= -2 * mk->opts->max_span &&
            m->hi <= 2 * mk->opts->max_span && m->extent <= 4 * mk->opts->max_span &&
            m->extent >= -4 * mk->opts->max_span;
    }
    if (ok && mk->opts->tidy)
        ok = oracle_overlaps(o, 1) == 0;
    oracle_free(o);
    return ok;
}

static void leaf_make(const struct maker *mk, struct made *m)
{
    static const struct {
        MPI_Datatype type;
        const char *name;
    } leaves[] = {              /* first those of one primitive each: RANDTYPE_LEAVES */
        {MPI_BYTE, "BYTE"}, {MPI_CHAR, "CHAR"}, {MPI_SHORT, "SHORT"}, {MPI_INT, "INT"},
        {MPI_FLOAT, "FLOAT"}, {MPI_DOUBLE, "DOUBLE"}, {MPI_LONG_LONG, "LONG_LONG"},
        {MPI_LONG_DOUBLE, "LONG_DOUBLE"}, {MPI_C_DOUBLE_COMPLEX, "C_DOUBLE_COMPLEX"},
        {MPI_C_LONG_DOUBLE_COMPLEX, "C_LONG_DOUBLE_COMPLEX"}, {MPI_2INT, "2INT"},
        {MPI_FLOAT_INT, "FLOAT_INT"}, {MPI_DOUBLE_INT, "DOUBLE_INT"}, {MPI_LONG_INT, "LONG_INT"},
        {MPI_SHORT_INT, "SHORT_INT"}, {MPI_LONG_DOUBLE_INT, "LONG_DOUBLE_INT"}
    };
    int nleaves = sizeof(leaves) / sizeof(leaves[0]);
    int which = (int) (mk->opts->leaf ? mk->opts->leaf - 1 : rng_range(mk->rng, 0, nleaves + 2));

    /* the same cases with and without Fortran, except for these leaves */
    if (which >= nleaves && !MPI_Type_create_f90_integer)
        which -= nleaves;

    if (which < nleaves) {
        m->type = leaves[which].type;
        m->text = text_format("%s", leaves[which].name);
    } else if (which == nleaves) {
        MPI_Type_create_f90_integer((int) rng_range(mk->rng, 1, 18), &m->type);
        m->text = text_format("f90_integer");
    } else if (which == nleaves + 1) {
        MPI_Type_create_f90_real(rng_chance(mk->rng, 50) ? 6 : 15, MPI_UNDEFINED, &m->type);
        m->text = text_format("f90_real");
    } else {
        MPI_Type_create_f90_complex(rng_chance(mk->rng, 50) ? 6 : 15, MPI_UNDEFINED, &m->type);
        m->text = text_format("f90_complex");
    }
    m->loops = which > 10;
    made_measure(mk, m);
}

/* Number of children of a given size for a type: sometimes none, mostly a few, and fewer if other
 * constructors will be applied. */
static MPI_Aint draw_count(const struct maker *mk, const struct made *child, MPI_Aint most)
{
    MPI_Aint room = child->size > 0 ? mk->opts->max_size / child->size : most;

    if (mk->outside > 3 && rng_chance(mk->rng, 70))
        most = 1 + (mk->outside < 9);
    if (room > most)
        room = most;
    if (room < 1 || rng_chance(mk->rng, 4))
        return room < 1 ? 1 : 0;
    if (rng_chance(mk->rng, 15))
        return 1;
    if (rng_chance(mk->rng, 70) && room > 5)
        room = 5;
    return rng_range(mk->rng, 1, room);
}

/* A distance for blocks of len bytes: touching, a gap, backwards or, unless tidy, too short. */
static MPI_Aint draw_stride(const struct maker *mk, MPI_Aint len)
{
    MPI_Aint stride = len;

    switch (rng_range(mk->rng, 0, mk->outside > 3 ? 2 : 5)) {
        case 0:
            break;
        case 1:
            stride += rng_range(mk->rng, 1, 8);
            break;
        case 2:
            stride += 8 * rng_range(mk->rng, 1, 8);
            break;
        case 3:
            stride *= rng_range(mk->rng, 2, 4);
            break;
        case 4:
            stride += rng_range(mk->rng, 0, 200);
            break;
        case 5:
            if (!mk->opts->tidy)
                stride = rng_range(mk->rng, -len, len);
            break;
    }
    return rng_chance(mk->rng, 20) ? -stride : stride;
}

/* Displacements for n blocks of `len` each: equally spaced, in order with gaps, shuffled, or
 * anything. */
static void draw_displs(const struct maker *mk, int n, MPI_Aint len, MPI_Count * displs)
{
    MPI_Aint at = rng_chance(mk->rng, 50) ? 0 : rng_range(mk->rng, -100, 100);
    MPI_Aint stride = draw_stride(mk, len);
    int way = (int) rng_range(mk->rng, 0, mk->opts->tidy ? 3 : 4);

    for (int i = 0; i < n; i++) {
        displs[i] = at;
        if (way == 0)
            at += stride;
        else if (way == 4)
            at = rng_range(mk->rng, -50, 50) * (len ? len : 1) / (rng_chance(mk->rng, 50) ? 1 : 2);
        else
            at += len + (rng_chance(mk->rng, 40) ? 0 : rng_range(mk->rng, 0, 3 * len));
    }
    for (int i = 0; way == 2 && i < n; i++) {
        int j = (int) rng_range(mk->rng, 0, n - 1);
        MPI_Count swap = displs[i];

        displs[i] = displs[j];
        displs[j] = swap;
    }
}

/* Maximum distance of one block of n children from the next. */
static MPI_Aint block_reach(const struct made *child, MPI_Aint n)
{
    MPI_Aint reach = child->extent < 0 ? -child->extent : child->extent;

    if (reach < child->hi - child->lo)
        reach = child->hi - child->lo;
    return n > 0 ? n * reach : reach;
}

/* The same distance counted in extents, for the constructors that count in types. */
static MPI_Aint in_extents(const struct made *child, MPI_Aint bytes)
{
    MPI_Aint extent = child->extent < 0 ? -child->extent : child->extent;

    return extent == 0 ? bytes % 50 : (bytes + (bytes > 0 ? extent - 1 : 0)) / extent;
}

static void contiguous_make(const struct maker *mk, const struct made *child, struct made *m)
{
    MPI_Aint n = draw_count(mk, child, 1000);

    if (rng_chance(mk->rng, 30))
        MPI_Type_contiguous_c(n, child->type, &m->type);
    else
        MPI_Type_contiguous((int) n, child->type, &m->type);
    m->text = text_format("contiguous %ld", (long) n);
}

static void vector_make(const struct maker *mk, const struct made *child, struct made *m)
{
    struct made block = *child;
    MPI_Aint len = draw_count(mk, child, 200), n, stride;
    int large = rng_chance(mk->rng, 30);

    block.size = child->size * (len ? len : 1);
    n = draw_count(mk, &block, 200);
    stride = draw_stride(mk, block_reach(child, len));
    if (rng_chance(mk->rng, 50)) {
        if (large)
            MPI_Type_create_hvector_c(n, len, stride, child->type, &m->type);
        else
            MPI_Type_create_hvector((int) n, (int) len, stride, child->type, &m->type);
        m->text = text_format("hvector %ld x %ld stride %ld", (long) n, (long) len, (long) stride);
    } else {
        stride = in_extents(child, stride);
        if (large)
            MPI_Type_vector_c(n, len, stride, child->type, &m->type);
        else
            MPI_Type_vector((int) n, (int) len, (int) stride, child->type, &m->type);
        m->text = text_format("vector %ld x %ld stride %ld", (long) n, (long) len, (long) stride);
    }
}

/* The four list constructors, each in two forms. */
static void list_make(const struct maker *mk, const struct made *child, struct made *m)
{
    MPI_Count lens[MAX_LIST], displs[MAX_LIST], longest = 0;
    int ints[MAX_LIST], int_lens[MAX_LIST];
    MPI_Aint aints[MAX_LIST];
    int n = (int) rng_range(mk->rng, 0, rng_chance(mk->rng, 80) ? 6 : MAX_LIST);
    int equal = rng_chance(mk->rng, 40), in_bytes = rng_chance(mk->rng, 50);
    int large = rng_chance(mk->rng, 30);
    char *len_text, *displ_text;

    /* MPICH 4.0.2 fails an assertion if the displacements of an indexed type, counted in types of
     * extent 0, differ */
    if (child->extent == 0)
        in_bytes = 1;
    for (int i = 0; i < n; i++) {
        struct made share = *child;

        share.size = child->size * n;
        lens[i] = equal && i > 0 ? lens[0] : draw_count(mk, &share, 20);
        int_lens[i] = (int) lens[i];
        if (lens[i] > longest)
            longest = lens[i];
    }
    draw_displs(mk, n, block_reach(child, longest), displs);
    for (int i = 0; i < n; i++) {
        if (!in_bytes)
            displs[i] = in_extents(child, displs[i]);
        ints[i] = (int) displs[i];
        aints[i] = displs[i];
    }

    if (equal && in_bytes && large)
        MPI_Type_create_hindexed_block_c(n, n ? lens[0] : 1, displs, child->type, &m->type);
    else if (equal && in_bytes)
        MPI_Type_create_hindexed_block(n, n ? int_lens[0] : 1, aints, child->type, &m->type);
    else if (equal && large)
        MPI_Type_create_indexed_block_c(n, n ? lens[0] : 1, displs, child->type, &m->type);
    else if (equal)
        MPI_Type_create_indexed_block(n, n ? int_lens[0] : 1, ints, child->type, &m->type);
    else if (in_bytes && large)
        MPI_Type_create_hindexed_c(n, lens, displs, child->type, &m->type);
    else if (in_bytes)
        MPI_Type_create_hindexed(n, int_lens, aints, child->type, &m->type);
    else if (large)
        MPI_Type_indexed_c(n, lens, displs, child->type, &m->type);
    else
        MPI_Type_indexed(n, int_lens, ints, child->type, &m->type);

    len_text = text_numbers("len", lens, equal && n > 1 ? 1 : n);
    displ_text = text_numbers("displ", displs, n);
    m->text = text_format("%sindexed%s%s%s", in_bytes ? "h" : "", equal ? "_block" : "", len_text,
                          displ_text);
    free(len_text);
    free(displ_text);
}

static void resized_make(const struct maker *mk, const struct made *child, struct made *m)
{
    MPI_Aint lb = rng_chance(mk->rng, 60) ? 0 : rng_range(mk->rng, -64, 64);
    MPI_Aint extent = draw_stride(mk, child->hi - child->lo);

    if (!mk->opts->tidy && rng_chance(mk->rng, 10))
        extent = 0;
    if (rng_chance(mk->rng, 30))
        MPI_Type_create_resized_c(child->type, lb, extent, &m->type);
    else
        MPI_Type_create_resized(child->type, lb, extent, &m->type);
    m->text = text_format("resized lb %ld extent %ld", (long) lb, (long) extent);
}

static void dup_make(const struct maker *mk, const struct made *child, struct made *m)
{
    (void) mk;
    MPI_Type_dup(child->type, &m->type);
    m->text = text_format("dup");
}

static void subarray_make(const struct maker *mk, const struct made *child, struct made *m)
{
    int n = (int) rng_range(mk->rng, 1, 4);
    int order = rng_chance(mk->rng, 50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    MPI_Count sizes[4], subsizes[4], starts[4];
    int int_sizes[4], int_subsizes[4], int_starts[4];
    struct made box = *child;
    char *text[3];

    for (int d = 0; d < n; d++) {
        subsizes[d] = draw_count(mk, &box, 20);
        if (subsizes[d] == 0)
            subsizes[d] = 1;
        box.size *= subsizes[d];
        starts[d] = rng_chance(mk->rng, 40) ? 0 : rng_range(mk->rng, 0, 4);
        sizes[d] = starts[d] + subsizes[d] + (rng_chance(mk->rng, 40) ? 0 :
                                              rng_range(mk->rng, 0, 4));
        int_sizes[d] = (int) sizes[d];
        int_subsizes[d] = (int) subsizes[d];
        int_starts[d] = (int) starts[d];
    }
    if (rng_chance(mk->rng, 30))
        MPI_Type_create_subarray_c(n, sizes, subsizes, starts, order, child->type, &m->type);
    else
        MPI_Type_create_subarray(n, int_sizes, int_subsizes, int_starts, order, child->type,
                                 &m->type);
    text[0] = text_numbers("of", sizes, n);
    text[1] = text_numbers("take", subsizes, n);
    text[2] = text_numbers("at", starts, n);
    m->text = text_format("subarray %s%s%s%s", order == MPI_ORDER_C ? "C" : "Fortran", text[0],
                          text[1], text[2]);
    for (int i = 0; i < 3; i++)
        free(text[i]);
}

static void darray_make(const struct maker *mk, const struct made *child, struct made *m)
{
    int n = (int) rng_range(mk->rng, 1, 3), size = 1, rank;
    int order = rng_chance(mk->rng, 50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    int gsizes[3], distribs[3], dargs[3], psizes[3];
    MPI_Count large_gsizes[3], show[12];
    struct made box = *child;
    char *text;

    for (int d = 0; d < n; d++) {
        gsizes[d] = (int) draw_count(mk, &box, 12);
        if (gsizes[d] == 0)
            gsizes[d] = 1;
        box.size *= gsizes[d];
        large_gsizes[d] = gsizes[d];
        distribs[d] = rng_chance(mk->rng, 50) ? MPI_DISTRIBUTE_CYCLIC :
            rng_chance(mk->rng, 70) ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_NONE;
        psizes[d] = distribs[d] == MPI_DISTRIBUTE_NONE ? 1 : (int) rng_range(mk->rng, 1, 3);
        dargs[d] = MPI_DISTRIBUTE_DFLT_DARG;
        if (distribs[d] == MPI_DISTRIBUTE_CYCLIC && rng_chance(mk->rng, 60))
            dargs[d] = (int) rng_range(mk->rng, 1, 5);
        if (distribs[d] == MPI_DISTRIBUTE_BLOCK && rng_chance(mk->rng, 40))
            dargs[d] = (gsizes[d] + psizes[d] - 1) / psizes[d] + (int) rng_range(mk->rng, 0, 2);
        size *= psizes[d];
        show[4 * d] = gsizes[d];
        show[4 * d + 1] = distribs[d];
        show[4 * d + 2] = dargs[d];
        show[4 * d + 3] = psizes[d];
    }
    rank = (int) rng_range(mk->rng, 0, size - 1);
    if (rng_chance(mk->rng, 30))
        MPI_Type_create_darray_c(size, rank, n, large_gsizes, distribs, dargs, psizes, order,
                                 child->type, &m->type);
    else
        MPI_Type_create_darray(size, rank, n, gsizes, distribs, dargs, psizes, order, child->type,
                               &m->type);
    text = text_numbers("gsize,distrib,darg,psize", show, 4 * n);
    m->text = text_format("darray %s rank %d of %d%s", order == MPI_ORDER_C ? "C" : "Fortran",
                          rank, size, text);
    free(text);
}

static void type_make(const struct maker *mk, int depth, struct made *m);

/* A struct has other children besides the given one, and some members share a type. */
static void struct_make(const struct maker *mk, const struct made *child, int depth, struct made *m)
{
    int n = (int) rng_range(mk->rng, 0, rng_chance(mk->rng, 80) ? 4 : MAX_MEMBERS);
    struct made members[MAX_MEMBERS];
    int made_here[MAX_MEMBERS] = { 0 };
    MPI_Datatype types[MAX_MEMBERS];
    MPI_Count lens[MAX_MEMBERS], displs[MAX_MEMBERS];
    int int_lens[MAX_MEMBERS];
    MPI_Aint aints[MAX_MEMBERS], reach = 1;
    char *list_text, *text;
    struct randtype_opts smaller = *mk->opts;
    struct maker inner = { mk->rng, &smaller, 0 };

    smaller.max_size = mk->opts->max_size / (n ? n : 1);
    if (smaller.max_size < 64)
        smaller.max_size = 64;
    for (int i = 0; i < n; i++) {
        if (i == 0) {
            members[i] = *child;
        } else if (rng_chance(mk->rng, 40)) {
            members[i] = members[rng_range(mk->rng, 0, i - 1)];
        } else {
            type_make(&inner, (int) rng_range(mk->rng, 0, depth > 3 ? 3 : depth), &members[i]);
            made_here[i] = 1;
        }
        lens[i] = members[i].size > smaller.max_size ? 1 : draw_count(&inner, &members[i], 10);
        int_lens[i] = (int) lens[i];
        types[i] = members[i].type;
        if (block_reach(&members[i], lens[i]) > reach)
            reach = block_reach(&members[i], lens[i]);
        if (members[i].loops + 1 > m->loops)
            m->loops = members[i].loops + 1;
    }
    draw_displs(mk, n, reach, displs);
    for (int i = 0; i < n; i++)
        aints[i] = displs[i];
    if (rng_chance(mk->rng, 30))
        MPI_Type_create_struct_c(n, lens, displs, types, &m->type);
    else
        MPI_Type_create_struct(n, int_lens, aints, types, &m->type);

    list_text = text_numbers("len", lens, n);
    m->text = text_numbers("displ", displs, n);
    text = text_format("struct%s%s", list_text, m->text);
    free(list_text);
    free(m->text);
    for (int i = 1; i < n; i++) {
        list_text = text_format("%s %d:%s%s%s", text, i, made_here[i] ? "[" : "(",
                                made_here[i] ? members[i].text : "again",
                                made_here[i] ? "]" : ")");
        free(text);
        text = list_text;
    }
    m->text = text;
    for (int i = 0; i < n; i++) {
        if (made_here[i])
            made_free(&members[i]);
    }
}

/* Apply one constructor to a type, which is consumed. */
static void type_wrap(const struct maker *mk, int depth, struct made *m)
{
    static void (*const makers[]) (const struct maker *, const struct made *, struct made *) = {
        resized_make, resized_make, dup_make, contiguous_make, vector_make, vector_make, list_make,
        list_make, list_make, subarray_make, darray_make
    };
    int nmakers = sizeof(makers) / sizeof(makers[0]);
    int which = (int) rng_range(mk->rng, 0, nmakers + 1);
    /* the first three add no dataloop */
    struct made outer = { MPI_DATATYPE_NULL, NULL, 0, 0, 0, 0, m->loops + (which > 2) };

    if (which < nmakers)
        makers[which] (mk, m, &outer);
    else
        struct_make(mk, m, depth, &outer);

    if (made_measure(mk, &outer) && outer.loops <= MAX_LOOPS) {
        char *text = text_format("%s [%s]", outer.text, m->text);

        free(outer.text);
        outer.text = text;
        made_free(m);
        *m = outer;
    } else {
        made_free(&outer);
    }
}

static void type_make(const struct maker *mk, int depth, struct made *m)
{
    struct maker level = *mk;

    leaf_make(mk, m);
    for (int i = 0; i < depth; i++) {
        level.outside = depth - 1 - i;
        type_wrap(&level, i, m);
    }
}

MPI_Datatype randtype_make(struct rng *rng, const struct randtype_opts *opts, char **text)
{
    struct maker mk = { rng, opts, 0 };
    struct made m;

    type_make(&mk, (int) rng_range(rng, 1, opts->max_depth), &m);
    MPI_Type_commit(&m.type);
    if (text)
        *text = m.text;
    else
        free(m.text);
    return m.type;
}

MPI_Datatype randtype_absolute(MPI_Datatype datatype, const void *address)
{
    MPI_Aint displ;
    MPI_Datatype absolute;

    MPI_Get_address(address, &displ);
    MPI_Type_create_hindexed_block(1, 1, &displ, datatype, &absolute);
    MPI_Type_commit(&absolute);
    return absolute;
}
