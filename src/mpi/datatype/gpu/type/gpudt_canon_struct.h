/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Rules for structs. */

#ifndef GPUDT_CANON_STRUCT_H_INCLUDED
#define GPUDT_CANON_STRUCT_H_INCLUDED

#include "gpudt_canon_node.h"

/* The members of a struct: n trees in one array. */
struct MPII_Gpudt_members {
    int64_t n;
    struct MPII_Gpudt_tree *member;
};

/* Make a tree of at least one member, none of them empty.
 *   all  (IN/OUT)  modified; the caller frees the array */
int MPII_Gpudt_canon_struct(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_members *all,
                            struct MPII_Gpudt_tree *tree);

#endif /* GPUDT_CANON_STRUCT_H_INCLUDED */
