/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The nodes of a canonicalization. Must not know rules. */

#ifndef GPUDT_CANON_NODE_H_INCLUDED
#define GPUDT_CANON_NODE_H_INCLUDED

#include "mpiimpl.h"
#include "gpudt_raw.h"
#include "gpudt_record.h"

/* A canonical node before it becomes a record. Nodes are immutable and unique: making one that
 * exists returns the existing one. A node begins at displacement 0. */
struct MPII_Gpudt_node_s {
    int kind;                   /* enum MPII_Gpudt_kind_e */
    int child;                  /* -1 in BLOCK and STRUCT */
    int64_t count;
    int64_t stride;
    int64_t extent;
    int64_t size;
    int64_t *prefix;            /* as in the record; NULL where the kind has none */
    int64_t *displ;
    int32_t *members;           /* node indices */
    void *owned;                /* heap block that holds the lists, NULL: the raw lookaside area */
    /* derived from the fields above */
    int64_t lo;                 /* first and one past the last byte touched, lo <= 0 < hi */
    int64_t hi;
    int64_t nblocks;            /* contiguous pieces */
    uint64_t bits;              /* all displacements, strides and extents of the node, ORed */
    int depth;
    int record;                 /* index of the record made of it, -1: none */
    int64_t lookaside_off;      /* of this record's lists */
    int next;                   /* node with the same hash, -1: none */
};

/* What a raw record packs: a node and its displacement. */
struct MPII_Gpudt_tree {
    int node;                   /* -1: empty */
    int64_t displ;
};

#define MPII_GPUDT_CANON_INLINE  24     /* nodes that need no heap allocation */
#define MPII_GPUDT_CANON_BUCKETS 16     /* buckets of the table of nodes; a power of two */

/* The state of one canonicalization. */
struct MPII_Gpudt_canon_s {
    struct MPII_Gpudt_raw *raw;
    struct MPII_Gpudt_tree *trees;      /* of each raw record, once visited */
    struct MPII_Gpudt_node_s *nodes;
    int nnodes;
    int max_nodes;
    int nbuckets;
    int *buckets;               /* first node of each hash, -1: none */
    struct MPII_Gpudt_tree inline_trees[MPII_GPUDT_RAW_INLINE];
    struct MPII_Gpudt_node_s inline_nodes[MPII_GPUDT_CANON_INLINE];
    int inline_buckets[MPII_GPUDT_CANON_BUCKETS];
};

/* Allocate and free the trees and nodes for raw records. finalize does not free raw. */
void MPII_Gpudt_canon_init(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_raw *raw);
void MPII_Gpudt_canon_finalize(struct MPII_Gpudt_canon_s *c);

/* Make a node. The caller has set the fields down to `owned`, and lo, hi and bits unless the node
 * is a BLOCK. Takes over draft->owned, also on failure.
 *   node  (OUT)  its index */
int MPII_Gpudt_node_make(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_node_s *draft, int *node);

/* True if every entry of an INDEXED over this child is one contiguous run. */
static inline bool MPII_Gpudt_is_run(const struct MPII_Gpudt_node_s *child, int64_t extent)
{
    return child->kind == MPII_GPUDT_KIND__BLOCK && child->size == extent;
}

#endif /* GPUDT_CANON_NODE_H_INCLUDED */
