/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Whether a CUDA driver is loaded, or can be. */

#ifndef GPUDT_PRESENCE_H_INCLUDED
#define GPUDT_PRESENCE_H_INCLUDED

#include <stdbool.h>

/* Whether a libcuda is loaded in this process. Walks the list of loaded objects only if it has
 * grown since the last walk; otherwise costs one uncontended lock of the linker. */
bool MPII_Gpudt_driver_in_process(void);

/* Whether CUDA could find a GPU if the process loaded it. */
bool MPII_Gpudt_node_may_have_gpu(void);

#endif /* GPUDT_PRESENCE_H_INCLUDED */
