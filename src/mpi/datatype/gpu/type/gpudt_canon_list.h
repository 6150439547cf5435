/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Rules for lists. */

#ifndef GPUDT_CANON_LIST_H_INCLUDED
#define GPUDT_CANON_LIST_H_INCLUDED

#include "gpudt_canon_join.h"
#include "gpudt_canon_node.h"

/* Make a tree of a list. Its arrays are consumed, also on failure. */
int MPII_Gpudt_canon_list(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_list *list,
                          struct MPII_Gpudt_tree *tree);

#endif /* GPUDT_CANON_LIST_H_INCLUDED */
