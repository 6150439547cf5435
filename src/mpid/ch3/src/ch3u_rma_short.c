/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One-sided operations whose receiving side has room for more than is sent. ch3's packets do not tell how much
 * that is, so that both sides must have the same: done with a part of the receiving side's elements, which
 * may end within one. Serves host memory, too. */

#include "mpidimpl.h"
#include "mpidi_gpudt_window_impl.h"
#include "mpidi_rma_short.h"

/* The elements of one argument of an operation. */
struct elements {
    MPI_Aint count;
    MPI_Datatype datatype;
    MPI_Datatype made;          /* MPI_DATATYPE_NULL: none was needed */
};

static MPI_Aint bytes_of(const struct elements *e)
{
    MPI_Aint size;

    MPIR_Datatype_get_size_macro(e->datatype, size);
    return e->count * size;
}

/* ---- parts of elements ---- */

/* Blocks of a basic datatype. */
struct blocks {
    MPI_Aint n, *lengths, *displs;
};

/* Whether the elements of a datatype follow each other without a gap. */
static bool is_dense(MPI_Datatype datatype)
{
    MPI_Aint size, extent;
    int is_contig;

    MPIR_Datatype_get_size_macro(datatype, size);
    MPIR_Datatype_get_extent_macro(datatype, extent);
    MPIR_Datatype_is_contig(datatype, &is_contig);
    return is_contig && size == extent;
}

/* Join the contiguous pieces of some data to blocks of a basic datatype. An element with gaps is a block of its
 * own: it may be in several pieces, and a piece in several such elements. Returns the number of elements.
 *   size  bytes of an element */
static MPI_Aint blocks_join(const struct iovec *iov, MPI_Aint n, MPI_Aint size, bool is_dense,
                        struct blocks *b)
{
    MPI_Aint begun = 0;         /* bytes of an element whose rest follows */
    MPI_Aint total = 0;

    b->n = 0;
    for (MPI_Aint i = 0; i < n; i++) {
        MPI_Aint at = (MPI_Aint) iov[i].iov_base, left = (MPI_Aint) iov[i].iov_len, take;

        for (; left > 0; at += take, left -= take) {
            take = is_dense && left >= size ? left - left % size : MPL_MIN(left, size - begun);
            if (begun == 0) {
                b->displs[b->n] = at;
                b->lengths[b->n] = MPL_MAX(take / size, 1);
                total += b->lengths[b->n++];
            }
            begun = (begun + take) % size;
        }
    }
    return total;
}

/* Make a datatype of a part of one element.
 *   first, last  bytes of its data, the last one excluded
 *   basic        which the datatype is made of */
static int element_part(MPI_Datatype datatype, MPI_Aint first, MPI_Aint last, MPI_Datatype basic,
                        MPI_Datatype * made)
{
    int mpi_errno = MPI_SUCCESS;
    const bool dense = is_dense(basic);
    struct iovec *iov = NULL;
    struct blocks b = { 0 };
    MPI_Aint size, n, room, bytes;

    MPIR_Datatype_get_size_macro(basic, size);
    mpi_errno = MPIR_Typerep_iov_len(1, datatype, last, &n);
    MPIR_ERR_CHECK(mpi_errno);
    room = 2 * n + (dense ? 0 : (last - first) / size);
    iov = MPL_malloc(n * sizeof(*iov), MPL_MEM_DATATYPE);
    b.lengths = MPL_malloc(room * sizeof(*b.lengths), MPL_MEM_DATATYPE);
    b.displs = MPL_malloc(room * sizeof(*b.displs), MPL_MEM_DATATYPE);
    MPIR_ERR_CHKANDJUMP(!iov || !b.lengths || !b.displs, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    mpi_errno = MPIR_Typerep_to_iov(NULL, 1, datatype, first, iov, n, last - first, &n, &bytes);
    MPIR_ERR_CHECK(mpi_errno);
    /* The data may end within a basic element only if the two sides do not match */
    MPIR_ERR_CHKANDJUMP(bytes != last - first || bytes % size ||
                        blocks_join(iov, n, size, dense, &b) * size != bytes, mpi_errno,
                        MPI_ERR_TYPE, "**dtypemismatch");
    mpi_errno = MPIR_Type_create_hindexed_large_impl(b.n, b.lengths, b.displs, basic, made);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(iov);
    MPL_free(b.lengths);
    MPL_free(b.displs);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Elements, or parts of them, one behind the other. */
struct parts {
    int n;
    MPI_Aint lengths[3], displs[3];
    MPI_Datatype types[3];
};

/* Add bytes FIRST to LAST of element INDEX. */
static int parts_add(struct parts *p, MPI_Aint index, MPI_Datatype datatype, MPI_Aint first,
                     MPI_Aint last, MPI_Datatype basic)
{
    MPI_Aint extent;

    MPIR_Datatype_get_extent_macro(datatype, extent);
    p->lengths[p->n] = 1;
    p->displs[p->n] = index * extent;
    return element_part(datatype, first, last, basic, &p->types[p->n++]);
}

/* Add whole elements. */
static void parts_add_whole(struct parts *p, MPI_Aint index, MPI_Aint count, MPI_Datatype datatype)
{
    MPI_Aint extent;

    MPIR_Datatype_get_extent_macro(datatype, extent);
    p->lengths[p->n] = count;
    p->displs[p->n] = index * extent;
    p->types[p->n++] = datatype;
}

/* Cut elements to a part of their data.
 *   first, last  bytes of the data, the last one excluded
 *   basic        of datatypes that are made for parts of elements */
static int elements_cut(struct elements *e, MPI_Aint first, MPI_Aint last, MPI_Datatype basic)
{
    int mpi_errno = MPI_SUCCESS;
    struct parts p = { 0 };
    MPI_Aint size, begin, end;

    for (int i = 0; i < 3; i++)
        p.types[i] = MPI_DATATYPE_NULL;
    MPIR_Datatype_get_size_macro(e->datatype, size);
    begin = first / size;
    end = last / size;
    if (first == 0 && last % size == 0) {
        e->count = end;
        goto fn_exit;
    }
    if (begin == end) {
        mpi_errno = parts_add(&p, begin, e->datatype, first % size, last % size, basic);
        MPIR_ERR_CHECK(mpi_errno);
    } else {
        if (first % size) {
            mpi_errno = parts_add(&p, begin++, e->datatype, first % size, size, basic);
            MPIR_ERR_CHECK(mpi_errno);
        }
        if (begin < end)
            parts_add_whole(&p, begin, end - begin, e->datatype);
        if (last % size) {
            mpi_errno = parts_add(&p, end, e->datatype, 0, last % size, basic);
            MPIR_ERR_CHECK(mpi_errno);
        }
    }
    mpi_errno = MPIR_Type_create_struct_large_impl(p.n, p.lengths, p.displs, p.types, &e->made);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Type_commit_impl(&e->made);
    MPIR_ERR_CHECK(mpi_errno);
    e->count = 1;

  fn_exit:
    for (int i = 0; i < p.n; i++) {
        if (p.types[i] != e->datatype && p.types[i] != MPI_DATATYPE_NULL)
            MPIR_Type_free_impl(&p.types[i]);
    }
    if (e->made != MPI_DATATYPE_NULL)
        e->datatype = e->made;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* An operation in flight keeps the datatype. */
static void elements_end(struct elements *e)
{
    if (e->made != MPI_DATATYPE_NULL)
        MPIR_Type_free_impl(&e->made);
}

/* The datatype that accumulates have elements of. */
static MPI_Datatype element_of(MPI_Datatype datatype)
{
    MPIR_Datatype *type;

    if (MPIR_DATATYPE_IS_PREDEFINED(datatype))
        return datatype;
    MPIR_Datatype_get_ptr(datatype, type);
    return type->basic_type == MPI_DATATYPE_NULL ? MPI_BYTE : type->basic_type;
}

/* ---- the operations ---- */

int MPIDI_RMA_short_put(const void *origin, MPI_Aint origin_count, MPI_Datatype origin_type,
                        int rank, MPI_Aint disp, MPI_Aint count, MPI_Datatype datatype,
                        MPIR_Win * win, MPIR_Request * ureq)
{
    int mpi_errno = MPI_SUCCESS;
    const struct elements o = { origin_count, origin_type, MPI_DATATYPE_NULL };
    struct elements t = { count, datatype, MPI_DATATYPE_NULL };

    mpi_errno = elements_cut(&t, 0, bytes_of(&o), MPI_BYTE);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_CH3I_Put(origin, origin_count, origin_type, rank, disp, t.count, t.datatype,
                               win, ureq);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    elements_end(&t);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_RMA_short_get(void *origin, MPI_Aint origin_count, MPI_Datatype origin_type, int rank,
                        MPI_Aint disp, MPI_Aint count, MPI_Datatype datatype, MPIR_Win * win,
                        MPIR_Request * ureq)
{
    int mpi_errno = MPI_SUCCESS;
    struct elements o = { origin_count, origin_type, MPI_DATATYPE_NULL };
    const struct elements t = { count, datatype, MPI_DATATYPE_NULL };
    const MPI_Aint bytes = bytes_of(&t);

    if (bytes == 0) {
        if (ureq)
            mpi_errno = MPID_Request_complete(ureq);
        goto fn_exit;
    }
    mpi_errno = elements_cut(&o, 0, bytes, MPI_BYTE);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_CH3I_Get(origin, o.count, o.datatype, rank, disp, count, datatype, win, ureq);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    elements_end(&o);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_RMA_short_accumulate(const void *origin, MPI_Aint origin_count, MPI_Datatype origin_type,
                               int rank, MPI_Aint disp, MPI_Aint count, MPI_Datatype datatype,
                               MPI_Op op, MPIR_Win * win, MPIR_Request * ureq)
{
    int mpi_errno = MPI_SUCCESS;
    const struct elements o = { origin_count, origin_type, MPI_DATATYPE_NULL };
    struct elements t = { count, datatype, MPI_DATATYPE_NULL };

    mpi_errno = elements_cut(&t, 0, bytes_of(&o), element_of(datatype));
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_CH3I_Accumulate(origin, origin_count, origin_type, rank, disp, t.count,
                                      t.datatype, op, win, ureq);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    elements_end(&t);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The arguments of MPI_Get_accumulate. */
struct get_accumulate {
    const void *origin;
    void *result;
    struct elements o, r, t;
    int rank;
    MPI_Aint disp;
    MPIR_Win *win;
};

/* Do it for a part of the target's data. */
static int part_get_accumulate(const struct get_accumulate *whole, MPI_Aint first, MPI_Aint last,
                               MPI_Op op, MPIR_Request * ureq)
{
    int mpi_errno = MPI_SUCCESS;
    struct get_accumulate g = *whole;

    mpi_errno = elements_cut(&g.t, first, last, element_of(g.t.datatype));
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = elements_cut(&g.r, first, last, element_of(g.r.datatype));
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_CH3I_Get_accumulate(g.origin, g.o.count, g.o.datatype, g.result, g.r.count,
                                          g.r.datatype, g.rank, g.disp, g.t.count, g.t.datatype, op,
                                          g.win, ureq);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    elements_end(&g.t);
    elements_end(&g.r);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_RMA_short_get_accumulate(const void *origin, MPI_Aint origin_count,
                                   MPI_Datatype origin_type, void *result, MPI_Aint result_count,
                                   MPI_Datatype result_type, int rank, MPI_Aint disp,
                                   MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                                   MPIR_Win * win, MPIR_Request * ureq)
{
    int mpi_errno = MPI_SUCCESS;
    const bool has_origin = op != MPI_NO_OP;
    const struct get_accumulate g = {
        .origin = origin,.result = result,.rank = rank,.disp = disp,.win = win,
        /* An origin that is not used may be anything */
        .o = {has_origin ? origin_count : 0, has_origin ? origin_type : MPI_BYTE,
              MPI_DATATYPE_NULL},
        .r = {result_count, result_type, MPI_DATATYPE_NULL},
        .t = {count, datatype, MPI_DATATYPE_NULL}
    };
    const MPI_Aint all = bytes_of(&g.t);
    const MPI_Aint combined = has_origin ? MPL_MIN(bytes_of(&g.o), all) : 0;

    if (combined == 0 || combined == all) {
        mpi_errno = part_get_accumulate(&g, 0, all, combined ? op : MPI_NO_OP, ureq);
        MPIR_ERR_CHECK(mpi_errno);
        goto fn_exit;
    }
    mpi_errno = part_get_accumulate(&g, 0, combined, op, NULL);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = part_get_accumulate(&g, combined, all, MPI_NO_OP, NULL);
    MPIR_ERR_CHECK(mpi_errno);
    if (ureq) {
        /* A request is one operation's. An error may be another's: it is left to the window */
        mpi_errno = MPID_Win_flush(rank, win);
        MPIDI_Gpudt_win_keep(win, &mpi_errno);
        mpi_errno = MPID_Request_complete(ureq);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
