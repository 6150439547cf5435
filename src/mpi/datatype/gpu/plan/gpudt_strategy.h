/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * A *strategy* is a test whether it applies, a cost, and a function that fills in its parameters.
 * Private to the plan. See gpudt_plan_types.h for what must not be known here.
 */

#ifndef GPUDT_STRATEGY_H_INCLUDED
#define GPUDT_STRATEGY_H_INCLUDED

#include "gpudt_plan_shape.h"
#include "kernel/gpudt_kernel_list.h"

struct MPII_Gpudt_strategy {
    const char *name;
    int (*applies) (const struct MPII_Gpudt_shape * s);
    double (*cost) (const struct MPII_Gpudt_shape * s); /* nanoseconds; called only if it applies */
    void (*fill) (const struct MPII_Gpudt_shape * s, struct MPII_Gpudt_plan * plan);
};

extern const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_copy1d;
extern const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_copy2d;
extern const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_transpose;
extern const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_box;
extern const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_table;
extern const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_bitmap;
extern const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_list;
extern const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_map;
extern const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_tree;
extern const struct MPII_Gpudt_strategy MPII_Gpudt_strategy_pair;

/* Whether a range is rows, or planes of rows, at strides that the driver's copies accept; then also
 * fill in the copy of a plan. */
int MPII_Gpudt_plan_rows(const struct MPII_Gpudt_plan_in *in, struct MPII_Gpudt_plan *plan);

/* Time of a driver's copy between GPUs, in nanoseconds, without the time that kernels need for the
 * bytes as well. */
double MPII_Gpudt_peer_copy_cost(const struct MPII_Gpudt_copy *copy);

/* Whether a side is host memory. */
int MPII_Gpudt_host_is_used(const struct MPII_Gpudt_shape *s);

/* Index of the kernel for the shape's unit, from that of the first kernel of the family. */
int MPII_Gpudt_kernel_id(int family, const struct MPII_Gpudt_shape *s);

/* Fill in levels as the kernels read them: n of them, 0 or more. */
void MPII_Gpudt_levels_set(struct MPII_Gpudt_levels *levels,
                           const struct MPII_Gpudt_shape_level *from, int n);

/* Whether all strides fit in 32 bits. */
int MPII_Gpudt_levels_are_small(const struct MPII_Gpudt_levels *levels);

/* Time of a kernel, launch and bus included. The kernel accesses user memory in pieces of `piece`
 * bytes, each alone in its sectors, and is `factor` times slower than the memory. */
double MPII_Gpudt_kernel_cost(const struct MPII_Gpudt_shape *s, double piece, double factor);

/* Average size of the contiguous pieces. */
double MPII_Gpudt_piece_size(const struct MPII_Gpudt_shape *s);

#endif /* GPUDT_STRATEGY_H_INCLUDED */
