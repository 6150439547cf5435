/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What the parts of the halo3d example share: its options, the block of a rank, and the field. Only
 * the functions of its memory access the field's values (halo3d_field.c for the host, halo3d_gpu.cu
 * for a GPU). Must not know of MPI.
 *
 * Dimensions are in C order: z is dimension 0, x is dimension 2 and contiguous in memory. */

#ifndef HALO3D_H_INCLUDED
#define HALO3D_H_INCLUDED

#include "example.h"
#include <stddef.h>

#define N_DIMS 3
#define GUARD_COUNT 512         /* doubles before and after the array that must not change */
#define MAX_REPORTED 10

enum { CORRUPT__NONE, CORRUPT__HALO, CORRUPT__INTERIOR, CORRUPT__GUARD };

/* All members are int: rank 0 broadcasts it as an array of ints. */
struct options {
    int size[N_DIMS];           /* points of a rank's block, without halo */
    int radius;                 /* points of halo on each side */
    int elements;               /* doubles of a point */
    int iterations;             /* timed exchanges */
    int memory;                 /* a MEMORY__ value; any: GPU memory if every rank has a GPU */
    int halo;                   /* a HALO__ value */
    int corrupt;                /* a CORRUPT__ value: what to corrupt before the check */
    int run;                    /* 0: exit at once with exit_status */
    int exit_status;
};

struct block {
    int inner[N_DIMS];          /* points owned */
    int outer[N_DIMS];          /* points with the halo on both sides */
    int radius;
    int elements;
    long long origin[N_DIMS];   /* coordinates of the first owned point in the whole domain */
    long long whole[N_DIMS];    /* points of the whole, periodic domain */
    size_t n_values;            /* doubles in the array, without guards */
};

/* where is an offset in doubles from the array's first value; guards are below 0 and above. */
struct mismatch {
    long long where;
    double seen;
    double expected;
};

/* Parses the command line into opt (IN: defaults, OUT). Prints the help or the error. */
void options_parse(int argc, char *argv[], struct options *opt);

/* A field is guard, array, guard in one allocation, in one kind of memory. These functions know the
 * kind. Those that return an int return 0, or -1 after printing an error. */
struct memory {
    const char *name;

    /* Allocates memory; field (OUT) is NULL on failure; the caller frees it. */
    int (*alloc) (const struct block * block, double **field);
    void (*free) (double *field);

    /* Writes the owned points' values of a pass (0 or 1), and poison into halo and guards. The
     * writes are complete when the call returns, so MPI may read the field. */
    int (*fill) (const struct block * block, double *field, int pass);

    /* Flips the lowest bit of one value, the smallest error that the check must detect. */
    int (*corrupt) (const struct block * block, double *field, int corrupt);

    /* Checks every value after an exchange: halo received, owned points and guards unchanged.
     * n_wrong (OUT) is the number of wrong values, list (OUT, MAX_REPORTED entries) the first
     * ones. */
    int (*check) (const struct block * block, const double *field, int pass,
                  struct mismatch * list, long long *n_wrong);
};

/* The array of a field, to be passed to MPI. */
static inline double *field_array(double *field)
{
    return field + GUARD_COUNT;
}

#ifdef __cplusplus
extern "C" {
#endif

extern const struct memory host_memory;

/* Position in the field of the value that corrupt (not CORRUPT__NONE) stands for. */
size_t corrupt_place(const struct block *block, int corrupt);

#ifdef WITH_GPU
extern const struct memory gpu_memory;
#endif

#ifdef __cplusplus
}
#endif

#endif /* HALO3D_H_INCLUDED */
