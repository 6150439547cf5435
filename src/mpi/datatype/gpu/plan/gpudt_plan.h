/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Plans one launch for a canonical type and a byte range: which kernel, its parameters, the number
 * of blocks. Pure functions of their parameters; must not know MPI, the driver or a stream.
 */

#ifndef GPUDT_PLAN_H_INCLUDED
#define GPUDT_PLAN_H_INCLUDED

#include "gpudt_plan_types.h"

/* Choose the cheapest strategy that applies and is allowed, and fill in its parameters.
 *   in    (IN)   what to move
 *   plan  (OUT)  filled completely, except the members of args and copy that are not in use
 * Cannot fail: TREE applies to everything. */
void MPII_Gpudt_plan_make(const struct MPII_Gpudt_plan_in *in, struct MPII_Gpudt_plan *plan);

/* Lower-case name of a strategy, static text. */
const char *MPII_Gpudt_plan_strategy_name(enum MPII_Gpudt_strategy_e strategy);

/* Name of a kernel's entry point, static text. */
const char *MPII_Gpudt_plan_kernel_name(int kernel);

#endif /* GPUDT_PLAN_H_INCLUDED */
