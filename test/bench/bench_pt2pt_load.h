/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures of bench_pt2pt between two ranks under load: many messages at once, the time in calls,
 * other kernels. Each function measures the current case, whose link is open, checks the data and
 * returns 0 if any is wrong. A size that a measure does not apply to has no row. */

#ifndef BENCH_PT2PT_LOAD_H_INCLUDED
#define BENCH_PT2PT_LOAD_H_INCLUDED

#include "bench_pt2pt_run.h"

/* Images of the message in a receive buffer that the requested measures need. */
int load_images(const struct bench *bench);

/* Messages in a row, one way; and many at once, one way and both. */
int measure_rate(struct bench *bench);
int measure_window(struct bench *bench);

/* Time in MPI_Isend. */
int measure_isend(struct bench *bench);

/* Time in MPI_Iprobe while there are unmatched sends. */
int measure_iprobe(struct bench *bench);

#ifdef WITH_GPU

/* Ping-pong beside kernels of the program. */
int measure_beside(struct bench *bench);

/* Rows with the time in the call that launches an empty kernel. */
void launch_calls_measure(struct bench *bench);

#endif

#endif /* BENCH_PT2PT_LOAD_H_INCLUDED */
