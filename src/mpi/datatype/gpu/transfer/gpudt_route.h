/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The way of a transfer. */

#ifndef GPUDT_ROUTE_H_INCLUDED
#define GPUDT_ROUTE_H_INCLUDED

#include "gpudt_op.h"

/* The side whose GPU does the work of a transfer. */
const struct MPII_Gpudt_side *MPII_Gpudt_lead(const MPIR_Gpudt_op * op);

/* Decide how a transfer goes, and get the work areas it needs.
 *   op  (IN/OUT)  all down to engine is set, and engine's context is current; the rest is filled
 *                 in. On failure it holds no work areas */
int MPII_Gpudt_route(MPIR_Gpudt_op * op);

#endif /* GPUDT_ROUTE_H_INCLUDED */
