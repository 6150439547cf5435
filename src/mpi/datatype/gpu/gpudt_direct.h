/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Copies from GPU memory of one process into that of another, which maps it. Built with and without
 * CUDA, so it must not know cuda.h. Callers hold the lock of the progress engine. */

#ifndef GPUDT_DIRECT_H_INCLUDED
#define GPUDT_DIRECT_H_INCLUDED

#include "gpudt.h"

/* An *offer*: the description of a buffer in GPU memory by which another process of the node finds
 * and maps it. It is stored in memory that both processes share. */
typedef struct MPIR_Gpudt_offer MPIR_Gpudt_offer_t;

/* Whether other processes can map the memory of a buffer, so that an offer of it can be made. */
bool MPIR_Gpudt_may_offer(const MPIR_Gpudt_buffer * buffer);

/* Bytes of an offer without the datatype. */
#define MPIR_GPUDT_OFFER_HEAD 512

/* Bytes of the datatype of a buffer as an offer describes it, a multiple of 8; 0: it is
 * contiguous. */
size_t MPIR_Gpudt_offer_type_sz(const MPIR_Gpudt_buffer * buffer);

/* Write that description.
 *   mem  (OUT)  aligned to 8 */
void MPIR_Gpudt_offer_type_write(const MPIR_Gpudt_buffer * buffer, void *mem);

/* A pointer that belongs to the datatype of a buffer, for the caller to keep a description that is
 * too long to be part of each offer. NULL at first.
 *   free_fn  (IN)  called with the pointer when the datatype and all that use it are freed; the
 *                  same in all calls. Not called for NULL */
void **MPIR_Gpudt_buffer_published(const MPIR_Gpudt_buffer * buffer, void (*free_fn) (void *));

/* Make the offer of a buffer.
 *   buffer   (IN)   MPIR_Gpudt_may_offer; the offer is valid as long as the buffer is
 *   type_at  (IN)   where the receiver finds the description of the datatype; the caller chooses
 *                   what the number means. -1: it is part of the offer
 *   mem      (OUT)  where the offer is stored, aligned to 8: MPIR_GPUDT_OFFER_HEAD bytes and the
 *                   datatype's */
void MPIR_Gpudt_offer_make(const MPIR_Gpudt_buffer * buffer, int type_at, void *mem);

/* Where the sender has put the description of the datatype, and its bytes; only of an offer that
 * the sender cannot withdraw.
 *   sz  (OUT)  bytes
 * Returns type_at of MPIR_Gpudt_offer_make. */
int MPIR_Gpudt_offer_type_at(const MPIR_Gpudt_offer_t * offer, size_t *sz);

/* Whether to accept an offer.
 *   offer   (IN)  from another process of the node, or a copy of its first MPIR_GPUDT_OFFER_HEAD
 *                 bytes
 *   buffer  (IN)  where the data is to go
 *   n       (IN)  bytes of the message
 * Returns false if the memory cannot be mapped, or if it is not mapped yet and mapping it takes
 * longer than messages could save so far. */
bool MPIR_Gpudt_offer_is_good(const MPIR_Gpudt_offer_t * offer, const MPIR_Gpudt_buffer * buffer,
                              MPI_Aint n);

/* Accept an offer, which the sender cannot withdraw any more: start to copy the first n bytes of
 * the sender's stream to those of the buffer's.
 *   type      (IN)   description of the sender's datatype, if that is not part of the offer
 *   n         (IN)   greater than 0
 *   op        (OUT)  as for MPIR_Gpudt_ipack
 *   is_taken  (OUT)  false: the memory could not be mapped, and nothing was started */
int MPIR_Gpudt_offer_pull(const MPIR_Gpudt_offer_t * offer, const void *type,
                          MPIR_Gpudt_buffer * buffer, MPI_Aint n, MPIR_Gpudt_op ** op,
                          bool * is_taken);

#endif /* GPUDT_DIRECT_H_INCLUDED */
