/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Measured numbers that are compiled into the kernels, and with which the plan must agree. Must not
 * know anything else. Numbers that only the plan needs are in plan/gpudt_cost.h.
 */

#ifndef GPUDT_TUNING_H_INCLUDED
#define GPUDT_TUNING_H_INCLUDED

/* Bytes of a word, for each unit size. A locator that finds each unit independently needs no wide
 * words; one that searches does so once a word. */
#define MPII_GPUDT_WORD_BOX(unit_)  ((unit_) < 4 ? 4 : (unit_))
#define MPII_GPUDT_WORD_LIST(unit_) ((unit_) < 4 ? 4 : (unit_))
/* When unpacking, wide words would give each thread adjacent units, so that the stores of a warp
 * are far apart. */
#define MPII_GPUDT_WORD_TREE(unit_, unpack_) \
    ((unit_) == 1 || ((unpack_) && (unit_) < 8) ? 8 : 16)

/* Words that a thread loads before it stores the first. */
#define MPII_GPUDT_UNROLL_BOX(unit_, unpack_)  4
#define MPII_GPUDT_UNROLL_LIST(unit_, unpack_) ((unit_) < 4 && !(unpack_) ? 2 : 4)
#define MPII_GPUDT_UNROLL_BITMAP(unit_, unpack_) ((unit_) < 4 && !(unpack_) ? 1 : 2)
#define MPII_GPUDT_UNROLL_MAP(unit_, unpack_)  ((unit_) < 4 && !(unpack_) ? 2 : 4)
#define MPII_GPUDT_UNROLL_TREE(unit_, unpack_) 1

/* Rounds in the largest tile of the list kernels, and the maximum number of entries that a tile
 * should have. */
#define MPII_GPUDT_LIST_ROUNDS  8
#define MPII_GPUDT_LIST_ENTRIES 384

/* Rounds in a tile of the bitmap kernels, which start with one or two divisions. */
#define MPII_GPUDT_BITMAP_ROUNDS 8

/* Rounds in a tile of the map kernels, which start with work of the whole block. */
#ifndef MPII_GPUDT_MAP_ROUNDS
#define MPII_GPUDT_MAP_ROUNDS 8
#endif

/* Blocks of transpose kernels for which a multiprocessor must have registers. The compiler would
 * use more registers, which is slower. */
#define MPII_GPUDT_TRANSPOSE_BLOCKS 4

/* Blocks of the pair kernels for which a multiprocessor must have registers, and units that a
 * thread of them has in flight, for indices of index_sz_ bytes. */
#ifndef MPII_GPUDT_PAIR_BLOCKS
#define MPII_GPUDT_PAIR_BLOCKS 4
#endif
/* Shared memory for which a multiprocessor is to be divided for kernels of messages, in percent of
 * its maximum. A multiprocessor is divided anew only when no kernel runs on it, and kernels without
 * shared memory leave about this much (seen on H200s: with more, or left to the driver, a pair or
 * transpose kernel waits until a kernel of the program that covers the GPU has ended). For the same
 * reason the tiles of pair kernels are small. Messages become no slower by it; packing 16 MiB
 * within the GPU takes up to 1.5 times as long. */
#define MPII_GPUDT_MODEST_CARVEOUT 14

#define MPII_GPUDT_PAIR_UNROLL(index_sz_) ((index_sz_) == 4 ? 8 : 4)

/* How often a block of threads looks at a semaphore, at most: some 100 us between two H100s. */
#define MPII_GPUDT_SEMAPHORE_LOOKS 128

/* Units that a thread of the pair kernel for boxes has in flight. */
#define MPII_GPUDT_PAIRBOX_UNROLL 4

/* The same of the one for lists. */
#define MPII_GPUDT_PAIRLIST_UNROLL 2

/* The same of the one for lists of long runs: 64 bytes, so that four blocks have registers. */
#define MPII_GPUDT_PAIRRUNS_UNROLL(unit_) ((unit_) == 16 ? 4 : 8)

/* Blocks of the kernels for reductions for which a multiprocessor must have registers. Each thread
 * has 32 bytes in flight, so that many threads are needed. */
#define MPII_GPUDT_REDUCE_BLOCKS 6

/* The same for the kernels with several operands, and operands that a thread loads before it combines
 * the first. */
#define MPII_GPUDT_COMBINE_BLOCKS 4
#define MPII_GPUDT_COMBINE_LOADS 4

/* Units that a thread of the kernel for copies has in flight, and those of a block. */
#ifndef MPII_GPUDT_COPY_UNROLL
#define MPII_GPUDT_COPY_UNROLL 4
#endif
#define MPII_GPUDT_COPY_UNITS (MPII_GPUDT_COPY_UNROLL * MPII_GPUDT_THREADS)

/* Blocks of the batch kernel for which a multiprocessor must have registers. */
#define MPII_GPUDT_BATCH_BLOCKS 4

#endif /* GPUDT_TUNING_H_INCLUDED */
