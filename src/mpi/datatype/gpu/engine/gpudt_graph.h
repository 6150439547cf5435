/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Launches of kernels by CUDA graphs of one node. */

#ifndef GPUDT_GRAPH_H_INCLUDED
#define GPUDT_GRAPH_H_INCLUDED

#include "gpudt_engine.h"

/* Prepare an engine for graphs. Without memory it has none. */
void MPII_Gpudt_graphs_make(MPII_Gpudt_engine_t * engine);

/* Launch a kernel by a graph. The engine's context is current.
 *   kernel    (IN)  enum MPII_Gpudt_kernel_e
 *   function  (IN)  of MPII_Gpudt_module_kernel
 *   grid      (IN)  blocks of MPII_GPUDT_THREADS threads
 *   args      (IN)  its only parameter, copied
 * Returns false if nothing was launched: there is no graph for such launches, or the driver has refused
 * it. */
bool MPII_Gpudt_graph_launch(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane, int kernel,
                             CUfunction function, unsigned grid, const void *args);

/* Free the graphs of an engine that is no longer used.
 *   is_alive  (IN)  false: the context is destroyed, with all in it */
void MPII_Gpudt_graphs_free(MPII_Gpudt_engine_t * engine, bool is_alive);

#endif /* GPUDT_GRAPH_H_INCLUDED */
