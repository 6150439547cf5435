/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The parameter blocks of the kernels: what the plan fills in and a launch passes by value. Read by
 * host C and by CUDA C++, so it must not know MPI, MPICH or CUDA.
 */

#ifndef GPUDT_ARGS_H_INCLUDED
#define GPUDT_ARGS_H_INCLUDED

#include <stddef.h>
#include <stdint.h>

/* Every kernel has one parameter, one of the MPII_Gpudt_args_* structs, and each of these but that of
 * the batch kernel starts with a span: which bytes of the stream move, and how they are shared out.
 *
 *   packed memory   ... | lead  |  head  |  word  word  word ... word  |  tail  |
 *                       ^       ^        ^                             ^        ^
 *           128-byte line     first     pos0        pos0 + nwords * word size  last
 *
 * A *word* is what a thread moves to or from packed memory at a time: 4, 8 or 16 bytes, aligned
 * there. A *unit* is what it moves to or from user memory: 1 to 16 bytes, aligned there, at most a
 * word; every run consists of whole units, and words begin where a unit begins. Unit and word
 * belong to the kernel. Tiles are counted from the line that holds pos0, so that the stores of a
 * warp fill whole lines.
 */
#define MPII_GPUDT_THREADS    256       /* threads of a block, in every kernel */
#define MPII_GPUDT_LINE_SZ    128       /* bytes; the unit of stores to packed memory */
#define MPII_GPUDT_MAX_LEVELS 6 /* strides of a box, its block included */
#define MPII_GPUDT_MAX_NODES  12        /* nodes that travel with the launch */
#define MPII_GPUDT_MAX_MAP    1024      /* units of a type that the map kernels expand */
#define MPII_GPUDT_MAX_TABLE  8192      /* units of a type whose index lists them all */
#define MPII_GPUDT_MAX_PIECE  (1 << 30) /* bytes of a piece in a list of pieces at a stride */
#define MPII_GPUDT_WINDOW     1024      /* runs that a block keeps at hand for a tile */

/* Units on the edges of a square of the transpose kernels, along the stream and along user memory. */
#define MPII_GPUDT_SQUARE_IN(unit_)     ((unit_) == 16 ? 32 : 64)
#define MPII_GPUDT_SQUARE_TRANSPOSED(unit_) ((unit_) < 8 ? 64 : 32)

/* The end of the work of some blocks of threads, of which the last one to be done tells the host. */
struct MPII_Gpudt_end {
    uint64_t flag;              /* address of an int32_t to set; 0: none */
    uint64_t counter;           /* address of a uint32_t that is 0 when they begin and when they are
                                 * done; not used by one block alone */
    int32_t flag_value;
    int32_t nblocks;            /* blocks that share the work */
};

struct MPII_Gpudt_span {
    uint64_t user;              /* address of displacement 0, for stream position 0 */
    uint64_t packed;            /* address that stream position 0 has, or would have */
    int64_t first;              /* first byte of the stream to move */
    int64_t last;               /* one past the last */
    int64_t pos0;               /* stream position of the first full word */
    int64_t nwords;             /* full words in the range */
    int64_t ntiles;
    int32_t tile;               /* words in a tile */
    int32_t lead;               /* words of tile 0 before pos0 */
    int32_t tiles_per_block;    /* tiles that one block of threads does: neighbours in the list
                                 * kernels, else as many apart as there are blocks */
    int32_t has_ends;           /* 1: there are bytes before pos0 or behind the last full word */
    struct MPII_Gpudt_end end;
};

/* Division by an invariant: p / d == high_half(2 * p * magic) >> shift, for 0 <= p < 2^31 with the
 * multiplier for 32 bits and 0 <= p < 2^63 with the other. See MPII_Gpudt_divisor_set. */
struct MPII_Gpudt_divisor {
    uint64_t magic64;
    uint32_t magic32;
    uint32_t shift;
};

/* One stride, or one list of displacements.
 *
 * Counted in units from the beginning of a level, a unit has an index there, q, and q / count is
 * its index in the level above. Its displacement is the sum of q * step over all levels, and of
 * displ[q % count] in the levels with a list: step is the level's stride less what the level below
 * has added too much, which is its count times its stride. So no remainder is needed. */
struct MPII_Gpudt_level {
    int64_t step;
    uint64_t displ;             /* address of int64_t displ[count], or 0 */
    int64_t count;              /* children; at least 2, and not read in the topmost level */
    struct MPII_Gpudt_divisor div;      /* by count */
};

/* Nested strides, inside out: level 0 varies fastest in the stream. */
struct MPII_Gpudt_levels {
    int32_t nlevels;            /* of level[], below the topmost */
    int32_t pad;
    struct MPII_Gpudt_level top;
    struct MPII_Gpudt_level level[MPII_GPUDT_MAX_LEVELS - 1];
};

/* Nested strides over blocks of one size, counted in units; the block, if longer than a unit, is a
 * level. */
struct MPII_Gpudt_args_box {
    struct MPII_Gpudt_span span;
    int64_t run;                /* units of a block, if it is a level and not the topmost; else 0 */
    struct MPII_Gpudt_levels levels;
};

/* A box in which a level above the innermost is contiguous in user memory, the transposed level:
 * squares of units go through shared memory. One edge runs along the stream, over the units of one
 * child of the transposed level; the other runs along the transposed level. Tiles are counted in this order,
 * and over the levels above last. */
struct MPII_Gpudt_args_transpose {
    struct MPII_Gpudt_span span;
    int64_t below;              /* units of the stream in one child of the transposed level */
    int64_t count, stride;      /* of the transposed level */
    int64_t squares_in, squares_transposed; /* along the edges */
    struct MPII_Gpudt_divisor by_in, by_transposed; /* by squares_ */
    struct MPII_Gpudt_levels inner, outer;      /* below the transposed level, and above */
};

/* 32 children of a list in the order of the stream. With bit i of begins set where an entry begins
 * with child i, the entry of child i is before + the number of bits set in begins up to i: a rank
 * query on a bit vector with a directory (G. Jacobson, Space-efficient Static Trees and Graphs, FOCS
 * 1989, section 2.1). */
struct MPII_Gpudt_group {
    uint32_t begins;
    int32_t before;             /* entries that begin before child 0, less one */
};

/* A list of entries of any length, each of which is one run or equal pieces at a stride. The list
 * is repeated by the levels above it. */
struct MPII_Gpudt_args_list {
    struct MPII_Gpudt_span span;
    int64_t nruns;              /* entries in the list */
    int64_t list_size;          /* packed bytes of the list */
    int64_t piece;              /* packed bytes of a piece, and of one step of prefix */
    int64_t gap;                /* bytes in user memory from a piece's end to the next; 0: runs */
    uint64_t prefix;            /* address of int64_t prefix[nruns + 1] */
    uint64_t displ;             /* address of int64_t displ[nruns], as in gpudt_image.h */
    struct MPII_Gpudt_divisor by_nruns, by_list, by_piece;      /* by list_size, piece */
    uint64_t groups;            /* address of the list's MPII_Gpudt_group[]; only for bitmap kernels */
    int64_t shift;              /* piece == 1 << shift; -1: no power of two */
    struct MPII_Gpudt_levels levels;    /* of the repetitions */
};

/* One node of a tree, as the walk reads it. Kinds are those of gpudt_record.h and RUNS: an INDEXED
 * whose entries are contiguous runs, a leaf like BLOCK. */
#define MPII_GPUDT_KIND__RUNS 5

struct MPII_Gpudt_node {
    int32_t kind;
    int32_t child;
    int64_t count;
    int64_t step;               /* VECTOR: stride; INDEXED: extent */
    int64_t child_size;
    int64_t size;
    int64_t lookaside;          /* byte offset of the lists */
    struct MPII_Gpudt_divisor div;      /* by child_size */
};

/* Any type at all: the tree itself, from the launch if it is small, else from device memory. */
struct MPII_Gpudt_args_tree {
    struct MPII_Gpudt_span span;
    struct MPII_Gpudt_divisor by_type;  /* by type_size */
    struct MPII_Gpudt_divisor by_units; /* by type_units */
    int64_t type_size;          /* packed bytes of one datatype */
    int64_t type_units;         /* the same in units */
    int64_t extent;             /* bytes from one datatype to the next */
    uint64_t lookaside;         /* address of the lists */
    uint64_t nodes;             /* address of the nodes; 0: those below */
    int32_t nnodes;
    int32_t root;               /* node that a datatype starts at */
    int32_t pad;
    int32_t narrow;             /* 1: worth while to narrow the topmost list for each tile */
    struct MPII_Gpudt_node node[MPII_GPUDT_MAX_NODES];
};

/* One move of a batch: in pinned host memory. */
struct MPII_Gpudt_entry {
    int32_t kernel;             /* enum MPII_Gpudt_kernel_e */
    int32_t pad[3];
    union {
        struct MPII_Gpudt_span span;    /* what all begin with */
        struct MPII_Gpudt_args_box box;
        struct MPII_Gpudt_args_tree tree;
    } args;
};

#define MPII_GPUDT_BATCH_MOVES 64       /* in a batch at most */

/* The parameter block of the batch kernel. */
struct MPII_Gpudt_args_batch {
    struct MPII_Gpudt_end end;
    uint64_t entries;           /* address of MPII_Gpudt_entry[nentries] */
    int32_t nentries;
    uint32_t first[MPII_GPUDT_BATCH_MOVES];     /* block of the launch that is an entry's first */
    uint16_t words[MPII_GPUDT_BATCH_MOVES];     /* uint64_t of an entry to fetch */
};

#endif /* GPUDT_ARGS_H_INCLUDED */
