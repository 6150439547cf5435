/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Messages that the receiver copies from the sender's GPU memory, which it maps:
 *
 *     sender                                                       receiver
 *       | -- envelope with an offer of the buffer -------------------->  |  matched with a receive
 *       |                                                                |  copy (GPU)
 *       | <--------------------------------------- clear to send: pulled |
 *
 * The sender of a long message waits for the receiver in any case. A short send must not depend on
 * the receiver: it packs the message as if there were no offer, and then withdraws the offer. The
 * receiver claims the offer before it copies. Whoever comes first decides (mpidu_gpudt_offer.h).
 *
 * The offer of a long message may name a stage instead, or as well: GPU memory that the sender
 * packs the message into, segment by segment, when the receiver sends credits. The sender's
 * messages share its places: each takes some when its receiver is ready, or one before
 * (ch3u_gpudt_early.c), and returns them at its end.
 * Where the receiver can map neither, messages pass through host memory (ch3u_gpudt_msg.c), unless
 * the sender can map the receiver's buffer (ch3u_gpudt_push.c). */

#include "mpidi_gpudt_msg.h"

static int nlong = 0;           /* long messages with an offer */

/* ---- sending ---- */

/* Where an offer of a message's buffer has the description of its datatype; MPIR_GPUDT_TYPE__NONE: there is no
 * room, or other processes cannot map the buffer. */
static int type_place(const struct MPIDI_Gpudt_msg *msg)
{
    return MPIR_Gpudt_may_offer(msg->buffer) ? MPIDI_Gpudt_type_publish(msg->buffer) :
        MPIR_GPUDT_TYPE__NONE;
}

static void offer_open(struct MPIDI_Gpudt_msg *msg, const MPIDU_gpudt_chunk_t * chunk, int type_at)
{
    MPIR_Gpudt_offer_make(msg->buffer, type_at, msg->stage, MPIDU_gpudt_offer_mem(chunk));
    MPIDU_gpudt_offer_open(chunk, &msg->offer);
}

void MPIDI_Gpudt_direct_offer(struct MPIDI_Gpudt_msg *msg, const MPIDU_gpudt_chunk_t * chunk)
{
    int type_at = MPIDU_gpudt_offer_fits(chunk) ? type_place(msg) : MPIR_GPUDT_TYPE__NONE;

    if (type_at != MPIR_GPUDT_TYPE__NONE)
        offer_open(msg, chunk, type_at);
}

void MPIDI_Gpudt_direct_offer_long(struct MPIDI_Gpudt_msg *msg, int64_t data_sz)
{
    MPIDU_gpudt_chunk_t *chunk;
    int type_at;

    if (!MPIDI_Gpudt_may_share(msg->vc) || !MPIR_Gpudt_is_direct(msg->buffer))
        return;
    MPIDU_gpudt_chunk_get(MPIDU_GPUDT_OFFER_SZ, msg->gpu_addr, false, &chunk);
    if (chunk == NULL)
        return;
    type_at = type_place(msg);
    if (!MPIDU_gpudt_offer_fits(chunk) || (data_sz == 0 && type_at == MPIR_GPUDT_TYPE__NONE)) {
        MPIDU_gpudt_chunk_put(chunk);
        return;
    }
    if (data_sz > 0)
        msg->stage = MPIR_Gpudt_stage_get(msg->buffer, type_at != MPIR_GPUDT_TYPE__NONE, nlong);
    if (nlong == 0)
        MPIDI_Gpudt_early_take(msg);
    offer_open(msg, chunk, type_at);
    msg->offer_chunk = chunk;
    nlong++;
}

void MPIDI_Gpudt_direct_end(struct MPIDI_Gpudt_msg *msg)
{
    MPIDI_Gpudt_places_put(msg);
    MPIR_Gpudt_stage_free(msg->stage);
    if (msg->offer_chunk) {
        MPIDU_gpudt_chunk_put(msg->offer_chunk);
        nlong--;
    }
}

bool MPIDI_Gpudt_direct_is_only(void)
{
    return nlong == 1;
}

/* ---- receiving ---- */

static void pull_advance(struct MPIDI_Gpudt_msg *msg)
{
    int mpi_errno;

    if (MPIDI_Gpudt_msg_moved(msg) == NULL)
        return;
    if (!msg->is_peer_gone) {
        mpi_errno = MPIDI_Gpudt_answer_send(msg->vc, msg->req, MPIDI_GPUDT_CTS__PULLED);
        if (mpi_errno)
            MPIDI_Gpudt_msg_fail(msg, mpi_errno);
    }
    MPIDI_Gpudt_msg_end(msg);
}

/* Receive a message by an operation that was started.
 *   buffer      (IN)  owned by the callee; NULL: not needed
 *   pull_errno  (IN)  how that ended */
static void pull_receive(MPIDI_VC_t * vc, MPIR_Request * rreq, MPIR_Gpudt_buffer * buffer,
                         int64_t total, MPIR_Gpudt_op * op, int pull_errno)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_msg *msg;

    MPIDI_Gpudt_room_check(rreq);
    mpi_errno = MPIDI_Gpudt_msg_make(rreq, vc, buffer, MPIDI_GPUDT_SHARE__EAGER, 1, pull_advance,
                                     &msg);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    msg->total = msg->started = total;
    msg->segment[0].state = MPIDI_GPUDT_SEGMENT__MOVING;
    msg->segment[0].op = op;
    msg->is_one_move = true;
    if (pull_errno)
        MPIDI_Gpudt_msg_fail(msg, pull_errno);
    MPIDI_Gpudt_msg_advance(msg);

  fn_exit:
    return;
  fn_fail:
    MPIR_Gpudt_free(op);
    rreq->status.MPI_ERROR = mpi_errno;
    MPIDI_Gpudt_answer_send(vc, rreq, MPIDI_GPUDT_CTS__PULLED);
    MPID_Request_complete(rreq);
    goto fn_exit;
}

static struct MPIR_Gpudt_receive receive_of(const MPIR_Request * rreq, int ways)
{
    return (struct MPIR_Gpudt_receive) {
        .buf = rreq->dev.user_buf,.count = rreq->dev.user_count,.datatype = rreq->dev.datatype,
        .ways = ways
    };
}

/* Start the copy. Returns false if nothing was started, as the memory could not be mapped.
 *   ways  (IN)  that could be chosen at first */
static bool pull_start(MPIDI_VC_t * vc, MPIR_Request * rreq, MPIR_Gpudt_buffer * buffer,
                       const MPIR_Gpudt_offer_t * offer, int64_t total, int ways)
{
    const struct MPIR_Gpudt_receive to = receive_of(rreq, ways);
    int pull_errno;
    MPIR_Gpudt_op *op;
    const void *type;
    bool is_taken;

    if (!MPIDI_Gpudt_offer_type_find(&rreq->dev.gpudt_offer, offer, &type))
        return false;
    pull_errno = MPIR_Gpudt_offer_pull(offer, type, buffer, total, &op, &is_taken);
    if (!is_taken)
        return false;
    MPIR_Gpudt_pulls_note(offer, &to, buffer, op);
    pull_receive(vc, rreq, buffer, total, op, pull_errno);
    return true;
}

bool MPIDI_Gpudt_direct_join(MPIDI_VC_t * vc, MPIR_Request * rreq, int which)
{
    const MPIDU_gpudt_offer_name_t *name = &rreq->dev.gpudt_offer;
    const struct MPIR_Gpudt_receive to = receive_of(rreq, which);
    const bool must_claim = which == MPIR_GPUDT_WAY__PULLED;
    const int64_t total = rreq->dev.recv_data_sz;
    const MPIR_Gpudt_offer_t *offer;
    const MPIR_Gpudt_pulls_t *pulls;
    MPIR_Gpudt_op *op;

    if (!MPIR_Gpudt_pulls_exist() || name->grain < 0 || total == 0 ||
        MPIDI_Gpudt_room(rreq) < total || vc->state == MPIDI_VC_STATE_MORIBUND ||
        !MPIDI_Gpudt_peer_meet(vc, &name->pool))
        return false;
    offer = MPIDU_gpudt_offer_find(name);
    pulls = offer ? MPIR_Gpudt_pulls_find(offer, &to, total) : NULL;
    if (pulls == NULL || (must_claim && !MPIDU_gpudt_offer_claim(name)))
        return false;
    op = MPIR_Gpudt_pulls_join(pulls, offer, &to);
    if (op)
        pull_receive(vc, rreq, NULL, total, op, MPI_SUCCESS);
    else if (must_claim)
        MPIDI_Gpudt_answer_send(vc, rreq, MPIDI_GPUDT_CTS__UNCLAIMED);
    return op != NULL;
}

bool MPIDI_Gpudt_direct_recv(MPIDI_VC_t * vc, MPIR_Request * rreq, MPIR_Gpudt_buffer * buffer,
                             int which, MPIR_Gpudt_stage_t ** stage)
{
    const MPIDU_gpudt_offer_name_t *name = &rreq->dev.gpudt_offer;
    const MPIR_Gpudt_offer_t *offer;
    uint64_t head[MPIR_GPUDT_OFFER_HEAD / sizeof(uint64_t)];
    int64_t total = MPIDI_Gpudt_room(rreq);
    const bool must_claim = which == MPIR_GPUDT_WAY__PULLED;
    const int ways = which;
    enum MPIR_Gpudt_way_e way;

    if (name->grain < 0 || total == 0 || !MPIDI_Gpudt_peer_meet(vc, &name->pool))
        return false;
    /* The memory of a process that has died may be gone, though it is still mapped */
    if (vc->state == MPIDI_VC_STATE_MORIBUND)
        return false;
    offer = MPIDU_gpudt_offer_find(name);
    if (offer == NULL)
        return false;
    MPIR_Gpudt_offer_read(offer, head);
    if (must_claim && !MPIDU_gpudt_offer_is_open(name))
        return false;
    MPIDI_Gpudt_peer_note(vc, MPIR_Gpudt_offer_process((const MPIR_Gpudt_offer_t *) head));
    for (;;) {
        way = MPIR_Gpudt_offer_way((const MPIR_Gpudt_offer_t *) head, buffer, total, &which);
        if (way == MPIR_GPUDT_WAY__PUSHED) {
            if (MPIDI_Gpudt_push_ask(vc, rreq, buffer))
                return true;
        } else if (way == MPIR_GPUDT_WAY__STAGED) {
            *stage = MPIR_Gpudt_stage_map(offer, buffer);
            if (*stage)
                return false;
        } else {
            break;
        }
        which &= ~(int) way;
    }
    if (way != MPIR_GPUDT_WAY__PULLED || (must_claim && !MPIDU_gpudt_offer_claim(name)))
        return false;
    if (pull_start(vc, rreq, buffer, offer, total, ways))
        return true;
    /* The state stays, so that the sender waits for the answer to the claim in any case */
    if (must_claim)
        MPIDI_Gpudt_answer_send(vc, rreq, MPIDI_GPUDT_CTS__UNCLAIMED);
    return false;
}
