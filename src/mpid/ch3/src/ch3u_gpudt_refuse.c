/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What a process sends that takes no part in a collective between GPUs of a node any more: empty
 * messages that carry its error, as MPICH's messages do after one, for all places where the others
 * may wait for it. It does not know which these are: an exchange that has failed here may have
 * succeeded there, and what they have learned decides how they go on. So it sends as many as they
 * could receive. What they send to it is not received: long messages wait until the communicator
 * is revoked.
 *
 * Messages that nobody receives stay where later ones with their tag in their communicator are
 * looked for, or in one that gets its context: a collective that finds one fails. The tag of a
 * nonblocking call is its own until the tags of the communicator begin anew. Those of blocking
 * calls are used by all, so that nothing is sent unless a process has died, with whom later ones
 * would fail as well. */

#include "mpidimpl.h"
#include "mpidi_gpudt_icoll.h"

/* Messages to another process at most, in a call among n processes: of one of MPICH's
 * algorithms, where rings send most, the blocks of all processes, after a reduction with three
 * messages between two; and of such an algorithm for each process that could not start its part. */
static int64_t of_algorithm(int n)
{
    return n + 3;
}

static int64_t of_parts(int n)
{
    return n * of_algorithm(n);
}

static void empty_send(MPIR_Comm * comm, int rank, int tag, int64_t n, MPIR_Errflag_t errflag)
{
    MPIR_Request *req;
    bool is_sent = true;

    for (int64_t i = 0; i < n && is_sent; i++) {
        if (MPIC_Isend(NULL, 0, MPI_BYTE, rank, tag, comm, &req, &errflag) != MPI_SUCCESS)
            break;
        /* The process may be the one that has died */
        is_sent = !MPIR_Request_is_complete(req) || req->status.MPI_ERROR == MPI_SUCCESS;
        MPIR_Request_free(req);
    }
}

/* Send n messages with a tag to a process, in the communicator of the node as well, which MPICH's
 * algorithms use: it has the same processes in the same order. */
static void refuse(MPIR_Comm * comm, int rank, int tag, int64_t n, int mpi_errno)
{
    const MPIR_Errflag_t errflag = MPIR_ERR_GET_CLASS(mpi_errno) == MPIX_ERR_PROC_FAILED ?
        MPIR_ERR_PROC_FAILED : MPIR_ERR_OTHER;

    empty_send(comm, rank, tag, n, errflag);
    if (comm->node_comm)
        empty_send(comm->node_comm, rank, tag, n, errflag);
}

static void refuse_all(MPIR_Comm * comm, int tag, int64_t n, int mpi_errno)
{
    for (int i = 0; i < comm->local_size; i++) {
        if (i != comm->rank)
            refuse(comm, i, tag, n, mpi_errno);
    }
}

/* ---- nonblocking calls ---- */

/* Messages of MPICH's ring of MPI_Iallgatherv to the next process, at most: all blocks, in
 * chunks. */
static int64_t ring_of_call(const struct MPIDI_Gpudt_vector *recv, int n)
{
    const MPI_Aint chunk = MPL_MAX(MPII_Allgatherv_chunk(recv->counts, n, recv->datatype), 1);
    int64_t messages = 0;

    for (int i = 0; i < n; i++)
        messages += (recv->counts[i] + chunk - 1) / chunk;
    return messages;
}

/* At most four exchanges come before MPICH's algorithm: two in which a process tells, how
 * buffers are mapped, and how that ended. */
void MPIDI_Gpudt_icall_refuse(const struct MPIDI_Gpudt_icall *call, int tag, int mpi_errno)
{
    const int n = call->comm->local_size, rank = call->comm->rank;

    refuse_all(call->comm, tag, 4 + of_parts(n), mpi_errno);
    if (call->kind == MPIDI_GPUDT_COLL__ALLGATHERV)
        refuse(call->comm, (rank + 1) % n, tag, ring_of_call(&call->recv, n), mpi_errno);
}

/* ---- blocking calls ---- */

/* Tags of the messages of a blocking call, beside those of allgathers: of the exchange of
 * offers, and of MPICH's algorithm. */
static const struct tags {
    int exchange, algorithm;
} tags[MPIDI_GPUDT_NCOLLS] = {
    [MPIDI_GPUDT_COLL__ALLREDUCE] = {MPIR_ALLGATHER_TAG, MPIR_ALLREDUCE_TAG},
    [MPIDI_GPUDT_COLL__REDUCE] = {MPIR_ALLGATHER_TAG, MPIR_REDUCE_TAG},
    [MPIDI_GPUDT_COLL__REDUCE_SCATTER_BLOCK] = {MPIR_ALLGATHER_TAG, MPIR_REDUCE_SCATTER_BLOCK_TAG},
    [MPIDI_GPUDT_COLL__REDUCE_SCATTER] = {MPIR_ALLGATHER_TAG, MPIR_REDUCE_SCATTER_TAG},
    [MPIDI_GPUDT_COLL__ALLGATHER] = {MPIR_ALLGATHER_TAG, MPIR_ALLGATHER_TAG},
    [MPIDI_GPUDT_COLL__BCAST] = {MPIR_BCAST_TAG, MPIR_BCAST_TAG},
    [MPIDI_GPUDT_COLL__ALLGATHER_TYPED] = {MPIR_ALLGATHER_TAG, MPIR_ALLGATHER_TAG},
    [MPIDI_GPUDT_COLL__ALLGATHERV] = {MPIR_ALLGATHER_TAG, MPIR_ALLGATHERV_TAG},
    [MPIDI_GPUDT_COLL__GATHER] = {MPIR_GATHERV_TAG, MPIR_GATHER_TAG},
    [MPIDI_GPUDT_COLL__GATHERV] = {MPIR_GATHERV_TAG, MPIR_GATHERV_TAG},
    [MPIDI_GPUDT_COLL__SCATTER] = {MPIR_SCATTERV_TAG, MPIR_SCATTER_TAG},
    [MPIDI_GPUDT_COLL__SCATTERV] = {MPIR_SCATTERV_TAG, MPIR_SCATTERV_TAG},
    [MPIDI_GPUDT_COLL__ALLTOALL] = {MPIR_ALLTOALL_TAG, MPIR_ALLTOALL_TAG},
    [MPIDI_GPUDT_COLL__ALLTOALLV] = {MPIR_ALLTOALL_TAG, MPIR_ALLTOALLV_TAG},
    [MPIDI_GPUDT_COLL__ALLTOALLW] = {MPIR_ALLTOALL_TAG, MPIR_ALLTOALLW_TAG},
    [MPIDI_GPUDT_COLL__ALLTOALL_WRITTEN] = {MPIR_ALLGATHER_TAG, MPIR_ALLTOALL_TAG},
    [MPIDI_GPUDT_COLL__BCAST_LONG] = {MPIR_ALLGATHER_TAG, MPIR_BCAST_TAG}
};

/* If a process had died before the call, its exchanges fail in all processes. If it died in one
 * of them, the others may go on. */
static bool is_to_refuse(int mpi_errno)
{
    return MPIR_ERR_GET_CLASS(mpi_errno) == MPIX_ERR_PROC_FAILED;
}

static void blocking_refuse(MPIR_Comm * comm, enum MPIDI_Gpudt_coll_e kind, int mpi_errno)
{
    const int n = comm->local_size;

    /* Allgathers: two exchanges, and the algorithm */
    refuse_all(comm, MPIR_ALLGATHER_TAG, 3 * n, mpi_errno);
    refuse_all(comm, tags[kind].exchange, n, mpi_errno);
    refuse_all(comm, tags[kind].algorithm, of_algorithm(n), mpi_errno);
    refuse_all(comm, MPIDI_GPUDT_PARTS_TAG, of_parts(n), mpi_errno);
}

void MPIDI_Gpudt_coll_refuse(const struct MPIDI_Gpudt_coll_call *c, int mpi_errno)
{
    if (is_to_refuse(mpi_errno))
        blocking_refuse(c->comm, c->kind, mpi_errno);
}

static int64_t bytes_of(const struct MPIDI_Gpudt_block *b)
{
    return MPIDI_Gpudt_bytes_of(b->count, b->datatype);
}

/* Messages of MPICH's ring of MPI_Allgatherv to the next process, at most: all blocks, in chunks
 * of more than half of the pipeline's size. */
static int64_t ring_of_move(const struct MPIDI_Gpudt_move *m)
{
    const int64_t half = MPL_MAX(MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE / 2, 1);
    int64_t messages = bytes_of(&m->send[0]) / half + 1;

    for (int i = 0; i < m->comm->local_size; i++)
        messages += bytes_of(&m->recv[i]) / half + 1;
    return messages;
}

void MPIDI_Gpudt_move_refuse(const struct MPIDI_Gpudt_move *m, enum MPIDI_Gpudt_coll_e kind,
                             int mpi_errno)
{
    if (!is_to_refuse(mpi_errno))
        return;
    blocking_refuse(m->comm, kind, mpi_errno);
    if (kind == MPIDI_GPUDT_COLL__ALLGATHERV)
        refuse(m->comm, (m->comm->rank + 1) % m->comm->local_size, tags[kind].algorithm,
               ring_of_move(m), mpi_errno);
}
