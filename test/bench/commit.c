/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures the cost of preparing a datatype for the GPU, compared with MPI_Type_commit itself:
 * time, and bytes of lookaside per block. Needs no GPU. Uses internals, to time the two separately.
 *
 * Prints CSV: type, blocks, ns of MPI_Type_commit, ns that the GPU adds to it, the sum over the
 * first, ns of preparation that are left to the first use, bytes of lookaside for each block of a
 * list. Medians of REPEAT runs. */

#include "mpiimpl.h"
#include "type/gpudt_type.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { REPEAT = 9, BATCH = 2000, LONG_LIST = 10000000 };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, n, sizeof(double), compare);
    return v[n / 2];
}

static uint64_t random_state = 42;

static int64_t random_below(int64_t n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t) ((random_state >> 20) % (uint64_t) n);
}

static MPI_Datatype make_contiguous(void)
{
    MPI_Datatype t;

    MPI_Type_contiguous(1000, MPI_DOUBLE, &t);
    return t;
}

static MPI_Datatype make_vector(void)
{
    MPI_Datatype t;

    MPI_Type_vector(100000, 2, 5, MPI_DOUBLE, &t);
    return t;
}

static MPI_Datatype make_vector_of_vectors(void)
{
    MPI_Datatype a, b, t;

    MPI_Type_vector(100, 2, 5, MPI_DOUBLE, &a);
    MPI_Type_create_hvector(50, 1, 100000, a, &b);
    MPI_Type_create_hvector(50, 1, 10000000, b, &t);
    MPI_Type_free(&a);
    MPI_Type_free(&b);
    return t;
}

static MPI_Datatype make_resized(void)
{
    MPI_Datatype a, t;

    MPI_Type_vector(512, 1, 512, MPI_DOUBLE, &a);
    MPI_Type_create_resized(a, 0, 8, &t);
    MPI_Type_free(&a);
    return t;
}

static MPI_Datatype make_subarray(int n, int edge)
{
    int sizes[4], subsizes[4], starts[4];
    MPI_Datatype t;

    for (int d = 0; d < n; d++) {
        sizes[d] = edge;
        subsizes[d] = edge / 4;
        starts[d] = 1;
    }
    MPI_Type_create_subarray(n, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &t);
    return t;
}

static MPI_Datatype make_subarray_2d(void)
{
    return make_subarray(2, 64);
}

static MPI_Datatype make_subarray_4d(void)
{
    return make_subarray(4, 16);
}

static MPI_Datatype make_struct(void)
{
    int lens[] = { 1, 1, 1, 1 };
    MPI_Aint displs[] = { 0, 8, 12, 16 };
    MPI_Datatype types[] = { MPI_DOUBLE, MPI_INT, MPI_INT, MPI_CHAR }, t;

    MPI_Type_create_struct(4, lens, displs, types, &t);
    return t;
}

static MPI_Datatype make_struct_20(void)
{
    static const MPI_Datatype kinds[] = { MPI_DOUBLE, MPI_INT, MPI_SHORT, MPI_CHAR };
    int lens[20];
    MPI_Aint displs[20];
    MPI_Datatype types[20], t;

    for (int i = 0; i < 20; i++) {
        lens[i] = 1 + i % 3;
        displs[i] = 32 * i;
        types[i] = kinds[i % 4];
    }
    MPI_Type_create_struct(20, lens, displs, types, &t);
    return t;
}

static MPI_Datatype make_darray(void)
{
    int gsizes[] = { 100, 100 }, dargs[] = { 7, 3 }, psizes[] = { 2, 2 };
    int distribs[] = { MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC };
    MPI_Datatype t;

    MPI_Type_create_darray(4, 1, 2, gsizes, distribs, dargs, psizes, MPI_ORDER_C, MPI_DOUBLE, &t);
    return t;
}

static int *int_lens, *int_displs;

/* Blocks of 1 to 16 elements, in order with gaps or at random positions. */
static MPI_Datatype make_list(int n, int in_order, int equal)
{
    MPI_Datatype t;
    int at = 0;

    if (!int_lens) {
        int_lens = malloc(LONG_LIST * sizeof(int));
        int_displs = malloc(LONG_LIST * sizeof(int));
        if (!int_lens || !int_displs)
            exit(1);
    }
    for (int i = 0; i < n; i++) {
        int_lens[i] = 1 + (int) random_below(16);
        at += in_order ? int_lens[i] + 1 + (int) random_below(8) : 0;
        int_displs[i] = in_order ? at : (int) random_below(1 << 30);
    }
    if (equal)
        MPI_Type_create_indexed_block(n, 4, int_displs, MPI_INT, &t);
    else
        MPI_Type_indexed(n, int_lens, int_displs, MPI_INT, &t);
    return t;
}

static MPI_Datatype make_short_list(void)
{
    return make_list(64, 1, 0);
}

static MPI_Datatype make_long_list(void)
{
    return make_list(LONG_LIST, 1, 0);
}

static MPI_Datatype make_long_random_list(void)
{
    return make_list(LONG_LIST, 0, 0);
}

static MPI_Datatype make_long_block_list(void)
{
    return make_list(LONG_LIST, 0, 1);
}

static void drop(MPI_Datatype * t)
{
    MPIR_Datatype *dtp;

    MPIR_Datatype_get_ptr(*t, dtp);
    MPIR_Gpudt_type_free(dtp);
    MPI_Type_free(t);
}

static void measure(const char *name, MPI_Datatype(*make) (void), int batch, long blocks)
{
    static MPI_Datatype types[BATCH];
    double commit[REPEAT], prepare[REPEAT], first_use[REPEAT];
    int64_t lookaside_sz = 0;
    struct MPII_Gpudt_type *state;

    for (int r = 0; r < REPEAT; r++) {
        double start;

        for (int i = 0; i < batch; i++) {
            MPIR_Datatype *dtp;

            types[i] = make();
            /* if this build has a slot outside the object, it is made here and not timed */
            MPIR_Datatype_get_ptr(types[i], dtp);
            MPII_Gpudt_type_slot(dtp);
        }
        start = now();
        for (int i = 0; i < batch; i++)
            MPI_Type_commit(&types[i]);
        commit[r] = (now() - start) / batch;
        start = now();
        for (int i = 0; i < batch; i++)
            MPIR_Gpudt_type_commit(types[i]);
        prepare[r] = (now() - start) / batch;
        start = now();
        for (int i = 0; i < batch; i++) {
            if (MPII_Gpudt_type_get(types[i], &state) != MPI_SUCCESS)
                exit(1);
            lookaside_sz = state->serial.lookaside_sz;
            MPII_Gpudt_type_release(state);
        }
        first_use[r] = (now() - start) / batch;
        for (int i = 0; i < batch; i++)
            drop(&types[i]);
    }
    printf("%s,%ld,%.0f,%.0f,%.2f,%.0f,%.1f\n", name, blocks, median(commit, REPEAT),
           median(prepare, REPEAT), (median(commit, REPEAT) + median(prepare, REPEAT)) /
           median(commit, REPEAT), median(first_use, REPEAT), (double) lookaside_sz / blocks);
    fflush(stdout);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    printf("type,blocks,commit ns,more ns,ratio,first use ns,lookaside bytes per block\n");
    measure("contiguous", make_contiguous, BATCH, 1);
    measure("vector", make_vector, BATCH, 100000);
    measure("vector of vectors", make_vector_of_vectors, BATCH, 250000);
    measure("resized vector", make_resized, BATCH, 512);
    measure("subarray 2-D", make_subarray_2d, BATCH, 16);
    measure("subarray 4-D", make_subarray_4d, BATCH, 64);
    measure("struct of 4", make_struct, BATCH, 4);
    measure("struct of 20", make_struct_20, BATCH, 20);
    measure("cyclic darray", make_darray, BATCH, 1700);
    measure("indexed of 64", make_short_list, BATCH, 64);
    measure("indexed of 10M in order", make_long_list, 1, LONG_LIST);
    measure("indexed of 10M at random", make_long_random_list, 1, LONG_LIST);
    measure("indexed block of 10M at random", make_long_block_list, 1, LONG_LIST);
    free(int_lens);
    free(int_displs);
    MPI_Finalize();
    return 0;
}
