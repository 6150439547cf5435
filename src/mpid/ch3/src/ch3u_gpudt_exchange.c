/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What the processes of a nonblocking collective between GPUs of a node tell each other: each
 * sends to each. All of it has the tag of the call, and is received in the order in which it is
 * sent. */

#include "mpidimpl.h"
#include "mpidi_gpudt_icoll.h"

void MPIDI_Gpudt_exchange_begin(struct MPIDI_Gpudt_exchange *x)
{
    memset(x, 0, sizeof(*x));
}

static void error_note(struct MPIDI_Gpudt_exchange *x, int mpi_errno)
{
    if (x->mpi_errno == MPI_SUCCESS)
        x->mpi_errno = mpi_errno;
}

void MPIDI_Gpudt_exchange_recv(struct MPIDI_Gpudt_exchange *x, MPIR_Comm * comm, int tag, int rank,
                               void *mem, int sz)
{
    MPIR_Request *req = NULL;
    int mpi_errno = MPIC_Irecv(mem, sz, MPI_BYTE, rank, tag, comm, &req);

    x->recv[rank] = mpi_errno ? NULL : req;
    x->recv_sz[rank] = sz;
    error_note(x, mpi_errno);
}

void MPIDI_Gpudt_exchange_send(struct MPIDI_Gpudt_exchange *x, MPIR_Comm * comm, int tag, int rank,
                               const void *mem, int sz)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    int mpi_errno = MPIC_Isend(mem, sz, MPI_BYTE, rank, tag, comm, &x->send[rank], &errflag);

    if (mpi_errno)
        x->send[rank] = NULL;
    error_note(x, mpi_errno);
}

void MPIDI_Gpudt_exchange_all(struct MPIDI_Gpudt_exchange *x, MPIR_Comm * comm, int tag,
                              const void *own, int sz, void *all)
{
    MPIDI_Gpudt_exchange_begin(x);
    for (int i = 0; i < comm->local_size; i++) {
        if (i == comm->rank) {
            memcpy((char *) all + i * sz, own, sz);
        } else {
            MPIDI_Gpudt_exchange_recv(x, comm, tag, i, (char *) all + i * sz, sz);
            MPIDI_Gpudt_exchange_send(x, comm, tag, i, own, sz);
        }
    }
}

/* The error of a message that has arrived. */
static int recv_error(const struct MPIDI_Gpudt_exchange *x, MPIR_Request * req, int rank)
{
    int mpi_errno = req->status.MPI_ERROR;
    const int sz = (int) MPIR_STATUS_GET_COUNT(req->status);
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;

    MPIR_Process_status(&req->status, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP1(errflag != MPIR_ERR_NONE, mpi_errno, errflag == MPIR_ERR_PROC_FAILED ?
                         MPIX_ERR_PROC_FAILED : MPI_ERR_OTHER, "**gpudt_combine",
                         "**gpudt_combine %d", rank);
    /* A longer one is cut off, which is an error */
    MPIR_ERR_CHKANDJUMP3(sz != x->recv_sz[rank], mpi_errno, MPI_ERR_OTHER, "**gpudt_told",
                         "**gpudt_told %d %d %d", rank, sz, x->recv_sz[rank]);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Whether there is no request, or it is complete, and has been released. */
static bool request_test(struct MPIDI_Gpudt_exchange *x, MPIR_Request ** req, int rank)
{
    if (*req == NULL)
        return true;
    if (!MPIR_Request_is_complete(*req))
        return false;
    error_note(x, req == &x->recv[rank] ? recv_error(x, *req, rank) : (*req)->status.MPI_ERROR);
    MPIR_Request_free(*req);
    *req = NULL;
    return true;
}

bool MPIDI_Gpudt_exchange_test(struct MPIDI_Gpudt_exchange *x)
{
    bool has_ended = true;

    for (int i = 0; i < MPIR_GPUDT_COMBINE_MAX; i++) {
        has_ended &= request_test(x, &x->recv[i], i);
        has_ended &= request_test(x, &x->send[i], i);
    }
    return has_ended;
}
