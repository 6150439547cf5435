/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One-sided operations with counts that do not fit into an int, as packets and lists of ch3 have them:
 * done with one element of a datatype that has as many. Serves host memory, too. */

#include "mpidimpl.h"
#include "mpidi_rma_large.h"

/* The elements of one argument of an operation. */
struct elements {
    MPI_Aint count;
    MPI_Datatype datatype;
    MPI_Datatype made;          /* MPI_DATATYPE_NULL: none was needed */
};

/* Make a count fit, if it does not. */
static int elements_fit(struct elements *e, MPI_Aint count, MPI_Datatype datatype)
{
    int mpi_errno = MPI_SUCCESS;

    e->count = count;
    e->datatype = datatype;
    if (count <= INT_MAX)
        goto fn_exit;
    mpi_errno = MPIR_Type_contiguous_large_impl(count, datatype, &e->made);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Type_commit_impl(&e->made);
    MPIR_ERR_CHECK(mpi_errno);
    e->count = 1;
    e->datatype = e->made;

  fn_exit:
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

int MPIDI_RMA_large_put(const void *origin, MPI_Aint origin_count, MPI_Datatype origin_type,
                          int rank, MPI_Aint disp, MPI_Aint count, MPI_Datatype datatype,
                          MPIR_Win * win, MPIR_Request * ureq)
{
    int mpi_errno = MPI_SUCCESS;
    struct elements o = {.made = MPI_DATATYPE_NULL }, t = o;

    mpi_errno = elements_fit(&o, origin_count, origin_type);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = elements_fit(&t, count, datatype);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_CH3I_Put(origin, o.count, o.datatype, rank, disp, t.count, t.datatype, win,
                               ureq);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    elements_end(&o);
    elements_end(&t);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_RMA_large_get(void *origin, MPI_Aint origin_count, MPI_Datatype origin_type, int rank,
                          MPI_Aint disp, MPI_Aint count, MPI_Datatype datatype, MPIR_Win * win,
                          MPIR_Request * ureq)
{
    int mpi_errno = MPI_SUCCESS;
    struct elements o = {.made = MPI_DATATYPE_NULL }, t = o;

    mpi_errno = elements_fit(&o, origin_count, origin_type);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = elements_fit(&t, count, datatype);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_CH3I_Get(origin, o.count, o.datatype, rank, disp, t.count, t.datatype, win,
                               ureq);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    elements_end(&o);
    elements_end(&t);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_RMA_large_accumulate(const void *origin, MPI_Aint origin_count,
                                 MPI_Datatype origin_type, int rank, MPI_Aint disp, MPI_Aint count,
                                 MPI_Datatype datatype, MPI_Op op, MPIR_Win * win,
                                 MPIR_Request * ureq)
{
    int mpi_errno = MPI_SUCCESS;
    struct elements o = {.made = MPI_DATATYPE_NULL }, t = o;

    mpi_errno = elements_fit(&o, origin_count, origin_type);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = elements_fit(&t, count, datatype);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_CH3I_Accumulate(origin, o.count, o.datatype, rank, disp, t.count, t.datatype,
                                      op, win, ureq);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    elements_end(&o);
    elements_end(&t);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_RMA_large_get_accumulate(const void *origin, MPI_Aint origin_count,
                                     MPI_Datatype origin_type, void *result, MPI_Aint result_count,
                                     MPI_Datatype result_type, int rank, MPI_Aint disp,
                                     MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                                     MPIR_Win * win, MPIR_Request * ureq)
{
    int mpi_errno = MPI_SUCCESS;
    struct elements o = {.made = MPI_DATATYPE_NULL }, r = o, t = o;

    /* An origin that is not used may be anything */
    if (op == MPI_NO_OP)
        mpi_errno = elements_fit(&o, 0, MPI_BYTE);
    else
        mpi_errno = elements_fit(&o, origin_count, origin_type);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = elements_fit(&r, result_count, result_type);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = elements_fit(&t, count, datatype);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_CH3I_Get_accumulate(origin, o.count, o.datatype, result, r.count, r.datatype,
                                          rank, disp, t.count, t.datatype, op, win, ureq);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    elements_end(&o);
    elements_end(&r);
    elements_end(&t);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
