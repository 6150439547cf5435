/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Collectives on GPU memory among processes of one node, without messages for the data: the interface
 * for MPICH's own files of ch3 (ch3u_gpudt_coll.c, ch3u_gpudt_icalls.c, ch3u_gpudt_pcoll.c). */

#ifndef MPIDI_GPUDT_COLL_H_INCLUDED
#define MPIDI_GPUDT_COLL_H_INCLUDED

#include <stdbool.h>

/* Whether calls of a communicator may be done in one of the ways below at all, as far as is known; the same in
 * all processes. On a node without a GPU, calls pay for nothing else once a blocking one has asked. */
static inline bool MPIDI_Gpudt_coll_may_ask(const MPIR_Comm * comm)
{
    return unlikely(comm->dev.gpudt_coll.place != MPIDI_GPUDT_COLL__FAR);
}

/* Do a collective: in one of the ways below if all processes of the communicator have their buffers on GPUs
 * of one node and can map each other's, or else by MPICH's algorithms. The arguments are those of the MPIR
 * functions of these names. */
int MPIDI_Gpudt_allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                          MPI_Op op, MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_Gpudt_reduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                       MPI_Op op, int root, MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_Gpudt_reduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Aint recvcount,
                                     MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                                     MPIR_Errflag_t * errflag);
int MPIDI_Gpudt_reduce_scatter(const void *sendbuf, void *recvbuf, const MPI_Aint recvcounts[],
                               MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                               MPIR_Errflag_t * errflag);
int MPIDI_Gpudt_allgather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                          MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_Gpudt_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                      MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_Gpudt_allgatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                           void *recvbuf, const MPI_Aint * recvcounts, const MPI_Aint * displs,
                           MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_Gpudt_gather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                       void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                       MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_Gpudt_gatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                        void *recvbuf, const MPI_Aint * recvcounts, const MPI_Aint * displs,
                        MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                        MPIR_Errflag_t * errflag);
int MPIDI_Gpudt_scatter(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                        void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                        MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_Gpudt_scatterv(const void *sendbuf, const MPI_Aint * sendcounts, const MPI_Aint * displs,
                         MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                         MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                         MPIR_Errflag_t * errflag);
int MPIDI_Gpudt_alltoall(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                         void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, MPIR_Comm * comm,
                         MPIR_Errflag_t * errflag);
int MPIDI_Gpudt_alltoallv(const void *sendbuf, const MPI_Aint * sendcounts,
                          const MPI_Aint * sdispls, MPI_Datatype sendtype, void *recvbuf,
                          const MPI_Aint * recvcounts, const MPI_Aint * rdispls,
                          MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_Gpudt_alltoallw(const void *sendbuf, const MPI_Aint sendcounts[],
                          const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
                          const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                          const MPI_Datatype recvtypes[], MPIR_Comm * comm,
                          MPIR_Errflag_t * errflag);

/* What is done with a call that is nonblocking or persistent, as described by its arguments.
 *   request        (IN/OUT)  as said at the functions of this type
 *   mpi_errno_ptr  (OUT)     the error; untouched where false is returned */
struct MPIDI_Gpudt_icall;
typedef bool (MPIDI_Gpudt_call_fn) (const struct MPIDI_Gpudt_icall * call, MPIR_Request ** request,
                                    int *mpi_errno_ptr);

/* Start a nonblocking call, if it may be done in this way. If the processes find out later that they
 * cannot do it, it goes on by MPICH's algorithm.
 *   request  (OUT)  as of MPIR_Iallreduce and so on
 * Returns false if MPICH's algorithm is to be started at once, as in all processes. */
bool MPIDI_Gpudt_icall_start(const struct MPIDI_Gpudt_icall *call, MPIR_Request ** request,
                             int *mpi_errno_ptr);

/* Keep a persistent call with its request, if starts of it may be done in this way
 * (ch3u_gpudt_pcoll.c).
 *   request  (IN/OUT)  the persistent request, with a schedule of MPICH's; freed and NULL on failure
 * Returns whether it failed. */
bool MPIDI_Gpudt_pcoll_make(const struct MPIDI_Gpudt_icall *call, MPIR_Request ** request,
                            int *mpi_errno_ptr);

/* Start a persistent collective.
 *   req            (IN/OUT)  its inactive request
 *   mpi_errno_ptr  (OUT)     the error; untouched where false is returned
 * Returns false if MPICH's schedule is to be started, as in all processes. */
bool MPIDI_Gpudt_pcoll_start(MPIR_Request * req, int *mpi_errno_ptr);

/* Release what a persistent request has, active or not. It is about to be freed, as is its schedule. */
void MPIDI_Gpudt_pcoll_free(MPIR_Request * req);

/* Describe a call, and pass it to `start` if the processes may do it in this way at all; else return
 * false. The arguments are those of MPIR_Iallreduce and so on. */
bool MPIDI_Gpudt_call_allreduce(MPIDI_Gpudt_call_fn * start, const void *sendbuf, void *recvbuf,
                                MPI_Aint count, MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                                MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_call_reduce(MPIDI_Gpudt_call_fn * start, const void *sendbuf, void *recvbuf,
                             MPI_Aint count, MPI_Datatype datatype, MPI_Op op, int root,
                             MPIR_Comm * comm, MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_call_reduce_scatter_block(MPIDI_Gpudt_call_fn * start, const void *sendbuf,
                                           void *recvbuf, MPI_Aint recvcount, MPI_Datatype datatype,
                                           MPI_Op op, MPIR_Comm * comm, MPIR_Request ** request,
                                           int *mpi_errno_ptr);
bool MPIDI_Gpudt_call_reduce_scatter(MPIDI_Gpudt_call_fn * start, const void *sendbuf,
                                     void *recvbuf, const MPI_Aint recvcounts[],
                                     MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                                     MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_call_bcast(MPIDI_Gpudt_call_fn * start, void *buffer, MPI_Aint count,
                            MPI_Datatype datatype, int root, MPIR_Comm * comm,
                            MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_call_allgather(MPIDI_Gpudt_call_fn * start, const void *sendbuf,
                                MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                                MPI_Aint recvcount, MPI_Datatype recvtype, MPIR_Comm * comm,
                                MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_call_allgatherv(MPIDI_Gpudt_call_fn * start, const void *sendbuf,
                                 MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                                 const MPI_Aint * recvcounts, const MPI_Aint * displs,
                                 MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Request ** request,
                                 int *mpi_errno_ptr);
bool MPIDI_Gpudt_call_gather(MPIDI_Gpudt_call_fn * start, const void *sendbuf, MPI_Aint sendcount,
                             MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                             MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                             MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_call_gatherv(MPIDI_Gpudt_call_fn * start, const void *sendbuf, MPI_Aint sendcount,
                              MPI_Datatype sendtype, void *recvbuf, const MPI_Aint * recvcounts,
                              const MPI_Aint * displs, MPI_Datatype recvtype, int root,
                              MPIR_Comm * comm, MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_call_scatter(MPIDI_Gpudt_call_fn * start, const void *sendbuf, MPI_Aint sendcount,
                              MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                              MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                              MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_call_scatterv(MPIDI_Gpudt_call_fn * start, const void *sendbuf,
                               const MPI_Aint * sendcounts, const MPI_Aint * displs,
                               MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                               MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                               MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_call_alltoall(MPIDI_Gpudt_call_fn * start, const void *sendbuf, MPI_Aint sendcount,
                               MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                               MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Request ** request,
                               int *mpi_errno_ptr);
bool MPIDI_Gpudt_call_alltoallv(MPIDI_Gpudt_call_fn * start, const void *sendbuf,
                                const MPI_Aint * sendcounts, const MPI_Aint * sdispls,
                                MPI_Datatype sendtype, void *recvbuf, const MPI_Aint * recvcounts,
                                const MPI_Aint * rdispls, MPI_Datatype recvtype, MPIR_Comm * comm,
                                MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_call_alltoallw(MPIDI_Gpudt_call_fn * start, const void *sendbuf,
                                const MPI_Aint sendcounts[], const MPI_Aint sdispls[],
                                const MPI_Datatype sendtypes[], void *recvbuf,
                                const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                                const MPI_Datatype recvtypes[], MPIR_Comm * comm,
                                MPIR_Request ** request, int *mpi_errno_ptr);

/* Nonblocking calls and persistent ones. The arguments are those of the MPIR functions of these names
 * but for the info; and, last, where to put the error. */
#define MPIDI_Gpudt_iallreduce(...) MPIDI_Gpudt_call_allreduce(MPIDI_Gpudt_icall_start, __VA_ARGS__)
#define MPIDI_Gpudt_allreduce_init(...) \
    MPIDI_Gpudt_call_allreduce(MPIDI_Gpudt_pcoll_make, __VA_ARGS__)
#define MPIDI_Gpudt_ireduce(...) MPIDI_Gpudt_call_reduce(MPIDI_Gpudt_icall_start, __VA_ARGS__)
#define MPIDI_Gpudt_reduce_init(...) MPIDI_Gpudt_call_reduce(MPIDI_Gpudt_pcoll_make, __VA_ARGS__)
#define MPIDI_Gpudt_ireduce_scatter_block(...) \
    MPIDI_Gpudt_call_reduce_scatter_block(MPIDI_Gpudt_icall_start, __VA_ARGS__)
#define MPIDI_Gpudt_reduce_scatter_block_init(...) \
    MPIDI_Gpudt_call_reduce_scatter_block(MPIDI_Gpudt_pcoll_make, __VA_ARGS__)
#define MPIDI_Gpudt_ireduce_scatter(...) \
    MPIDI_Gpudt_call_reduce_scatter(MPIDI_Gpudt_icall_start, __VA_ARGS__)
#define MPIDI_Gpudt_reduce_scatter_init(...) \
    MPIDI_Gpudt_call_reduce_scatter(MPIDI_Gpudt_pcoll_make, __VA_ARGS__)
#define MPIDI_Gpudt_ibcast(...) MPIDI_Gpudt_call_bcast(MPIDI_Gpudt_icall_start, __VA_ARGS__)
#define MPIDI_Gpudt_bcast_init(...) MPIDI_Gpudt_call_bcast(MPIDI_Gpudt_pcoll_make, __VA_ARGS__)
#define MPIDI_Gpudt_iallgather(...) MPIDI_Gpudt_call_allgather(MPIDI_Gpudt_icall_start, __VA_ARGS__)
#define MPIDI_Gpudt_allgather_init(...) \
    MPIDI_Gpudt_call_allgather(MPIDI_Gpudt_pcoll_make, __VA_ARGS__)
#define MPIDI_Gpudt_iallgatherv(...) \
    MPIDI_Gpudt_call_allgatherv(MPIDI_Gpudt_icall_start, __VA_ARGS__)
#define MPIDI_Gpudt_allgatherv_init(...) \
    MPIDI_Gpudt_call_allgatherv(MPIDI_Gpudt_pcoll_make, __VA_ARGS__)
#define MPIDI_Gpudt_igather(...) MPIDI_Gpudt_call_gather(MPIDI_Gpudt_icall_start, __VA_ARGS__)
#define MPIDI_Gpudt_gather_init(...) MPIDI_Gpudt_call_gather(MPIDI_Gpudt_pcoll_make, __VA_ARGS__)
#define MPIDI_Gpudt_igatherv(...) MPIDI_Gpudt_call_gatherv(MPIDI_Gpudt_icall_start, __VA_ARGS__)
#define MPIDI_Gpudt_gatherv_init(...) MPIDI_Gpudt_call_gatherv(MPIDI_Gpudt_pcoll_make, __VA_ARGS__)
#define MPIDI_Gpudt_iscatter(...) MPIDI_Gpudt_call_scatter(MPIDI_Gpudt_icall_start, __VA_ARGS__)
#define MPIDI_Gpudt_scatter_init(...) MPIDI_Gpudt_call_scatter(MPIDI_Gpudt_pcoll_make, __VA_ARGS__)
#define MPIDI_Gpudt_iscatterv(...) MPIDI_Gpudt_call_scatterv(MPIDI_Gpudt_icall_start, __VA_ARGS__)
#define MPIDI_Gpudt_scatterv_init(...) \
    MPIDI_Gpudt_call_scatterv(MPIDI_Gpudt_pcoll_make, __VA_ARGS__)
#define MPIDI_Gpudt_ialltoall(...) MPIDI_Gpudt_call_alltoall(MPIDI_Gpudt_icall_start, __VA_ARGS__)
#define MPIDI_Gpudt_alltoall_init(...) \
    MPIDI_Gpudt_call_alltoall(MPIDI_Gpudt_pcoll_make, __VA_ARGS__)
#define MPIDI_Gpudt_ialltoallv(...) MPIDI_Gpudt_call_alltoallv(MPIDI_Gpudt_icall_start, __VA_ARGS__)
#define MPIDI_Gpudt_alltoallv_init(...) \
    MPIDI_Gpudt_call_alltoallv(MPIDI_Gpudt_pcoll_make, __VA_ARGS__)
#define MPIDI_Gpudt_ialltoallw(...) MPIDI_Gpudt_call_alltoallw(MPIDI_Gpudt_icall_start, __VA_ARGS__)
#define MPIDI_Gpudt_alltoallw_init(...) \
    MPIDI_Gpudt_call_alltoallw(MPIDI_Gpudt_pcoll_make, __VA_ARGS__)

#endif /* MPIDI_GPUDT_COLL_H_INCLUDED */
