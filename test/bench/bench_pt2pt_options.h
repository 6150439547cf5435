/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The command line of bench_pt2pt. */

#ifndef BENCH_PT2PT_OPTIONS_H_INCLUDED
#define BENCH_PT2PT_OPTIONS_H_INCLUDED

#include "bench_pt2pt_link.h"

enum { EXIT__GOOD = 0, EXIT__WRONG_DATA = 1, EXIT__CANNOT_RUN = 2 };

/* Those from halo26 on are for any number of ranks, the others for two. */
enum { MEASURE__PINGPONG, MEASURE__BIDIR, MEASURE__RATE, MEASURE__OVERLAP, MEASURE__LIMIT,
    MEASURE__WINDOW, MEASURE__ISEND, MEASURE__IPROBE, MEASURE__BESIDE, MEASURE__HALO26,
    MEASURE__PEERS, MEASURE__FIRST, N_MEASURES
};
#define MEASURES_OF_TWO MEASURE__HALO26

enum { PLACE__HOST_HOST, PLACE__HOST_GPU, PLACE__GPU_HOST, PLACE__GPU_GPU, N_PLACES };
extern const char *const place_name[N_PLACES];

#define MAX_TYPES 32
#define MAX_SIZES 64
#define MAX_BLOCKS_LISTED 8

struct options {
    int measure[N_MEASURES];    /* whether to do it */
    int place[N_PLACES];
    int method[N_METHODS];
    int type[MAX_TYPES];
    long size[MAX_SIZES];
    int n_sizes;
    int repetitions;            /* of a case, at most */
    int milliseconds;           /* for a case, about */
    int least;                  /* repetitions that are done however long they take */
    int outstanding;            /* messages at once; 0: what each measure is about */
    int points[MAX_BLOCKS_LISTED];      /* of a side of halo26's block */
    int n_points;
    int variables[MAX_BLOCKS_LISTED];   /* of 8 bytes at each point */
    int n_variables;
    int gpus;                   /* that the ranks are dealt out to: rank r is on GPU r % gpus */
    int chunk;                  /* bytes, of the user's kernel; 0: tuned */
    int corrupt;                /* CORRUPT__ value: what to damage before it is checked */
    int verbose;
    int exit_status;
    int run;
};

/* What is done unless the command line says otherwise, with so many GPUs and ranks. */
void options_default(struct options *opt, int n_gpus, int n_ranks);

/* Takes the command line, for help too. Where nothing is to be run, opt->run stays 0 and
 * opt->exit_status says how to end; the reason is on stderr. */
void options_parse(int argc, char *argv[], struct options *opt, int n_ranks);

/* Messages at once: as the command line says, else as given. */
int options_outstanding(const struct options *opt, int otherwise);

#endif /* BENCH_PT2PT_OPTIONS_H_INCLUDED */
