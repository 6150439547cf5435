/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Point-to-point messages with GPU buffers: the interface for MPICH's own files of ch3. Included at
 * the end of mpidimpl.h. Callers hold the lock of the progress engine. */

#ifndef MPIDI_GPUDT_H_INCLUDED
#define MPIDI_GPUDT_H_INCLUDED

#include "gpudt.h"
#include "gpudt_host.h"
#include "mpidi_gpudt_alloc.h"
#include "mpidi_gpudt_rma.h"

/* Whether a message can progress without an incoming packet: a GPU operation is in flight, or a
 * message waits for staging memory. The progress engine must not block then. */
extern bool MPIDI_Gpudt_is_busy;

/* The timeout to pass to poll(2) instead of ms milliseconds. */
static inline int MPIDI_Gpudt_poll_time(int ms)
{
    return MPIDI_Gpudt_is_busy ? 0 : ms;
}

/* Called before a poll that did not block is repeated. Yields the processor and the global lock. */
void MPIDI_Gpudt_poll_pause(void);

/* Whether a request is a send or a receive whose buffer was found to be host memory when it
 * started. Requests with a GPU buffer never reach the code for host messages. */
static inline bool MPIDI_Gpudt_is_host_send(const MPIR_Request * sreq)
{
    int type = MPIDI_Request_get_type(sreq);

    return type >= MPIDI_REQUEST_TYPE_SEND && type <= MPIDI_REQUEST_TYPE_BSEND;
}

static inline bool MPIDI_Gpudt_is_host_recv(const MPIR_Request * rreq)
{
    /* With fault tolerance, a receiver does not ask the sender of a rendezvous message to switch
     * protocols, so the receive buffer may still be on a GPU */
    return rreq->kind == MPIR_REQUEST_KIND__RECV && !MPIR_CVAR_ENABLE_FT;
}

/* Pack from the buffer of a send or of an RMA operation. The address is only queried if its kind of
 * memory is not known.
 *   first, out, max_bytes, actual  as for MPIR_Typerep_pack */
static inline int MPIDI_Gpudt_send_pack(const MPIR_Request * sreq, MPI_Aint first, void *out,
                                        MPI_Aint max_bytes, MPI_Aint * actual)
{
    const MPIDI_Request *dev = &sreq->dev;

    return MPIDI_Gpudt_is_host_send(sreq) ?
        MPIR_Typerep_pack_host(dev->user_buf, dev->user_count, dev->datatype, first, out,
                               max_bytes, actual) :
        MPIDI_Gpudt_rma_pack(sreq, first, out, max_bytes, actual);
}

/* Unpack into the buffer of a receive or of an RMA operation. As above, the address is only queried
 * if necessary.
 *   in, n, first, actual  as for MPIR_Typerep_unpack */
static inline int MPIDI_Gpudt_recv_unpack(const MPIR_Request * rreq, const void *in, MPI_Aint n,
                                          MPI_Aint first, MPI_Aint * actual)
{
    const MPIDI_Request *dev = &rreq->dev;

    return MPIDI_Gpudt_is_host_recv(rreq) ?
        MPIR_Typerep_unpack_host(in, n, dev->user_buf, dev->user_count, dev->datatype, first,
                                 actual) :
        MPIDI_Gpudt_rma_unpack(rreq, in, n, first, actual);
}

/* ---- sending (ch3u_gpudt_send.c) ---- */

/* Start a send to another process if its buffer is on a GPU. Call it by MPIDI_Gpudt_takes_send,
 * which first tests whether the buffer may be on a GPU.
 *   buf, ..., context_offset, vc  (IN)   as for MPID_Isend
 *   type                          (IN)   MPIDI_REQUEST_TYPE_SEND, _RSEND or _SSEND
 *   request                       (OUT)  as for MPID_Isend; NULL on failure, when nothing was
 *                                        sent
 *   mpi_errno_ptr                 (OUT)  the error; untouched where false is returned
 * Returns whether the buffer is on a GPU, which costs one query of its address. */
bool MPIDI_Gpudt_isend(const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                       MPIR_Comm * comm, int context_offset, MPIDI_VC_t * vc, int type,
                       MPIR_Request ** request, int *mpi_errno_ptr);

#define MPIDI_Gpudt_takes_send(buf_, count_, datatype_, ...)            \
    (MPIR_Gpudt_may_be_gpu(buf_, count_, datatype_) &&                  \
     MPIDI_Gpudt_isend(buf_, count_, datatype_, __VA_ARGS__))

/* Copy a message of a process to itself, in host or GPU memory (ch3u_gpudt_self.c). While a GPU
 * copies, both requests hold one more completion, so that the caller completes them as usual.
 * Errors are stored in their statuses.
 *   sreq, rreq    (IN)   send and receive, matched
 *   sbuf ... rdt  (IN)   as for MPIDI_CH3U_Buffer_copy
 *   sz            (OUT)  bytes of the message that fit into the receive buffer; 0 on failure */
void MPIDI_Gpudt_self_copy(MPIR_Request * sreq, const void *sbuf, MPI_Aint scount,
                           MPI_Datatype sdt, MPIR_Request * rreq, void *rbuf, MPI_Aint rcount,
                           MPI_Datatype rdt, intptr_t * sz);

/* ---- receiving (ch3u_gpudt_eager.c, ch3u_gpudt_recv.c) ---- */

/* Receive eager data, as MPIDI_CH3U_Receive_data_found does, if the request's buffer is on a GPU.
 *   rreq, data, buflen, complete         as there
 *   mpi_errno_ptr                 (OUT)  its error; untouched where false is returned
 * Returns whether the buffer is on a GPU. */
bool MPIDI_Gpudt_receive_eager(MPIR_Request * rreq, const void *data, intptr_t * buflen,
                               int *complete, int *mpi_errno_ptr);

/* The same, after a test whether the buffer may be on a GPU. Data of a rendezvous is excluded: its
 * buffer was classified at the request to send. */
static inline bool MPIDI_Gpudt_takes_eager(MPIR_Request * rreq, const void *data,
                                           intptr_t * buflen, int *complete, int *mpi_errno_ptr)
{
    const MPIDI_Request *dev = &rreq->dev;

    return unlikely(MPIR_Gpudt_is_possible()) && rreq->kind == MPIR_REQUEST_KIND__RECV &&
        MPIDI_Request_get_msg_type(rreq) != MPIDI_REQUEST_RNDV_MSG &&
        MPIR_Gpudt_may_be_gpu(dev->user_buf, dev->user_count, dev->datatype) &&
        MPIDI_Gpudt_receive_eager(rreq, data, buflen, complete, mpi_errno_ptr);
}

/* Unpack an unexpected message that has arrived completely, if the receive buffer is on a GPU. The
 * request may become incomplete again until the GPU has finished; rreq->dev.tmpbuf may be freed
 * before that. Failures are reported in its status.
 *   unpack_sz  (IN)  bytes of rreq->dev.tmpbuf to unpack, more than 0
 * Returns whether the buffer is on a GPU. */
bool MPIDI_Gpudt_unpack_unexpected(MPIR_Request * rreq, intptr_t unpack_sz);

/* Start to receive a rendezvous message.
 *   is_if_gpu      (IN)   only if the request's buffer is on a GPU
 *   mpi_errno_ptr  (OUT)  the error; untouched where false is returned
 * Returns whether the receive was started here. */
bool MPIDI_Gpudt_recv_rndv(MPIDI_VC_t * vc, MPIR_Request * rreq, bool is_if_gpu,
                           int *mpi_errno_ptr);

/* The same if one of the two buffers is on a GPU.
 *   may_ask  (IN)  whether the sender, with a host buffer, can switch to this protocol */
static inline bool MPIDI_Gpudt_takes_rndv(MPIDI_VC_t * vc, MPIR_Request * rreq, bool may_ask,
                                          int *mpi_errno_ptr)
{
    bool is_from_gpu = rreq->dev.gpudt_vc != NULL;

    return unlikely(is_from_gpu || (may_ask && MPIR_Gpudt_is_present())) &&
        MPIDI_Gpudt_recv_rndv(vc, rreq, !is_from_gpu, mpi_errno_ptr);
}

/* Packet handlers. */
int MPIDI_Gpudt_pkt_eager(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * pkt, void *data, intptr_t * buflen,
                          MPIR_Request ** rreqp);
int MPIDI_Gpudt_pkt_eager_data(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * pkt, void *data,
                               intptr_t * buflen, MPIR_Request ** rreqp);
int MPIDI_Gpudt_pkt_rts(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * pkt, void *data, intptr_t * buflen,
                        MPIR_Request ** rreqp);
int MPIDI_Gpudt_pkt_cts(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * pkt, void *data, intptr_t * buflen,
                          MPIR_Request ** rreqp);
int MPIDI_Gpudt_pkt_data(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * pkt, void *data, intptr_t * buflen,
                         MPIR_Request ** rreqp);
int MPIDI_Gpudt_pkt_win(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * pkt, void *data, intptr_t * buflen,
                        MPIR_Request ** rreqp);

/* ---- both (ch3u_gpudt_msg.c) ---- */

/* A request is destroyed that has a message (dev.gpudt) or comes from a GPU buffer
 * (dev.gpudt_vc). */
void MPIDI_Gpudt_request_destroyed(MPIR_Request * req);

/* The receiver of a send has been asked to cancel it. */
void MPIDI_Gpudt_cancel_asked(MPIR_Request * sreq, const MPIDI_VC_t * vc);

/* It answers that the send is cancelled, or cannot be. Returns whether the connection has failed before
 * that was read: the answer is without effect then. */
bool MPIDI_Gpudt_cancel_answered(MPIR_Request * sreq, bool is_cancelled);

/* A send from host memory has asked its receiver to clear it, or waits to be told that it is received. With
 * fault tolerance it ends with an error if the receiver dies before. */
void MPIDI_Gpudt_answer_awaited(const MPIDI_VC_t * vc, MPIR_Request * sreq);

/* The answer has come. Returns false if the send has ended by then, and must not be accessed. */
bool MPIDI_Gpudt_answer_came(const MPIDI_VC_t * vc, const MPIR_Request * sreq);

/* A connection has failed: complete its messages with an error. */
void MPIDI_Gpudt_vc_failed(MPIDI_VC_t * vc);

/* A connection has ended, by a failure or not. */
void MPIDI_Gpudt_vc_ended(const MPIDI_VC_t * vc);

#endif /* MPIDI_GPUDT_H_INCLUDED */
