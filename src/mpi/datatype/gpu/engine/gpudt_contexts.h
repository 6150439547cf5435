/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The engines of all contexts. */

#ifndef GPUDT_CONTEXTS_H_INCLUDED
#define GPUDT_CONTEXTS_H_INCLUDED

#include "gpudt_engine.h"

/* Goes up whenever an engine is found whose context has ended; starts at 1. */
extern MPL_atomic_int_t MPII_Gpudt_epoch;

/* Look for engines whose contexts have ended. */
void MPII_Gpudt_engines_check(void);

/* Enter the context that owns some memory and find or make its engine.
 *   device, ctx      (IN)   as MPIR_Gpudt_query_ptr gives them
 *   engine, entered  (OUT)  engine lives until MPI_Finalize; entered is for MPII_Gpudt_ctx_leave.
 *                           On failure nothing is entered */
int MPII_Gpudt_engine_enter(const MPII_Gpudt_driver_t * drv, int device, void *ctx,
                            MPII_Gpudt_engine_t ** engine, MPII_Gpudt_ctx_t * entered);

/* The same without entering the context, but to make the engine. */
int MPII_Gpudt_engine_get(const MPII_Gpudt_driver_t * drv, int device, void *ctx,
                          MPII_Gpudt_engine_t ** engine);

#endif /* GPUDT_CONTEXTS_H_INCLUDED */
