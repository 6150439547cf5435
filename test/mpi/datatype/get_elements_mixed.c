/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests MPI_Get_elements of structs whose members have different types of one size, are empty, or
 * are vectors and subarrays. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

static int errs = 0;

/* Check the elements in `bytes` bytes. */
static void check(const char *what, MPI_Datatype type, int bytes, int expected)
{
    MPI_Status status;
    MPI_Count elements;
    int n;

    MPI_Status_set_elements(&status, MPI_BYTE, bytes);
    MPI_Get_elements(&status, type, &n);
    MPI_Get_elements_x(&status, type, &elements);
    if (n != expected || elements != expected) {
        fprintf(stderr, "%s, %d bytes: %d and %d elements, not %d\n", what, bytes, n,
                (int) elements, expected);
        errs++;
    }
}

static MPI_Datatype pair(MPI_Datatype first, int n, MPI_Datatype second, int m)
{
    const int lengths[2] = { n, m };
    const MPI_Aint displs[2] = { 0, 1000 };
    const MPI_Datatype types[2] = { first, second };
    MPI_Datatype type;

    MPI_Type_create_struct(2, lengths, displs, types, &type);
    MPI_Type_commit(&type);
    return type;
}

int main(int argc, char *argv[])
{
    const int sizes[2] = { 4, 5 }, subsizes[2] = { 2, 3 }, starts[2] = { 1, 1 };
    MPI_Datatype type, inner, whole;

    MTest_Init(&argc, &argv);

    type = pair(MPI_INT, 3, MPI_FLOAT, 4);
    check("3 int, 4 float", type, 28, 7);
    check("3 int, 4 float", type, 56, 14);
    check("3 int, 4 float", type, 16, 4);
    whole = pair(type, 2, MPI_CHAR, 1);
    check("2 of them, char", whole, 57, 15);
    MPI_Type_free(&whole);
    MPI_Type_free(&type);

    MPI_Type_contiguous(0, MPI_INT, &inner);
    type = pair(inner, 1, MPI_DOUBLE, 1);
    whole = pair(MPI_SHORT, 1, type, 1);
    check("short, empty, double", whole, 10, 2);
    check("short, empty, double", whole, 20, 4);
    MPI_Type_free(&inner);
    MPI_Type_free(&type);
    MPI_Type_free(&whole);

    MPI_Type_vector(2, 3, 4, MPI_INT, &inner);
    type = pair(MPI_INT, 3, MPI_FLOAT, 4);
    whole = pair(inner, 1, MPI_DOUBLE, 1);
    check("vector of 6 int, double", whole, 32, 7);
    MPI_Type_free(&inner);
    MPI_Type_free(&whole);
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, type, &inner);
    whole = pair(inner, 1, MPI_DOUBLE, 1);
    check("subarray of 6 structs, double", whole, 6 * 28 + 8, 43);
    MPI_Type_free(&inner);
    MPI_Type_free(&whole);
    MPI_Type_free(&type);

    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
