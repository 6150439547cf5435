/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A *move*: what one step of a transfer asks of the GPU. */

#ifndef GPUDT_MOVE_H_INCLUDED
#define GPUDT_MOVE_H_INCLUDED

#include "engine/gpudt_flag.h"
#include "gpudt_side.h"

/* The state of an operation whose only move may be queued. */
struct MPII_Gpudt_queued {
    MPL_atomic_int_t is_queued; /* the move is in a queue */
    int mpi_errno;              /* why its launch failed; set before is_queued is cleared */
    bool may_lead;              /* others may join it in its batch (gpudt_batch.h) */
    bool ends_with_batch;       /* all of it */
    bool may_wait;              /* for moves of packets that have arrived: see MPIR_Gpudt_burst_set */
    uint64_t batch;             /* number of the batch in which it leads, and its place there; 0: none */
    int place;
};

/* The semaphore of a move that packs into staging memory, which signals it, or of one that unpacks from
 * that of another GPU, which waits for it. */
struct MPII_Gpudt_ahead {
    struct MPII_Gpudt_semaphore semaphore;
    bool is_promised;           /* to the receiver: a copy would not do */
    bool is_used;               /* set by the launch: by a kernel that does so */
};

/* Bytes [pos, pos + len) of a transfer, to be moved between a side and contiguous memory. */
struct MPII_Gpudt_move {
    MPII_Gpudt_engine_t *engine;        /* runs the move; its context is current */
    enum MPII_Gpudt_lane_e lane;
    const struct MPII_Gpudt_side *side;
    int64_t pos, len;
    uint64_t contig;            /* device address of the first of these bytes */
    enum MPII_Gpudt_place_e contig_place;       /* memory of contig */
    bool unpack;                /* from contig to the side */
    struct MPII_Gpudt_flag *flag;       /* set on completion if possible, else gets no word. NULL:
                                         * not requested */
    bool is_waited_for;         /* the caller blocks until the end */
    struct MPII_Gpudt_queued *may_queue;        /* NULL: must not be queued */
    enum MPII_Gpudt_lane_e *may_leave;  /* gets the lane in which it runs if it is not queued; NULL:
                                         * that is `lane` */
    struct MPII_Gpudt_ahead *ahead;     /* NULL: none */
    int max_blocks;             /* of the kernel; 0: no limit */
};

#endif /* GPUDT_MOVE_H_INCLUDED */
