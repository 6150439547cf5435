/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Packs and unpacks messages that end inside an element of a datatype. */

#include "mpidimpl.h"
#include "mpidi_pack_cut.h"

#define MAX_ELEMENT 64          /* bytes; more than any predefined type has */

MPI_Aint MPIDI_CH3U_Pack_cut(const MPIR_Request * sreq, MPI_Aint first, void *out, MPI_Aint n)
{
    char element[MAX_ELEMENT];
    MPI_Aint actual = 0;

    MPIR_Typerep_pack(sreq->dev.user_buf, sreq->dev.user_count, sreq->dev.datatype, first, element,
                      sizeof(element), &actual);
    actual = MPL_MIN(actual, n);
    MPIR_Memcpy(out, element, actual);
    memset((char *) out + actual, 0, n - actual);
    return n;
}

MPI_Aint MPIDI_CH3U_Unpack_cut(MPIR_Request * rreq, MPI_Aint first, MPI_Aint last)
{
    if (rreq->status.MPI_ERROR == MPI_SUCCESS)
        MPIR_ERR_SET(rreq->status.MPI_ERROR, MPI_ERR_TYPE, "**dtypemismatch");
    MPIR_STATUS_SET_COUNT(rreq->status, first);
    return last;
}
