/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Handles destroyed requests, cancelled sends and failed connections of messages with GPU buffers, and with
 * fault tolerance sends from any memory whose receiver dies before it answers. */

#include "mpidi_gpudt_msg.h"

/* Sends that the program has cancelled, from any memory. Each has counted the receiver's answer. If the
 * connection fails first, that is over, but the answer may still be read. It names the request by its
 * handle, which must not be used again before. */
struct cancelled {
    MPIR_Request *req;
    const MPIDI_VC_t *vc;
    bool is_over;               /* the connection has failed, and the list has a reference */
    struct cancelled *next, *prev;
};

static struct cancelled *cancelled_sends;
static bool is_finalizer_set;

/* With fault tolerance: sends that wait for an answer of the receiver, which clears them to send or tells
 * that they are received. The oldest one is first. */
struct unanswered {
    MPIR_Request *req;
    const MPIDI_VC_t *vc;
    struct unanswered *next, *prev;
};

static struct unanswered *unanswered_sends;
static bool has_all_unanswered = true;  /* there was memory for each of them */

void MPIDI_Gpudt_request_destroyed(MPIR_Request * req)
{
    if (req->dev.gpudt_vc)
        MPIDI_Gpudt_inbound_unwanted(req);
    if (req->dev.gpudt)
        MPIDI_Gpudt_msg_detach(req->dev.gpudt);
}

static void cancelled_free(struct cancelled *c)
{
    DL_DELETE(cancelled_sends, c);
    if (c->is_over)
        MPIR_Request_free(c->req);
    MPL_free(c);
}

/* For MPIR_Add_finalize. No more answers come. */
static int cancelled_end(void *unused ATTRIBUTE((unused)))
{
    while (cancelled_sends) {
        /* The last reference to a communicator must not be dropped when connections are gone */
        if (cancelled_sends->is_over)
            cancelled_sends->req->comm = NULL;
        cancelled_free(cancelled_sends);
    }
    is_finalizer_set = false;
    return 0;
}

void MPIDI_Gpudt_cancel_asked(MPIR_Request * sreq, const MPIDI_VC_t * vc)
{
    struct cancelled *c;

    /* The question has found that the connection fails */
    if (vc->state == MPIDI_VC_STATE_MORIBUND) {
        MPID_Request_complete(sreq);
        return;
    }
    c = MPL_malloc(sizeof(*c), MPL_MEM_OTHER);
    if (c == NULL)              /* this send waits for its answer whatever happens */
        return;
    *c = (struct cancelled) {.req = sreq,.vc = vc };
    DL_APPEND(cancelled_sends, c);
    if (!is_finalizer_set)
        MPIR_Add_finalize(cancelled_end, NULL, MPIR_FINALIZE_CALLBACK_PRIO - 1);
    is_finalizer_set = true;
}

bool MPIDI_Gpudt_cancel_answered(MPIR_Request * sreq, bool is_cancelled)
{
    struct cancelled *c;
    bool is_over = false;

    DL_FOREACH(cancelled_sends, c) {
        if (c->req == sreq)
            break;
    }
    if (c) {
        is_over = c->is_over;
        cancelled_free(c);
    }
    /* The receiver has forgotten the message */
    if (!is_over && is_cancelled && sreq->dev.gpudt &&
        MPIDI_Request_get_msg_type(sreq) == MPIDI_REQUEST_RNDV_MSG)
        MPIDI_Gpudt_msg_detach(sreq->dev.gpudt);
    return is_over;
}

/* A connection has failed: do not wait for its answers. */
static void cancelled_fail(const MPIDI_VC_t * vc)
{
    struct cancelled *c;

    DL_FOREACH(cancelled_sends, c) {
        if (c->vc == vc && !c->is_over) {
            c->is_over = true;
            MPIR_Request_add_ref(c->req);
            MPID_Request_complete(c->req);
        }
    }
}

/* Drop a send from the list. Returns whether it was there.
 *   vc  (IN)  NULL: of any connection */
static bool unanswered_drop(const MPIR_Request * sreq, const MPIDI_VC_t * vc)
{
    struct unanswered *u;

    DL_FOREACH(unanswered_sends, u) {
        if (u->req == sreq && (vc == NULL || u->vc == vc))
            break;
    }
    if (u == NULL)
        return false;
    DL_DELETE(unanswered_sends, u);
    MPL_free(u);
    return true;
}

/* For request_completed_cb: a cancelled send is complete without an answer. */
static int unanswered_completed(MPIR_Request * sreq)
{
    (void) unanswered_drop(sreq, NULL);
    return MPI_SUCCESS;
}

/* No answer comes; the message itself may still be queued. */
static void unanswered_fail(MPIR_Request * sreq, int mpi_errno)
{
    sreq->status.MPI_ERROR = mpi_errno;
    MPID_Request_complete(sreq);
}

void MPIDI_Gpudt_answer_awaited(const MPIDI_VC_t * vc, MPIR_Request * sreq)
{
    int mpi_errno = MPI_SUCCESS;
    struct unanswered *u;

    if (!MPIR_CVAR_ENABLE_FT)
        return;
    if (vc->state == MPIDI_VC_STATE_MORIBUND) {
        MPIR_ERR_SET1(mpi_errno, MPIX_ERR_PROC_FAILED, "**comm_fail", "**comm_fail %d", vc->pg_rank);
        unanswered_fail(sreq, mpi_errno);
        return;
    }
    u = MPL_malloc(sizeof(*u), MPL_MEM_OTHER);
    if (u == NULL) {
        has_all_unanswered = false;
        return;
    }
    *u = (struct unanswered) {.req = sreq,.vc = vc };
    DL_APPEND(unanswered_sends, u);
    sreq->dev.request_completed_cb = unanswered_completed;
}

bool MPIDI_Gpudt_answer_came(const MPIDI_VC_t * vc, const MPIR_Request * sreq)
{
    return !MPIR_CVAR_ENABLE_FT || unanswered_drop(sreq, vc) || !has_all_unanswered;
}

/* A connection has failed: do not wait for its answers. */
static void unanswered_vc_failed(const MPIDI_VC_t * vc, int mpi_errno)
{
    struct unanswered *u, *next;
    MPIR_Request *sreq;

    DL_FOREACH_SAFE(unanswered_sends, u, next) {
        if (u->vc == vc) {
            sreq = u->req;
            (void) unanswered_drop(sreq, NULL);
            unanswered_fail(sreq, mpi_errno);
        }
    }
}

void MPIDI_Gpudt_vc_failed(MPIDI_VC_t * vc)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_SET1(mpi_errno, MPIX_ERR_PROC_FAILED, "**comm_fail", "**comm_fail %d", vc->pg_rank);
    MPIDI_Gpudt_msgs_fail(vc, MPIDI_Gpudt_may_share(vc), mpi_errno);
    MPIDI_Gpudt_inbound_vc_failed(vc, mpi_errno);
    cancelled_fail(vc);
    unanswered_vc_failed(vc, mpi_errno);
    MPIDI_Gpudt_rma_vc_failed(vc);
}
