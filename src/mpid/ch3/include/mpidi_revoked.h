/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Messages of communicators that have been revoked: what comes is thrown away, and a sender that
 * waits for a rendezvous is told. */

#ifndef MPIDI_REVOKED_H_INCLUDED
#define MPIDI_REVOKED_H_INCLUDED

/* A request for a message that nobody will receive, as its communicator has been revoked, or its
 * sender has cancelled it: one of no room and without a communicator, to be used as if it had been
 * posted. It is freed when all has come.
 * Returns NULL when out of memory. */
MPIR_Request *MPIDI_CH3U_Receive_nothing(void);

/* Throw away a message that has come, or begun to, when its communicator is revoked.
 *   rreq  (IN)  just taken out of the queue of unexpected messages; freed, or left to the channel
 *               until all has come */
void MPIDI_CH3U_Drop_unexpected(MPIR_Request * rreq);

#endif /* MPIDI_REVOKED_H_INCLUDED */
