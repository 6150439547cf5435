/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Shared by bench_pt2pt's measures: the current case, its samples, its row of the output. */

#ifndef BENCH_PT2PT_RUN_H_INCLUDED
#define BENCH_PT2PT_RUN_H_INCLUDED

#include "bench_pt2pt_link.h"
#include "bench_pt2pt_options.h"

#define TAG_DONE 2

struct bench {
    struct options opt;
    int rank, n_ranks;
    double init_seconds;        /* time of MPI_Init */
    double *seconds;            /* samples of a case */
    double *more;               /* as many, of something else in the same case */
    struct link link;
    int place, method;
    size_t asked;               /* bytes of the case, as on the command line */
    int compute_rounds;
};

typedef void (*sample_fn) (struct bench * bench);

/* Run once and return the seconds. */
double sample_take(struct bench *bench, sample_fn fn);

/* Number of repetitions of an operation that takes that long; rank 0's result on all ranks. */
int samples_number(struct bench *bench, double once);

/* Warm up, then fill seconds with as many samples as the time allows. Collective. Returns their
 * number. */
int samples_take(struct bench *bench, sample_fn fn);

/* A round trip between ranks 0 and 1. */
void sample_pingpong(struct bench *bench);

/* On rank 0, make each sample that of the slowest rank: a rank without a GPU has no kernel to wait
 * for. */
void samples_slower(struct bench *bench, int n);

/* Print a row on rank 0: n samples, each of `parts` times the operation of the row. */
void row_print_of(struct bench *bench, const char *measure, const char *method, const char *type,
                  size_t bytes, double *seconds, int n, double parts);

/* The same for the current case. */
void row_print(struct bench *bench, const char *measure, int n, double parts);

/* The name of the current case's method in its row. */
const char *row_method(const struct bench *bench);

/* Whether a rank's buffers are on a GPU in the current case: rank 0 is one end, all others are the
 * other end. */
int place_on_gpu(const struct bench *bench, int rank);

/* Print errors of a case to stderr; returns 1 on all ranks if no rank has any. */
int all_right(const struct bench *bench, const char *what, size_t bytes, long long n_wrong);

/* Check the received data on both ranks. */
int is_right(struct bench *bench, int images_0, int images_1);

#endif /* BENCH_PT2PT_RUN_H_INCLUDED */
