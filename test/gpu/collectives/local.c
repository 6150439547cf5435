/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* MPI_Reduce_local: every predefined operation on every datatype, in every pair of kinds of memory,
 * contents at any alignment; and operations of the user. */

#include "collectives.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

static void pair_run(MPI_Op op, MPI_Datatype type, int n, fill_fn fill, struct rng *rng,
                     unsigned seed)
{
    struct part p = {.n = 1,.count = {n},.type = {type} };
    enum mem_kind kind[2] = { kind_draw(rng), kind_draw(rng) };
    struct twin in, inout;
    char name[MPI_MAX_OBJECT_NAME];
    int len, ok;

    part_measure(&p, 0);
    twin_make(&in, kind[0], p.lo, p.hi, shift_draw(rng, kind[0]));
    twin_make(&inout, kind[1], p.lo, p.hi, shift_draw(rng, kind[1]));
    fill(&in, &p, seed);
    fill(&inout, &p, seed + 1);
    twin_write(&in);
    twin_write(&inout);
    for (int i = 0; i < 2; i++)
        CHECK_MPI(MPI_Reduce_local(in.buf[i], inout.buf[i], n, type, op));
    ok = twin_check(&in, "the first operand");
    ok &= twin_check(&inout, "the result");
    if (!ok) {
        MPI_Type_get_name(type, name, &len);
        fprintf(stderr, "... operation %x on %d of %s, in %s and %s memory\n", (unsigned) op, n,
                name, mem_name(kind[0]), mem_name(kind[1]));
    }
    twin_free(&in);
    twin_free(&inout);
}

static int count_draw(struct rng *rng)
{
    return (int) (rng_chance(rng, 80) ? rng_range(rng, 0, 300) : rng_range(rng, 0, 20000));
}

void local_run(unsigned long seed)
{
    struct rng rng;
    struct operands o;
    struct randtype_opts opts = { 4, 512, 1 << 12, 1 };
    MPI_Op affine;
    const char *kernels = getenv("EMU_KERNELS");

    rng_init(&rng, seed);
    for (int repeat = 0; repeat < 3; repeat++) {
        for (int i = 0; operands_get(i, &o); i++)
            pair_run(o.op, o.type, count_draw(&rng), operands_fill, &rng, (unsigned) seed + 2 * i);
    }
    MPI_Op_create(op_affine, 0, &affine);
    for (int i = 0; i < 40; i++) {
        MPI_Datatype type = randtype_make(&rng, &opts, NULL);
        pair_run(affine, type, 1, bytes_fill, &rng, (unsigned) seed + i);
        randtype_free(&type);
    }
    MPI_Op_free(&affine);
    /* A program without kernels has only the CPU */
    CHECK(report_variable("gpudt_reductions_cpu") > 0);
    CHECK((report_variable("gpudt_reductions") > 0) == (kernels == NULL || *kernels != 0));
    if (report_failures)
        fprintf(stderr, "again: collectives local %lu\n", seed);
}
