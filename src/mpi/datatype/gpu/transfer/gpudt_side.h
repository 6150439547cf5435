/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A *side* of a transfer (source or destination): where its data is, in what memory, and which GPU
 * can access it. Must not know routes. */

#ifndef GPUDT_SIDE_H_INCLUDED
#define GPUDT_SIDE_H_INCLUDED

#include "driver/gpudt_ptr.h"
#include "type/gpudt_type.h"
#include "plan/gpudt_plan_types.h"
#include "engine/gpudt_engine.h"

struct MPII_Gpudt_side {
    char *addr;                 /* contiguous: address of the first byte to move; else of the user's
                                 * buffer */
    struct MPII_Gpudt_type *type;       /* NULL: contiguous. The operation holds a reference */
    struct MPII_Gpudt_record top;       /* not contiguous: root for the call's count */
    int64_t first;              /* not contiguous: stream position of the first byte to move */
    bool is_exact;              /* addr to high are computed from the datatype's state */
    char *low;                  /* lowest byte that may be accessed, and one past the highest */
    char *high;
    MPIR_Gpudt_ptr_t ptr;       /* memory of the first block; if mixed, of the first block on a
                                 * GPU */
    MPII_Gpudt_engine_t *engine;        /* of the memory; NULL: not looked up yet */
    bool is_mixed;              /* blocks are in memory that neither one kernel nor the CPU can
                                 * access as a whole */
    const MPII_Gpudt_engine_t *reached_by;      /* the engine for which shift and place are valid */
    uint64_t shift;             /* to add to an address for use on the engine's device */
    enum MPII_Gpudt_place_e place;      /* as seen from that device */
};

/* Find out in what memory a side is, from its lowest byte or from every block. Fills in ptr and
 * is_mixed. GPU memory is then ordered after the program's copies (gpudt_memops.h).
 *   every_block  (IN)  the buffer is given by absolute addresses: its blocks may be anywhere */
int MPII_Gpudt_side_classify(struct MPII_Gpudt_side *side, bool every_block);

/* Describe contiguous GPU memory that an engine's kernels can access: its own, or mapped by it.
 *   low, high  (IN)  the first byte, and one past the last */
void MPII_Gpudt_side_own(MPII_Gpudt_engine_t * engine, char *low, char *high,
                         struct MPII_Gpudt_side *side);

/* The side of bytes [first, first + n) of one from position 0, with a reference to the type. */
void MPII_Gpudt_side_part(const struct MPII_Gpudt_side *whole, int64_t first, int64_t n,
                          struct MPII_Gpudt_side *part);

/* Whether kernels of an engine may access a side, and how: fills in shift and place. The engine's
 * context is current.
 *   other  (IN)  the engine of the side's own memory, if it is another one; else NULL */
bool MPII_Gpudt_side_reach(MPII_Gpudt_engine_t * engine, MPII_Gpudt_engine_t * other,
                           struct MPII_Gpudt_side *side);

#endif /* GPUDT_SIDE_H_INCLUDED */
