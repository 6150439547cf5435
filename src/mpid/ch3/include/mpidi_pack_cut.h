/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Messages that end inside an element of a datatype, because the receiver's buffer does. Packing
 * and unpacking move whole elements only, so a loop over chunks would never end. */

#ifndef MPIDI_PACK_CUT_H_INCLUDED
#define MPIDI_PACK_CUT_H_INCLUDED

/* Pack the beginning of an element.
 *   sreq   (IN)   its buffer and datatype
 *   first  (IN)   position where the element begins
 *   out    (OUT)  n bytes; zeros where the element ends before
 *   n      (IN)   bytes wanted, fewer than the element has
 * Returns n. */
MPI_Aint MPIDI_CH3U_Pack_cut(const MPIR_Request * sreq, MPI_Aint first, void *out, MPI_Aint n);

/* The rest of a message is less than an element: give it up, with an error in the status, which
 * tells how many bytes were received.
 *   first, last  (IN)  what is left of the message
 * Returns last. */
MPI_Aint MPIDI_CH3U_Unpack_cut(MPIR_Request * rreq, MPI_Aint first, MPI_Aint last);

#endif /* MPIDI_PACK_CUT_H_INCLUDED */
