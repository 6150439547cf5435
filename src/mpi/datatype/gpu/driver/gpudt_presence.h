/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Whether there is a CUDA driver. */

#ifndef GPUDT_PRESENCE_H_INCLUDED
#define GPUDT_PRESENCE_H_INCLUDED

#include <stdbool.h>

/* Whether some libcuda is loaded in this process. Walks the list of loaded objects only when it
 * has grown since the last walk; otherwise the cost is one uncontended lock of the linker. */
bool MPII_Gpudt_driver_in_process(void);

/* Whether CUDA could find a GPU, should the process load it. */
bool MPII_Gpudt_node_may_have_gpu(void);

#endif /* GPUDT_PRESENCE_H_INCLUDED */
