/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Moves as planned: by kernels or driver copies. */

#ifndef GPUDT_LAUNCH_H_INCLUDED
#define GPUDT_LAUNCH_H_INCLUDED

#include "gpudt_move.h"

/* A kernel to be launched. */
struct MPII_Gpudt_launch {
    MPII_Gpudt_engine_t *engine;        /* its context is current */
    enum MPII_Gpudt_lane_e lane;
    int kernel;                 /* enum MPII_Gpudt_kernel_e */
    unsigned grid;
    const void *args;           /* the parameter block, of which `end` is a part */
    struct MPII_Gpudt_end *end;
    struct MPII_Gpudt_flag *flag;       /* without a word; as in struct MPII_Gpudt_move */
    bool is_waited_for;
    struct MPII_Gpudt_semaphore *semaphore;     /* of the parameter block; NULL: it has none */
    struct MPII_Gpudt_ahead *ahead;     /* as in struct MPII_Gpudt_move */
    bool unpack;
};

/* Launch a kernel, which sets a flag if that is faster.
 *   is_started  (OUT)  set to true, or unchanged if the device has no such kernel */
int MPII_Gpudt_kernel_start(const struct MPII_Gpudt_launch *launch, bool * is_started);

/* MPII_Gpudt_upload_get, for which lack of memory is no error.
 *   is_available  (OUT)  false: there is no memory for the image */
int MPII_Gpudt_image_get(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_type *type,
                         struct MPII_Gpudt_image_at *at, bool * is_available);

/* Fill in the input of a plan for bytes [pos, pos + len) of a side that the engine can access,
 * except the image and the packed side. If the side is contiguous, it has no datatype yet. */
void MPII_Gpudt_plan_in_set(const MPII_Gpudt_engine_t * engine, const struct MPII_Gpudt_side *side,
                            int64_t pos, int64_t len, struct MPII_Gpudt_plan_in *in);

/* Start a move as planned, or queue it. */
int MPII_Gpudt_launch(const struct MPII_Gpudt_move *m);

#endif /* GPUDT_LAUNCH_H_INCLUDED */
