/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What the machine allows: a message of each type moved between two GPUs of one process by kernels
 * written by hand, without MPI, started and waited for: a kernel of the receiver's GPU that reads
 * across, one of the sender's that writes across, and two that pass packed pieces through the
 * sender's memory. */

#ifndef BENCH_PT2PT_BARE_H_INCLUDED
#define BENCH_PT2PT_BARE_H_INCLUDED

#include "bench_pt2pt_run.h"

/* Measure the current case, if that is asked for and there are two GPUs that reach each other.
 * Returns 0 if wrong data arrived. Collective. */
int measure_bare(struct bench *bench);

/* After the last case: leave the other GPU. */
void bare_end(struct bench *bench);

#endif /* BENCH_PT2PT_BARE_H_INCLUDED */
