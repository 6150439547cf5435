/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Long puts, gets and accumulates on windows that the origin does not map, of other nodes, and in memory
 * that cannot be shared, if the window or the origin's buffer is on a GPU. The data is a message between
 * the two processes, which takes the way of any message with GPU buffers, in segments through pinned
 * memory, as many at a time as there is memory for. Here is what both processes do, and how the origin
 * waits; how it starts is in ch3u_gpudt_winorigin.c, what the target does in ch3u_gpudt_wintarget.c, and
 * which operations these are in ch3u_gpudt_winapt.c:
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
 *     MPI_Get_accumulate: the same, but
 *       | -- message, unless it is for MPI_NO_OP ----------> |
 *       | <----------------------------------- message ---- |  what was there before, of which there is a copy
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
#include "mpidi_gpudt_winmsg_impl.h"

static struct MPIDI_Gpudt_winmsg *msgs = NULL;  /* of both roles, in all windows */

struct MPIDI_Gpudt_winmsg *MPIDI_Gpudt_winmsg_make(MPIR_Win * win, int rank, int tag, bool is_get,
                                                   MPI_Op op)
{
    struct MPIDI_Gpudt_winmsg *msg = MPL_calloc(1, sizeof(*msg), MPL_MEM_RMA);

    if (msg) {
        msg->win = win;
        msg->rank = rank;
        msg->tag = tag;
        msg->is_get = is_get;
        msg->op = op;
    }
    return msg;
}

/* ---- messages ---- */

static int message_send(const struct MPIDI_Gpudt_winmsg *msg, const void *buf, MPI_Aint count,
                        MPI_Datatype datatype, int tag, MPIR_Request ** req)
{
    return MPID_Isend(buf, count, datatype, msg->rank, msg->tag + tag, msg->win->comm_ptr,
                      MPIR_CONTEXT_INTRA_PT2PT, req);
}

int MPIDI_Gpudt_winmsg_recv(const struct MPIDI_Gpudt_winmsg *msg, void *buf, MPI_Aint count,
                            MPI_Datatype datatype, int tag, MPIR_Request ** req)
{
    return MPID_Irecv(buf, count, datatype, msg->rank, msg->tag + tag, msg->win->comm_ptr,
                      MPIR_CONTEXT_INTRA_PT2PT, req);
}

void MPIDI_Gpudt_winmsg_send(struct MPIDI_Gpudt_winmsg *msg, const void *buf, MPI_Aint count,
                             MPI_Datatype datatype, int tag, MPIR_Request ** req)
{
    int mpi_errno = MPI_SUCCESS;

    if (datatype != MPI_DATATYPE_NULL) {
        mpi_errno = message_send(msg, buf, count, datatype, tag, req);
        MPIDI_Gpudt_winmsg_error(msg, mpi_errno);
    }
    if (datatype == MPI_DATATYPE_NULL || mpi_errno) {
        *req = NULL;
        mpi_errno = message_send(msg, NULL, 0, MPI_BYTE, tag, req);
        MPIDI_Gpudt_winmsg_error(msg, mpi_errno);
        if (mpi_errno)
            *req = NULL;
    }
}

bool MPIDI_Gpudt_winmsg_is_done(struct MPIDI_Gpudt_winmsg *msg, MPIR_Request ** req)
{
    if (*req == NULL)
        return true;
    if (!MPIR_Request_is_complete(*req))
        return false;
    MPIDI_Gpudt_winmsg_error(msg, (*req)->status.MPI_ERROR);
    msg->arrived = MPIR_STATUS_GET_COUNT((*req)->status);
    MPIDI_Gpudt_request_free(*req);
    *req = NULL;
    return true;
}

/* ---- progress ---- */

void MPIDI_Gpudt_winmsg_ureq_end(MPIR_Request * ureq, int mpi_errno)
{
    if (ureq->status.MPI_ERROR == MPI_SUCCESS)
        ureq->status.MPI_ERROR = mpi_errno;
    MPID_Request_complete(ureq);
}

static void msg_end(struct MPIDI_Gpudt_winmsg *msg)
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
        MPIDI_Gpudt_winmsg_ureq_end(msg->ureq, msg->mpi_errno);
    } else {
        MPIDI_Gpudt_win_keep(win, &msg->mpi_errno);
    }
    MPL_free(msg);
}

/* In the origin: whether all has been sent and received. */
static bool origin_is_done(struct MPIDI_Gpudt_winmsg *msg)
{
    if (!MPIDI_Gpudt_winmsg_is_done(msg, &msg->data) ||
        !MPIDI_Gpudt_winmsg_is_done(msg, &msg->answer))
        return false;
    if (msg->is_get && msg->mpi_errno == MPI_SUCCESS && msg->arrived != msg->bytes)
        MPIR_ERR_SET(msg->mpi_errno, MPI_ERR_OTHER, "**gpudt_peer");
    return true;
}

/* Returns whether the operation has ended. */
static bool msg_advance(struct MPIDI_Gpudt_winmsg *msg)
{
    if (msg->is_origin ? !origin_is_done(msg) : !MPIDI_Gpudt_wintarget_advance(msg))
        return false;
    msg_end(msg);
    return true;
}

/* For MPIDI_Gpudt_hook_also. */
static bool msgs_advance(bool * has_ended)
{
    struct MPIDI_Gpudt_winmsg *msg, *next;

    DL_FOREACH_SAFE(msgs, msg, next) {
        if (msg_advance(msg))
            *has_ended = true;
    }
    return msgs != NULL;
}

/* For MPIDI_Gpudt_hook_also: operations of windows that the program has not freed. */
static void msgs_end(void)
{
    struct MPIDI_Gpudt_winmsg *msg, *next;

    DL_FOREACH_SAFE(msgs, msg, next) {
        DL_DELETE(msgs, msg);
        MPIDI_Gpudt_winacc_room_free(msg->room);
        MPIDI_Gpudt_winacc_room_free(msg->old);
        MPL_free(msg);
    }
}

void MPIDI_Gpudt_winmsg_add(struct MPIDI_Gpudt_winmsg *msg)
{
    DL_APPEND(msgs, msg);
    MPIDI_Gpudt_hook_also(msgs_advance, NULL, msgs_end);
    MPIDI_Gpudt_wake();
}

/* ---- the origin waits ---- */

/* Whether operations on a rank's memory are under way, of those up to a number; a negative rank: of all. */
static bool are_any(const MPIR_Win * win, int rank, unsigned number)
{
    const struct MPIDI_Gpudt_winmsg *msg = msgs;

    if (win->gpudt->nmsgs == 0)
        return false;
    while (msg && (msg->win != win || !msg->is_origin || (rank >= 0 && msg->rank != rank) ||
                   (int) (msg->number - number) > 0))
        msg = msg->next;
    return msg != NULL;
}

/* Whether accumulates on a rank's memory are under way that were started before an operation had a number. */
static bool are_accumulates(const MPIR_Win * win, int rank, unsigned number)
{
    const struct MPIDI_Gpudt_winmsg *msg = msgs;

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

void MPIDI_Gpudt_winmsg_wait(MPIR_Win * win, int rank, unsigned last)
{
    while (are_any(win, rank, last))
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
    const struct MPIDI_Gpudt_winmsg *msg = msgs;

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
