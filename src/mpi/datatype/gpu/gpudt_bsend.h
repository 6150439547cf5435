/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The buffer of MPI_Buffer_attach, in which the CPU keeps the messages and their list. If a program
 * attaches GPU memory, host memory takes its place. */

#ifndef GPUDT_BSEND_H_INCLUDED
#define GPUDT_BSEND_H_INCLUDED

#include "mpiimpl.h"

/* The memory to use for a buffer that is attached. A process has one such buffer at a time.
 *   buffer, size  (IN)   as given by the program
 *   mem           (OUT)  of the same size: the buffer, if it is host memory; owned by this file until
 *                        MPIR_Gpudt_bsend_put
 * Returns an error if there is no memory, or the address is not valid. */
int MPIR_Gpudt_bsend_get(void *buffer, MPI_Aint size, void **mem);

/* No message is in the memory any more, and the buffer is no longer attached. */
void MPIR_Gpudt_bsend_put(void);

#endif /* GPUDT_BSEND_H_INCLUDED */
