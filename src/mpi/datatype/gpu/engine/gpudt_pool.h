/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Work areas, events and pinned memory of an engine. Its context is current in all functions. */

#ifndef GPUDT_POOL_H_INCLUDED
#define GPUDT_POOL_H_INCLUDED

#include "gpudt_engine.h"

/* The semaphores of the places of staging memory (kernel/gpudt_args.h) follow the places. */
#define MPII_GPUDT_SEMAPHORE_STEP 128   /* bytes from one to the next: a line each */
#define MPII_GPUDT_SEMAPHORES_SZ (MPIR_GPUDT_STAGE_PLACES * MPII_GPUDT_SEMAPHORE_STEP)

/* Staging memory is as long as so many work areas. */
#define MPII_GPUDT_STAGE_AREAS (2 * MPIR_GPUDT_STAGE_PLACES)

/* A *work area* (or area): staging memory that packed data passes through. */
struct MPII_Gpudt_area {
    struct MPII_Gpudt_area *next;       /* in the engine's list of free ones */
    enum MPII_Gpudt_area_e kind;
    char *mem;                  /* device address if MPII_GPUDT_AREA__DEVICE or _STAGE */
    size_t sz;
};

/* Get a work area. Its kind may differ from the requested one; see area->kind.
 *   kind  (IN)   requested kind
 *   area  (OUT)  NULL: none available: the pool is at its limit or the driver refused */
void MPII_Gpudt_area_get(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_area_e kind,
                         struct MPII_Gpudt_area **area);
/* The same for a transfer that can do without.
 *   nleft  (IN)   areas that must remain available for others
 *   area   (OUT)  NULL also if the driver has refused memory before */
void MPII_Gpudt_area_get_spare(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_area_e kind, int nleft,
                               struct MPII_Gpudt_area **area);
/* Return a work area that is no longer used to its pool. */
void MPII_Gpudt_area_put(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_area *area);
/* Bytes of a work area of a kind. */
size_t MPII_Gpudt_area_sz(enum MPII_Gpudt_area_e kind);

int MPII_Gpudt_event_get(MPII_Gpudt_engine_t * engine, CUevent * event);
void MPII_Gpudt_event_put(MPII_Gpudt_engine_t * engine, CUevent event);

/* Allocate and pin host memory; NULL if that fails. The memory does not belong to the context: it
 * stays readable when the program has destroyed the context.
 *   addr  (OUT)  its device address */
char *MPII_Gpudt_pinned_map(MPII_Gpudt_engine_t * engine, size_t sz, CUdeviceptr * addr);
/* Free memory of MPII_Gpudt_pinned_map; mem may be NULL. */
void MPII_Gpudt_pinned_unmap(MPII_Gpudt_engine_t * engine, char *mem, size_t sz, bool is_alive);

/* Free all memory and events in the pools of an engine that is no longer used.
 *   is_alive  (IN)  false: the context is destroyed, with all in it */
void MPII_Gpudt_pools_free(MPII_Gpudt_engine_t * engine, bool is_alive);

#endif /* GPUDT_POOL_H_INCLUDED */
