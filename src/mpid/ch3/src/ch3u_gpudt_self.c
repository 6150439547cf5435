/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Messages of a process to itself with a GPU buffer. The copy starts when send and receive are
 * matched, and the progress engine completes both requests, so many copies can be in flight.
 *
 * One kernel copies between two noncontiguous buffers. Only if other copies are in flight, a short
 * message is staged through a chunk of pinned memory, as one from another process is: its pack and
 * unpack operations then join the batches of other messages. */

#include "mpidi_gpudt_msg.h"
#include "tuning/gpudt_tuning.h"

struct self_copy {
    struct self_copy *next, *prev;
    MPIR_Request *sreq, *rreq;
    MPIR_Gpudt_buffer *to;      /* where the chunk is still to be unpacked; NULL: nowhere */
    MPIDU_gpudt_chunk_t *chunk;
    intptr_t sz;
    MPIR_Gpudt_op *op;          /* in flight; NULL: none */
    int mpi_errno;
};

static struct self_copy *copies = NULL;

static bool is_noncontig(MPI_Datatype datatype)
{
    int is_contig;

    MPIR_Datatype_is_contig(datatype, &is_contig);
    return !is_contig;
}

/* Start to pack into a chunk if the message is to be staged; copy->chunk is NULL otherwise. */
static int chunk_begin(struct self_copy *copy, const void *sbuf, MPI_Aint scount, MPI_Datatype sdt,
                       void *rbuf, MPI_Aint rcount, MPI_Datatype rdt)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Gpudt_buffer *from = NULL;

    if (copies == NULL || copy->sz > MPIR_GPUDT_SELF_CHUNK_MAX ||
        copy->sz > (intptr_t) MPIDU_gpudt_chunk_max() || !is_noncontig(sdt) || !is_noncontig(rdt))
        goto fn_exit;
    mpi_errno = MPIR_Gpudt_buffer_make(sbuf, scount, sdt, &from);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Gpudt_buffer_make(rbuf, rcount, rdt, &copy->to);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (from == NULL || copy->to == NULL)
        goto fn_exit;
    MPIDU_gpudt_chunk_get(copy->sz, MPIR_Gpudt_buffer_addr(from), false, &copy->chunk);
    if (copy->chunk)
        mpi_errno = MPIR_Gpudt_buffer_move(from, 0, copy->sz, copy->chunk->mem, false, &copy->op);

  fn_exit:
    MPIR_Gpudt_buffer_free(from);
    if (copy->chunk == NULL) {
        MPIR_Gpudt_buffer_free(copy->to);
        copy->to = NULL;
    }
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Advance a copy without waiting. Returns whether it is complete. */
static bool copy_run(struct self_copy *copy)
{
    int is_done = true;

    if (copy->op) {
        copy->mpi_errno = MPIR_Gpudt_test(copy->op, &is_done);
        if (copy->mpi_errno == MPI_SUCCESS && !is_done)
            return false;
        copy->op = NULL;
    }
    if (copy->mpi_errno == MPI_SUCCESS && copy->to) {
        copy->mpi_errno = MPIR_Gpudt_buffer_move(copy->to, 0, copy->sz, copy->chunk->mem, true,
                                                 &copy->op);
        MPIR_Gpudt_buffer_free(copy->to);
        copy->to = NULL;
    }
    return copy->op == NULL;
}

static void copy_clear(struct self_copy *copy)
{
    MPIR_Gpudt_free(copy->op);
    MPIR_Gpudt_buffer_free(copy->to);
    if (copy->chunk)
        MPIDU_gpudt_chunk_put(copy->chunk);
    MPL_free(copy);
}

/* If the copy succeeded, the receive keeps its truncation error, if it has one. */
static void errors_set(const struct self_copy *copy)
{
    if (copy->mpi_errno) {
        copy->sreq->status.MPI_ERROR = copy->mpi_errno;
        copy->rreq->status.MPI_ERROR = copy->mpi_errno;
    }
}

/* Keep the requests incomplete until copies_advance completes them. */
static void copy_list(struct self_copy *copy)
{
    int was_incomplete;

    MPIDI_CH3U_Request_increment_cc(copy->sreq, &was_incomplete);
    MPIDI_CH3U_Request_increment_cc(copy->rreq, &was_incomplete);
    DL_APPEND(copies, copy);
    MPIDI_Gpudt_wake();
}

/* For MPIDI_Gpudt_hook_also. */
static bool copies_advance(bool * has_ended)
{
    struct self_copy *copy, *next;

    if (unlikely(!MPIR_Gpudt_takes_calls()))
        return copies != NULL;
    DL_FOREACH_SAFE(copies, copy, next) {
        if (copy_run(copy)) {
            DL_DELETE(copies, copy);
            errors_set(copy);
            MPIDI_Gpudt_request_complete(copy->sreq);
            MPIDI_Gpudt_request_complete(copy->rreq);
            copy_clear(copy);
            *has_ended = true;
        }
    }
    return copies != NULL;
}

/* Cancel the copies that are left; part of MPI_Finalize. */
static void copies_end(void)
{
    struct self_copy *copy, *next;

    DL_FOREACH_SAFE(copies, copy, next) {
        DL_DELETE(copies, copy);
        copy_clear(copy);
    }
}

/* Start a copy of sz bytes.
 *   handled  (OUT)  false: both buffers are host memory */
static int copy_start(const struct self_copy *what, const void *sbuf, MPI_Aint scount,
                      MPI_Datatype sdt, void *rbuf, MPI_Aint rcount, MPI_Datatype rdt,
                      bool * handled)
{
    int mpi_errno = MPI_SUCCESS;
    struct self_copy *copy;

    *handled = true;
    copy = MPL_malloc(sizeof(*copy), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP1(!copy, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "GPU message");
    *copy = *what;
    mpi_errno = MPIDI_Gpudt_hook_make();
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPIDI_Gpudt_hook_also(copies_advance, NULL, copies_end);
    mpi_errno = chunk_begin(copy, sbuf, scount, sdt, rbuf, rcount, rdt);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (copy->chunk == NULL)
        mpi_errno = MPIR_Gpudt_ilocalcopy(sbuf, scount, sdt, rbuf, rcount, rdt, copy->sz,
                                          &copy->op, handled);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (*handled && !copy_run(copy)) {
        copy_list(copy);
        goto fn_exit;
    }
    mpi_errno = copy->mpi_errno;
    copy_clear(copy);

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (copy)
        copy_clear(copy);
    goto fn_exit;
}

void MPIDI_Gpudt_self_copy(MPIR_Request * sreq, const void *sbuf, MPI_Aint scount,
                           MPI_Datatype sdt, MPIR_Request * rreq, void *rbuf, MPI_Aint rcount,
                           MPI_Datatype rdt, intptr_t * sz)
{
    struct self_copy copy = {.sreq = sreq,.rreq = rreq };
    MPI_Aint ssize, rsize;
    intptr_t room;
    bool handled = false;

    MPIR_Datatype_get_size_macro(sdt, ssize);
    MPIR_Datatype_get_size_macro(rdt, rsize);
    room = rcount * rsize;
    copy.sz = MPL_MIN(scount * ssize, room);
    sreq->status.MPI_ERROR = rreq->status.MPI_ERROR = MPI_SUCCESS;
    if (MPIR_Gpudt_is_present() && copy.sz > 0)
        copy.mpi_errno = copy_start(&copy, sbuf, scount, sdt, rbuf, rcount, rdt, &handled);

    if (!handled) {
        MPIDI_CH3U_Buffer_copy(sbuf, scount, sdt, &sreq->status.MPI_ERROR, rbuf, rcount, rdt, sz,
                               &rreq->status.MPI_ERROR);
    } else {
        *sz = copy.mpi_errno ? 0 : copy.sz;
        if (scount * ssize > room)
            rreq->status.MPI_ERROR =
                MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                     MPI_ERR_TRUNCATE, "**truncate", "**truncate %d %d",
                                     (int) (scount * ssize), (int) room);
        errors_set(&copy);
    }
}
