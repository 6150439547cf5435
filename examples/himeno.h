/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What the parts of the himeno example share: its options, the part of the domain of a rank, and
 * the grid of floats on it. Only the functions of its memory access the values (himeno_field.c for
 * the host, himeno_gpu.cu for a GPU). Must not know of MPI.
 *
 * Dimensions are in C order: i is dimension 0, k is dimension 2 and contiguous in memory. Each rank
 * has all of i and a part of j and k, with one point of halo on the sides of that part. */

#ifndef HIMENO_H_INCLUDED
#define HIMENO_H_INCLUDED

#include "example.h"
#include <stddef.h>

#define N_DIMS 3
#define N_CUT 2                 /* dimensions that are divided among the ranks: j and k */
#define FLOPS_PER_POINT 34      /* as the Himeno benchmark counts them */

/* A pointer that kernels dereference; the tests without a GPU define it differently. */
#ifndef GPU_POINTER
#define GPU_POINTER(type_) type_ *
#endif

/* All members are int: rank 0 broadcasts it as an array of ints. */
struct options {
    int size[N_DIMS];           /* points of the whole domain, with its fixed boundary */
    int grid[N_CUT];            /* ranks in j and in k; 0: chosen automatically */
    int iterations;             /* timed */
    int check;                  /* iterations to compare with a single-rank run; 0: none */
    int memory;                 /* a MEMORY__ value; any: GPU memory if every rank has a GPU */
    int halo;                   /* a HALO__ value */
    int overlap;                /* exchange the halo while the interior is computed */
    int corrupt;                /* corrupt one value before the comparison */
    int run;                    /* 0: exit at once with exit_status */
    int exit_status;
};

struct part {
    int whole[N_DIMS];          /* points of the whole domain */
    int first[N_CUT];           /* coordinates of the first owned point in it, in j and k */
    int owned[N_CUT];           /* points owned in j and k */
    int row, plane;             /* floats from a point to the next one in j and in i */
    size_t n_points;            /* floats of one array, halo included */
};

/* Initial values of the arrays: those of the benchmark, most of which are the same everywhere, or
 * values that differ from point to point, so that a misplaced value is detected. */
enum { VALUES__BENCHMARK, VALUES__VARIED };

/* The arrays, in one allocation that begins with the first one. The next pressure is computed from
 * the pressure, then the two are swapped. */
#define N_ARRAYS 14
struct grid {
    GPU_POINTER(float) a[4];
    GPU_POINTER(float) b[3];
    GPU_POINTER(float) c[3];
    GPU_POINTER(float) bound;
    GPU_POINTER(float) work;
    GPU_POINTER(float) pressure;
    GPU_POINTER(float) next;
    GPU_POINTER(double) residual;       /* one per iteration */
    GPU_POINTER(double) partial;        /* a GPU's sums, one per thread block */
    void *streams[2];           /* of a GPU: a STREAM__ value each */
    void *is_complete;          /* of a GPU: an event after the last step_end */
};

/* A kind of memory and the operations on the grid in it. They return 0, or -1 after printing an
 * error. Their writes are complete when they return, so MPI may read the arrays. */
struct memory {
    const char *name;

    /* Allocates the arrays, and residuals for that many iterations; on failure grid->a[0] (OUT) is
     * NULL. The caller frees it. */
    int (*alloc) (const struct part * part, int iterations, struct grid * grid);
    void (*free) (struct grid * grid);

    /* Writes all arrays; the pressure's halo is set to NaN. */
    int (*fill) (const struct part * part, const struct grid * grid, int values);

    /* One iteration: from pressure, whose halo is up to date, to next. residual[iteration] becomes
     * the sum of the squared changes of the owned points. */
    int (*step) (const struct part * part, const struct grid * grid, int iteration);

    /* An iteration in two parts. begin computes the points of next that neighbours need, after those of
     * the iteration before, and starts to compute the others; the halo of next may be exchanged
     * meanwhile. end starts to add up the residual: the next iteration may begin, but wait must come
     * before anything else. In host memory end computes what begin starts on a GPU. */
    int (*step_begin) (const struct part * part, const struct grid * grid, int iteration);
    int (*step_end) (const struct part * part, const struct grid * grid, int iteration);
    int (*wait) (const struct grid * grid);

    /* Copies n residuals, or the whole array of the pressure, to the host. */
    int (*residuals) (const struct grid * grid, int n, double *to);
    int (*pressure) (const struct part * part, const struct grid * grid, float *to);

    /* Flips the lowest bit of the pressure at the first owned point. */
    int (*corrupt) (const struct part * part, const struct grid * grid);
};

/* Parses the command line into opt (IN: defaults, OUT). Prints the help or the error. */
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
