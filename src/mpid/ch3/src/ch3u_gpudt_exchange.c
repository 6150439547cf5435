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

    /* One that fails because of what has already arrived is complete: to be released as others
     * are */
    x->recv[rank] = mpi_errno && req && !MPIR_Request_is_complete(req) ? NULL : req;
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

/* Release a request if it is complete.
 *   is_recv  (IN)  whether its tag may say that the sender has failed
 * Returns whether it was, or there was none. */
static bool request_test(struct MPIDI_Gpudt_exchange *x, MPIR_Request ** req, bool is_recv)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    int mpi_errno;

    if (*req == NULL)
        return true;
    if (!MPIR_Request_is_complete(*req))
        return false;
    mpi_errno = (*req)->status.MPI_ERROR;
    if (is_recv)
        MPIR_Process_status(&(*req)->status, &errflag);
    if (mpi_errno == MPI_SUCCESS && errflag != MPIR_ERR_NONE)
        MPIR_ERR_SET(mpi_errno, errflag == MPIR_ERR_PROC_FAILED ? MPIX_ERR_PROC_FAILED :
                     MPI_ERR_OTHER, "**comm");
    error_note(x, mpi_errno);
    MPIR_Request_free(*req);
    *req = NULL;
    return true;
}

bool MPIDI_Gpudt_exchange_test(struct MPIDI_Gpudt_exchange *x)
{
    bool has_ended = true;

    for (int i = 0; i < MPIR_GPUDT_COMBINE_MAX; i++) {
        has_ended &= request_test(x, &x->recv[i], true);
        has_ended &= request_test(x, &x->send[i], false);
    }
    return has_ended;
}
