/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Messages that end inside an element of a datatype, because the receive buffer does. Packing and
 * unpacking move whole elements only, so a loop over chunks would never terminate. */

#ifndef MPIDI_PACK_CUT_H_INCLUDED
#define MPIDI_PACK_CUT_H_INCLUDED

/* Pack the beginning of an element.
 *   sreq   (IN)   its buffer and datatype
 *   first  (IN)   position in the packed stream where the element begins
 *   out    (OUT)  n bytes; zeros behind the end of the element
 *   n      (IN)   bytes requested, fewer than the element has
 * Returns n. */
MPI_Aint MPIDI_CH3U_Pack_cut(const MPIR_Request * sreq, MPI_Aint first, void *out, MPI_Aint n);

/* Drop the rest of a message, which is less than an element, with an error in the status. The
 * status holds the number of bytes received.
 *   first, last  (IN)  positions of the rest in the packed stream
 * Returns last. */
MPI_Aint MPIDI_CH3U_Unpack_cut(MPIR_Request * rreq, MPI_Aint first, MPI_Aint last);

#endif /* MPIDI_PACK_CUT_H_INCLUDED */
