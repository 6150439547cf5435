/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Runs the threads of a grid on one CPU thread. Used by emu_cuda.h, which kernels include. */

#ifndef EMU_BLOCK_H_INCLUDED
#define EMU_BLOCK_H_INCLUDED

#include "emu_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

struct emu_dim {
    unsigned x, y, z;
};

/* Identity of a thread of the running grid. */
struct emu_thread {
    struct emu_dim thread_idx, block_idx, block_dim, grid_dim;
    unsigned index;             /* in the block; index % 32 is the lane */
};
extern __thread struct emu_thread *emu_self;
extern __thread char *emu_dynamic_shared;       /* of the running block */
extern __thread const struct emu_launch *emu_launched;

/* Run body(params) once for every thread of the grid. */
void emu_grid_run(const struct emu_launch *launch, void (*body) (void **), void **params);

/* __syncthreads: returns when every thread of the block that has not exited has called it. value is
 * or-ed, and-ed and counted over the threads; the results are in *any, *all, *count (each may be
 * NULL). */
void emu_block_sync(int value, int *any, int *all, int *count);

/* Exchange 16 bytes with the lanes of mask, which includes this one. Returns 32 slots of 16 bytes,
 * valid until this lane's next call. */
const void *emu_warp_exchange(unsigned mask, const void *value, size_t n);
#define EMU_SLOT_SZ 16

#ifdef __cplusplus
}
#endif
#endif /* EMU_BLOCK_H_INCLUDED */
