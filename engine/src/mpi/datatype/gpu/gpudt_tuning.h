/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Every number that plan and kernels use and that was found by measuring. Knows nothing but numbers.
 */

#ifndef GPUDT_TUNING_H_INCLUDED
#define GPUDT_TUNING_H_INCLUDED

/* Bytes of packed memory that a thread moves at a time, for a unit of so many bytes. A locator that
 * divides finds each unit by itself; one that searches does it once a word. */
#ifndef MPII_GPUDT_WORD_BOX
#define MPII_GPUDT_WORD_BOX(unit_)  ((unit_) < 4 ? 4 : (unit_))
#endif
#ifndef MPII_GPUDT_WORD_LIST
#define MPII_GPUDT_WORD_LIST(unit_) ((unit_) == 1 ? 8 : 16)
#endif
#ifndef MPII_GPUDT_WORD_TREE
#define MPII_GPUDT_WORD_TREE(unit_) ((unit_) == 1 ? 8 : 16)
#endif

/* Words that a thread loads before it stores the first. */
#ifndef MPII_GPUDT_UNROLL_BOX
#define MPII_GPUDT_UNROLL_BOX(unit_)  ((unit_) < 4 ? 2 : 4)
#endif
#ifndef MPII_GPUDT_UNROLL_LIST
#define MPII_GPUDT_UNROLL_LIST(unit_) 1
#endif
#ifndef MPII_GPUDT_UNROLL_TREE
#define MPII_GPUDT_UNROLL_TREE(unit_) 1
#endif

/* Rounds of all threads in a tile of the list kernels. */
#ifndef MPII_GPUDT_LIST_ROUNDS
#define MPII_GPUDT_LIST_ROUNDS 2
#endif

/* Tiles there should be for each multiprocessor before tiles grow. */
#define MPII_GPUDT_TILES_PER_SM 8

/* Blocks of threads at most: all, to device memory; few fill the bus to the host. */
#define MPII_GPUDT_MAX_BLOCKS      (1 << 30)
#define MPII_GPUDT_MAX_BLOCKS_HOST (1 << 30)
#define MPII_GPUDT_LIST_BLOCKS_PER_SM 8

/* A list of at least so many entries is narrowed for each tile by the tree kernels. */
#define MPII_GPUDT_NARROW_MIN 64

/* Cost model: nanoseconds. */
#define MPII_GPUDT_LAUNCH_NS       7600.0
#define MPII_GPUDT_BYTE_NS         0.0005
#define MPII_GPUDT_SECTOR_SZ       32.0 /* bytes */
#define MPII_GPUDT_LIST_FACTOR     1.5
#define MPII_GPUDT_TREE_FACTOR     3.0
#define MPII_GPUDT_TURN_BYTE_NS    0.0006
#define MPII_GPUDT_TURN_STRIDE     64   /* bytes; below, a box's loads share sectors anyway */
#define MPII_GPUDT_COPY2D_PITCH    0x7fffffff   /* bytes; the driver's largest pitch */
#define MPII_GPUDT_COPY2D_FIXED_NS 9000.0
#define MPII_GPUDT_COPY2D_ROW_NS   1.0
#define MPII_GPUDT_COPY2D_BYTE_NS  0.0006

#endif /* GPUDT_TUNING_H_INCLUDED */
