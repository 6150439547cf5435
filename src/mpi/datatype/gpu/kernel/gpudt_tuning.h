/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * What was found by measuring and is compiled into the kernels; the plan must agree with it. Knows
 * nothing else. What only the plan needs is in plan/gpudt_cost.h.
 */

#ifndef GPUDT_TUNING_H_INCLUDED
#define GPUDT_TUNING_H_INCLUDED

/* Bytes of packed memory that a thread moves at a time, for a unit of so many bytes. A locator that
 * finds each unit by itself needs no wide words, one that searches does it once a word. */
#define MPII_GPUDT_WORD_BOX(unit_)  ((unit_) < 4 ? 4 : (unit_))
#define MPII_GPUDT_WORD_LIST(unit_) ((unit_) < 4 ? 4 : (unit_))
/* To unpack, wide words would leave each thread with neighbouring units, and the stores of a warp
 * far apart. */
#define MPII_GPUDT_WORD_TREE(unit_, unpack_) \
    ((unit_) == 1 || ((unpack_) && (unit_) < 8) ? 8 : 16)

/* Words that a thread loads before it stores the first. */
#define MPII_GPUDT_UNROLL_BOX(unit_, unpack_)  4
#define MPII_GPUDT_UNROLL_LIST(unit_, unpack_) ((unit_) < 4 && !(unpack_) ? 2 : 4)
#define MPII_GPUDT_UNROLL_BITMAP(unit_, unpack_) ((unit_) < 4 && !(unpack_) ? 1 : 2)
#define MPII_GPUDT_UNROLL_MAP(unit_, unpack_)  ((unit_) < 4 && !(unpack_) ? 2 : 4)
#define MPII_GPUDT_UNROLL_TREE(unit_, unpack_) 1

/* Rounds of all threads in the largest tile of the list kernels, and entries that a tile should
 * have at most. */
#define MPII_GPUDT_LIST_ROUNDS  8
#define MPII_GPUDT_LIST_ENTRIES 384

/* Rounds of all threads in a tile of the bitmap kernels, which begin with a division or two. */
#define MPII_GPUDT_BITMAP_ROUNDS 8

/* Rounds of all threads in a tile of the map kernels, which begin with work for the whole block. */
#ifndef MPII_GPUDT_MAP_ROUNDS
#define MPII_GPUDT_MAP_ROUNDS 8
#endif

/* Blocks of transpose kernels that a multiprocessor must have registers for. The compiler would take
 * more registers than pay. */
#define MPII_GPUDT_TRANSPOSE_BLOCKS 4

/* Blocks of the batch kernel that a multiprocessor must have registers for. */
#define MPII_GPUDT_BATCH_BLOCKS 4

#endif /* GPUDT_TUNING_H_INCLUDED */
