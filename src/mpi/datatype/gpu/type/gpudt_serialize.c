/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Serializes a datatype: constructors -> raw records. First of the steps serialize -> canonicalize
 * -> plan -> launch. Reads what MPI_Type_get_contents returns, because the dataloop no longer has
 * structs and subarrays. Does not know canonical records or who uses them. */

#include "mpiimpl.h"
#include "gpudt_serialize.h"
#include "gpudt_constructors.h"
#include "gpudt_error.h"

static int type_serialize(struct MPII_Gpudt_builder *b, MPI_Datatype datatype, int *record);
static int contig_create(struct MPII_Gpudt_builder *b, const struct MPII_Gpudt_contents *c,
                         int *record);
static int vector_create(struct MPII_Gpudt_builder *b, const struct MPII_Gpudt_contents *c,
                         int *record);
static int contents_create(struct MPII_Gpudt_builder *b, const MPIR_Datatype * dtp, int *record);

int MPII_Gpudt_serialize(MPI_Datatype datatype, struct MPII_Gpudt_raw *raw)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_builder b;
    int root;
    MPI_Aint size;

    MPIR_FUNC_ENTER;

    MPII_Gpudt_builder_init(&b, raw, type_serialize);
    MPIR_Datatype_get_extent_macro(datatype, raw->extent);
    mpi_errno = type_serialize(&b, datatype, &root);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

    /* Both sizes must agree. They differ only if MPICH's size overflowed. */
    MPIR_Datatype_get_size_macro(datatype, size);
    MPIR_Assert(root == 0);
    MPII_GPUDT_ERR_OVERFLOW(size != raw->records[0].size, mpi_errno);

  fn_exit:
    MPII_Gpudt_builder_finalize(&b);
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    MPII_Gpudt_raw_free(raw);
    goto fn_exit;
}

void MPII_Gpudt_raw_free(struct MPII_Gpudt_raw *raw)
{
    if (raw->records != raw->inline_records)
        MPL_free(raw->records);
    MPL_free(raw->lookaside);
    raw->records = NULL;
    raw->lookaside = NULL;
    raw->nrecords = 0;
    raw->lookaside_sz = 0;
}

/* Read the contents of a type in the form that the constructors' functions take. */
static void contents_read(const MPIR_Datatype * dtp, struct MPII_Gpudt_contents *c)
{
    int *ints;
    MPI_Aint *aints, *counts;
    MPI_Datatype *types;

    MPIR_Datatype_access_contents(dtp->contents, &ints, &aints, &counts, &types);
    c->combiner = dtp->contents->combiner;
    c->large = dtp->contents->nr_counts > 0;
    c->ints = ints;
    c->aints = aints;
    c->counts = counts;
    c->types = types;
}

/* Skip layers that only duplicate a type or change its extent: those have no record.
 *   dtp  (OUT)  object of the type below them; not set if it is predefined */
static MPI_Datatype type_peel(MPI_Datatype datatype, MPIR_Datatype ** dtp)
{
    struct MPII_Gpudt_contents c;

    while (!MPIR_DATATYPE_IS_PREDEFINED(datatype)) {
        MPIR_Datatype_get_ptr(datatype, *dtp);
        MPIR_Assert(*dtp != NULL);
        if ((*dtp)->contents == NULL ||
            ((*dtp)->contents->combiner != MPI_COMBINER_DUP &&
             (*dtp)->contents->combiner != MPI_COMBINER_RESIZED))
            break;
        contents_read(*dtp, &c);
        datatype = c.types[0];
    }
    return datatype;
}

/* MPII_Gpudt_builder.type_fn */
static int type_serialize(struct MPII_Gpudt_builder *b, MPI_Datatype datatype, int *record)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Datatype *dtp = NULL;

    datatype = type_peel(datatype, &dtp);
    *record = MPII_Gpudt_memo_find(b, datatype);
    if (*record >= 0)
        goto fn_exit;

    b->nesting++;
    MPIR_ERR_CHKANDJUMP1(b->nesting > MPII_GPUDT_MAX_NESTING, mpi_errno, MPI_ERR_TYPE,
                         "**gpudt_nesting", "**gpudt_nesting %d", MPII_GPUDT_MAX_NESTING);
    if (HANDLE_IS_BUILTIN(datatype))
        mpi_errno = MPII_Gpudt_raw_block(b->raw, datatype, MPIR_Datatype_get_basic_size(datatype),
                                         record);
    else if (MPIR_DATATYPE_IS_PREDEFINED(datatype))
        mpi_errno = MPII_Gpudt_raw_pair(b, datatype, record);
    else if (dtp->contents == NULL)
        mpi_errno = MPII_Gpudt_raw_dataloop(b, dtp, record);
    else
        mpi_errno = contents_create(b, dtp, record);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    b->nesting--;

    mpi_errno = MPII_Gpudt_memo_add(b, datatype, *record);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Dispatch on the constructor. The _INTEGER combiners are those of the Fortran 77 functions. */
static int contents_create(struct MPII_Gpudt_builder *b, const MPIR_Datatype * dtp, int *record)
{
    struct MPII_Gpudt_contents c;

    contents_read(dtp, &c);
    switch (c.combiner) {
        case MPI_COMBINER_F90_REAL:
        case MPI_COMBINER_F90_COMPLEX:
        case MPI_COMBINER_F90_INTEGER:
            /* the contents of these combiners name no member types */
            return MPII_Gpudt_raw_block(b->raw, dtp->basic_type, dtp->size, record);
        case MPI_COMBINER_CONTIGUOUS:
            return contig_create(b, &c, record);
        case MPI_COMBINER_VECTOR:
        case MPI_COMBINER_HVECTOR:
        case MPI_COMBINER_HVECTOR_INTEGER:
            return vector_create(b, &c, record);
        case MPI_COMBINER_INDEXED_BLOCK:
        case MPI_COMBINER_HINDEXED_BLOCK:
            return MPII_Gpudt_raw_blkindexed(b, &c, record);
        case MPI_COMBINER_INDEXED:
        case MPI_COMBINER_HINDEXED:
        case MPI_COMBINER_HINDEXED_INTEGER:
            return MPII_Gpudt_raw_indexed(b, &c, record);
        case MPI_COMBINER_STRUCT:
        case MPI_COMBINER_STRUCT_INTEGER:
            return MPII_Gpudt_raw_struct(b, &c, record);
        case MPI_COMBINER_SUBARRAY:
            return MPII_Gpudt_raw_subarray(b, &c, record);
        case MPI_COMBINER_DARRAY:
            return MPII_Gpudt_raw_darray(b, &c, record);
        default:
            return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                        MPI_ERR_TYPE, "**gpudt_combiner", "**gpudt_combiner %d",
                                        c.combiner);
    }
}

static int contig_create(struct MPII_Gpudt_builder *b, const struct MPII_Gpudt_contents *c,
                         int *record)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t count = c->large ? c->counts[0] : c->ints[0];

    mpi_errno = MPII_Gpudt_raw_new_record(b->raw, MPII_GPUDT_RAW_KIND__CONTIG, record);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_Gpudt_raw_at(b->raw, *record)->count = count;
    MPIR_Datatype_get_extent_macro(c->types[0], MPII_Gpudt_raw_at(b->raw, *record)->extent);

    mpi_errno = MPII_Gpudt_raw_add_child(b, *record, c->types[0], count);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int vector_create(struct MPII_Gpudt_builder *b, const struct MPII_Gpudt_contents *c,
                         int *record)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t count, blocklength, stride, nchildren;
    struct MPII_Gpudt_raw_record *rec;

    count = c->large ? c->counts[0] : c->ints[0];
    blocklength = c->large ? c->counts[1] : c->ints[1];
    if (c->large)
        stride = c->counts[2];
    else
        stride = c->combiner == MPI_COMBINER_HVECTOR ? c->aints[0] : c->ints[2];

    mpi_errno = MPII_Gpudt_raw_new_record(b->raw, MPII_GPUDT_RAW_KIND__VECTOR, record);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    rec = MPII_Gpudt_raw_at(b->raw, *record);
    rec->count = count;
    rec->blocklength = blocklength;
    MPIR_Datatype_get_extent_macro(c->types[0], rec->extent);
    rec->stride = stride;
    if (c->combiner == MPI_COMBINER_VECTOR) {
        /* a stride of one block or none is never used, so its overflow is no error */
        MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(stride, rec->extent, &rec->stride) &&
                                count > 1, mpi_errno);
    }
    MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(count, blocklength, &nchildren), mpi_errno);

    mpi_errno = MPII_Gpudt_raw_add_child(b, *record, c->types[0], nchildren);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
