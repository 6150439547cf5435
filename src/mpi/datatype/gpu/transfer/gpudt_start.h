/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Starts transfers. */

#ifndef GPUDT_START_H_INCLUDED
#define GPUDT_START_H_INCLUDED

#include "gpudt_op.h"

/* Start a transfer.
 *   local  (IN)   both sides, classified; n and lane. Holds no references to datatypes afterwards
 *   op     (OUT)  as for MPIR_Gpudt_ipack */
int MPII_Gpudt_op_start(MPIR_Gpudt_op * local, MPIR_Gpudt_op ** op);

/* The same for an operation of MPII_Gpudt_op_make with src, dst, n, lane, mapping, mapped, is_alone and
 * max_blocks set, which is not copied but taken over. */
int MPII_Gpudt_op_start_new(MPIR_Gpudt_op * work, MPIR_Gpudt_op ** op);

/* The lane for a copy of n bytes between the GPUs of two processes, or for packing what is to be copied,
 * beside others. Between the kernels of one stream the link is idle for as long as it takes to move some
 * MiB: the second one starts when the first has ended, and waits for what it reads first. Long copies
 * therefore use two streams in turns.
 *   is_push  (IN)  to the other GPU; else from there */
enum MPII_Gpudt_lane_e MPII_Gpudt_lane_choose(const MPII_Gpudt_engine_t * engine, bool is_push,
                                              int64_t n);

#endif /* GPUDT_START_H_INCLUDED */
