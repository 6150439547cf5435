/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Order after the program's own copies and fills. */

#ifndef GPUDT_MEMOPS_H_INCLUDED
#define GPUDT_MEMOPS_H_INCLUDED

#include "driver/gpudt_ptr.h"

/* Order the engine's next operations on some GPU memory after the program's cudaMemcpy, cudaMemset
 * and similar calls on it (see gpudt_memops.c). This covers all later calls, and earlier ones
 * unless they are behind kernels. May wait for some microseconds the first time that it sees an
 * allocation; never for kernels.
 *   addr  (IN)  in GPU memory
 *   ptr   (IN)  its description from MPIR_Gpudt_query_ptr */
int MPII_Gpudt_memops_order(const void *addr, const MPIR_Gpudt_ptr_t * ptr);

/* Whether operations on an allocation that is not private to its device are in that order already, so
 * that MPII_Gpudt_memops_order has nothing to do.
 *   sync_memops  (IN)  as the driver tells now */
bool MPII_Gpudt_memops_are_ordered(bool sync_memops);

#endif /* GPUDT_MEMOPS_H_INCLUDED */
