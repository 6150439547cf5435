/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Serializes a type that has no constructor contents from its dataloop: a type received from
 * another process as the target type of a one-sided operation. The only file here that knows
 * dataloops. */

#include "mpiimpl.h"
#include "dataloop_internal.h"
#include "gpudt_constructors.h"
#include "gpudt_error.h"

static int loop_create(struct MPII_Gpudt_builder *b, const MPII_Dataloop * loop, int *record);

int MPII_Gpudt_raw_dataloop(struct MPII_Gpudt_builder *b, const MPIR_Datatype * dtp, int *record)
{
    int mpi_errno = MPI_SUCCESS;

    /* neither contents nor a dataloop: the type is not committed */
    MPIR_ERR_CHKANDJUMP(dtp->typerep.handle == NULL, mpi_errno, MPI_ERR_TYPE, "**dtypecommit");
    mpi_errno = loop_create(b, dtp->typerep.handle, record);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Append the list of a block-indexed loop. */
static int blkindexed_set(struct MPII_Gpudt_raw *raw, struct MPII_Gpudt_raw_record *rec,
                          const MPII_Dataloop * loop)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t *list;

    rec->blocklength = loop->loop_params.bi_t.blocksize;
    mpi_errno = MPII_Gpudt_raw_new_lists(raw, rec->count, &rec->lookaside);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    list = MPII_Gpudt_raw_lists(raw, rec->lookaside);
    for (int64_t i = 0; i < rec->count; i++)
        list[i] = loop->loop_params.bi_t.offset_array[i];

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Append the lists of an indexed loop. */
static int indexed_set(struct MPII_Gpudt_raw *raw, struct MPII_Gpudt_raw_record *rec,
                       const MPII_Dataloop * loop)
{
    int mpi_errno = MPI_SUCCESS;
    const int64_t n = rec->count;
    int64_t *prefix, *displ;

    mpi_errno = MPII_Gpudt_raw_new_lists(raw, 2 * n + 1, &rec->lookaside);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    prefix = MPII_Gpudt_raw_lists(raw, rec->lookaside);
    displ = prefix + n + 1;
    prefix[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        MPI_Aint len = loop->loop_params.i_t.blocksize_array[i];

        MPII_GPUDT_ERR_OVERFLOW(__builtin_add_overflow(prefix[i], len, &prefix[i + 1]), mpi_errno);
        displ[i] = loop->loop_params.i_t.offset_array[i];
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Set kind, count and so on, and write the lists. This MPICH never makes struct loops.
 *   nchildren  (OUT)  children in the whole loop */
static int loop_set(struct MPII_Gpudt_raw *raw, int record, const MPII_Dataloop * loop,
                    int64_t * nchildren)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_raw_record *rec = MPII_Gpudt_raw_at(raw, record);

    rec->count = loop->loop_params.count;
    switch (loop->kind & MPII_DATALOOP_KIND_MASK) {
        case MPII_DATALOOP_KIND_CONTIG:
            rec->kind = MPII_GPUDT_RAW_KIND__CONTIG;
            break;
        case MPII_DATALOOP_KIND_VECTOR:
            rec->kind = MPII_GPUDT_RAW_KIND__VECTOR;
            rec->blocklength = loop->loop_params.v_t.blocksize;
            rec->stride = loop->loop_params.v_t.stride;
            break;
        case MPII_DATALOOP_KIND_BLOCKINDEXED:
            rec->kind = MPII_GPUDT_RAW_KIND__BLKINDEXED;
            mpi_errno = blkindexed_set(raw, rec, loop);
            break;
        case MPII_DATALOOP_KIND_INDEXED:
            rec->kind = MPII_GPUDT_RAW_KIND__INDEXED;
            mpi_errno = indexed_set(raw, rec, loop);
            break;
        default:
            MPIR_ERR_SETANDJUMP1(mpi_errno, MPI_ERR_TYPE, "**gpudt_dataloop",
                                 "**gpudt_dataloop %d", loop->kind);
    }
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *nchildren = rec->count;
    if (rec->kind == MPII_GPUDT_RAW_KIND__INDEXED)
        *nchildren = MPII_Gpudt_raw_lists(raw, rec->lookaside)[rec->count];
    else if (rec->kind != MPII_GPUDT_RAW_KIND__CONTIG)
        MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(rec->count, rec->blocklength, nchildren),
                                mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int loop_create(struct MPII_Gpudt_builder *b, const MPII_Dataloop * loop, int *record)
{
    int mpi_errno = MPI_SUCCESS;
    bool final = (loop->kind & MPII_DATALOOP_FINAL_MASK) != 0;
    int64_t nchildren;
    int child;

    mpi_errno = MPII_Gpudt_raw_new_record(b->raw, MPII_GPUDT_RAW_KIND__CONTIG, record);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    /* in a leaf loop elements are adjacent: their distance is their size, not their extent */
    MPII_Gpudt_raw_at(b->raw, *record)->extent = final ? loop->el_size : loop->el_extent;
    mpi_errno = loop_set(b->raw, *record, loop, &nchildren);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

    if (final) {
        mpi_errno = MPII_Gpudt_raw_block(b->raw, loop->el_type, loop->el_size, &child);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    } else {
        b->nesting++;
        MPIR_ERR_CHKANDJUMP1(b->nesting > MPII_GPUDT_MAX_NESTING, mpi_errno, MPI_ERR_TYPE,
                             "**gpudt_nesting", "**gpudt_nesting %d", MPII_GPUDT_MAX_NESTING);
        mpi_errno = loop_create(b, loop->loop_params.cm_t.dataloop, &child);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        b->nesting--;
    }
    mpi_errno = MPII_Gpudt_raw_set_child(b->raw, *record, child, nchildren);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
