/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests canonical forms by example: layouts that must become equal records although they were built
 * differently, and records of a given form. Every type is also compared with its type map. */

#include "unit.h"

/* A library built without Fortran does not have it. */
#pragma weak MPI_Type_create_f90_real

static struct MPII_Gpudt_serial serial_of(MPI_Datatype t, const char *name)
{
    struct MPII_Gpudt_serial serial;

    unit_check_type(t, name);
    if (!unit_serial(t, &serial))
        abort();
    return serial;
}

/* Two types must be the same; both are freed. */
static void expect_same(const char *name, MPI_Datatype a, MPI_Datatype b)
{
    struct MPII_Gpudt_serial sa = serial_of(a, name), sb = serial_of(b, name);

    if (!unit_serial_equal(&sa, &sb)) {
        char *ta, *tb;

        MPII_Gpudt_debug_serial(&sa, 8, &ta);
        MPII_Gpudt_debug_serial(&sb, 8, &tb);
        unit_fail("%s: differ\n%sand\n%s", name, ta, tb);
        MPL_free(ta);
        MPL_free(tb);
    }
    MPII_Gpudt_serial_free(&sa);
    MPII_Gpudt_serial_free(&sb);
    MPI_Type_free(&a);
    MPI_Type_free(&b);
}

static MPI_Datatype resized(MPI_Datatype t, MPI_Aint lb, MPI_Aint extent, int free_inner)
{
    MPI_Datatype out;

    MPI_Type_create_resized(t, lb, extent, &out);
    if (free_inner)
        MPI_Type_free(&t);
    return out;
}

static MPI_Datatype hindexed(int n, const int *lens, const MPI_Aint * displs, MPI_Datatype t,
                             int free_inner)
{
    MPI_Datatype out;

    MPI_Type_create_hindexed(n, lens, displs, t, &out);
    if (free_inner)
        MPI_Type_free(&t);
    return out;
}

static MPI_Datatype hindexed_block(int n, int len, const MPI_Aint * displs, MPI_Datatype t,
                                   int free_inner)
{
    MPI_Datatype out;

    MPI_Type_create_hindexed_block(n, len, displs, t, &out);
    if (free_inner)
        MPI_Type_free(&t);
    return out;
}

static MPI_Datatype hvector(int n, int len, MPI_Aint stride, MPI_Datatype t, int free_inner)
{
    MPI_Datatype out;

    MPI_Type_create_hvector(n, len, stride, t, &out);
    if (free_inner)
        MPI_Type_free(&t);
    return out;
}

static MPI_Datatype structure(int n, const int *lens, const MPI_Aint * displs, MPI_Datatype * types)
{
    MPI_Datatype out;

    MPI_Type_create_struct(n, lens, displs, types, &out);
    return out;
}

/* A list of constant length and stride is a vector, in every form of the list. */
static void test_list_is_vector(void)
{
    enum { N = 11 };
    int lens[N], displs[N];
    MPI_Aint bytes[N], backward[N];
    MPI_Count large_lens[N], large_displs[N];
    MPI_Datatype t;

    for (int i = 0; i < N; i++) {
        lens[i] = 3;
        large_lens[i] = 3;
        displs[i] = 5 + 7 * i;
        bytes[i] = (5 + 7 * i) * 4;
        large_displs[i] = 5 + 7 * i;
        backward[i] = -40 * i;
    }
    MPI_Aint at = 20;
    MPI_Type_indexed(N, lens, displs, MPI_INT, &t);
    expect_same("indexed, vector", t,
                hindexed_block(1, 1, &at, hvector(N, 3, 28, MPI_INT, 0), 1));
    MPI_Type_indexed_c(N, large_lens, large_displs, MPI_FLOAT, &t);
    expect_same("large indexed, vector of bytes", t,
                hindexed_block(1, 1, &at, hvector(N, 12, 28, MPI_BYTE, 0), 1));
    MPI_Type_create_indexed_block(N, 3, displs, MPI_INT, &t);
    expect_same("indexed block, vector", t,
                hindexed_block(1, 1, &at, hvector(N, 3, 28, MPI_INT, 0), 1));
    expect_same("hindexed, hindexed block", hindexed(N, lens, bytes, MPI_INT, 0),
                hindexed_block(N, 3, bytes, MPI_INT, 0));
    expect_same("backward list, vector", hindexed(N, lens, backward, MPI_INT, 0),
                hvector(N, 3, -40, MPI_INT, 0));
}

/* Lists of different lengths: the same layout, however described, has one form. */
static void test_irregular(void)
{
    int lens[] = { 3, 9, 5 }, split[] = { 1, 2, 0, 4, 5, 5, 0 };
    int byte_lens[] = { 12, 36, 20 }, one[] = { 1, 1, 1 };
    MPI_Aint displs[] = { 100, 0, 60 }, split_displs[] = { 100, 104, 7, 0, 16, 60, 0 };
    MPI_Datatype types[3];

    expect_same("split and empty blocks", hindexed(3, lens, displs, MPI_INT, 0),
                hindexed(7, split, split_displs, MPI_INT, 0));
    expect_same("ints, bytes", hindexed(3, lens, displs, MPI_INT, 0),
                hindexed(3, byte_lens, displs, MPI_BYTE, 0));
    for (int i = 0; i < 3; i++)
        MPI_Type_contiguous(lens[i], MPI_INT, &types[i]);
    expect_same("hindexed, struct of blocks", hindexed(3, lens, displs, MPI_INT, 0),
                structure(3, one, displs, types));
    for (int i = 0; i < 3; i++)
        MPI_Type_free(&types[i]);
    for (int i = 0; i < 3; i++)
        types[i] = MPI_INT;
    expect_same("hindexed, struct of one type", hindexed(3, lens, displs, MPI_INT, 0),
                structure(3, lens, displs, types));

    /* blocks that rarely touch stay blocks of equal length, however described */
    MPI_Aint mostly[] = { 0, 8, 100, 200, 300, 308, 50 };
    int lens1[] = { 1, 1, 1, 1, 1, 1, 1 }, lens2[] = { 2, 1, 1, 2, 1 };
    MPI_Aint joined[] = { 0, 100, 200, 300, 50 };
    expect_same("few joins", hindexed(7, lens1, mostly, MPI_DOUBLE, 0),
                hindexed(5, lens2, joined, MPI_DOUBLE, 0));
    expect_same("few joins, blocks", hindexed_block(7, 1, mostly, MPI_DOUBLE, 0),
                hindexed(5, lens2, joined, MPI_DOUBLE, 0));
    /* blocks that nearly always touch are runs */
    MPI_Aint often[] = { 0, 8, 16, 24, 100, 108, 116, 300, 308, 316 };
    int runs[] = { 4, 3, 3 };
    MPI_Aint run_displs[] = { 0, 100, 300 };
    expect_same("many joins", hindexed_block(10, 1, often, MPI_DOUBLE, 0),
                hindexed(3, runs, run_displs, MPI_DOUBLE, 0));
}

/* It makes no difference whether a stride is part of the child or of the list. */
static void test_open_child(void)
{
    int lens[] = { 1, 3, 2 }, long_lens[] = { 4, 12, 8 }, ones[] = { 1, 1, 1, 1, 1, 1 };
    MPI_Aint displs[] = { 0, 640, 200 };
    MPI_Aint singles[] = { 0, 640, 704, 768, 200, 264 };
    MPI_Datatype wide = resized(MPI_INT, 0, 16, 0), four, types[3];

    MPI_Type_contiguous(4, wide, &four);
    expect_same("list over stride", hindexed(3, lens, displs, four, 0),
                hindexed(3, long_lens, displs, wide, 0));
    expect_same("list of single strides", hindexed(6, ones, singles, four, 0),
                hindexed(3, long_lens, displs, wide, 0));
    for (int i = 0; i < 3; i++)
        MPI_Type_create_hvector(4 * lens[i], 1, 16, MPI_INT, &types[i]);
    int one[] = { 1, 1, 1 };
    expect_same("struct of strides", structure(3, one, displs, types),
                hindexed(3, long_lens, displs, wide, 0));
    for (int i = 0; i < 3; i++)
        MPI_Type_free(&types[i]);
    MPI_Type_free(&wide);
    MPI_Type_free(&four);

    /* pairs at irregular positions, as a list of pairs and as a list of all */
    MPI_Aint pairs[] = { 0, 500, 90 }, all[] = { 0, 16, 500, 516, 90, 106 };
    expect_same("list of tiles", hindexed_block(6, 1, all, MPI_INT, 0),
                hindexed_block(3, 1, pairs, hvector(2, 1, 16, MPI_INT, 0), 1));
}

/* C structs: one block if there is no gap, runs otherwise, however nested. */
static void test_structs(void)
{
    int ones[] = { 1, 1, 1, 1, 1 }, lens[] = { 1, 2, 1 };
    MPI_Aint tight[] = { 0, 8, 16 }, gaps[] = { 0, 8, 24 };
    MPI_Datatype types[] = { MPI_DOUBLE, MPI_INT, MPI_LONG_LONG }, whole, inner, t;
    struct MPII_Gpudt_serial s;

    MPI_Type_contiguous(24, MPI_BYTE, &whole);
    expect_same("struct without gaps", structure(3, lens, tight, types), whole);

    /* {a, {b, c}, d} is {a, b, c, d} */
    MPI_Aint in_displs[] = { 0, 8 }, out_displs[] = { 0, 16, 40 }, flat[] = { 0, 16, 24, 40 };
    MPI_Datatype in_types[] = { MPI_INT, MPI_DOUBLE }, out_types[3];
    MPI_Datatype flat_types[] = { MPI_CHAR, MPI_INT, MPI_DOUBLE, MPI_SHORT };
    inner = structure(2, ones, in_displs, in_types);
    out_types[0] = MPI_CHAR;
    out_types[1] = inner;
    out_types[2] = MPI_SHORT;
    expect_same("nested struct", structure(3, ones, out_displs, out_types),
                structure(4, ones, flat, flat_types));
    MPI_Type_free(&inner);

    /* an array of structs with a gap: a stride of runs */
    inner = structure(3, lens, gaps, types);
    MPI_Type_contiguous(10, inner, &t);
    s = serial_of(t, "array of structs");
    UNIT_CHECK(s.nrecords == 3 && s.records[0].kind == MPII_GPUDT_KIND__VECTOR &&
               s.records[0].stride == 32 && s.records[1].kind == MPII_GPUDT_KIND__BLKINDEXED &&
               s.records[1].count == 3 && s.records[2].size == 8);
    MPII_Gpudt_serial_free(&s);
    MPI_Type_free(&t);
    MPI_Type_free(&inner);

    /* members that share a type share its record */
    MPI_Datatype column = hvector(100, 1, 64, MPI_DOUBLE, 0),
        other = hvector(50, 3, 90, MPI_CHAR, 0);
    MPI_Datatype shared[] = { column, other, column, other, MPI_CHAR };
    MPI_Aint places[] = { 0, 9000, 20, 17000, 5 };
    t = structure(5, ones, places, shared);
    s = serial_of(t, "struct of vectors");
    UNIT_CHECK(s.nrecords == 6 && s.records[0].kind == MPII_GPUDT_KIND__STRUCT);
    UNIT_CHECK(MPII_Gpudt_record_members(&s.records[0], s.lookaside)[0] ==
               MPII_Gpudt_record_members(&s.records[0], s.lookaside)[2]);
    MPII_Gpudt_serial_free(&s);
    MPI_Type_free(&t);
    MPI_Type_free(&column);
    MPI_Type_free(&other);
}

static void expect_block(const char *name, MPI_Datatype t, int64_t size)
{
    struct MPII_Gpudt_serial s = serial_of(t, name);

    if (s.nrecords != 1 || s.records[0].kind != MPII_GPUDT_KIND__BLOCK || s.size != size)
        unit_fail("%s is not one block of %ld", name, (long) size);
    MPII_Gpudt_serial_free(&s);
}

/* Predefined types, pairs with gaps, empty types. */
static void test_small(void)
{
    int zero = 0, ones[] = { 1, 1 };
    MPI_Aint displ = 40, displs[] = { 0, 4 };
    MPI_Datatype t, types[] = { MPI_SHORT, MPI_INT };

    expect_block("double", MPI_DOUBLE, 8);
    expect_block("2int", MPI_2INT, 8);
    expect_block("float_int", MPI_FLOAT_INT, 8);
    expect_block("double_int", MPI_DOUBLE_INT, 12);
    expect_block("long_double_int", MPI_LONG_DOUBLE_INT, sizeof(long double) + 4);
    MPI_Type_dup(MPI_SHORT_INT, &t);
    expect_same("short_int", t, structure(2, ones, displs, types));

    MPI_Type_contiguous(0, MPI_INT, &t);
    expect_block("contiguous of none", t, 0);
    MPI_Type_free(&t);
    t = hvector(5, 0, 100, MPI_INT, 0);
    expect_block("vector of empty blocks", t, 0);
    MPI_Type_free(&t);
    t = hindexed(1, &zero, &displ, MPI_INT, 0);
    expect_block("empty hindexed", t, 0);
    MPI_Type_free(&t);
    MPI_Type_create_struct(0, NULL, NULL, NULL, &t);
    expect_block("struct of none", t, 0);
    MPI_Type_free(&t);
    if (MPI_Type_create_f90_real) {
        MPI_Type_create_f90_real(15, MPI_UNDEFINED, &t);
        expect_block("f90 real", t, 8);
    }
}

/* Extents that are zero, negative or smaller than the data, and absolute addresses. */
static void test_extents(void)
{
    MPI_Aint address = (MPI_Aint) INT64_C(0x7f0123456000), members[2];
    int ones[] = { 1, 1 };
    MPI_Datatype wide = hvector(3, 1, 16, MPI_INT, 0), types[2], t, plain;
    struct MPII_Gpudt_serial s;

    t = resized(wide, 5, 0, 0);
    MPI_Type_contiguous(4, t, &plain);
    expect_same("zero extent", plain, hvector(4, 1, 0, wide, 0));
    MPI_Type_free(&t);
    t = resized(wide, 0, -8, 0);
    MPI_Type_contiguous(4, t, &plain);
    expect_same("negative extent", plain, hvector(4, 1, -8, wide, 0));
    MPI_Type_free(&t);

    /* absolute addresses are in base_displ only */
    t = hindexed_block(1, 1, &address, wide, 0);
    s = serial_of(t, "absolute");
    UNIT_CHECK(s.base_displ == address && s.true_lb == address && s.nrecords == 2);
    MPII_Gpudt_serial_free(&s);
    MPI_Type_free(&t);
    members[0] = address + 64;
    members[1] = address;
    types[0] = wide;
    types[1] = MPI_DOUBLE;
    t = structure(2, ones, members, types);
    s = serial_of(t, "absolute members");
    UNIT_CHECK(s.base_displ == address + 64 && s.true_lb == address && s.displ_gcd == 4);
    MPII_Gpudt_serial_free(&s);
    MPI_Type_free(&t);
    MPI_Type_free(&wide);
}

/* Sizes beyond 32 bits, and counts that only large-count functions accept: no data is accessed. */
static void test_large(void)
{
    const MPI_Count n = INT64_C(1) << 33;
    MPI_Datatype t, block;
    struct MPII_Gpudt_serial s;

    MPI_Type_contiguous_c(n + 1, MPI_DOUBLE, &block);
    UNIT_CHECK(unit_serial(block, &s));
    UNIT_CHECK(s.nrecords == 1 && s.size == 8 * (n + 1));
    MPII_Gpudt_serial_free(&s);
    MPI_Type_create_hvector_c(n, 3, 64, MPI_INT, &t);
    UNIT_CHECK(unit_serial(t, &s));
    UNIT_CHECK(s.nrecords == 2 && s.records[0].count == n && s.records[0].stride == 64 &&
               s.records[1].size == 12 && s.true_extent == 64 * (n - 1) + 12);
    MPII_Gpudt_serial_free(&s);
    MPI_Type_free(&t);
    MPI_Type_free(&block);
}

/* The constructors of MPI-1's Fortran have integer displacements and strides. No function of this
 * MPICH creates them any more, so contents are relabelled. */
static void test_integer_combiners(void)
{
    int lens[] = { 2, 5, 1 };
    MPI_Aint displs[] = { 40, 0, 30 };
    MPI_Datatype t, plain, types[] = { MPI_SHORT, MPI_CHAR, MPI_INT };
    MPIR_Datatype *dtp;

    MPI_Type_vector(4, 3, 36, MPI_CHAR, &t);
    MPIR_Datatype_get_ptr(t, dtp);
    dtp->contents->combiner = MPI_COMBINER_HVECTOR_INTEGER;
    expect_same("hvector_integer", t, hvector(4, 3, 36, MPI_CHAR, 0));

    int int_displs[] = { 40, 0, 30 };
    MPI_Type_indexed(3, lens, int_displs, MPI_CHAR, &t);
    MPIR_Datatype_get_ptr(t, dtp);
    dtp->contents->combiner = MPI_COMBINER_HINDEXED_INTEGER;
    expect_same("hindexed_integer", t, hindexed(3, lens, displs, MPI_CHAR, 0));

    /* a struct: the same numbers, with its displacements among the ints */
    int ints[] = { 3, 2, 5, 1, 40, 0, 30 };
    t = structure(3, lens, displs, types);
    plain = structure(3, lens, displs, types);
    MPIR_Datatype_get_ptr(t, dtp);
    MPIR_Datatype_free_contents(dtp);
    MPIR_Datatype_set_contents(dtp, MPI_COMBINER_STRUCT_INTEGER, 7, 0, 0, 3, ints, NULL, NULL,
                               types);
    expect_same("struct_integer", t, plain);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    test_list_is_vector();
    test_irregular();
    test_open_child();
    test_structs();
    test_small();
    test_extents();
    test_large();
    test_integer_combiners();
    MPI_Finalize();
    return unit_done();
}
