/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Collectives on GPU buffers of processes on several nodes. The part of each node is a collective of
 * its own, which may do without messages (ch3u_gpudt_coll.c, ch3u_gpudt_move.c); between nodes, one
 * process of each calls MPICH's algorithms. By default MPICH takes all processes for alike, whatever
 * the node they are on, and sends what it can do without here.
 *
 * As on a node, the processes must agree, call by call: all do so if all have their data on a GPU. How
 * often they ask each other depends on what is the same in all of them, so that programs on the host
 * do not pay. */

#include "mpidimpl.h"
#include "mpidi_gpudt_coll_impl.h"
#include "gpudt_host.h"

/* Whether a process has its data on a GPU, and its node can do its part without messages.
 *   in   (IN)  MPI_IN_PLACE: what it gives is in out
 *   out  (IN)  NULL: it has no result */
static bool is_able(const MPIR_Comm * comm, const void *in, const void *out, MPI_Aint count,
                    MPI_Datatype datatype)
{
    bool answer = true;

    if (comm->node_comm && comm->node_comm->local_size > MPIR_GPUDT_COMBINE_MAX)
        return false;
    if (in != MPI_IN_PLACE &&
        (MPIR_Gpudt_ask(in, count, datatype, &answer) != MPI_SUCCESS || !answer))
        return false;
    if (out && MPIR_Gpudt_ask(out, count, datatype, &answer) != MPI_SUCCESS)
        return false;
    return answer;
}

/* Let the processes agree on whether to do a call by nodes.
 *   bytes      (IN)   the same in all processes
 *   in, out    (IN)   as of is_able
 *   is_agreed  (OUT)  the same in all processes */
static int ask(MPIR_Comm * comm, enum MPIDI_Gpudt_coll_e kind, uint64_t bytes, const void *in,
               const void *out, MPI_Aint count, MPI_Datatype datatype, MPIR_Errflag_t * errflag,
               bool * is_agreed)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_pace *pace = MPIDI_Gpudt_coll_pace_at(comm, kind, bytes);

    *is_agreed = false;
    if (likely(!MPIDI_Gpudt_coll_asks(pace)))
        goto fn_exit;
    *is_agreed = is_able(comm, in, out, count, datatype);
    mpi_errno = MPIDI_Gpudt_agree_all(comm, errflag, is_agreed);
    /* Each process that knows of an error returns it */
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_Gpudt_coll_pace_set(pace, *is_agreed);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Predefined operations are commutative, as the order of processes by nodes is another one. */
static int ask_reduction(MPIR_Comm * comm, enum MPIDI_Gpudt_coll_e kind, const void *in,
                         const void *out, MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                         MPIR_Errflag_t * errflag, bool * is_agreed)
{
    MPI_Aint size;

    *is_agreed = false;
    if (count == 0 || !HANDLE_IS_BUILTIN(op))
        return MPI_SUCCESS;
    MPIR_Datatype_get_size_macro(datatype, size);
    return ask(comm, kind, (uint64_t) (count * size), in, out, count, datatype, errflag, is_agreed);
}

bool MPIDI_Gpudt_nodes_allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                                 MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                                 MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    bool is_agreed;
    int mpi_errno = ask_reduction(comm, MPIDI_GPUDT_COLL__ALLREDUCE, sendbuf, recvbuf, count,
                                  datatype, op, errflag, &is_agreed);

    if (mpi_errno == MPI_SUCCESS && !is_agreed)
        return false;
    *mpi_errno_ptr = mpi_errno ? mpi_errno :
        MPIR_Allreduce_intra_smp(sendbuf, recvbuf, count, datatype, op, comm, errflag);
    return true;
}

bool MPIDI_Gpudt_nodes_reduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                              MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm * comm,
                              MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    bool is_agreed;
    int mpi_errno = ask_reduction(comm, MPIDI_GPUDT_COLL__REDUCE, sendbuf,
                                  comm->rank == root ? recvbuf : NULL, count, datatype, op,
                                  errflag, &is_agreed);

    if (mpi_errno == MPI_SUCCESS && !is_agreed)
        return false;
    *mpi_errno_ptr = mpi_errno ? mpi_errno :
        MPIR_Reduce_intra_smp(sendbuf, recvbuf, count, datatype, op, root, comm, errflag);
    return true;
}

/* Broadcast in a part of the communicator. A process whose earlier part has failed takes part as well,
 * as the others wait for it.
 *   mpi_errno_ptr  (IN/OUT)  the errors of all parts */
static void part_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                       MPIR_Comm * part, MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    int mpi_errno = MPIR_Bcast(buffer, count, datatype, root, part, errflag);

    if (mpi_errno) {
        *errflag = MPIX_ERR_PROC_FAILED == MPIR_ERR_GET_CLASS(mpi_errno) ?
            MPIR_ERR_PROC_FAILED : MPIR_ERR_OTHER;
        MPIR_ERR_ADD(*mpi_errno_ptr, mpi_errno);
    }
}

/* MPIR_Bcast_intra_smp does so for some sizes only. */
static int bcast_by_nodes(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                          MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS;
    const int on_node = MPIR_Get_intranode_rank(comm, root);    /* -1: on another node */

    /* On the root's node, the process that sends to the other ones gets the data first */
    if (comm->node_comm && on_node > 0)
        part_bcast(buffer, count, datatype, on_node, comm->node_comm, errflag, &mpi_errno);
    if (comm->node_roots_comm)
        part_bcast(buffer, count, datatype, MPIR_Get_internode_rank(comm, root),
                   comm->node_roots_comm, errflag, &mpi_errno);
    if (comm->node_comm && on_node <= 0)
        part_bcast(buffer, count, datatype, 0, comm->node_comm, errflag, &mpi_errno);
    return mpi_errno;
}

bool MPIDI_Gpudt_nodes_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                             uint64_t bytes, MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                             int *mpi_errno_ptr)
{
    bool is_agreed;
    int mpi_errno = ask(comm, MPIDI_GPUDT_COLL__BCAST, bytes, buffer, NULL, count, datatype,
                        errflag, &is_agreed);

    if (mpi_errno == MPI_SUCCESS && !is_agreed)
        return false;
    *mpi_errno_ptr = mpi_errno ? mpi_errno :
        bcast_by_nodes(buffer, count, datatype, root, comm, errflag);
    return true;
}
