/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Divisors in the form that kernels use: a multiplier and a shift.
 */

#ifndef GPUDT_DIVISOR_H_INCLUDED
#define GPUDT_DIVISOR_H_INCLUDED

#include "kernel/gpudt_args.h"

/* Set a divisor d >= 1. */
void MPII_Gpudt_divisor_set(struct MPII_Gpudt_divisor *div, int64_t d);

#endif /* GPUDT_DIVISOR_H_INCLUDED */
