/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Handles destroyed requests, cancelled sends and failed connections of messages with GPU buffers. */

#include "mpidi_gpudt_msg.h"

/* Cancelled sends that ended with their connection. The receiver may have answered before it died. As
 * that names the request by its handle, it must not be used again before the answer is read. */
static MPIR_Request *unanswered;

void MPIDI_Gpudt_request_destroyed(MPIR_Request * req)
{
    if (req->dev.gpudt_vc)
        MPIDI_Gpudt_inbound_unwanted(req);
    if (req->dev.gpudt)
        MPIDI_Gpudt_msg_detach(req->dev.gpudt);
}

void MPIDI_Gpudt_cancel_give_up(MPIR_Request * req)
{
    /* MPI_Cancel has counted the answer */
    if (!req->dev.cancel_pending || MPIR_cc_get(req->cc) < 2)
        return;
    MPIR_Request_add_ref(req);
    DL_APPEND(unanswered, req);
    MPID_Request_complete(req);
}

bool MPIDI_Gpudt_cancel_answered(MPIR_Request * sreq, bool is_cancelled)
{
    MPIR_Request *req;

    DL_FOREACH(unanswered, req) {
        if (req == sreq)
            break;
    }
    if (req) {
        DL_DELETE(unanswered, req);
        MPIR_Request_free(req);
    } else if (is_cancelled && sreq->dev.gpudt &&
               MPIDI_Request_get_msg_type(sreq) == MPIDI_REQUEST_RNDV_MSG) {
        /* The receiver has forgotten the message */
        MPIDI_Gpudt_msg_detach(sreq->dev.gpudt);
    }
    return req != NULL;
}

void MPIDI_Gpudt_cancel_end(void)
{
    MPIR_Request *req, *next;

    DL_FOREACH_SAFE(unanswered, req, next)
        MPIR_Request_free(req);
    unanswered = NULL;
}

void MPIDI_Gpudt_vc_failed(MPIDI_VC_t * vc)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_SET1(mpi_errno, MPIX_ERR_PROC_FAILED, "**comm_fail", "**comm_fail %d", vc->pg_rank);
    MPIDI_Gpudt_msgs_fail(vc, MPIDI_Gpudt_may_share(vc), mpi_errno);
    MPIDI_Gpudt_inbound_vc_failed(vc, mpi_errno);
}
