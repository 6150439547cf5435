/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * What the plan has of measurements: how work is shared out, and what each strategy costs. Knows
 * nothing else.
 */

#ifndef GPUDT_COST_H_INCLUDED
#define GPUDT_COST_H_INCLUDED

/* Tiles there should be for each multiprocessor before tiles grow. */
#define MPII_GPUDT_TILES_PER_SM 8

/* Blocks of threads at most, in a launch; and for each multiprocessor, in kernels that have blocks
 * do several tiles because each begins with work for its own. */
#define MPII_GPUDT_MAX_BLOCKS (1 << 30)
#ifndef MPII_GPUDT_LIST_BLOCKS_PER_SM
#define MPII_GPUDT_LIST_BLOCKS_PER_SM 6
#endif
#ifndef MPII_GPUDT_MAP_BLOCKS_PER_SM
#define MPII_GPUDT_MAP_BLOCKS_PER_SM 8
#endif

/* A list of at least so many entries is narrowed for each tile by the tree kernels. */
#define MPII_GPUDT_NARROW_MIN 64

/* Cost model: nanoseconds. */
#define MPII_GPUDT_LAUNCH_NS       7600.0
#define MPII_GPUDT_BYTE_NS         0.0005
#define MPII_GPUDT_SWITCH_NS       72000.0      /* half a change of a GPU to another process's context:
                                                 * a message takes one for its two kernels */
#define MPII_GPUDT_SECTOR_SZ       32.0 /* bytes */
#define MPII_GPUDT_BOX_BYTES_FACTOR 1.3       /* to pack single bytes; also with a table */
#define MPII_GPUDT_LIST_NS         2000.0       /* to find a tile's first entry */
#define MPII_GPUDT_LIST_ROUND_NS   500.0        /* to look up the next ones, a round of all threads */
#define MPII_GPUDT_LIST_FACTOR(unit_, unpack_) \
    ((unit_) < 4 ? ((unpack_) ? 3.5 : 2.8) : (unpack_) ? 2.8 : 1.4)
#define MPII_GPUDT_BITMAP_NS         300.0
#define MPII_GPUDT_BITMAP_FACTOR(unit_, unpack_) ((unit_) < 4 ? 3.4 : (unpack_) ? 2.1 : 1.5)
#define MPII_GPUDT_MAP_NS          700.0       /* for each round of units of a datatype */
#define MPII_GPUDT_MAP_FACTOR      1.1
#define MPII_GPUDT_TREE_NS         1200.0
#define MPII_GPUDT_TREE_FACTOR     4.0
#define MPII_GPUDT_TRANSPOSE_BYTE_NS    0.0006
#define MPII_GPUDT_TRANSPOSE_HOST_NS    1000.0
#define MPII_GPUDT_TRANSPOSE_STRIDE     64   /* bytes; below, a box's loads share sectors anyway */
#define MPII_GPUDT_COPY2D_PITCH    0x7fffffff   /* bytes; the driver's largest pitch */
#define MPII_GPUDT_COPY2D_NS       9500.0       /* device to device: to start it, a row, a byte */
#define MPII_GPUDT_COPY2D_ROW_NS   0.1
#define MPII_GPUDT_COPY2D_BYTE_NS  0.0010
#define MPII_GPUDT_COPY2D_TO_HOST_NS       6800.0       /* a small one; a row; a byte */
#define MPII_GPUDT_COPY2D_TO_HOST_ROW_NS   1.3
#define MPII_GPUDT_COPY2D_FROM_HOST_NS     8000.0
#define MPII_GPUDT_COPY2D_FROM_HOST_ROW_NS 8.0
#define MPII_GPUDT_COPY2D_HOST_BYTE_NS     0.0183
#define MPII_GPUDT_TO_HOST_NS      900.0        /* kernels: what a launch costs more, and a byte */
#define MPII_GPUDT_FROM_HOST_NS    1800.0
#define MPII_GPUDT_HOST_BYTE_NS    0.0193

#endif /* GPUDT_COST_H_INCLUDED */
