/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Canonicalizes blocks and strides: the rules of gpudt_canon.c for children at one distance. */

#include "mpiimpl.h"
#include "gpudt_canon_stride.h"
#include "gpudt_error.h"

int MPII_Gpudt_canon_block(struct MPII_Gpudt_canon_s *c, int64_t size, int *node)
{
    struct MPII_Gpudt_node_s draft = { 0 };

    draft.kind = MPII_GPUDT_KIND__BLOCK;
    draft.child = -1;
    draft.count = 1;
    draft.size = size;
    draft.hi = size;
    return MPII_Gpudt_node_make(c, &draft, node);
}

/* Rule: a BLOCK repeated without a gap is a longer BLOCK. */
static bool vector_fold_block(const struct MPII_Gpudt_node_s *child, int64_t stride)
{
    return child->kind == MPII_GPUDT_KIND__BLOCK && child->size == stride;
}

/* Rule: two levels that form one stride are one level. */
static bool vector_fuse_strides(const struct MPII_Gpudt_node_s *child, int64_t stride)
{
    int64_t span;

    return child->kind == MPII_GPUDT_KIND__VECTOR &&
        !__builtin_mul_overflow(child->count, child->stride, &span) && span == stride;
}

/* The node of a vector of count times a node, or of one level for both. */
static int vector_draft(const struct MPII_Gpudt_canon_s *c, int64_t count, int64_t stride, int node,
                        struct MPII_Gpudt_node_s *draft)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_node_s *child = &c->nodes[node];
    int64_t reach;

    draft->kind = MPII_GPUDT_KIND__VECTOR;
    draft->child = node;
    draft->count = count;
    draft->stride = stride;
    if (vector_fuse_strides(child, stride)) {
        draft->child = child->child;
        draft->count = count * child->count;
        draft->stride = child->stride;
        child = &c->nodes[draft->child];
    }
    draft->size = draft->count * child->size;
    draft->bits = (uint64_t) draft->stride;

    MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(draft->count - 1, draft->stride, &reach),
                            mpi_errno);
    MPII_GPUDT_ERR_OVERFLOW(__builtin_add_overflow(child->lo, MPL_MIN(reach, 0), &draft->lo),
                            mpi_errno);
    MPII_GPUDT_ERR_OVERFLOW(__builtin_add_overflow(child->hi, MPL_MAX(reach, 0), &draft->hi),
                            mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_canon_vector(struct MPII_Gpudt_canon_s *c, int64_t count, int64_t stride,
                            struct MPII_Gpudt_tree *tree)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_node_s *child;
    struct MPII_Gpudt_node_s draft = { 0 };

    if (count == 0)
        tree->node = -1;
    if (tree->node < 0 || count == 1)
        goto fn_exit;

    child = &c->nodes[tree->node];
    if (vector_fold_block(child, stride)) {
        /* the serializer has checked this product for overflow */
        mpi_errno = MPII_Gpudt_canon_block(c, count * child->size, &tree->node);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        goto fn_exit;
    }

    mpi_errno = vector_draft(c, count, stride, tree->node, &draft);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = MPII_Gpudt_node_make(c, &draft, &tree->node);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
