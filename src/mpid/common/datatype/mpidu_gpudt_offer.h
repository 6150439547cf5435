/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Offers (see gpudt_direct.h) in chunks of the staging pool: the sender makes one, and either the
 * receiver claims it or the sender withdraws it. Must not know messages or what is offered. */

#ifndef MPIDU_GPUDT_OFFER_H_INCLUDED
#define MPIDU_GPUDT_OFFER_H_INCLUDED

#include "mpidu_gpudt_staging.h"

/* An offer is in the second half of a chunk of one grain. The first half is left to data. */
#define MPIDU_GPUDT_OFFER_SZ (MPIDU_GPUDT_POOL_GRAIN / 2)

/* Whether a chunk may hold an offer: others can map it, and it is a small one. */
bool MPIDU_gpudt_offer_fits(const MPIDU_gpudt_chunk_t * chunk);

/* Where a chunk holds an offer: MPIDU_GPUDT_OFFER_SZ bytes. */
char *MPIDU_gpudt_offer_mem(const MPIDU_gpudt_chunk_t * chunk);

/* Sender: open the offer that was written to a chunk.
 *   chunk  (IN)   MPIDU_gpudt_offer_fits
 *   name   (OUT)  for the receiver */
void MPIDU_gpudt_offer_open(const MPIDU_gpudt_chunk_t * chunk, MPIDU_gpudt_offer_name_t * name);

/* Sender: whether the receiver has claimed an offer. */
bool MPIDU_gpudt_offer_is_claimed(const MPIDU_gpudt_offer_name_t * name);

/* Sender: withdraw an offer. Returns false if the receiver has claimed it. */
bool MPIDU_gpudt_offer_withdraw(const MPIDU_gpudt_offer_name_t * name);

/* Receiver: the memory of an offer, mapped at first use. NULL: it cannot be mapped. The sender may
 * reuse it at any time unless the offer is claimed. */
const void *MPIDU_gpudt_offer_find(const MPIDU_gpudt_offer_name_t * name);

/* Receiver: whether an offer is still open, so that what was read from its memory is valid. */
bool MPIDU_gpudt_offer_is_open(const MPIDU_gpudt_offer_name_t * name);

/* Receiver: claim an offer. Returns false if it was withdrawn. */
bool MPIDU_gpudt_offer_claim(const MPIDU_gpudt_offer_name_t * name);

#endif /* MPIDU_GPUDT_OFFER_H_INCLUDED */
