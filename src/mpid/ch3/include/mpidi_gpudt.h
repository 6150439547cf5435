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

/* Whether a message's buffer may be on a GPU; costs one query of its address, and none while the
 * process has no GPU.
 *   buf, count, datatype  (IN)  as the program gave them */
static inline bool MPIDI_Gpudt_is_gpu(const void *buf, MPI_Aint count, MPI_Datatype datatype)
{
    const void *gpu_addr;

    return unlikely(MPIR_Gpudt_is_present()) &&
        MPIR_Gpudt_has_part(buf, count, datatype, &gpu_addr);
}

/* Whether a request is a send, or a receive, of a message whose buffer was found to be host memory when it
 * started: those with one on a GPU do not come to the code for host messages. */
static inline bool MPIDI_Gpudt_is_host_send(const MPIR_Request * sreq)
{
    int type = MPIDI_Request_get_type(sreq);

    return type >= MPIDI_REQUEST_TYPE_SEND && type <= MPIDI_REQUEST_TYPE_BSEND;
}

static inline bool MPIDI_Gpudt_is_host_recv(const MPIR_Request * rreq)
{
    /* With fault tolerance a receiver does not ask the sender of a long message to change its way */
    return rreq->kind == MPIR_REQUEST_KIND__RECV && !MPIR_CVAR_ENABLE_FT;
}

/* ---- sending (ch3u_gpudt_send.c) ---- */

/* Start a send of more than 0 bytes for which MPIDI_Gpudt_is_gpu holds, to another process.
 *   buf, ..., context_offset, vc  (IN)   as for MPID_Isend
 *   type                          (IN)   MPIDI_REQUEST_TYPE_SEND, _RSEND or _SSEND
 *   request                       (OUT)  as for MPID_Isend; NULL on failure, when nothing was
 *                                        sent */
int MPIDI_Gpudt_isend(const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                      MPIR_Comm * comm, int context_offset, MPIDI_VC_t * vc, int type,
                      MPIR_Request ** request);

/* Copy for a message from a process to itself, if a GPU has part in it.
 *   sbuf ... rdt   (IN)   as for MPIDI_CH3U_Buffer_copy
 *   data_sz        (IN)   bytes to copy, more than 0, at most what either side has
 *   mpi_errno_ptr  (OUT)  the copy's error; untouched where false is returned
 * Returns whether it was for the GPU to do. */
bool MPIDI_Gpudt_copy_self(const void *sbuf, MPI_Aint scount, MPI_Datatype sdt, void *rbuf,
                           MPI_Aint rcount, MPI_Datatype rdt, intptr_t data_sz,
                           int *mpi_errno_ptr);

/* ---- receiving (ch3u_gpudt_recv.c) ---- */

/* Whether a message whose data arrives for a matched request is for MPIDI_Gpudt_receive_eager. The data
 * of a rendezvous is not: whose it is was seen before. */
static inline bool MPIDI_Gpudt_takes_eager(const MPIR_Request * rreq)
{
    return rreq->kind == MPIR_REQUEST_KIND__RECV &&
        MPIDI_Request_get_msg_type(rreq) != MPIDI_REQUEST_RNDV_MSG &&
        MPIDI_Gpudt_is_gpu(rreq->dev.user_buf, rreq->dev.user_count, rreq->dev.datatype);
}

/* The same contract as MPIDI_CH3U_Receive_data_found. */
int MPIDI_Gpudt_receive_eager(MPIR_Request * rreq, const void *data, intptr_t * buflen,
                              int *complete);

/* Unpack an unexpected message that has arrived completely, if its buffer is on a GPU. The request
 * may be incomplete, again, until the GPU is done; rreq->dev.tmpbuf is not needed for that. Failures
 * are reported in its status.
 *   unpack_sz  (IN)  bytes of rreq->dev.tmpbuf to unpack, more than 0
 * Returns whether it was on a GPU. */
bool MPIDI_Gpudt_unpack_unexpected(MPIR_Request * rreq, intptr_t unpack_sz);

/* Whether a rendezvous message for a matched request is for MPIDI_Gpudt_recv_rndv: one of the two
 * buffers is on a GPU.
 *   may_ask  (IN)  whether the sender is prepared to hear that only the receiver's is */
static inline bool MPIDI_Gpudt_takes_rndv(const MPIR_Request * rreq, bool may_ask)
{
    return unlikely(rreq->dev.gpudt_vc) || (may_ask &&
                                            MPIDI_Gpudt_is_gpu(rreq->dev.user_buf,
                                                               rreq->dev.user_count,
                                                               rreq->dev.datatype));
}

/* Start to receive a rendezvous message. */
int MPIDI_Gpudt_recv_rndv(MPIDI_VC_t * vc, MPIR_Request * rreq);

/* A request for a message that nobody will receive, as its communicator has been revoked: what comes
 * is thrown away, and a sender that waits ends with that error. Freed when all has come. NULL: out of
 * memory. */
MPIR_Request *MPIDI_Gpudt_receive_nothing(void);

/* The same for a message that has come, or begun to.
 *   rreq  (IN)  just taken out of the queue of unexpected messages; gone, or left to the channel */
void MPIDI_Gpudt_drop_unexpected(MPIR_Request * rreq);

/* Packet handlers. */
int MPIDI_Gpudt_pkt_rts(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * pkt, void *data, intptr_t * buflen,
                        MPIR_Request ** rreqp);
int MPIDI_Gpudt_pkt_grant(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * pkt, void *data, intptr_t * buflen,
                          MPIR_Request ** rreqp);
int MPIDI_Gpudt_pkt_data(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * pkt, void *data, intptr_t * buflen,
                         MPIR_Request ** rreqp);

/* ---- both (ch3u_gpudt_msg.c) ---- */

/* A request that has a message (req->dev.gpudt) is destroyed before the message is complete. */
void MPIDI_Gpudt_request_destroyed(MPIR_Request * req);

/* A connection has failed: end the messages that go over it with an error. */
void MPIDI_Gpudt_vc_failed(MPIDI_VC_t * vc);

#endif /* MPIDI_GPUDT_H_INCLUDED */
