/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measured sizes at which a transfer changes its method. Must not know anything else. */

#ifndef GPUDT_LIMITS_H_INCLUDED
#define GPUDT_LIMITS_H_INCLUDED

/* Maximum number of thread blocks for each multiprocessor if a side is host memory. Few are enough
 * for the bus, and more slow down the other direction (64 MiB each way at once: 38 GB/s with 2, 27
 * with 8; one way 51 with any). */
#define MPII_GPUDT_HOST_BLOCKS_PER_SM 2

/* Maximum number of blocks of a kernel that sets a flag if the caller blocks for it. For larger
 * kernels the driver waits: between two H100s it takes 2 to 3 us longer than a flag for collectives of
 * 128 to 512 KiB, which have 16 to 64 blocks, and as long for 2 MiB. */
#define MPII_GPUDT_FLAG_BLOCKS 64

/* Batches. Moves of at most BATCH_SMALL bytes are queued while anything is in flight, others of at
 * most BATCH_LARGE while at least BATCH_AHEAD bytes are in flight, so that the bus never waits for
 * a launch. */
#define MPII_GPUDT_BATCH_SMALL (64 << 10)
#define MPII_GPUDT_BATCH_LARGE (1 << 20)
#define MPII_GPUDT_BATCH_AHEAD (1 << 20)
/* The same between GPUs, which move more in the time of a launch, for moves of more than
 * BATCH_MEDIUM bytes: launches of shorter ones would take longer than the moves. */
#define MPII_GPUDT_BATCH_AHEAD_GPU (4 << 20)
#define MPII_GPUDT_BATCH_MEDIUM (512 << 10)

/* Moves, or bytes, that are worth a launch while more packets wait to be handled, each of which may
 * start a move. On two H100s the processor takes 2.5 us for such a packet and 6 to 7 us for a launch,
 * so that a GPU that is never kept waiting does nothing most of the time: 64 messages of 64 KiB, each
 * with a launch or a copy of its own, took 5.6 us each, together 2.8. Moves of more than BATCH_MEDIUM
 * bytes are launched as without a burst: of 1 MiB with a datatype at both ends 17 us together, 15 alone. */
#define MPII_GPUDT_BURST_MOVES 16
#define MPII_GPUDT_BURST_BYTES (4 << 20)

/* Minimum size of copies between GPUs, and of segments that are packed for that, that run beside each
 * other. Shorter ones can share a launch. Between two H100s each kernel of 64 messages in one stream took
 * 8 us besides the time for its bytes. */
#define MPII_GPUDT_BESIDE_MIN (1 << 20)

/* Maximum size of a copy for which small moves wait, to be launched together. Between GPUs it is
 * BATCH_MEDIUM. */
#define MPII_GPUDT_NOTE_MAX (128 << 10)

/* Minimum size of non-contiguous data that passes between GPU and host by GPU memory and a copy
 * engine, if the caller does not block. */
#define MPII_GPUDT_STAGED_MIN (1 << 20)

/* Maximum number of blocks of a kernel that packs or unpacks a segment while others pass in the other
 * direction. Kernels of both directions slow each other down the more blocks they have: on two H200s 64
 * messages of 4 and 16 MiB each way, blocks of 8 bytes at 16, go at 200 to 221 and 277 to 287 GB/s each
 * instead of 175 to 183 and 216 to 220, with one block a multiprocessor at 200 to 212 and 291. One message
 * of 64 MiB each way takes 285 us instead of 330, with two blocks 282, with one 300 to 314. */
#define MPII_GPUDT_BESIDE_BLOCKS(nsms_) (3 * (nsms_) / 2)

/* Maximum size of a copy that the driver may do without a copy engine. */
#define MPII_GPUDT_INLINE_MAX 24576

#endif /* GPUDT_LIMITS_H_INCLUDED */
