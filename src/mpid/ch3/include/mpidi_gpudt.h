/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Point-to-point messages with GPU buffers: what MPICH's files of ch3 call. Included at the end of
 * mpidimpl.h. Callers hold the lock of the progress engine. */

#ifndef MPIDI_GPUDT_H_INCLUDED
#define MPIDI_GPUDT_H_INCLUDED

#include "gpudt.h"
#include "gpudt_host.h"

/* Whether progress can be made on some message without anything arriving: a GPU is at work, or
 * memory for chunks is short. Then nobody may sleep until a packet comes. */
extern bool MPIDI_Gpudt_is_busy;

/* What to give poll(2) that would wait for so many milliseconds. */
static inline int MPIDI_Gpudt_poll_time(int ms)
{
    return MPIDI_Gpudt_is_busy ? 0 : ms;
}

/* Before a poll that did not wait is repeated: let others have the processor and the lock. */
void MPIDI_Gpudt_poll_pause(void);

/* Whether a request is a send, or a receive, of a message whose buffer was found to be host
 * memory when it started: those with one on a GPU do not come to the code for host messages. */
static inline bool MPIDI_Gpudt_is_host_send(const MPIR_Request * sreq)
{
    int type = MPIDI_Request_get_type(sreq);

    return type >= MPIDI_REQUEST_TYPE_SEND && type <= MPIDI_REQUEST_TYPE_BSEND;
}

static inline bool MPIDI_Gpudt_is_host_recv(const MPIR_Request * rreq)
{
    /* With fault tolerance a receiver does not ask a long message's sender to change its way */
    return rreq->kind == MPIR_REQUEST_KIND__RECV && !MPIR_CVAR_ENABLE_FT;
}

/* Pack from the buffer of a send or of an RMA operation; its place is only asked about if it is not
 * known.
 *   first, out, max_bytes, actual  as for MPIR_Typerep_pack */
static inline int MPIDI_Gpudt_send_pack(const MPIR_Request * sreq, MPI_Aint first, void *out,
                                        MPI_Aint max_bytes, MPI_Aint * actual)
{
    const MPIDI_Request *dev = &sreq->dev;

    return MPIDI_Gpudt_is_host_send(sreq) ?
        MPIR_Typerep_pack_host(dev->user_buf, dev->user_count, dev->datatype, first, out,
                               max_bytes, actual) :
        MPIR_Typerep_pack(dev->user_buf, dev->user_count, dev->datatype, first, out, max_bytes,
                          actual);
}

/* The same for unpacking into the buffer of a receive or of an RMA operation.
 *   in, n, first, actual  as for MPIR_Typerep_unpack */
static inline int MPIDI_Gpudt_recv_unpack(const MPIR_Request * rreq, const void *in, MPI_Aint n,
                                          MPI_Aint first, MPI_Aint * actual)
{
    const MPIDI_Request *dev = &rreq->dev;

    return MPIDI_Gpudt_is_host_recv(rreq) ?
        MPIR_Typerep_unpack_host(in, n, dev->user_buf, dev->user_count, dev->datatype, first,
                                 actual) :
        MPIR_Typerep_unpack(in, n, dev->user_buf, dev->user_count, dev->datatype, first, actual);
}

/* ---- sending (ch3u_gpudt_send.c) ---- */

/* Start a send to another process, if its buffer is on a GPU; MPIDI_Gpudt_takes_send asks first
 * whether there can be one.
 *   buf, ..., context_offset, vc  (IN)   as for MPID_Isend
 *   type                          (IN)   MPIDI_REQUEST_TYPE_SEND, _RSEND or _SSEND
 *   request                       (OUT)  as for MPID_Isend; NULL on failure, when nothing was
 *                                        sent
 *   mpi_errno_ptr                 (OUT)  the error; untouched where false is returned
 * Returns whether it is on a GPU, which costs one query of its address. */
bool MPIDI_Gpudt_isend(const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                       MPIR_Comm * comm, int context_offset, MPIDI_VC_t * vc, int type,
                       MPIR_Request ** request, int *mpi_errno_ptr);

#define MPIDI_Gpudt_takes_send(...)     \
    (unlikely(MPIR_Gpudt_is_present()) && MPIDI_Gpudt_isend(__VA_ARGS__))

/* Copy a message of a process to itself, in host memory or on a GPU (ch3u_gpudt_self.c). Both requests
 * stay incomplete while a GPU copies; the caller completes them once, as if it were done. Errors are
 * in their statuses.
 *   sreq, rreq  (IN)   send and receive, matched
 *   sbuf ... rdt  (IN)   as for MPIDI_CH3U_Buffer_copy
 *   sz          (OUT)  bytes of the message that have room; 0 on failure */
void MPIDI_Gpudt_self_copy(MPIR_Request * sreq, const void *sbuf, MPI_Aint scount,
                           MPI_Datatype sdt, MPIR_Request * rreq, void *rbuf, MPI_Aint rcount,
                           MPI_Datatype rdt, intptr_t * sz);

/* ---- receiving (ch3u_gpudt_eager.c, ch3u_gpudt_recv.c) ---- */

/* What MPIDI_CH3U_Receive_data_found does, if the request's buffer is on a GPU.
 *   rreq, data, buflen, complete         as there
 *   mpi_errno_ptr                 (OUT)  its error; untouched where false is returned
 * Returns whether it is. */
bool MPIDI_Gpudt_receive_eager(MPIR_Request * rreq, const void *data, intptr_t * buflen,
                               int *complete, int *mpi_errno_ptr);

/* The same; asks first whether there can be such a buffer. The data of a rendezvous is not for
 * this: whose it is was seen before. */
static inline bool MPIDI_Gpudt_takes_eager(MPIR_Request * rreq, const void *data,
                                           intptr_t * buflen, int *complete, int *mpi_errno_ptr)
{
    return unlikely(MPIR_Gpudt_is_present()) && rreq->kind == MPIR_REQUEST_KIND__RECV &&
        MPIDI_Request_get_msg_type(rreq) != MPIDI_REQUEST_RNDV_MSG &&
        MPIDI_Gpudt_receive_eager(rreq, data, buflen, complete, mpi_errno_ptr);
}

/* Unpack an unexpected message that has arrived completely, if its buffer is on a GPU. The
 * request may be incomplete, again, until the GPU is done; rreq->dev.tmpbuf is not needed for
 * that. Failures are reported in its status.
 *   unpack_sz  (IN)  bytes of rreq->dev.tmpbuf to unpack, more than 0
 * Returns whether it was on a GPU. */
bool MPIDI_Gpudt_unpack_unexpected(MPIR_Request * rreq, intptr_t unpack_sz);

/* Start to receive a rendezvous message.
 *   is_if_gpu      (IN)   only if the request's buffer is on a GPU
 *   mpi_errno_ptr  (OUT)  the error; untouched where false is returned
 * Returns whether it was done. */
bool MPIDI_Gpudt_recv_rndv(MPIDI_VC_t * vc, MPIR_Request * rreq, bool is_if_gpu,
                           int *mpi_errno_ptr);

/* The same if one of the two buffers is on a GPU.
 *   may_ask  (IN)  whether the sender is prepared to hear that only the receiver's is */
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

/* ---- both (ch3u_gpudt_msg.c) ---- */

/* A request that has a message, or is from a GPU buffer (dev.gpudt, dev.gpudt_vc), is destroyed. */
void MPIDI_Gpudt_request_destroyed(MPIR_Request * req);

/* A connection has failed: end the messages that go over it with an error. */
void MPIDI_Gpudt_vc_failed(MPIDI_VC_t * vc);

#endif /* MPIDI_GPUDT_H_INCLUDED */
