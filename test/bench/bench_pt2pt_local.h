/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures of bench_pt2pt without messages: what limits any of them, and packing on one rank. */

#ifndef BENCH_PT2PT_LOCAL_H_INCLUDED
#define BENCH_PT2PT_LOCAL_H_INCLUDED

#include "bench_pt2pt_run.h"

/* MPI_Pack and MPI_Unpack of the current case, whose link is open. Checks the data and returns 0 if
 * any is wrong. */
int measure_local(struct bench *bench);

#ifdef WITH_GPU

/* Rows with an empty launch and with contiguous copies of each size. Collective. */
void limits_measure(struct bench *bench);

#endif

#endif /* BENCH_PT2PT_LOCAL_H_INCLUDED */
