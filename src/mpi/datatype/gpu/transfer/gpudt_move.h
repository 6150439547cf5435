/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What one step of a transfer asks of the GPU. */

#ifndef GPUDT_MOVE_H_INCLUDED
#define GPUDT_MOVE_H_INCLUDED

#include "engine/gpudt_flag.h"
#include "gpudt_side.h"

/* The state of an operation whose only move may wait in a queue. */
struct MPII_Gpudt_queued {
    MPL_atomic_int_t is_queued; /* the move waits in a queue */
    int mpi_errno;              /* why it could not be started from there; set before is_queued is not */
};

/* Bytes [pos, pos + len) of a transfer, to be moved between a side and contiguous memory. */
struct MPII_Gpudt_move {
    MPII_Gpudt_engine_t *engine;        /* does it; its context is current */
    enum MPII_Gpudt_lane_e lane;
    const struct MPII_Gpudt_side *side;
    int64_t pos, len;
    uint64_t contig;            /* address of the first of these bytes, for the engine's device */
    enum MPII_Gpudt_place_e contig_place;       /* memory it is in */
    bool unpack;                /* to the side */
    struct MPII_Gpudt_flag *flag;       /* set at the end, if that is possible; no flag else. NULL:
                                         * not asked for */
    bool is_waited_for;         /* somebody blocks until the end */
    struct MPII_Gpudt_queued *may_queue;        /* NULL: may not wait in a queue */
};

#endif /* GPUDT_MOVE_H_INCLUDED */
