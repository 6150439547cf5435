/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Measured numbers: what work costs, and the sizes and times at which one way of doing it is left for
 * another. A change to them is to be measured anew on a GPU. Names that src/mpid uses begin with MPIR_.
 * Must not know anything else, as the kernels are compiled with it.
 *
 * The executor for host memory has numbers of its own, beside its code (cpu/, type/gpudt_commit.c).
 */

#ifndef GPUDT_TUNING_H_INCLUDED
#define GPUDT_TUNING_H_INCLUDED

/* ---- compiled into the kernels, with which the plan must agree ---- */

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
#define MPII_GPUDT_PAIR_UNROLL(index_sz_) ((index_sz_) == 4 ? 8 : 4)

/* Shared memory for which a multiprocessor is to be divided for kernels of messages, in percent of
 * its maximum. A multiprocessor is divided anew only when no kernel runs on it, and kernels without
 * shared memory leave about this much (seen on H200s: with more, or left to the driver, a pair or
 * transpose kernel waits until a kernel of the program that covers the GPU has ended). For the same
 * reason the tiles of pair kernels are small. Messages become no slower by it; packing 16 MiB
 * within the GPU takes up to 1.5 times as long. */
#define MPII_GPUDT_MODEST_CARVEOUT 14

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

/* ---- the plan: how work is divided among blocks, and the cost of each strategy ---- */

/* Tiles for each multiprocessor below which tiles are kept small. */
#define MPII_GPUDT_TILES_PER_SM 8
/* The same to unpack from another GPU's memory, to blocks that are at most so many times their size
 * apart: few threads keep the link busy. On H200s, 4 MiB take 2 to 6 us less of 40. Memory that is
 * written more slowly than that needs all of them. */
#define MPII_GPUDT_PEER_TILES_PER_SM 1
#define MPII_GPUDT_PEER_SPREAD 16

/* Maximum number of thread blocks in a launch. Kernels whose blocks start with some setup have a
 * maximum for each multiprocessor instead, so that a block does several tiles. */
#define MPII_GPUDT_MAX_BLOCKS (1 << 30)
#ifndef MPII_GPUDT_LIST_BLOCKS_PER_SM
#define MPII_GPUDT_LIST_BLOCKS_PER_SM 6
#endif
#ifndef MPII_GPUDT_MAP_BLOCKS_PER_SM
#define MPII_GPUDT_MAP_BLOCKS_PER_SM 8
#endif

/* Bytes of the smallest tile of the pair kernels, tiles for each multiprocessor above which they are
 * larger, and units of a thread in the largest tile. */
#define MPII_GPUDT_PAIR_MIN_TILE     2048
#define MPII_GPUDT_PAIR_TILES_PER_SM 4
#define MPII_GPUDT_PAIR_UNITS        16

/* Blocks of the pair kernels for boxes and lists for each multiprocessor; and the units of a message up
 * to which boxes are moved with narrower units than one of the sides has, or than all but the ends of
 * the range have. */
#define MPII_GPUDT_PAIRBOX_BLOCKS_PER_SM 8
#define MPII_GPUDT_PAIRBOX_NARROW_UNITS  (1 << 20)

/* Entries of a list without a bitmap that the pair kernel for lists searches for each unit, at most.
 * On an H100 512 entries take 3 us less than by tiles, 1,024 as long. */
#define MPII_GPUDT_PAIRLIST_SEARCH 1024

/* Bytes of the runs of a list, on average, from which a warp searches once for a chunk of units; and
 * warps for each multiprocessor above which chunks are larger than a unit for each lane. */
#define MPII_GPUDT_PAIRRUNS_MIN   1024
#define MPII_GPUDT_PAIRRUNS_WARPS 32

/* Minimum length of a list in which the tree kernels narrow the search for each tile. */
#define MPII_GPUDT_NARROW_MIN 64

/* Cost model: nanoseconds. */
#define MPII_GPUDT_LAUNCH_NS       6600.0       /* of a graph: see engine/gpudt_graph.c */
#define MPII_GPUDT_BYTE_NS         0.0005
#define MPII_GPUDT_SWITCH_NS       72000.0      /* half a context switch of a GPU between processes:
                                                 * a message needs one for its two kernels */
#define MPII_GPUDT_SECTOR_SZ       32.0 /* bytes */
#define MPII_GPUDT_BOX_BYTES_FACTOR 1.3       /* to pack single bytes; also for TABLE */
#define MPII_GPUDT_LIST_NS         2000.0       /* to find a tile's first entry */
#define MPII_GPUDT_LIST_ROUND_NS   500.0        /* to look up the following ones, for each round of
                                                 * all threads */
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
#define MPII_GPUDT_TRANSPOSE_STRIDE     64   /* bytes; below, the loads of a box share sectors
                                              * anyway */
#define MPII_GPUDT_COPY2D_PITCH    0x7fffffff   /* bytes; the driver's largest pitch */
#define MPII_GPUDT_COPY2D_NS       9500.0       /* device to device: start, a row, a byte */
#define MPII_GPUDT_COPY2D_ROW_NS   0.1
#define MPII_GPUDT_COPY2D_BYTE_NS  0.0010
#define MPII_GPUDT_COPY2D_PEER_NS  5000.0       /* between GPUs: start, a row, and what kernels need
                                                 * for a byte as well, but their costs leave out */
#define MPII_GPUDT_COPY2D_PEER_ROW_NS  0.34
#define MPII_GPUDT_COPY2D_PEER_BYTE_NS 0.0028
#define MPII_GPUDT_COPY2D_PEER_MAX (4 << 20)    /* bytes; of longer ones each byte takes longer than
                                                 * a kernel's, if another process's memory is read */
#define MPII_GPUDT_COPY2D_PEER_LONG_NS 0.003
#define MPII_GPUDT_COPY3D_PEER_PLANE_NS 12.0    /* a plane of few bytes, and what each plane adds */
#define MPII_GPUDT_COPY3D_PEER_NEXT_NS 3.5
#define MPII_GPUDT_COPY2D_TO_HOST_NS       6800.0       /* host memory: a small copy, a row, a
                                                         * byte */
#define MPII_GPUDT_COPY2D_TO_HOST_ROW_NS   1.3
#define MPII_GPUDT_COPY2D_FROM_HOST_NS     8000.0
#define MPII_GPUDT_COPY2D_FROM_HOST_ROW_NS 8.0
#define MPII_GPUDT_COPY2D_HOST_BYTE_NS     0.0183
#define MPII_GPUDT_TO_HOST_NS      900.0        /* kernels: added to a launch, and for each byte */
#define MPII_GPUDT_FROM_HOST_NS    1800.0
#define MPII_GPUDT_HOST_BYTE_NS    0.0193

/* ---- what moving memory between GPUs costs (plan/gpudt_across.c) ----
 *
 * In bytes that the link could move meanwhile. Fitted to doc/data/ways-h100x2.csv and
 * ways-types-h100x2.csv, of two H100s whose link moves 337 GB/s. */

/* A GPU reads memory of another one by requests for whole sectors of a line. Of the sectors of a
 * narrow block SECTOR_REST bytes are not asked for; each request costs as much as REQUEST_REST
 * more, which contiguous data has once a line, too. */
#define MPII_GPUDT_ACROSS_SECTOR 32     /* bytes */
#define MPII_GPUDT_ACROSS_SECTOR_REST 24.0
#define MPII_GPUDT_ACROSS_REQUEST_REST 18.0
#define MPII_GPUDT_ACROSS_LINE 128      /* bytes */

/* A store to another GPU takes a packet of its own if no other block is in its line. Blocks of one
 * line go in one packet, from the first one to the last one, with a mask of its bytes. */
#define MPII_GPUDT_ACROSS_PACKET_REST 24.0      /* bytes */
#define MPII_GPUDT_ACROSS_MASKED_REST 32.0
#define MPII_GPUDT_ACROSS_SPLIT_REST 48.0       /* of a block that two lines share */

/* Of memory of another GPU that is spread over more than REACH bytes, each access to the rest costs
 * as much as REACH_REST bytes more, as the translation of its address is not at hand. */
#define MPII_GPUDT_ACROSS_REACH (672.0 * (1 << 20))
#define MPII_GPUDT_ACROSS_REACH_REST 64.0

/* Bytes that the link moves while a GPU reads or writes a part of a line of its own memory. Of less
 * than CACHE bytes of lines the cache has most from before. */
#define MPII_GPUDT_ACROSS_CACHE (48 << 20)
#define MPII_GPUDT_ACROSS_LINE_READ 12.5
#define MPII_GPUDT_ACROSS_LINE_WRITE 25.0

/* What pushing costs: the packet that asks the sender for it (1 us). And what staging costs: its kernels
 * and packets (14 us), and a share of the message, as a segment is packed before it is read. Both pass
 * while the link moves other messages, if there are any, but the processors cannot stage messages faster
 * than one in STAGE_EACH (10 us). Of a message that is packed early the kernels take 5 us, and the share
 * is less of what follows the first two segments. */
#define MPII_GPUDT_ACROSS_PUSH_COST (320 << 10)
#define MPII_GPUDT_ACROSS_STAGE_COST (9 << 19)
#define MPII_GPUDT_ACROSS_STAGE_SHARE 0.25
#define MPII_GPUDT_ACROSS_EARLY_COST (13 << 17)
#define MPII_GPUDT_ACROSS_EARLY_SHARE 0.375
#define MPII_GPUDT_ACROSS_EARLY_SHARE_LATER 0.1875
#define MPII_GPUDT_ACROSS_STAGE_EACH (13 << 18)

/* What it costs to switch the context of a GPU that processes share. */
#define MPII_GPUDT_ACROSS_SWITCH_COST (48 << 20)

/* ---- the way of a message ---- */

/* Microseconds that a message takes less than through host memory: a launch, and the difference of
 * the time for its bytes. */
#define MPII_GPUDT_SAVED_US 5.0
#define MPII_GPUDT_SAVED_US_PER_BYTE (1 / 60e3)

/* Bytes of messages below which host memory is better on a GPU that processes share: a kernel waits
 * until the GPU switches to the process that has launched it, and copies between GPU and host do
 * not. Measured on an H200: every direct copy takes 146 us and more; by way of the host contiguous
 * messages reach that at 4 MiB, and others, which take kernels there too, at 256 KiB. */
#define MPII_GPUDT_SHARED_MIN_CONTIG (4 << 20)
#define MPII_GPUDT_SHARED_MIN (256 << 10)

/* Microseconds that a direct copy may wait for the GPU there: those of a message by way of the host and a
 * few more, less those of its bytes. On an H200 copies take 12 to 16 and the time for their bytes, but 146 if
 * the GPU has to switch, and milliseconds if a kernel of another process keeps it. */
#define MPII_GPUDT_SHARED_HOST_CONTIG_US 24.0
#define MPII_GPUDT_SHARED_HOST_CONTIG_US_PER_BYTE 36e-6
#define MPII_GPUDT_SHARED_HOST_US 28.0
#define MPII_GPUDT_SHARED_HOST_US_PER_BYTE 380e-6
#define MPII_GPUDT_SHARED_COPY_US_PER_BYTE 1e-6

/* The share of a longer wait in the time that copies waited of late; microseconds of the first long one that
 * count; the share of the time of messages through the host that copies may take which are made all the
 * same; and copies at first that say nothing. */
#define MPII_GPUDT_TIMING_SHARE 0.125
#define MPII_GPUDT_TIMING_MOST_US 500.0
#define MPII_GPUDT_TIMING_SPARED 0.1
#define MPII_GPUDT_TIMING_FIRST 8

/* Seconds after a longer message for which shorter ones are copied directly, too. */
#define MPII_GPUDT_SHARED_RECENT_S 3e-3

/* Microseconds that messages must have lost before an allocation is mapped, and the first one of a
 * GPU. On H200s mapping takes 40 to 60, the first time 2,000: that is spent earlier, since a
 * program that has sent some messages between two GPUs will send more. */
#define MPII_GPUDT_OPEN_US 60
#define MPII_GPUDT_FIRST_OPEN_US 250

/* Bytes of a message whose buffer cannot be mapped from which on it is staged in memory of its GPU. */
#define MPII_GPUDT_HIDDEN_MIN (256 << 10)

/* Operations in flight in the receiver's direction with which no kernel is launched that may have to
 * wait: it would hold up other messages, and take multiprocessors while they have work to do. */
#define MPII_GPUDT_AHEAD_MAX 4

/* Bytes up to which elements are updated by atomic operations. */
#define MPII_GPUDT_ATOMIC_MAX (16 * 1024)

/* Seconds for which a blocking call spins on a flag. */
#define MPII_GPUDT_FLAG_SECONDS 30e-6

/* A message through host memory is cut into at least MIN_CHUNKS segments, so that its steps
 * overlap, unless segments would be shorter than MIN_CHUNK_SZ, which the bus moves in less time
 * than a kernel launch takes. Between GPUs the steps of a segment of several MiB take
 * less time than the launches of several (measured between H200s: 4 MiB in one segment 44 to 49 us,
 * in four 67 to 71). */
#define MPIR_GPUDT_MIN_CHUNKS 4
#define MPIR_GPUDT_MIN_CHUNK_SZ (512 * 1024)

/* Microseconds until a message is packed that the receiver is expected to pull: more than a packet
 * takes to the receiver and less than a launch. */
#define MPIR_GPUDT_PUT_OFF_US 3.0

/* Puts and gets between a GPU and a window in host memory by messages of their own: bytes from which on that
 * is worth a query of the origin's buffer, as a multiple of those for windows on GPUs; and bytes of a get of
 * noncontiguous data up to which it takes less time (on an H200 16 MiB take 2.3 ms instead of 2.9, 32 MiB
 * 8.6 instead of 6.4). */
#define MPIR_GPUDT_WIN_HOST_FACTOR 16
#define MPIR_GPUDT_WIN_GET_MAX (16 << 20)

/* Accumulates by messages of their own: bytes from which on they are on windows of the same node, as a multiple
 * of those of puts; bytes of a part; and bytes of one that cannot be divided, at most. */
#define MPIR_GPUDT_WIN_ACC_FACTOR 16
#define MPIR_GPUDT_WIN_ACC_PART (4 << 20)
#define MPIR_GPUDT_WIN_ACC_WHOLE (16 << 20)

/* The same on windows in host memory, if the buffers have no gaps: bytes of MPI_Accumulate and of
 * MPI_Get_accumulate, at most. Memory for longer ones comes from and goes back to the system each time, and
 * ch3, which needs none, is faster. */
#define MPIR_GPUDT_WIN_ACC_HOST (8 << 20)
#define MPIR_GPUDT_WIN_GET_ACC_HOST (2 << 20)

/* Bytes of a message of a process to itself, between two datatypes, up to which staging through pinned
 * memory beats separate kernels. */
#define MPIR_GPUDT_SELF_CHUNK_MAX (64 * 1024)

/* ---- transfers ---- */

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
 * with a launch or a copy of its own, took 5.6 us each, together 2.8. Moves of more than BURST_MAX bytes
 * are launched as without a burst: a copy engine needs no multiprocessors, and loses less on longer ones
 * (on two H200s, of 64 contiguous messages 1 MiB take 3.7 us together, 5.9 alone; 4 MiB 11.9 and 14.4). */
#define MPII_GPUDT_BURST_MOVES 16
#define MPII_GPUDT_BURST_BYTES (4 << 20)
#define MPII_GPUDT_BURST_MAX   (1 << 20)

/* Minimum size of copies between GPUs, and of segments that are packed for that, that run beside each
 * other. Shorter ones can share a launch. Between two H100s each kernel of 64 messages in one stream took
 * 8 us besides the time for its bytes. */
#define MPII_GPUDT_BESIDE_MIN (1 << 20)

/* Minimum size of a move between GPUs that cannot share a launch, as of lists and trees, to run in the
 * least busy of four lanes. On two H200s 64 messages of 256 KiB with a tree at both ends take 14.4 us
 * each in one lane, 8.1 in two and 5.1 in four, which is what the processor takes to start one; lists 7.7,
 * 4.9 and 4.1. Shorter ones are packed by their sender. */
#define MPII_GPUDT_SPREAD_MIN (96 << 10)

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

/* ---- collectives ---- */

/* Bytes of a block up to which a kernel may move it in pieces of less than 16 bytes. */
#define MPIR_GPUDT_COLL_MAX_NARROW (64 << 10)

/* Bytes from which on a broadcast to several processes is of shares. A shorter one takes no longer for
 * the root's link. */
#define MPIR_GPUDT_COLL_MIN_LONG (512 << 10)

/* Bytes of a block of an all-to-all of two processes up to which its sender writes it: a copy engine is
 * faster for long ones. Among more processes one kernel is faster for any length up to 64 MiB than a copy
 * from each of the others, by a half for 1 MiB on four H100. */
#define MPIR_GPUDT_COLL_MAX_WRITTEN (512 << 10)

/* Microseconds that calls must have lost by messages before memory is mapped, and what a call
 * loses: two messages and a kernel, and more for its bytes. Mapping takes about 60 for each buffer,
 * but 2,000 the first time. */
#define MPIR_GPUDT_COLL_MAP_US 250
#define MPIR_GPUDT_COLL_LOST_US 30
#define MPIR_GPUDT_COLL_LOST_US_PER_BYTE (1 / 20e3)

/* Bytes of a process's part of a reduction, which a kernel of its own is worth. */
#define MPIR_GPUDT_COLL_MIN_PART 512

/* Bytes of an MPI_Reduce from which on the root combines nothing if others have GPUs: it gets all
 * results, so that its operands would come on top of as many bytes as its link can take. A shorter
 * one takes no longer for the link, and a part of it stays where it was combined. */
#define MPIR_GPUDT_COLL_MIN_SPARED (1 << 20)

/* Thread blocks for each multiprocessor of a reduction: as many as it has threads for. */
#define MPII_GPUDT_REDUCE_BLOCKS_PER_SM 8

/* The same for memory of several GPUs, whose links take fewer: on four H100 with NVLink, MPI_Allreduce of
 * 32 and 256 MiB takes 3 to 7 % less time than with 8, and less for 256 MiB than with 1
 * (doc/data/collectives-blocks-h100x4.csv). */
#define MPII_GPUDT_COMBINE_BLOCKS_PER_SM 2

#endif /* GPUDT_TUNING_H_INCLUDED */
