/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One side of a transfer: where its data is, in what memory, and which GPU can access it. Must not
 * know routes. */

#ifndef GPUDT_SIDE_H_INCLUDED
#define GPUDT_SIDE_H_INCLUDED

#include "driver/gpudt_ptr.h"
#include "type/gpudt_type.h"
#include "plan/gpudt_plan_types.h"
#include "engine/gpudt_engine.h"

/* One side of a transfer. */
struct MPII_Gpudt_side {
    char *addr;                 /* contiguous: of the first byte to move; else the user's buffer */
    struct MPII_Gpudt_type *type;       /* NULL: contiguous. The operation holds a reference */
    struct MPII_Gpudt_record top;       /* not contiguous: root for the call's count */
    int64_t first;              /* not contiguous: stream position of the first byte to move */
    bool is_exact;              /* all of this is known from the datatype's state */
    char *low;                  /* lowest byte that may be touched, and one past the highest */
    char *high;
    MPIR_Gpudt_ptr_t ptr;       /* memory of the first block; if mixed, of the first on a GPU */
    MPII_Gpudt_engine_t *engine;        /* of the memory; NULL: not looked for yet */
    bool is_mixed;              /* blocks are in memory that no one kernel or CPU can access */
    const MPII_Gpudt_engine_t *reached_by;      /* the engine that shift and place are known for */
    uint64_t shift;             /* what to add to an address for use on the engine's device */
    enum MPII_Gpudt_place_e place;      /* as seen from there */
};

/* Find out what memory a side is in: as far as its lowest byte tells, or that of every block.
 * Fills in ptr and is_mixed. GPU memory is ready for a transfer then.
 *   every_block  (IN)  the buffer is given by absolute addresses: its blocks may be anywhere */
int MPII_Gpudt_side_classify(struct MPII_Gpudt_side *side, bool every_block);

/* Whether kernels of an engine may access a side, and as what: fills in shift and place. The
 * engine's context is current.
 *   other  (IN)  the engine of the side's own memory, if that is another one; else NULL */
bool MPII_Gpudt_side_reach(MPII_Gpudt_engine_t * engine, MPII_Gpudt_engine_t * other,
                           struct MPII_Gpudt_side *side);

#endif /* GPUDT_SIDE_H_INCLUDED */
