/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures of bench_pt2pt between any number of ranks, for all memories, types and sizes that are
 * requested and that the measure applies to. Collective; returns an EXIT__ value. */

#ifndef BENCH_PT2PT_GROUP_H_INCLUDED
#define BENCH_PT2PT_GROUP_H_INCLUDED

#include "bench_pt2pt_run.h"

/* The first message of the job from rank 0 to each other rank; must be called first. */
int first_measure(struct bench *bench);

/* Many messages from each rank to all others, all in host or all in GPU memory. */
int peers_measure(struct bench *bench);

/* The exchange with 26 neighbours in a periodic domain with a block per rank, all in host or all in
 * GPU memory. */
int halo_measure(struct bench *bench);

#endif /* BENCH_PT2PT_GROUP_H_INCLUDED */
