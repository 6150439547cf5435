/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Functions of graphs as in CUDA 10. By these names cuda.h means newer ones, with more parameters of a
 * node. */

#ifndef EMU_GRAPH_H_INCLUDED
#define EMU_GRAPH_H_INCLUDED

#include <cuda.h>

#undef cuGraphAddKernelNode
#undef cuGraphExecKernelNodeSetParams

CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode * node, CUgraph graph, const CUgraphNode * before,
                                      size_t nbefore, const CUDA_KERNEL_NODE_PARAMS_v1 * params);
CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS_v1 * params);

#endif /* EMU_GRAPH_H_INCLUDED */
