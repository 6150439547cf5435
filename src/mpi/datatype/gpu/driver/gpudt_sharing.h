/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* GPUs that several processes use: whether others use one of this process, see gpudt_shared.h, and
 * whether they can update the same memory at the same time. */

#ifndef GPUDT_SHARING_H_INCLUDED
#define GPUDT_SHARING_H_INCLUDED

#include "gpudt_driver.h"

/* A number for a GPU, the same in every process of the node; 0: not known. */
uint64_t MPII_Gpudt_gpu_name(const MPII_Gpudt_driver_t * drv, int device);

/* Whether atomic operations of a GPU on memory of another one, or of its own, are atomic to those of all
 * GPUs there that have them. The answers are kept. Calls must not be concurrent.
 *   name  (IN)  of the GPU that has the memory; 0, or that of one which this process does not see: no */
bool MPII_Gpudt_has_atomics(const MPII_Gpudt_driver_t * drv, int device, uint64_t name);

/* Make known to other processes of the node that this one uses a GPU. Calls must not be concurrent.
 * Returns the index for MPII_Gpudt_is_shared. */
int MPII_Gpudt_shared_add(const MPII_Gpudt_driver_t * drv, int device);

/* Whether kernels may have to wait for a context switch of the GPU. */
bool MPII_Gpudt_is_shared(int index);

#endif /* GPUDT_SHARING_H_INCLUDED */
