/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests types that cannot be serialized: they give an MPI error and no leaks. Every allocation
 * fails in turn; sizes and displacements exceed 64 bits; nesting exceeds all limits. */

#include "unit.h"

#include <limits.h>

/* Build the state of a type and release it. */
static int try_type(MPI_Datatype t)
{
    struct MPII_Gpudt_type *type;
    MPIR_Datatype *dtp;
    int rc = MPII_Gpudt_type_get(t, &type);

    if (rc == MPI_SUCCESS)
        MPII_Gpudt_type_release(type);
    if (!HANDLE_IS_BUILTIN(t)) {
        MPIR_Datatype_get_ptr(t, dtp);
        MPIR_Gpudt_type_free(dtp);
    }
    return rc;
}

static int error_class(int rc)
{
    int class;

    MPI_Error_class(rc, &class);
    return class;
}

/* Fail each allocation of a type's serialization once. The type is freed. */
static void fail_each(const char *name, MPI_Datatype t)
{
    long n, total;

    try_type(t);                /* so that one-time allocations are done before */
    unit_fail_malloc(0);
    if (try_type(t) != MPI_SUCCESS)
        unit_fail("%s: fails by itself", name);
    total = unit_malloc_count();
    if (unit_malloc_live() != 0)
        unit_fail("%s: %ld blocks leaked", name, unit_malloc_live());
    UNIT_CHECK(total >= 2);
    for (n = 1; n <= total; n++) {
        int rc;
        long live;

        unit_fail_malloc(n);
        rc = try_type(t);
        live = unit_malloc_live();
        unit_fail_malloc(0);
        /* a realloc that shrinks a block may fail without an error */
        if (rc != MPI_SUCCESS && error_class(rc) != MPI_ERR_NO_MEM)
            unit_fail("%s: allocation %ld of %ld: error class %d", name, n, total, error_class(rc));
        if (rc == MPI_SUCCESS && n < total - 1)
            unit_fail("%s: allocation %ld of %ld: failed unnoticed", name, n, total);
        if (live != 0)
            unit_fail("%s: allocation %ld of %ld: %ld blocks leaked", name, n, total, live);
    }
    unit_fail_malloc(0);
    unit_check_type(t, name);
    MPI_Type_free(&t);
}

static MPI_Datatype vector_type(void)
{
    MPI_Datatype t;

    MPI_Type_vector(10, 2, 5, MPI_DOUBLE, &t);
    return t;
}

static MPI_Datatype list_type(int nblocks, int touching)
{
    int lens[64];
    MPI_Aint displs[64];
    MPI_Datatype t;

    for (int i = 0; i < nblocks; i++) {
        lens[i] = 1 + i % 7;
        displs[i] = touching ? 8 * (i + i / 5) : i * i * 100;
    }
    if (touching)
        MPI_Type_create_hindexed_block(nblocks, 1, displs, MPI_DOUBLE, &t);
    else
        MPI_Type_create_hindexed(nblocks, lens, displs, MPI_DOUBLE, &t);
    return t;
}

/* Many records, many nodes, lists of all kinds. */
static MPI_Datatype struct_type(int nmembers)
{
    MPI_Datatype types[200], t;
    int lens[200];
    MPI_Aint displs[200];

    for (int i = 0; i < nmembers; i++) {
        if (i % 3 == 0)
            types[i] = list_type(20 + i % 10, i % 2);
        else
            MPI_Type_create_hvector(30 + i, 1 + i % 3, 70 + i, MPI_CHAR, &types[i]);
        lens[i] = 1 + i % 2;
        displs[i] = (MPI_Aint) i * 200000;
    }
    MPI_Type_create_struct(nmembers, lens, displs, types, &t);
    for (int i = 0; i < nmembers; i++)
        MPI_Type_free(&types[i]);
    return t;
}

static MPI_Datatype nested_struct_type(void)
{
    MPI_Datatype types[3], t;
    int lens[] = { 1, 1, 1 };
    MPI_Aint displs[] = { 0, 1000000, 3000000 };

    types[0] = struct_type(3);
    types[1] = struct_type(4);
    types[2] = MPI_INT;
    MPI_Type_create_struct(3, lens, displs, types, &t);
    MPI_Type_free(&types[0]);
    MPI_Type_free(&types[1]);
    return t;
}

static MPI_Datatype darray_type(void)
{
    int gsizes[] = { 23, 17 }, dargs[] = { 3, 2 }, psizes[] = { 2, 2 };
    int distribs[] = { MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC };
    MPI_Datatype t;

    MPI_Type_create_darray(4, 1, 2, gsizes, distribs, dargs, psizes, MPI_ORDER_C, MPI_INT, &t);
    return t;
}

static void expect_overflow(const char *name, MPI_Datatype t)
{
    int rc;

    unit_fail_malloc(0);
    rc = try_type(t);
    if (unit_malloc_live() != 0)
        unit_fail("%s: leaked", name);
    if (rc == MPI_SUCCESS || error_class(rc) != MPI_ERR_TYPE)
        unit_fail("%s: not an error of class MPI_ERR_TYPE", name);
    MPI_Type_free(&t);
}

/* None of these types can move data, but they can be created. */
static void test_overflow(void)
{
    const MPI_Count huge = INT64_C(1) << 62;
    MPI_Aint ends[] = { INT64_MIN + 8, INT64_MAX - 64 }, high = INT64_MAX - 4;
    MPI_Count three[] = { huge, huge, huge }, zeros[] = { 0, 0, 0 };
    MPI_Datatype t, block;
    int ones[] = { 1, 1 };
    MPI_Datatype types[2] = { MPI_DOUBLE, MPI_INT };

    MPI_Type_contiguous_c(huge, MPI_DOUBLE, &t);
    expect_overflow("size", t);
    MPI_Type_create_hvector_c(huge, 4, 8, MPI_BYTE, &t);
    expect_overflow("size of a vector", t);
    MPI_Type_create_hvector_c(3, 1, huge, MPI_BYTE, &t);
    expect_overflow("reach of a vector", t);
    MPI_Type_contiguous_c(huge / 4, MPI_BYTE, &block);
    MPI_Type_vector_c(3, 1, 16, block, &t);
    expect_overflow("stride of a vector", t);
    MPI_Type_free(&block);
    MPI_Type_create_hindexed_c(3, three, zeros, MPI_BYTE, &t);
    expect_overflow("lengths of a list", t);
    MPI_Type_create_hindexed_block(2, 1, ends, MPI_INT, &t);
    expect_overflow("reach of a list", t);
    MPI_Type_create_hindexed(2, ones, ends, MPI_INT, &t);
    expect_overflow("reach of a list of blocks", t);
    MPI_Type_create_hindexed_block(1, 4, &high, MPI_INT, &t);
    expect_overflow("end of a block", t);
    MPI_Type_create_struct(2, ones, ends, types, &t);
    expect_overflow("reach of a struct", t);
}

/* Levels that canonicalization cannot remove; created but not committed. */
static MPI_Datatype nested_type(int levels)
{
    MPI_Datatype t = MPI_CHAR, outer;

    for (int i = 0; i < levels; i++) {
        MPI_Type_create_hvector(1 + (i < 8), 1, 3 * (i + 2) * (i + 2), t, &outer);
        if (t != MPI_CHAR)
            MPI_Type_free(&t);
        t = outer;
    }
    return t;
}

static void test_nesting(void)
{
    MPI_Datatype t = nested_type(MPII_GPUDT_MAX_NESTING - 1);

    unit_check_type(t, "deep");
    MPI_Type_free(&t);
    expect_overflow("deeper", nested_type(MPII_GPUDT_MAX_NESTING));
}

int main(void)
{
    MPI_Init(NULL, NULL);
    fail_each("vector", vector_type());
    fail_each("list", list_type(60, 0));
    fail_each("list of touching blocks", list_type(60, 1));
    fail_each("darray", darray_type());
    fail_each("small struct", struct_type(3));
    fail_each("struct", struct_type(200));
    fail_each("struct of structs", nested_struct_type());
    test_overflow();
    test_nesting();
    MPI_Finalize();
    return unit_done();
}
