/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* CUDA contexts: made current for a few driver calls, and restored afterwards. */

#ifndef GPUDT_CTX_H_INCLUDED
#define GPUDT_CTX_H_INCLUDED

#include "gpudt_driver.h"

/* What MPII_Gpudt_ctx_enter changed. */
typedef struct MPII_Gpudt_ctx {
    CUcontext ctx;              /* current context; NULL: nothing to restore */
    bool pushed;
    CUstreamCaptureMode capture_mode;   /* previous mode of the thread */
} MPII_Gpudt_ctx_t;

/* Make the context that owns some memory current in this thread, for a few driver calls.
 *   drv     (IN)   driver table
 *   device  (IN)   ordinal, from MPIR_Gpudt_query_ptr
 *   ctx     (IN)   context, from MPIR_Gpudt_query_ptr; NULL: the device's primary context, which
 *                  the library then holds until MPII_Gpudt_ctx_finalize
 *   entered (OUT)  for MPII_Gpudt_ctx_leave; entered->ctx is the current context. On failure the
 *                  thread's state is unchanged and leave does nothing
 * Calls nest. Calls that are illegal during a stream capture of the application are legal between
 * enter and leave. */
int MPII_Gpudt_ctx_enter(const MPII_Gpudt_driver_t * drv, int device, void *ctx,
                         MPII_Gpudt_ctx_t * entered);

/* Restore what enter changed. Must be called in the same thread, on every path. */
void MPII_Gpudt_ctx_leave(const MPII_Gpudt_driver_t * drv, MPII_Gpudt_ctx_t * entered);

/* Release the primary contexts; part of MPI_Finalize. Safe if there never was a GPU, if the
 * application has destroyed its contexts, and before another MPI_Init. */
void MPII_Gpudt_ctx_finalize(void);

#endif /* GPUDT_CTX_H_INCLUDED */
