/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Appends raw records and their lists, and remembers which datatypes have a record. Must not know
 * constructors.
 *
 * A datatype's tree is read once, parents first, into two growing arrays: records and lookaside.
 * For a long list, the lookaside is grown to the exact size needed, and its entries are written
 * once. */

#include "mpiimpl.h"
#include "gpudt_builder.h"
#include "gpudt_error.h"

void MPII_Gpudt_builder_init(struct MPII_Gpudt_builder *b, struct MPII_Gpudt_raw *raw,
                             MPII_Gpudt_type_fn type_fn)
{
    raw->records = raw->inline_records;
    raw->nrecords = 0;
    raw->max_records = MPII_GPUDT_RAW_INLINE;
    raw->lookaside = NULL;
    raw->lookaside_sz = 0;
    raw->max_lookaside_sz = 0;

    b->raw = raw;
    b->type_fn = type_fn;
    b->nesting = 0;
    b->memo_used = 0;
    b->memo_slots = MPII_GPUDT_MEMO_INLINE;
    b->memo = b->inline_memo;
    for (int i = 0; i < MPII_GPUDT_MEMO_INLINE; i++)
        b->inline_memo[i].datatype = MPI_DATATYPE_NULL;
}

void MPII_Gpudt_builder_finalize(struct MPII_Gpudt_builder *b)
{
    if (b->memo != b->inline_memo)
        MPL_free(b->memo);
}

/* Make space for `need` more items in a heap array, initially NULL. The array grows by half of its
 * size, or to the exact need if that is more. */
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

/* Fibonacci hashing: handles differ in their low bits; the product spreads them over the high
 * bits. */
static inline int memo_slot(const struct MPII_Gpudt_builder *b, MPI_Datatype datatype)
{
    uint32_t hash = (uint32_t) datatype * 2654435769u;

    return (int) ((hash >> 8) & (uint32_t) (b->memo_slots - 1));
}

int MPII_Gpudt_memo_find(const struct MPII_Gpudt_builder *b, MPI_Datatype datatype)
{
    int i = memo_slot(b, datatype);

    while (b->memo[i].datatype != MPI_DATATYPE_NULL) {
        if (b->memo[i].datatype == datatype)
            return b->memo[i].record;
        i = (i + 1) & (b->memo_slots - 1);
    }
    return -1;
}

int MPII_Gpudt_memo_add(struct MPII_Gpudt_builder *b, MPI_Datatype datatype, int record)
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
                mpi_errno = MPII_Gpudt_memo_add(b, old[i].datatype, old[i].record);
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

int MPII_Gpudt_raw_block(struct MPII_Gpudt_raw *raw, MPI_Datatype basic, int64_t size, int *record)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = MPII_Gpudt_raw_new_record(raw, MPII_GPUDT_RAW_KIND__BLOCK, record);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_Gpudt_raw_at(raw, *record)->count = 1;
    MPII_Gpudt_raw_at(raw, *record)->size = size;
    MPII_Gpudt_raw_at(raw, *record)->elements = size > 0;
    MPII_Gpudt_raw_at(raw, *record)->basic = basic;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
