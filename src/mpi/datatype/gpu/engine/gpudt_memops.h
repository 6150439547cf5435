/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Order after the program's own copies and fills. */

#ifndef GPUDT_MEMOPS_H_INCLUDED
#define GPUDT_MEMOPS_H_INCLUDED

#include "driver/gpudt_ptr.h"

/* Have what the program will do to some GPU memory with cudaMemcpy, cudaMemset and their like end before
 * what the engine does with it, and what it has done so far unless kernels are in its way
 * (gpudt_memops.c). May wait for some microseconds, the first time that it sees an allocation; never
 * for kernels.
 *   addr  (IN)  in GPU memory
 *   ptr   (IN)  what MPIR_Gpudt_query_ptr says of it */
int MPII_Gpudt_memops_order(const void *addr, const MPIR_Gpudt_ptr_t * ptr);

#endif /* GPUDT_MEMOPS_H_INCLUDED */
