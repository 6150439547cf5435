/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Canonicalizes: raw records -> canonical records. Second of the steps serialize -> canonicalize ->
 * plan -> launch. Pure: touches nothing but its parameters. Knows no datatypes and no devices.
 *
 * Raw records are visited children first. Each becomes a tree: a canonical node and the
 * displacement of its first packed byte. A node is made by one of four functions, and each applies
 * the rules below until none fits. No rule changes the order of the packed stream: each replaces
 * one description of a sequence of (displacement, length) pairs by another.
 *
 *   Anywhere
 *     hoist               a node starts at displacement 0; its parent or the type keeps the offset
 *     drop empty          parts without bytes are dropped: empty types, zero counts and lengths
 *     share               equal nodes are one node
 *   Strides                                                        gpudt_canon_stride.c
 *     drop one            a count of 1 is no level
 *     fold block          a BLOCK repeated without a gap is a longer BLOCK
 *     fuse strides        two levels that form one stride are one level
 *   Lists                                                          gpudt_canon_list.c
 *     open child          a list over a VECTOR is a list of longer entries over its child
 *     join                entries that continue each other are one entry
 *     single              one entry is a stride
 *     equal blocks        entries of one length are a BLKINDEXED of blocks; entries of few
 *                         lengths are too, if cutting them into blocks of their common divisor
 *                         does not make the list longer (saves the search at run time)
 *     common divisor      otherwise runs are counted in their greatest common divisor
 *     constant stride     a list of equally spaced blocks is a stride
 *     tiles               a list that repeats a stride of m blocks is a list, m times shorter
 *   Structs                                                        gpudt_canon_struct.c
 *     single              one member is that member
 *     one kind            members that repeat one node with one stride are a list
 *     small members       members of few pieces in all are a list of runs
 *     splice              members of a nested struct become members of the outer one
 *     join blocks         members that are touching BLOCKs are one BLOCK
 *
 * As a result, all compositions of strides that visit the same bytes in the same order give the
 * same records: from the fastest level outwards, the count of a level is how long its stride
 * holds. */

#include "mpiimpl.h"
#include "gpudt_canon.h"
#include "gpudt_canon_emit.h"
#include "gpudt_canon_list.h"
#include "gpudt_canon_stride.h"
#include "gpudt_canon_struct.h"
#include "gpudt_error.h"
#include "gpudt_serialize.h"

static int raw_canon(struct MPII_Gpudt_canon_s *c, int raw_record, struct MPII_Gpudt_tree *tree);

int MPII_Gpudt_canon(struct MPII_Gpudt_raw *raw, struct MPII_Gpudt_serial *serial)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_canon_s c;
    struct MPII_Gpudt_tree root;
    struct MPII_Gpudt_serial out;

    MPIR_FUNC_ENTER;

    MPII_Gpudt_canon_init(&c, raw);
    if (raw->nrecords > MPII_GPUDT_RAW_INLINE) {
        c.trees = MPL_malloc(raw->nrecords * sizeof(*c.trees), MPL_MEM_DATATYPE);
        MPII_GPUDT_ERR_NOMEM(c.trees == NULL, mpi_errno, "canonical records");
    }
    /* the node of a record not visited yet; -1 is an empty tree */
    for (int i = 0; i < raw->nrecords; i++)
        c.trees[i].node = -2;

    mpi_errno = raw_canon(&c, 0, &root);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (root.node < 0) {
        root.displ = 0;
        mpi_errno = MPII_Gpudt_canon_block(&c, 0, &root.node);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    out.extent = raw->extent;
    mpi_errno = MPII_Gpudt_canon_emit(&c, root, &out);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *serial = out;

  fn_exit:
    MPII_Gpudt_canon_finalize(&c);
    MPII_Gpudt_raw_free(raw);
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPII_Gpudt_serial_free(struct MPII_Gpudt_serial *serial)
{
    MPL_free(serial->records);
    MPL_free(serial->lookaside);
    serial->records = NULL;
    serial->lookaside = NULL;
}

/* A block-indexed or indexed raw record over the tree of its child. */
static int raw_list_canon(struct MPII_Gpudt_canon_s *c, const struct MPII_Gpudt_raw_record *rec,
                          struct MPII_Gpudt_tree *tree)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_list list;
    struct MPII_Gpudt_tree out;
    int64_t *area = (int64_t *) (void *) (c->raw->lookaside + rec->lookaside);

    if (tree->node < 0)
        goto fn_exit;

    list.n = rec->count;
    list.prefix = rec->kind == MPII_GPUDT_RAW_KIND__INDEXED ? area : NULL;
    list.len = rec->blocklength;
    list.extent = rec->extent;
    list.displ = list.prefix ? area + rec->count + 1 : area;
    list.child = tree->node;
    list.owned = NULL;
    mpi_errno = MPII_Gpudt_canon_list(c, &list, &out);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (out.node >= 0)
        MPII_GPUDT_ERR_OVERFLOW(__builtin_add_overflow(out.displ, tree->displ, &out.displ),
                                mpi_errno);
    *tree = out;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* A subarray is a stride a dimension, and the displacement of its first element. */
static int raw_subarray_canon(struct MPII_Gpudt_canon_s *c, const struct MPII_Gpudt_raw_record *rec,
                              struct MPII_Gpudt_tree *tree)
{
    int mpi_errno = MPI_SUCCESS;
    const int64_t *sizes = (const int64_t *) (const void *) (c->raw->lookaside + rec->lookaside);
    const int64_t *subsizes = sizes + rec->count;
    const int64_t *starts = subsizes + rec->count;
    int64_t stride = rec->extent;

    for (int64_t i = rec->count - 1; i >= 0 && tree->node >= 0; i--) {
        int64_t move;

        mpi_errno = MPII_Gpudt_canon_vector(c, subsizes[i], stride, tree);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(starts[i], stride, &move), mpi_errno);
        MPII_GPUDT_ERR_OVERFLOW(__builtin_add_overflow(tree->displ, move, &tree->displ),
                                mpi_errno);
        MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(stride, sizes[i], &stride) && i > 0,
                                mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Canonicalize the members and drop the empty ones. A member is blocklength times its type. */
static int members_collect(struct MPII_Gpudt_canon_s *c, const struct MPII_Gpudt_raw_record *rec,
                           struct MPII_Gpudt_members *all)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t n = rec->count;
    const int64_t *prefix = (const int64_t *) (const void *) (c->raw->lookaside + rec->lookaside);
    const int64_t *displ = prefix + n + 1;
    const int64_t *extent = displ + n;
    const int32_t *child = (const int32_t *) (const void *) (extent + n);

    all->member = MPL_malloc(n * sizeof(struct MPII_Gpudt_tree), MPL_MEM_DATATYPE);
    MPII_GPUDT_ERR_NOMEM(all->member == NULL, mpi_errno, "members of a struct");
    for (int64_t i = 0; i < n; i++) {
        struct MPII_Gpudt_tree *member = &all->member[all->n];
        int64_t size = prefix[i + 1] - prefix[i];

        if (size == 0)
            continue;
        mpi_errno = raw_canon(c, child[i], member);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        mpi_errno = MPII_Gpudt_canon_vector(c, size / c->raw->records[child[i]].size, extent[i],
                                            member);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        MPII_GPUDT_ERR_OVERFLOW(__builtin_add_overflow(member->displ, displ[i], &member->displ),
                                mpi_errno);
        all->n++;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int raw_struct_canon(struct MPII_Gpudt_canon_s *c, const struct MPII_Gpudt_raw_record *rec,
                            struct MPII_Gpudt_tree *tree)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_members all = { 0, NULL };

    mpi_errno = members_collect(c, rec, &all);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    /* the record's size is positive, so there is one */
    MPIR_Assert(all.n > 0);
    mpi_errno = MPII_Gpudt_canon_struct(c, &all, tree);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(all.member);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* A raw record that is not empty, over the tree of its child. */
static int raw_apply(struct MPII_Gpudt_canon_s *c, const struct MPII_Gpudt_raw_record *rec,
                     struct MPII_Gpudt_tree *tree)
{
    int mpi_errno = MPI_SUCCESS;

    switch (rec->kind) {
        case MPII_GPUDT_RAW_KIND__BLOCK:
            return MPII_Gpudt_canon_block(c, rec->size, &tree->node);
        case MPII_GPUDT_RAW_KIND__CONTIG:
            return MPII_Gpudt_canon_vector(c, rec->count, rec->extent, tree);
        case MPII_GPUDT_RAW_KIND__VECTOR:
            mpi_errno = MPII_Gpudt_canon_vector(c, rec->blocklength, rec->extent, tree);
            if (mpi_errno == MPI_SUCCESS)
                mpi_errno = MPII_Gpudt_canon_vector(c, rec->count, rec->stride, tree);
            return mpi_errno;
        case MPII_GPUDT_RAW_KIND__BLKINDEXED:
        case MPII_GPUDT_RAW_KIND__INDEXED:
            return raw_list_canon(c, rec, tree);
        case MPII_GPUDT_RAW_KIND__SUBARRAY:
            return raw_subarray_canon(c, rec, tree);
        default:
            MPIR_Assert(rec->kind == MPII_GPUDT_RAW_KIND__STRUCT);
            return raw_struct_canon(c, rec, tree);
    }
}

/* The tree of a raw record, made at its first visit. */
static int raw_canon(struct MPII_Gpudt_canon_s *c, int raw_record, struct MPII_Gpudt_tree *tree)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_raw_record *rec = &c->raw->records[raw_record];

    *tree = c->trees[raw_record];
    if (tree->node != -2)
        goto fn_exit;

    tree->node = -1;
    tree->displ = 0;
    if (rec->size > 0) {
        if (rec->child >= 0)
            mpi_errno = raw_canon(c, rec->child, tree);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        mpi_errno = raw_apply(c, rec, tree);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    c->trees[raw_record] = *tree;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* `count` copies of the root, as a stride. The type is not empty, and not one block without a
 * gap. */
static void root_repeat(const struct MPII_Gpudt_serial *serial, int64_t count,
                        struct MPII_Gpudt_record *rec)
{
    const struct MPII_Gpudt_record *root = &serial->records[0];
    int64_t span;

    rec->kind = MPII_GPUDT_KIND__VECTOR;
    if (root->kind == MPII_GPUDT_KIND__VECTOR &&
        !__builtin_mul_overflow(root->count, root->stride, &span) && span == serial->extent) {
        rec->count = count * root->count;
        rec->stride = root->stride;
        rec->child = root->child;
        rec->child_size = root->child_size;
    } else {
        rec->count = count;
        rec->stride = serial->extent;
        rec->child = 0;
        rec->child_size = root->size;
    }
    rec->elements = rec->child_size / serial->block_gcd;
}

int MPII_Gpudt_canon_count(const struct MPII_Gpudt_serial *serial, int64_t count,
                           struct MPII_Gpudt_record *top)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_record *root = &serial->records[0];
    struct MPII_Gpudt_record rec = {.kind = MPII_GPUDT_KIND__BLOCK,.child = -1,.count = 1 };
    int64_t reach;

    if (count == 1) {
        *top = *root;
        goto fn_exit;
    }

    MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(count, serial->size, &rec.size), mpi_errno);
    if (rec.size > 0) {
        MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(count - 1, serial->extent, &reach),
                                mpi_errno);
        if (root->kind == MPII_GPUDT_KIND__BLOCK && root->size == serial->extent)
            /* one block; its common divisor is its own size, before or after folding */
            rec.elements = rec.size / serial->block_gcd;
        else
            root_repeat(serial, count, &rec);
    }
    *top = rec;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
