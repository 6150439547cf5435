/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests the memory that a type takes: independent of counts for regular types, a few records per
 * dimension for arrays, proportional to the members for structs, at most 24 bytes per block for
 * lists. */

#include "unit.h"
#include "randtype.h"

static struct MPII_Gpudt_serial serial_of(MPI_Datatype t)
{
    struct MPII_Gpudt_serial serial;

    if (!unit_serial(t, &serial))
        abort();
    return serial;
}

/* Sixteen levels, each with a different stride. */
static void test_regular(void)
{
    MPI_Datatype t = MPI_CHAR, outer, wide;
    struct MPII_Gpudt_serial s;

    for (int level = 0; level < 16; level++) {
        MPI_Aint lb, extent;

        MPI_Type_get_extent(t, &lb, &extent);
        if (level % 2) {
            MPI_Type_create_hvector(3, 2, 3 * extent, t, &outer);
        } else {
            MPI_Type_vector(2, 2, 3, t, &wide);
            MPI_Type_get_extent(wide, &lb, &extent);
            MPI_Type_create_resized(wide, -1, extent + 5, &outer);
            MPI_Type_free(&wide);
        }
        if (t != MPI_CHAR)
            MPI_Type_free(&t);
        t = outer;
    }
    s = serial_of(t);
    UNIT_CHECK(s.nrecords <= 2 * 16 + 1);
    UNIT_CHECK(s.lookaside_sz == 0 && s.lookaside == NULL);
    MPII_Gpudt_serial_free(&s);
    MPI_Type_free(&t);
}

/* A subarray of ten dimensions. */
static void test_subarray(void)
{
    MPI_Count sizes[10], subsizes[10], starts[10];
    MPI_Datatype t;
    struct MPII_Gpudt_serial s;

    for (int d = 0; d < 10; d++) {
        sizes[d] = 50;
        subsizes[d] = 33;
        starts[d] = d;
    }
    MPI_Type_create_subarray_c(10, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_CHAR, &t);
    s = serial_of(t);
    UNIT_CHECK(s.nrecords <= 10 && s.lookaside_sz == 0);
    MPII_Gpudt_serial_free(&s);
    MPI_Type_free(&t);
}

/* Distributed arrays: a large one with a remainder in each dimension. */
static void test_darray(void)
{
    int gsizes[] = { 1003, 2005, 107, 59 }, dargs[] = { 7, 3, 2, 5 }, psizes[] = { 3, 2, 4, 2 };
    int distribs[] = { MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC,
        MPI_DISTRIBUTE_CYCLIC
    };
    MPI_Datatype t;
    struct MPII_Gpudt_serial s;

    for (int rank = 0; rank < 48; rank += 5) {
        MPI_Type_create_darray(48, rank, 4, gsizes, distribs, dargs, psizes,
                               rank % 2 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, MPI_DOUBLE, &t);
        s = serial_of(t);
        /* a dimension is at most a struct of a VECTOR of VECTORs and a VECTOR, whose lists take 48
         * bytes, or a list of up to four times that size */
        UNIT_CHECK(s.nrecords <= 4 * 4 + 2);
        UNIT_CHECK(s.lookaside_sz <= 4 * 4 * 48);
        MPII_Gpudt_serial_free(&s);
        MPI_Type_free(&t);
    }
}

/* A struct of 1,500 members of 500 different kinds. */
static void test_struct(void)
{
    enum { N = 1500, KINDS = 500 };
    static MPI_Datatype kinds[KINDS], types[N];
    static int lens[N];
    static MPI_Aint displs[N];
    MPI_Datatype t;
    struct MPII_Gpudt_serial s;

    for (int i = 0; i < KINDS; i++)
        MPI_Type_create_hvector(20 + i, 1 + i % 3, 100 + i, MPI_CHAR, &kinds[i]);
    for (int i = 0; i < N; i++) {
        types[i] = kinds[i % KINDS];
        lens[i] = 1;
        displs[i] = (MPI_Aint) i * 500000;
    }
    MPI_Type_create_struct(N, lens, displs, types, &t);
    s = serial_of(t);
    /* a VECTOR per kind, and three BLOCKs for all */
    UNIT_CHECK(s.nrecords == 1 + KINDS + 3);
    UNIT_CHECK(s.lookaside_sz <= 24 * N);
    MPII_Gpudt_serial_free(&s);
    MPI_Type_free(&t);
    for (int i = 0; i < KINDS; i++)
        MPI_Type_free(&kinds[i]);
}

/* Structs of two of the struct below, sixteen deep: 65,536 leaves, but no more than two records per
 * level. Not committed, as MPICH would make a list of all leaves. */
static void test_shared(void)
{
    int lens[] = { 1, 2 };
    MPI_Datatype t, outer, types[2];
    struct MPII_Gpudt_serial s;
    MPI_Aint lb, extent;

    MPI_Type_vector(10, 1, 3, MPI_INT, &t);
    for (int level = 0; level < 16; level++) {
        MPI_Aint displs[2];

        MPI_Type_get_extent(t, &lb, &extent);
        displs[0] = 0;
        displs[1] = 2 * extent + 5;
        types[0] = types[1] = t;
        MPI_Type_create_struct(2, lens, displs, types, &outer);
        MPI_Type_free(&t);
        t = outer;
    }
    s = serial_of(t);
    UNIT_CHECK(s.nrecords <= 2 * 16 + 4);
    UNIT_CHECK(s.lookaside_sz <= 16 * 48);
    MPII_Gpudt_serial_free(&s);
    MPI_Type_free(&t);
}

/* Irregular lists of both kinds. */
static void test_lists(void)
{
    enum { N = 100000 };
    static MPI_Count lens[N], displs[N];
    struct rng rng;
    MPI_Datatype t;
    struct MPII_Gpudt_serial s;

    rng_init(&rng, 4711);
    for (int i = 0; i < N; i++) {
        lens[i] = rng_range(&rng, 1, 20);
        displs[i] = 21 * (MPI_Count) rng_range(&rng, 0, 1 << 30);
    }
    MPI_Type_indexed_c(N, lens, displs, MPI_INT, &t);
    s = serial_of(t);
    UNIT_CHECK(s.nrecords == 2 && s.records[0].kind == MPII_GPUDT_KIND__INDEXED);
    UNIT_CHECK(s.lookaside_sz <= 16 * N + 8);
    MPII_Gpudt_serial_free(&s);
    MPI_Type_free(&t);

    MPI_Type_create_indexed_block_c(N, 3, displs, MPI_INT, &t);
    s = serial_of(t);
    UNIT_CHECK(s.nrecords == 2 && s.records[0].kind == MPII_GPUDT_KIND__BLKINDEXED);
    UNIT_CHECK(s.lookaside_sz <= 8 * N);
    MPII_Gpudt_serial_free(&s);
    MPI_Type_free(&t);

    /* lengths of one or two: cut in blocks of one, which takes no more */
    for (int i = 0; i < N; i++)
        lens[i] = rng_range(&rng, 1, 2);
    MPI_Type_create_hindexed_c(N, lens, displs, MPI_SHORT, &t);
    s = serial_of(t);
    UNIT_CHECK(s.lookaside_sz <= 16 * N);
    MPII_Gpudt_serial_free(&s);
    MPI_Type_free(&t);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    test_regular();
    test_subarray();
    test_darray();
    test_struct();
    test_shared();
    test_lists();
    MPI_Finalize();
    return unit_done();
}
