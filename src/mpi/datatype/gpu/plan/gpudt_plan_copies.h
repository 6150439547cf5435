/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Plans for the kernels for copies of contiguous memory. */

#ifndef GPUDT_PLAN_COPIES_H_INCLUDED
#define GPUDT_PLAN_COPIES_H_INCLUDED

#include <stdint.h>

#include "kernel/gpudt_args.h"

/* Set the parameters of a copy, but for its flag.
 *   src, dst  (IN)  addresses
 * Returns the number of its blocks of threads; 0: there are no bytes, or the addresses do not differ by a
 * multiple of 4. */
unsigned MPII_Gpudt_plan_copy_set(uint64_t src, uint64_t dst, int64_t bytes,
                                  struct MPII_Gpudt_args_copy *copy);

#endif /* GPUDT_PLAN_COPIES_H_INCLUDED */
