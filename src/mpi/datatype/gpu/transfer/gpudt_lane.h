/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* In which of an engine's lanes a move runs beside others. */

#ifndef GPUDT_LANE_H_INCLUDED
#define GPUDT_LANE_H_INCLUDED

#include "engine/gpudt_engine.h"

/* The lane for a copy of n bytes between the GPUs of two processes, or for packing what is to be copied,
 * beside others. Between the kernels of one stream the link is idle for as long as it takes to move some
 * MiB: the second one starts when the first has ended, and waits for what it reads first. Long copies
 * therefore use two streams in turns.
 *   is_push  (IN)  to the other GPU; else from there */
enum MPII_Gpudt_lane_e MPII_Gpudt_lane_choose(const MPII_Gpudt_engine_t * engine, bool is_push,
                                              int64_t n);

/* The lane for a move of n bytes that gets a launch of its own and may run in any order with others, as the
 * pull of a message: that in which least is in flight, if it is long enough.
 *   lane    (IN)  where it runs otherwise, also if no other lane has less in flight
 *   is_box  (IN)  it is one of boxes, which share launches as soon as there are several */
enum MPII_Gpudt_lane_e MPII_Gpudt_lane_least(const MPII_Gpudt_engine_t * engine,
                                             enum MPII_Gpudt_lane_e lane, int64_t n, bool is_box);

#endif /* GPUDT_LANE_H_INCLUDED */
