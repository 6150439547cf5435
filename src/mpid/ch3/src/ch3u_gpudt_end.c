/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Handles destroyed requests and failed connections of messages with GPU buffers. */

#include "mpidi_gpudt_msg.h"

void MPIDI_Gpudt_request_destroyed(MPIR_Request * req)
{
    if (req->dev.gpudt_vc)
        MPIDI_Gpudt_inbound_unwanted(req);
    if (req->dev.gpudt)
        MPIDI_Gpudt_msg_detach(req->dev.gpudt);
}

void MPIDI_Gpudt_vc_failed(MPIDI_VC_t * vc)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_SET1(mpi_errno, MPIX_ERR_PROC_FAILED, "**comm_fail", "**comm_fail %d", vc->pg_rank);
    MPIDI_Gpudt_msgs_fail(vc, MPIDI_Gpudt_may_share(vc), mpi_errno);
    MPIDI_Gpudt_inbound_vc_failed(vc, mpi_errno);
}
