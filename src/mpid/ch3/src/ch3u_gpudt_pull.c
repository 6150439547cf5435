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

void MPIDI_Gpudt_move_offer(const struct MPIDI_Gpudt_move *m)
{
    for (int i = 0; i < m->comm->local_size; i++) {
        struct MPIDI_Gpudt_slot *slot = (struct MPIDI_Gpudt_slot *) slot_at(m, i);

        /* Also what an offer leaves open: offers are compared */
        memset(slot, 0, (size_t) m->offer_sz);
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
    char *from = slot_at(m, 0), *to = slot_at(m, size), *to_root = slot_at(m, size + m->root);
    const bool is_root = m->comm->rank == m->root;

    switch (m->form) {
        case MPIDI_GPUDT_MOVE__BCAST:
            return MPIDI_Gpudt_agree_bcast(m->comm, m->errflag, m->root, is_root ? from : to_root, sz);
        case MPIDI_GPUDT_MOVE__GATHER:
            return MPIDI_Gpudt_agree_gather(m->comm, m->errflag, m->root, from, sz, to);
        case MPIDI_GPUDT_MOVE__SCATTER:
            return MPIDI_Gpudt_agree_scatter(m->comm, m->errflag, m->root, from, sz, to_root);
        case MPIDI_GPUDT_MOVE__ALLGATHER:
            return MPIDI_Gpudt_agree_allgather(m->comm, m->errflag, from, sz, to);
        default:
            return MPIDI_Gpudt_agree_alltoall(m->comm, m->errflag, from, sz, to);
    }
}

bool MPIDI_Gpudt_move_is_from(const struct MPIDI_Gpudt_move *m, int i)
{
    if (m->form == MPIDI_GPUDT_MOVE__GATHER)
        return m->comm->rank == m->root;
    return m->root < 0 || i == m->root;
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

    if (!MPIDI_Gpudt_move_is_from(m, i) || slot->n == 0)
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

/* Start to copy what this process sends itself. */
static enum MPIDI_Gpudt_end_e own_start(const struct MPIDI_Gpudt_move *m, MPIR_Gpudt_op ** op,
                                        int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_block *from = &m->own_from, *to = &m->own_to;
    MPI_Aint n, room;
    bool handled = false;

    if (from->count == 0 || to->count == 0)
        return MPIDI_GPUDT_END__DONE;
    MPIR_Datatype_get_size_macro(from->datatype, n);
    MPIR_Datatype_get_size_macro(to->datatype, room);
    n *= from->count;
    room *= to->count;
    if (n > 0 && n <= room)
        *mpi_errno_ptr = MPIR_Gpudt_pull_own(from->buf, from->count, from->datatype,
                                             (void *) to->buf, to->count, to->datatype, n, op,
                                             &handled);
    /* Host memory; or an error that MPICH's function describes */
    if (*mpi_errno_ptr == MPI_SUCCESS && !handled)
        *mpi_errno_ptr = MPIR_Localcopy(from->buf, from->count, from->datatype, (void *) to->buf,
                                        to->count, to->datatype);
    return *mpi_errno_ptr ? MPIDI_GPUDT_END__FAILED : MPIDI_GPUDT_END__DONE;
}

/* Wait for a copy, which may take as long as other work on the GPU does. */
static int op_wait(MPIR_Gpudt_op * op)
{
    int mpi_errno = MPI_SUCCESS, done = op == NULL;

    while (!done && mpi_errno == MPI_SUCCESS) {
        mpi_errno = MPIR_Gpudt_test(op, &done);
        if (!done && mpi_errno == MPI_SUCCESS)
            MPIDI_Gpudt_coll_yield();
    }
    return mpi_errno;
}

/* A buffer that is received if there are several copies; NULL: there is one at most. */
static const MPIR_Gpudt_buffer *several_to(const struct MPIDI_Gpudt_move *m)
{
    const MPIR_Gpudt_buffer *buffer = NULL;
    int n = m->own_from.count > 0;

    for (int i = 0; i < m->comm->local_size; i++) {
        if (m->recv_buffer[i]) {
            buffer = m->recv_buffer[i];
            n++;
        }
    }
    return n > 1 ? buffer : NULL;
}

enum MPIDI_Gpudt_end_e MPIDI_Gpudt_move_start(const struct MPIDI_Gpudt_move *m, MPIR_Gpudt_op ** op,
                                              int *mpi_errno_ptr)
{
    const int size = m->comm->local_size;
    const MPIR_Gpudt_buffer *together = several_to(m);
    enum MPIDI_Gpudt_end_e end = MPIDI_GPUDT_END__DONE;

    for (int i = 0; i < size; i++)
        op[i] = NULL;
    if (together)
        MPIR_Gpudt_pulls_begin(together);
    /* Each begins at another process */
    for (int k = 1; k < size && end == MPIDI_GPUDT_END__DONE; k++) {
        int i = (m->comm->rank + k) % size;
        end = pull_start(m, i, &op[i], mpi_errno_ptr);
    }
    if (end == MPIDI_GPUDT_END__DONE)
        end = own_start(m, &op[m->comm->rank], mpi_errno_ptr);
    if (together)
        MPIR_Gpudt_pulls_end(together);
    return end;
}

/* Copy what this process receives. Nothing is in flight afterwards, however that ends. */
static enum MPIDI_Gpudt_end_e pulls_do(const struct MPIDI_Gpudt_move *m, int *mpi_errno_ptr)
{
    const int size = m->comm->local_size;
    MPIR_Gpudt_op *op[MPIR_GPUDT_COMBINE_MAX];
    enum MPIDI_Gpudt_end_e end = MPIDI_Gpudt_move_start(m, op, mpi_errno_ptr);
    int mpi_errno;

    for (int i = 0; i < size; i++) {
        mpi_errno = op_wait(op[i]);
        if (mpi_errno && end != MPIDI_GPUDT_END__FAILED) {
            end = MPIDI_GPUDT_END__FAILED;
            *mpi_errno_ptr = mpi_errno;
        }
    }
    return end;
}

/* Exchange offers, and keep them.
 *   slots  (OUT)  memory for them */
static int offers_renew(struct MPIDI_Gpudt_move *m, const struct MPIDI_Gpudt_ability *all,
                        struct MPIDI_Gpudt_kept **kept, void *slots)
{
    int mpi_errno;

    m->slots = slots;
    MPIDI_Gpudt_move_offer(m);
    MPIDI_Gpudt_kept_number(m->comm, all);
    mpi_errno = offers_exchange(m);
    if (mpi_errno == MPI_SUCCESS)
        MPIDI_Gpudt_kept_set(m, all[m->comm->rank].offer_sz, kept);
    return mpi_errno;
}

int MPIDI_Gpudt_move_do(struct MPIDI_Gpudt_move *m, const struct MPIDI_Gpudt_ability *all,
                        struct MPIDI_Gpudt_kept **kept, bool * is_done)
{
    int mpi_errno = MPI_SUCCESS, own_errno = MPI_SUCCESS;
    /* On the stack, which is host memory without asking the driver (ch3u_gpudt_agree.c); most often
     * two or three KiB for each process */
    uint64_t slots[2 * (size_t) m->comm->local_size * (size_t) m->offer_sz / sizeof(uint64_t)];
    enum MPIDI_Gpudt_end_e own = MPIDI_GPUDT_END__FAILED;
    int32_t ends[MPIR_GPUDT_COMBINE_MAX];

    if (!MPIDI_Gpudt_kept_use(m, *kept, all))
        own_errno = offers_renew(m, all, kept, slots);
    if (own_errno == MPI_SUCCESS)
        own = pulls_do(m, &own_errno);
    mpi_errno = MPIDI_Gpudt_coll_ends_exchange(m->comm, m->errflag, own, own_errno, ends);
    MPIR_ERR_CHECK(mpi_errno);
    *is_done = MPIDI_Gpudt_coll_ends_are_done(m->comm, ends);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
