/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The GPU support of this build on this machine, for reports (mpichversion, mpivars).
 * Self-contained: programs without MPICH's internals include it, so it must not know mpiimpl.h,
 * cuda.h or any other header of the engine. */

#ifndef GPUDT_INFO_H_INCLUDED
#define GPUDT_INFO_H_INCLUDED

#include <stdio.h>

#include "mpi.h"

#define MPIR_GPUDT_REASON_SZ 384

typedef struct MPIR_Gpudt_info {
    int built;                  /* 1: has kernels and driver loader; 0: host-only build */
    int cuda_version;           /* CUDA version built with: 1000 * major + 10 * minor; 0 if not */
    int driver_found;           /* 1: a complete driver library was loaded */
    int driver_version;         /* CUDA version of the driver, encoded alike; 0: unknown */
    int ndevices;               /* devices this process may use; 0: host only */
    char reason[MPIR_GPUDT_REASON_SZ];  /* why ndevices is 0, one line; "" otherwise */
} MPIR_Gpudt_info_t;

/* Describe the GPU support of this library on this machine.
 *
 * Needs no MPI_Init and may be called at any time, from any thread. Loads and initialises the
 * driver library, which takes up to a second: only for reports, never for messages.
 *   info  (OUT)  filled completely; owned by the caller
 * Returns MPI_SUCCESS always; info->reason tells why there is no GPU. */
int MPIR_Gpudt_query(MPIR_Gpudt_info_t * info) MPICH_API_PUBLIC;

/* Whether MPI calls can take GPU buffers in this process: this library was built for it, and the
 * driver finds a GPU. For MPIX_GPU_query_support. As MPIR_Gpudt_query: any time, any thread, slow. */
int MPIR_Gpudt_is_usable(void);

/* The same as far as it is known without loading or initializing the driver: exactly if the process has
 * initialized it, else whether the node may have a GPU for it. For answers about what MPI supports. Any
 * time, any thread. */
int MPIR_Gpudt_may_be_usable(void);

/* Write the version of the fork, how it was built, and the GPUs that it finds, one line each. Like
 * MPIR_Gpudt_query: any time, any thread, slow.
 *   out  (IN)  open stream, owned by the caller */
void MPIR_Gpudt_report(FILE * out) MPICH_API_PUBLIC;

#endif /* GPUDT_INFO_H_INCLUDED */
