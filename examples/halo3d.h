/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/*
 * What the parts of the halo3d example share: its options, the block of a rank, and the field,
 * whose values only the functions of its memory touch (halo3d_field.c for the host, halo3d_gpu.cu
 * for a GPU). It must not know of MPI.
 *
 * Dimensions are in C order: z is dimension 0, x is dimension 2 and contiguous in memory.
 */

#ifndef HALO3D_H_INCLUDED
#define HALO3D_H_INCLUDED

#include "example.h"
#include <stddef.h>

#define N_DIMS 3
#define GUARD_COUNT 512         /* doubles before and after the array that nothing may change */
#define MAX_REPORTED 10

enum { CORRUPT__NONE, CORRUPT__HALO, CORRUPT__INTERIOR, CORRUPT__GUARD };

/* Only ints, because rank 0 sends it to the others as such. */
struct options {
    int size[N_DIMS];           /* points of a rank's block, without halo */
    int radius;                 /* points of halo on each side */
    int elements;               /* doubles of a point */
    int iterations;             /* timed exchanges */
    int memory;                 /* a MEMORY__ value; any: on a GPU if every rank has one */
    int corrupt;                /* a CORRUPT__ value: what to damage before the check */
    int run;                    /* 0: leave at once with exit_status */
    int exit_status;
};

struct block {
    int inner[N_DIMS];          /* points owned */
    int outer[N_DIMS];          /* points with the halo on both sides */
    int radius;
    int elements;
    long long origin[N_DIMS];   /* the first owned point's place in the whole domain */
    long long whole[N_DIMS];    /* points of the whole, periodic domain */
    size_t n_values;            /* doubles in the array, without guards */
};

/* Where is a count of doubles from the array's first one; the guards lie below 0 and above. */
struct mismatch {
    long long where;
    double seen;
    double expected;
};

/* Reads the command line into opt (IN: defaults, OUT). Prints the help, or what is wrong. */
void options_parse(int argc, char *argv[], struct options *opt);

/* A field is guard, array, guard in one allocation, in memory of one kind. These functions know
 * the kind; where they return an int, 0 is good and -1 means that they failed and said why. */
struct memory {
    const char *name;

    /* Gets memory, in field (OUT) NULL if there is none; the caller frees it. */
    int (*alloc) (const struct block * block, double **field);
    void (*free) (double *field);

    /* Writes the owned points' values of a pass (0 or 1), and poison into halo and guards. All of
     * it is in its place when the call returns: MPI may then read it. */
    int (*fill) (const struct block * block, double *field, int pass);

    /* Flips the lowest bit of one value, the smallest damage that the check has to notice. */
    int (*corrupt) (const struct block * block, double *field, int corrupt);

    /* Checks every value after an exchange: halo received, owned points and guards unchanged. In
     * n_wrong (OUT) how many are wrong, the first of them in list (OUT, MAX_REPORTED entries). */
    int (*check) (const struct block * block, const double *field, int pass,
                  struct mismatch * list, long long *n_wrong);
};

/* Where the array of a field starts, what is passed to MPI. */
static inline double *field_array(double *field)
{
    return field + GUARD_COUNT;
}

#ifdef __cplusplus
extern "C" {
#endif

extern const struct memory host_memory;

/* Where in the field the value is that corrupt (not CORRUPT__NONE) means. */
size_t corrupt_place(const struct block *block, int corrupt);

#ifdef WITH_GPU
extern const struct memory gpu_memory;
#endif

#ifdef __cplusplus
}
#endif

#endif /* HALO3D_H_INCLUDED */
