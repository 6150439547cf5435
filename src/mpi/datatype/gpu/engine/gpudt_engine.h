/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* An *engine*: what the library keeps for one context of one device. Must not know datatypes. */

#ifndef GPUDT_ENGINE_H_INCLUDED
#define GPUDT_ENGINE_H_INCLUDED

#include "kernel/gpudt_kernel_list.h"
#include "driver/gpudt_ctx.h"
#include "gpudt_direct.h"

/* Kinds of work areas (staging memory of operations); see gpudt_pool.h. */
enum MPII_Gpudt_area_e {
    MPII_GPUDT_AREA__DEVICE,    /* memory of the engine's device */
    MPII_GPUDT_AREA__STAGE,     /* the same, for messages that other processes read there */
    MPII_GPUDT_AREA__PINNED,    /* host memory, at the same address on every device */
    MPII_GPUDT_AREA__HEAP,      /* pageable; not pooled */
    MPII_GPUDT_NAREAS
};

enum MPII_Gpudt_module_e {
    MPII_GPUDT_MODULE__NEW,     /* not tried yet */
    MPII_GPUDT_MODULE__LOADED,
    MPII_GPUDT_MODULE__NONE     /* no kernel image suits this device: final */
};

/* The *lanes* of an engine: its streams, by direction. Work in one lane does not wait for work in
 * another. Moves between GPUs that cannot share a launch use all but PACK and PUSH (gpudt_lane.h). */
enum MPII_Gpudt_lane_e {
    MPII_GPUDT_LANE__PACK,      /* also for copies from datatype to datatype */
    MPII_GPUDT_LANE__UNPACK,
    MPII_GPUDT_LANE__TO_HOST,   /* copies of data packed in PACK, while PACK continues */
    MPII_GPUDT_LANE__FROM_HOST, /* copies of data that UNPACK unpacks */
    MPII_GPUDT_LANE__PUSH,      /* long copies to another process's GPU, and packs for it, beside one in
                                 * PACK */
    MPII_GPUDT_LANE__PULL,      /* long copies from there, beside one in UNPACK */
    MPII_GPUDT_NLANES
};

#define MPII_GPUDT_NFLAGS 256           /* a multiple of 64 */
#define MPII_GPUDT_MAX_ENDS 5
#define MPII_GPUDT_NSEEN 16

typedef struct MPII_Gpudt_engine MPII_Gpudt_engine_t;
struct MPII_Gpudt_graphs;
struct MPII_Gpudt_plan_cache;

/* Frees what a file of a higher folder keeps for an engine that is no longer used.
 *   is_alive  (IN)  true: the context is current; false: it is destroyed, with all in it */
typedef void (*MPII_Gpudt_end_fn) (MPII_Gpudt_engine_t * engine, bool is_alive);

struct MPII_Gpudt_engine {
    MPII_Gpudt_engine_t *next;  /* in a list of gpudt_contexts.c */
    const MPII_Gpudt_driver_t *drv;
    int device;
    CUcontext ctx;

    /* The *sentinel*: a small allocation in the context, and the unique number that the driver gave
     * it. A destroyed context cannot be queried safely, but an address can: as long as the driver
     * knows this allocation by this number, the context and all in it exist. */
    CUdeviceptr sentinel;
    unsigned long long sentinel_id;

    CUstream streams[MPII_GPUDT_NLANES];
    int priorities[MPII_GPUDT_NLANES];  /* of the streams */
    MPL_atomic_int_t nflying[MPII_GPUDT_NLANES];        /* transfers that callers test for their
                                                         * end */
    MPL_atomic_int_t nlong[MPII_GPUDT_NLANES];  /* the long ones of these */
    /* Numbers of the copies on each stream: given last, and known to be complete. They are only a
     * hint which copy is the next to end. */
    MPL_atomic_int_t copies_started[MPII_GPUDT_NLANES];
    MPL_atomic_int_t copies_ended[MPII_GPUDT_NLANES];
    int nsms;
    int shared;                 /* index for MPII_Gpudt_is_shared */
    MPL_atomic_int_t closed;    /* devices, by bit, of which MPII_Gpudt_engine_peer keeps that it said no */

    /* Of gpudt_contexts.c, guarded by its lock: numbers of allocations of the context. Number n is at
     * n % MPII_GPUDT_NSEEN, until another one takes its place; 0: none yet. */
    unsigned long long seen[MPII_GPUDT_NSEEN];

    /* Guarded by a lock of gpudt_engine.c. */
    MPII_Gpudt_end_fn ends[MPII_GPUDT_MAX_ENDS];        /* NULL after the last one */

    /* Of gpudt_memops.c. */
    MPL_atomic_int_t memops_refused;    /* true: allocations cannot be marked */
    MPL_atomic_int_t memops_busy;       /* true: the last wait for the default stream timed out */

    /* Of gpudt_module.c, guarded by its lock. */
    MPL_atomic_int_t module_state;      /* an MPII_Gpudt_module_e; read without the lock */
    CUmodule module;
    int refused_looks;          /* before the image is loaded again, for which there was no memory */
    MPL_atomic_ptr_t kernels[MPII_GPUDT_NKERNELS];      /* CUfunction; NULL: not looked up yet. Read
                                                         * without the lock */
    MPL_atomic_int_t is_modest[MPII_GPUDT_NKERNELS];    /* true or false, likewise; see
                                                         * MPII_Gpudt_module_modest */

    /* Of gpudt_graph.c, with locks of their own: an element for each lane; NULL: no memory. */
    struct MPII_Gpudt_graphs *graphs;

    /* Of gpudt_stage.c, guarded by the lock of the progress engine. */
    struct MPII_Gpudt_area *stage;      /* staging memory; NULL: none yet */
    unsigned long long stage_id;        /* of the allocation */
    uint32_t stage_used;        /* bit i: place i is in use */
    uint32_t stage_signalled;   /* the semaphore of place i was signalled, or is going to be */
    uint32_t stage_known;       /* it was, and has no arbitrary value any more */
    int stage_values[MPIR_GPUDT_STAGE_PLACES];      /* last values of the semaphores */

    /* Of gpudt_pool.c, guarded by its lock. */
    struct MPII_Gpudt_area *areas[MPII_GPUDT_NAREAS];   /* free ones */
    int nareas[MPII_GPUDT_NAREAS];      /* areas, free and in use */
    bool area_refused[MPII_GPUDT_NAREAS];       /* the driver had no memory for one more */
    CUevent *events;            /* stack of free ones */
    int nevents;
    int max_events;             /* capacity of events */

    /* Of gpudt_flag.c, guarded by its lock. */
    char *flags;                /* pinned memory of the flags; NULL: none yet */
    CUdeviceptr flags_addr;     /* device address of flags */
    bool no_flags;              /* allocation failed, or flags are disabled */
    uint64_t flags_in_use[MPII_GPUDT_NFLAGS / 64];      /* bit i % 64 of i / 64: flag i */
    int flag_values[MPII_GPUDT_NFLAGS]; /* last value to which each flag was set or will be */
    CUdeviceptr counters;       /* one for each lane and flag, all 0 unless in use; 0: none yet */
    bool no_counters;           /* allocation failed */

    /* Of gpudt_upload.c, guarded by its lock. */
    struct MPII_Gpudt_block *blocks;
    struct MPII_Gpudt_block *spare_blocks;
    size_t spare_sz;            /* bytes in spare_blocks */

    /* Of transfer/gpudt_plan_cache.c, guarded by its lock; NULL: none yet. */
    struct MPII_Gpudt_plan_cache *plans;

    /* Of transfer/gpudt_batch.c: its queues, an array; NULL: none yet. Written under its lock. */
    MPL_atomic_ptr_t queues;
};

/* Make the engine of the current context.
 *   device, ctx  (IN)   from MPIR_Gpudt_query_ptr
 *   engine       (OUT)  for MPII_Gpudt_engine_free; untouched on failure */
int MPII_Gpudt_engine_make(const MPII_Gpudt_driver_t * drv, int device, CUcontext ctx,
                           MPII_Gpudt_engine_t ** engine);

/* Free an engine that is no longer used: its sentinel and its streams, after the callbacks of
 * MPII_Gpudt_engine_at_end. The caller has freed the rest. */
void MPII_Gpudt_engine_free(MPII_Gpudt_engine_t * engine, bool is_alive);

/* Register a callback for the end of an engine. Registering it again has no effect. */
void MPII_Gpudt_engine_at_end(MPII_Gpudt_engine_t * engine, MPII_Gpudt_end_fn fn);

/* Whether an engine's context still exists. Safe at any time. */
bool MPII_Gpudt_engine_is_alive(const MPII_Gpudt_engine_t * engine);

/* Whether it does, and the driver takes calls from this thread: not in a host function of a stream
 * (cudaLaunchHostFunc), nor after an error that ends the context. */
bool MPII_Gpudt_engine_takes_calls(const MPII_Gpudt_engine_t * engine);

/* Whether the default stream of a context is idle, so that memory can be unmapped without waiting
 * for kernels of the program, except those of streams that do not wait for the default stream. */
bool MPII_Gpudt_engine_is_idle(const MPII_Gpudt_engine_t * engine);

/* Enter the context of an engine that was used before; an error if the program has destroyed it.
 *   entered  (OUT)  for MPII_Gpudt_ctx_leave; on failure nothing is entered */
int MPII_Gpudt_engine_reenter(const MPII_Gpudt_engine_t * engine, MPII_Gpudt_ctx_t * entered);

/* The same to release something, which would be lost otherwise: tries twice, because the first failure
 * may be the report of an earlier error. */
int MPII_Gpudt_engine_reenter_twice(const MPII_Gpudt_engine_t * engine, MPII_Gpudt_ctx_t * entered);

/* Whether kernels of engine may access plain allocations of peer, because the program has enabled
 * peer access; with MPI_THREAD_MULTIPLE, no if it was not enabled when this was first asked. The engine's
 * context is current. */
bool MPII_Gpudt_engine_peer(MPII_Gpudt_engine_t * engine, const MPII_Gpudt_engine_t * peer);

#endif /* GPUDT_ENGINE_H_INCLUDED */
