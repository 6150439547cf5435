/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Every number of the plan and the kernels that was found by measuring. Knows nothing else.
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
#define MPII_GPUDT_UNROLL_RANK(unit_, unpack_) ((unit_) < 4 && !(unpack_) ? 1 : 2)
#define MPII_GPUDT_UNROLL_MAP(unit_, unpack_)  ((unit_) < 4 && !(unpack_) ? 2 : 4)
#define MPII_GPUDT_UNROLL_TREE(unit_, unpack_) 1

/* Rounds of all threads in the largest tile of the list kernels, and entries that a tile should
 * have at most. */
#define MPII_GPUDT_LIST_ROUNDS  8
#define MPII_GPUDT_LIST_ENTRIES 384

/* Rounds of all threads in a tile of the rank kernels, which begin with a division or two. */
#define MPII_GPUDT_RANK_ROUNDS 8

/* Rounds of all threads in a tile of the map kernels, which begin with work for the whole block. */
#ifndef MPII_GPUDT_MAP_ROUNDS
#define MPII_GPUDT_MAP_ROUNDS 8
#endif

/* Blocks of turn kernels that a multiprocessor must have registers for. The compiler would take
 * more registers than pay. */
#define MPII_GPUDT_TURN_BLOCKS 4

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

/* The same where a side is host memory: few are enough for the bus, and more of them keep those of the other
 * direction from it (64 MiB each way at once: 38 GB/s with 2, 27 with 8; one way 51 with any). */
#define MPII_GPUDT_HOST_BLOCKS_PER_SM 2

/* A list of at least so many entries is narrowed for each tile by the tree kernels. */
#define MPII_GPUDT_NARROW_MIN 64

/* Blocks of a kernel that sets a flag at its end, at most, where somebody waits for it at once. Others
 * that are waited for leave that to the driver. */
#define MPII_GPUDT_FLAG_BLOCKS 8

/* Batches. Moves of at most BATCH_SMALL bytes are queued while anything is in flight, others of at most
 * BATCH_LARGE while BATCH_AHEAD bytes are: the bus never waits for a launch. */
#define MPII_GPUDT_BATCH_SMALL (64 << 10)
#define MPII_GPUDT_BATCH_LARGE (1 << 20)
#define MPII_GPUDT_BATCH_AHEAD (1 << 20)

/* Blocks of the batch kernel that a multiprocessor must have registers for. */
#define MPII_GPUDT_BATCH_BLOCKS 4

/* Bytes of a datatype that pass between GPU and host by GPU memory and a copy engine, at least, where
 * nobody blocks for them. */
#define MPII_GPUDT_STAGED_MIN (1 << 20)

/* Cost model: nanoseconds. */
#define MPII_GPUDT_LAUNCH_NS       7600.0
#define MPII_GPUDT_BYTE_NS         0.0005
#define MPII_GPUDT_INLINE_MAX      24576        /* bytes; up to these the driver may copy without
                                                 * a copy engine */
#define MPII_GPUDT_SWITCH_NS       72000.0      /* half a change of a GPU to another process's context:
                                                 * a message takes one for its two kernels */
#define MPII_GPUDT_SECTOR_SZ       32.0 /* bytes */
#define MPII_GPUDT_BOX_BYTES_FACTOR 1.3       /* to pack single bytes; also with a table */
#define MPII_GPUDT_LIST_NS         2000.0       /* to find a tile's first entry */
#define MPII_GPUDT_LIST_ROUND_NS   500.0        /* to look up the next ones, a round of all threads */
#define MPII_GPUDT_LIST_FACTOR(unit_, unpack_) \
    ((unit_) < 4 ? ((unpack_) ? 3.5 : 2.8) : (unpack_) ? 2.8 : 1.4)
#define MPII_GPUDT_RANK_NS         300.0
#define MPII_GPUDT_RANK_FACTOR(unit_, unpack_) ((unit_) < 4 ? 3.4 : (unpack_) ? 2.1 : 1.5)
#define MPII_GPUDT_MAP_NS          700.0       /* for each round of units of a datatype */
#define MPII_GPUDT_MAP_FACTOR      1.1
#define MPII_GPUDT_TREE_NS         1200.0
#define MPII_GPUDT_TREE_FACTOR     4.0
#define MPII_GPUDT_TURN_BYTE_NS    0.0006
#define MPII_GPUDT_TURN_HOST_NS    1000.0
#define MPII_GPUDT_TURN_STRIDE     64   /* bytes; below, a box's loads share sectors anyway */
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

#endif /* GPUDT_TUNING_H_INCLUDED */
