/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Moves from datatype to datatype by one kernel. */

#ifndef GPUDT_PAIR_H_INCLUDED
#define GPUDT_PAIR_H_INCLUDED

#include "engine/gpudt_flag.h"
#include "gpudt_side.h"

/* Bytes [pos, pos + len) of a transfer, to be moved between two sides with datatypes, both of which
 * the engine can access. Their memory may be of other GPUs. */
struct MPII_Gpudt_pair {
    MPII_Gpudt_engine_t *engine;        /* runs the kernel; its context is current */
    enum MPII_Gpudt_lane_e lane;
    const struct MPII_Gpudt_side *src, *dst;
    int64_t pos, len;
    struct MPII_Gpudt_flag *flag;       /* as in struct MPII_Gpudt_move */
    bool is_waited_for;
    struct MPII_Gpudt_queued *may_queue;        /* as in struct MPII_Gpudt_move */
    enum MPII_Gpudt_lane_e *may_leave;  /* as there */
};

/* Whether a kernel of an engine can move from one datatype to another: it is allowed, and the
 * images of both datatypes are in device memory. */
int MPII_Gpudt_pair_prepare(MPII_Gpudt_engine_t * engine, const struct MPII_Gpudt_side *src,
                            const struct MPII_Gpudt_side *dst, bool * is_possible);

/* Start a move for which MPII_Gpudt_pair_prepare has said that it is possible. */
int MPII_Gpudt_pair_start(const struct MPII_Gpudt_pair *pair);

#endif /* GPUDT_PAIR_H_INCLUDED */
