/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One-sided communication with GPU memory: data of windows, origins and results on its way through
 * ch3's messages; see mpidi_gpudt_rma.h. Must not know what operations compute. */

#include "mpidimpl.h"
#include "mpidrma.h"

bool MPIDI_Gpudt_rma_ask(const void *buf, MPI_Aint count, MPI_Datatype datatype)
{
    bool answer;

    if (!MPIR_Gpudt_may_be_gpu(buf, count, datatype))
        return false;
    return MPIR_Gpudt_ask(buf, count, datatype, &answer) != MPI_SUCCESS || answer;
}

void MPIDI_Gpudt_win_look_any(const void *base, MPI_Aint size)
{
    if (MPIDI_Gpudt_rma_ask(base, 1, MPI_BYTE))
        (void) MPIDI_Gpudt_rma_ask((const char *) base + size - 1, 1, MPI_BYTE);
}

void MPIDI_Gpudt_win_fail(MPI_Win handle, int mpi_errno)
{
    MPIR_Win *win;

    MPIR_Win_get_ptr(handle, win);
    if (win->gpudt_errno == MPI_SUCCESS)
        win->gpudt_errno = mpi_errno;
}

int MPIDI_Gpudt_win_last(MPIR_Win * win)
{
    int mpi_errno = MPIDI_Gpudt_win_result(win, MPI_SUCCESS);

    if (unlikely(mpi_errno)) {
        MPIR_ERR_SET1(mpi_errno, MPI_ERR_OTHER, "**mpi_win_free", "**mpi_win_free %p", win);
        mpi_errno = MPIR_Err_return_win(win, "MPI_Win_free", mpi_errno);
    }
    return mpi_errno;
}

MPI_Win MPIDI_Gpudt_op_window(const MPIDI_CH3_Pkt_t * pkt)
{
    int mpi_errno ATTRIBUTE((unused)) = MPI_SUCCESS;
    MPI_Win win = MPI_WIN_NULL;
    MPI_Request handle = MPI_REQUEST_NULL;
    MPIR_Request *req;

    if (MPIDI_CH3I_RMA_PKT_IS_READ_OP(*pkt)) {
        MPIDI_CH3_PKT_RMA_GET_REQUEST_HANDLE(*pkt, handle, mpi_errno);
        MPIR_Request_get_ptr(handle, req);
        win = req->dev.source_win_handle;
    } else {
        MPIDI_CH3_PKT_RMA_GET_SOURCE_WIN_HANDLE(*pkt, win, mpi_errno);
    }

  fn_exit:
    return win;
  fn_fail:
    goto fn_exit;
}

/* The window of an operation's request in this process; MPI_WIN_NULL for other requests. The
 * source's handle is another process's in a request of the target. */
static MPI_Win request_window(const MPIR_Request * req)
{
    return req->dev.target_win_handle != MPI_WIN_NULL ? req->dev.target_win_handle :
        req->dev.source_win_handle;
}

int MPIDI_Gpudt_rma_pack(const MPIR_Request * sreq, MPI_Aint first, void *out, MPI_Aint max_bytes,
                         MPI_Aint * actual)
{
    int mpi_errno = MPI_SUCCESS;
    const MPIDI_Request *dev = &sreq->dev;
    MPI_Win win = request_window(sreq);

    mpi_errno = MPIR_Typerep_pack(dev->user_buf, dev->user_count, dev->datatype, first, out,
                                  max_bytes, actual);
    if (unlikely(mpi_errno) && win != MPI_WIN_NULL) {
        MPIDI_Gpudt_win_fail(win, mpi_errno);
        memset(out, 0, max_bytes);
        *actual = max_bytes;
        mpi_errno = MPI_SUCCESS;
    }
    return mpi_errno;
}

int MPIDI_Gpudt_rma_unpack(const MPIR_Request * rreq, const void *in, MPI_Aint n, MPI_Aint first,
                           MPI_Aint * actual)
{
    int mpi_errno = MPI_SUCCESS;
    const MPIDI_Request *dev = &rreq->dev;
    MPI_Win win = request_window(rreq);

    mpi_errno = MPIR_Typerep_unpack(in, n, dev->user_buf, dev->user_count, dev->datatype, first,
                                    actual);
    if (unlikely(mpi_errno) && win != MPI_WIN_NULL) {
        MPIDI_Gpudt_win_fail(win, mpi_errno);
        *actual = n;
        mpi_errno = MPI_SUCCESS;
    }
    return mpi_errno;
}

/* Get an SRBuf, if the request has none. An error ends the call that makes progress, as it does in
 * MPIDI_CH3U_Request_load_recv_iov. */
static int srbuf_get(MPIR_Request * req)
{
    int mpi_errno = MPI_SUCCESS;

    if (MPIDI_Request_get_srbuf_flag(req))
        goto fn_exit;
    MPIDI_CH3U_SRBuf_alloc(req, MPIDI_CH3U_SRBuf_size);
    MPIR_ERR_CHKANDJUMP(req->dev.tmpbuf_sz == 0, mpi_errno, MPI_ERR_NO_MEM, "**nomem");

  fn_exit:
    return mpi_errno;
  fn_fail:
    req->status.MPI_ERROR = mpi_errno;
    goto fn_exit;
}

int MPIDI_Gpudt_load_send(MPIR_Request * sreq, struct iovec *iov, int *iov_n)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_Request *dev = &sreq->dev;
    MPI_Aint n, actual;

    mpi_errno = srbuf_get(sreq);
    MPIR_ERR_CHECK(mpi_errno);
    n = MPL_MIN(dev->msgsize - dev->msg_offset, dev->tmpbuf_sz);
    mpi_errno = MPIDI_Gpudt_rma_pack(sreq, dev->msg_offset, dev->tmpbuf, n, &actual);
    MPIR_ERR_CHECK(mpi_errno);
    dev->msg_offset += actual;
    dev->OnDataAvail = dev->msg_offset == dev->msgsize ? dev->OnFinal :
        MPIDI_CH3_ReqHandler_SendReloadIOV;
    iov[0].iov_base = dev->tmpbuf;
    iov[0].iov_len = actual;
    *iov_n = 1;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Gpudt_load_recv(MPIR_Request * rreq)
{
    int mpi_errno = MPI_SUCCESS;

    /* The buffer of an accumulate is an SRBuf */
    if (!MPIDI_Request_get_srbuf_flag(rreq) && MPIDI_Gpudt_request_is_gpu(rreq)) {
        mpi_errno = srbuf_get(rreq);
        MPIR_ERR_CHECK(mpi_errno);
        rreq->dev.tmpbuf_off = 0;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_Gpudt_win_read_any(const MPIR_Win * win, void *out, const void *addr, MPI_Aint n)
{
    int mpi_errno = MPIR_Typerep_copy(out, addr, n);

    if (unlikely(mpi_errno))
        memset(out, 0, n);
    MPIDI_Gpudt_win_keep(win, &mpi_errno);
}

void MPIDI_Gpudt_win_write_any(const MPIR_Win * win, void *addr, const void *in, MPI_Aint n)
{
    int mpi_errno = MPIR_Typerep_copy(addr, in, n);

    MPIDI_Gpudt_win_keep(win, &mpi_errno);
}

void MPIDI_Gpudt_win_pack(const MPIR_Win * win, const void *buf, MPI_Aint count,
                          MPI_Datatype datatype, MPI_Aint first, void *out, MPI_Aint max_bytes,
                          MPI_Aint * actual)
{
    int mpi_errno = MPIR_Typerep_pack(buf, count, datatype, first, out, max_bytes, actual);

    if (unlikely(mpi_errno)) {
        memset(out, 0, max_bytes);
        *actual = max_bytes;
    }
    MPIDI_Gpudt_win_keep(win, &mpi_errno);
}
