/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Contiguous runs at listed displacements. Must not know records. */

#ifndef GPUDT_CPU_LIST_H_INCLUDED
#define GPUDT_CPU_LIST_H_INCLUDED

#include <stdbool.h>
#include <stdint.h>

/* Whether to use vector instructions that this CPU has. False in tests of the portable loops. */
extern bool MPII_Gpudt_cpu_vectors;

/* Copy runs of one length; packed memory is contiguous.
 *   displ   (IN)  displ[n], from user
 *   size    (IN)  bytes of a run, positive
 *   unpack  (IN)  true: from packed memory to the buffer */
void MPII_Gpudt_cpu_list(const int64_t * displ, int64_t n, int64_t size, char *user, char *packed,
                         bool unpack);

/* The same for runs of different lengths.
 *   prefix  (IN)  prefix[n + 1], units before each run
 *   unit    (IN)  bytes */
void MPII_Gpudt_cpu_runs(const int64_t * displ, const int64_t * prefix, int64_t n, int64_t unit,
                         char *user, char *packed, bool unpack);

#endif /* GPUDT_CPU_LIST_H_INCLUDED */
