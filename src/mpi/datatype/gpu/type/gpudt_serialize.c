/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Serializes a datatype: constructors -> raw records. First of the steps serialize -> canonicalize
 * -> plan -> launch. Reads what MPI_Type_get_contents would return, because the dataloop has lost
 * structs and subarrays by then. Knows nothing of canonical records or of who uses them.
 *
 * The tree is read once, parents first, into two arrays that grow: records and lookaside. An array
 * for long lists is grown to exactly what the list needs, and its entries are then written once. */

#include "mpiimpl.h"
#include "gpudt_serialize.h"

static int array_grow(void **array, int64_t used, int64_t * room, int64_t need, int64_t item_sz);
static int memo_find(const struct MPII_Gpudt_builder *b, MPI_Datatype datatype);
static int memo_add(struct MPII_Gpudt_builder *b, MPI_Datatype datatype, int record);
static int block_create(struct MPII_Gpudt_builder *b, int64_t size, int *record);
static int contig_create(struct MPII_Gpudt_builder *b, const struct MPII_Gpudt_contents *c,
                         int *record);
static int vector_create(struct MPII_Gpudt_builder *b, const struct MPII_Gpudt_contents *c,
                         int *record);
static int contents_create(struct MPII_Gpudt_builder *b, MPIR_Datatype * dtp, int *record);

int MPII_Gpudt_serialize(MPI_Datatype datatype, struct MPII_Gpudt_raw *raw)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_builder b;
    int root;
    MPI_Aint size;

    MPIR_FUNC_ENTER;

    raw->records = raw->inline_records;
    raw->nrecords = 0;
    raw->max_records = MPII_GPUDT_RAW_INLINE;
    raw->lookaside = NULL;
    raw->lookaside_sz = 0;
    raw->max_lookaside_sz = 0;
    MPIR_Datatype_get_extent_macro(datatype, raw->extent);

    b.raw = raw;
    b.nesting = 0;
    b.memo_used = 0;
    b.memo_slots = MPII_GPUDT_MEMO_INLINE;
    b.memo = b.inline_memo;
    for (int i = 0; i < MPII_GPUDT_MEMO_INLINE; i++)
        b.inline_memo[i].datatype = MPI_DATATYPE_NULL;

    mpi_errno = MPII_Gpudt_raw_type(&b, datatype, &root);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

    /* Two ways to the same number; they differ only if a size overflowed on MPICH's way. */
    MPIR_Datatype_get_size_macro(datatype, size);
    MPIR_Assert(root == 0);
    MPII_GPUDT_ERR_OVERFLOW(size != raw->records[0].size, mpi_errno);

  fn_exit:
    if (b.memo != b.inline_memo)
        MPL_free(b.memo);
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

/* Make room for `need` more items in a heap array, NULL at first. Grows by half of what is there,
 * to the exact need if that is more. */
static int array_grow(void **array, int64_t used, int64_t * room, int64_t need, int64_t item_sz)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t new_room, bytes;
    void *grown;

    MPII_GPUDT_ERR_OVERFLOW(__builtin_add_overflow(used, need, &new_room), mpi_errno);
    if (new_room < *room + *room / 2)
        new_room = *room + *room / 2;
    MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(new_room, item_sz, &bytes), mpi_errno);

    grown = MPL_realloc(*array, bytes, MPL_MEM_DATATYPE);
    MPII_GPUDT_ERR_NOMEM(grown == NULL, mpi_errno, "datatype records");
    *array = grown;
    *room = new_room;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_raw_new_record(struct MPII_Gpudt_raw *raw, int kind, int *record)
{
    int mpi_errno = MPI_SUCCESS;

    if (raw->nrecords == raw->max_records) {
        int64_t room = raw->max_records;
        void *records = raw->records == raw->inline_records ? NULL : raw->records;

        MPII_GPUDT_ERR_OVERFLOW(raw->nrecords >= INT32_MAX / 2, mpi_errno);
        mpi_errno = array_grow(&records, raw->nrecords, &room, raw->nrecords,
                               sizeof(struct MPII_Gpudt_raw_record));
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        if (raw->records == raw->inline_records)
            memcpy(records, raw->records, sizeof(raw->inline_records));
        raw->records = records;
        raw->max_records = (int) room;
    }

    *record = raw->nrecords++;
    memset(&raw->records[*record], 0, sizeof(struct MPII_Gpudt_raw_record));
    raw->records[*record].kind = kind;
    raw->records[*record].child = -1;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_raw_new_lists(struct MPII_Gpudt_raw *raw, int64_t n, int64_t * lookaside)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t bytes;

    MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(n, (int64_t) 8, &bytes), mpi_errno);
    if (bytes > raw->max_lookaside_sz - raw->lookaside_sz) {
        void *area = raw->lookaside;

        mpi_errno = array_grow(&area, raw->lookaside_sz, &raw->max_lookaside_sz, bytes, 1);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        raw->lookaside = area;
    }
    *lookaside = raw->lookaside_sz;
    raw->lookaside_sz += bytes;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Fibonacci hashing: handles differ in their low bits, a product spreads them over the high ones. */
static inline int memo_slot(const struct MPII_Gpudt_builder *b, MPI_Datatype datatype)
{
    uint32_t hash = (uint32_t) datatype * 2654435769u;

    return (int) ((hash >> 8) & (uint32_t) (b->memo_slots - 1));
}

/* Returns the record of a datatype met before, or -1. */
static int memo_find(const struct MPII_Gpudt_builder *b, MPI_Datatype datatype)
{
    int i = memo_slot(b, datatype);

    while (b->memo[i].datatype != MPI_DATATYPE_NULL) {
        if (b->memo[i].datatype == datatype)
            return b->memo[i].record;
        i = (i + 1) & (b->memo_slots - 1);
    }
    return -1;
}

static int memo_add(struct MPII_Gpudt_builder *b, MPI_Datatype datatype, int record)
{
    int mpi_errno = MPI_SUCCESS;
    int i;

    if (2 * b->memo_used >= b->memo_slots) {
        struct MPII_Gpudt_memo_slot *old = b->memo;
        int old_slots = b->memo_slots;
        struct MPII_Gpudt_memo_slot *grown;

        grown = MPL_malloc(4 * (size_t) old_slots * sizeof(*grown), MPL_MEM_DATATYPE);
        MPII_GPUDT_ERR_NOMEM(grown == NULL, mpi_errno, "table of datatypes");
        b->memo = grown;
        b->memo_slots = 4 * old_slots;
        b->memo_used = 0;
        for (i = 0; i < b->memo_slots; i++)
            grown[i].datatype = MPI_DATATYPE_NULL;
        for (i = 0; i < old_slots; i++) {
            if (old[i].datatype != MPI_DATATYPE_NULL) {
                mpi_errno = memo_add(b, old[i].datatype, old[i].record);
                MPIR_Assert(mpi_errno == MPI_SUCCESS);
            }
        }
        if (old != b->inline_memo)
            MPL_free(old);
    }

    i = memo_slot(b, datatype);
    while (b->memo[i].datatype != MPI_DATATYPE_NULL)
        i = (i + 1) & (b->memo_slots - 1);
    b->memo[i].datatype = datatype;
    b->memo[i].record = record;
    b->memo_used++;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int64_t MPII_Gpudt_raw_elements(const struct MPII_Gpudt_raw_record *rec)
{
    if (rec->kind == MPII_GPUDT_RAW_KIND__BLOCK || rec->kind == MPII_GPUDT_RAW_KIND__STRUCT)
        return rec->elements;
    return rec->child_size == 0 ? 0 : rec->size / rec->child_size * rec->elements;
}

int MPII_Gpudt_raw_set_child(struct MPII_Gpudt_raw *raw, int record, int child, int64_t nchildren)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_raw_record *rec = MPII_Gpudt_raw_at(raw, record);

    rec->child = child;
    rec->child_size = raw->records[child].size;
    rec->elements = MPII_Gpudt_raw_elements(&raw->records[child]);
    MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(nchildren, rec->child_size, &rec->size),
                            mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_raw_type(struct MPII_Gpudt_builder *b, MPI_Datatype datatype, int *record)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Datatype *dtp = NULL;

    /* Layers that only rename a type or change its extent have no record. */
    while (!MPIR_DATATYPE_IS_PREDEFINED(datatype)) {
        struct MPII_Gpudt_contents c;
        int *ints;
        MPI_Aint *aints, *counts;
        MPI_Datatype *types;

        MPIR_Datatype_get_ptr(datatype, dtp);
        MPIR_Assert(dtp != NULL);
        if (dtp->contents == NULL)
            break;
        c.combiner = dtp->contents->combiner;
        if (c.combiner != MPI_COMBINER_DUP && c.combiner != MPI_COMBINER_RESIZED)
            break;
        MPIR_Datatype_access_contents(dtp->contents, &ints, &aints, &counts, &types);
        datatype = types[0];
    }

    *record = memo_find(b, datatype);
    if (*record >= 0)
        goto fn_exit;

    b->nesting++;
    MPIR_ERR_CHKANDJUMP1(b->nesting > MPII_GPUDT_MAX_NESTING, mpi_errno, MPI_ERR_TYPE,
                         "**gpudt_nesting", "**gpudt_nesting %d", MPII_GPUDT_MAX_NESTING);
    if (HANDLE_IS_BUILTIN(datatype))
        mpi_errno = block_create(b, MPIR_Datatype_get_basic_size(datatype), record);
    else if (MPIR_DATATYPE_IS_PREDEFINED(datatype))
        mpi_errno = MPII_Gpudt_raw_pair(b, datatype, record);
    else if (dtp->contents == NULL)
        mpi_errno = MPII_Gpudt_raw_dataloop(b, dtp, record);
    else
        mpi_errno = contents_create(b, dtp, record);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    b->nesting--;

    mpi_errno = memo_add(b, datatype, *record);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Dispatch on the constructor. The _INTEGER forms are what Fortran 77's functions made. */
static int contents_create(struct MPII_Gpudt_builder *b, MPIR_Datatype * dtp, int *record)
{
    int mpi_errno = MPI_SUCCESS;
    int *ints;
    MPI_Aint *aints, *counts;
    MPI_Datatype *types;
    struct MPII_Gpudt_contents c;

    MPIR_Datatype_access_contents(dtp->contents, &ints, &aints, &counts, &types);
    c.combiner = dtp->contents->combiner;
    c.large = dtp->contents->nr_counts > 0;
    c.ints = ints;
    c.aints = aints;
    c.counts = counts;
    c.types = types;

    switch (c.combiner) {
        case MPI_COMBINER_F90_REAL:
        case MPI_COMBINER_F90_COMPLEX:
        case MPI_COMBINER_F90_INTEGER:
            /* these have no member types in their contents */
            mpi_errno = block_create(b, dtp->size, record);
            break;
        case MPI_COMBINER_CONTIGUOUS:
            mpi_errno = contig_create(b, &c, record);
            break;
        case MPI_COMBINER_VECTOR:
        case MPI_COMBINER_HVECTOR:
        case MPI_COMBINER_HVECTOR_INTEGER:
            mpi_errno = vector_create(b, &c, record);
            break;
        case MPI_COMBINER_INDEXED_BLOCK:
        case MPI_COMBINER_HINDEXED_BLOCK:
            mpi_errno = MPII_Gpudt_raw_blkindexed(b, &c, record);
            break;
        case MPI_COMBINER_INDEXED:
        case MPI_COMBINER_HINDEXED:
        case MPI_COMBINER_HINDEXED_INTEGER:
            mpi_errno = MPII_Gpudt_raw_indexed(b, &c, record);
            break;
        case MPI_COMBINER_STRUCT:
        case MPI_COMBINER_STRUCT_INTEGER:
            mpi_errno = MPII_Gpudt_raw_struct(b, &c, record);
            break;
        case MPI_COMBINER_SUBARRAY:
            mpi_errno = MPII_Gpudt_raw_subarray(b, &c, record);
            break;
        case MPI_COMBINER_DARRAY:
            mpi_errno = MPII_Gpudt_raw_darray(b, &c, record);
            break;
        default:
            MPIR_ERR_SETANDJUMP1(mpi_errno, MPI_ERR_TYPE, "**gpudt_combiner",
                                 "**gpudt_combiner %d", c.combiner);
    }
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_raw_add_child(struct MPII_Gpudt_builder *b, int record, MPI_Datatype datatype,
                             int64_t nchildren)
{
    int mpi_errno = MPI_SUCCESS;
    int child;

    mpi_errno = MPII_Gpudt_raw_type(b, datatype, &child);
    if (likely(mpi_errno == MPI_SUCCESS))
        mpi_errno = MPII_Gpudt_raw_set_child(b->raw, record, child, nchildren);
    return mpi_errno;
}

static int block_create(struct MPII_Gpudt_builder *b, int64_t size, int *record)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = MPII_Gpudt_raw_new_record(b->raw, MPII_GPUDT_RAW_KIND__BLOCK, record);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_Gpudt_raw_at(b->raw, *record)->count = 1;
    MPII_Gpudt_raw_at(b->raw, *record)->size = size;
    MPII_Gpudt_raw_at(b->raw, *record)->elements = size > 0;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
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
        /* the stride of one block or none is never used */
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
