/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Work areas, events and pinned memory of an engine, whose context is current in all of these. */

#ifndef GPUDT_POOL_H_INCLUDED
#define GPUDT_POOL_H_INCLUDED

#include "gpudt_engine.h"

/* A work area. */
struct MPII_Gpudt_area {
    struct MPII_Gpudt_area *next;       /* in the engine's list of free ones */
    enum MPII_Gpudt_area_e kind;
    char *mem;                  /* device address for MPII_GPUDT_AREA__DEVICE */
    size_t sz;
};

/* Get a work area. What kind it is may differ from what was asked for; see area->kind.
 *   kind  (IN)   kind wanted
 *   area  (OUT)  NULL: no more of that kind now: the pool is at its limit or the driver refused */
void MPII_Gpudt_area_get(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_area_e kind,
                         struct MPII_Gpudt_area **area);
/* Give one back, when nothing uses it any more. */
void MPII_Gpudt_area_put(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_area *area);
/* Bytes of a work area of a kind. */
size_t MPII_Gpudt_area_sz(enum MPII_Gpudt_area_e kind);

int MPII_Gpudt_event_get(MPII_Gpudt_engine_t * engine, CUevent * event);
void MPII_Gpudt_event_put(MPII_Gpudt_engine_t * engine, CUevent event);

/* Pin fresh host memory; NULL if that cannot be done. It is not the context's: what was written there can
 * be read when the program has ended the context.
 *   addr  (OUT)  for kernels */
char *MPII_Gpudt_pinned_map(MPII_Gpudt_engine_t * engine, size_t sz, CUdeviceptr * addr);
/* Give it back; mem may be NULL. */
void MPII_Gpudt_pinned_unmap(MPII_Gpudt_engine_t * engine, char *mem, size_t sz, bool is_alive);

/* Free all that the pools hold, for an engine that nothing uses.
 *   is_alive  (IN)  false: the context is gone, and what was in it */
void MPII_Gpudt_pools_free(MPII_Gpudt_engine_t * engine, bool is_alive);

#endif /* GPUDT_POOL_H_INCLUDED */
