/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Receives short messages from GPU buffers (see ch3u_gpudt_short.c). Between its envelope and its
 * data a message is identified by its connection and the sender's request, which exists until the
 * data is sent. */

#include "mpidi_gpudt_msg.h"
#include "mpidi_revoked.h"

/* A message whose envelope has arrived and whose data has not. */
struct inbound {
    struct inbound *next;       /* in its bucket */
    const MPIDI_VC_t *vc;
    MPI_Request sender_req_id;
    MPIR_Request *rreq;         /* NULL: cancelled or freed, or failed with the connection */
    intptr_t data_sz;
    bool is_matched;
};

#define NBUCKETS 1024           /* a power of 2 */
static struct inbound *buckets[NBUCKETS];

static bool has_finalizer = false;

/* For MPIR_Add_finalize. Free the messages that were never received. */
static int inbound_end(void *unused ATTRIBUTE((unused)))
{
    for (int i = 0; i < NBUCKETS; i++) {
        while (buckets[i]) {
            struct inbound *in = buckets[i];
            buckets[i] = in->next;
            MPL_free(in);
        }
    }
    has_finalizer = false;
    return 0;
}

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
    if (MPIDI_Gpudt_direct_join(vc, rreq, MPIR_GPUDT_WAY__PULLED))
        return true;
    /* A failure is reported when the data arrives */
    if (MPIR_Gpudt_buffer_make(rreq->dev.user_buf, rreq->dev.user_count, rreq->dev.datatype,
                               &buffer) || buffer == NULL)
        return false;
    if (MPIDI_Gpudt_direct_recv(vc, rreq, buffer, MPIR_GPUDT_WAY__PULLED, NULL))
        return true;
    MPIR_Gpudt_buffer_free(buffer);
    return false;
}

int MPIDI_Gpudt_pkt_eager(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * pkt, void *data ATTRIBUTE((unused)),
                          intptr_t * buflen, MPIR_Request ** rreqp)
{
    int mpi_errno = MPI_SUCCESS;
    struct inbound *in, **at;

    *buflen = 0;
    *rreqp = NULL;
    if (!has_finalizer)
        MPIR_Add_finalize(inbound_end, NULL, MPIR_FINALIZE_CALLBACK_PRIO - 1);
    has_finalizer = true;
    in = MPL_malloc(sizeof(*in), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP1(!in, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "GPU message");
    in->vc = vc;
    in->sender_req_id = pkt->gpudt_envelope.rts.sender_req_id;
    in->data_sz = pkt->gpudt_envelope.rts.data_sz;
    in->rreq = NULL;
    in->is_matched = false;
    /* The data of a process that has died may come, or not */
    if (vc->state != MPIDI_VC_STATE_MORIBUND) {
        mpi_errno = MPIDI_Gpudt_envelope_match(vc, &pkt->gpudt_envelope, &in->rreq,
                                               &in->is_matched);
        if (mpi_errno) {
            MPL_free(in);
            goto fn_fail;
        }
        if (in->is_matched && short_pull(vc, in->rreq)) {
            MPL_free(in);
            goto fn_exit;
        }
    }
    at = bucket(vc, in->sender_req_id);
    in->next = *at;
    *at = in;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

bool MPIDI_Gpudt_inbound_matched(MPIDI_VC_t * vc, MPIR_Request * rreq)
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

void MPIDI_Gpudt_inbound_unwanted(const MPIR_Request * rreq)
{
    struct inbound *in = *inbound_find(rreq->dev.gpudt_vc, rreq->dev.sender_req_id);

    if (in && in->rreq == rreq)
        in->rreq = NULL;
}

/* Complete, with an error, a message whose data is not wanted any more or will not arrive. If it is
 * not matched, the receive that will match it gets the error. */
static int inbound_fail(struct inbound *in, int err)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *rreq = in->rreq;

    in->rreq = NULL;
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

int MPIDI_Gpudt_data_drop(int64_t sz, void *data, intptr_t * buflen, MPIR_Request ** rreqp)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *rreq;

    *rreqp = NULL;
    if (sz == 0) {
        *buflen = 0;
        goto fn_exit;
    }
    rreq = MPIDI_CH3U_Receive_nothing();
    MPIR_ERR_CHKANDJUMP(!rreq, mpi_errno, MPI_ERR_OTHER, "**nomemreq");
    rreq->dev.recv_data_sz = sz;
    rreq->dev.gpudt_vc = NULL;
    MPIDI_Request_set_msg_type(rreq, MPIDI_REQUEST_EAGER_MSG);
    mpi_errno = data_receive(rreq, true, data, buflen, rreqp);

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
        mpi_errno = inbound_fail(in, err);
        goto fn_exit;
    }

    if (pkt->pool_fd >= 0 && MPIR_Gpudt_is_present()) {
        const MPIDU_gpudt_pool_name_t name = {
            .token = pkt->pool_token,.pid = pkt->pool_pid,.fd = pkt->pool_fd
        };
        if (MPIDI_Gpudt_peer_meet(vc, &name))
            MPIDU_gpudt_pool_meet(&name);
    }

    rreq = in->rreq;
    if (rreq == NULL) {
        /* The sender has cancelled it, or has died */
        mpi_errno = MPIDI_Gpudt_data_drop(in->data_sz, data, buflen, rreqp);
        goto fn_exit;
    }
    rreq->dev.gpudt_vc = NULL;
    MPIDI_Request_set_msg_type(rreq, MPIDI_REQUEST_EAGER_MSG);
    mpi_errno = data_receive(rreq, in->is_matched, data, buflen, rreqp);

  fn_exit:
    MPL_free(in);
    return mpi_errno;
}

/* What the process has sent before may still be read: an entry stays, to drop its data. */
void MPIDI_Gpudt_inbound_vc_failed(const MPIDI_VC_t * vc, int err)
{
    for (int i = 0; i < NBUCKETS; i++) {
        for (struct inbound * in = buckets[i]; in; in = in->next) {
            if (in->vc == vc)
                inbound_fail(in, err);
        }
    }
}
