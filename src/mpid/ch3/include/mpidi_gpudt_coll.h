/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Collectives on GPU memory among processes of one node, without messages for the data: the interface
 * for MPICH's own files of ch3 (ch3u_gpudt_coll.c, ch3u_gpudt_icalls.c). */

#ifndef MPIDI_GPUDT_COLL_H_INCLUDED
#define MPIDI_GPUDT_COLL_H_INCLUDED

#include <stdbool.h>

/* Do a collective, if all processes of the communicator have their buffers on GPUs of one node and
 * can map each other's. The arguments are those of the MPIR functions of these names.
 *   mpi_errno_ptr  (OUT)  the error; untouched where false is returned
 * Return whether it was done, or failed; the same in all processes. */
bool MPIDI_Gpudt_allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                           MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                           MPIR_Errflag_t * errflag, int *mpi_errno_ptr);
bool MPIDI_Gpudt_reduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                        MPI_Op op, int root, MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                        int *mpi_errno_ptr);
bool MPIDI_Gpudt_reduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Aint recvcount,
                                      MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                                      MPIR_Errflag_t * errflag, int *mpi_errno_ptr);
bool MPIDI_Gpudt_reduce_scatter(const void *sendbuf, void *recvbuf, const MPI_Aint recvcounts[],
                                MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                                MPIR_Errflag_t * errflag, int *mpi_errno_ptr);
bool MPIDI_Gpudt_allgather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                           void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                           MPIR_Comm * comm, MPIR_Errflag_t * errflag, int *mpi_errno_ptr);
bool MPIDI_Gpudt_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                       MPIR_Comm * comm, MPIR_Errflag_t * errflag, int *mpi_errno_ptr);
bool MPIDI_Gpudt_allgatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                            void *recvbuf, const MPI_Aint * recvcounts, const MPI_Aint * displs,
                            MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                            int *mpi_errno_ptr);
bool MPIDI_Gpudt_gather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                        void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                        MPIR_Comm * comm, MPIR_Errflag_t * errflag, int *mpi_errno_ptr);
bool MPIDI_Gpudt_gatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                         void *recvbuf, const MPI_Aint * recvcounts, const MPI_Aint * displs,
                         MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                         MPIR_Errflag_t * errflag, int *mpi_errno_ptr);
bool MPIDI_Gpudt_scatter(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                         void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                         MPIR_Comm * comm, MPIR_Errflag_t * errflag, int *mpi_errno_ptr);
bool MPIDI_Gpudt_scatterv(const void *sendbuf, const MPI_Aint * sendcounts,
                          const MPI_Aint * displs, MPI_Datatype sendtype, void *recvbuf,
                          MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                          MPIR_Errflag_t * errflag, int *mpi_errno_ptr);
bool MPIDI_Gpudt_alltoall(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                          MPIR_Comm * comm, MPIR_Errflag_t * errflag, int *mpi_errno_ptr);
bool MPIDI_Gpudt_alltoallv(const void *sendbuf, const MPI_Aint * sendcounts,
                           const MPI_Aint * sdispls, MPI_Datatype sendtype, void *recvbuf,
                           const MPI_Aint * recvcounts, const MPI_Aint * rdispls,
                           MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                           int *mpi_errno_ptr);
bool MPIDI_Gpudt_alltoallw(const void *sendbuf, const MPI_Aint sendcounts[],
                           const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
                           const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                           const MPI_Datatype recvtypes[], MPIR_Comm * comm,
                           MPIR_Errflag_t * errflag, int *mpi_errno_ptr);

/* The same for nonblocking collectives. One of which the processes find out later that they cannot do
 * it goes on by MPICH's algorithm.
 *   request  (OUT)  as of the MPIR functions of these names
 * Return false if MPICH's algorithm is to be started at once, as in all processes. */
bool MPIDI_Gpudt_iallreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                            MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                            MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_ireduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                         MPI_Op op, int root, MPIR_Comm * comm, MPIR_Request ** request,
                         int *mpi_errno_ptr);
bool MPIDI_Gpudt_ireduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Aint recvcount,
                                       MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                                       MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_ireduce_scatter(const void *sendbuf, void *recvbuf, const MPI_Aint recvcounts[],
                                 MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                                 MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_ibcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                        MPIR_Comm * comm, MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_iallgather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                            void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                            MPIR_Comm * comm, MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_iallgatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void *recvbuf, const MPI_Aint * recvcounts, const MPI_Aint * displs,
                             MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Request ** request,
                             int *mpi_errno_ptr);
bool MPIDI_Gpudt_igather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                         void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                         MPIR_Comm * comm, MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_igatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, const MPI_Aint * recvcounts, const MPI_Aint * displs,
                          MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                          MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_iscatter(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                          MPIR_Comm * comm, MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_iscatterv(const void *sendbuf, const MPI_Aint * sendcounts,
                           const MPI_Aint * displs, MPI_Datatype sendtype, void *recvbuf,
                           MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                           MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_ialltoall(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                           void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                           MPIR_Comm * comm, MPIR_Request ** request, int *mpi_errno_ptr);
bool MPIDI_Gpudt_ialltoallv(const void *sendbuf, const MPI_Aint * sendcounts,
                            const MPI_Aint * sdispls, MPI_Datatype sendtype, void *recvbuf,
                            const MPI_Aint * recvcounts, const MPI_Aint * rdispls,
                            MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Request ** request,
                            int *mpi_errno_ptr);
bool MPIDI_Gpudt_ialltoallw(const void *sendbuf, const MPI_Aint sendcounts[],
                            const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                            void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                            const MPI_Datatype recvtypes[], MPIR_Comm * comm,
                            MPIR_Request ** request, int *mpi_errno_ptr);

#endif /* MPIDI_GPUDT_COLL_H_INCLUDED */
