/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Long messages that the sender copies to the receiver's GPU memory, which it maps:
 *
 *     sender                                                       receiver
 *       | -- request to send with an offer of the buffer ------------->  |  matched with a receive
 *       | <---------- clear to send: push, with an offer of its buffer - |
 *       |  copy (GPU)                                                    |
 *       | -- data of the message: pushed ----------------------------->  |
 *
 * That pays off where the receiver's buffer takes less than the sender's to be accessed across, as
 * when a strided buffer is sent and a contiguous one receives, and where other processes cannot map
 * the sender's buffer. A sender that cannot map the receiver's either says so, and the receiver then
 * chooses another way (gpudt_way.c). */

#include "mpidi_gpudt_msg.h"

/* Final refusals of a peer in a row after which it is asked for one message in RARELY only: where the
 * GPUs cannot access each other, each question is a packet each way for nothing. That mapping the
 * memory does not pay off yet is no final refusal. */
#define MAX_REFUSED 3
#define RARELY 100

#define NBUCKETS 256            /* a power of 2 */

/* By the connection; those that share a bucket are asked rarely together. */
static struct refusals {
    unsigned n;                 /* in a row */
    unsigned nskipped;          /* messages since then that were not asked for */
} refusals[NBUCKETS];

/* ---- receiver ---- */

static struct refusals *refusals_of(const MPIDI_VC_t * vc)
{
    return &refusals[((uintptr_t) vc >> 6) & (NBUCKETS - 1)];
}

static bool may_ask(const MPIDI_VC_t * vc)
{
    struct refusals *r = refusals_of(vc);

    return r->n < MAX_REFUSED || ++r->nskipped % RARELY == 0;
}

static void ask_advance(struct MPIDI_Gpudt_msg *msg)
{
    if (msg->is_peer_gone || msg->segment[0].state == MPIDI_GPUDT_SEGMENT__IDLE)
        MPIDI_Gpudt_msg_end(msg);
}

/* Detach a message from its request and return its buffer, for the request to be received in another
 * way. */
static MPIR_Gpudt_buffer *ask_undo(struct MPIDI_Gpudt_msg *msg)
{
    MPIR_Gpudt_buffer *buffer = msg->buffer;

    msg->buffer = NULL;
    MPIDI_Gpudt_msg_detach(msg);
    return buffer;
}

static int ask_send(struct MPIDI_Gpudt_msg *msg)
{
    MPIDI_CH3_Pkt_t upkt;
    MPIDI_CH3_Pkt_gpudt_cts_t *pkt = &upkt.gpudt_cts;

    MPIDI_Gpudt_cts_init(msg->req, &upkt);
    pkt->n = MPIDI_GPUDT_CTS__PUSH;
    pkt->total = msg->total;
    pkt->pool_token = msg->offer.pool.token;
    pkt->pool_pid = msg->offer.pool.pid;
    pkt->pool_fd = msg->offer.pool.fd;
    pkt->grain[0] = (int16_t) msg->offer.grain;
    return MPIDI_Gpudt_send_pkt(msg->vc, pkt, sizeof(*pkt));
}

bool MPIDI_Gpudt_push_ask(MPIDI_VC_t * vc, MPIR_Request * rreq, MPIR_Gpudt_buffer * buffer)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_msg *msg;

    if (!may_ask(vc))
        return false;
    mpi_errno = MPIDI_Gpudt_msg_make(rreq, vc, buffer, MPIDI_GPUDT_SHARE__EAGER, 1, ask_advance,
                                     &msg);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPIDI_Gpudt_direct_offer_long(msg, 0);
    if (msg->offer.grain < 0 || msg->offer.grain > INT16_MAX) {
        ask_undo(msg);
        return false;
    }
    msg->total = MPIDI_Gpudt_room_check(rreq);
    msg->segment[0].state = MPIDI_GPUDT_SEGMENT__CREDIT;
    mpi_errno = ask_send(msg);
    if (mpi_errno) {
        MPIDI_Gpudt_msg_fail(msg, mpi_errno);
        msg->is_peer_gone = true;
        MPIDI_Gpudt_msg_advance(msg);
    }

  fn_exit:
    return true;
  fn_fail:
    MPIDI_Gpudt_recv_fail(vc, rreq, mpi_errno);
    goto fn_exit;
}

void MPIDI_Gpudt_pushed(struct MPIDI_Gpudt_msg *msg)
{
    /* If the program has freed the buffer meanwhile, the sender's mapping may have kept its memory */
    int mpi_errno = MPIR_Gpudt_buffer_check(msg->buffer);

    refusals_of(msg->vc)->n = 0;
    if (mpi_errno)
        MPIDI_Gpudt_msg_fail(msg, mpi_errno);
    msg->segment[0].state = MPIDI_GPUDT_SEGMENT__IDLE;
    MPIDI_Gpudt_msg_advance(msg);
}

int MPIDI_Gpudt_unpushed(struct MPIDI_Gpudt_msg *msg, bool is_final)
{
    MPIDI_VC_t *vc = msg->vc;
    MPIR_Request *rreq = msg->req;
    MPIR_Gpudt_buffer *buffer = ask_undo(msg);
    int mpi_errno = MPIR_Gpudt_buffer_check(buffer);

    if (is_final)
        refusals_of(vc)->n++;
    if (mpi_errno) {
        MPIR_Gpudt_buffer_free(buffer);
        return MPIDI_Gpudt_recv_fail(vc, rreq, mpi_errno);
    }
    return MPIDI_Gpudt_recv_start(vc, rreq, buffer,
                                  MPIR_GPUDT_WAY__PULLED | MPIR_GPUDT_WAY__STAGED |
                                  (is_final ? 0 : MPIR_GPUDT_WAY__DECLINED));
}

/* ---- sender ---- */

bool MPIDI_Gpudt_push_start(struct MPIDI_Gpudt_msg *msg, const MPIDI_CH3_Pkt_gpudt_cts_t * pkt,
                            bool * is_final)
{
    const MPIDU_gpudt_offer_name_t name = {
        .pool = {.token = pkt->pool_token,.pid = pkt->pool_pid,.fd = pkt->pool_fd},
        .grain = pkt->grain[0]
    };
    struct MPIDI_Gpudt_segment *segment = &msg->segment[0];
    const MPIR_Gpudt_offer_t *offer = NULL;
    const void *type;
    bool is_taken;
    int mpi_errno;

    *is_final = true;
    if (MPIDI_Gpudt_peer_meet(msg->vc, &name.pool))
        offer = MPIDU_gpudt_offer_find(&name);
    if (offer == NULL || !MPIDI_Gpudt_offer_type_find(&name, offer, &type))
        return false;
    MPIDI_Gpudt_peer_note(msg->vc, MPIR_Gpudt_offer_process(offer));
    mpi_errno = MPIR_Gpudt_offer_push(offer, type, msg->buffer, pkt->total, &segment->op, &is_taken,
                                      is_final);
    if (!is_taken)
        return false;
    if (mpi_errno)
        MPIDI_Gpudt_msg_fail(msg, mpi_errno);
    segment->state = MPIDI_GPUDT_SEGMENT__MOVING;
    segment->is_shared = true;
    segment->len = pkt->total;
    msg->started = pkt->total;
    msg->is_pushed = true;
    return true;
}
