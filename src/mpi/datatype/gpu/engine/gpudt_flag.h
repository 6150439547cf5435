/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Flags, by which kernels report their completion. The engine's context is current in all
 * functions. */

#ifndef GPUDT_FLAG_H_INCLUDED
#define GPUDT_FLAG_H_INCLUDED

#include "kernel/gpudt_args.h"
#include "gpudt_engine.h"

/* A *flag*: a word of pinned memory, which a kernel sets when all that it moved is visible. */
struct MPII_Gpudt_flag {
    MPL_atomic_int_t *word;     /* NULL: no flag */
    uint64_t addr;              /* device address of the word */
    uint64_t counter;           /* device address of the counter by which several blocks determine
                                 * the last one */
    int value;                  /* value of the word when the flag is set */
    bool is_borrowed;           /* another holder frees it, which may be before this one looks */
};

/* Allocate a flag that is not set; flag->word is NULL if there is none.
 *   lane     (IN)  of the launch that will set it
 *   nblocks  (IN)  blocks of threads that set it together */
void MPII_Gpudt_flag_get(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                         unsigned nblocks, struct MPII_Gpudt_flag *flag);
/* Free a flag, which is set or will never be. A flag without a word is ignored, and a borrowed one is
 * only forgotten. */
void MPII_Gpudt_flag_put(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_flag *flag);

/* Request that a flag is set at the end of some blocks. */
static inline void MPII_Gpudt_flag_ask(struct MPII_Gpudt_end *end,
                                       const struct MPII_Gpudt_flag *flag)
{
    end->flag = flag->addr;
    end->counter = flag->counter;
    end->flag_value = flag->value;
}

/* Whether a flag is set, or was and is used again since: its word has a greater value then. */
static inline bool MPII_Gpudt_flag_is_set(const struct MPII_Gpudt_flag *flag)
{
    return (int) ((unsigned) MPL_atomic_acquire_load_int(flag->word) - (unsigned) flag->value) >= 0;
}

/* Free all flags of an engine that is no longer used.
 *   is_alive  (IN)  false: the context is destroyed, with all in it */
void MPII_Gpudt_flags_free(MPII_Gpudt_engine_t * engine, bool is_alive);

#endif /* GPUDT_FLAG_H_INCLUDED */
