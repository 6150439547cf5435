/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Sends short messages from GPU buffers: eagerly, as short messages from host memory are, and the
 * send does not wait for the GPU. ch3u_gpudt_inbound.c receives them.
 *
 *     sender                                                       receiver
 *       | start to pack (GPU)
 *       | -- envelope -------------------------------------------------> |  matched, or unexpected
 *       | ... packed
 *       | -- data -----------------------------------------------------> |  as of any eager message
 *
 * The envelope is sent at once, so messages are matched in the order in which they were sent. When
 * the data arrives the message becomes an ordinary eager one: if it is not matched by then, its
 * data is kept in pageable memory. So a sender never depends on the receives of earlier messages.
 *
 * Until then the receiver identifies the message by its connection and the sender's request, which
 * exists until its data is sent.
 *
 * The envelope may offer the sender's buffer to the receiver (ch3u_gpudt_direct.c). If the receiver
 * claims it, no data is sent, and the send completes when the receiver has made progress. While a
 * receiver claims messages, later ones to it are packed only after a short time in which it has not
 * claimed them. */

#include "mpidi_gpudt_msg.h"
#include "tuning/gpudt_tuning.h"

/* Whether the last message of a connection that was offered was pulled, by a hash of its address: a
 * guess suffices. */
static bool was_pulled[256];

static int nsending = 0;        /* short sends whose data is not sent */
static bool has_finalizer = false;

static void short_advance(struct MPIDI_Gpudt_msg *msg);

/* For MPIR_Add_finalize. Send the data that is being packed, before the connections are closed. */
static int flush(void *unused ATTRIBUTE((unused)))
{
    while (nsending > 0 && MPID_Progress_test(NULL) == MPI_SUCCESS);
    nsending = 0;
    has_finalizer = false;
    return 0;
}

static bool *pulled_flag(const struct MPIDI_Gpudt_msg *msg)
{
    return &was_pulled[((uintptr_t) msg->vc >> 6) % 256];
}

/* Offer the buffer by the chunk that the message will be packed into, if there is room beside the
 * data. */
static void short_offer(struct MPIDI_Gpudt_msg *msg)
{
    struct MPIDI_Gpudt_segment *segment = &msg->segment[0];

    if (msg->total > MPIDU_GPUDT_POOL_GRAIN - MPIDU_GPUDT_OFFER_SZ ||
        !MPIDI_Gpudt_may_share(msg->vc) || !MPIR_Gpudt_may_offer(msg->buffer) ||
        !MPIDI_Gpudt_segment_fill(segment, msg->total, true))
        return;
    MPIDI_Gpudt_direct_offer(msg, segment->chunk);
    msg->is_put_off = msg->offer.grain >= 0 && *pulled_flag(msg);
    if (msg->is_put_off)
        MPL_wtime(&msg->offered);
}

int MPIDI_Gpudt_short_send(struct MPIDI_Gpudt_msg *msg, intptr_t data_sz)
{
    int mpi_errno = MPI_SUCCESS;

    if (!has_finalizer)
        MPIR_Add_finalize(flush, NULL, MPIR_FINALIZE_CALLBACK_PRIO + 1);
    has_finalizer = true;
    MPIDI_Request_set_msg_type(msg->req, MPIDI_REQUEST_EAGER_MSG);
    msg->advance = short_advance;
    msg->total = data_sz;
    short_offer(msg);
    /* Pack first, unless it is put off: nothing is sent if that fails */
    MPIDI_Gpudt_msg_advance(msg);
    mpi_errno = msg->mpi_errno;
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_Gpudt_envelope_send(msg, MPIDI_CH3_PKT_GPUDT_EAGER, data_sz);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    msg->is_cleared = true;
    nsending++;
    if (msg->segment[0].op == NULL)
        MPIDI_Gpudt_msg_advance(msg);
    /* Advance older messages too, so that a program that starts many before it waits keeps the peer
     * busy */
    MPIDI_Gpudt_poll_some();

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Send the data, or a failure if there is none. */
static void data_send(struct MPIDI_Gpudt_msg *msg)
{
    struct MPIDI_Gpudt_segment *segment = &msg->segment[0];
    MPIDI_CH3_Pkt_t upkt;
    MPIDI_CH3_Pkt_gpudt_eager_data_t *pkt = &upkt.gpudt_eager_data;
    MPIDU_gpudt_pool_name_t name;
    int grain;

    memset(&upkt, 0, sizeof(upkt));
    MPIDI_Pkt_init(pkt, MPIDI_CH3_PKT_GPUDT_EAGER_DATA);
    pkt->sender_req_id = msg->req->handle;
    pkt->pool_fd = -1;
    if (segment->chunk && MPIDI_Gpudt_may_share(msg->vc) &&
        MPIDU_gpudt_chunk_export(segment->chunk, &name, &grain)) {
        pkt->pool_token = name.token;
        pkt->pool_pid = name.pid;
        pkt->pool_fd = name.fd;
    }
    pkt->is_failed = msg->mpi_errno != MPI_SUCCESS;
    if (pkt->is_failed) {
        MPIDI_Gpudt_segment_clear(segment);
        if (!msg->is_peer_gone)
            MPIDI_Gpudt_send_pkt(msg->vc, pkt, sizeof(*pkt));
    } else {
        MPIDI_Gpudt_segment_send(segment, pkt, sizeof(*pkt));
    }
}

/* Whether to leave a message alone for now, since the receiver may pull it. */
static bool is_put_off(struct MPIDI_Gpudt_msg *msg)
{
    MPL_time_t now;
    double seconds;

    if (!msg->is_put_off)
        return false;
    if (msg->is_cleared && msg->mpi_errno == MPI_SUCCESS) {
        if (MPIDU_gpudt_offer_is_claimed(&msg->offer)) {
            msg->is_put_off = false;
            msg->segment[0].state = MPIDI_GPUDT_SEGMENT__CLAIMED;
            return true;
        }
        MPL_wtime(&now);
        MPL_wtime_diff(&msg->offered, &now, &seconds);
        if (seconds < MPIR_GPUDT_PUT_OFF_US * 1e-6)
            return true;
    }
    msg->is_put_off = !msg->is_cleared && msg->mpi_errno == MPI_SUCCESS;
    return msg->is_put_off;
}

/* Whether the data of a packed message is to be sent: not if the receiver pulls it. */
static bool is_wanted(struct MPIDI_Gpudt_msg *msg)
{
    if (msg->is_pulled)
        return false;
    if (msg->offer.grain < 0 || msg->is_peer_gone)
        return true;
    if (!MPIDU_gpudt_offer_withdraw(&msg->offer))
        return false;
    msg->offer.grain = -1;
    *pulled_flag(msg) = false;
    return true;
}

void MPIDI_Gpudt_short_answered(struct MPIDI_Gpudt_msg *msg, int what)
{
    struct MPIDI_Gpudt_segment *segment = &msg->segment[0];

    /* The claim may not have been seen yet */
    msg->is_put_off = false;
    msg->is_pulled = what == MPIDI_GPUDT_CTS__PULLED;
    if (!msg->is_pulled)
        msg->offer.grain = -1;
    *pulled_flag(msg) = msg->is_pulled;
    if (segment->state == MPIDI_GPUDT_SEGMENT__CLAIMED)
        segment->state = msg->started == msg->total && !msg->is_pulled ?
            MPIDI_GPUDT_SEGMENT__MOVING : MPIDI_GPUDT_SEGMENT__IDLE;
    MPIDI_Gpudt_msg_advance(msg);
}

static void short_advance(struct MPIDI_Gpudt_msg *msg)
{
    struct MPIDI_Gpudt_segment *segment = &msg->segment[0];
    bool is_begun = msg->started == msg->total;

    if (msg->is_peer_gone && segment->state == MPIDI_GPUDT_SEGMENT__CLAIMED)
        segment->state = MPIDI_GPUDT_SEGMENT__IDLE;
    if (segment->state == MPIDI_GPUDT_SEGMENT__CLAIMED || is_put_off(msg))
        return;
    if (!is_begun && !msg->is_pulled && msg->mpi_errno == MPI_SUCCESS) {
        if (segment->chunk == NULL && !MPIDI_Gpudt_segment_fill(segment, msg->total, true))
            return;
        segment->off = 0;
        segment->len = msg->total;
        MPIDI_Gpudt_segment_move(segment, true);
        msg->started = msg->total;
    }
    if (!msg->is_cleared)
        return;

    /* Only once: afterwards the segment is owned by the channel, or idle */
    if (msg->done == 0 &&
        (segment->state == MPIDI_GPUDT_SEGMENT__IDLE || MPIDI_Gpudt_msg_moved(msg))) {
        if (is_wanted(msg)) {
            msg->done = msg->total;
            data_send(msg);
        } else if (msg->is_pulled) {
            msg->done = msg->total;
            MPIDI_Gpudt_segment_clear(segment);
        } else {
            segment->state = MPIDI_GPUDT_SEGMENT__CLAIMED;
        }
    }
    if (msg->done == msg->total && segment->state == MPIDI_GPUDT_SEGMENT__IDLE) {
        nsending--;
        MPIDI_Gpudt_msg_end(msg);
    }
}
