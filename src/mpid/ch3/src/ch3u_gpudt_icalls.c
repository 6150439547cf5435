/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The nonblocking and persistent collectives that may be done between GPUs of a node; see
 * mpidi_gpudt_coll.h. In place, an all-to-all would overwrite what others are to read, and the
 * result of a reduce-scatter operands of other processes' parts. */

#include "mpidimpl.h"
#include "mpidi_gpudt_icoll.h"

/* Whether MPICH chooses the algorithm by itself, as in all processes: one that takes several
 * tags could not be started with the tag of the call. */
#define MAY_START(NAME_)                                                                    \
    (MPIR_CVAR_##NAME_##_INTRA_ALGORITHM == MPIR_CVAR_##NAME_##_INTRA_ALGORITHM_auto &&     \
     MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE[0] == '\0')

bool MPIDI_Gpudt_call_allreduce(MPIDI_Gpudt_call_fn * start, const void *sendbuf, void *recvbuf,
                                MPI_Aint count, MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                                MPIR_Request ** request, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_icall call = {
        .kind = MPIDI_GPUDT_COLL__ALLREDUCE,.op = op,.root = -1,.comm = comm,
        .send = {.buf = sendbuf,.datatype = MPI_BYTE},
        .recv = {.buf = recvbuf,.count = count,.datatype = datatype}
    };

    return MAY_START(IALLREDUCE) && start(&call, request, mpi_errno_ptr);
}

bool MPIDI_Gpudt_call_reduce(MPIDI_Gpudt_call_fn * start, const void *sendbuf, void *recvbuf,
                             MPI_Aint count, MPI_Datatype datatype, MPI_Op op, int root,
                             MPIR_Comm * comm, MPIR_Request ** request, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_icall call = {
        .kind = MPIDI_GPUDT_COLL__REDUCE,.op = op,.root = root,.comm = comm,
        .send = {.buf = sendbuf,.datatype = MPI_BYTE},
        .recv = {.buf = recvbuf,.count = count,.datatype = datatype}
    };

    return MAY_START(IREDUCE) && start(&call, request, mpi_errno_ptr);
}

bool MPIDI_Gpudt_call_reduce_scatter_block(MPIDI_Gpudt_call_fn * start, const void *sendbuf,
                                           void *recvbuf, MPI_Aint recvcount, MPI_Datatype datatype,
                                           MPI_Op op, MPIR_Comm * comm, MPIR_Request ** request,
                                           int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_icall call = {
        .kind = MPIDI_GPUDT_COLL__REDUCE_SCATTER_BLOCK,.op = op,.root = -1,.comm = comm,
        .send = {.buf = sendbuf,.datatype = MPI_BYTE},
        .recv = {.buf = recvbuf,.count = recvcount,.datatype = datatype}
    };

    return MAY_START(IREDUCE_SCATTER_BLOCK) && sendbuf != MPI_IN_PLACE &&
        start(&call, request, mpi_errno_ptr);
}

bool MPIDI_Gpudt_call_reduce_scatter(MPIDI_Gpudt_call_fn * start, const void *sendbuf,
                                     void *recvbuf, const MPI_Aint recvcounts[],
                                     MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                                     MPIR_Request ** request, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_icall call = {
        .kind = MPIDI_GPUDT_COLL__REDUCE_SCATTER,.op = op,.root = -1,.comm = comm,
        .send = {.buf = sendbuf,.datatype = MPI_BYTE},
        .recv = {.buf = recvbuf,.counts = recvcounts,.datatype = datatype}
    };

    return MAY_START(IREDUCE_SCATTER) && start(&call, request, mpi_errno_ptr);
}

bool MPIDI_Gpudt_call_bcast(MPIDI_Gpudt_call_fn * start, void *buffer, MPI_Aint count,
                            MPI_Datatype datatype, int root, MPIR_Comm * comm,
                            MPIR_Request ** request, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_icall call = {
        .kind = MPIDI_GPUDT_COLL__BCAST,.root = root,.comm = comm,
        .send = {.buf = buffer,.count = count,.datatype = datatype},
        .recv = {.buf = buffer,.count = count,.datatype = datatype}
    };

    return MAY_START(IBCAST) && start(&call, request, mpi_errno_ptr);
}

bool MPIDI_Gpudt_call_allgather(MPIDI_Gpudt_call_fn * start, const void *sendbuf,
                                MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                                MPI_Aint recvcount, MPI_Datatype recvtype, MPIR_Comm * comm,
                                MPIR_Request ** request, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_icall call = {
        .kind = MPIDI_GPUDT_COLL__ALLGATHER,.root = -1,.comm = comm,
        .send = {.buf = sendbuf,.count = sendcount,.datatype = sendtype},
        .recv = {.buf = recvbuf,.count = recvcount,.datatype = recvtype}
    };

    return MAY_START(IALLGATHER) && start(&call, request, mpi_errno_ptr);
}

bool MPIDI_Gpudt_call_allgatherv(MPIDI_Gpudt_call_fn * start, const void *sendbuf,
                                 MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                                 const MPI_Aint * recvcounts, const MPI_Aint * displs,
                                 MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Request ** request,
                                 int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_icall call = {
        .kind = MPIDI_GPUDT_COLL__ALLGATHERV,.root = -1,.comm = comm,
        .send = {.buf = sendbuf,.count = sendcount,.datatype = sendtype},
        .recv = {.buf = recvbuf,.counts = recvcounts,.displs = displs,.datatype = recvtype}
    };

    return MAY_START(IALLGATHERV) && start(&call, request, mpi_errno_ptr);
}

bool MPIDI_Gpudt_call_gather(MPIDI_Gpudt_call_fn * start, const void *sendbuf, MPI_Aint sendcount,
                             MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                             MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                             MPIR_Request ** request, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_icall call = {
        .kind = MPIDI_GPUDT_COLL__GATHER,.root = root,.comm = comm,
        .send = {.buf = sendbuf,.count = sendcount,.datatype = sendtype},
        .recv = {.buf = recvbuf,.count = recvcount,.datatype = recvtype}
    };

    return MAY_START(IGATHER) && start(&call, request, mpi_errno_ptr);
}

bool MPIDI_Gpudt_call_gatherv(MPIDI_Gpudt_call_fn * start, const void *sendbuf, MPI_Aint sendcount,
                              MPI_Datatype sendtype, void *recvbuf, const MPI_Aint * recvcounts,
                              const MPI_Aint * displs, MPI_Datatype recvtype, int root,
                              MPIR_Comm * comm, MPIR_Request ** request, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_icall call = {
        .kind = MPIDI_GPUDT_COLL__GATHERV,.root = root,.comm = comm,
        .send = {.buf = sendbuf,.count = sendcount,.datatype = sendtype},
        .recv = {.buf = recvbuf,.counts = recvcounts,.displs = displs,.datatype = recvtype}
    };

    return MAY_START(IGATHERV) && start(&call, request, mpi_errno_ptr);
}

bool MPIDI_Gpudt_call_scatter(MPIDI_Gpudt_call_fn * start, const void *sendbuf, MPI_Aint sendcount,
                              MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                              MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                              MPIR_Request ** request, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_icall call = {
        .kind = MPIDI_GPUDT_COLL__SCATTER,.root = root,.comm = comm,
        .send = {.buf = sendbuf,.count = sendcount,.datatype = sendtype},
        .recv = {.buf = recvbuf,.count = recvcount,.datatype = recvtype}
    };

    return MAY_START(ISCATTER) && start(&call, request, mpi_errno_ptr);
}

bool MPIDI_Gpudt_call_scatterv(MPIDI_Gpudt_call_fn * start, const void *sendbuf,
                               const MPI_Aint * sendcounts, const MPI_Aint * displs,
                               MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                               MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                               MPIR_Request ** request, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_icall call = {
        .kind = MPIDI_GPUDT_COLL__SCATTERV,.root = root,.comm = comm,
        .send = {.buf = sendbuf,.counts = sendcounts,.displs = displs,.datatype = sendtype},
        .recv = {.buf = recvbuf,.count = recvcount,.datatype = recvtype}
    };

    return MAY_START(ISCATTERV) && start(&call, request, mpi_errno_ptr);
}

bool MPIDI_Gpudt_call_alltoall(MPIDI_Gpudt_call_fn * start, const void *sendbuf, MPI_Aint sendcount,
                               MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                               MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Request ** request,
                               int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_icall call = {
        .kind = MPIDI_GPUDT_COLL__ALLTOALL,.root = -1,.comm = comm,
        .send = {.buf = sendbuf,.count = sendcount,.datatype = sendtype},
        .recv = {.buf = recvbuf,.count = recvcount,.datatype = recvtype}
    };

    return MAY_START(IALLTOALL) && sendbuf != MPI_IN_PLACE &&
        start(&call, request, mpi_errno_ptr);
}

bool MPIDI_Gpudt_call_alltoallv(MPIDI_Gpudt_call_fn * start, const void *sendbuf,
                                const MPI_Aint * sendcounts, const MPI_Aint * sdispls,
                                MPI_Datatype sendtype, void *recvbuf, const MPI_Aint * recvcounts,
                                const MPI_Aint * rdispls, MPI_Datatype recvtype, MPIR_Comm * comm,
                                MPIR_Request ** request, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_icall call = {
        .kind = MPIDI_GPUDT_COLL__ALLTOALLV,.root = -1,.comm = comm,
        .send = {.buf = sendbuf,.counts = sendcounts,.displs = sdispls,.datatype = sendtype},
        .recv = {.buf = recvbuf,.counts = recvcounts,.displs = rdispls,.datatype = recvtype}
    };

    return MAY_START(IALLTOALLV) && sendbuf != MPI_IN_PLACE &&
        start(&call, request, mpi_errno_ptr);
}

bool MPIDI_Gpudt_call_alltoallw(MPIDI_Gpudt_call_fn * start, const void *sendbuf,
                                const MPI_Aint sendcounts[], const MPI_Aint sdispls[],
                                const MPI_Datatype sendtypes[], void *recvbuf,
                                const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                                const MPI_Datatype recvtypes[], MPIR_Comm * comm,
                                MPIR_Request ** request, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_icall call = {
        .kind = MPIDI_GPUDT_COLL__ALLTOALLW,.root = -1,.comm = comm,
        .send = {.buf = sendbuf,.counts = sendcounts,.displs = sdispls,.datatypes = sendtypes},
        .recv = {.buf = recvbuf,.counts = recvcounts,.displs = rdispls,.datatypes = recvtypes}
    };

    return MAY_START(IALLTOALLW) && sendbuf != MPI_IN_PLACE &&
        start(&call, request, mpi_errno_ptr);
}
