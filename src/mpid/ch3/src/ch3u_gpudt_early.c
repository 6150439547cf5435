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
 * An offer has a stage only if that would be the cheapest way to a contiguous buffer; the receiver may
 * choose another one. Then the sender completes when its kernel has ended, and some messages are not
 * packed early. So is only a message that is the only long one on its way: others would have to wait
 * for the place. */

#include "mpidi_gpudt_msg.h"

static struct MPIDI_Gpudt_trial trial;

/* ---- sender ---- */

/* The segment that is packed early; receivers choose others. */
static struct MPIDI_Gpudt_segment *segment_of(struct MPIDI_Gpudt_msg *msg)
{
    return &msg->segment[msg->nsegments - 1];
}

void MPIDI_Gpudt_early_take(struct MPIDI_Gpudt_msg *msg, int64_t data_sz)
{
    if (msg->stage == NULL || !MPIDI_Gpudt_trial_may(&trial))
        return;
    msg->is_early = MPIR_Gpudt_stage_early_take(msg->stage, data_sz, &msg->place[0]);
    msg->nplaces = msg->is_early;
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
        MPIDI_Gpudt_msg_fail(msg, mpi_errno);
    MPIDI_Gpudt_msg_advance_later(msg);
}

bool MPIDI_Gpudt_early_cleared(struct MPIDI_Gpudt_msg *msg, const MPIDI_CH3_Pkt_gpudt_cts_t * pkt)
{
    struct MPIDI_Gpudt_segment *segment = segment_of(msg);

    if (!msg->is_early)
        return false;
    msg->is_early = false;
    MPIDI_Gpudt_trial_end(&trial, !pkt->is_staged);
    segment->is_unwanted = !pkt->is_staged;
    if (segment->is_unwanted)
        return false;
    MPIR_Assert(pkt->n == 1 && msg->chunk_sz == msg->total);    /* it fits into its place */
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
