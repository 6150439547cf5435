/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Puts, gets and accumulates by messages of their own (ch3u_gpudt_winmsg.c): how the origin starts one. */

#include "mpidimpl.h"
#include "mpidi_gpudt_winmsg_impl.h"

#define MAX_MSGS 256            /* of a window under way */

/* Bits of a number that are in a tag; those above are the library's. */
#define NUMBER_MASK ((1u << 26) - 1)

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

/* Tell the target of an operation. */
static int request_send(const struct MPIDI_Gpudt_winmsg *msg, const struct MPIDI_Gpudt_winop *o)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPIR_Gpudt_rma *r = &o->r;
    MPIR_Win *win = msg->win;
    const MPIDI_Win_basic_info_t *info = &win->basic_info_table[msg->rank];
    MPIDI_CH3_Pkt_t upkt;
    MPIDI_CH3_Pkt_gpudt_win_t *pkt = &upkt.gpudt_win;
    struct MPIDI_Gpudt_wintypes **types = &win->gpudt->sent[msg->rank];
    MPIDI_VC_t *vc;
    void *flat = NULL;
    MPIR_Datatype *old = NULL;

    MPIDI_Pkt_init(pkt, MPIDI_CH3_PKT_GPUDT_WIN);
    pkt->win = info->win_handle;
    pkt->rank = win->comm_ptr->rank;
    pkt->tag = msg->tag;
    pkt->addr = (char *) info->base_addr + r->disp * info->disp_unit + o->off;
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
        mpi_errno = MPIDI_Gpudt_wintypes_describe(types, type, &pkt->slot, &flat, &pkt->type_sz,
                                                  &old);
        MPIR_ERR_CHECK(mpi_errno);
    }
    MPIDI_Comm_get_vc_set_active(win->comm_ptr, msg->rank, &vc);
    mpi_errno = pkt_send(vc, pkt, sizeof(*pkt), flat, (size_t) pkt->type_sz);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIDI_Gpudt_wintypes_release(old);
    return mpi_errno;
  fn_fail:
    /* The target has not got it */
    if (pkt->type_sz > 0)
        MPIDI_Gpudt_wintypes_drop(*types, pkt->slot);
    goto fn_exit;
}

/* Receive the answer. */
static int answer_receive(struct MPIDI_Gpudt_winmsg *msg, const struct MPIDI_Gpudt_winop *o)
{
    int mpi_errno = MPI_SUCCESS;

    if (!msg->is_get)
        mpi_errno = MPIDI_Gpudt_winmsg_recv(msg, NULL, 0, MPI_BYTE, MPIDI_GPUDT_WINMSG__PUT_DONE,
                                            &msg->answer);
    else if (msg->op == MPI_OP_NULL)
        mpi_errno = MPIDI_Gpudt_winmsg_recv(msg, (void *) o->r.buf, o->r.bufcount, o->r.buftype,
                                            MPIDI_GPUDT_WINMSG__GOT, &msg->answer);
    else
        mpi_errno = MPIDI_Gpudt_winmsg_recv(msg, o->result, o->result_count, o->result_type,
                                            MPIDI_GPUDT_WINMSG__GOT, &msg->answer);
    if (mpi_errno)
        msg->answer = NULL;
    return mpi_errno;
}

/* The receive is posted first: once the target knows of the operation, it waits for its end. An operation
 * that cannot be started has ended with an error, which is reported as any other. */
static void origin_start(struct MPIDI_Gpudt_winmsg *msg, const struct MPIDI_Gpudt_winop *o)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = answer_receive(msg, o);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = request_send(msg, o);
    if (mpi_errno) {
        MPID_Cancel_recv(msg->answer);
        MPIR_Request_free(msg->answer);
        msg->answer = NULL;
    }
    MPIR_ERR_CHECK(mpi_errno);
    if (msg->op == MPI_OP_NULL ? !msg->is_get : msg->op != MPI_NO_OP)
        MPIDI_Gpudt_winmsg_send(msg, o->r.buf, o->r.bufcount, o->r.buftype,
                                MPIDI_GPUDT_WINMSG__PUT, &msg->data);

  fn_exit:
    return;
  fn_fail:
    MPIDI_Gpudt_winmsg_error(msg, mpi_errno);
    goto fn_exit;
}

int MPIDI_Gpudt_winmsg_start(MPIR_Win * win, int rank, const struct MPIDI_Gpudt_winop *o,
                             MPIR_Request * ureq)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_win *w = win->gpudt;
    struct MPIDI_Gpudt_winmsg *msg = NULL;
    int tag;

    while (w->nmsgs >= MAX_MSGS) {
        mpi_errno = MPIDI_Gpudt_win_progress(win, -1);
        MPIR_ERR_CHECK(mpi_errno);
    }
    tag = (int) (++w->last_msg & NUMBER_MASK) * MPIDI_GPUDT_WINMSG_NTAGS;
    msg = MPIDI_Gpudt_winmsg_make(win, rank, tag, o->r.is_get, o->op);
    MPIR_ERR_CHKANDJUMP1(!msg, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "GPU window");
    msg->is_origin = true;
    msg->number = w->last_msg;
    MPIR_Datatype_get_size_macro(o->r.datatype, msg->bytes);
    msg->bytes *= o->r.count;
    origin_start(msg, o);
    msg->ureq = ureq;
    w->nmsgs++;
    w->naccumulates += o->op != MPI_OP_NULL;
    MPIDI_Gpudt_winmsg_add(msg);
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
    const struct MPIDI_Gpudt_winop o = {.r = *r,.op = MPI_OP_NULL };

    *is_taken = false;
    if (!MPIDI_Gpudt_winmsg_is_apt(win, rank, r))
        goto fn_exit;
    mpi_errno = MPIDI_Gpudt_win_await(win, rank, is_taken);
    MPIR_ERR_CHECK(mpi_errno);
    if (*is_taken)
        mpi_errno = MPIDI_Gpudt_winmsg_start(win, rank, &o, ureq);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
