/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* See oracle.h. Must not share code with the engine. */

#include "oracle.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct oracle {
    int combiner;
    MPI_Datatype named;         /* if the combiner is NAMED */
    MPI_Aint extent;
    MPI_Aint size;
    /* arguments of the constructor, for all constructors and both forms */
    int large;
    int *ints;
    MPI_Aint *addresses;
    MPI_Count *counts;
    int ntypes;
    oracle **types;
};

static int contents_read(oracle * o, MPI_Datatype datatype, MPI_Count nints, MPI_Count naddresses,
                         MPI_Count ncounts, MPI_Count ntypes)
{
    MPI_Datatype *types = malloc((ntypes + 1) * sizeof(MPI_Datatype));
    int ok = 1;

    o->ints = malloc((nints + 1) * sizeof(int));
    o->addresses = malloc((naddresses + 1) * sizeof(MPI_Aint));
    o->counts = malloc((ncounts + 1) * sizeof(MPI_Count));
    o->types = calloc(ntypes + 1, sizeof(oracle *));
    if (!types || !o->ints || !o->addresses || !o->counts || !o->types) {
        free(types);
        return 0;
    }
    o->large = ncounts > 0;
    o->ntypes = (int) ntypes;
    MPI_Type_get_contents_c(datatype, nints, naddresses, ncounts, ntypes, o->ints, o->addresses,
                            o->counts, types);
    for (int i = 0; i < ntypes; i++) {
        MPI_Count unused[4];
        int combiner;

        o->types[i] = oracle_create(types[i]);
        ok = ok && o->types[i];
        MPI_Type_get_envelope_c(types[i], &unused[0], &unused[1], &unused[2], &unused[3],
                                &combiner);
        if (combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_INTEGER &&
            combiner != MPI_COMBINER_F90_REAL && combiner != MPI_COMBINER_F90_COMPLEX)
            MPI_Type_free(&types[i]);
    }
    free(types);
    return ok;
}

oracle *oracle_create(MPI_Datatype datatype)
{
    oracle *o = calloc(1, sizeof(oracle));
    MPI_Count nints, naddresses, ncounts, ntypes, size;
    MPI_Aint lb;

    if (!o)
        return NULL;
    MPI_Type_get_envelope_c(datatype, &nints, &naddresses, &ncounts, &ntypes, &o->combiner);
    MPI_Type_get_extent(datatype, &lb, &o->extent);
    MPI_Type_size_c(datatype, &size);
    o->size = size;
    o->named = datatype;
    if (o->combiner != MPI_COMBINER_NAMED &&
        !contents_read(o, datatype, nints, naddresses, ncounts, ntypes)) {
        oracle_free(o);
        return NULL;
    }
    return o;
}

void oracle_free(oracle * o)
{
    if (!o)
        return;
    for (int i = 0; i < o->ntypes; i++)
        oracle_free(o->types[i]);
    free(o->ints);
    free(o->addresses);
    free(o->counts);
    free(o->types);
    free(o);
}

struct walk {
    oracle_piece_fn piece;
    void *arg;
};

static void type_walk(const oracle * o, MPI_Aint at, const struct walk *w);

/* n consecutive types, an extent apart */
static void block_walk(const oracle * o, MPI_Aint n, MPI_Aint at, const struct walk *w)
{
    for (MPI_Aint i = 0; i < n; i++)
        type_walk(o, at + i * o->extent, w);
}

#define PAIR(ctype_, first_)                                                    \
    do {                                                                        \
        struct pair { ctype_ a; int b; };                                       \
        w->piece(w->arg, at, sizeof(ctype_), first_);                           \
        w->piece(w->arg, at + (MPI_Aint) offsetof(struct pair, b), sizeof(int), MPI_INT); \
    } while (0)

static void named_walk(const oracle * o, MPI_Aint at, const struct walk *w)
{
    if (o->named == MPI_FLOAT_INT)
        PAIR(float, MPI_FLOAT);
    else if (o->named == MPI_DOUBLE_INT)
        PAIR(double, MPI_DOUBLE);
    else if (o->named == MPI_LONG_INT)
        PAIR(long, MPI_LONG);
    else if (o->named == MPI_SHORT_INT)
        PAIR(short, MPI_SHORT);
    else if (o->named == MPI_LONG_DOUBLE_INT)
        PAIR(long double, MPI_LONG_DOUBLE);
    else if (o->size > 0)
        w->piece(w->arg, at, o->size, o->named);
}

/* The i-th integer argument of a constructor: ints, or counts in the large form. */
static MPI_Aint arg(const oracle * o, MPI_Aint i)
{
    return o->large ? (MPI_Aint) o->counts[i] : (MPI_Aint) o->ints[i];
}

static void indexed_walk(const oracle * o, MPI_Aint at, const struct walk *w)
{
    MPI_Aint n = arg(o, 0);

    for (MPI_Aint i = 0; i < n; i++) {
        MPI_Aint len = arg(o, 1 + i), displ;

        if (o->combiner == MPI_COMBINER_INDEXED)
            displ = arg(o, 1 + n + i) * o->types[0]->extent;
        else if (o->combiner == MPI_COMBINER_HINDEXED_INTEGER || o->large)
            displ = arg(o, 1 + n + i);
        else
            displ = o->addresses[i];
        block_walk(o->types[0], len, at + displ, w);
    }
}

static void indexed_block_walk(const oracle * o, MPI_Aint at, const struct walk *w)
{
    MPI_Aint n = arg(o, 0), len = arg(o, 1);

    for (MPI_Aint i = 0; i < n; i++) {
        MPI_Aint displ;

        if (o->combiner == MPI_COMBINER_INDEXED_BLOCK)
            displ = arg(o, 2 + i) * o->types[0]->extent;
        else
            displ = o->large ? (MPI_Aint) o->counts[2 + i] : o->addresses[i];
        block_walk(o->types[0], len, at + displ, w);
    }
}

static void struct_walk(const oracle * o, MPI_Aint at, const struct walk *w)
{
    MPI_Aint n = arg(o, 0);

    for (MPI_Aint i = 0; i < n; i++) {
        MPI_Aint displ;

        if (o->combiner == MPI_COMBINER_STRUCT_INTEGER || o->large)
            displ = arg(o, 1 + n + i);
        else
            displ = o->addresses[i];
        block_walk(o->types[i], arg(o, 1 + i), at + displ, w);
    }
}

static void vector_walk(const oracle * o, MPI_Aint at, const struct walk *w)
{
    MPI_Aint n = arg(o, 0), len = arg(o, 1), stride;

    if (o->combiner == MPI_COMBINER_VECTOR)
        stride = arg(o, 2) * o->types[0]->extent;
    else if (o->combiner == MPI_COMBINER_HVECTOR && !o->large)
        stride = o->addresses[0];
    else
        stride = arg(o, 2);
    for (MPI_Aint i = 0; i < n; i++)
        block_walk(o->types[0], len, at + i * stride, w);
}

static void subarray_walk(const oracle * o, MPI_Aint at, const struct walk *w)
{
    int ndims = o->ints[0];
    int fortran = (o->large ? o->ints[1] : o->ints[1 + 3 * ndims]) == MPI_ORDER_FORTRAN;
    MPI_Aint base = o->large ? 0 : 1, n = 1;

    for (int d = 0; d < ndims; d++)
        n *= arg(o, base + ndims + d);
    for (MPI_Aint i = 0; i < n; i++) {
        /* the element's index in the whole array, from its number in the subarray */
        MPI_Aint rest = i, index = 0, stride = 1;

        for (int k = 0; k < ndims; k++) {
            int d = fortran ? k : ndims - 1 - k;
            MPI_Aint size = arg(o, base + d), subsize = arg(o, base + ndims + d);
            MPI_Aint start = arg(o, base + 2 * ndims + d);

            index += (start + rest % subsize) * stride;
            rest /= subsize;
            stride *= size;
        }
        type_walk(o->types[0], at + index * o->types[0]->extent, w);
    }
}

/* The process that owns index i of a dimension. */
static MPI_Aint darray_owner(MPI_Aint i, MPI_Aint gsize, int distrib, int darg, int psize)
{
    if (distrib == MPI_DISTRIBUTE_NONE)
        return 0;
    if (distrib == MPI_DISTRIBUTE_BLOCK)
        return i / (darg == MPI_DISTRIBUTE_DFLT_DARG ? (gsize + psize - 1) / psize : darg);
    return i / (darg == MPI_DISTRIBUTE_DFLT_DARG ? 1 : darg) % psize;
}

static void darray_walk(const oracle * o, MPI_Aint at, const struct walk *w)
{
    int size = o->ints[0], rank = o->ints[1], ndims = o->ints[2];
    const int *distribs = o->large ? o->ints + 3 : o->ints + 3 + ndims;
    const int *dargs = distribs + ndims, *psizes = dargs + ndims;
    int fortran = psizes[ndims] == MPI_ORDER_FORTRAN;
    MPI_Aint base = o->large ? 0 : 3, n = 1;

    for (int d = 0; d < ndims; d++)
        n *= arg(o, base + d);
    /* every element of the whole array, in order; it is part of the type if this process owns its
     * index in each dimension */
    for (MPI_Aint i = 0; i < n; i++) {
        MPI_Aint rest = i;
        int mine = 1;

        for (int k = 0; k < ndims; k++) {
            int d = fortran ? k : ndims - 1 - k;
            int procs = size, place = rank;
            MPI_Aint gsize = arg(o, base + d);

            /* the process grid is in C order for both orders */
            for (int j = 0; j <= d; j++) {
                place %= procs;
                procs /= psizes[j];
            }
            mine = mine && darray_owner(rest % gsize, gsize, distribs[d], dargs[d],
                                        psizes[d]) == place / procs;
            rest /= gsize;
        }
        if (mine)
            type_walk(o->types[0], at + i * o->types[0]->extent, w);
    }
}

static void type_walk(const oracle * o, MPI_Aint at, const struct walk *w)
{
    /* large counts of empty types need no loop */
    if (o->size == 0)
        return;
    switch (o->combiner) {
        case MPI_COMBINER_NAMED:
            named_walk(o, at, w);
            break;
        case MPI_COMBINER_F90_INTEGER:
        case MPI_COMBINER_F90_REAL:
            w->piece(w->arg, at, o->size, MPI_DATATYPE_NULL);
            break;
        case MPI_COMBINER_F90_COMPLEX:
            w->piece(w->arg, at, o->size / 2, MPI_DATATYPE_NULL);
            w->piece(w->arg, at + o->size / 2, o->size / 2, MPI_DATATYPE_NULL);
            break;
        case MPI_COMBINER_DUP:
        case MPI_COMBINER_RESIZED:
            type_walk(o->types[0], at, w);
            break;
        case MPI_COMBINER_CONTIGUOUS:
            block_walk(o->types[0], arg(o, 0), at, w);
            break;
        case MPI_COMBINER_VECTOR:
        case MPI_COMBINER_HVECTOR:
        case MPI_COMBINER_HVECTOR_INTEGER:
            vector_walk(o, at, w);
            break;
        case MPI_COMBINER_INDEXED:
        case MPI_COMBINER_HINDEXED:
        case MPI_COMBINER_HINDEXED_INTEGER:
            indexed_walk(o, at, w);
            break;
        case MPI_COMBINER_INDEXED_BLOCK:
        case MPI_COMBINER_HINDEXED_BLOCK:
            indexed_block_walk(o, at, w);
            break;
        case MPI_COMBINER_STRUCT:
        case MPI_COMBINER_STRUCT_INTEGER:
            struct_walk(o, at, w);
            break;
        case MPI_COMBINER_SUBARRAY:
            subarray_walk(o, at, w);
            break;
        case MPI_COMBINER_DARRAY:
            darray_walk(o, at, w);
            break;
        default:
            abort();
    }
}

void oracle_walk(const oracle * o, MPI_Aint count, oracle_piece_fn piece, void *arg_)
{
    struct walk w = { piece, arg_ };

    block_walk(o, count, 0, &w);
}

struct span {
    MPI_Aint size, lo, hi;
};

static void span_piece(void *arg_, MPI_Aint off, MPI_Aint len, MPI_Datatype basic)
{
    struct span *span = arg_;

    (void) basic;
    if (span->size == 0 || off < span->lo)
        span->lo = off;
    if (span->size == 0 || off + len > span->hi)
        span->hi = off + len;
    span->size += len;
}

void oracle_span(const oracle * o, MPI_Aint count, MPI_Aint * size, MPI_Aint * lo, MPI_Aint * hi)
{
    struct span span = { 0, 0, 0 };

    oracle_walk(o, count, span_piece, &span);
    *size = span.size;
    *lo = span.lo;
    *hi = span.hi;
}

struct copy {
    char *buf;
    char *packed;
    MPI_Aint pos, first, last;
    int pack;
};

static void copy_piece(void *arg_, MPI_Aint off, MPI_Aint len, MPI_Datatype basic)
{
    struct copy *c = arg_;

    (void) basic;
    for (MPI_Aint i = 0; i < len; i++, c->pos++) {
        char *user = (char *) ((intptr_t) c->buf + off + i);

        if (c->pos < c->first || c->pos >= c->last)
            continue;
        if (c->pack)
            c->packed[c->pos - c->first] = *user;
        else
            *user = c->packed[c->pos - c->first];
    }
}

void oracle_pack(const oracle * o, const void *buf, MPI_Aint count, MPI_Aint first, MPI_Aint n,
                 void *packed)
{
    struct copy c = { (char *) (intptr_t) buf, packed, 0, first, first + n, 1 };

    oracle_walk(o, count, copy_piece, &c);
}

void oracle_unpack(const oracle * o, void *buf, MPI_Aint count, MPI_Aint first, MPI_Aint n,
                   const void *packed)
{
    struct copy c = { buf, (char *) (intptr_t) packed, 0, first, first + n, 0 };

    oracle_walk(o, count, copy_piece, &c);
}

struct seen {
    unsigned char *bytes;
    MPI_Aint lo;
    int twice;
};

static void seen_piece(void *arg_, MPI_Aint off, MPI_Aint len, MPI_Datatype basic)
{
    struct seen *seen = arg_;

    (void) basic;
    for (MPI_Aint i = off - seen->lo; i < off - seen->lo + len; i++) {
        seen->twice |= seen->bytes[i];
        seen->bytes[i] = 1;
    }
}

int oracle_overlaps(const oracle * o, MPI_Aint count)
{
    MPI_Aint size, hi;
    struct seen seen = { NULL, 0, 0 };

    oracle_span(o, count, &size, &seen.lo, &hi);
    seen.bytes = calloc(hi - seen.lo + 1, 1);
    if (!seen.bytes)
        return -1;
    oracle_walk(o, count, seen_piece, &seen);
    free(seen.bytes);
    return seen.twice;
}
