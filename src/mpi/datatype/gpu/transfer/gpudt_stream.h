/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Kernel launches and copies on a stream of an engine, whose context is current. */

#ifndef GPUDT_STREAM_H_INCLUDED
#define GPUDT_STREAM_H_INCLUDED

#include "engine/gpudt_engine.h"
#include "plan/gpudt_plan_pair.h"

/* Launch a kernel in the current context.
 *   kernel    (IN)  enum MPII_Gpudt_kernel_e
 *   function  (IN)  of MPII_Gpudt_module_kernel
 *   args      (IN)  its parameter block
 *   is_idle   (IN)  nothing else is in flight in the lane, as far as is known: a graph may be launched,
 *                   which starts sooner. That saves nothing while others run (two H100s, 64 messages
 *                   of 1 MiB both ways at once, medians of five runs: 60 GB/s with graphs, 66 without) */
int MPII_Gpudt_kernel_launch(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane, int kernel,
                             CUfunction function, unsigned grid, const void *args, bool is_idle);

/* Start the driver's 2-D copy, or the 3-D one if there are planes. Returns its result, which
 * is CUDA_ERROR_INVALID_VALUE also for rows in more than one allocation. */
CUresult MPII_Gpudt_rows_copy(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                              const struct MPII_Gpudt_rows *rows);

/* As cuMemcpyAsync of n bytes, but either side may be in several allocations that adjoin, as blocks
 * of a datatype with absolute addresses may be. Returns the driver's result; after an error a part
 * may be under way. */
CUresult MPII_Gpudt_memcpy(const MPII_Gpudt_driver_t * drv, char *to, const char *from, int64_t n,
                           CUstream stream);

/* Start a copy by the driver. */
int MPII_Gpudt_copy_launch(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane, char *to,
                           const char *from, int64_t n);

#endif /* GPUDT_STREAM_H_INCLUDED */
