/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Sizes, found by measuring, from which on a transfer goes another way. Knows nothing else. */

#ifndef GPUDT_LIMITS_H_INCLUDED
#define GPUDT_LIMITS_H_INCLUDED

/* Blocks of threads for each multiprocessor, at most, where a side is host memory: few are enough
 * for the bus, and more of them keep those of the other direction from it (64 MiB each way at once:
 * 38 GB/s with 2, 27 with 8; one way 51 with any). */
#define MPII_GPUDT_HOST_BLOCKS_PER_SM 2

/* Blocks of a kernel that sets a flag at its end, at most, where somebody waits for it at once. Others
 * that are waited for leave that to the driver. */
#define MPII_GPUDT_FLAG_BLOCKS 8

/* Batches. Moves of at most BATCH_SMALL bytes are queued while anything is in flight, others of at most
 * BATCH_LARGE while BATCH_AHEAD bytes are: the bus never waits for a launch. */
#define MPII_GPUDT_BATCH_SMALL (64 << 10)
#define MPII_GPUDT_BATCH_LARGE (1 << 20)
#define MPII_GPUDT_BATCH_AHEAD (1 << 20)

/* Bytes of a copy that small moves wait for, to go out together. */
#define MPII_GPUDT_NOTE_MAX (128 << 10)

/* Bytes of a datatype that pass between GPU and host by GPU memory and a copy engine, at least, where
 * nobody blocks for them. */
#define MPII_GPUDT_STAGED_MIN (1 << 20)

/* Bytes up to which the driver may copy without a copy engine. */
#define MPII_GPUDT_INLINE_MAX 24576

#endif /* GPUDT_LIMITS_H_INCLUDED */
