/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Canonical records and their lookaside lists: the form in which the plan, the dump and the kernels
 * read a datatype. Included by host C and by CUDA C++, so it must not know MPI, MPICH or CUDA.
 */

#ifndef GPUDT_RECORD_H_INCLUDED
#define GPUDT_RECORD_H_INCLUDED

#include <stddef.h>
#include <stdint.h>

/* A datatype is a tree of fixed-length records in one array. Beside it is one area of int64_t
 * lists, the lookaside. A record refers to its child by index, and to its lists by byte offset.
 *
 *   records        lookaside
 *   +-----------+
 *   | 0  root   |  +-------------------------+--------------------+------------------+
 *   | 1  child  |->| prefix[count + 1]       | displ[count]       | child[count] pad |
 *   | 2  ...    |  +-------------------------+--------------------+------------------+
 *   +-----------+    INDEXED, STRUCT           all three lists      STRUCT, int32_t
 *
 *   BLOCK       a leaf: `size` contiguous bytes
 *   VECTOR      `count` children, child i at i * stride
 *   BLKINDEXED  `count` children, child i at displ[i]
 *   INDEXED     `count` entries; entry i holds prefix[i + 1] - prefix[i] children, the j-th of them
 *               at displ[i] + j * extent; prefix counts children
 *   STRUCT      `count` members; member i is the tree at record child[i], placed at displ[i];
 *               prefix counts packed bytes
 *
 * The packed stream (or stream) is the children in index order, one after the other. Position p in
 * a node's stream therefore selects child p / child_size (VECTOR, BLKINDEXED, INDEXED) or the
 * member whose prefix range contains p (STRUCT). All displacements, strides and extents are signed,
 * in bytes.
 *
 * A *run* is an INDEXED entry that is contiguous. A *piece* is a contiguous range of bytes of any
 * kind.
 *
 * What canonical records guarantee, and a reader may rely on:
 *   - Every tree starts at 0: its first packed byte is at displacement 0, and displ[0] is 0 in
 *     every list. An offset of the whole type is in its base_displ.
 *   - No empty parts: unless the whole type is empty (then it is one BLOCK of size 0), every size
 *     and child_size is positive, every count is at least 2 and every prefix increases strictly.
 *   - A VECTOR over a BLOCK leaves a gap or overlaps (stride != child_size); a VECTOR over a VECTOR
 *     is not one stride (stride != child.count * child.stride).
 *   - The entries of an INDEXED differ in length and hold more than two children on average: a list
 *     that is cheaper as BLKINDEXED is one, even if neighbours in it touch. If its child is a BLOCK
 *     and extent == child_size, each entry is one contiguous run, no run touches the next one in
 *     stream order, and the BLOCK's size is the greatest common divisor of the lengths.
 *   - Neighbouring members of a STRUCT that are BLOCKs do not touch.
 *   - A record that is reached in two ways is stored once: the tree is in fact an acyclic graph.
 *     `child` is the next index except in a STRUCT (see child[]) and for a child met before.
 *   - Fields that a kind does not use are 0, `child` is -1 in BLOCK and STRUCT: layouts can be
 *     compared with memcmp.
 * The tree may be deeper than the nesting of the datatype: a vector with a block length above 1
 * over a padded type is two VECTORs. */

enum MPII_Gpudt_kind_e {
    MPII_GPUDT_KIND__BLOCK = 0,
    MPII_GPUDT_KIND__VECTOR = 1,
    MPII_GPUDT_KIND__BLKINDEXED = 2,
    MPII_GPUDT_KIND__INDEXED = 3,
    MPII_GPUDT_KIND__STRUCT = 4
};

struct MPII_Gpudt_record {
    int32_t kind;               /* enum MPII_Gpudt_kind_e */
    int32_t child;              /* index of the child's record, -1: none or several */
    int64_t count;              /* children, entries or members; 1 in a BLOCK */
    int64_t stride;             /* VECTOR: bytes from one child to the next */
    int64_t extent;             /* INDEXED: bytes from one child of an entry to the next */
    int64_t child_size;         /* packed bytes of one child; 0 in BLOCK and STRUCT */
    int64_t size;               /* packed bytes of the whole node */
    int64_t elements;           /* primitives in one child (BLOCK, STRUCT: in the node), each
                                 * counted as block_gcd bytes, whatever the MPI types of the
                                 * leaves */
    int64_t lookaside;          /* byte offset of the lists, a multiple of 8; 0 if there are none */
};

/* A serialized datatype. The host owns both arrays; a device gets an image, see gpudt_image.h. */
struct MPII_Gpudt_serial {
    int nrecords;
    int depth;                  /* records on the longest path from the root to a BLOCK */
    struct MPII_Gpudt_record *records;  /* record 0 is the root */
    char *lookaside;            /* NULL if no record has lists */
    int64_t lookaside_sz;       /* bytes, a multiple of 8 */
    int64_t base_displ;         /* displacement of the root from the user's buffer */
    int64_t size;               /* packed bytes of one datatype */
    int64_t extent;             /* bytes from one datatype to the next for counts above 1, signed */
    int64_t true_lb;            /* lowest byte touched, relative to the user's buffer */
    int64_t true_extent;        /* bytes from true_lb to just after the highest byte touched */
    int64_t displ_gcd;          /* largest power of two that divides every displ, stride and extent
                                 * of the records (not base_displ, nor the extent above); 0 if
                                 * all of them are 0 */
    int64_t block_gcd;          /* divides the size of every BLOCK; 0 for an empty type */
    int64_t nblocks;            /* contiguous pieces in one datatype */
};

#ifdef __cplusplus
#define MPII_GPUDT_STATIC_ASSERT(cond_, msg_) static_assert(cond_, msg_)
#else
#define MPII_GPUDT_STATIC_ASSERT(cond_, msg_) _Static_assert(cond_, msg_)
#endif

MPII_GPUDT_STATIC_ASSERT(sizeof(struct MPII_Gpudt_record) == 64, "records are 64 bytes");
MPII_GPUDT_STATIC_ASSERT(offsetof(struct MPII_Gpudt_record, count) == 8, "no padding");
MPII_GPUDT_STATIC_ASSERT(offsetof(struct MPII_Gpudt_record, lookaside) == 56, "no padding");

#ifdef __CUDACC__
#define MPII_GPUDT_HOSTDEV __host__ __device__
#else
#define MPII_GPUDT_HOSTDEV
#endif

/* Bytes of the lists of one record. */
static inline MPII_GPUDT_HOSTDEV int64_t MPII_Gpudt_lookaside_bytes(int kind, int64_t count)
{
    switch (kind) {
        case MPII_GPUDT_KIND__BLKINDEXED:
            return 8 * count;
        case MPII_GPUDT_KIND__INDEXED:
            return 8 * (2 * count + 1);
        case MPII_GPUDT_KIND__STRUCT:
            return 8 * (2 * count + 1) + 8 * ((count + 1) / 2);
        default:
            return 0;
    }
}

/* prefix[count + 1] of an INDEXED or a STRUCT. */
static inline MPII_GPUDT_HOSTDEV const int64_t *
MPII_Gpudt_record_prefix(const struct MPII_Gpudt_record *rec, const char *lookaside)
{
    return (const int64_t *) (const void *) (lookaside + rec->lookaside);
}

/* displ[count] of a BLKINDEXED, an INDEXED or a STRUCT. */
static inline MPII_GPUDT_HOSTDEV const int64_t *
MPII_Gpudt_record_displ(const struct MPII_Gpudt_record *rec, const char *lookaside)
{
    const int64_t *list = (const int64_t *) (const void *) (lookaside + rec->lookaside);
    return rec->kind == MPII_GPUDT_KIND__BLKINDEXED ? list : list + rec->count + 1;
}

/* child[count] of a STRUCT. */
static inline MPII_GPUDT_HOSTDEV const int32_t *
MPII_Gpudt_record_members(const struct MPII_Gpudt_record *rec, const char *lookaside)
{
    const int64_t *list = (const int64_t *) (const void *) (lookaside + rec->lookaside);
    return (const int32_t *) (const void *) (list + 2 * rec->count + 1);
}

#endif /* GPUDT_RECORD_H_INCLUDED */
