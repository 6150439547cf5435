/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Offers as they are stored; see gpudt_direct.h. */

#ifndef GPUDT_OFFER_H_INCLUDED
#define GPUDT_OFFER_H_INCLUDED

#include "gpudt_direct.h"
#include "gpudt_move.h"
#include "engine/gpudt_import.h"
#include "plan/gpudt_across.h"
#include "type/gpudt_record.h"

/* Of the exports only those parts are written and read that say something: each line of memory
 * takes a short message some time to get from core to core. */
struct MPIR_Gpudt_offer {
    int64_t addr, low, high;    /* as in a side, relative to the allocation */
    int64_t size;               /* packed bytes of the buffer */
    int64_t read_across, read;  /* MPII_Gpudt_access, for all of it */
    uint64_t gpu;               /* name of the GPU; 0: none */
    int64_t is_shared;          /* it is one that processes share */
    struct MPII_Gpudt_record top;       /* as in a side; not for a contiguous buffer */
    int64_t type_sz;            /* bytes of the description of the datatype; 0: contiguous */
    int64_t type_at;            /* where it is, or an MPIR_GPUDT_TYPE__ value */
    int64_t stage_at;           /* place of the staging memory in its allocation */
    int64_t stage_sz;           /* its bytes; 0: none */
    int64_t stage_segment;      /* bytes of a segment of the message, at most */
    int64_t stage_cost;         /* MPII_Gpudt_stage_cost */
    int32_t early_place;        /* of the stage: the message is packed into it; -1: none */
    int32_t early_value;        /* of its semaphore */
    struct MPII_Gpudt_export export;    /* id 0: the buffer cannot be mapped */
    struct MPII_Gpudt_export stage;     /* the allocation that the staging memory is in */
    char type[];
};
MPII_GPUDT_STATIC_ASSERT(sizeof(struct MPIR_Gpudt_offer) <= MPIR_GPUDT_OFFER_HEAD, "it has room");

/* Staging memory of this process, or of another one as mapped here. */
struct MPIR_Gpudt_stage {
    MPII_Gpudt_engine_t *engine;
    struct MPII_Gpudt_mapping *mapping; /* of another process; NULL: of this one */
    bool is_far;                /* it is known to be another GPU's */
    struct MPII_Gpudt_export export;    /* of this process only, as is the next */
    int64_t cost;               /* of staging the message, as in the offer */
    int64_t segment;            /* also as in the offer */
    char *mem;
    size_t sz;                  /* of the places; the semaphores follow, MPII_GPUDT_SEMAPHORE_STEP
                                 * apart */
    int early_place, early_value;       /* as in the offer */
    struct {
        struct MPII_Gpudt_ahead ahead;
        struct MPII_Gpudt_flag missed;  /* set by a kernel that gave up its wait; no word: none waits */
    } place[MPIR_GPUDT_STAGE_PLACES];
};

/* Whether to copy n bytes between processes directly, as far as this depends on whether they share
 * the GPU of an engine.
 *   is_typed  (IN)  some side is not contiguous */
bool MPII_Gpudt_is_good_for_shared(const MPII_Gpudt_engine_t * engine, int64_t n, bool is_typed);

/* Microseconds that a message of n bytes takes less than through host memory. */
double MPII_Gpudt_saved_us(const MPII_Gpudt_engine_t * engine, int64_t n);

/* How other processes map the memory of a buffer; valid until the next call. NULL: they cannot, or
 * that is forbidden. */
const struct MPII_Gpudt_export *MPII_Gpudt_buffer_export(const MPIR_Gpudt_buffer * buffer);

/* What it costs to access the first n bytes of a buffer. */
void MPII_Gpudt_buffer_access(const MPIR_Gpudt_buffer * buffer, int64_t n,
                              struct MPII_Gpudt_access *access);

/* Map an allocation of another process.
 *   saved_us  (IN)   as of MPII_Gpudt_import_find
 *   mapping   (OUT)  referenced by the caller; NULL: that is not possible, or does not pay off yet
 *   mem       (OUT)  its address */
int MPII_Gpudt_offer_map(const struct MPII_Gpudt_export *export, MPII_Gpudt_engine_t * engine,
                         double saved_us, struct MPII_Gpudt_mapping **mapping, CUdeviceptr * mem);

#endif /* GPUDT_OFFER_H_INCLUDED */
