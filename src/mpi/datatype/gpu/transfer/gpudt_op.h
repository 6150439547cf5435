/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A *transfer*: bytes moved from one side to another, in one or more *steps*. The operation of the
 * interface is a transfer in progress. */

#ifndef GPUDT_OP_H_INCLUDED
#define GPUDT_OP_H_INCLUDED

#include "gpudt.h"
#include "engine/gpudt_pool.h"
#include "gpudt_move.h"
#include "gpudt_timing.h"

/* How one step of a transfer moves its bytes. */
enum MPII_Gpudt_method_e {
    MPII_GPUDT_METHOD__KERNEL,  /* datatype <-> contiguous, by the plan's choice */
    MPII_GPUDT_METHOD__COPY,    /* contiguous -> contiguous, by the driver */
    MPII_GPUDT_METHOD__ROWS,    /* datatype <-> contiguous, a driver copy for each block or row */
    MPII_GPUDT_METHOD__CPU      /* by the CPU, to or from a work area */
};

struct MPII_Gpudt_step {
    enum MPII_Gpudt_method_e method;
    MPII_Gpudt_engine_t *engine;        /* NULL: METHOD__CPU */
    enum MPII_Gpudt_lane_e lane;        /* of the engine */
};

#define MPII_GPUDT_MAX_SLICES 8

/* Mappings that an operation uses. */
struct MPII_Gpudt_mapped {
    struct MPII_Gpudt_mapping **mapping;
    int n;
};

/* A *slice*: a part of a transfer that is in progress. */
struct MPII_Gpudt_slice {
    struct MPII_Gpudt_area *area;       /* NULL: the transfer is direct */
    int64_t pos;                /* its first byte, relative to the transfer */
    int64_t len;
    int nsteps;                 /* steps started */
    CUevent event[2];           /* end of step i, from the pool of its engine; NULL: none yet */
    struct MPII_Gpudt_flag flag[2];     /* the same by a flag, which is used instead of the event if
                                         * it has a word */
};

/* A transfer of n bytes. A direct transfer has one step, from source to destination. A staged
 * transfer has two steps for each slice, by way of a work area:
 *
 *     src ---- step[0] ----> area ---- step[1] ----> dst
 *
 * Slices are in a ring: they start and complete in order. */
struct MPIR_Gpudt_op {
    MPIR_Gpudt_op *next;        /* of those that are not in use */
    bool is_kept;               /* of MPII_Gpudt_op_make; false: freed at its end */
    const MPII_Gpudt_driver_t *drv;
    struct MPII_Gpudt_side src, dst;
    int64_t n;
    bool is_blocking;
    bool is_alone;              /* must not be queued: other work depends on its end */
    struct MPII_Gpudt_ahead *ahead;     /* of the step of a staged segment; NULL: none */
    int max_blocks;             /* of a kernel that packs or unpacks; 0: no limit */
    enum MPII_Gpudt_lane_e lane;
    bool may_leave;             /* the lane, if its one slice gets a launch of its own */
    MPII_Gpudt_engine_t *engine;        /* of the lead (see gpudt_route.h), which also provides the
                                         * work areas */
    bool is_direct;
    struct MPII_Gpudt_step step[2];     /* step[1] of a direct transfer is not used */
    int64_t slice_sz;
    int nslices;                /* in the ring */
    int oldest;                 /* index of the slice that was started first */
    int nbusy;                  /* slices in progress */
    int64_t started;            /* bytes in slices that were started */
    unsigned nlooks;            /* checks of flags that were not set */
    struct MPII_Gpudt_mapping *mapping; /* memory of another process that src is in; NULL: none */
    struct MPII_Gpudt_mapped *mapped;   /* of a reduction of several processes; NULL: none */
    struct MPII_Gpudt_queued queued;
    int64_t noted;              /* bytes of a copy that the lane's queue counts as in flight */
    bool is_flying;             /* counted by MPII_Gpudt_op_count */
    bool is_copy;               /* one copy whose end an event tells */
    int copy;                   /* its number, of copies_started */
    MPL_time_t looked;          /* when its event was last looked at for that time */
    struct MPII_Gpudt_timing timing;
    struct MPII_Gpudt_slice slice[MPII_GPUDT_MAX_SLICES];
};

/* Steps of each slice. */
static inline int MPII_Gpudt_op_nsteps(const MPIR_Gpudt_op * op)
{
    return op->is_direct ? 1 : 2;
}

/* How many copies follow number `from` up to number `to`. The numbers wrap around. */
static inline int MPII_Gpudt_copies_from(int from, int to)
{
    return (int) ((unsigned) to - (unsigned) from);
}

/* Whether the CPU has to wait for the end of a step: it is the GPU's, and the next step is not the
 * same engine's. */
static inline bool MPII_Gpudt_step_is_awaited(const MPIR_Gpudt_op * op, int i)
{
    const MPII_Gpudt_engine_t *engine = op->step[i].engine;

    return engine && (i + 1 == MPII_Gpudt_op_nsteps(op) || op->step[i + 1].engine != engine);
}

/* Let an operation on n bytes hold nothing, and be as most are. Its sides are to be set. */
void MPII_Gpudt_op_init(MPIR_Gpudt_op * op, int64_t n, enum MPII_Gpudt_lane_e lane);

/* The same for a new one, for MPII_Gpudt_op_start_new. NULL: there is no memory. */
MPIR_Gpudt_op *MPII_Gpudt_op_make(int64_t n, enum MPII_Gpudt_lane_e lane);

/* Set what tells how far an operation has come to nothing. */
void MPII_Gpudt_op_reset(MPIR_Gpudt_op * op);

/* An operation like one that is in flight, whose only move is queued, with references to what that one
 * holds: in flight as well, but for its flag, and not counted. Its sides are not set. NULL: there is no
 * memory. */
MPIR_Gpudt_op *MPII_Gpudt_op_make_like(const MPIR_Gpudt_op * lead);

/* Free the memory of an operation that holds nothing any more, or keep it for later ones. */
void MPII_Gpudt_op_delete(MPIR_Gpudt_op * op);

/* Wait for all work of an operation on the streams, which may use its buffers and work areas. */
void MPII_Gpudt_op_drain(MPIR_Gpudt_op * op);

/* Release the resources of an operation that has nothing in flight. */
void MPII_Gpudt_op_finish(MPIR_Gpudt_op * op);

/* Count an operation that callers test for its end, or, with by = -1, no longer. */
void MPII_Gpudt_op_count(MPIR_Gpudt_op * op, int by);

/* Release the references to datatypes and mapped memory. */
void MPII_Gpudt_op_release(MPIR_Gpudt_op * op);

#endif /* GPUDT_OP_H_INCLUDED */
