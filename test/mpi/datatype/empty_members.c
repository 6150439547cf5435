/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests the true extent of types with empty members, and indexed types of types of extent 0. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

static int lens[2] = { 1, 2 };
static int disps[2] = { 2, 5 };
static MPI_Aint bytes[2] = { 8, 20 };

static int check(const char *what, MPI_Datatype type, int lb, int extent, int size)
{
    int in[16], out[16], pos = 0, errs = 0;
    MPI_Aint true_lb, true_extent;

    for (int i = 0; i < 16; i++)
        in[i] = i;
    MPI_Type_commit(&type);
    MPI_Type_get_true_extent(type, &true_lb, &true_extent);
    MPI_Pack(in, 1, type, out, sizeof(out), &pos, MPI_COMM_SELF);
    if (true_lb != lb || true_extent != extent || pos != size) {
        fprintf(stderr, "%s: true lb %ld, true extent %ld, size %d, expected %d, %d, %d\n", what,
                (long) true_lb, (long) true_extent, pos, lb, extent, size);
        errs++;
    }
    for (int i = 0; i < size / 4; i++)
        if (out[i] != lb / 4 + (extent > 4 ? i : 0)) {
            fprintf(stderr, "%s: element %d is %d\n", what, i, out[i]);
            errs++;
        }
    MPI_Type_free(&type);
    return errs;
}

/* All constructors over a type of no size. */
static int empty(const char *what, MPI_Datatype old)
{
    MPI_Datatype type, olds[2] = { old, old };
    int errs = 0;

    MPI_Type_contiguous(3, old, &type);
    errs += check(what, type, 0, 0, 0);
    MPI_Type_vector(3, 1, 4, old, &type);
    errs += check(what, type, 0, 0, 0);
    MPI_Type_create_hvector(3, 1, 40, old, &type);
    errs += check(what, type, 0, 0, 0);
    MPI_Type_indexed(2, lens, disps, old, &type);
    errs += check(what, type, 0, 0, 0);
    MPI_Type_create_hindexed(2, lens, bytes, old, &type);
    errs += check(what, type, 0, 0, 0);
    MPI_Type_create_indexed_block(2, 2, disps, old, &type);
    errs += check(what, type, 0, 0, 0);
    MPI_Type_create_hindexed_block(2, 2, bytes, old, &type);
    errs += check(what, type, 0, 0, 0);
    MPI_Type_create_struct(2, lens, bytes, olds, &type);
    errs += check(what, type, 0, 0, 0);
    olds[1] = MPI_INT;
    MPI_Type_create_struct(2, lens, bytes, olds, &type);
    errs += check(what, type, 20, 8, 8);
    return errs;
}

int main(int argc, char *argv[])
{
    MPI_Datatype none, wide, point, type, olds[2];
    int errs = 0;

    MTest_Init(&argc, &argv);
    MPI_Type_contiguous(0, MPI_INT, &none);
    MPI_Type_create_resized(none, 0, 8, &wide);
    errs += empty("of no size", none);
    errs += empty("of no size, with an extent", wide);

    olds[0] = MPI_INT;
    olds[1] = none;
    MPI_Type_create_struct(2, lens, bytes, olds, &type);
    errs += check("int, nothing", type, 8, 4, 4);

    /* elements that are all in one place */
    MPI_Type_create_resized(MPI_INT, 0, 0, &point);
    MPI_Type_indexed(2, lens, disps, point, &type);
    errs += check("of extent 0", type, 0, 4, 12);

    MPI_Type_free(&none);
    MPI_Type_free(&wide);
    MPI_Type_free(&point);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
