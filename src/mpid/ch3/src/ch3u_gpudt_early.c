/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Staged messages that are packed before the receiver has asked for that:
 *
 *     sender                                                       receiver
 *       | -- request to send with an offer, which names a place ------>  |  matched with a receive
 *       |  pack into that place, signal its semaphore (GPU)              |  wait for it, unpack (GPU)
 *       | <---------------- clear to send, with a credit for all of it - |
 *       | -- data of the message: shared ----------------------------->  |
 *       | <--------------------------------------- clear to send: pulled |
 *
 * Only a message that is the only long one on its way is packed early: others would have to wait for
 * the place. The receiver may choose another way, since its buffer, or what it can map, may be better
 * than the sender expects. Then the sender completes when its kernel has ended, and does not pack some
 * of the following messages early. */

#include "mpidi_gpudt_msg.h"

static struct MPIDI_Gpudt_trial trial;

/* ---- sender ---- */

/* The segment that is packed early; receivers choose others. */
static struct MPIDI_Gpudt_segment *segment_of(struct MPIDI_Gpudt_msg *msg)
{
    return &msg->segment[msg->nsegments - 1];
}

void MPIDI_Gpudt_early_take(struct MPIDI_Gpudt_msg *msg)
{
    if (msg->stage == NULL || !MPIDI_Gpudt_trial_may(&trial))
        return;
    msg->is_early = MPIR_Gpudt_stage_early_take(msg->stage, msg->buffer, &msg->place[0]);
    msg->nplaces = msg->is_early;
}

/* The message is packed when the receiver asks for that, into the place that it has. An error shows
 * again then, if it has to. */
static void early_fail(struct MPIDI_Gpudt_msg *msg)
{
    MPIDI_Gpudt_segment_clear(segment_of(msg));
    msg->is_early = false;
}

void MPIDI_Gpudt_early_pack(struct MPIDI_Gpudt_msg *msg, int64_t data_sz)
{
    struct MPIDI_Gpudt_segment *segment = segment_of(msg);
    int mpi_errno;

    if (!msg->is_early)
        return;
    segment->off = 0;
    segment->len = data_sz;
    segment->is_shared = true;
    segment->state = MPIDI_GPUDT_SEGMENT__MOVING;
    segment->mem = MPIR_Gpudt_stage_early(msg->stage, &segment->value);
    mpi_errno = MPIR_Gpudt_stage_move(msg->stage, msg->buffer, 0, data_sz, segment->mem, false,
                                      &segment->value, &segment->op);
    segment->value = 0;
    if (mpi_errno)
        early_fail(msg);
    else
        MPIDI_Gpudt_msg_advance_later(msg);
}

/* What becomes of the packed data is known. */
static void early_cleared(struct MPIDI_Gpudt_msg *msg, bool is_wanted)
{
    struct MPIDI_Gpudt_segment *segment = segment_of(msg);

    msg->is_early = false;
    segment->state = MPIDI_GPUDT_SEGMENT__MOVING;
    segment->is_unwanted = !is_wanted;
}

void MPIDI_Gpudt_early_advance(struct MPIDI_Gpudt_msg *msg)
{
    struct MPIDI_Gpudt_segment *segment = segment_of(msg);
    int mpi_errno = MPI_SUCCESS, is_done = true;

    if (!msg->is_early)
        return;
    if (segment->op)
        mpi_errno = MPIR_Gpudt_test(segment->op, &is_done);
    if (mpi_errno || is_done)
        segment->op = NULL;
    if (mpi_errno)
        early_fail(msg);
    else if (msg->is_peer_gone)
        early_cleared(msg, false);
    else if (is_done)
        segment->state = MPIDI_GPUDT_SEGMENT__CLAIMED;  /* nothing is to be polled */
}

bool MPIDI_Gpudt_early_cleared(struct MPIDI_Gpudt_msg *msg, const MPIDI_CH3_Pkt_gpudt_cts_t * pkt)
{
    struct MPIDI_Gpudt_segment *segment = segment_of(msg);

    if (!msg->is_early)
        return false;
    early_cleared(msg, pkt->is_staged);
    MPIDI_Gpudt_trial_end(&trial, !pkt->is_staged);
    if (!pkt->is_staged)
        return false;
    MPIR_Assert(pkt->n == 1 && msg->chunk_sz == msg->total);    /* it is one segment */
    segment->credit = pkt->segment[0];
    segment->len = msg->started = msg->total;
    return true;
}

/* ---- receiver ---- */

bool MPIDI_Gpudt_early_receive(struct MPIDI_Gpudt_msg *msg)
{
    struct MPIDI_Gpudt_segment *segment = &msg->segment[0];
    int value;

    segment->mem = MPIR_Gpudt_stage_early(msg->stage, &value);
    segment->off = 0;
    segment->len = msg->total;
    if (segment->mem == NULL || !MPIDI_Gpudt_segment_unpack_ahead(segment, value))
        return false;
    msg->started = msg->total;
    return true;
}
