/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Rules for lists. */

#ifndef GPUDT_CANON_LIST_H_INCLUDED
#define GPUDT_CANON_LIST_H_INCLUDED

#include "gpudt_canon_node.h"

/* A list before it becomes a node. Its arrays may be rewritten in place. */
struct MPII_Gpudt_list {
    int64_t n;                  /* entries */
    int64_t *prefix;            /* prefix[n + 1], children before an entry; NULL: all have len */
    int64_t len;
    int64_t extent;             /* bytes between children of an entry */
    int64_t *displ;             /* displ[n] */
    int child;                  /* a node */
    void *owned;                /* heap block that holds the arrays, or NULL */
};

/* Make a tree of a list; its arrays are used up, also on failure. */
int MPII_Gpudt_canon_list(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_list *list,
                          struct MPII_Gpudt_tree *tree);

#endif /* GPUDT_CANON_LIST_H_INCLUDED */
