/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Canonicalizes lists: the rules of gpudt_canon.c for entries at arbitrary displacements. Does not
 * know where a list came from.
 *
 * A list may have tens of millions of entries, so that one pass over it costs more than all the
 * rest. Each rule therefore stops at the first entry to which it does not apply; entries are
 * dropped, joined and measured in one pass (gpudt_canon_join.c); arrays are rewritten in place.
 * Only joining blocks of one length, or cutting entries into equal blocks, allocates a new array.
 * The result never takes more than 16 bytes an entry. */

#include "mpiimpl.h"
#include "gpudt_canon_list.h"
#include "gpudt_canon_join.h"
#include "gpudt_canon_stride.h"
#include "gpudt_error.h"

static bool list_all_single(const struct MPII_Gpudt_list *list)
{
    if (list->prefix == NULL)
        return list->len == 1;
    for (int64_t i = 0; i < list->n; i++) {
        if (list->prefix[i + 1] - list->prefix[i] > 1)
            return false;
    }
    return true;
}

/* Rule: a list over a VECTOR is a list of longer entries over the VECTOR's child, if an entry
 * continues the VECTOR's stride or has one child only. Entries then join with neighbours, and equal
 * lists become equal no matter which part of a stride the constructors put in the child. */
static void list_open_child(const struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_list *list)
{
    const struct MPII_Gpudt_node_s *child = &c->nodes[list->child];
    int64_t span;

    if (child->kind == MPII_GPUDT_KIND__BLOCK) {
        if (child->size != list->extent && list_all_single(list))
            list->extent = child->size;
        return;
    }
    if (child->kind != MPII_GPUDT_KIND__VECTOR)
        return;
    if (__builtin_mul_overflow(child->count, child->stride, &span) ||
        (span != list->extent && !list_all_single(list)))
        return;

    if (list->prefix == NULL) {
        list->len *= child->count;
    } else {
        for (int64_t i = 0; i <= list->n; i++)
            list->prefix[i] *= child->count;
    }
    list->extent = child->stride;
    list->child = child->child;
}

/* Rule: entries are cut into blocks of their common divisor if the displacements of all blocks take
 * no more space than the entries did. The list is then one of equal blocks. */
static int list_cut_equal(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_list *list,
                          const struct MPII_Gpudt_list_shape *shape, struct MPII_Gpudt_tree *block)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t n = shape->total / shape->divisor, m = 0, step;
    int64_t *area;

    MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(shape->divisor, list->extent, &step), mpi_errno);
    block->node = list->child;
    block->displ = 0;
    mpi_errno = MPII_Gpudt_canon_vector(c, shape->divisor, list->extent, block);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

    if (n > list->n) {
        area = MPL_malloc(n * sizeof(int64_t), MPL_MEM_DATATYPE);
        MPII_GPUDT_ERR_NOMEM(area == NULL, mpi_errno, "list of blocks of a datatype");
        for (int64_t i = 0; i < list->n; i++) {
            int64_t blocks = (list->prefix[i + 1] - list->prefix[i]) / shape->divisor;

            for (int64_t j = 0; j < blocks; j++)
                area[m++] = list->displ[i] + j * step;
        }
        MPL_free(list->owned);
        list->owned = area;
        list->displ = area;
        list->n = n;
    }
    list->prefix = NULL;
    list->len = 1;
    list->child = block->node;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* How many entries at the front of displ are `stride` apart, at least 1. */
static int64_t displ_spaced(const int64_t * displ, int64_t n, int64_t stride)
{
    int64_t m = 1, d;

    while (m < n && !__builtin_sub_overflow(displ[m], displ[m - 1], &d) && d == stride)
        m++;
    return m;
}

/* Rules: a list of equally spaced blocks is a stride; a list that repeats a stride of m blocks is a
 * list of strides, m times shorter, to which the rules apply again.
 *   tree  (OUT)  node -1 if it remains a list (of displ[list->n] over list->child) */
static int list_find_strides(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_list *list,
                             struct MPII_Gpudt_tree *tree)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t *displ = list->displ;

    for (;;) {
        struct MPII_Gpudt_tree block = { list->child, 0 };
        int64_t n = list->n, stride, m;
        bool tiles;

        MPII_GPUDT_ERR_OVERFLOW(__builtin_sub_overflow(displ[1], displ[0], &stride), mpi_errno);
        m = displ_spaced(displ, n, stride);
        tiles = n % m == 0;
        for (int64_t i = m; i < n && tiles; i += m)
            tiles = displ_spaced(displ + i, m, stride) == m;
        if (!tiles) {
            tree->node = -1;
            break;
        }

        mpi_errno = MPII_Gpudt_canon_vector(c, m, stride, &block);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        if (m == n) {
            tree->node = block.node;
            tree->displ = displ[0];
            break;
        }
        for (int64_t i = 0; i < n / m; i++)
            displ[i] = displ[i * m];
        list->n = n / m;
        list->child = block.node;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Rule: runs of bytes are counted in their greatest common divisor. */
static int list_count_in_divisor(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_list *list,
                                 const struct MPII_Gpudt_list_shape *shape)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t divisor = shape->divisor;

    if (divisor == 1 || !MPII_Gpudt_is_run(&c->nodes[list->child], list->extent))
        goto fn_exit;
    for (int64_t i = 1; i <= list->n; i++)
        list->prefix[i] /= divisor;
    list->extent *= divisor;
    mpi_errno = MPII_Gpudt_canon_block(c, list->extent, &list->child);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Rule: a node starts at 0. Subtract displ[0] from all displacements and find their range.
 *   reach_lo  (OUT)  least and greatest displacement of any child, relative to the first
 *   reach_hi  (OUT) */
static int list_hoist(struct MPII_Gpudt_list *list, int64_t * reach_lo, int64_t * reach_hi,
                      uint64_t * bits)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t *displ = list->displ;
    int64_t first = displ[0], lo = 0, hi = 0;
    uint64_t all = 0;
    bool overflow = false;

    for (int64_t i = 0; i < list->n; i++) {
        int64_t d;

        overflow |= __builtin_sub_overflow(displ[i], first, &d);
        displ[i] = d;
        all |= (uint64_t) d;
        lo = MPL_MIN(lo, d);
        hi = MPL_MAX(hi, d);
        if (list->prefix) {
            /* where the last child of the entry is */
            int64_t len = list->prefix[i + 1] - list->prefix[i];
            int64_t last;

            overflow |= __builtin_mul_overflow(len - 1, list->extent, &last);
            overflow |= __builtin_add_overflow(d, last, &d);
            lo = MPL_MIN(lo, d);
            hi = MPL_MAX(hi, d);
        }
    }
    MPII_GPUDT_ERR_OVERFLOW(overflow, mpi_errno);
    *reach_lo = lo;
    *reach_hi = hi;
    *bits = all;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Make the node of a list that no rule turns into another kind. */
static int list_make(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_list *list,
                     struct MPII_Gpudt_tree *tree)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_node_s *child = &c->nodes[list->child];
    struct MPII_Gpudt_node_s draft = { 0 };
    int64_t first = list->displ[0];

    mpi_errno = list_hoist(list, &draft.lo, &draft.hi, &draft.bits);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_GPUDT_ERR_OVERFLOW(__builtin_add_overflow(draft.lo, child->lo, &draft.lo), mpi_errno);
    MPII_GPUDT_ERR_OVERFLOW(__builtin_add_overflow(draft.hi, child->hi, &draft.hi), mpi_errno);

    draft.kind = list->prefix ? MPII_GPUDT_KIND__INDEXED : MPII_GPUDT_KIND__BLKINDEXED;
    draft.child = list->child;
    draft.count = list->n;
    draft.size = list->n * child->size;
    if (list->prefix) {
        draft.extent = list->extent;
        draft.bits |= (uint64_t) list->extent;
        draft.size = list->prefix[list->n] * child->size;
    }
    draft.prefix = list->prefix;
    draft.displ = list->displ;
    draft.owned = list->owned;
    list->owned = NULL;
    tree->displ = first;
    mpi_errno = MPII_Gpudt_node_make(c, &draft, &tree->node);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* A tree of joined entries. */
static int joined_canon(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_list *list,
                        const struct MPII_Gpudt_list_shape *shape, struct MPII_Gpudt_tree *tree)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_tree block;

    if (list->n == 1) {
        tree->node = list->child;
        mpi_errno = MPII_Gpudt_canon_vector(c, shape->total, list->extent, tree);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        tree->displ = list->displ[0];
        goto fn_exit;
    }

    if (shape->total / shape->divisor <= 2 * list->n) {
        mpi_errno = list_cut_equal(c, list, shape, &block);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        mpi_errno = list_find_strides(c, list, tree);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        if (tree->node >= 0)
            goto fn_exit;
    } else {
        mpi_errno = list_count_in_divisor(c, list, shape);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    mpi_errno = list_make(c, list, tree);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_canon_list(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_list *list,
                          struct MPII_Gpudt_tree *tree)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_list_shape shape;

    tree->node = -1;
    tree->displ = 0;
    if (list->n == 0 || (list->prefix == NULL && list->len == 0))
        goto fn_exit;

    list_open_child(c, list);
    if (list->prefix)
        mpi_errno = MPII_Gpudt_list_join(list, &shape);
    else
        mpi_errno = MPII_Gpudt_list_join_equal(list, &shape);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (list->n > 0) {
        mpi_errno = joined_canon(c, list, &shape, tree);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPL_free(list->owned);
    list->owned = NULL;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
