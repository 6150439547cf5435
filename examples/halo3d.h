/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/*
 * What the parts of the halo3d example share: its options, the block of a rank, and the field,
 * whose values only halo3d_field.c touches. It must not know of MPI.
 *
 * Dimensions are in C order: z is dimension 0, x is dimension 2 and contiguous in memory.
 */

#ifndef HALO3D_H_INCLUDED
#define HALO3D_H_INCLUDED

#include <stddef.h>

#define N_DIMS 3
#define GUARD_COUNT 512         /* doubles before and after the array that nothing may change */
#define MAX_REPORTED 10

enum { EXIT__GOOD = 0, EXIT__WRONG_VALUES = 1, EXIT__CANNOT_RUN = 2 };

enum { CORRUPT__NONE, CORRUPT__HALO, CORRUPT__INTERIOR, CORRUPT__GUARD };

/* Only ints, because rank 0 sends it to the others as such. */
struct options {
    int size[N_DIMS];           /* points of a rank's block, without halo */
    int radius;                 /* points of halo on each side */
    int elements;               /* doubles of a point */
    int iterations;             /* timed exchanges */
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

/* A field is guard, array, guard in one allocation; field_array is where the array starts. NULL is
 * returned where there is no memory; the caller frees the field. */
double *field_alloc(const struct block *block);
void field_free(double *field);
double *field_array(double *field);

/* Writes the owned points' values of a pass (0 or 1), and poison into halo and guards. */
void field_fill(const struct block *block, double *field, int pass);

/* Flips the lowest bit of one value, the smallest damage that the check has to notice. */
void field_corrupt(const struct block *block, double *field, int corrupt);

/* Checks every value after an exchange: halo received, owned points and guards unchanged. Returns
 * how many are wrong, the first of them in list (OUT, MAX_REPORTED entries). */
long long field_check(const struct block *block, const double *field, int pass,
                      struct mismatch *list);

/* Says whether a point, counted from the array's first one, is owned. */
int point_is_interior(const struct block *block, const int point[N_DIMS]);

#endif /* HALO3D_H_INCLUDED */
