/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that distributed arrays in host memory are packed and unpacked as the standard defines:
 * random ones of two to four dimensions, every distribution, both orders, against the type map. The
 * first case is wrong in MPICH's release: blocks of a cyclic distribution in a dimension slower
 * than one that is distributed by blocks.
 *
 * Usage: darray [cases] [first seed]. A failure prints the seed: rerun with "1 seed". */

#include "oracle.h"
#include "randtype.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIMS 4
#define MAX_GSIZE 12
#define GUARD 64                /* bytes before and after */

struct darray {
    int ndims, nprocs, rank, order;
    int gsizes[MAX_DIMS], distribs[MAX_DIMS], dargs[MAX_DIMS], psizes[MAX_DIMS];
};

static void darray_draw(struct rng *rng, struct darray *d)
{
    d->ndims = (int) rng_range(rng, 2, MAX_DIMS);
    d->order = rng_chance(rng, 50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    d->nprocs = 1;
    for (int i = 0; i < d->ndims; i++) {
        int kind = (int) rng_range(rng, 0, 4);

        d->gsizes[i] = (int) rng_range(rng, 1, d->ndims == 4 ? MAX_GSIZE / 2 : MAX_GSIZE);
        d->distribs[i] = kind == 0 ? MPI_DISTRIBUTE_NONE :
            kind < 3 ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC;
        d->psizes[i] = kind == 0 ? 1 : (int) rng_range(rng, 1, 3);
        d->dargs[i] = MPI_DISTRIBUTE_DFLT_DARG;
        if (d->distribs[i] == MPI_DISTRIBUTE_CYCLIC && rng_chance(rng, 80))
            d->dargs[i] = (int) rng_range(rng, 1, 5);
        if (d->distribs[i] == MPI_DISTRIBUTE_BLOCK && rng_chance(rng, 40))
            d->dargs[i] = (d->gsizes[i] + d->psizes[i] - 1) / d->psizes[i] +
                (int) rng_range(rng, 0, 2);
        d->nprocs *= d->psizes[i];
    }
    d->rank = (int) rng_range(rng, 0, d->nprocs - 1);
}

static MPI_Datatype darray_make(const struct darray *d, MPI_Datatype element)
{
    MPI_Datatype type;

    MPI_Type_create_darray(d->nprocs, d->rank, d->ndims, d->gsizes, d->distribs, d->dargs,
                           d->psizes, d->order, element, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Elements of distinct bytes, some with a gap or a lower bound. */
static MPI_Datatype element_draw(struct rng *rng)
{
    const int lengths[2] = { 1, 2 };
    const MPI_Aint displs[2] = { 4, 8 };
    const MPI_Datatype members[2] = { MPI_SHORT, MPI_BYTE };
    MPI_Datatype plain, type;

    switch (rng_range(rng, 0, 3)) {
        case 0:
            MPI_Type_contiguous(1, MPI_BYTE, &type);
            break;
        case 1:
            MPI_Type_vector(2, 1, 2, MPI_SHORT, &type);
            break;
        case 2:
            MPI_Type_create_struct(2, lengths, displs, members, &plain);
            MPI_Type_create_resized(plain, 4, 12, &type);
            MPI_Type_free(&plain);
            break;
        default:
            MPI_Type_contiguous(1, MPI_INT, &plain);
            MPI_Type_create_resized(plain, 0, 7, &type);
            MPI_Type_free(&plain);
            break;
    }
    return type;
}

static unsigned char *bytes_new(size_t n, unsigned seed)
{
    unsigned char *bytes = malloc(n ? n : 1);

    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char) (i * 31 + (i >> 8) * 7 + seed);
    return bytes;
}

static void type_check(MPI_Datatype type, const char *name)
{
    oracle *map = oracle_create(type);
    MPI_Aint size, lo, hi;
    int position = 0;

    oracle_span(map, 1, &size, &lo, &hi);
    size_t span = (size_t) (hi - lo) + 2 * GUARD;
    unsigned char *buf = bytes_new(span, 1), *back = bytes_new(span, 2), *expected_back =
        bytes_new(span, 2);
    unsigned char *packed = bytes_new((size_t) size, 3), *expected = bytes_new((size_t) size, 4);

    oracle_pack(map, buf + GUARD - lo, 1, 0, size, expected);
    CHECK_MPI(MPI_Pack(buf + GUARD - lo, 1, type, packed, (int) size, &position, MPI_COMM_SELF));
    if (position != size)
        report_fail("%s: %d bytes were packed, not %ld", name, position, (long) size);
    report_compare(name, packed, expected, (size_t) size);

    position = 0;
    oracle_unpack(map, expected_back + GUARD - lo, 1, 0, size, expected);
    CHECK_MPI(MPI_Unpack(expected, (int) size, &position, back + GUARD - lo, 1, type,
                         MPI_COMM_SELF));
    report_compare(name, back, expected_back, span);

    free(buf);
    free(back);
    free(expected_back);
    free(packed);
    free(expected);
    oracle_free(map);
}

static void known_check(void)
{
    const unsigned char expected[] = { 0, 1, 4, 5, 8, 9, 24, 25, 28, 29 };
    const struct darray known = { 2, 4, 0, MPI_ORDER_C, {8, 4},
        {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, {3, MPI_DISTRIBUTE_DFLT_DARG}, {2, 2}
    };
    MPI_Datatype type = darray_make(&known, MPI_BYTE);
    unsigned char array[32], packed[sizeof(expected)];
    int position = 0;

    for (int i = 0; i < 32; i++)
        array[i] = (unsigned char) i;
    memset(packed, 0, sizeof(packed));
    CHECK_MPI(MPI_Pack(array, 1, type, packed, sizeof(packed), &position, MPI_COMM_SELF));
    report_compare("8 x 4, cyclic(3) by block", packed, expected, sizeof(expected));
    MPI_Type_free(&type);
}

static void seed_check(unsigned long seed)
{
    struct rng rng;
    struct darray d;
    MPI_Datatype element, type;
    char name[64];

    rng_init(&rng, seed);
    snprintf(name, sizeof(name), "seed %lu", seed);
    darray_draw(&rng, &d);
    element = element_draw(&rng);
    type = darray_make(&d, element);
    type_check(type, name);
    MPI_Type_free(&element);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 4000;
    unsigned long first = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;

    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    known_check();
    for (long i = 0; i < n; i++)
        seed_check(first + (unsigned long) i);
    MPI_Finalize();
    return report_done();
}
