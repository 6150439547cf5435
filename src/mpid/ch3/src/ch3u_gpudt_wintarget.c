/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Puts, gets and accumulates by messages of their own (ch3u_gpudt_winmsg.c): the target's part, from the
 * packet that says what and where to the answer. Accumulates of an origin wait for memory, of which there
 * is a bounded amount, and are combined with the window in their order. */

#include "mpidimpl.h"
#include "mpidi_gpudt_winmsg_impl.h"

#define MAX_ROOMS 2             /* accumulates of an origin in a window that there is memory for at a
                                 * time: one may arrive while another one is combined */

static struct MPIDI_Gpudt_win_origin *origin_of(const struct MPIDI_Gpudt_winmsg *msg)
{
    return &msg->win->gpudt->origins[msg->rank];
}

/* Whether the datatype is needed after the packet has been handled. Its slot may be used anew meanwhile. */
static bool is_kept(const struct MPIDI_Gpudt_winmsg *msg)
{
    return msg->is_get || msg->op != MPI_OP_NULL;
}

/* ---- accumulates ---- */

static void rooms_free(struct MPIDI_Gpudt_winmsg *msg)
{
    MPIDI_Gpudt_winacc_room_free(msg->room);
    MPIDI_Gpudt_winacc_room_free(msg->old);
    msg->room = msg->old = NULL;
}

static int rooms_get(struct MPIDI_Gpudt_winmsg *msg)
{
    int mpi_errno = MPI_SUCCESS;
    const bool has_data = msg->op != MPI_NO_OP;

    MPIDI_Gpudt_winacc_elements(msg->count, msg->datatype, &msg->n, &msg->basic, &msg->bytes);
    if (has_data)
        msg->room = MPIDI_Gpudt_winacc_room(msg->addr, msg->n, msg->basic, msg->op);
    if (msg->is_get)
        msg->old = MPIDI_Gpudt_winacc_room(msg->addr, msg->n, msg->basic, MPI_REPLACE);
    if ((has_data && msg->room == NULL) || (msg->is_get && msg->old == NULL)) {
        rooms_free(msg);
        MPIR_ERR_SET1(mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "accumulate");
    }
    return mpi_errno;
}

/* Whether there may be memory for an accumulate now. One that is next is not kept from it by later ones. */
static bool may_have_room(const struct MPIDI_Gpudt_winmsg *msg)
{
    const struct MPIDI_Gpudt_win_origin *origin = origin_of(msg);

    return origin->nrooms < MAX_ROOMS && msg->nth - origin->ncombined < MAX_ROOMS;
}

/* Receive the data of an accumulate, or an empty message in its place. Without memory for the request it
 * is tried again: there must be a receive. */
static void accumulate_post(struct MPIDI_Gpudt_winmsg *msg)
{
    int mpi_errno = MPI_SUCCESS;

    if (msg->datatype != MPI_DATATYPE_NULL)
        MPIDI_Gpudt_winmsg_error(msg, rooms_get(msg));
    if (msg->op != MPI_NO_OP) {
        /* A message that was there may have failed, and is received all the same */
        mpi_errno = MPIDI_Gpudt_winmsg_recv(msg, msg->room, msg->room ? msg->n : 0,
                                            msg->room ? msg->basic : MPI_BYTE,
                                            MPIDI_GPUDT_WINMSG__PUT, &msg->data);
        MPIDI_Gpudt_winmsg_error(msg, mpi_errno);
        if (msg->data == NULL) {
            rooms_free(msg);
            return;
        }
    }
    msg->is_unposted = false;
    origin_of(msg)->nrooms++;
}

/* All of it has arrived, or it has failed. If the origin has failed to send it, that is an error there. */
static void accumulate_combine(struct MPIDI_Gpudt_winmsg *msg)
{
    int mpi_errno = MPI_SUCCESS;

    if (msg->mpi_errno == MPI_SUCCESS && (msg->op == MPI_NO_OP || msg->arrived == msg->bytes)) {
        mpi_errno = MPIDI_Gpudt_winacc_combine(msg->win, msg->room, msg->n, msg->basic, msg->old,
                                               msg->addr, msg->count, msg->datatype, msg->op);
        msg->has_old = msg->old && mpi_errno == MPI_SUCCESS;
    } else if (msg->arrived > 0) {
        MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**gpudt_peer");
    }
    MPIDI_Gpudt_winmsg_error(msg, mpi_errno);
    MPIDI_Gpudt_winacc_room_free(msg->room);
    msg->room = NULL;
    msg->is_pending = false;
    origin_of(msg)->ncombined++;
}

/* ---- progress ---- */

static void answer_send(struct MPIDI_Gpudt_winmsg *msg)
{
    msg->is_unanswered = false;
    if (!msg->is_get)
        MPIDI_Gpudt_winmsg_send(msg, NULL, 0, MPI_BYTE, MPIDI_GPUDT_WINMSG__PUT_DONE, &msg->answer);
    else if (msg->op == MPI_OP_NULL)
        MPIDI_Gpudt_winmsg_send(msg, msg->addr, msg->count, msg->datatype,
                                MPIDI_GPUDT_WINMSG__GOT, &msg->answer);
    else
        MPIDI_Gpudt_winmsg_send(msg, msg->old, msg->n, msg->has_old ? msg->basic : MPI_DATATYPE_NULL,
                                MPIDI_GPUDT_WINMSG__GOT, &msg->answer);
    if (is_kept(msg) && msg->datatype != MPI_DATATYPE_NULL)
        MPIR_Datatype_release_if_not_builtin(msg->datatype);
}

/* Not GPU memory in a host function of a stream. */
static bool may_combine(const MPIR_Win * win)
{
    return !win->gpudt->is_gpu[win->comm_ptr->rank] || MPIR_Gpudt_takes_calls();
}

bool MPIDI_Gpudt_wintarget_advance(struct MPIDI_Gpudt_winmsg *msg)
{
    if (msg->is_unposted) {
        if (may_have_room(msg))
            accumulate_post(msg);
        if (msg->is_unposted)
            return false;
    }
    if (!MPIDI_Gpudt_winmsg_is_done(msg, &msg->data))
        return false;
    if (msg->is_pending) {
        if (msg->nth != origin_of(msg)->ncombined || !may_combine(msg->win))
            return false;
        accumulate_combine(msg);
    }
    if (msg->is_unanswered)
        answer_send(msg);
    if (!MPIDI_Gpudt_winmsg_is_done(msg, &msg->answer))
        return false;
    if (msg->op != MPI_OP_NULL) {
        rooms_free(msg);
        origin_of(msg)->nrooms--;
    }
    return true;
}

/* ---- the beginning ---- */

/* Receive the data of a put, or an empty message in its place. */
static void put_post(struct MPIDI_Gpudt_winmsg *msg)
{
    int mpi_errno = MPI_SUCCESS;

    if (msg->datatype != MPI_DATATYPE_NULL) {
        mpi_errno = MPIDI_Gpudt_winmsg_recv(msg, msg->addr, msg->count, msg->datatype,
                                            MPIDI_GPUDT_WINMSG__PUT, &msg->data);
        MPIDI_Gpudt_winmsg_error(msg, mpi_errno);
    }
    /* All of a message that is too long is received, and dropped */
    if (msg->datatype == MPI_DATATYPE_NULL || mpi_errno) {
        mpi_errno = MPIDI_Gpudt_winmsg_recv(msg, NULL, 0, MPI_BYTE, MPIDI_GPUDT_WINMSG__PUT,
                                            &msg->data);
        MPIDI_Gpudt_winmsg_error(msg, mpi_errno);
    }
}

static void target_start(struct MPIDI_Gpudt_winmsg *msg)
{
    int mpi_errno = MPI_SUCCESS;

    msg->win->at_completion_counter++;
    if (msg->slot >= 0)
        msg->datatype = MPIDI_Gpudt_wintypes_get(msg->win->gpudt->kept[msg->rank], msg->slot);
    if (msg->datatype == MPI_DATATYPE_NULL)     /* there was no memory for it when it came */
        MPIR_ERR_SET1(mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "datatype");
    else
        mpi_errno = MPIDI_Gpudt_win_address_check(msg->win, msg->addr, msg->datatype);
    if (mpi_errno) {
        MPIDI_Gpudt_winmsg_error(msg, mpi_errno);
        msg->datatype = MPI_DATATYPE_NULL;
    }
    msg->is_unanswered = true;
    if (msg->op != MPI_OP_NULL) {
        msg->is_pending = msg->is_unposted = true;
        msg->nth = origin_of(msg)->narrived++;
    }
    if (!is_kept(msg))
        put_post(msg);
    else if (msg->datatype != MPI_DATATYPE_NULL)
        MPIR_Datatype_add_ref_if_not_builtin(msg->datatype);
    MPIDI_Gpudt_winmsg_add(msg);
}

/* The datatype has arrived. */
static void type_arrive(struct MPIDI_Gpudt_winmsg *msg, const void *flat)
{
    struct MPIDI_Gpudt_wintypes **kept = &msg->win->gpudt->kept[msg->rank];

    MPIDI_Gpudt_winmsg_error(msg, MPIDI_Gpudt_wintypes_keep(kept, msg->slot, flat));
    target_start(msg);
}

/* For OnDataAvail. */
static int type_received(MPIDI_VC_t * vc ATTRIBUTE((unused)), MPIR_Request * rreq, int *complete)
{
    struct MPIDI_Gpudt_winmsg *msg = rreq->dev.user_buf;

    type_arrive(msg, rreq->dev.flattened_type);
    *complete = TRUE;
    return MPID_Request_complete(rreq);
}

/* Get the datatype, which follows the packet.
 *   rreqp  (OUT)  the request for what has not arrived; NULL: all has */
static int type_receive(struct MPIDI_Gpudt_winmsg *msg, MPI_Aint sz, void *data, intptr_t * buflen,
                        MPIR_Request ** rreqp)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *rreq = NULL;

    if (*buflen >= sz) {
        type_arrive(msg, data);
        *buflen = sz;
        goto fn_exit;
    }
    rreq = MPIR_Request_create(MPIR_REQUEST_KIND__UNDEFINED);
    MPIR_ERR_CHKANDJUMP(!rreq, mpi_errno, MPI_ERR_OTHER, "**nomemreq");
    MPIR_Object_set_ref(rreq, 1);
    rreq->dev.flattened_type = MPL_malloc(sz, MPL_MEM_RMA);
    MPIR_ERR_CHKANDJUMP1(!rreq->dev.flattened_type, mpi_errno, MPI_ERR_NO_MEM, "**nomem",
                         "**nomem %s", "datatype");
    rreq->dev.user_buf = msg;
    rreq->dev.iov[0].iov_base = rreq->dev.flattened_type;
    rreq->dev.iov[0].iov_len = sz;
    rreq->dev.iov_count = 1;
    rreq->dev.OnDataAvail = type_received;
    *buflen = 0;
    *rreqp = rreq;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (rreq)
        MPIR_Request_free(rreq);
    goto fn_exit;
}

/* A packet has arrived: the target's part begins. Without memory even for its state, the connection
 * fails, as it does for ch3's own operations. */
int MPIDI_Gpudt_pkt_win(MPIDI_VC_t * vc ATTRIBUTE((unused)), MPIDI_CH3_Pkt_t * upkt, void *data,
                        intptr_t * buflen, MPIR_Request ** rreqp)
{
    int mpi_errno = MPI_SUCCESS;
    const MPIDI_CH3_Pkt_gpudt_win_t *pkt = &upkt->gpudt_win;
    struct MPIDI_Gpudt_winmsg *msg;
    MPIR_Win *win;

    *rreqp = NULL;
    MPIR_Win_get_ptr(pkt->win, win);
    MPIR_Assert(win && win->gpudt);
    msg = MPIDI_Gpudt_winmsg_make(win, pkt->rank, pkt->tag, pkt->is_get, pkt->op);
    MPIR_ERR_CHKANDJUMP1(!msg, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "GPU window");
    msg->addr = pkt->addr;
    msg->count = pkt->count;
    msg->datatype = pkt->datatype;
    msg->slot = pkt->slot;
    if (pkt->type_sz > 0) {
        mpi_errno = type_receive(msg, pkt->type_sz, data, buflen, rreqp);
        MPIR_ERR_CHECK(mpi_errno);
        goto fn_exit;
    }
    *buflen = 0;
    target_start(msg);

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(msg);
    goto fn_exit;
}
