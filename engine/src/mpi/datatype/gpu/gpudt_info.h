/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What this build and this machine can do with GPU datatypes, for reports (mpichversion, mpivars).
 * Self-contained: programs that know nothing of MPICH's internals include it, so it must not know
 * mpiimpl.h, cuda.h or any other header of ours. */

#ifndef GPUDT_INFO_H_INCLUDED
#define GPUDT_INFO_H_INCLUDED

#include "mpi.h"

#define MPIR_GPUDT_REASON_SZ 384

typedef struct MPIR_Gpudt_info {
    int built;                  /* 1: kernels and driver loader are compiled in; 0: host only */
    int cuda_version;           /* CUDA built with, 1000 * major + 10 * minor; 0 if !built */
    int driver_found;           /* 1: a driver library was loaded and is complete */
    int driver_version;         /* CUDA version the driver supports, encoded alike; 0: unknown */
    int ndevices;               /* devices this process may use; 0: runs as on a host without GPU */
    char reason[MPIR_GPUDT_REASON_SZ];  /* why ndevices is 0, one line; "" otherwise */
} MPIR_Gpudt_info_t;

/* Describe the GPU support of this library on this machine.
 *
 * Needs no MPI_Init and may come at any time, from any thread. Loads the driver library and
 * initialises it (up to a second), so it is for reports, never for the path of a message.
 *   info  (OUT)  filled completely; owned by the caller
 * Returns MPI_SUCCESS always: that there is no GPU is an answer, given in info->reason. */
int MPIR_Gpudt_query(MPIR_Gpudt_info_t * info) MPICH_API_PUBLIC;

#endif /* GPUDT_INFO_H_INCLUDED */
