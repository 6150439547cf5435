/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Short messages from GPU buffers: they are sent eagerly, as short messages from host memory are,
 * and the send does not wait for the GPU.
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
#include "mpidi_revoked.h"

/* A message whose envelope has arrived and whose data has not. */
struct inbound {
    struct inbound *next;       /* in its bucket */
    const MPIDI_VC_t *vc;
    MPI_Request sender_req_id;
    MPIR_Request *rreq;         /* NULL: cancelled or freed */
    intptr_t data_sz;
    bool is_matched;
};

/* Microseconds until a message is packed that the receiver is expected to pull: more than a packet
 * takes to the receiver and less than a launch. */
#define PUT_OFF_US 3.0

/* Whether the last message of a connection that was offered was pulled, by a hash of its address: a
 * guess suffices. */
static bool was_pulled[256];

#define NBUCKETS 1024           /* a power of 2 */
static struct inbound *buckets[NBUCKETS];

static int nsending = 0;        /* short sends whose data is not sent */
static bool has_finalizers = false;

static void short_advance(struct MPIDI_Gpudt_msg *msg);

/* ---- finalization ---- */

/* Send the data that is being packed, before the connections are closed. */
static int flush(void *unused ATTRIBUTE((unused)))
{
    while (nsending > 0 && MPID_Progress_test(NULL) == MPI_SUCCESS);
    return 0;
}

/* Free the messages that were never received. */
static int inbound_end(void *unused ATTRIBUTE((unused)))
{
    for (int i = 0; i < NBUCKETS; i++) {
        while (buckets[i]) {
            struct inbound *in = buckets[i];
            buckets[i] = in->next;
            MPL_free(in);
        }
    }
    nsending = 0;
    has_finalizers = false;
    return 0;
}

static void finalizers_add(void)
{
    if (has_finalizers)
        return;
    has_finalizers = true;
    MPIR_Add_finalize(flush, NULL, MPIR_FINALIZE_CALLBACK_PRIO + 1);
    MPIR_Add_finalize(inbound_end, NULL, MPIR_FINALIZE_CALLBACK_PRIO - 1);
}

/* ---- sending ---- */

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
        !MPIDI_Gpudt_direct_may_offer(msg) || !MPIDI_Gpudt_segment_fill(segment, msg->total, true))
        return;
    MPIDI_Gpudt_direct_offer(msg, segment->chunk);
    msg->is_put_off = msg->offer.grain >= 0 && *pulled_flag(msg);
    if (msg->is_put_off)
        MPL_wtime(&msg->offered);
}

int MPIDI_Gpudt_short_send(struct MPIDI_Gpudt_msg *msg, intptr_t data_sz)
{
    int mpi_errno = MPI_SUCCESS;

    finalizers_add();
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
        if (seconds < PUT_OFF_US * 1e-6)
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

/* ---- receiving ---- */

static struct inbound **bucket(const MPIDI_VC_t * vc, MPI_Request sender_req_id)
{
    return &buckets[((unsigned) sender_req_id ^ (unsigned) ((uintptr_t) vc >> 6)) & (NBUCKETS - 1)];
}

/* The link to a message in its bucket; the link is NULL if there is no such message. */
static struct inbound **inbound_find(const MPIDI_VC_t * vc, MPI_Request sender_req_id)
{
    struct inbound **at = bucket(vc, sender_req_id);

    while (*at && ((*at)->vc != vc || (*at)->sender_req_id != sender_req_id))
        at = &(*at)->next;
    return at;
}

/* Receive a matched message straight from the sender's buffer, if that is possible. */
static bool short_pull(MPIDI_VC_t * vc, MPIR_Request * rreq)
{
    MPIR_Gpudt_buffer *buffer = NULL;

    if (rreq->dev.gpudt_offer.grain < 0)
        return false;
    /* A failure is reported when the data arrives */
    if (MPIR_Gpudt_buffer_make(rreq->dev.user_buf, rreq->dev.user_count, rreq->dev.datatype,
                               &buffer) || buffer == NULL)
        return false;
    if (MPIDI_Gpudt_direct_recv(vc, rreq, buffer, true))
        return true;
    MPIR_Gpudt_buffer_free(buffer);
    return false;
}

int MPIDI_Gpudt_pkt_eager(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * pkt, void *data ATTRIBUTE((unused)),
                          intptr_t * buflen, MPIR_Request ** rreqp)
{
    int mpi_errno = MPI_SUCCESS;
    struct inbound *in, **at;
    MPIR_Request *rreq;
    bool is_matched;

    *buflen = 0;
    *rreqp = NULL;
    finalizers_add();
    in = MPL_malloc(sizeof(*in), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP1(!in, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "GPU message");
    mpi_errno = MPIDI_Gpudt_envelope_match(vc, &pkt->gpudt_envelope, &rreq, &is_matched);
    if (mpi_errno) {
        MPL_free(in);
        goto fn_fail;
    }
    if (is_matched && short_pull(vc, rreq)) {
        MPL_free(in);
        goto fn_exit;
    }
    in->vc = vc;
    in->sender_req_id = rreq->dev.sender_req_id;
    in->rreq = rreq;
    in->data_sz = rreq->dev.recv_data_sz;
    in->is_matched = is_matched;
    at = bucket(vc, in->sender_req_id);
    in->next = *at;
    *at = in;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

bool MPIDI_Gpudt_short_matched(MPIDI_VC_t * vc, MPIR_Request * rreq)
{
    struct inbound **at = inbound_find(vc, rreq->dev.sender_req_id), *in = *at;

    if (in == NULL || in->rreq != rreq)
        return false;
    in->is_matched = true;
    if (short_pull(vc, rreq)) {
        *at = in->next;
        MPL_free(in);
    }
    return true;
}

void MPIDI_Gpudt_short_unwanted(const MPIR_Request * rreq)
{
    struct inbound *in = *inbound_find(rreq->dev.gpudt_vc, rreq->dev.sender_req_id);

    if (in && in->rreq == rreq)
        in->rreq = NULL;
}

/* Complete, with an error, a message whose data will not arrive. If it is not matched, the receive
 * that will match it gets the error. */
static int inbound_fail(struct inbound *in, int err)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *rreq = in->rreq;

    MPL_free(in);
    if (rreq) {
        rreq->dev.gpudt_vc = NULL;
        rreq->dev.recv_data_sz = 0;
        rreq->dev.tmpbuf_sz = 0;
        rreq->status.MPI_ERROR = err;
        MPIDI_Request_set_msg_type(rreq, MPIDI_REQUEST_EAGER_MSG);
        mpi_errno = MPID_Request_complete(rreq);
    }
    return mpi_errno;
}

/* Process the data as that of any eager message. */
static int data_receive(MPIR_Request * rreq, bool is_matched, void *data, intptr_t * buflen,
                        MPIR_Request ** rreqp)
{
    int mpi_errno = MPI_SUCCESS;
    intptr_t len = MPL_MIN(*buflen, rreq->dev.recv_data_sz);
    int complete;

    if (is_matched)
        mpi_errno = MPIDI_CH3U_Receive_data_found(rreq, data, &len, &complete);
    else
        mpi_errno = MPIDI_CH3U_Receive_data_unexpected(rreq, data, &len, &complete);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *buflen = len;
    if (complete) {
        mpi_errno = MPID_Request_complete(rreq);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    } else {
        *rreqp = rreq;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Gpudt_pkt_eager_data(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * upkt, void *data,
                               intptr_t * buflen, MPIR_Request ** rreqp)
{
    int mpi_errno = MPI_SUCCESS;
    const MPIDI_CH3_Pkt_gpudt_eager_data_t *pkt = &upkt->gpudt_eager_data;
    struct inbound **at = inbound_find(vc, pkt->sender_req_id), *in = *at;
    MPIR_Request *rreq;

    *rreqp = NULL;
    MPIR_Assert(in);
    *at = in->next;
    if (pkt->is_failed) {
        int err = MPI_SUCCESS;
        MPIR_ERR_SET(err, MPI_ERR_OTHER, "**gpudt_peer");
        *buflen = 0;
        return inbound_fail(in, err);
    }

    if (pkt->pool_fd >= 0 && MPIR_Gpudt_is_present() && MPIDI_Gpudt_may_share(vc)) {
        const MPIDU_gpudt_pool_name_t name = {
            .token = pkt->pool_token,.pid = pkt->pool_pid,.fd = pkt->pool_fd
        };
        MPIDU_gpudt_pool_meet(&name);
    }

    rreq = in->rreq;
    if (rreq == NULL) {
        /* The sender has cancelled it */
        rreq = MPIDI_CH3U_Receive_nothing();
        MPIR_ERR_CHKANDJUMP(!rreq, mpi_errno, MPI_ERR_OTHER, "**nomemreq");
        rreq->dev.recv_data_sz = in->data_sz;
        in->is_matched = true;
    }
    rreq->dev.gpudt_vc = NULL;
    MPIDI_Request_set_msg_type(rreq, MPIDI_REQUEST_EAGER_MSG);
    mpi_errno = data_receive(rreq, in->is_matched, data, buflen, rreqp);

  fn_exit:
    MPL_free(in);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_Gpudt_short_vc_failed(const MPIDI_VC_t * vc, int err)
{
    for (int i = 0; i < NBUCKETS; i++) {
        struct inbound **at = &buckets[i];
        while (*at) {
            struct inbound *in = *at;
            if (in->vc == vc) {
                *at = in->next;
                inbound_fail(in, err);
            } else {
                at = &in->next;
            }
        }
    }
}
