/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What the processes of a collective between GPUs of a node tell each other, in host memory. One
 * that fails here alone would leave the others waiting. These are therefore algorithms of
 * MPICH's that send from and receive into the memory of the caller, as contiguous bytes: those
 * that MPICH chooses by itself may allocate memory or describe it by datatypes, about which the
 * driver is asked. */

#include "mpidimpl.h"
#include "mpidi_gpudt_coll_impl.h"

int MPIDI_Gpudt_agree_allgather(MPIR_Comm * comm, MPIR_Errflag_t * errflag, const void *own, int sz,
                                void *all)
{
    const bool is_power_of_two = (comm->local_size & (comm->local_size - 1)) == 0;

    return is_power_of_two ?
        MPIR_Allgather_intra_recursive_doubling(own, sz, MPI_BYTE, all, sz, MPI_BYTE, comm, errflag)
        : MPIR_Allgather_intra_ring(own, sz, MPI_BYTE, all, sz, MPI_BYTE, comm, errflag);
}

int MPIDI_Gpudt_agree_bcast(MPIR_Comm * comm, MPIR_Errflag_t * errflag, int root, void *mem, int sz)
{
    return MPIR_Bcast_intra_binomial(mem, sz, MPI_BYTE, root, comm, errflag);
}

/* Blocks of sz bytes one after another, as MPICH describes them. */
struct blocks {
    MPI_Aint counts[MPIR_GPUDT_COMBINE_MAX], displs[MPIR_GPUDT_COMBINE_MAX];
};

static struct blocks blocks_of(int sz)
{
    struct blocks b;

    for (int i = 0; i < MPIR_GPUDT_COMBINE_MAX; i++) {
        b.counts[i] = sz;
        b.displs[i] = (MPI_Aint) i * sz;
    }
    return b;
}

int MPIDI_Gpudt_agree_gather(MPIR_Comm * comm, MPIR_Errflag_t * errflag, int root, const void *own,
                             int sz, void *all)
{
    const struct blocks b = blocks_of(sz);

    return MPIR_Gatherv_allcomm_linear(own, sz, MPI_BYTE, all, b.counts, b.displs, MPI_BYTE, root,
                                       comm, errflag);
}

int MPIDI_Gpudt_agree_scatter(MPIR_Comm * comm, MPIR_Errflag_t * errflag, int root, const void *all,
                              int sz, void *own)
{
    const struct blocks b = blocks_of(sz);

    return MPIR_Scatterv_allcomm_linear(all, b.counts, b.displs, MPI_BYTE, own, sz, MPI_BYTE, root,
                                        comm, errflag);
}

int MPIDI_Gpudt_agree_alltoall(MPIR_Comm * comm, MPIR_Errflag_t * errflag, const void *from, int sz,
                               void *to)
{
    return MPIR_Alltoall_intra_scattered(from, sz, MPI_BYTE, to, sz, MPI_BYTE, comm, errflag);
}

/* Each step doubles the number of processes of which a process knows, itself being the last one.
 * An error keeps no process from the steps that follow, as others wait for its messages, which
 * tell them of it. */
int MPIDI_Gpudt_agree_all(MPIR_Comm * comm, MPIR_Errflag_t * errflag, bool * is_agreed)
{
    int mpi_errno = MPI_SUCCESS, mpi_errno_ret = MPI_SUCCESS;
    const int size = comm->local_size;
    int32_t own = *is_agreed, other;

    for (int step = 1; step < size; step *= 2) {
        other = 0;
        mpi_errno = MPIC_Sendrecv(&own, 1, MPI_INT32_T, (comm->rank + step) % size,
                                  MPIR_ALLREDUCE_TAG, &other, 1, MPI_INT32_T,
                                  (comm->rank - step + size) % size, MPIR_ALLREDUCE_TAG, comm,
                                  MPI_STATUS_IGNORE, errflag);
        if (mpi_errno) {
            *errflag = MPIX_ERR_PROC_FAILED == MPIR_ERR_GET_CLASS(mpi_errno) ?
                MPIR_ERR_PROC_FAILED : MPIR_ERR_OTHER;
            MPIR_ERR_ADD(mpi_errno_ret, mpi_errno);
        }
        own = own && other && mpi_errno == MPI_SUCCESS;
    }
    *is_agreed = own;
    if (mpi_errno_ret == MPI_SUCCESS && *errflag != MPIR_ERR_NONE)
        MPIR_ERR_SET(mpi_errno_ret, *errflag, "**coll_fail");
    return mpi_errno_ret;
}
