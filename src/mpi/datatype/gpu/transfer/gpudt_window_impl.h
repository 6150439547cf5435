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

/* What is known of the first operation of a series (gpudt_series.c). Nothing here is a reference:
 * unless the batch with this number waits on the stream, all of it may be outdated. */
struct MPIR_Gpudt_series {
    uint64_t batch;             /* 0: there is no series */
    int place;                  /* in the batch */
    MPII_Gpudt_engine_t *engine;
    enum MPII_Gpudt_lane_e lane;
    struct MPIR_Gpudt_rma first;
    uint64_t type, buftype;     /* keys of the datatypes */
    unsigned long long id;      /* of the allocation of the buffer */
    struct MPII_Gpudt_allocation from;  /* that allocation; sz 0: not known yet */
    int64_t buf_low;            /* lowest byte of the data in the buffer, relative to its address */
    int64_t low, sz;            /* the same in the window, relative to disp, and bytes to the highest */
    int64_t n;                  /* bytes moved */
};

#define MPII_GPUDT_NSERIES 8    /* of a target that are remembered */

struct MPIR_Gpudt_target {
    MPIR_Gpudt_buffer *own;     /* of this process: the window. NULL: of another one */
    uint64_t offset;            /* of the window in its allocation */
    uint64_t size;              /* bytes of the window */
    struct MPII_Gpudt_export export;    /* of its own, only base: the window */
    MPII_Gpudt_engine_t *engine;        /* for which the target refers to a mapping; its own: of the
                                         * window */
    struct MPII_Gpudt_mapping *mapping; /* NULL: none yet */
    uint64_t gpu_name;          /* of the GPU that has it, MPII_Gpudt_gpu_name */
    struct MPIR_Gpudt_series series[MPII_GPUDT_NSERIES];
    unsigned nseries;           /* since the window was made: the next takes place n % NSERIES */
};

/* Note an operation that waits in a batch where it may lead: others may join it.
 *   op      (IN)  of this engine's context, in flight
 *   id      (IN)  of the allocation that the buffer is in; 0: not known, or it may be in several
 *   window  (IN)  where the window is mapped */
void MPII_Gpudt_series_note(MPIR_Gpudt_target_t * t, const struct MPIR_Gpudt_rma *r,
                            const MPIR_Gpudt_op * op, unsigned long long id, CUdeviceptr window);

/* Map a target's memory, or find it mapped.
 *   mapping  (OUT)  referenced by the caller; NULL: that is not possible
 *   mem      (OUT)  its address */
int MPII_Gpudt_target_map(MPIR_Gpudt_target_t * t, MPII_Gpudt_engine_t * engine,
                          struct MPII_Gpudt_mapping **mapping, CUdeviceptr * mem);

/* An engine for an operation whose buffers are in memory that no GPU can access: rather one that has
 * mapped the window. NULL: none is in use, or it takes no calls now. Then a message must do it. */
MPII_Gpudt_engine_t *MPII_Gpudt_target_engine(const MPIR_Gpudt_target_t * t);

/* Whether an engine can update the target's memory while others do so, by atomic operations. */
bool MPII_Gpudt_target_has_atomics(const MPIR_Gpudt_target_t * t,
                                   const MPII_Gpudt_engine_t * engine);

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
