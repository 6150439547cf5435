/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The description of a buffer of the program; see gpudt.h. */

#ifndef GPUDT_BUFFER_IMPL_H_INCLUDED
#define GPUDT_BUFFER_IMPL_H_INCLUDED

#include "gpudt.h"
#include "gpudt_side.h"
#include "engine/gpudt_descriptor.h"

struct MPIR_Gpudt_buffer {
    struct MPII_Gpudt_side side;        /* the whole buffer, from position 0; its engine is set, except
                                 * of MPII_Gpudt_buffer_set */
    int64_t size;               /* packed bytes */
    const void *gpu_addr;
    unsigned long long id;      /* of the allocation at gpu_addr; 0: none, or not known */
    struct MPII_Gpudt_descriptor *held[MPII_GPUDT_MAX_HANDLES]; /* by an offer of the buffer */
};

/* Describe a buffer in any memory, in memory of the caller. Pinned host memory counts as that of the GPU
 * in whose context it was allocated or registered; parts of it may be pageable. Other host memory has no
 * engine.
 *   is_set  (OUT)  false: there is nothing to move, or an error. true: the side is the caller's to take
 *                  over, or MPII_Gpudt_buffer_clear releases its datatype */
int MPII_Gpudt_buffer_set(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                          MPIR_Gpudt_buffer * buffer, bool * is_set);
void MPII_Gpudt_buffer_clear(MPIR_Gpudt_buffer * buffer);

/* The side of bytes [first, first + n), with a reference to the type. */
void MPII_Gpudt_buffer_part(const MPIR_Gpudt_buffer * buffer, int64_t first, int64_t n,
                            struct MPII_Gpudt_side *side);

#endif /* GPUDT_BUFFER_IMPL_H_INCLUDED */
