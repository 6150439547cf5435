/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The copies of collectives between GPUs of a node, see ch3u_gpudt_move.c: offers are exchanged, and
 * each process copies what it receives. */

#include "mpidimpl.h"
#include "mpidi_gpudt_move_impl.h"

static char *slot_at(const struct MPIDI_Gpudt_move *m, int i)
{
    return m->slots + (int64_t) i * m->offer_sz;
}

/* Write the offers of this process. */
static void offers_make(const struct MPIDI_Gpudt_move *m)
{
    for (int i = 0; i < m->comm->local_size; i++) {
        struct MPIDI_Gpudt_slot *slot = (struct MPIDI_Gpudt_slot *) slot_at(m, i);

        slot->n = 0;
        if (m->send_buffer[i]) {
            MPIR_Datatype_get_size_macro(m->send[i].datatype, slot->n);
            slot->n *= m->send[i].count;
            MPIR_Gpudt_offer_make(m->send_buffer[i], MPIR_GPUDT_TYPE__INLINE, NULL, slot->offer);
        }
    }
}

/* Exchange offers. From then on, those to this process follow those of this process. */
static int offers_exchange(const struct MPIDI_Gpudt_move *m)
{
    const int size = m->comm->local_size, sz = (int) m->offer_sz;
    char *from = slot_at(m, 0), *to = slot_at(m, size);
    const bool is_root = m->comm->rank == m->root;

    switch (m->form) {
        case MPIDI_GPUDT_MOVE__BCAST:
            return MPIR_Bcast_impl(is_root ? from : to + (int64_t) m->root * sz, sz, MPI_BYTE,
                                   m->root, m->comm, m->errflag);
        case MPIDI_GPUDT_MOVE__GATHER:
            return MPIR_Gather_impl(from, sz, MPI_BYTE, to, sz, MPI_BYTE, m->root, m->comm,
                                    m->errflag);
        case MPIDI_GPUDT_MOVE__SCATTER:
            return MPIR_Scatter_impl(from, sz, MPI_BYTE, to + (int64_t) m->root * sz, sz, MPI_BYTE,
                                     m->root, m->comm, m->errflag);
        case MPIDI_GPUDT_MOVE__ALLGATHER:
            return MPIR_Allgather_impl(from, sz, MPI_BYTE, to, sz, MPI_BYTE, m->comm, m->errflag);
        default:
            return MPIR_Alltoall_impl(from, sz, MPI_BYTE, to, sz, MPI_BYTE, m->comm, m->errflag);
    }
}

/* Start to copy the block from a process. Returns how that ended.
 *   op             (OUT)  NULL: complete
 *   mpi_errno_ptr  (OUT)  the error, if it FAILED */
static enum MPIDI_Gpudt_end_e pull_start(const struct MPIDI_Gpudt_move *m, int i,
                                         MPIR_Gpudt_op ** op, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_slot *slot =
        (const struct MPIDI_Gpudt_slot *) slot_at(m, m->comm->local_size + i);
    MPI_Aint room;
    bool is_taken;

    if (m->recv_buffer[i] == NULL || slot->n == 0)
        return MPIDI_GPUDT_END__DONE;
    MPIR_Datatype_get_size_macro(m->recv[i].datatype, room);
    room *= m->recv[i].count;
    if (slot->n > room) {
        MPIR_ERR_SET2(*mpi_errno_ptr, MPI_ERR_TRUNCATE, "**truncate", "**truncate %d %d",
                      (int) slot->n, (int) room);
        return MPIDI_GPUDT_END__FAILED;
    }
    *mpi_errno_ptr = MPIR_Gpudt_offer_pull_now((const MPIR_Gpudt_offer_t *) slot->offer,
                                               m->recv_buffer[i], slot->n, op, &is_taken);
    if (*mpi_errno_ptr)
        return MPIDI_GPUDT_END__FAILED;
    return is_taken ? MPIDI_GPUDT_END__DONE : MPIDI_GPUDT_END__NOT_STARTED;
}

/* Copy what this process receives. Nothing is in flight afterwards, however that ends. */
static enum MPIDI_Gpudt_end_e pulls_do(const struct MPIDI_Gpudt_move *m, int *mpi_errno_ptr)
{
    const int size = m->comm->local_size;
    enum MPIDI_Gpudt_end_e end = MPIDI_GPUDT_END__DONE;
    MPIR_Gpudt_op *op[MPIR_GPUDT_COMBINE_MAX] = { NULL };
    int mpi_errno;

    /* Each begins at another process */
    for (int k = 1; k < size && end == MPIDI_GPUDT_END__DONE; k++) {
        int i = (m->comm->rank + k) % size;
        end = pull_start(m, i, &op[i], mpi_errno_ptr);
    }
    if (end == MPIDI_GPUDT_END__DONE && m->own_from.count && m->own_to.count) {
        *mpi_errno_ptr = MPIR_Localcopy(m->own_from.buf, m->own_from.count, m->own_from.datatype,
                                        (void *) m->own_to.buf, m->own_to.count,
                                        m->own_to.datatype);
        if (*mpi_errno_ptr)
            end = MPIDI_GPUDT_END__FAILED;
    }
    for (int i = 0; i < size; i++) {
        mpi_errno = MPIR_Gpudt_wait(op[i]);
        if (mpi_errno && end != MPIDI_GPUDT_END__FAILED) {
            end = MPIDI_GPUDT_END__FAILED;
            *mpi_errno_ptr = mpi_errno;
        }
    }
    return end;
}

int MPIDI_Gpudt_move_do(struct MPIDI_Gpudt_move *m, bool * is_done)
{
    int mpi_errno = MPI_SUCCESS, own_errno = MPI_SUCCESS;
    /* On the stack, which is host memory without asking the driver: MPICH's algorithms for these
     * must not fail in one process alone */
    uint64_t slots[2 * MPIR_GPUDT_COMBINE_MAX * MPIDI_GPUDT_SLOT_SZ / sizeof(uint64_t)];
    enum MPIDI_Gpudt_end_e own = MPIDI_GPUDT_END__FAILED;
    int32_t ends[MPIR_GPUDT_COMBINE_MAX];

    m->slots = (char *) slots;
    offers_make(m);
    own_errno = offers_exchange(m);
    if (own_errno == MPI_SUCCESS)
        own = pulls_do(m, &own_errno);
    mpi_errno = MPIDI_Gpudt_coll_ends_exchange(m->comm, m->errflag, own, own_errno, ends);
    MPIR_ERR_CHECK(mpi_errno);
    *is_done = true;
    for (int i = 0; i < m->comm->local_size; i++)
        *is_done = *is_done && ends[i] == MPIDI_GPUDT_END__DONE;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
