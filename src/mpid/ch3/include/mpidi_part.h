/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Partitioned communication: the interface for MPICH's own files. Included by mpidpost.h. */

#ifndef MPIDI_PART_H_INCLUDED
#define MPIDI_PART_H_INCLUDED

/* Added to the context id of a communicator, gives the one of its partitioned messages. Nothing but
 * a merge of intercommunicators uses this value, and only with the suffix of collectives. */
#define MPIDI_PART_CONTEXT_OFFSET \
    ((3 << MPIR_CONTEXT_SUBCOMM_SHIFT) + MPIR_CONTEXT_INTRA_PT2PT)

/* Start an inactive partitioned request. An error is reported when it is completed. */
void MPIDI_Part_start(MPIR_Request * req);

/* The program frees a partitioned request. It must not be used afterwards, except by the caller to
 * drop the program's reference. */
void MPIDI_Part_freed(MPIR_Request * req);

#endif /* MPIDI_PART_H_INCLUDED */
