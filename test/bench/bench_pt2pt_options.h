/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The command line of bench_pt2pt. */

#ifndef BENCH_PT2PT_OPTIONS_H_INCLUDED
#define BENCH_PT2PT_OPTIONS_H_INCLUDED

#include "bench_pt2pt_link.h"

enum { EXIT__GOOD = 0, EXIT__WRONG_DATA = 1, EXIT__CANNOT_RUN = 2 };

enum { MEASURE__PINGPONG, MEASURE__BIDIR, MEASURE__RATE, MEASURE__OVERLAP, MEASURE__LIMIT,
    N_MEASURES
};

enum { PLACE__HOST_HOST, PLACE__HOST_GPU, PLACE__GPU_HOST, PLACE__GPU_GPU, N_PLACES };
extern const char *const place_name[N_PLACES];

#define MAX_TYPES 32
#define MAX_SIZES 64

struct options {
    int measure[N_MEASURES];    /* whether to do it */
    int place[N_PLACES];
    int method[N_METHODS];
    int type[MAX_TYPES];
    long size[MAX_SIZES];
    int n_sizes;
    int repetitions;            /* of a case, at most */
    int milliseconds;           /* for a case, about; at least MIN_REPETITIONS are done */
    int gpus;                   /* 1: both ranks on the first; 2: one each */
    int chunk;                  /* bytes, of the user's kernel; 0: tuned */
    int corrupt;                /* CORRUPT__ value: what to damage before it is checked */
    int verbose;
    int exit_status;
    int run;
};

/* What is done unless the command line says otherwise, with so many GPUs. */
void options_default(struct options *opt, int n_gpus);

/* Takes the command line, for help too. Where nothing is to be run, opt->run stays 0 and
 * opt->exit_status says how to end; the reason is on stderr. */
void options_parse(int argc, char *argv[], struct options *opt);

#endif /* BENCH_PT2PT_OPTIONS_H_INCLUDED */
