/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Raw records: a datatype as its constructors describe it, before canonicalization. Host only;
 * nothing here may be read by a kernel or a plan, which know canonical records (gpudt_record.h).
 */

#ifndef GPUDT_RAW_H_INCLUDED
#define GPUDT_RAW_H_INCLUDED

#include <stdint.h>

/* Records are in pre-order: a parent precedes its first child. Lists are in the lookaside, one
 * after the other in the order shown (n = count):
 *
 *   BLOCK       `size` contiguous bytes: a predefined type
 *   CONTIG      count children, extent apart
 *   VECTOR      count blocks, stride apart, of blocklength children, extent apart
 *   BLKINDEXED  the same with a list of displacements:      displ[n]
 *   INDEXED     the same with lists of lengths as well:     prefix[n + 1]  displ[n]
 *   STRUCT      count members, each with a child:           prefix[n + 1]  displ[n]  extent[n]
 *                                                           child[n] as int32_t, padded to 8 bytes
 *   SUBARRAY    count dimensions, slowest first:            sizes[n]  subsizes[n]  starts[n]
 *
 * prefix counts the children (INDEXED) or packed bytes (STRUCT) before an entry. The difference of
 * two neighbours in a STRUCT's prefix, divided by the child's size, is the member's block length.
 * All displacements, strides and extents are signed, in bytes. A resized or duplicated type has no
 * record: it only changes the extent that the parent uses. A distributed array is one VECTOR for
 * each dimension. A child met before (same datatype) is referred to by index and not repeated. */
enum MPII_Gpudt_raw_kind_e {
    MPII_GPUDT_RAW_KIND__BLOCK,
    MPII_GPUDT_RAW_KIND__CONTIG,
    MPII_GPUDT_RAW_KIND__VECTOR,
    MPII_GPUDT_RAW_KIND__BLKINDEXED,
    MPII_GPUDT_RAW_KIND__INDEXED,
    MPII_GPUDT_RAW_KIND__STRUCT,
    MPII_GPUDT_RAW_KIND__SUBARRAY
};

struct MPII_Gpudt_raw_record {
    int32_t kind;               /* enum MPII_Gpudt_raw_kind_e */
    int32_t child;              /* index of the child's record; -1 in BLOCK and STRUCT */
    int64_t count;              /* children, blocks, entries, members or dimensions */
    int64_t blocklength;        /* VECTOR, BLKINDEXED: children in a block */
    int64_t stride;             /* VECTOR: bytes from one block to the next */
    int64_t extent;             /* bytes from one child of a block to the next */
    int64_t child_size;         /* packed bytes of one child */
    int64_t size;               /* packed bytes of the node */
    int64_t elements;           /* primitives in one child (BLOCK, STRUCT: in the node) */
    int64_t lookaside;          /* byte offset of the lists */
    int64_t basic;              /* BLOCK: handle of the predefined type; 0 in others */
};

/* Records that need no heap allocation: enough for regular types. */
#define MPII_GPUDT_RAW_INLINE 24

struct MPII_Gpudt_raw {
    struct MPII_Gpudt_raw_record *records;      /* record 0 is the root */
    int nrecords;
    int max_records;            /* capacity of records */
    char *lookaside;            /* one heap block, NULL if no record has lists */
    int64_t lookaside_sz;       /* bytes in use, a multiple of 8 */
    int64_t max_lookaside_sz;   /* capacity of lookaside */
    int64_t extent;             /* of the datatype */
    struct MPII_Gpudt_raw_record inline_records[MPII_GPUDT_RAW_INLINE];
};

#endif /* GPUDT_RAW_H_INCLUDED */
