/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Receives eager messages into a buffer on a GPU, staged through chunks (see ch3u_gpudt_msg.c).
 * Must not know rendezvous. */

#include "mpidi_gpudt_msg.h"

static void eager_advance(struct MPIDI_Gpudt_msg *msg);
static int eager_arrived(MPIDI_VC_t * vc, MPIR_Request * rreq, int *complete);

/* The contract is that of MPIDI_CH3U_Receive_data_found. If describing the buffer has failed
 * (buffer_errno), the data is received and dropped. */
static int eager_begin(MPIR_Request * rreq, MPIR_Gpudt_buffer * buffer, int buffer_errno,
                       const void *data, intptr_t * buflen, int *complete)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_msg *msg = NULL;
    struct MPIDI_Gpudt_segment *segment;
    int was_incomplete;

    mpi_errno = MPIDI_Gpudt_msg_make(rreq, NULL, buffer, MPIDI_GPUDT_SHARE__EAGER,
                                     rreq->dev.recv_data_sz <= MPIDU_gpudt_chunk_max()?
                                     1 : MPIDI_GPUDT_MAX_SEGMENTS, eager_advance, &msg);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (buffer_errno)
        MPIDI_Gpudt_msg_fail(msg, buffer_errno);
    msg->total = MPIDI_Gpudt_room_check(rreq);
    segment = &msg->segment[0];
    mpi_errno = eager_arrived(NULL, rreq, complete);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

    if (*buflen >= rreq->dev.recv_data_sz && segment->chunk->sz >= rreq->dev.recv_data_sz) {
        *buflen = rreq->dev.recv_data_sz;
        MPIR_Memcpy(segment->mem, data, *buflen);
        /* The caller completes the request once, the message a second time */
        MPIDI_CH3U_Request_increment_cc(rreq, &was_incomplete);
        mpi_errno = eager_arrived(NULL, rreq, complete);
        MPIR_Assert(*complete);
        rreq->dev.OnDataAvail = rreq->dev.OnFinal;
    } else {
        *buflen = 0;
        *complete = FALSE;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (msg)
        MPIDI_Gpudt_request_destroyed(rreq);
    goto fn_exit;
}

bool MPIDI_Gpudt_receive_eager(MPIR_Request * rreq, const void *data, intptr_t * buflen,
                               int *complete, int *mpi_errno_ptr)
{
    int mpi_errno;
    MPIR_Gpudt_buffer *buffer;

    MPIR_FUNC_ENTER;

    mpi_errno = MPIR_Gpudt_buffer_make(rreq->dev.user_buf, rreq->dev.user_count,
                                       rreq->dev.datatype, &buffer);
    if (mpi_errno == MPI_SUCCESS && buffer == NULL)
        return false;
    *mpi_errno_ptr = eager_begin(rreq, buffer, mpi_errno, data, buflen, complete);

    MPIR_FUNC_EXIT;
    return true;
}

/* Wait for the segment that started to move first, and release it. */
static void oldest_wait(struct MPIDI_Gpudt_msg *msg)
{
    int mpi_errno;
    struct MPIDI_Gpudt_segment *oldest = &msg->segment[0];

    for (int i = 1; i < msg->nsegments; i++) {
        if (msg->segment[i].off < oldest->off)
            oldest = &msg->segment[i];
    }
    mpi_errno = MPIR_Gpudt_wait(oldest->op);
    oldest->op = NULL;
    if (mpi_errno)
        MPIDI_Gpudt_msg_fail(msg, mpi_errno);
    MPIDI_Gpudt_segment_clear(oldest);
}

/* The segment that was arriving, if any, is complete: unpack it, and provide the chunk for the
 * next. */
static int eager_arrived(MPIDI_VC_t * vc ATTRIBUTE((unused)), MPIR_Request * rreq, int *complete)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_msg *msg = rreq->dev.gpudt;
    struct MPIDI_Gpudt_segment *segment = &msg->segment[msg->arriving];
    int64_t left;

    *complete = FALSE;
    if (segment->state == MPIDI_GPUDT_SEGMENT__ARRIVING) {
        msg->arrived += msg->arriving_sz;
        MPIDI_Gpudt_segment_unpack(segment);
    }
    left = rreq->dev.recv_data_sz - msg->arrived;
    if (left == 0) {
        *complete = TRUE;
        MPIDI_Gpudt_msg_advance(msg);
        goto fn_exit;
    }

    if (MPIDI_Gpudt_msg_segments(msg, MPIDI_GPUDT_SEGMENT__MOVING) == msg->nsegments) {
        /* The channel reads nothing else until there is memory for this data. Only messages sent in
         * ready mode are that long */
        oldest_wait(msg);
    }
    segment = MPIDI_Gpudt_segment_find(msg);
    msg->arriving = segment - msg->segment;
    if (!MPIDI_Gpudt_segment_fill_now(segment, left))
        MPIR_ERR_SETANDJUMP1(mpi_errno, MPI_ERR_OTHER, "**nomem", "**nomem %s", "GPU message");
    segment->state = MPIDI_GPUDT_SEGMENT__ARRIVING;
    msg->arriving_sz = MPL_MIN(left, (int64_t) segment->chunk->sz);
    segment->off = msg->arrived;
    segment->len = MPL_MAX(0, MPL_MIN(msg->total - segment->off, msg->arriving_sz));
    rreq->dev.iov[0].iov_base = segment->mem;
    rreq->dev.iov[0].iov_len = msg->arriving_sz;
    rreq->dev.iov_count = 1;
    rreq->dev.iov_offset = 0;
    rreq->dev.OnDataAvail = eager_arrived;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void eager_advance(struct MPIDI_Gpudt_msg *msg)
{
    MPIDI_Gpudt_moved_clear(msg);
    if (msg->arrived == msg->req->dev.recv_data_sz &&
        MPIDI_Gpudt_msg_segments(msg, MPIDI_GPUDT_SEGMENT__MOVING) == 0)
        MPIDI_Gpudt_msg_end(msg);
}

bool MPIDI_Gpudt_unpack_unexpected(MPIR_Request * rreq, intptr_t unpack_sz)
{
    int mpi_errno, complete;
    intptr_t buflen = rreq->dev.recv_data_sz;
    MPIR_Gpudt_buffer *buffer;
    MPIR_Gpudt_op *op;

    if (!MPIR_Gpudt_may_be_gpu(rreq->dev.user_buf, rreq->dev.user_count, rreq->dev.datatype))
        return false;
    mpi_errno = MPIR_Gpudt_buffer_make(rreq->dev.user_buf, rreq->dev.user_count,
                                       rreq->dev.datatype, &buffer);
    if (mpi_errno == MPI_SUCCESS && buffer == NULL)
        return false;

    if (mpi_errno) {
        /* Reported below */
    } else if (rreq->status.MPI_ERROR == MPI_SUCCESS && unpack_sz <= MPIDU_gpudt_chunk_max()) {
        /* If all data had arrived before, the device's reference to the request is gone */
        bool was_complete = MPIR_Request_is_complete(rreq);
        if (was_complete)
            MPIR_Request_add_ref(rreq);
        mpi_errno = eager_begin(rreq, buffer, MPI_SUCCESS, rreq->dev.tmpbuf, &buflen, &complete);
        if (mpi_errno && was_complete)
            MPIR_Request_free(rreq);
    } else {
        /* The receive may already have failed as truncated, and the program may free the buffer
         * when it completes, so wait for the copy */
        mpi_errno = MPIR_Gpudt_buffer_move(buffer, 0, unpack_sz, rreq->dev.tmpbuf, true, &op);
        if (mpi_errno == MPI_SUCCESS)
            mpi_errno = MPIR_Gpudt_wait(op);
        MPIR_Gpudt_buffer_free(buffer);
    }
    if (mpi_errno)
        rreq->status.MPI_ERROR = mpi_errno;
    return true;
}
