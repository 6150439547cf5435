/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Flags: the end of a kernel, said by the kernel. The engine's context is current in all of these. */

#ifndef GPUDT_FLAG_H_INCLUDED
#define GPUDT_FLAG_H_INCLUDED

#include "kernel/gpudt_args.h"
#include "gpudt_engine.h"

/* A word of pinned memory that a kernel sets when all that it has moved can be seen. */
struct MPII_Gpudt_flag {
    MPL_atomic_int_t *word;     /* NULL: no flag */
    uint64_t addr;              /* of the word, for kernels */
    uint64_t counter;           /* address of the word by which several blocks know the last one */
    int value;                  /* of the word when it is set */
};

/* Get a flag that is not set; flag->word is NULL if there is none.
 *   lane     (IN)  of the launch that will set it
 *   nblocks  (IN)  blocks of threads that are to set it together */
void MPII_Gpudt_flag_get(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                         unsigned nblocks, struct MPII_Gpudt_flag *flag);
/* Give one back, if there is one, when it is set or never will be. */
void MPII_Gpudt_flag_put(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_flag *flag);

/* Have the end of some blocks set a flag. */
static inline void MPII_Gpudt_flag_ask(struct MPII_Gpudt_end *end,
                                       const struct MPII_Gpudt_flag *flag)
{
    end->flag = flag->addr;
    end->counter = flag->counter;
    end->flag_value = flag->value;
}

static inline bool MPII_Gpudt_flag_is_set(const struct MPII_Gpudt_flag *flag)
{
    return MPL_atomic_acquire_load_int(flag->word) == flag->value;
}

/* Free all flags of an engine that nothing uses.
 *   is_alive  (IN)  false: the context is gone, and what was in it */
void MPII_Gpudt_flags_free(MPII_Gpudt_engine_t * engine, bool is_alive);

#endif /* GPUDT_FLAG_H_INCLUDED */
