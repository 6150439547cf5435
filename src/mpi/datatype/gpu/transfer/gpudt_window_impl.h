/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Windows of other processes; see gpudt_window.h. */

#ifndef GPUDT_WINDOW_IMPL_H_INCLUDED
#define GPUDT_WINDOW_IMPL_H_INCLUDED

#include "gpudt_side.h"
#include "gpudt_window.h"
#include "engine/gpudt_import.h"

struct MPIR_Gpudt_target {
    MPIR_Gpudt_buffer *own;     /* of this process: the window. NULL: of another one */
    uint64_t offset;            /* of the window in its allocation */
    uint64_t size;              /* bytes of the window */
    struct MPII_Gpudt_export export;    /* of its own, only base: the window */
    MPII_Gpudt_engine_t *engine;        /* for which the target refers to a mapping; its own: of the
                                         * window */
    struct MPII_Gpudt_mapping *mapping; /* NULL: none yet */
};

/* Map a target's memory, or find it mapped.
 *   mapping  (OUT)  referenced by the caller; NULL: that is not possible
 *   mem      (OUT)  its address */
int MPII_Gpudt_target_map(MPIR_Gpudt_target_t * t, MPII_Gpudt_engine_t * engine,
                          struct MPII_Gpudt_mapping **mapping, CUdeviceptr * mem);

/* Describe data in a window as memory of an engine.
 *   mem      (IN)   where its allocation is mapped, or the own window
 *   n        (IN)   bytes that the data must have
 *   side     (OUT)  with a reference to the datatype, also on failure
 *   is_good  (OUT)  false: it is not within the window, or there is no memory for its type, which
 *                   a message does without */
int MPII_Gpudt_target_side(const MPIR_Gpudt_target_t * t, CUdeviceptr mem, MPI_Aint disp,
                           MPI_Aint count, MPI_Datatype datatype, MPII_Gpudt_engine_t * engine,
                           int64_t n, struct MPII_Gpudt_side *side, bool * is_good);

/* Print how an operation on a target goes. */
void MPII_Gpudt_target_trace(const MPIR_Gpudt_target_t * t, int64_t n, const char *what,
                             bool is_taken);

#endif /* GPUDT_WINDOW_IMPL_H_INCLUDED */
