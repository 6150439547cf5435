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

/* The arguments; the result only where there is one. */
struct large {
    struct elements origin, result, target;
};

/* Make a count fit, if it does not. */
static int elements_fit(struct elements *e)
{
    int mpi_errno = MPI_SUCCESS;

    if (e->count <= INT_MAX)
        goto fn_exit;
    mpi_errno = MPIR_Type_contiguous_large_impl(e->count, e->datatype, &e->made);
    MPIR_ERR_CHECK(mpi_errno);
    e->count = 1;
    e->datatype = e->made;
    mpi_errno = MPIR_Type_commit_impl(&e->made);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int large_fit(struct large *l)
{
    struct elements *all[] = { &l->origin, &l->result, &l->target };
    int mpi_errno = MPI_SUCCESS;

    for (int i = 0; i < 3; i++)
        all[i]->made = MPI_DATATYPE_NULL;
    for (int i = 0; i < 3 && mpi_errno == MPI_SUCCESS; i++)
        mpi_errno = elements_fit(all[i]);
    return mpi_errno;
}

/* An operation in flight keeps the datatypes. */
static void large_end(struct large *l)
{
    struct elements *all[] = { &l->origin, &l->result, &l->target };

    for (int i = 0; i < 3; i++) {
        if (all[i]->made != MPI_DATATYPE_NULL)
            MPIR_Type_free_impl(&all[i]->made);
    }
}

int MPIDI_RMA_large_put(const void *origin, MPI_Aint origin_count, MPI_Datatype origin_type,
                        int rank, MPI_Aint disp, MPI_Aint count, MPI_Datatype datatype,
                        MPIR_Win * win, MPIR_Request * ureq)
{
    struct large l = {
        .origin = {origin_count, origin_type},.target = {count, datatype}
    };
    int mpi_errno = large_fit(&l);

    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIDI_CH3I_Put(origin, l.origin.count, l.origin.datatype, rank, disp,
                                   l.target.count, l.target.datatype, win, ureq);
    large_end(&l);
    return mpi_errno;
}

int MPIDI_RMA_large_get(void *origin, MPI_Aint origin_count, MPI_Datatype origin_type, int rank,
                        MPI_Aint disp, MPI_Aint count, MPI_Datatype datatype, MPIR_Win * win,
                        MPIR_Request * ureq)
{
    struct large l = {
        .origin = {origin_count, origin_type},.target = {count, datatype}
    };
    int mpi_errno = large_fit(&l);

    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIDI_CH3I_Get(origin, l.origin.count, l.origin.datatype, rank, disp,
                                   l.target.count, l.target.datatype, win, ureq);
    large_end(&l);
    return mpi_errno;
}

int MPIDI_RMA_large_accumulate(const void *origin, MPI_Aint origin_count, MPI_Datatype origin_type,
                               int rank, MPI_Aint disp, MPI_Aint count, MPI_Datatype datatype,
                               MPI_Op op, MPIR_Win * win, MPIR_Request * ureq)
{
    struct large l = {
        .origin = {origin_count, origin_type},.target = {count, datatype}
    };
    int mpi_errno = large_fit(&l);

    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIDI_CH3I_Accumulate(origin, l.origin.count, l.origin.datatype, rank, disp,
                                          l.target.count, l.target.datatype, op, win, ureq);
    large_end(&l);
    return mpi_errno;
}

int MPIDI_RMA_large_get_accumulate(const void *origin, MPI_Aint origin_count,
                                   MPI_Datatype origin_type, void *result, MPI_Aint result_count,
                                   MPI_Datatype result_type, int rank, MPI_Aint disp,
                                   MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                                   MPIR_Win * win, MPIR_Request * ureq)
{
    /* An origin that is not used may be anything */
    const bool has_origin = op != MPI_NO_OP;
    struct large l = {
        .origin = {has_origin ? origin_count : 0, has_origin ? origin_type : MPI_BYTE},
        .result = {result_count, result_type},.target = {count, datatype}
    };
    int mpi_errno = large_fit(&l);

    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIDI_CH3I_Get_accumulate(origin, l.origin.count, l.origin.datatype, result,
                                              l.result.count, l.result.datatype, rank, disp,
                                              l.target.count, l.target.datatype, op, win, ureq);
    large_end(&l);
    return mpi_errno;
}
