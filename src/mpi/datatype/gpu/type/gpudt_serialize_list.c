/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Serializes the constructors that take lists: indexed, block indexed and struct types, and the
 * predefined pairs. Each list is read once and written once, directly to its final place. Does not
 * know what a list is used for. */

#include "mpiimpl.h"
#include "gpudt_constructors.h"
#include "gpudt_error.h"

static int displs_fill(const struct MPII_Gpudt_numbers *in, int64_t n, int64_t unit,
                       int64_t * displ);
static int prefix_fill(const struct MPII_Gpudt_numbers *in, int64_t n, int64_t * prefix);

/* displ[i] = in[i] * unit */
static int displs_fill(const struct MPII_Gpudt_numbers *in, int64_t n, int64_t unit,
                       int64_t * displ)
{
    int mpi_errno = MPI_SUCCESS;
    bool overflow = false;

    if (unit == 1 && in->ints == NULL) {
        for (int64_t i = 0; i < n; i++)
            displ[i] = in->aints[i];
    } else {
        for (int64_t i = 0; i < n; i++)
            overflow |= __builtin_mul_overflow(MPII_Gpudt_number(in, i), unit, &displ[i]);
    }
    MPII_GPUDT_ERR_OVERFLOW(overflow, mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* prefix[i] = sum of in[0 .. i - 1], for i = 0 .. n */
static int prefix_fill(const struct MPII_Gpudt_numbers *in, int64_t n, int64_t * prefix)
{
    int mpi_errno = MPI_SUCCESS;
    bool overflow = false;
    int64_t sum = 0;

    prefix[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        overflow |= __builtin_add_overflow(sum, MPII_Gpudt_number(in, i), &sum);
        prefix[i + 1] = sum;
    }
    MPII_GPUDT_ERR_OVERFLOW(overflow, mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_raw_blkindexed(struct MPII_Gpudt_builder *b, const struct MPII_Gpudt_contents *c,
                              int *record)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t n, blocklength, nchildren, extent, lookaside;
    struct MPII_Gpudt_numbers displs = { NULL, NULL };
    struct MPII_Gpudt_raw_record *rec;

    n = c->large ? c->counts[0] : c->ints[0];
    blocklength = c->large ? c->counts[1] : c->ints[1];
    if (c->large)
        displs.aints = c->counts + 2;
    else if (c->combiner == MPI_COMBINER_HINDEXED_BLOCK)
        displs.aints = c->aints;
    else
        displs.ints = c->ints + 2;
    MPIR_Datatype_get_extent_macro(c->types[0], extent);

    mpi_errno = MPII_Gpudt_raw_new_record(b->raw, MPII_GPUDT_RAW_KIND__BLKINDEXED, record);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = MPII_Gpudt_raw_new_lists(b->raw, n, &lookaside);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    rec = MPII_Gpudt_raw_at(b->raw, *record);
    rec->count = n;
    rec->blocklength = blocklength;
    rec->extent = extent;
    rec->lookaside = lookaside;
    if (n > 0) {
        mpi_errno = displs_fill(&displs, n, c->combiner == MPI_COMBINER_INDEXED_BLOCK ? extent : 1,
                                MPII_Gpudt_raw_lists(b->raw, lookaside));
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(n, blocklength, &nchildren), mpi_errno);

    mpi_errno = MPII_Gpudt_raw_add_child(b, *record, c->types[0], nchildren);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The block lengths and displacements of an indexed type. Returns their number. */
static int64_t indexed_read(const struct MPII_Gpudt_contents *c, struct MPII_Gpudt_numbers *lengths,
                            struct MPII_Gpudt_numbers *displs)
{
    int64_t n = c->large ? c->counts[0] : c->ints[0];

    *lengths = *displs = (struct MPII_Gpudt_numbers) { NULL, NULL };
    if (c->large) {
        lengths->aints = c->counts + 1;
        displs->aints = c->counts + 1 + n;
    } else {
        lengths->ints = c->ints + 1;
        if (c->combiner == MPI_COMBINER_HINDEXED)
            displs->aints = c->aints;
        else
            displs->ints = c->ints + 1 + n;
    }
    return n;
}

int MPII_Gpudt_raw_indexed(struct MPII_Gpudt_builder *b, const struct MPII_Gpudt_contents *c,
                           int *record)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t n, nchildren, extent, lookaside;
    int64_t *prefix;
    struct MPII_Gpudt_numbers lengths, displs;
    struct MPII_Gpudt_raw_record *rec;

    n = indexed_read(c, &lengths, &displs);
    MPIR_Datatype_get_extent_macro(c->types[0], extent);

    mpi_errno = MPII_Gpudt_raw_new_record(b->raw, MPII_GPUDT_RAW_KIND__INDEXED, record);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = MPII_Gpudt_raw_new_lists(b->raw, 2 * n + 1, &lookaside);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    rec = MPII_Gpudt_raw_at(b->raw, *record);
    rec->count = n;
    rec->extent = extent;
    rec->lookaside = lookaside;
    prefix = MPII_Gpudt_raw_lists(b->raw, lookaside);
    mpi_errno = prefix_fill(&lengths, n, prefix);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = displs_fill(&displs, n, c->combiner == MPI_COMBINER_INDEXED ? extent : 1,
                            prefix + n + 1);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    nchildren = prefix[n];

    mpi_errno = MPII_Gpudt_raw_add_child(b, *record, c->types[0], nchildren);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Append an empty STRUCT record of n members and its lists. */
static int struct_create(struct MPII_Gpudt_builder *b, int64_t n, int *record)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t lookaside;

    MPII_GPUDT_ERR_OVERFLOW(n > INT32_MAX, mpi_errno);
    mpi_errno = MPII_Gpudt_raw_new_record(b->raw, MPII_GPUDT_RAW_KIND__STRUCT, record);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = MPII_Gpudt_raw_new_lists(b->raw, 3 * n + 1 + (n + 1) / 2, &lookaside);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_Gpudt_raw_at(b->raw, *record)->count = n;
    MPII_Gpudt_raw_at(b->raw, *record)->lookaside = lookaside;
    MPII_Gpudt_raw_lists(b->raw, lookaside)[0] = 0;
    if (n % 2 == 1)
        /* zero the padding after an odd number of child indices */
        ((int32_t *) (void *) (MPII_Gpudt_raw_lists(b->raw, lookaside) + 3 * n + 1))[n] = 0;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Write member i. Members come in order, since prefix adds up their sizes. */
static int struct_set_member(struct MPII_Gpudt_builder *b, int record, int64_t i,
                             int64_t blocklength, int64_t displ, int64_t extent, int child)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_raw_record *rec = MPII_Gpudt_raw_at(b->raw, record);
    const struct MPII_Gpudt_raw_record *member = MPII_Gpudt_raw_at(b->raw, child);
    int64_t *prefix = MPII_Gpudt_raw_lists(b->raw, rec->lookaside);
    int64_t n = rec->count;
    int64_t size;

    MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(blocklength, member->size, &size), mpi_errno);
    MPII_GPUDT_ERR_OVERFLOW(__builtin_add_overflow(prefix[i], size, &prefix[i + 1]), mpi_errno);
    prefix[n + 1 + i] = displ;
    prefix[2 * n + 1 + i] = extent;
    ((int32_t *) (void *) (prefix + 3 * n + 1))[i] = child;
    rec->size = prefix[i + 1];
    rec->elements += blocklength * MPII_Gpudt_raw_elements(member);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_raw_struct(struct MPII_Gpudt_builder *b, const struct MPII_Gpudt_contents *c,
                          int *record)
{
    int mpi_errno = MPI_SUCCESS;
    int child;
    int64_t n;
    struct MPII_Gpudt_numbers lengths = { NULL, NULL }, displs = { NULL, NULL };

    n = c->large ? c->counts[0] : c->ints[0];
    if (c->large) {
        lengths.aints = c->counts + 1;
        displs.aints = c->counts + 1 + n;
    } else {
        lengths.ints = c->ints + 1;
        if (c->combiner == MPI_COMBINER_STRUCT)
            displs.aints = c->aints;
        else
            displs.ints = c->ints + 1 + n;
    }

    mpi_errno = struct_create(b, n, record);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    for (int64_t i = 0; i < n; i++) {
        MPI_Aint extent;

        mpi_errno = MPII_Gpudt_raw_type(b, c->types[i], &child);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        MPIR_Datatype_get_extent_macro(c->types[i], extent);
        mpi_errno = struct_set_member(b, *record, i, MPII_Gpudt_number(&lengths, i),
                                      MPII_Gpudt_number(&displs, i), extent, child);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

#define PAIR_ROW(pair_, first_, ctype_)                                         \
    { pair_, first_, offsetof(struct { ctype_ a; int b; }, b) }

int MPII_Gpudt_raw_pair(struct MPII_Gpudt_builder *b, MPI_Datatype datatype, int *record)
{
    int mpi_errno = MPI_SUCCESS;
    const struct {
        MPI_Datatype pair;
        MPI_Datatype first;
        int64_t int_off;
    } pairs[] = {
        PAIR_ROW(MPI_FLOAT_INT, MPI_FLOAT, float),
        PAIR_ROW(MPI_DOUBLE_INT, MPI_DOUBLE, double),
        PAIR_ROW(MPI_LONG_INT, MPI_LONG, long),
        PAIR_ROW(MPI_SHORT_INT, MPI_SHORT, short),
        PAIR_ROW(MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, long double)
    };
    const int npairs = sizeof(pairs) / sizeof(pairs[0]);
    int which = 0, child;

    while (which < npairs && pairs[which].pair != datatype)
        which++;
    MPIR_Assert(which < npairs);

    mpi_errno = struct_create(b, 2, record);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = MPII_Gpudt_raw_type(b, pairs[which].first, &child);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = struct_set_member(b, *record, 0, 1, 0,
                                  MPIR_Datatype_get_basic_size(pairs[which].first), child);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = MPII_Gpudt_raw_type(b, MPI_INT, &child);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = struct_set_member(b, *record, 1, 1, pairs[which].int_off,
                                  MPIR_Datatype_get_basic_size(MPI_INT), child);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
