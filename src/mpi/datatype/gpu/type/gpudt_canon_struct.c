/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Canonicalizes structs: the rules of gpudt_canon.c for members of different kinds. Does not know
 * how the members were made.
 *
 * Some rules replace members by a larger number of smaller ones. They apply as long as there are at
 * most STRUCT_GROWTH for each member that the constructor was given, so that the memory of a struct
 * stays proportional to its members. */

#include "mpiimpl.h"
#include "gpudt_canon_struct.h"
#include "gpudt_canon_list.h"
#include "gpudt_canon_stride.h"
#include "gpudt_error.h"

#define STRUCT_GROWTH 4

static bool members_one_kind(const struct MPII_Gpudt_canon_s *c,
                             const struct MPII_Gpudt_members *all, int *child, int64_t * extent);
static int members_to_list(struct MPII_Gpudt_canon_s *c, const struct MPII_Gpudt_members *all,
                           int child, int64_t extent, struct MPII_Gpudt_tree *tree);
static int members_to_runs(struct MPII_Gpudt_canon_s *c, const struct MPII_Gpudt_members *all,
                           int64_t nruns, struct MPII_Gpudt_tree *tree);
static int members_splice(const struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_members *all);
static int members_join_blocks(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_members *all);
/* Set member i of a struct's lists, and extend the struct by it. */
static int member_set(const struct MPII_Gpudt_canon_s *c, const struct MPII_Gpudt_members *all,
                      int64_t i, struct MPII_Gpudt_node_s *draft)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_node_s *member = &c->nodes[all->member[i].node];
    int64_t lo, hi;
    bool overflow = false;

    overflow |= __builtin_sub_overflow(all->member[i].displ, all->member[0].displ,
                                       &draft->displ[i]);
    overflow |= __builtin_add_overflow(draft->displ[i], member->lo, &lo);
    overflow |= __builtin_add_overflow(draft->displ[i], member->hi, &hi);
    MPII_GPUDT_ERR_OVERFLOW(overflow, mpi_errno);
    draft->prefix[i + 1] = draft->prefix[i] + member->size;
    draft->members[i] = all->member[i].node;
    draft->lo = MPL_MIN(draft->lo, lo);
    draft->hi = MPL_MAX(draft->hi, hi);
    draft->bits |= (uint64_t) draft->displ[i];

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int members_make(struct MPII_Gpudt_canon_s *c, const struct MPII_Gpudt_members *all,
                        struct MPII_Gpudt_tree *tree);

int MPII_Gpudt_canon_struct(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_members *all,
                            struct MPII_Gpudt_tree *tree)
{
    int mpi_errno = MPI_SUCCESS;
    int child;
    int64_t extent, npieces = 0;

    if (all->n == 1) {
        *tree = all->member[0];
        goto fn_exit;
    }
    if (members_one_kind(c, all, &child, &extent)) {
        mpi_errno = members_to_list(c, all, child, extent, tree);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        goto fn_exit;
    }
    /* cannot overflow: the sum is at most the packed size */
    for (int64_t i = 0; i < all->n; i++)
        npieces += c->nodes[all->member[i].node].nblocks;
    if (npieces <= STRUCT_GROWTH * all->n) {
        mpi_errno = members_to_runs(c, all, npieces, tree);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        goto fn_exit;
    }

    mpi_errno = members_splice(c, all);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = members_join_blocks(c, all);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = members_make(c, all, tree);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Rule: members that repeat one node with one stride are a list of it.
 *   child   (OUT)  the node
 *   extent  (OUT)  the stride */
static bool members_one_kind(const struct MPII_Gpudt_canon_s *c,
                             const struct MPII_Gpudt_members *all, int *child, int64_t * extent)
{
    int first = all->member[0].node;
    const struct MPII_Gpudt_node_s *other;
    int64_t i;

    for (i = 1; i < all->n && all->member[i].node == first; i++) ;
    if (i == all->n) {
        *child = first;
        *extent = c->nodes[first].size;
        return true;
    }

    /* two members that differ decide: one is a VECTOR over the other, or both have the same
     * child */
    other = &c->nodes[all->member[i].node];
    if (other->kind == MPII_GPUDT_KIND__VECTOR && other->child == first) {
        *child = first;
        *extent = other->stride;
    } else if (c->nodes[first].kind == MPII_GPUDT_KIND__VECTOR) {
        *child = c->nodes[first].child;
        *extent = c->nodes[first].stride;
    } else {
        return false;
    }
    for (i = 0; i < all->n; i++) {
        const struct MPII_Gpudt_node_s *node = &c->nodes[all->member[i].node];

        if (all->member[i].node != *child &&
            !(node->kind == MPII_GPUDT_KIND__VECTOR && node->child == *child &&
              node->stride == *extent))
            return false;
    }
    return true;
}

static int members_to_list(struct MPII_Gpudt_canon_s *c, const struct MPII_Gpudt_members *all,
                           int child, int64_t extent, struct MPII_Gpudt_tree *tree)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_list list = { 0 };
    int64_t *area;

    area = MPL_malloc((2 * all->n + 1) * sizeof(int64_t), MPL_MEM_DATATYPE);
    MPII_GPUDT_ERR_NOMEM(area == NULL, mpi_errno, "list of members");
    list.n = all->n;
    list.prefix = area;
    list.displ = area + all->n + 1;
    list.extent = extent;
    list.child = child;
    list.owned = area;
    area[0] = 0;
    for (int64_t i = 0; i < all->n; i++) {
        int node = all->member[i].node;

        list.prefix[i + 1] = list.prefix[i] + (node == child ? 1 : c->nodes[node].count);
        list.displ[i] = all->member[i].displ;
    }
    mpi_errno = MPII_Gpudt_canon_list(c, &list, tree);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Append the pieces of a node that is placed at displ to a list of runs of bytes.
 * Returns true if a displacement overflows. */
static bool runs_append(const struct MPII_Gpudt_canon_s *c, int id, int64_t displ,
                        struct MPII_Gpudt_list *runs)
{
    const struct MPII_Gpudt_node_s *node = &c->nodes[id];
    bool overflow = false;
    bool entries_are_runs = node->kind == MPII_GPUDT_KIND__INDEXED &&
        MPII_Gpudt_is_run(&c->nodes[node->child], node->extent);

    if (node->kind == MPII_GPUDT_KIND__BLOCK) {
        runs->prefix[runs->n + 1] = runs->prefix[runs->n] + node->size;
        runs->displ[runs->n++] = displ;
        return false;
    }
    for (int64_t i = 0; i < node->count; i++) {
        int64_t at = 0, entry = 1;

        if (node->kind == MPII_GPUDT_KIND__VECTOR)
            overflow |= __builtin_mul_overflow(i, node->stride, &at);
        else
            at = node->displ[i];
        overflow |= __builtin_add_overflow(at, displ, &at);

        if (node->kind == MPII_GPUDT_KIND__INDEXED)
            entry = node->prefix[i + 1] - node->prefix[i];
        if (entries_are_runs) {
            runs->prefix[runs->n + 1] = runs->prefix[runs->n] + entry * c->nodes[node->child].size;
            runs->displ[runs->n++] = at;
            continue;
        }
        for (int64_t j = 0; j < entry; j++) {
            overflow |= runs_append(c, node->members ? node->members[i] : node->child, at, runs);
            if (j + 1 < entry)
                overflow |= __builtin_add_overflow(at, node->extent, &at);
        }
    }
    return overflow;
}

/* Rule: members of few pieces in all are a list of runs of bytes. */
static int members_to_runs(struct MPII_Gpudt_canon_s *c, const struct MPII_Gpudt_members *all,
                           int64_t nruns, struct MPII_Gpudt_tree *tree)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_list list = { 0 };
    bool overflow = false;

    list.owned = MPL_malloc((2 * nruns + 1) * sizeof(int64_t), MPL_MEM_DATATYPE);
    MPII_GPUDT_ERR_NOMEM(list.owned == NULL, mpi_errno, "list of runs");
    list.prefix = list.owned;
    list.displ = list.prefix + nruns + 1;
    list.extent = 1;
    mpi_errno = MPII_Gpudt_canon_block(c, 1, &list.child);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

    list.prefix[0] = 0;
    for (int64_t i = 0; i < all->n; i++)
        overflow |= runs_append(c, all->member[i].node, all->member[i].displ, &list);
    MPII_GPUDT_ERR_OVERFLOW(overflow, mpi_errno);
    MPIR_Assert(list.n == nruns);
    mpi_errno = MPII_Gpudt_canon_list(c, &list, tree);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(list.owned);
    goto fn_exit;
}

/* Rule: members of a nested struct become members of the outer one. */
static int members_splice(const struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_members *all)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t total = 0, m = 0;
    struct MPII_Gpudt_tree *spliced;

    for (int64_t i = 0; i < all->n; i++) {
        const struct MPII_Gpudt_node_s *node = &c->nodes[all->member[i].node];

        total += node->members ? node->count : 1;
    }
    if (total == all->n || total > STRUCT_GROWTH * all->n)
        goto fn_exit;

    spliced = MPL_malloc(total * sizeof(*spliced), MPL_MEM_DATATYPE);
    MPII_GPUDT_ERR_NOMEM(spliced == NULL, mpi_errno, "members of a struct");
    for (int64_t i = 0; i < all->n; i++) {
        const struct MPII_Gpudt_node_s *node = &c->nodes[all->member[i].node];

        if (node->members == NULL) {
            spliced[m++] = all->member[i];
            continue;
        }
        for (int64_t j = 0; j < node->count; j++) {
            spliced[m].node = node->members[j];
            /* no overflow: both are within the bounds of the struct, which are checked later */
            if (__builtin_add_overflow(all->member[i].displ, node->displ[j], &spliced[m].displ)) {
                MPL_free(spliced);
                MPIR_ERR_SETANDJUMP(mpi_errno, MPI_ERR_TYPE, "**gpudt_overflow");
            }
            m++;
        }
    }
    MPL_free(all->member);
    all->member = spliced;
    all->n = total;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Rule: neighbours that are touching BLOCKs are one BLOCK. */
static int members_join_blocks(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_members *all)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_tree *member = all->member;
    int64_t m = 0;

    for (int64_t i = 1; i < all->n; i++) {
        int64_t size = c->nodes[member[m].node].size, end;

        if (c->nodes[member[m].node].kind == MPII_GPUDT_KIND__BLOCK &&
            c->nodes[member[i].node].kind == MPII_GPUDT_KIND__BLOCK &&
            !__builtin_add_overflow(member[m].displ, size, &end) && member[i].displ == end) {
            mpi_errno = MPII_Gpudt_canon_block(c, size + c->nodes[member[i].node].size,
                                               &member[m].node);
            MPII_GPUDT_ERR_CHECK(mpi_errno);
        } else {
            member[++m] = member[i];
        }
    }
    all->n = m + 1;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int members_make(struct MPII_Gpudt_canon_s *c, const struct MPII_Gpudt_members *all,
                        struct MPII_Gpudt_tree *tree)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_node_s draft = { 0 };
    int64_t n = all->n;
    int64_t *area;

    area = MPL_malloc(MPII_Gpudt_lookaside_bytes(MPII_GPUDT_KIND__STRUCT, n), MPL_MEM_DATATYPE);
    MPII_GPUDT_ERR_NOMEM(area == NULL, mpi_errno, "lists of a struct");
    draft.kind = MPII_GPUDT_KIND__STRUCT;
    draft.child = -1;
    draft.count = n;
    draft.owned = area;
    draft.prefix = area;
    draft.displ = area + n + 1;
    draft.members = (int32_t *) (void *) (draft.displ + n);

    area[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        mpi_errno = member_set(c, all, i, &draft);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    draft.size = draft.prefix[n];
    tree->displ = all->member[0].displ;
    mpi_errno = MPII_Gpudt_node_make(c, &draft, &tree->node);
    draft.owned = NULL;
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(draft.owned);
    goto fn_exit;
}
