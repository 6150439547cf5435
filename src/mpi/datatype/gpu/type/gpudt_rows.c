/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Visits the blocks of a byte range of a datatype in stream order. Must not know the driver. */

#include "mpiimpl.h"
#include "gpudt_rows.h"
#include "gpudt_error.h"

struct visit {
    const struct MPII_Gpudt_serial *serial;
    MPII_Gpudt_row_fn fn;
    void *arg;
};

static int node_visit(const struct visit *v, const struct MPII_Gpudt_record *rec, int64_t displ,
                      int64_t first, int64_t last);

int MPII_Gpudt_rows_visit(const struct MPII_Gpudt_serial *serial,
                          const struct MPII_Gpudt_record *top, int64_t first, int64_t last,
                          MPII_Gpudt_row_fn fn, void *arg)
{
    struct visit v = {.serial = serial,.fn = fn,.arg = arg };

    return node_visit(&v, top, serial->base_displ, first, last);
}

/* Children at a constant stride. first and last are positions in the stream of these children. */
static int stride_visit(const struct visit *v, const struct MPII_Gpudt_record *child,
                        int64_t stride, int64_t displ, int64_t first, int64_t last)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t size = child->size;
    int64_t i = first / size;
    int64_t whole = child->kind == MPII_GPUDT_KIND__BLOCK ? last / size : 0;

    while (i * size < last) {
        int64_t from = MPL_MAX(first - i * size, 0);
        int64_t to = MPL_MIN(last - i * size, size);
        if (from == 0 && i < whole) {
            mpi_errno = v->fn(v->arg, displ + i * stride, size, whole - i, stride);
            i = whole;
        } else {
            mpi_errno = node_visit(v, child, displ + i * stride, from, to);
            i++;
        }
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int blkindexed_visit(const struct visit *v, const struct MPII_Gpudt_record *rec,
                            int64_t displ, int64_t first, int64_t last)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_record *child = v->serial->records + rec->child;
    const int64_t *displs = MPII_Gpudt_record_displ(rec, v->serial->lookaside);
    int64_t size = rec->child_size;

    for (int64_t i = first / size; i * size < last; i++) {
        mpi_errno = node_visit(v, child, displ + displs[i], MPL_MAX(first - i * size, 0),
                               MPL_MIN(last - i * size, size));
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The entry i with prefix[i] <= at < prefix[i + 1]. */
static int64_t entry_find(const int64_t * prefix, int64_t count, int64_t at)
{
    int64_t low = 0, high = count;

    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (prefix[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int indexed_visit(const struct visit *v, const struct MPII_Gpudt_record *rec,
                         int64_t displ, int64_t first, int64_t last)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_record *child = v->serial->records + rec->child;
    const int64_t *prefix = MPII_Gpudt_record_prefix(rec, v->serial->lookaside);
    const int64_t *displs = MPII_Gpudt_record_displ(rec, v->serial->lookaside);
    int64_t size = rec->child_size;
    bool is_run = child->kind == MPII_GPUDT_KIND__BLOCK && rec->extent == size;

    for (int64_t i = entry_find(prefix, rec->count, first / size);
         i < rec->count && prefix[i] * size < last; i++) {
        int64_t from = MPL_MAX(first - prefix[i] * size, 0);
        int64_t to = MPL_MIN(last, prefix[i + 1] * size) - prefix[i] * size;
        mpi_errno = is_run ? v->fn(v->arg, displ + displs[i] + from, to - from, 1, 0) :
            stride_visit(v, child, rec->extent, displ + displs[i], from, to);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int struct_visit(const struct visit *v, const struct MPII_Gpudt_record *rec,
                        int64_t displ, int64_t first, int64_t last)
{
    int mpi_errno = MPI_SUCCESS;
    const int64_t *prefix = MPII_Gpudt_record_prefix(rec, v->serial->lookaside);
    const int64_t *displs = MPII_Gpudt_record_displ(rec, v->serial->lookaside);
    const int32_t *members = MPII_Gpudt_record_members(rec, v->serial->lookaside);

    for (int64_t i = entry_find(prefix, rec->count, first);
         i < rec->count && prefix[i] < last; i++) {
        mpi_errno = node_visit(v, v->serial->records + members[i], displ + displs[i],
                               MPL_MAX(first - prefix[i], 0),
                               MPL_MIN(last, prefix[i + 1]) - prefix[i]);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int node_visit(const struct visit *v, const struct MPII_Gpudt_record *rec, int64_t displ,
                      int64_t first, int64_t last)
{
    const struct MPII_Gpudt_record *child = v->serial->records + rec->child;

    switch (rec->kind) {
        case MPII_GPUDT_KIND__BLOCK:
            return v->fn(v->arg, displ + first, last - first, 1, 0);
        case MPII_GPUDT_KIND__VECTOR:
            return stride_visit(v, child, rec->stride, displ, first, last);
        case MPII_GPUDT_KIND__BLKINDEXED:
            return blkindexed_visit(v, rec, displ, first, last);
        case MPII_GPUDT_KIND__INDEXED:
            return indexed_visit(v, rec, displ, first, last);
        default:
            return struct_visit(v, rec, displ, first, last);
    }
}
