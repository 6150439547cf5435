/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Whether other processes use a GPU of this process; see gpudt_shared.h. */

#ifndef GPUDT_SHARING_H_INCLUDED
#define GPUDT_SHARING_H_INCLUDED

#include "gpudt_driver.h"

/* Make known to other processes of the node that this one uses a GPU. Calls must not be concurrent.
 * Returns the index for MPII_Gpudt_is_shared. */
int MPII_Gpudt_shared_add(const MPII_Gpudt_driver_t * drv, int device);

/* Whether kernels may have to wait for a context switch of the GPU. */
bool MPII_Gpudt_is_shared(int index);

#endif /* GPUDT_SHARING_H_INCLUDED */
