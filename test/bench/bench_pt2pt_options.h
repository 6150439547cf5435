/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The command line of bench_pt2pt. */

#ifndef BENCH_PT2PT_OPTIONS_H_INCLUDED
#define BENCH_PT2PT_OPTIONS_H_INCLUDED

#include "bench_pt2pt_link.h"

enum { EXIT__GOOD = 0, EXIT__WRONG_DATA = 1, EXIT__CANNOT_RUN = 2 };

/* From halo26 on they are for any number of ranks, the others for two. */
enum { MEASURE__PINGPONG, MEASURE__BIDIR, MEASURE__RATE, MEASURE__OVERLAP, MEASURE__LIMIT,
    MEASURE__WINDOW, MEASURE__ISEND, MEASURE__IPROBE, MEASURE__BESIDE, MEASURE__LOCAL,
    MEASURE__BARE, MEASURE__HALO26, MEASURE__PEERS, MEASURE__FIRST, N_MEASURES
};
#define MEASURES_OF_TWO MEASURE__HALO26

enum { PLACE__HOST_HOST, PLACE__HOST_GPU, PLACE__GPU_HOST, PLACE__GPU_GPU, N_PLACES };
extern const char *const place_name[N_PLACES];

#define MAX_TYPES 32
#define MAX_SIZES 64
#define MAX_BLOCKS_LISTED 8
#define MAX_LABEL 32

struct options {
    int measure[N_MEASURES];    /* whether to run it */
    int place[N_PLACES];
    int method[N_METHODS];
    int type[MAX_TYPES];
    long size[MAX_SIZES];
    int n_sizes;
    int repetitions;            /* maximum, per case */
    int milliseconds;           /* per case, approximately */
    int least;                  /* minimum number of repetitions, however long they take */
    int outstanding;            /* messages in flight; 0: each measure's default */
    int points[MAX_BLOCKS_LISTED];      /* of a side of halo26's block */
    int n_points;
    int variables[MAX_BLOCKS_LISTED];   /* of 8 bytes at each point */
    int n_variables;
    int gpus;                   /* number that the ranks are distributed to: rank r uses GPU r %
                                 * gpus */
    int chunk;                  /* bytes, of the user's kernel; 0: tuned */
    char label[MAX_LABEL];      /* of METHOD__DATATYPE in the output */
    int corrupt;                /* CORRUPT__ value: what to corrupt before the check */
    int verbose;
    int exit_status;
    int run;
};

/* Default options for that many GPUs and ranks. */
void options_default(struct options *opt, int n_gpus, int n_ranks);

/* Parse the command line, also for help. If nothing is to be run, opt->run stays 0 and
 * opt->exit_status is the exit status; the reason is on stderr. */
void options_parse(int argc, char *argv[], struct options *opt, int n_ranks);

/* Messages in flight: from the command line, else as given. */
int options_outstanding(const struct options *opt, int otherwise);

#endif /* BENCH_PT2PT_OPTIONS_H_INCLUDED */
