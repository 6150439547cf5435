/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Measured numbers of the plan: how work is divided among blocks, and the cost of each strategy.
 * Must not know anything else.
 */

#ifndef GPUDT_COST_H_INCLUDED
#define GPUDT_COST_H_INCLUDED

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

#endif /* GPUDT_COST_H_INCLUDED */
