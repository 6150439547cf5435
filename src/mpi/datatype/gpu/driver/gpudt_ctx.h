/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* CUDA contexts: entered for a few driver calls, and left as they were found. */

#ifndef GPUDT_CTX_H_INCLUDED
#define GPUDT_CTX_H_INCLUDED

#include "gpudt_driver.h"

/* What MPII_Gpudt_ctx_enter changed. */
typedef struct MPII_Gpudt_ctx {
    CUcontext ctx;              /* current now; NULL: nothing to undo */
    bool pushed;
    CUstreamCaptureMode capture_mode;   /* of the thread, before */
} MPII_Gpudt_ctx_t;

/* Make the context that owns some memory current in this thread, for a few driver calls.
 *   drv     (IN)   driver table
 *   device  (IN)   ordinal, as MPIR_Gpudt_query_ptr gives it
 *   ctx     (IN)   context, alike; NULL: the device's primary context, which the library then
 *                  keeps until MPII_Gpudt_ctx_finalize
 *   entered (OUT)  for MPII_Gpudt_ctx_leave; entered->ctx is the context that is current now.
 *                  On failure the thread's state is as before and leave does nothing
 * Calls nest. Calls that would be illegal during a stream capture of the application's are legal
 * between enter and leave. */
int MPII_Gpudt_ctx_enter(const MPII_Gpudt_driver_t * drv, int device, void *ctx,
                         MPII_Gpudt_ctx_t * entered);

/* Restore what enter changed. Must be called in the same thread, on every path. */
void MPII_Gpudt_ctx_leave(const MPII_Gpudt_driver_t * drv, MPII_Gpudt_ctx_t * entered);

/* Give back the primary contexts held; part of MPI_Finalize. Safe when there never was a GPU,
 * when the application has destroyed its contexts, and before another MPI_Init. */
void MPII_Gpudt_ctx_finalize(void);

#endif /* GPUDT_CTX_H_INCLUDED */
