/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Long puts, gets and accumulates on windows that the origin does not map, of other nodes, and in memory that cannot be
 * shared, if the window or the origin's buffer is on a GPU. The data is a message between the two
 * processes, which takes the way of any message with GPU buffers, in segments through pinned memory, as
 * many at a time as there is memory for. Which operations these are is in ch3u_gpudt_winapt.c:
 *
 *     origin                                              target
 *     MPI_Put
 *       | -- what and where; datatype, if it is new ------> |  receive posted, into the window
 *       | -- message -------------------------------------> |
 *       | <----------------------------- empty message ---- |  it is there
 *     flush, end of the epoch: wait for that
 *
 *     MPI_Get
 *       | -- what and where; datatype, if it is new ------> |
 *       | <----------------------------------- message ---- |  sent from the window
 *     flush, end of the epoch: wait for that
 *
 *     MPI_Accumulate: in parts (ch3u_gpudt_winacc.c), each of them as a put, but
 *       | -- message -------------------------------------> |  received beside the window, and combined when
 *       |                                                   |  those are that came before from this origin
 *       | <----------------------------- empty message ---- |  it is there
 *
 * As a copy of the origin's GPU, such an operation may only start when the target has exposed its memory,
 * and is waited for before anything tells the target (ch3u_gpudt_window.c). So it needs none of the states
 * and flags of ch3's own operations.
 *
 * The messages have the window's communicator, as those of MPI_Win_post have. Their tags are the number of
 * the operation and what kind of message it is, since both processes may be origins. The target keeps the
 * last few datatypes of each origin (ch3u_gpudt_wintypes.c).
 *
 * If the target cannot do its part, an empty message is sent or received in the place of the data, so that
 * no process waits. The target's window then keeps the error. A get fails; the others do not.
 *
 * Operations under way, in both processes, are advanced by the hook: nothing may be sent where a request
 * completes. */

#include "mpidimpl.h"
#include "mpidi_gpudt_msg.h"
#include "mpidi_gpudt_window_impl.h"

#define MAX_MSGS 256            /* of a window under way, in the origin */
#define MAX_ROOMS 2             /* accumulates of an origin in a window that the target has memory for at a
                                 * time: one may arrive while another one is combined */

/* Kinds of messages, in the low bits of a tag: none of them is that of ch3's SYNC_POST_TAG. The bits above
 * those of numbers are the library's. */
enum { TAG__PUT = 1, TAG__GOT, TAG__PUT_DONE, NTAGS = 4 };
#define NUMBER_MASK ((1u << 26) - 1)

/* An operation under way. */
struct winmsg {
    struct winmsg *next, *prev;
    MPIR_Win *win;
    int rank;                   /* of the other process */
    int tag;                    /* its number, without a kind */
    bool is_origin, is_get;
    MPI_Op op;                  /* of an accumulate; MPI_OP_NULL: none */
    MPIR_Request *data;         /* the message; NULL: complete, or not started */
    MPIR_Request *done;         /* the empty one; in the origin of a put from the start */
    unsigned number;            /* of those of this process; only in the origin */
    MPI_Aint bytes;             /* of the target's data; in the target only of an accumulate */
    MPIR_Request *ureq;         /* NULL: none */
    /* Only in the target */
    bool is_unsent;             /* the data of a get is to be sent */
    bool is_undone;             /* the origin of a put or accumulate is to be told that it is done */
    bool is_pending;            /* an accumulate whose data is not combined yet */
    bool is_unposted;           /* and for which there was no memory so far */
    unsigned nth;               /* of those of its origin */
    void *room;                 /* that memory */
    MPI_Aint arrived;           /* bytes */
    void *addr;
    int count;
    MPI_Datatype datatype;      /* MPI_DATATYPE_NULL: the part of this process has failed */
    int slot;                   /* of the datatype; negative: predefined */
    int mpi_errno;              /* the first error */
};

static struct winmsg *msgs = NULL;      /* of both roles, in all windows */

static struct winmsg *msg_make(MPIR_Win * win, int rank, int tag, bool is_get, MPI_Op op)
{
    struct winmsg *msg = MPL_calloc(1, sizeof(*msg), MPL_MEM_RMA);

    if (msg) {
        msg->win = win;
        msg->rank = rank;
        msg->tag = tag;
        msg->is_get = is_get;
        msg->op = op;
    }
    return msg;
}

static void error_add(struct winmsg *msg, int mpi_errno)
{
    if (msg->mpi_errno == MPI_SUCCESS)
        msg->mpi_errno = mpi_errno;
}

/* ---- messages ---- */

static int data_send(const struct winmsg *msg, const void *buf, MPI_Aint count,
                     MPI_Datatype datatype, int tag, MPIR_Request ** req)
{
    return MPID_Isend(buf, count, datatype, msg->rank, msg->tag + tag, msg->win->comm_ptr,
                      MPIR_CONTEXT_INTRA_PT2PT, req);
}

static int data_recv(const struct winmsg *msg, void *buf, MPI_Aint count, MPI_Datatype datatype,
                     int tag, MPIR_Request ** req)
{
    return MPID_Irecv(buf, count, datatype, msg->rank, msg->tag + tag, msg->win->comm_ptr,
                      MPIR_CONTEXT_INTRA_PT2PT, req);
}

/* Send a message, or an empty one if that fails: the other process waits for one. If that fails as well,
 * the connection has failed, which the other process knows. */
static void send_any(struct winmsg *msg, const void *buf, MPI_Aint count, MPI_Datatype datatype,
                     int tag, MPIR_Request ** req)
{
    int mpi_errno = MPI_SUCCESS;

    if (datatype != MPI_DATATYPE_NULL) {
        mpi_errno = data_send(msg, buf, count, datatype, tag, req);
        error_add(msg, mpi_errno);
    }
    if (datatype == MPI_DATATYPE_NULL || mpi_errno) {
        *req = NULL;
        mpi_errno = data_send(msg, NULL, 0, MPI_BYTE, tag, req);
        error_add(msg, mpi_errno);
        if (mpi_errno)
            *req = NULL;
    }
}

/* Whether a message is complete, or there is none. */
static bool request_end(struct winmsg *msg, MPIR_Request ** req)
{
    if (*req == NULL)
        return true;
    if (!MPIR_Request_is_complete(*req))
        return false;
    error_add(msg, (*req)->status.MPI_ERROR);
    msg->arrived = MPIR_STATUS_GET_COUNT((*req)->status);
    if (msg->is_origin && msg->is_get && msg->mpi_errno == MPI_SUCCESS &&
        msg->arrived != msg->bytes)
        MPIR_ERR_SET(msg->mpi_errno, MPI_ERR_OTHER, "**gpudt_peer");
    MPIR_Request_free(*req);
    *req = NULL;
    return true;
}

/* ---- both processes ---- */

static void msg_add(struct winmsg *msg)
{
    DL_APPEND(msgs, msg);
    MPIDI_Gpudt_wake();
}

static void msg_end(struct winmsg *msg)
{
    MPIR_Win *win = msg->win;

    DL_DELETE(msgs, msg);
    if (msg->is_origin) {
        win->gpudt->nmsgs--;
        if (msg->op != MPI_OP_NULL)
            win->gpudt->naccumulates--;
    } else {
        win->at_completion_counter--;
    }
    if (msg->ureq) {
        msg->ureq->status.MPI_ERROR = msg->mpi_errno;
        MPID_Request_complete(msg->ureq);
    } else {
        MPIDI_Gpudt_win_keep(win, &msg->mpi_errno);
    }
    MPL_free(msg);
}

static struct MPIDI_Gpudt_win_origin *origin_of(const struct winmsg *msg)
{
    return &msg->win->gpudt->origins[msg->rank];
}

/* Receive the data of an accumulate, or an empty message in its place. Without memory for the request it
 * is tried again: there must be a receive. */
static void accumulate_post(struct winmsg *msg)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint count = 0;
    MPI_Datatype basic = MPI_BYTE;

    if (msg->datatype != MPI_DATATYPE_NULL) {
        msg->room = MPIDI_Gpudt_winacc_room(msg->addr, msg->count, msg->datatype, msg->op);
        if (msg->room == NULL)
            MPIR_ERR_SET1(mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "accumulate");
        else
            MPIDI_Gpudt_winacc_elements(msg->count, msg->datatype, &count, &basic, &msg->bytes);
    }
    error_add(msg, mpi_errno);
    /* A message that was there may have failed, and is received all the same */
    error_add(msg, data_recv(msg, msg->room, count, basic, TAG__PUT, &msg->data));
    msg->is_unposted = msg->data == NULL;
    if (msg->is_unposted) {
        MPIDI_Gpudt_winacc_room_free(msg->room);
        msg->room = NULL;
    } else {
        origin_of(msg)->nrooms++;
    }
}

/* All of it has arrived, or it has failed. If the origin has failed to send it, that is an error there. */
static void accumulate_combine(struct winmsg *msg)
{
    int mpi_errno = MPI_SUCCESS;

    if (msg->mpi_errno == MPI_SUCCESS && msg->arrived == msg->bytes)
        mpi_errno = MPIDI_Gpudt_winacc_combine(msg->win, msg->room, msg->addr, msg->count,
                                               msg->datatype, msg->op);
    else if (msg->arrived > 0)
        MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**gpudt_peer");
    error_add(msg, mpi_errno);
    MPIDI_Gpudt_winacc_room_free(msg->room);
    msg->room = NULL;
    if (msg->datatype != MPI_DATATYPE_NULL)
        MPIR_Datatype_release_if_not_builtin(msg->datatype);
    msg->is_pending = false;
    origin_of(msg)->nrooms--;
    origin_of(msg)->ncombined++;
}

/* Returns whether the operation has ended. */
static bool msg_advance(struct winmsg *msg)
{
    if (msg->is_unposted) {
        /* Those before it in the list have been asked first */
        if (origin_of(msg)->nrooms < MAX_ROOMS)
            accumulate_post(msg);
        if (msg->is_unposted)
            return false;
    }
    if (msg->is_unsent) {
        msg->is_unsent = false;
        send_any(msg, msg->addr, msg->count, msg->datatype, TAG__GOT, &msg->data);
        if (msg->datatype != MPI_DATATYPE_NULL)
            MPIR_Datatype_release_if_not_builtin(msg->datatype);
    }
    if (!request_end(msg, &msg->data))
        return false;
    if (msg->is_pending) {
        if (msg->nth != origin_of(msg)->ncombined)
            return false;
        accumulate_combine(msg);
    }
    if (msg->is_undone) {
        msg->is_undone = false;
        send_any(msg, NULL, 0, MPI_BYTE, TAG__PUT_DONE, &msg->done);
    }
    if (!request_end(msg, &msg->done))
        return false;
    msg_end(msg);
    return true;
}

/* For MPIDI_Gpudt_hook_also. */
static bool msgs_advance(bool * has_ended)
{
    struct winmsg *msg, *next;

    DL_FOREACH_SAFE(msgs, msg, next) {
        if (msg_advance(msg))
            *has_ended = true;
    }
    return msgs != NULL;
}

/* For MPIDI_Gpudt_hook_also: operations of windows that the program has not freed. */
static void msgs_end(void)
{
    struct winmsg *msg, *next;

    DL_FOREACH_SAFE(msgs, msg, next) {
        DL_DELETE(msgs, msg);
        MPIDI_Gpudt_winacc_room_free(msg->room);
        MPL_free(msg);
    }
}

/* ---- the target ---- */

static void target_start(struct winmsg *msg)
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
        error_add(msg, mpi_errno);
        msg->datatype = MPI_DATATYPE_NULL;
    }
    if (msg->is_get || msg->op != MPI_OP_NULL) {
        msg->is_unsent = msg->is_get;
        msg->is_undone = msg->is_pending = msg->is_unposted = !msg->is_get;
        if (!msg->is_get)
            msg->nth = origin_of(msg)->narrived++;
        /* Its slot may be used anew before */
        if (msg->datatype != MPI_DATATYPE_NULL)
            MPIR_Datatype_add_ref_if_not_builtin(msg->datatype);
    } else {
        msg->is_undone = true;
        if (msg->datatype != MPI_DATATYPE_NULL) {
            mpi_errno = data_recv(msg, msg->addr, msg->count, msg->datatype, TAG__PUT, &msg->data);
            error_add(msg, mpi_errno);
        }
        /* All of a message that is too long is received, and dropped */
        if (msg->datatype == MPI_DATATYPE_NULL || mpi_errno) {
            mpi_errno = data_recv(msg, NULL, 0, MPI_BYTE, TAG__PUT, &msg->data);
            error_add(msg, mpi_errno);
        }
    }
    msg_add(msg);
}

/* The datatype has arrived. */
static void type_arrive(struct winmsg *msg, const void *flat)
{
    error_add(msg, MPIDI_Gpudt_wintypes_keep(&msg->win->gpudt->kept[msg->rank], msg->slot, flat));
    target_start(msg);
}

/* For OnDataAvail. */
static int type_received(MPIDI_VC_t * vc ATTRIBUTE((unused)), MPIR_Request * rreq, int *complete)
{
    struct winmsg *msg = rreq->dev.user_buf;

    type_arrive(msg, rreq->dev.flattened_type);
    *complete = TRUE;
    return MPID_Request_complete(rreq);
}

/* Get the datatype, which follows the packet.
 *   rreqp  (OUT)  the request for what has not arrived; NULL: all has */
static int type_receive(struct winmsg *msg, MPI_Aint sz, void *data, intptr_t * buflen,
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
    struct winmsg *msg;
    MPIR_Win *win;

    *rreqp = NULL;
    MPIR_Win_get_ptr(pkt->win, win);
    MPIR_Assert(win && win->gpudt);
    msg = msg_make(win, pkt->rank, pkt->tag, pkt->is_get, pkt->op);
    MPIR_ERR_CHKANDJUMP1(!msg, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "GPU window");
    msg->addr = pkt->addr;
    msg->count = pkt->count;
    msg->datatype = pkt->datatype;
    msg->slot = pkt->slot;
    MPIDI_Gpudt_hook_also(msgs_advance, msgs_end);
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

/* ---- the origin ---- */

static int pkt_send(MPIDI_VC_t * vc, void *pkt, size_t sz, void *flat, size_t flat_sz)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *req = NULL;
    struct iovec iov[2];

    if (flat == NULL)
        return MPIDI_Gpudt_send_pkt(vc, pkt, sz);
    req = MPIR_Request_create(MPIR_REQUEST_KIND__SEND);
    if (req == NULL)
        MPL_free(flat);
    MPIR_ERR_CHKANDJUMP(!req, mpi_errno, MPI_ERR_OTHER, "**nomemreq");
    /* One reference is for this function, as it must know whether the request is complete */
    MPIR_Object_set_ref(req, 2);
    MPIDI_Request_set_type(req, MPIDI_REQUEST_TYPE_SEND);
    req->dev.OnDataAvail = NULL;
    req->dev.ext_hdr_ptr = flat;        /* freed with the request */
    iov[0].iov_base = pkt;
    iov[0].iov_len = sz;
    iov[1].iov_base = flat;
    iov[1].iov_len = flat_sz;
    MPID_THREAD_CS_ENTER(POBJ, vc->pobj_mutex);
    mpi_errno = MPIDI_CH3_iSendv(vc, req, iov, 2);
    MPID_THREAD_CS_EXIT(POBJ, vc->pobj_mutex);
    if (mpi_errno && !MPIR_Request_is_complete(req))
        MPIR_Request_free(req);
    MPIR_Request_free(req);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Tell the target of an operation.
 *   off  (IN)  bytes from the displacement on */
static int request_send(const struct winmsg *msg, const struct MPIR_Gpudt_rma *r, MPI_Aint off)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Win *win = msg->win;
    const MPIDI_Win_basic_info_t *info = &win->basic_info_table[msg->rank];
    MPIDI_CH3_Pkt_t upkt;
    MPIDI_CH3_Pkt_gpudt_win_t *pkt = &upkt.gpudt_win;
    struct MPIDI_Gpudt_wintypes **types = &win->gpudt->sent[msg->rank];
    MPIDI_VC_t *vc;
    void *flat = NULL;

    MPIDI_Pkt_init(pkt, MPIDI_CH3_PKT_GPUDT_WIN);
    pkt->win = info->win_handle;
    pkt->rank = win->comm_ptr->rank;
    pkt->tag = msg->tag;
    pkt->addr = (char *) info->base_addr + r->disp * info->disp_unit + off;
    pkt->count = r->count;
    pkt->datatype = r->datatype;
    pkt->slot = -1;
    pkt->is_get = r->is_get;
    pkt->op = msg->op;
    pkt->type_sz = 0;
    if (!MPIR_DATATYPE_IS_PREDEFINED(r->datatype)) {
        MPIR_Datatype *type;

        MPIR_Datatype_get_ptr(r->datatype, type);
        pkt->datatype = MPI_DATATYPE_NULL;
        mpi_errno = MPIDI_Gpudt_wintypes_describe(types, type, &pkt->slot, &flat, &pkt->type_sz);
        MPIR_ERR_CHECK(mpi_errno);
    }
    MPIDI_Comm_get_vc_set_active(win->comm_ptr, msg->rank, &vc);
    mpi_errno = pkt_send(vc, pkt, sizeof(*pkt), flat, (size_t) pkt->type_sz);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    /* The target has not got it */
    if (pkt->type_sz > 0)
        MPIDI_Gpudt_wintypes_drop(*types, pkt->slot);
    goto fn_exit;
}

/* The receive is posted first: once the target knows of the operation, it waits for its end. An operation
 * that cannot be started has ended with an error, which is reported as any other. */
static void origin_start(struct winmsg *msg, const struct MPIR_Gpudt_rma *r, MPI_Aint off)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request **req = r->is_get ? &msg->data : &msg->done;

    if (r->is_get)
        mpi_errno = data_recv(msg, (void *) r->buf, r->bufcount, r->buftype, TAG__GOT, req);
    else
        mpi_errno = data_recv(msg, NULL, 0, MPI_BYTE, TAG__PUT_DONE, req);
    if (mpi_errno)
        *req = NULL;
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = request_send(msg, r, off);
    if (mpi_errno) {
        MPID_Cancel_recv(*req);
        MPIR_Request_free(*req);
        *req = NULL;
    }
    MPIR_ERR_CHECK(mpi_errno);
    if (!r->is_get)
        send_any(msg, r->buf, r->bufcount, r->buftype, TAG__PUT, &msg->data);

  fn_exit:
    return;
  fn_fail:
    error_add(msg, mpi_errno);
    goto fn_exit;
}

int MPIDI_Gpudt_winmsg_start(MPIR_Win * win, int rank, const struct MPIR_Gpudt_rma *r, MPI_Op op,
                             MPI_Aint off, MPIR_Request * ureq)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_win *w = win->gpudt;
    struct winmsg *msg = NULL;

    while (w->nmsgs >= MAX_MSGS) {
        mpi_errno = MPIDI_Gpudt_win_progress(win, -1);
        MPIR_ERR_CHECK(mpi_errno);
    }
    msg = msg_make(win, rank, (int) ((++w->last_msg & NUMBER_MASK) * NTAGS), r->is_get, op);
    MPIR_ERR_CHKANDJUMP1(!msg, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "GPU window");
    msg->is_origin = true;
    msg->number = w->last_msg;
    MPIR_Datatype_get_size_macro(r->datatype, msg->bytes);
    msg->bytes *= r->count;
    origin_start(msg, r, off);
    msg->ureq = ureq;
    w->nmsgs++;
    w->naccumulates += op != MPI_OP_NULL;
    MPIDI_Gpudt_hook_also(msgs_advance, msgs_end);
    msg_add(msg);
    MPIR_Gpudt_count_window_message();

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Gpudt_winmsg_move(MPIR_Win * win, int rank, const struct MPIR_Gpudt_rma *r,
                            MPIR_Request * ureq, bool * is_taken)
{
    int mpi_errno = MPI_SUCCESS;

    *is_taken = false;
    if (!MPIDI_Gpudt_winmsg_is_apt(win, rank, r))
        goto fn_exit;
    mpi_errno = MPIDI_Gpudt_win_await(win, rank, is_taken);
    MPIR_ERR_CHECK(mpi_errno);
    if (*is_taken)
        mpi_errno = MPIDI_Gpudt_winmsg_start(win, rank, r, MPI_OP_NULL, 0, ureq);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static bool are_any(const MPIR_Win * win, int rank)
{
    const struct winmsg *msg = msgs;

    if (win->gpudt->nmsgs == 0)
        return false;
    while (msg && (msg->win != win || !msg->is_origin || (rank >= 0 && msg->rank != rank)))
        msg = msg->next;
    return msg != NULL;
}

/* Whether accumulates on a rank's memory are under way that were started before an operation had a number. */
static bool are_accumulates(const MPIR_Win * win, int rank, unsigned number)
{
    const struct winmsg *msg = msgs;

    if (win->gpudt->naccumulates == 0)
        return false;
    while (msg && (msg->win != win || !msg->is_origin || msg->rank != rank ||
                   msg->op == MPI_OP_NULL || (int) (msg->number - number) > 0))
        msg = msg->next;
    return msg != NULL;
}

static void wait_some(MPIR_Win * win)
{
    int mpi_errno = wait_progress_engine();

    MPIDI_Gpudt_win_keep(win, &mpi_errno);
}

void MPIDI_Gpudt_winmsg_wait(MPIR_Win * win, int rank)
{
    while (are_any(win, rank))
        wait_some(win);
}

void MPIDI_Gpudt_winmsg_wait_accumulates(MPIR_Win * win, int rank)
{
    const unsigned last = win->gpudt->last_msg;

    /* Other threads may go on to start some */
    while (are_accumulates(win, rank, last))
        wait_some(win);
}

static bool is_used(const MPIR_Win * win)
{
    const struct winmsg *msg = msgs;

    while (msg && msg->win != win)
        msg = msg->next;
    return msg != NULL;
}

void MPIDI_Gpudt_winmsg_end(MPIR_Win * win)
{
    while (is_used(win))
        wait_some(win);
    for (int rank = 0; rank < win->comm_ptr->local_size; rank++) {
        MPIDI_Gpudt_wintypes_free(win->gpudt->sent[rank]);
        MPIDI_Gpudt_wintypes_free(win->gpudt->kept[rank]);
    }
}
