/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Drops messages of revoked communicators. */

#include "mpidimpl.h"
#include "mpidi_revoked.h"

/* The connection of a rendezvous message, or NULL if it is not known. */
static MPIDI_VC_t *rndv_vc(const MPIR_Request * rreq)
{
    MPIDI_VC_t *vc = rreq->dev.gpudt_vc;
    MPIR_Comm *comm = NULL;

    if (vc == NULL) {
        MPIDI_CH3I_Comm_find(rreq->dev.match.parts.context_id, &comm);
        if (comm)
            MPIDI_Comm_get_vc(comm, rreq->dev.match.parts.rank, &vc);
    }
    return vc;
}

void MPIDI_CH3U_Drop_unexpected(MPIR_Request * rreq)
{
    int type = MPIDI_Request_get_msg_type(rreq);
    MPIDI_VC_t *vc = type == MPIDI_REQUEST_RNDV_MSG ? rndv_vc(rreq) : NULL;

    MPIDI_Request_remove_room(rreq);
    if (vc) {
        /* A sender that cannot be told has failed */
        int mpi_errno ATTRIBUTE((unused));
        MPIDI_Gpudt_recv_rndv(vc, rreq, false, &mpi_errno);
    } else if (type != MPIDI_REQUEST_EAGER_MSG) {
        MPID_Request_complete(rreq);
    } else if (!MPIR_Request_is_complete(rreq)) {
        MPIDI_Request_decr_pending(rreq);
    } else if (rreq->dev.recv_data_sz > 0) {
        MPL_free(rreq->dev.tmpbuf);
    }
    MPIR_Request_free(rreq);
}
