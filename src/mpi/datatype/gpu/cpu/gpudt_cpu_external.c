/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Converts between host memory and the external32 representation: big-endian numbers in the sizes
 * that the MPI standard fixes, one after the other. Walks the raw records, the only form that keeps
 * the predefined types: dataloops and canonical records know bytes where a struct, subarray or
 * distributed array has numbers. For files and other machines, not for speed. Must not know GPUs. */

#include "mpiimpl.h"
#include "typerep_util.h"
#include "gpudt_error.h"
#include "gpudt_host.h"
#include "type/gpudt_raw.h"
#include "type/gpudt_serialize.h"

struct walk {
    const struct MPII_Gpudt_raw *raw;
    char *packed;               /* the next byte of the external data */
    char *native;               /* and of the same numbers one after the other in this machine's
                                 * representation; NULL: they are where the datatype has them */
    bool unpack;
};

/* A predefined type, as numbers of equal size. */
struct numbers {
    int n;
    int native, external;       /* bytes of each */
    bool is_signed;
};

/* False for a type that external32 does not have, or not with this size. */
static bool numbers_of(MPI_Datatype basic, MPI_Aint size, struct numbers *numbers)
{
    MPI_Aint external = MPII_Typerep_get_basic_size_external32(basic);

    numbers->n = 1;
    if (basic == MPI_2INT) {
        numbers->n = 2;
        external = 2 * MPII_Typerep_get_basic_size_external32(MPI_INT);
#ifdef HAVE_FORTRAN_BINDING
    } else if (basic == MPI_2INTEGER) {
        numbers->n = 2;
        external = 2 * MPII_Typerep_get_basic_size_external32(MPI_INTEGER);
    } else if (basic == MPI_2REAL) {
        numbers->n = 2;
        external = 2 * MPII_Typerep_get_basic_size_external32(MPI_REAL);
    } else if (basic == MPI_2DOUBLE_PRECISION) {
        numbers->n = 2;
        external = 2 * MPII_Typerep_get_basic_size_external32(MPI_DOUBLE_PRECISION);
    } else if (basic == MPI_COMPLEX || basic == MPI_DOUBLE_COMPLEX) {
        numbers->n = 2;
#endif
    } else if (MPII_Typerep_basic_type_is_complex(basic)) {
        numbers->n = 2;
    }
    numbers->native = (int) size / numbers->n;
    numbers->external = (int) external / numbers->n;
    numbers->is_signed = !MPII_Typerep_basic_type_is_unsigned(basic);
    /* only integers of up to 8 bytes change their size */
    return external > 0 && (external == size || (size <= 8 && external <= 8));
}

/* Copy a number of n bytes; the two are in different byte orders on a little-endian machine. */
static void number_swap(char *to, const char *from, int n)
{
#if BLENDIAN == 1
    for (int i = 0; i < n; i++)
        to[i] = from[n - 1 - i];
#else
    memcpy(to, from, n);
#endif
}

/* Between integers of different sizes. What does not fit loses its high bytes. */
static void integer_resize(char *to, int to_size, const char *from, int from_size, bool is_signed,
                           bool unpack)
{
    char big[8], *number = big + 8 - from_size;

    if (unpack)
        memcpy(number, from, from_size);
    else
        number_swap(number, from, from_size);
    memset(big, is_signed && (number[0] & 0x80) ? 0xff : 0, 8 - from_size);
    if (unpack)
        number_swap(to, big + 8 - to_size, to_size);
    else
        memcpy(to, big + 8 - to_size, to_size);
}

static void number_convert(const struct numbers *numbers, char *user, char *packed, bool unpack)
{
    char *to = unpack ? user : packed;
    const char *from = unpack ? packed : user;
    const int to_size = unpack ? numbers->native : numbers->external;
    const int from_size = unpack ? numbers->external : numbers->native;

    if (to_size == from_size)
        number_swap(to, from, to_size);
    else
        integer_resize(to, to_size, from, from_size, numbers->is_signed, unpack);
}

static int record_walk(struct walk *w, int index, char *at);

/* n elements of a predefined type, one after the other. */
static int block_walk(struct walk *w, const struct MPII_Gpudt_raw_record *rec, int64_t n, char *at)
{
    int mpi_errno = MPI_SUCCESS;
    struct numbers numbers;

    if (!numbers_of((MPI_Datatype) rec->basic, rec->size, &numbers)) {
        MPIR_ERR_SETANDJUMP1(mpi_errno, MPI_ERR_TYPE, "**gpudt_external", "**gpudt_external %D",
                             (MPI_Datatype) rec->basic);
    }
    if (w->native) {
        at = w->native;
        w->native += n * numbers.n * numbers.native;
    }
    for (int64_t i = 0; i < n * numbers.n; i++) {
        number_convert(&numbers, at, w->packed, w->unpack);
        at += numbers.native;
        w->packed += numbers.external;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* n children, extent apart. */
static int children_walk(struct walk *w, int child, int64_t n, int64_t extent, char *at)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_raw_record *rec = &w->raw->records[child];

    if (rec->size == 0)
        goto fn_exit;
    if (rec->kind == MPII_GPUDT_RAW_KIND__BLOCK && extent == rec->size)
        return block_walk(w, rec, n, at);
    for (int64_t i = 0; i < n; i++) {
        mpi_errno = record_walk(w, child, at + i * extent);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Dimensions `dim` and faster of a subarray. */
static int subarray_walk(struct walk *w, const struct MPII_Gpudt_raw_record *rec, int64_t dim,
                         char *at)
{
    int mpi_errno = MPI_SUCCESS;
    const int64_t *sizes = (const int64_t *) (const void *) (w->raw->lookaside + rec->lookaside);
    const int64_t *subsizes = sizes + rec->count, *starts = subsizes + rec->count;
    int64_t stride = rec->extent;

    for (int64_t i = dim + 1; i < rec->count; i++)
        stride *= sizes[i];
    at += starts[dim] * stride;
    if (dim == rec->count - 1)
        return children_walk(w, rec->child, subsizes[dim], stride, at);
    for (int64_t i = 0; i < subsizes[dim]; i++) {
        mpi_errno = subarray_walk(w, rec, dim + 1, at + i * stride);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The index of the record of each member of a STRUCT. */
static const int32_t *members_of(const struct MPII_Gpudt_raw *raw,
                                 const struct MPII_Gpudt_raw_record *rec)
{
    const int64_t *list = (const int64_t *) (const void *) (raw->lookaside + rec->lookaside);

    return (const int32_t *) (const void *) (list + 3 * rec->count + 1);
}

/* Children of member i of a STRUCT. */
static int64_t member_count(const struct MPII_Gpudt_raw *raw,
                            const struct MPII_Gpudt_raw_record *rec, int64_t i)
{
    const int64_t *prefix = (const int64_t *) (const void *) (raw->lookaside + rec->lookaside);
    const int64_t size = raw->records[members_of(raw, rec)[i]].size;

    return size > 0 ? (prefix[i + 1] - prefix[i]) / size : 0;
}

static int member_walk(struct walk *w, const struct MPII_Gpudt_raw_record *rec, int64_t i, char *at)
{
    const int64_t *prefix = (const int64_t *) (const void *) (w->raw->lookaside + rec->lookaside);
    const int64_t *displ = prefix + rec->count + 1, *extent = displ + rec->count;

    return children_walk(w, members_of(w->raw, rec)[i], member_count(w->raw, rec, i), extent[i],
                         at + displ[i]);
}

/* Block, entry or member i of a record. */
static int entry_walk(struct walk *w, const struct MPII_Gpudt_raw_record *rec, int64_t i, char *at)
{
    const int64_t *list = (const int64_t *) (const void *) (w->raw->lookaside + rec->lookaside);
    const int64_t n = rec->count;

    switch (rec->kind) {
        case MPII_GPUDT_RAW_KIND__VECTOR:
            return children_walk(w, rec->child, rec->blocklength, rec->extent, at + i * rec->stride);
        case MPII_GPUDT_RAW_KIND__BLKINDEXED:
            return children_walk(w, rec->child, rec->blocklength, rec->extent, at + list[i]);
        case MPII_GPUDT_RAW_KIND__INDEXED:
            return children_walk(w, rec->child, list[i + 1] - list[i], rec->extent,
                                 at + list[n + 1 + i]);
        default:
            return member_walk(w, rec, i, at);
    }
}

/* One node of the type, which begins at `at`. */
static int record_walk(struct walk *w, int index, char *at)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_raw_record *rec = &w->raw->records[index];

    if (rec->size == 0)
        goto fn_exit;
    switch (rec->kind) {
        case MPII_GPUDT_RAW_KIND__BLOCK:
            return block_walk(w, rec, 1, at);
        case MPII_GPUDT_RAW_KIND__CONTIG:
            return children_walk(w, rec->child, rec->count, rec->extent, at);
        case MPII_GPUDT_RAW_KIND__SUBARRAY:
            return subarray_walk(w, rec, 0, at);
        default:
            break;
    }
    for (int64_t i = 0; i < rec->count; i++) {
        mpi_errno = entry_walk(w, rec, i, at);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Convert between a buffer, or packed data if there is any, and external data. What there are packed data for has
 * no address of its own; theirs stands for it. */
static int data_convert(char *user, MPI_Aint count, MPI_Datatype datatype, char *native,
                        char *packed, bool unpack, MPI_Aint * actual)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_raw raw;
    struct walk w = {.raw = &raw,.packed = packed,.native = native,.unpack = unpack };

    *actual = 0;
    mpi_errno = MPII_Gpudt_serialize(datatype, &raw);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = children_walk(&w, 0, count, raw.extent, user);
    MPII_Gpudt_raw_free(&raw);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *actual = w.packed - packed;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Gpudt_cpu_pack_external(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                                 void *outbuf, MPI_Aint * actual)
{
    return data_convert((char *) inbuf, incount, datatype, NULL, outbuf, false, actual);
}

int MPIR_Gpudt_cpu_unpack_external(const void *inbuf, void *outbuf, MPI_Aint outcount,
                                   MPI_Datatype datatype, MPI_Aint * actual)
{
    return data_convert(outbuf, outcount, datatype, NULL, (char *) inbuf, true, actual);
}

int MPIR_Gpudt_cpu_to_external(const void *native, MPI_Aint count, MPI_Datatype datatype,
                               void *packed, MPI_Aint * actual)
{
    return data_convert((char *) native, count, datatype, (char *) native, packed, false, actual);
}

int MPIR_Gpudt_cpu_from_external(const void *packed, MPI_Aint count, MPI_Datatype datatype,
                                 void *native, MPI_Aint * actual)
{
    return data_convert(native, count, datatype, native, (char *) packed, true, actual);
}

/* Packed bytes of a record, by those of its children. Each record is computed once.
 *   size  (INOUT)  of each record, -1 where it is not known yet */
static MPI_Aint record_size(const struct MPII_Gpudt_raw *raw, int index, MPI_Aint * size)
{
    const struct MPII_Gpudt_raw_record *rec = &raw->records[index];
    struct numbers numbers;

    if (size[index] >= 0)
        return size[index];
    size[index] = 0;
    if (rec->size == 0) {
        return 0;
    } else if (rec->kind == MPII_GPUDT_RAW_KIND__BLOCK) {
        if (numbers_of((MPI_Datatype) rec->basic, rec->size, &numbers))
            size[index] = numbers.n * numbers.external;
    } else if (rec->kind == MPII_GPUDT_RAW_KIND__STRUCT) {
        for (int64_t i = 0; i < rec->count; i++)
            size[index] += member_count(raw, rec, i) *
                record_size(raw, members_of(raw, rec)[i], size);
    } else {
        size[index] = rec->size / rec->child_size * record_size(raw, rec->child, size);
    }
    return size[index];
}

MPI_Aint MPIR_Gpudt_cpu_size_external(MPI_Datatype datatype)
{
    struct MPII_Gpudt_raw raw;
    MPI_Aint *sizes, size = 0;

    if (MPII_Gpudt_serialize(datatype, &raw) != MPI_SUCCESS)
        return 0;
    sizes = MPL_malloc(raw.nrecords * sizeof(*sizes), MPL_MEM_DATATYPE);
    if (sizes) {
        for (int i = 0; i < raw.nrecords; i++)
            sizes[i] = -1;
        size = record_size(&raw, 0, sizes);
    }
    MPL_free(sizes);
    MPII_Gpudt_raw_free(&raw);
    return size;
}

int MPIR_Gpudt_cpu_external_number(MPI_Datatype datatype)
{
    struct MPII_Gpudt_raw raw;
    struct numbers numbers;
    int size = 0;

    if (MPII_Gpudt_serialize(datatype, &raw) != MPI_SUCCESS)
        return 0;
    for (int i = 0; i < raw.nrecords; i++) {
        const struct MPII_Gpudt_raw_record *rec = &raw.records[i];

        if (rec->kind != MPII_GPUDT_RAW_KIND__BLOCK || rec->size == 0)
            continue;
        if (!numbers_of((MPI_Datatype) rec->basic, rec->size, &numbers) ||
            numbers.native != numbers.external || (size && numbers.native != size)) {
            size = 0;
            break;
        }
        size = numbers.native;
    }
    MPII_Gpudt_raw_free(&raw);
    return size;
}

void MPIR_Gpudt_cpu_external_swap(void *packed, MPI_Aint n, int size)
{
    char *at = packed, number[16];

    MPIR_Assert(size <= (int) sizeof(number));
    if (size == 1)
        return;
    for (MPI_Aint i = 0; i + size <= n; i += size) {
        memcpy(number, at + i, size);
        number_swap(at + i, number, size);
    }
}
