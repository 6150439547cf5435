/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/*
 * What bench_pt2pt measures between any number of ranks, at all places, types and sizes that are
 * asked for and that the measure is about. All ranks call; returns an EXIT__ value.
 */

#ifndef BENCH_PT2PT_GROUP_H_INCLUDED
#define BENCH_PT2PT_GROUP_H_INCLUDED

#include "bench_pt2pt_run.h"

/* The first message of the job from rank 0 to each other rank; it must be called first. */
int first_measure(struct bench *bench);

/* Many messages from each rank to all others, in host or in GPU memory everywhere. */
int peers_measure(struct bench *bench);

/* The exchange with 26 neighbours in a periodic domain of a block for each rank, in host or in GPU
 * memory everywhere. */
int halo_measure(struct bench *bench);

#endif /* BENCH_PT2PT_GROUP_H_INCLUDED */
