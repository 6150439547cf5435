/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The *route* of a transfer: its steps and work areas. */

#ifndef GPUDT_ROUTE_H_INCLUDED
#define GPUDT_ROUTE_H_INCLUDED

#include "gpudt_op.h"

/* The *lead*: the side whose GPU does the work of a transfer. */
const struct MPII_Gpudt_side *MPII_Gpudt_lead(const MPIR_Gpudt_op * op);

/* Choose the route of a transfer, and get its work areas.
 *   op    (IN/OUT)  all members before engine, and engine, are set, and engine's context is current;
 *                   the rest is filled in. On failure it holds no work areas
 *   lead  (IN)      of MPII_Gpudt_lead */
int MPII_Gpudt_route(MPIR_Gpudt_op * op, const struct MPII_Gpudt_side *lead);

#endif /* GPUDT_ROUTE_H_INCLUDED */
