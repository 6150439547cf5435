/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Divisors in the form in which kernels divide: multiply and shift.
 */

#ifndef GPUDT_DIVISOR_H_INCLUDED
#define GPUDT_DIVISOR_H_INCLUDED

#include "kernel/gpudt_args.h"

/* The divisor d >= 1 in the form that the kernels use. */
void MPII_Gpudt_divisor_set(struct MPII_Gpudt_divisor *div, int64_t d);

#endif /* GPUDT_DIVISOR_H_INCLUDED */
