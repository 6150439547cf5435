/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Rules for blocks and strides. */

#ifndef GPUDT_CANON_STRIDE_H_INCLUDED
#define GPUDT_CANON_STRIDE_H_INCLUDED

#include "gpudt_canon_node.h"

/* Make a node of `size` contiguous bytes. */
int MPII_Gpudt_canon_block(struct MPII_Gpudt_canon_s *c, int64_t size, int *node);
/* Replace the tree by `count` copies of it, `stride` bytes apart. */
int MPII_Gpudt_canon_vector(struct MPII_Gpudt_canon_s *c, int64_t count, int64_t stride,
                            struct MPII_Gpudt_tree *tree);

#endif /* GPUDT_CANON_STRIDE_H_INCLUDED */
