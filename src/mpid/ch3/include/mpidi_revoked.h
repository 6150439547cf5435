/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Messages of revoked communicators: incoming data is dropped, and the sender of a rendezvous
 * message is told so. */

#ifndef MPIDI_REVOKED_H_INCLUDED
#define MPIDI_REVOKED_H_INCLUDED

/* Make a receive accept zero bytes. */
static inline void MPIDI_Request_remove_room(MPIR_Request * rreq)
{
    rreq->dev.user_buf = NULL;
    rreq->dev.user_count = 0;
    rreq->dev.datatype = MPI_BYTE;
}

/* Make a request for a message that is not received, as its communicator has been revoked or its
 * sender has cancelled it: a receive of zero bytes without a communicator, to be used as if it had
 * been posted. It is freed when all data has arrived. Returns NULL when out of memory. */
static inline MPIR_Request *MPIDI_CH3U_Receive_nothing(void)
{
    int mpi_errno ATTRIBUTE((unused)) = MPI_SUCCESS;
    MPIR_Request *rreq;

    MPIDI_Request_create_rreq(rreq, mpi_errno, return NULL);
    MPIDI_Request_remove_room(rreq);
    rreq->dev.recv_pending_count = 1;
    MPIR_Request_free(rreq);
    return rreq;
}

/* Drop an unexpected message whose communicator is revoked.
 *   rreq  (IN)  just taken out of the queue of unexpected messages; freed, or left to the channel
 *               until all data has arrived */
void MPIDI_CH3U_Drop_unexpected(MPIR_Request * rreq);

#endif /* MPIDI_REVOKED_H_INCLUDED */
