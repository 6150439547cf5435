/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The parameter blocks of the kernels, filled in by the plan and passed by value. Read by host C
 * and by CUDA C++, so it must not know MPI, MPICH or CUDA.
 */

#ifndef GPUDT_ARGS_H_INCLUDED
#define GPUDT_ARGS_H_INCLUDED

#include <stddef.h>
#include <stdint.h>

/* Every kernel has one parameter, one of the MPII_Gpudt_args_* structs. Each struct but those of the
 * batch and pair kernels starts with a *span*: the bytes of the stream to move, and their division
 * into tiles.
 *
 *   packed memory   ... | lead  |  head  |  word  word  word ... word  |  tail  |
 *                       ^       ^        ^                             ^        ^
 *           128-byte line     first     pos0        pos0 + nwords * word size  last
 *
 * A *word* is what a thread moves to or from packed memory at a time: 4, 8 or 16 bytes, aligned
 * there. A *unit* is what it moves to or from user memory: 1 to 16 bytes, aligned there, at most a
 * word. Every run consists of whole units, and words begin where a unit begins. Each kernel has one
 * size of unit and of word.
 *
 * A *tile* is a number of adjacent words that a block of threads moves together. A *round* is one
 * word for each thread of a block. Tiles are counted from the line that contains pos0, so that the
 * stores of a warp fill whole lines. The *ends* of a range are its bytes outside of full words:
 * head and tail. */
#define MPII_GPUDT_THREADS    256       /* threads of a block, in every kernel */
#define MPII_GPUDT_LINE_SZ    128       /* bytes; the unit of stores to packed memory */
#define MPII_GPUDT_UNIT_MAX   16        /* bytes of the widest unit; addresses that differ by multiples
                                         * of it have one plan */
#define MPII_GPUDT_MAX_LEVELS 6 /* strides of a box, its block included */
#define MPII_GPUDT_MAX_NODES  12        /* nodes passed with the launch */
#define MPII_GPUDT_MAX_MAP    1024      /* units of a type in a map, at most */
#define MPII_GPUDT_MAX_TABLE  8192      /* units of a type in a table, at most */
#define MPII_GPUDT_MAX_PIECE  (1 << 30) /* bytes of a piece in a list of pieces at a stride */
#define MPII_GPUDT_WINDOW     1024      /* runs of a tile that a block keeps in shared memory */

/* Edges of a square of the transpose kernels, in units: along the stream and along user memory. */
#define MPII_GPUDT_SQUARE_IN(unit_)     ((unit_) == 16 ? 32 : 64)
#define MPII_GPUDT_SQUARE_TRANSPOSED(unit_) ((unit_) < 8 ? 64 : 32)

/* The completion flag of some blocks of threads: the last one to complete sets it for the host. */
struct MPII_Gpudt_end {
    uint64_t flag;              /* address of an int32_t to set; 0: none */
    uint64_t counter;           /* address of a uint32_t, which is 0 before and after the kernel;
                                 * not used by a single block */
    int32_t flag_value;
    int32_t nblocks;            /* blocks that share the work */
};

/* A *semaphore*: an int32_t in memory of a GPU, whose value increases with each signal. A kernel that
 * packs for another GPU signals it at its end, before it sets its flag. The other GPU's kernel that
 * unpacks waits for it, but not for long: after MPII_GPUDT_SEMAPHORE_LOOKS a block of threads gives up,
 * and what it moves is to be moved again. */
struct MPII_Gpudt_semaphore {
    uint64_t word;              /* address; 0: no semaphore */
    uint64_t missed;            /* unpack: address of an int32_t that blocks set which give up */
    int32_t value, missed_value;
};

struct MPII_Gpudt_span {
    uint64_t user;              /* address of displacement 0, for stream position 0 */
    uint64_t packed;            /* address of stream position 0, which may be before the buffer */
    int64_t first;              /* first byte of the stream to move */
    int64_t last;               /* one past the last */
    int64_t pos0;               /* stream position of the first full word */
    int64_t nwords;             /* full words in the range */
    int64_t ntiles;
    int32_t tile;               /* words in a tile */
    int32_t skip;               /* words of tile 0 before pos0 */
    int32_t tiles_per_block;    /* tiles of one block of threads: adjacent in the list kernels, else
                                 * as many apart as there are blocks */
    int32_t has_ends;           /* 1: there are bytes before pos0 or after the last full word */
    struct MPII_Gpudt_end end;
    struct MPII_Gpudt_semaphore semaphore;      /* not of a move in a batch */
};

/* Division by an invariant: p / d == high_half(2 * p * magic) >> shift. Valid for 0 <= p < 2^31
 * with magic32, and for 0 <= p < 2^63 with magic64. See MPII_Gpudt_divisor_set. */
struct MPII_Gpudt_divisor {
    uint64_t magic64;
    uint32_t magic32;
    uint32_t shift;
};

/* A level: one stride, or one list of displacements.
 *
 * Let q be the index of a unit (or child) within a level. Its index in the level above is q /
 * count. Its displacement is the sum of q * step over all levels, plus displ[q % count] in the
 * levels with a list. step is the level's stride minus count * stride of the level below, which the
 * level below has added too much. With this, strides need no remainder. */
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

/* Nested strides over blocks of one size, counted in units. A block longer than a unit is a
 * level. */
struct MPII_Gpudt_args_box {
    struct MPII_Gpudt_span span;
    int64_t run;                /* units of a block, if it is a level and not the topmost; else 0 */
    struct MPII_Gpudt_levels levels;
};

/* A box with a *transposed level*: a level above the innermost that is contiguous in user memory.
 * Squares of units go through shared memory. One edge of a square runs along the stream, over the
 * units of one child of the transposed level; the other edge runs along the transposed level. Tiles
 * are counted in this order, then over the levels above. */
struct MPII_Gpudt_args_transpose {
    struct MPII_Gpudt_span span;
    int64_t below;              /* units of the stream in one child of the transposed level */
    int64_t count, stride;      /* of the transposed level */
    int64_t squares_in, squares_transposed; /* along the edges */
    struct MPII_Gpudt_divisor by_in, by_transposed; /* by squares_in, squares_transposed */
    struct MPII_Gpudt_levels inner, outer;      /* below the transposed level, and above */
};

/* The bitmap of 32 children of a list in stream order. Bit i of begins is set if an entry begins
 * with child i. The entry of child i is before + the number of bits set in begins up to bit i: a
 * rank query on a bit vector with a directory (G. Jacobson, Space-efficient Static Trees and
 * Graphs, FOCS 1989, section 2.1). */
struct MPII_Gpudt_group {
    uint32_t begins;
    int32_t before;             /* entries that begin before child 0, minus one */
};

/* A list of entries of any length, each of which is one run or equal pieces at a stride. The levels
 * above repeat the list. */
struct MPII_Gpudt_args_list {
    struct MPII_Gpudt_span span;
    int64_t nruns;              /* entries in the list */
    int64_t list_size;          /* packed bytes of the list */
    int64_t piece;              /* packed bytes of a piece, in which prefix counts */
    int64_t gap;                /* bytes in user memory from the end of a piece to the next; 0:
                                 * runs */
    uint64_t prefix;            /* address of int64_t prefix[nruns + 1] */
    uint64_t displ;             /* address of int64_t displ[nruns], as in gpudt_image.h */
    struct MPII_Gpudt_divisor by_nruns, by_list, by_piece;      /* by nruns, list_size, piece */
    uint64_t groups;            /* address of the list's MPII_Gpudt_group[]; 0: it has no bitmap */
    int64_t shift;              /* piece == 1 << shift; -1: not a power of two */
    struct MPII_Gpudt_levels levels;    /* above the list */
};

/* One node of a tree. Kinds are those of gpudt_record.h and RUNS: an INDEXED whose entries are
 * contiguous runs, a leaf like BLOCK. */
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

/* Any type. A small tree is in the parameters, a larger one in device memory. */
struct MPII_Gpudt_args_tree {
    struct MPII_Gpudt_span span;
    struct MPII_Gpudt_divisor by_type;  /* by type_size */
    struct MPII_Gpudt_divisor by_units; /* by type_units */
    int64_t type_size;          /* packed bytes of one datatype */
    int64_t type_units;         /* the same, in units */
    int64_t extent;             /* bytes from one datatype to the next */
    uint64_t lookaside;         /* address of the lists */
    uint64_t nodes;             /* address of the nodes; 0: those below */
    int32_t nnodes;
    int32_t root;               /* root node of a datatype */
    int32_t pad;
    int32_t narrow;             /* 1: narrow the search in the topmost list for each tile */
    struct MPII_Gpudt_node node[MPII_GPUDT_MAX_NODES];
};

/* The pair kernels move a range of the packed stream from one datatype to another. A tile of the
 * stream is gathered from the source into shared memory, and scattered from there to the
 * destination. The two sides have their own units and locators.
 *
 *   tiles in shared memory   |  |  tile 0  |  tile 1  |  ...  |  last  |  |
 *   bytes, counted from it   0  begin                                last
 *
 * The first byte of the range is placed such that units of both sides are aligned in the tiles. */
#define MPII_GPUDT_PAIR_TILE   4096     /* bytes of a tile, at most */
#define MPII_GPUDT_PAIR_WINDOW 256      /* entries of a list that a block keeps in shared memory */

/* Forms in which a side is passed. */
enum MPII_Gpudt_family_e {
    MPII_GPUDT_FAMILY__BOX,
    MPII_GPUDT_FAMILY__BITMAP,
    MPII_GPUDT_FAMILY__LIST,
    MPII_GPUDT_FAMILY__TREE
};

/* Of the spans only `user` is read. */
struct MPII_Gpudt_pair_side {
    int32_t family;             /* enum MPII_Gpudt_family_e */
    int32_t unit_log;           /* units of 1 << unit_log bytes */
    int64_t shift;              /* stream position of byte 0 of tile 0, which may be negative */
    union {
        struct MPII_Gpudt_span span;    /* first member of all */
        struct MPII_Gpudt_args_box box;
        struct MPII_Gpudt_args_list list;
        struct MPII_Gpudt_args_tree tree;
    } args;
};

struct MPII_Gpudt_args_pair {
    struct MPII_Gpudt_end end;
    int64_t last;               /* end of the range, counted from byte 0 of tile 0 */
    int64_t ntiles;
    int32_t begin;              /* of the range, below 16 */
    int32_t tile;               /* bytes of a tile, a multiple of 16 */
    struct MPII_Gpudt_pair_side side[2]; /* source, destination */
};

/* The same if both sides are boxes with units of one size, whose indices have 32 bits. Much
 * smaller: each kilobyte of parameters adds 0.5 to 1 us to a launch by a graph. */
struct MPII_Gpudt_pairbox_side {
    uint64_t user;              /* address of displacement 0, for unit 0 */
    int64_t first;              /* first unit to move */
    struct MPII_Gpudt_levels levels;
};

struct MPII_Gpudt_args_pairbox {
    struct MPII_Gpudt_end end;
    int32_t nunits;             /* at most 2^30 */
    int32_t unit_log;           /* units of 1 << unit_log bytes */
    int32_t is_alike;           /* whether units are at the same displacements on both sides */
    int32_t pad;
    struct MPII_Gpudt_pairbox_side side[2];      /* source, destination */
};

/* The same if one side is a list, or both: of nothing but repetitions at a stride. Also for the kernel
 * for lists of long runs. */
struct MPII_Gpudt_pairlist_side {
    int32_t is_list, pad;
    union {
        struct MPII_Gpudt_pairbox_side box;
        struct MPII_Gpudt_args_list list;       /* of the span only `user` and `first` are read */
    } form;
};

struct MPII_Gpudt_args_pairlist {
    struct MPII_Gpudt_end end;
    int32_t nunits;             /* at most 2^30 */
    int32_t unit_log;           /* units of 1 << unit_log bytes */
    int32_t chunk;              /* units that a warp moves at a time, if the runs are long: 32 *
                                 * MPII_GPUDT_PAIRRUNS_UNROLL at most; else 0 */
    int32_t pad;
    struct MPII_Gpudt_pairlist_side side[2];    /* source, destination */
};

/* A copy of contiguous memory. A block of threads copies MPII_GPUDT_COPY_UNITS units of 4, 8 or 16
 * bytes, the widest that can be aligned on both sides. */
struct MPII_Gpudt_args_copy {
    struct MPII_Gpudt_end end;
    uint64_t src, dst;          /* addresses, which differ by a multiple of 4 */
    int64_t bytes;
};

/* Maximum number of such copies in a launch, of the two kernels for them. Their parameter blocks differ
 * only in that. */
#define MPII_GPUDT_COPIES_FEW 8
#define MPII_GPUDT_COPIES     32

#define MPII_GPUDT_ARGS_COPIES(name_, max_)                                     \
    struct name_ {                                                              \
        struct MPII_Gpudt_end end;                                              \
        int32_t n, pad;                                                         \
        uint32_t first[max_];   /* first block of the launch for each copy */   \
        struct MPII_Gpudt_args_copy copy[max_];                                 \
    }
MPII_GPUDT_ARGS_COPIES(MPII_Gpudt_args_copies_few, MPII_GPUDT_COPIES_FEW);
MPII_GPUDT_ARGS_COPIES(MPII_Gpudt_args_copies, MPII_GPUDT_COPIES);

/* One move of a batch, in pinned host memory. */
struct MPII_Gpudt_entry {
    int32_t kernel;             /* enum MPII_Gpudt_kernel_e */
    int32_t pad[3];
    union {
        struct MPII_Gpudt_span span;    /* first member of the next two */
        struct MPII_Gpudt_args_box box;
        struct MPII_Gpudt_args_tree tree;
        struct MPII_Gpudt_args_pairbox pairbox;
        struct MPII_Gpudt_args_copy copy;
    } args;
};

#define MPII_GPUDT_BATCH_MOVES 64       /* in a batch, at most */
#define MPII_GPUDT_BATCH_WORDS 140      /* uint64_t of entries in the parameter block, at most */

/* The parameter block of the batch kernel. Few entries are part of it: reading them from host memory
 * takes a microsecond. */
struct MPII_Gpudt_args_batch {
    struct MPII_Gpudt_end end;
    uint64_t entries;           /* address of MPII_Gpudt_entry[nentries]; 0: they are in `entry` */
    int32_t nentries;
    uint32_t stride;            /* from entry to entry in `entry`, in uint64_t */
    uint64_t entry[MPII_GPUDT_BATCH_WORDS];
    uint32_t first[MPII_GPUDT_BATCH_MOVES];     /* first block of the launch for each entry */
    uint16_t words[MPII_GPUDT_BATCH_MOVES];     /* size of each entry, in uint64_t */
};

/* Operations of the kernels for reductions, each for some of the types. */
enum MPII_Gpudt_reduce_e {
    MPII_GPUDT_REDUCE__SUM,
    MPII_GPUDT_REDUCE__PROD,
    MPII_GPUDT_REDUCE__MAX,
    MPII_GPUDT_REDUCE__MIN,
    MPII_GPUDT_REDUCE__LAND,
    MPII_GPUDT_REDUCE__LOR,
    MPII_GPUDT_REDUCE__LXOR,
    MPII_GPUDT_REDUCE__BAND,
    MPII_GPUDT_REDUCE__BOR,
    MPII_GPUDT_REDUCE__BXOR,
    MPII_GPUDT_REDUCE__MAXLOC,
    MPII_GPUDT_REDUCE__MINLOC,
    /* of the kernels for updates only, which have them for all types */
    MPII_GPUDT_REDUCE__REPLACE,
    MPII_GPUDT_REDUCE__NO_OP,
    MPII_GPUDT_REDUCE__CAS      /* elements of at most 8 bytes */
};

/* A reduction of n elements into the second operand. The elements
 *
 *     [head, head + nquads * 16 / size)
 *
 * are at multiples of 16 bytes in both operands, and move 16 bytes at a time. */
struct MPII_Gpudt_args_reduce {
    struct MPII_Gpudt_end end;
    uint64_t in;                /* address of the operand that is read */
    uint64_t inout;
    int64_t n;
    int64_t head;
    int64_t nquads;
    int32_t op;                 /* enum MPII_Gpudt_reduce_e */
    int32_t pad;
};

/* A reduction of n elements of several operands, of which most are in memory of other GPUs, with the
 * result in one place or several:
 *
 *     out[j][i] = in[0][i] op in[1][i] op ... in[nin - 1][i], from left to right
 *
 * An operand may be a result, too. The elements from head on are moved as above. */
#define MPII_GPUDT_COMBINE_MAX 8        /* operands, and results */

struct MPII_Gpudt_args_combine {
    struct MPII_Gpudt_end end;
    int64_t n;
    int64_t head;
    int64_t nquads;
    int32_t op;                 /* enum MPII_Gpudt_reduce_e */
    int32_t nin, nout;
    int32_t pad;
    uint64_t in[MPII_GPUDT_COMBINE_MAX];        /* addresses */
    uint64_t out[MPII_GPUDT_COMBINE_MAX];
};

/* An update of n elements of a window, and what they were before it:
 *
 *     old[i] = target[i],  target[i] = target[i] op in[i]
 *
 * The elements from head on are moved as above. If is_atomic, each element is updated by the GPU's atomic
 * operations, so that kernels of other processes may update it at the same time in this way: elements
 * of 4 or 8 bytes without gaps, at multiples of their size, and nquads is 0. */
#define MPII_GPUDT_UPDATE_VALUE 16      /* bytes of an operand in the parameters */

struct MPII_Gpudt_args_update {
    struct MPII_Gpudt_end end;
    uint64_t target;            /* address in the window */
    uint64_t in;                /* address of the operand; 0: `value` */
    uint64_t old;               /* address of the result; 0: not wanted */
    int64_t n;
    int64_t head;
    int64_t nquads;
    int32_t op;                 /* enum MPII_Gpudt_reduce_e */
    int32_t is_atomic;
    uint64_t compare;           /* of MPII_GPUDT_REDUCE__CAS: the element is replaced if it has
                                 * these bytes */
    uint64_t value[MPII_GPUDT_UPDATE_VALUE / sizeof(uint64_t)]; /* all elements of the operand */
};

#endif /* GPUDT_ARGS_H_INCLUDED */
