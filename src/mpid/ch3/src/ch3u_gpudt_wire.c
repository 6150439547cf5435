/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Sends packets and segments, and matches envelopes with receives. Must not know the protocol. */

#include "mpidi_gpudt_msg.h"

int MPIDI_Gpudt_send_pkt(MPIDI_VC_t * vc, void *pkt, size_t sz)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *req = NULL;

    MPID_THREAD_CS_ENTER(POBJ, vc->pobj_mutex);
    mpi_errno = MPIDI_CH3_iStartMsg(vc, pkt, sz, &req);
    MPID_THREAD_CS_EXIT(POBJ, vc->pobj_mutex);
    if (req) {
        if (mpi_errno == MPI_SUCCESS)
            mpi_errno = req->status.MPI_ERROR;
        MPIR_Request_free(req);
    }
    return mpi_errno;
}

/* The channel has finished with a segment; called when the segment's own request is complete. */
static int segment_wired(MPIR_Request * req)
{
    struct MPIDI_Gpudt_segment *segment = req->dev.user_buf;

    if (req->status.MPI_ERROR) {
        MPIDI_Gpudt_msg_fail(segment->msg, req->status.MPI_ERROR);
        segment->msg->is_peer_gone = true;
    }
    MPIDI_Gpudt_segment_clear(segment);
    /* Nothing may be sent from here: over TCP, this request is still at the head of the
     * connection's queue, and another send would write it again */
    MPIDI_Gpudt_msg_advance_later(segment->msg);
    return MPI_SUCCESS;
}

void MPIDI_Gpudt_segment_send(struct MPIDI_Gpudt_segment *segment, void *pkt, size_t sz)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_msg *msg = segment->msg;
    MPIR_Request *req;
    struct iovec iov[2];

    req = MPIR_Request_create(MPIR_REQUEST_KIND__SEND);
    MPIR_ERR_CHKANDJUMP(!req, mpi_errno, MPI_ERR_OTHER, "**nomemreq");
    MPIR_Object_set_ref(req, 1);
    MPIDI_Request_set_type(req, MPIDI_REQUEST_TYPE_SEND);
    req->dev.OnDataAvail = NULL;
    req->dev.request_completed_cb = segment_wired;
    req->dev.user_buf = segment;
    segment->state = MPIDI_GPUDT_SEGMENT__WIRE;
    iov[0].iov_base = pkt;
    iov[0].iov_len = sz;
    iov[1].iov_base = segment->mem;
    iov[1].iov_len = segment->len;
    MPID_THREAD_CS_ENTER(POBJ, msg->vc->pobj_mutex);
    mpi_errno = MPIDI_CH3_iSendv(msg->vc, req, iov, 2);
    MPID_THREAD_CS_EXIT(POBJ, msg->vc->pobj_mutex);
    if (mpi_errno) {
        /* If the request is not complete yet, it never will be */
        if (segment->state == MPIDI_GPUDT_SEGMENT__WIRE) {
            req->dev.request_completed_cb = NULL;
            MPIR_Request_free(req);
            MPIDI_Gpudt_segment_clear(segment);
        }
        goto fn_fail;
    }

  fn_exit:
    return;
  fn_fail:
    MPIDI_Gpudt_msg_fail(msg, mpi_errno);
    msg->is_peer_gone = true;
    goto fn_exit;
}

int MPIDI_Gpudt_envelope_send(struct MPIDI_Gpudt_msg *msg, int type, intptr_t data_sz)
{
    MPIDI_CH3_Pkt_t upkt;
    MPIDI_CH3_Pkt_gpudt_envelope_t *envelope = &upkt.gpudt_envelope;
    MPIDI_CH3_Pkt_rndv_req_to_send_t *pkt = &envelope->rts;
    MPIR_Request *sreq = msg->req;

    MPIDI_Pkt_init(pkt, type);
    envelope->offer = msg->offer;
    pkt->match = sreq->dev.match;
    pkt->match.parts.rank = sreq->comm->rank;
    pkt->sender_req_id = sreq->handle;
    pkt->data_sz = data_sz;
    MPIDI_VC_FAI_send_seqnum(msg->vc, seqnum);
    MPIDI_Pkt_set_seqnum(pkt, seqnum);
    MPIDI_Request_set_seqnum(sreq, seqnum);
    return MPIDI_Gpudt_send_pkt(msg->vc, envelope, sizeof(*envelope));
}

int MPIDI_Gpudt_envelope_match(MPIDI_VC_t * vc, const MPIDI_CH3_Pkt_gpudt_envelope_t * envelope,
                               MPIR_Request ** rreq_ptr, bool * is_matched)
{
    int mpi_errno = MPI_SUCCESS;
    const MPIDI_CH3_Pkt_rndv_req_to_send_t *pkt = &envelope->rts;
    MPIDI_Message_match match = pkt->match;
    MPIR_Request *rreq;
    int found;

    MPID_THREAD_CS_ENTER(POBJ, MPIR_THREAD_POBJ_MSGQ_MUTEX);
    rreq = MPIDI_CH3U_Recvq_FDP_or_AEU(&match, &found);
    MPIR_ERR_CHKANDJUMP1(!rreq, mpi_errno, MPI_ERR_OTHER, "**nomemreq", "**nomemuereq %d",
                         MPIDI_CH3U_Recvq_count_unexp());

    rreq->status.MPI_SOURCE = pkt->match.parts.rank;
    rreq->status.MPI_TAG = pkt->match.parts.tag;
    MPIR_STATUS_SET_COUNT(rreq->status, pkt->data_sz);
    rreq->dev.sender_req_id = pkt->sender_req_id;
    rreq->dev.recv_data_sz = pkt->data_sz;
    MPIDI_Request_set_seqnum(rreq, pkt->seqnum);
    MPIDI_Request_set_msg_type(rreq, MPIDI_REQUEST_RNDV_MSG);
    rreq->dev.gpudt_vc = vc;
    rreq->dev.gpudt_offer = envelope->offer;
    if (found) {
        MPIDI_Gpudt_burst_begin();
    } else {
        /* Another thread may be blocked in a probe */
        rreq->dev.OnDataAvail = NULL;
        MPIDI_CH3_Progress_signal_completion();
    }
    *rreq_ptr = rreq;
    *is_matched = found;

  fn_exit:
    MPID_THREAD_CS_EXIT(POBJ, MPIR_THREAD_POBJ_MSGQ_MUTEX);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
