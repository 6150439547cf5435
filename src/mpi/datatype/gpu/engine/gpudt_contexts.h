/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The engines of all contexts. */

#ifndef GPUDT_CONTEXTS_H_INCLUDED
#define GPUDT_CONTEXTS_H_INCLUDED

#include "gpudt_engine.h"
#include "driver/gpudt_ptr.h"

/* Increases whenever an engine is found whose context was destroyed; starts at 1. */
extern MPL_atomic_int_t MPII_Gpudt_epoch;

/* Look for engines whose contexts were destroyed. */
void MPII_Gpudt_engines_check(void);

/* Some engine whose context exists, for work that any GPU can do; NULL: there is none. */
MPII_Gpudt_engine_t *MPII_Gpudt_engine_any(void);

/* Whether MPII_Gpudt_engine_is_idle of all engines. */
bool MPII_Gpudt_engines_are_idle(void);

/* Enter the context that owns some memory, and find or make its engine.
 *   device, ctx      (IN)   from MPIR_Gpudt_query_ptr
 *   engine, entered  (OUT)  engine lives until MPI_Finalize; entered is for MPII_Gpudt_ctx_leave.
 *                           On failure nothing is entered */
int MPII_Gpudt_engine_enter(const MPII_Gpudt_driver_t * drv, int device, void *ctx,
                            MPII_Gpudt_engine_t ** engine, MPII_Gpudt_ctx_t * entered);

/* The same for the current context of the thread, or if there is none for the primary context of the
 * first GPU. */
int MPII_Gpudt_engine_current(const MPII_Gpudt_driver_t * drv, MPII_Gpudt_engine_t ** engine,
                              MPII_Gpudt_ctx_t * entered);

/* As MPII_Gpudt_engine_enter, but the context is not current afterwards. */
int MPII_Gpudt_engine_get(const MPII_Gpudt_driver_t * drv, int device, void *ctx,
                          MPII_Gpudt_engine_t ** engine);

/* The same for memory that MPIR_Gpudt_query_ptr has just described. Costs no driver call if its
 * allocation was seen before. */
int MPII_Gpudt_engine_of(const MPII_Gpudt_driver_t * drv, const MPIR_Gpudt_ptr_t * ptr,
                         MPII_Gpudt_engine_t ** engine);

#endif /* GPUDT_CONTEXTS_H_INCLUDED */
