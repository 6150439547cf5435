/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What the processes of a collective between GPUs of a node tell each other, in host memory. One
 * that fails here alone would leave the others waiting: after an error, a process goes on with the
 * messages that others wait for, which tell them of it. All is sent from and received into the
 * memory of the caller, as contiguous bytes: MPICH's collectives may allocate memory or describe it
 * by datatypes, about which the driver is asked, and take less data than they expect for all of
 * it. Once a blocking call of a communicator is to access the memory of all, short allgathers are in
 * shared memory instead (ch3u_gpudt_agree_shm.c). */

#include "mpidimpl.h"
#include "mpidi_gpudt_coll_impl.h"
#include "mpidi_gpudt_shm.h"

/* ---- errors ---- */

void MPIDI_Gpudt_agree_note(int mpi_errno, int *mpi_errno_ret, MPIR_Errflag_t * errflag)
{
    if (mpi_errno == MPI_SUCCESS)
        return;
    *errflag = MPIX_ERR_PROC_FAILED == MPIR_ERR_GET_CLASS(mpi_errno) ?
        MPIR_ERR_PROC_FAILED : MPIR_ERR_OTHER;
    MPIR_ERR_ADD(*mpi_errno_ret, mpi_errno);
}

/* Note that a message of a process has arrived. One that carries an error is empty.
 *   mpi_errno  (IN)  of the receive; a message that is too long is cut off, which is one
 *   sz         (IN)  bytes that were to arrive
 * Returns whether it has arrived as it should. */
static bool arrival_note(int mpi_errno, const MPI_Status * status, int rank, int sz,
                         int *mpi_errno_ret, MPIR_Errflag_t * errflag)
{
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP3(*errflag == MPIR_ERR_NONE && MPIR_STATUS_GET_COUNT(*status) != sz,
                         mpi_errno, MPI_ERR_OTHER, "**gpudt_told", "**gpudt_told %d %d %d", rank,
                         (int) MPIR_STATUS_GET_COUNT(*status), sz);

  fn_exit:
    MPIDI_Gpudt_agree_note(mpi_errno, mpi_errno_ret, errflag);
    return mpi_errno == MPI_SUCCESS;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Gpudt_agree_result(int mpi_errno, MPIR_Errflag_t errflag)
{
    if (mpi_errno == MPI_SUCCESS && errflag != MPIR_ERR_NONE)
        MPIR_ERR_SET(mpi_errno, errflag, "**coll_fail");
    return mpi_errno;
}

/* ---- steps of two processes ---- */

/* Send sz bytes to a process, and receive as many from another one. Returns whether that has
 * succeeded. */
static bool step_do(MPIR_Comm * comm, int tag, int dest, const void *from, int source, void *to,
                    int sz, int *mpi_errno_ret, MPIR_Errflag_t * errflag)
{
    MPI_Status status;
    int mpi_errno = MPIC_Sendrecv(from, sz, MPI_BYTE, dest, tag, to, sz, MPI_BYTE, source, tag,
                                  comm, &status, errflag);

    return arrival_note(mpi_errno, &status, source, sz, mpi_errno_ret, errflag);
}

/* Each step doubles the number of blocks that a process has. Of a power of two of processes. */
static void allgather_doubling(MPIR_Comm * comm, char *all, int sz, int *mpi_errno_ret,
                               MPIR_Errflag_t * errflag)
{
    for (int n = 1; n < comm->local_size; n *= 2) {
        const int other = comm->rank ^ n;

        step_do(comm, MPIR_ALLGATHER_TAG, other, all + (comm->rank & ~(n - 1)) * sz, other,
                all + (other & ~(n - 1)) * sz, n * sz, mpi_errno_ret, errflag);
    }
}

/* In each step a process sends on what it has received in the one before. */
static void allgather_ring(MPIR_Comm * comm, char *all, int sz, int *mpi_errno_ret,
                           MPIR_Errflag_t * errflag)
{
    const int size = comm->local_size, rank = comm->rank;
    const int left = (rank - 1 + size) % size, right = (rank + 1) % size;

    for (int i = 0; i < size - 1; i++)
        step_do(comm, MPIR_ALLGATHER_TAG, right, all + (rank - i + size) % size * sz, left,
                all + (left - i + size) % size * sz, sz, mpi_errno_ret, errflag);
}

/* By a binomial tree: a process receives from the one whose distance from the root lacks its lowest
 * bit, and sends to those at the distances of the bits below. */
int MPIDI_Gpudt_agree_bcast(MPIR_Comm * comm, MPIR_Errflag_t * errflag, int root, void *mem, int sz)
{
    int mpi_errno, mpi_errno_ret = MPI_SUCCESS, bit = 1;
    const int size = comm->local_size, rank = comm->rank, distance = (rank - root + size) % size;
    MPI_Status status;

    while (bit < size && !(distance & bit))
        bit *= 2;
    if (rank != root) {
        const int source = (rank - bit + size) % size;

        mpi_errno = MPIC_Recv(mem, sz, MPI_BYTE, source, MPIR_BCAST_TAG, comm, &status, errflag);
        arrival_note(mpi_errno, &status, source, sz, &mpi_errno_ret, errflag);
    }
    for (bit /= 2; bit > 0; bit /= 2) {
        if (distance + bit >= size)
            continue;
        mpi_errno = MPIC_Send(mem, sz, MPI_BYTE, (rank + bit) % size, MPIR_BCAST_TAG, comm,
                              errflag);
        MPIDI_Gpudt_agree_note(mpi_errno, &mpi_errno_ret, errflag);
    }
    return MPIDI_Gpudt_agree_result(mpi_errno_ret, *errflag);
}

/* ---- all messages at once ---- */

/* Processes, and where a block of each begins. */
struct blocks {
    int first, end;
    char *mem;                  /* of process 0 */
    int stride;                 /* bytes */
};

static const struct blocks no_blocks = { 0, 0, NULL, 0 };

static struct blocks blocks_of(MPIR_Comm * comm, const void *mem, int sz)
{
    return (struct blocks) {0, comm->local_size, (char *) mem, sz};
}

static struct blocks block_of(int rank, const void *mem)
{
    return (struct blocks) {rank, rank + 1, (char *) mem, 0};
}

static char *block_at(const struct blocks *b, int i)
{
    return b->mem + i * b->stride;
}

static bool has_block(const struct blocks *b, int i)
{
    return b->first <= i && i < b->end;
}

/* Wait for a message from or to a process. */
static void message_wait(MPIR_Request * req, int rank, int sz, int *mpi_errno_ret,
                         MPIR_Errflag_t * errflag)
{
    int mpi_errno;

    if (req == NULL)
        return;
    mpi_errno = MPIC_Wait(req, errflag);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = req->status.MPI_ERROR;
    if (req->kind == MPIR_REQUEST_KIND__RECV)
        arrival_note(mpi_errno, &req->status, rank, sz, mpi_errno_ret, errflag);
    else
        MPIDI_Gpudt_agree_note(mpi_errno, mpi_errno_ret, errflag);
    MPIR_Request_free(req);
}

/* Send blocks of sz bytes to processes, and receive others. */
static int messages_exchange(MPIR_Comm * comm, MPIR_Errflag_t * errflag, int tag,
                             struct blocks from, struct blocks to, int sz)
{
    int mpi_errno, mpi_errno_ret = MPI_SUCCESS;
    MPIR_Request *send[MPIR_GPUDT_COMBINE_MAX] = { NULL }, *recv[MPIR_GPUDT_COMBINE_MAX] = { NULL };
    const int rank = comm->rank;

    for (int i = to.first; i < to.end; i++) {
        if (i == rank)
            continue;
        mpi_errno = MPIC_Irecv(block_at(&to, i), sz, MPI_BYTE, i, tag, comm, &recv[i]);
        if (mpi_errno)
            recv[i] = NULL;
        MPIDI_Gpudt_agree_note(mpi_errno, &mpi_errno_ret, errflag);
    }
    for (int i = from.first; i < from.end; i++) {
        if (i == rank)
            continue;
        mpi_errno = MPIC_Isend(block_at(&from, i), sz, MPI_BYTE, i, tag, comm, &send[i], errflag);
        if (mpi_errno)
            send[i] = NULL;
        MPIDI_Gpudt_agree_note(mpi_errno, &mpi_errno_ret, errflag);
    }
    if (has_block(&from, rank) && has_block(&to, rank))
        memcpy(block_at(&to, rank), block_at(&from, rank), sz);
    for (int i = 0; i < comm->local_size; i++) {
        message_wait(recv[i], i, sz, &mpi_errno_ret, errflag);
        message_wait(send[i], i, sz, &mpi_errno_ret, errflag);
    }
    return MPIDI_Gpudt_agree_result(mpi_errno_ret, *errflag);
}

int MPIDI_Gpudt_agree_allgather(MPIR_Comm * comm, MPIR_Errflag_t * errflag, const void *own, int sz,
                                void *all)
{
    int mpi_errno_ret = MPI_SUCCESS;

    if (comm->dev.gpudt_coll.agree_shm && sz <= MPIDI_GPUDT_AGREE_SHM_SZ)
        return MPIDI_Gpudt_agree_shm_allgather(comm, errflag, own, sz, all);
    /* With fault tolerance a process hears of each other one from that itself: it does not return an error
     * while another one, of which it would not hear any more, still accesses its memory */
    if (MPIR_CVAR_ENABLE_FT && comm->local_size <= MPIR_GPUDT_COMBINE_MAX)
        return messages_exchange(comm, errflag, MPIR_ALLGATHER_TAG, blocks_of(comm, own, 0),
                                 blocks_of(comm, all, sz), sz);
    memcpy((char *) all + comm->rank * sz, own, sz);
    if ((comm->local_size & (comm->local_size - 1)) == 0)
        allgather_doubling(comm, all, sz, &mpi_errno_ret, errflag);
    else
        allgather_ring(comm, all, sz, &mpi_errno_ret, errflag);
    return MPIDI_Gpudt_agree_result(mpi_errno_ret, *errflag);
}

int MPIDI_Gpudt_agree_gather(MPIR_Comm * comm, MPIR_Errflag_t * errflag, int root, const void *own,
                             int sz, void *all)
{
    return messages_exchange(comm, errflag, MPIR_GATHERV_TAG, block_of(root, own),
                             comm->rank == root ? blocks_of(comm, all, sz) : no_blocks, sz);
}

int MPIDI_Gpudt_agree_scatter(MPIR_Comm * comm, MPIR_Errflag_t * errflag, int root, const void *all,
                              int sz, void *own)
{
    return messages_exchange(comm, errflag, MPIR_SCATTERV_TAG,
                             comm->rank == root ? blocks_of(comm, all, sz) : no_blocks,
                             block_of(root, own), sz);
}

int MPIDI_Gpudt_agree_alltoall(MPIR_Comm * comm, MPIR_Errflag_t * errflag, const void *from, int sz,
                               void *to)
{
    return messages_exchange(comm, errflag, MPIR_ALLTOALL_TAG, blocks_of(comm, from, sz),
                             blocks_of(comm, to, sz), sz);
}

/* Each step doubles the number of processes of which a process knows, itself being the last one. */
int MPIDI_Gpudt_agree_all(MPIR_Comm * comm, MPIR_Errflag_t * errflag, bool * is_agreed)
{
    int mpi_errno_ret = MPI_SUCCESS;
    const int size = comm->local_size;
    int32_t own = *is_agreed, other;
    bool is_good;

    for (int step = 1; step < size; step *= 2) {
        other = 0;
        is_good = step_do(comm, MPIR_ALLREDUCE_TAG, (comm->rank + step) % size, &own,
                          (comm->rank - step + size) % size, &other, sizeof(own), &mpi_errno_ret,
                          errflag);
        own = own && other && is_good;
    }
    *is_agreed = own;
    return MPIDI_Gpudt_agree_result(mpi_errno_ret, *errflag);
}
