/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Serializes subarrays and distributed arrays: a few records a dimension, whatever the sizes. Does
 * not know the lists of other constructors. */

#include "mpiimpl.h"
#include "gpudt_constructors.h"
#include "gpudt_error.h"

int MPII_Gpudt_raw_subarray(struct MPII_Gpudt_builder *b, const struct MPII_Gpudt_contents *c,
                            int *record)
{
    int mpi_errno = MPI_SUCCESS;
    int ndims = c->ints[0];
    int order = c->large ? c->ints[1] : c->ints[1 + 3 * ndims];
    int64_t nchildren = 1;
    int64_t lookaside;
    int64_t *out;
    struct MPII_Gpudt_numbers in = { NULL, NULL };

    if (c->large)
        in.aints = c->counts;
    else
        in.ints = c->ints + 1;

    mpi_errno = MPII_Gpudt_raw_new_record(b->raw, MPII_GPUDT_RAW_KIND__SUBARRAY, record);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = MPII_Gpudt_raw_new_lists(b->raw, 3 * (int64_t) ndims, &lookaside);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_Gpudt_raw_at(b->raw, *record)->count = ndims;
    MPII_Gpudt_raw_at(b->raw, *record)->lookaside = lookaside;
    MPIR_Datatype_get_extent_macro(c->types[0], MPII_Gpudt_raw_at(b->raw, *record)->extent);

    out = MPII_Gpudt_raw_lists(b->raw, lookaside);
    for (int i = 0; i < ndims; i++) {
        /* Fortran's first dimension is the fastest, C's the slowest */
        int from = order == MPI_ORDER_FORTRAN ? ndims - 1 - i : i;

        out[i] = MPII_Gpudt_number(&in, from);
        out[ndims + i] = MPII_Gpudt_number(&in, ndims + from);
        out[2 * ndims + i] = MPII_Gpudt_number(&in, 2 * ndims + from);
        MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(nchildren, out[ndims + i], &nchildren),
                                mpi_errno);
    }

    mpi_errno = MPII_Gpudt_raw_add_child(b, *record, c->types[0], nchildren);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* What one process owns of one dimension of a distributed array, in global indices: `nblocks`
 * blocks of `block` indices, `period` apart, then `rest` more where the next block would start, all
 * offset by `start`. */
struct dim {
    int64_t start;
    int64_t nblocks;
    int64_t block;
    int64_t period;
    int64_t rest;
    int64_t stride;             /* bytes from one index to the next */
};

/* The rules of the MPI standard for one dimension of MPI_Type_create_darray. The arguments were
 * checked when the type was made: darg is positive or the default, and blocks cover the array. */
static int dim_distribute(int64_t gsize, int distrib, int darg, int psize, int coord,
                          struct dim *dim)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t block;

    if (distrib != MPI_DISTRIBUTE_CYCLIC && darg == MPI_DISTRIBUTE_DFLT_DARG)
        block = gsize / psize + (gsize % psize != 0);
    else
        block = darg == MPI_DISTRIBUTE_DFLT_DARG ? 1 : darg;
    if (distrib == MPI_DISTRIBUTE_NONE)
        block = gsize;

    MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(block, (int64_t) psize, &dim->period),
                            mpi_errno);
    dim->start = block * coord;
    dim->block = block;
    if (dim->start >= gsize) {
        dim->start = 0;
        dim->nblocks = 0;
        dim->rest = 0;
    } else {
        int64_t left = gsize - dim->start;

        dim->nblocks = left / dim->period;
        left -= dim->nblocks * dim->period;
        if (left >= block) {
            dim->nblocks++;
            dim->rest = 0;
        } else {
            dim->rest = left;
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The records of one dimension; -1: not needed. */
struct dim_records {
    int both;                   /* STRUCT of the other two */
    int blocks;                 /* VECTOR */
    int rest;                   /* CONTIG */
    int64_t lookaside;          /* lists of the STRUCT */
};

/* Append the records of a dimension, to be filled in later. */
static int dim_append(struct MPII_Gpudt_raw *raw, const struct dim *dim, struct dim_records *recs)
{
    int mpi_errno = MPI_SUCCESS;

    recs->both = recs->blocks = recs->rest = -1;
    if (dim->nblocks > 0 && dim->rest > 0) {
        mpi_errno = MPII_Gpudt_raw_new_record(raw, MPII_GPUDT_RAW_KIND__STRUCT, &recs->both);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        mpi_errno = MPII_Gpudt_raw_new_lists(raw, 3 * 2 + 1 + 1, &recs->lookaside);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (dim->nblocks > 0 || dim->rest == 0) {
        mpi_errno = MPII_Gpudt_raw_new_record(raw, MPII_GPUDT_RAW_KIND__VECTOR, &recs->blocks);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (dim->rest > 0) {
        mpi_errno = MPII_Gpudt_raw_new_record(raw, MPII_GPUDT_RAW_KIND__CONTIG, &recs->rest);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Fill in the VECTOR and the CONTIG.
 *   child  (IN)   record of the next dimension
 *   step   (OUT)  bytes from one block to the next, if there is a next one */
static int dim_fill(struct MPII_Gpudt_raw *raw, const struct dim *dim,
                    const struct dim_records *recs, int child, int64_t * step)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_raw_record *rec;

    /* a stride is used only if there is a second block, or a short one after the last */
    *step = 0;
    if (dim->nblocks > 1 || recs->both >= 0)
        MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(dim->period, dim->stride, step), mpi_errno);
    if (recs->blocks >= 0) {
        rec = MPII_Gpudt_raw_at(raw, recs->blocks);
        rec->count = dim->nblocks;
        rec->blocklength = dim->block;
        rec->stride = *step;
        rec->extent = dim->stride;
        /* nblocks * block <= gsize */
        mpi_errno = MPII_Gpudt_raw_set_child(raw, recs->blocks, child, dim->nblocks * dim->block);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (recs->rest >= 0) {
        rec = MPII_Gpudt_raw_at(raw, recs->rest);
        rec->count = dim->rest;
        rec->extent = dim->stride;
        mpi_errno = MPII_Gpudt_raw_set_child(raw, recs->rest, child, dim->rest);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Fill in the STRUCT of the other two: blocks at 0, the rest at displ. */
static void dim_join(struct MPII_Gpudt_raw *raw, const struct dim_records *recs, int64_t displ)
{
    struct MPII_Gpudt_raw_record *rec = MPII_Gpudt_raw_at(raw, recs->both);
    const struct MPII_Gpudt_raw_record *blocks = MPII_Gpudt_raw_at(raw, recs->blocks);
    const struct MPII_Gpudt_raw_record *rest = MPII_Gpudt_raw_at(raw, recs->rest);
    int64_t *list = MPII_Gpudt_raw_lists(raw, recs->lookaside);
    int32_t *members = (int32_t *) (void *) (list + 7);

    rec->count = 2;
    rec->lookaside = recs->lookaside;
    rec->size = blocks->size + rest->size;
    rec->elements = MPII_Gpudt_raw_elements(blocks) + MPII_Gpudt_raw_elements(rest);
    list[0] = 0;
    list[1] = blocks->size;
    list[2] = rec->size;
    list[3] = 0;
    list[4] = displ;
    list[5] = 0;
    list[6] = 0;
    members[0] = recs->blocks;
    members[1] = recs->rest;
}

/* Append the records of a dimension and of all faster ones:
 *
 *     VECTOR  -----------------> next dimension     blocks only
 *     CONTIG  -----------------> next dimension     a short block only
 *     STRUCT { VECTOR, CONTIG }  -> the same one    both */
static int dim_create(struct MPII_Gpudt_builder *b, const struct dim *dims, int ndims,
                      MPI_Datatype oldtype, int *record)
{
    int mpi_errno = MPI_SUCCESS;
    struct dim_records recs;
    int64_t step, displ;
    int child;

    if (ndims == 0) {
        mpi_errno = MPII_Gpudt_raw_type(b, oldtype, record);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        goto fn_exit;
    }
    mpi_errno = dim_append(b->raw, dims, &recs);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = dim_create(b, dims + 1, ndims - 1, oldtype, &child);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = dim_fill(b->raw, dims, &recs, child, &step);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *record = recs.blocks >= 0 ? recs.blocks : recs.rest;
    if (recs.both >= 0) {
        MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(dims->nblocks, step, &displ), mpi_errno);
        dim_join(b->raw, &recs, displ);
        *record = recs.both;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Coordinate of a process in dimension i of the process grid, which is row-major in either
 * order. */
static int grid_coord(int size, int rank, const int *psizes, int i)
{
    int coord = 0;

    for (int j = 0; j <= i; j++) {
        size /= psizes[j];
        coord = rank / size;
        rank %= size;
    }
    return coord;
}

/* What this process owns of each dimension.
 *   dims   (OUT)  slowest first, whatever the array's order
 *   displ  (OUT)  bytes from the array's beginning to the first element owned */
static int dims_fill(const struct MPII_Gpudt_contents *c, struct dim *dims, int64_t * displ)
{
    int mpi_errno = MPI_SUCCESS;
    int ndims = c->ints[2];
    const int *distribs = c->large ? c->ints + 3 : c->ints + 3 + ndims;
    const int *dargs = distribs + ndims;
    const int *psizes = dargs + ndims;
    int order = psizes[ndims];
    int64_t stride, sum = 0;
    struct MPII_Gpudt_numbers gsizes = { NULL, NULL };

    if (c->large)
        gsizes.aints = c->counts;
    else
        gsizes.ints = c->ints + 3;

    /* from the fastest dimension to the slowest: strides are products of faster dimensions */
    MPIR_Datatype_get_extent_macro(c->types[0], stride);
    for (int i = ndims - 1; i >= 0; i--) {
        int from = order == MPI_ORDER_FORTRAN ? ndims - 1 - i : i;
        int64_t gsize = MPII_Gpudt_number(&gsizes, from);
        int64_t move;

        mpi_errno = dim_distribute(gsize, distribs[from], dargs[from], psizes[from],
                                   grid_coord(c->ints[0], c->ints[1], psizes, from), &dims[i]);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        dims[i].stride = stride;
        MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(dims[i].start, stride, &move), mpi_errno);
        MPII_GPUDT_ERR_OVERFLOW(__builtin_add_overflow(sum, move, &sum), mpi_errno);
        MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(stride, gsize, &stride) && i > 0, mpi_errno);
    }
    *displ = sum;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_raw_darray(struct MPII_Gpudt_builder *b, const struct MPII_Gpudt_contents *c,
                          int *record)
{
    int mpi_errno = MPI_SUCCESS;
    int ndims = c->ints[2], child;
    int64_t lookaside, displ;
    struct MPII_Gpudt_raw_record *rec;
    struct dim *dims = NULL;

    /* each dimension is a level */
    MPIR_ERR_CHKANDJUMP1(ndims > MPII_GPUDT_MAX_NESTING - b->nesting, mpi_errno, MPI_ERR_TYPE,
                         "**gpudt_nesting", "**gpudt_nesting %d", MPII_GPUDT_MAX_NESTING);
    dims = MPL_malloc(ndims * sizeof(struct dim), MPL_MEM_DATATYPE);
    MPII_GPUDT_ERR_NOMEM(dims == NULL, mpi_errno, "dimensions of a darray");
    mpi_errno = dims_fill(c, dims, &displ);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

    mpi_errno = MPII_Gpudt_raw_new_record(b->raw, MPII_GPUDT_RAW_KIND__BLKINDEXED, record);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = MPII_Gpudt_raw_new_lists(b->raw, 1, &lookaside);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    rec = MPII_Gpudt_raw_at(b->raw, *record);
    rec->count = 1;
    rec->blocklength = 1;
    rec->lookaside = lookaside;
    MPII_Gpudt_raw_lists(b->raw, lookaside)[0] = displ;
    b->nesting += ndims;
    mpi_errno = dim_create(b, dims, ndims, c->types[0], &child);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    b->nesting -= ndims;
    mpi_errno = MPII_Gpudt_raw_set_child(b->raw, *record, child, 1);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(dims);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
