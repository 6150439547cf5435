/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* File operations on GPU memory without host memory, by NVIDIA's GPUDirect Storage. */

#ifndef GPUDT_STORAGE_H_INCLUDED
#define GPUDT_STORAGE_H_INCLUDED

#include "gpudt.h"

/* Whether an operation on n bytes of a buffer is to be tried. Costs a few loads while that is not asked
 * for (MPIR_CVAR_GPUDT_STORAGE_MIN); else the first call loads the library. */
bool MPIR_Gpudt_storage_may(const MPIR_Gpudt_buffer * buffer, MPI_Aint n);

/* Read or write a part of a buffer for which MPIR_Gpudt_storage_may is true; blocks until that is done.
 *   first, n  (IN)  bytes of the buffer
 *   fd        (IN)  descriptor of a file, which is neither moved nor changed
 *   at        (IN)  position of byte first in the file; this and n are multiples of the storage's blocks
 *   is_read   (IN)  whether to the buffer
 * Returns the bytes moved: less than n at the end of the file, or if the library or the file system
 * cannot do it. The caller then moves the rest by other means, which report what is wrong. */
MPI_Aint MPIR_Gpudt_storage_move(const MPIR_Gpudt_buffer * buffer, MPI_Aint first, MPI_Aint n, int fd,
                                 MPI_Offset at, bool is_read);

#endif /* GPUDT_STORAGE_H_INCLUDED */
