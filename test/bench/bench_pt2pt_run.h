/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/*
 * What bench_pt2pt's measures have in common: a case at hand, its samples, its row of the output.
 */

#ifndef BENCH_PT2PT_RUN_H_INCLUDED
#define BENCH_PT2PT_RUN_H_INCLUDED

#include "bench_pt2pt_link.h"
#include "bench_pt2pt_options.h"

#define TAG_DONE 2

struct bench {
    struct options opt;
    int rank, n_ranks;
    double init_seconds;        /* that MPI_Init took */
    double *seconds;            /* samples of a case */
    double *more;               /* as many, of something else in the same case */
    struct link link;
    int place, method;
    size_t asked;               /* bytes of the case, as the command line has them */
    int compute_rounds;
};

typedef void (*sample_fn) (struct bench * bench);

/* Runs once and returns the seconds it took. */
double sample_take(struct bench *bench, sample_fn fn);

/* How many repetitions of what takes so long are to be done; on all ranks what rank 0 finds. */
int samples_number(struct bench *bench, double once);

/* Warms up, then fills seconds with as many samples as fit into the time; all ranks take part.
 * Returns how many. */
int samples_take(struct bench *bench, sample_fn fn);

/* A round trip between ranks 0 and 1. */
void sample_pingpong(struct bench *bench);

/* Makes each sample the slowest rank's, on rank 0: a rank without a GPU has no kernel to wait
 * for. */
void samples_slower(struct bench *bench, int n);

/* Prints a row on rank 0: n samples, each parts times what the row tells. */
void row_print_of(struct bench *bench, const char *measure, const char *method, const char *type,
                  size_t bytes, double *seconds, int n, double parts);

/* The same of the case at hand. */
void row_print(struct bench *bench, const char *measure, int n, double parts);

/* Whether a rank's buffers are on a GPU at the place at hand: rank 0 is at one end, every other at
 * the other. */
int place_on_gpu(const struct bench *bench, int rank);

/* Says on stderr what is wrong with a case; returns 1 on all ranks if none has anything wrong. */
int all_right(const struct bench *bench, const char *what, size_t bytes, long long n_wrong);

/* Checks on both ranks what has arrived on them; says whether it is right. */
int is_right(struct bench *bench, int images_0, int images_1);

#endif /* BENCH_PT2PT_RUN_H_INCLUDED */
