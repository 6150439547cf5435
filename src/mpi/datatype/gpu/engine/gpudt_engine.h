/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* An engine: what the library keeps in one context of one device. Must not know datatypes. */

#ifndef GPUDT_ENGINE_H_INCLUDED
#define GPUDT_ENGINE_H_INCLUDED

#include "kernel/gpudt_kernel_list.h"
#include "driver/gpudt_ctx.h"

/* Work areas that operations pass data through; see gpudt_pool.h. */
enum MPII_Gpudt_area_e {
    MPII_GPUDT_AREA__DEVICE,    /* memory of the engine's device */
    MPII_GPUDT_AREA__PINNED,    /* host memory, at the same address for every device */
    MPII_GPUDT_AREA__HEAP,      /* pageable; not pooled */
    MPII_GPUDT_NAREAS
};

enum MPII_Gpudt_module_e {
    MPII_GPUDT_MODULE__NEW,     /* not tried yet */
    MPII_GPUDT_MODULE__LOADED,
    MPII_GPUDT_MODULE__NONE     /* no kernel image suits this device: final */
};

/* Streams of an engine: what is in one of them does not queue behind what is in another. */
enum MPII_Gpudt_lane_e {
    MPII_GPUDT_LANE__PACK,      /* also for copies from datatype to datatype */
    MPII_GPUDT_LANE__UNPACK,
    MPII_GPUDT_LANE__TO_HOST,   /* copies of what was packed in the first, while that packs on */
    MPII_GPUDT_LANE__FROM_HOST, /* copies of what is unpacked in the second */
    MPII_GPUDT_NLANES
};

#define MPII_GPUDT_NFLAGS 256           /* a multiple of 64 */
#define MPII_GPUDT_MAX_ENDS 4

typedef struct MPII_Gpudt_engine MPII_Gpudt_engine_t;

/* Frees what a file of a higher layer keeps for an engine that nothing uses.
 *   is_alive  (IN)  true: the context is current; false: it is gone, and what was in it */
typedef void (*MPII_Gpudt_end_fn) (MPII_Gpudt_engine_t * engine, bool is_alive);

struct MPII_Gpudt_engine {
    MPII_Gpudt_engine_t *next;  /* in a list of gpudt_contexts.c */
    const MPII_Gpudt_driver_t *drv;
    int device;
    CUcontext ctx;

    /* A small allocation in the context, and the number that the driver gave it. A context has
     * no name that is safe to ask about once it is destroyed, but an address does: while the
     * driver still knows this allocation by this number, the context and all in it are alive. */
    CUdeviceptr mark;
    unsigned long long mark_id;

    CUstream streams[MPII_GPUDT_NLANES];
    int nsms;
    int shared;                 /* for MPII_Gpudt_is_shared */

    /* Guarded by a lock of gpudt_engine.c. */
    MPII_Gpudt_end_fn ends[MPII_GPUDT_MAX_ENDS];        /* NULL after the last one */

    /* Of gpudt_memops.c. */
    MPL_atomic_int_t memops_refused;    /* true: allocations cannot be marked */
    MPL_atomic_int_t memops_busy;       /* true: the last wait there was in vain */

    /* Of gpudt_module.c, guarded by its lock. */
    enum MPII_Gpudt_module_e module_state;
    CUmodule module;
    CUfunction kernels[MPII_GPUDT_NKERNELS];    /* NULL: not looked up yet */

    /* Of gpudt_pool.c, guarded by its lock. */
    struct MPII_Gpudt_area *areas[MPII_GPUDT_NAREAS];   /* free ones */
    int nareas[MPII_GPUDT_NAREAS];      /* free and in use */
    CUevent *events;            /* free ones, a stack */
    int nevents;
    int max_events;             /* room in events */

    /* Of gpudt_flag.c, guarded by its lock. */
    char *flags;                /* pinned memory of the flags; NULL: none yet */
    CUdeviceptr flags_addr;     /* the same for kernels */
    bool no_flags;              /* it could not be had, or is not wanted */
    uint64_t flags_in_use[MPII_GPUDT_NFLAGS / 64];      /* bit i % 64 of i / 64: flag i */
    int flag_values[MPII_GPUDT_NFLAGS]; /* what each was last set to, or will be */
    CUdeviceptr counters;       /* one for each lane and flag, all 0 but in use; 0: none yet */
    bool no_counters;           /* they could not be had */

    /* Of gpudt_upload.c, guarded by its lock. */
    struct MPII_Gpudt_block *blocks;
    struct MPII_Gpudt_block *spare_blocks;
    size_t spare_sz;            /* bytes in spare_blocks */

    /* Of transfer/gpudt_batch.c, guarded by its lock. */
    struct MPII_Gpudt_queue *queues;    /* NULL: none yet */
};

/* Make the engine of the current context.
 *   device, ctx  (IN)   as MPIR_Gpudt_query_ptr gives them
 *   engine       (OUT)  for MPII_Gpudt_engine_free; untouched on failure */
int MPII_Gpudt_engine_make(const MPII_Gpudt_driver_t * drv, int device, CUcontext ctx,
                           MPII_Gpudt_engine_t ** engine);

/* Free an engine that nothing uses: its streams, its mark, and what MPII_Gpudt_engine_at_end is to
 * free. The rest has been freed before. */
void MPII_Gpudt_engine_free(MPII_Gpudt_engine_t * engine, bool is_alive);

/* Have a function called when the engine ends, once however often this is called. */
void MPII_Gpudt_engine_at_end(MPII_Gpudt_engine_t * engine, MPII_Gpudt_end_fn fn);

/* Whether an engine's context still exists. Safe to ask at any time. */
bool MPII_Gpudt_engine_is_alive(const MPII_Gpudt_engine_t * engine);

/* Enter the context of an engine that was used before; an error if the program has ended it.
 *   entered  (OUT)  for MPII_Gpudt_ctx_leave; on failure nothing is entered */
int MPII_Gpudt_engine_reenter(const MPII_Gpudt_engine_t * engine, MPII_Gpudt_ctx_t * entered);

/* Whether kernels of engine may access plain allocations of peer, because the program has switched that
 * on. The engine's context is current. */
bool MPII_Gpudt_engine_peer(MPII_Gpudt_engine_t * engine, const MPII_Gpudt_engine_t * peer);

#endif /* GPUDT_ENGINE_H_INCLUDED */
