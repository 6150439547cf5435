/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/*
 * What the parts of the himeno example share: its options, the part of the domain that a rank has,
 * and the grid of floats on it, whose values only the functions of its memory touch
 * (himeno_field.c for the host, himeno_gpu.cu for a GPU). It must not know of MPI.
 *
 * Dimensions are in C order: i is dimension 0, k is dimension 2 and contiguous in memory. Each rank
 * has all of i and a piece of j and k, with one point of halo on the sides of that piece.
 */

#ifndef HIMENO_H_INCLUDED
#define HIMENO_H_INCLUDED

#include "example.h"
#include <stddef.h>

#define N_DIMS 3
#define N_CUT 2                 /* dimensions that are divided among the ranks: j and k */
#define FLOPS_PER_POINT 34      /* as the Himeno benchmark counts them */

/* A pointer that kernels follow; the tests without a GPU define it otherwise. */
#ifndef GPU_POINTER
#define GPU_POINTER(type_) type_ *
#endif

/* Only ints, because rank 0 sends it to the others as such. */
struct options {
    int size[N_DIMS];           /* points of the whole domain, its fixed boundary included */
    int grid[N_CUT];            /* ranks in j and in k; 0: to be chosen */
    int iterations;             /* timed */
    int check;                  /* iterations that are compared with a single-rank run; 0: none */
    int memory;                 /* a MEMORY__ value; any: on a GPU if every rank has one */
    int corrupt;                /* damage one value before it is compared */
    int run;                    /* 0: leave at once with exit_status */
    int exit_status;
};

struct part {
    int whole[N_DIMS];          /* points of the whole domain */
    int first[N_CUT];           /* the first owned point's place in it, in j and k */
    int owned[N_CUT];           /* points owned in j and k */
    int row, plane;             /* floats from a point to the next one in j and in i */
    size_t n_points;            /* floats of one array, halo included */
};

/* What the arrays are filled with: the benchmark's values, most of which are the same everywhere,
 * or values that differ from point to point, so that no wrong one goes unseen. */
enum { VALUES__BENCHMARK, VALUES__VARIED };

/* The arrays, all in one allocation, which the first begins. The next pressure is computed from the
 * pressure, then the two change places. */
#define N_ARRAYS 14
struct grid {
    GPU_POINTER(float) a[4];
    GPU_POINTER(float) b[3];
    GPU_POINTER(float) c[3];
    GPU_POINTER(float) bound;
    GPU_POINTER(float) work;
    GPU_POINTER(float) pressure;
    GPU_POINTER(float) next;
    GPU_POINTER(double) residual;       /* one for each iteration */
    GPU_POINTER(double) partial;        /* a GPU's sums, one for each of its blocks */
};

/* A kind of memory and how the grid is worked on in it. 0 is good and -1 means that a function
 * failed and said why. When one returns, what it wrote is in its place: MPI may then read it. */
struct memory {
    const char *name;

    /* Gets memory for the arrays and for the residuals of so many iterations; with none to be had
     * grid->a[0] (OUT) is NULL. The caller frees it. */
    int (*alloc) (const struct part * part, int iterations, struct grid * grid);
    void (*free) (struct grid * grid);

    /* Writes all arrays; the pressure's halo gets no numbers (NaN). */
    int (*fill) (const struct part * part, const struct grid * grid, int values);

    /* One iteration: from pressure, whose halo is up to date, to next. residual[iteration] becomes
     * the sum of the owned points' squared changes. */
    int (*step) (const struct part * part, const struct grid * grid, int iteration);

    /* Copies n residuals, or the whole array of the pressure, to the host. */
    int (*residuals) (const struct grid * grid, int n, double *to);
    int (*pressure) (const struct part * part, const struct grid * grid, float *to);

    /* Flips the lowest bit of the pressure at the first owned point. */
    int (*corrupt) (const struct part * part, const struct grid * grid);
};

/* Reads the command line into opt (IN: defaults, OUT). Prints the help, or what is wrong. */
void options_parse(int argc, char *argv[], struct options *opt);

#ifdef __cplusplus
extern "C" {
#endif

extern const struct memory host_memory;

#ifdef WITH_GPU
extern const struct memory gpu_memory;
#endif

#ifdef __cplusplus
}
#endif

#endif /* HIMENO_H_INCLUDED */
