/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Whether this process has a GPU for itself; see gpudt_shared.h. */

#ifndef GPUDT_SHARING_H_INCLUDED
#define GPUDT_SHARING_H_INCLUDED

#include "gpudt_driver.h"

/* Tell other processes of the node that this one uses a GPU. One call at a time.
 * Returns what MPII_Gpudt_is_shared wants to know. */
int MPII_Gpudt_shared_add(const MPII_Gpudt_driver_t * drv, int device);

/* Whether kernels may have to wait until the GPU changes to this process's context. */
bool MPII_Gpudt_is_shared(int index);

#endif /* GPUDT_SHARING_H_INCLUDED */
