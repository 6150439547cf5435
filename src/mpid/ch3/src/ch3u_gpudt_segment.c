/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Moves segments between the user's buffer and their chunks. Must not know where chunks come
 * from. */

#include "mpidi_gpudt_msg.h"
#include "mpidi_pack_cut.h"

/* Of kernels that were launched ahead. In vain is what waits for a GPU that has other work. */
static struct MPIDI_Gpudt_trial trial;

/* Move a segment of a buffer in host memory. The CPU moves whole elements of the datatype only. */
static int segment_move_host(struct MPIDI_Gpudt_segment *segment, bool is_pack)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *req = segment->msg->req;
    const MPIDI_Request *dev = &req->dev;
    MPI_Aint actual = 0;

    if (is_pack)
        mpi_errno = MPIR_Typerep_pack_host(dev->user_buf, dev->user_count, dev->datatype,
                                           segment->off, segment->mem, segment->len, &actual);
    else
        mpi_errno = MPIR_Typerep_unpack_host(segment->mem, segment->len, dev->user_buf,
                                             dev->user_count, dev->datatype, segment->off,
                                             &actual);
    if (mpi_errno || actual == segment->len)
        return mpi_errno;

    if (!is_pack)
        MPIDI_CH3U_Unpack_cut(req, segment->off + actual, segment->msg->total);
    else if (actual == 0)
        MPIDI_CH3U_Pack_cut(req, segment->off, segment->mem, segment->len);
    else
        segment->len = actual;
    return MPI_SUCCESS;
}

void MPIDI_Gpudt_segment_move(struct MPIDI_Gpudt_segment *segment, bool is_pack)
{
    int mpi_errno;

    segment->op = NULL;
    segment->value = 0;
    segment->state = MPIDI_GPUDT_SEGMENT__MOVING;
    if (segment->len == 0)
        return;
    if (segment->msg->is_staged)
        mpi_errno = MPIR_Gpudt_stage_move(segment->msg->stage, segment->msg->buffer, segment->off,
                                          segment->len, segment->mem, !is_pack, &segment->value,
                                          &segment->op);
    else if (segment->msg->buffer)
        mpi_errno = MPIR_Gpudt_buffer_move(segment->msg->buffer, segment->off, segment->len,
                                           segment->mem, !is_pack, &segment->op);
    else
        mpi_errno = segment_move_host(segment, is_pack);
    if (mpi_errno)
        MPIDI_Gpudt_msg_fail(segment->msg, mpi_errno);
}

/* Whether a segment's operation is complete. */
static bool op_is_done(struct MPIDI_Gpudt_segment *segment)
{
    int mpi_errno, is_done = true;

    if (segment->op) {
        mpi_errno = MPIR_Gpudt_test(segment->op, &is_done);
        if (mpi_errno) {
            is_done = true;
            if (!segment->is_unwanted)
                MPIDI_Gpudt_msg_fail(segment->msg, mpi_errno);
        }
        if (is_done)
            segment->op = NULL;
    }
    return is_done;
}

bool MPIDI_Gpudt_segment_is_busy(struct MPIDI_Gpudt_segment *segment)
{
    return !op_is_done(segment);
}

/* The kernel of a segment that was launched ahead has ended. */
static void ahead_end(struct MPIDI_Gpudt_segment *segment)
{
    const bool is_missed = MPIR_Gpudt_stage_is_missed(segment->msg->stage, segment->mem);

    segment->value = 0;
    segment->is_missed = is_missed;
    MPIDI_Gpudt_trial_end(&trial, is_missed);
}

/* Whether a segment has been moved. One that was launched ahead, in vain, is launched again when its
 * data is there, unless the sender is gone. */
static bool segment_is_moved(struct MPIDI_Gpudt_segment *segment)
{
    const bool is_over = segment->msg->is_peer_gone;

    if (!op_is_done(segment))
        return false;
    if (segment->value)
        ahead_end(segment);
    if (segment->is_ahead && !is_over)
        return false;
    if (segment->is_missed && !is_over) {
        segment->is_missed = false;
        MPIDI_Gpudt_segment_unpack(segment);
        return op_is_done(segment);
    }
    return true;
}

struct MPIDI_Gpudt_segment *MPIDI_Gpudt_msg_moved(struct MPIDI_Gpudt_msg *msg)
{
    struct MPIDI_Gpudt_segment *first = NULL;

    for (int i = 0; i < msg->nsegments; i++) {
        struct MPIDI_Gpudt_segment *segment = &msg->segment[i];
        if (segment->state == MPIDI_GPUDT_SEGMENT__MOVING &&
            (first == NULL || segment->off < first->off))
            first = segment;
    }
    return first && segment_is_moved(first) ? first : NULL;
}

struct MPIDI_Gpudt_segment *MPIDI_Gpudt_segment_find(struct MPIDI_Gpudt_msg *msg)
{
    int i = 0;

    while (msg->segment[i].state != MPIDI_GPUDT_SEGMENT__IDLE)
        i++;
    return &msg->segment[i];
}

void MPIDI_Gpudt_segment_unpack(struct MPIDI_Gpudt_segment *segment)
{
    if (segment->msg->mpi_errno)
        segment->len = 0;
    MPIDI_Gpudt_segment_move(segment, false);
}

bool MPIDI_Gpudt_segment_unpack_ahead(struct MPIDI_Gpudt_segment *segment, int value)
{
    struct MPIDI_Gpudt_msg *msg = segment->msg;
    int mpi_errno;

    if (msg->mpi_errno || !msg->is_staged || !MPIDI_Gpudt_trial_may(&trial))
        return false;
    segment->value = value;
    mpi_errno = MPIR_Gpudt_stage_move(msg->stage, msg->buffer, segment->off, segment->len,
                                      segment->mem, true, &segment->value, &segment->op);
    if (mpi_errno)
        MPIDI_Gpudt_msg_fail(msg, mpi_errno);
    else if (segment->value == 0)
        return false;
    segment->state = MPIDI_GPUDT_SEGMENT__MOVING;
    segment->is_ahead = true;
    return true;
}

void MPIDI_Gpudt_moved_clear(struct MPIDI_Gpudt_msg *msg)
{
    struct MPIDI_Gpudt_segment *segment;

    while ((segment = MPIDI_Gpudt_msg_moved(msg)) != NULL)
        MPIDI_Gpudt_segment_clear(segment);
}
