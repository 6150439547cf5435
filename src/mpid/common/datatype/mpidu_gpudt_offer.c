/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The state of an offer is a word in the head of the sender's pool. Its low bits are the state, the
 * others the serial number of the offer, so that a receiver that comes late cannot claim the next
 * offer in the same chunk. Sender and receiver change the state by compare and swap only, whereby
 * one of them is first. */

#include "mpidimpl.h"
#include "mpidu_gpudt_offer.h"

enum state {
    STATE__OPEN = 1,
    STATE__CLAIMED,
    STATE__WITHDRAWN
};

static uint32_t next_serial = 0;

static uint64_t word(const MPIDU_gpudt_offer_name_t * name, enum state state)
{
    return (uint64_t) name->serial << 2 | state;
}

static bool state_change(const MPIDU_gpudt_offer_name_t * name, enum state from, enum state to)
{
    MPL_atomic_uint64_t *claim = MPIDU_gpudt_pool_claim(name);

    return claim &&
        MPL_atomic_cas_uint64(claim, word(name, from), word(name, to)) == word(name, from);
}

/* ---- sender ---- */

bool MPIDU_gpudt_offer_fits(const MPIDU_gpudt_chunk_t * chunk)
{
    MPIDU_gpudt_pool_name_t name;
    int grain;

    return MPIDU_gpudt_chunk_is_small(chunk) && MPIDU_gpudt_chunk_export(chunk, &name, &grain);
}

char *MPIDU_gpudt_offer_mem(const MPIDU_gpudt_chunk_t * chunk)
{
    return chunk->mem + chunk->sz - MPIDU_GPUDT_OFFER_SZ;
}

void MPIDU_gpudt_offer_open(const MPIDU_gpudt_chunk_t * chunk, MPIDU_gpudt_offer_name_t * name)
{
    MPIDU_gpudt_chunk_export(chunk, &name->pool, &name->grain);
    name->serial = next_serial++;
    MPL_atomic_release_store_uint64(MPIDU_gpudt_pool_claim(name), word(name, STATE__OPEN));
}

bool MPIDU_gpudt_offer_is_claimed(const MPIDU_gpudt_offer_name_t * name)
{
    return MPL_atomic_relaxed_load_uint64(MPIDU_gpudt_pool_claim(name)) ==
        word(name, STATE__CLAIMED);
}

bool MPIDU_gpudt_offer_withdraw(const MPIDU_gpudt_offer_name_t * name)
{
    return state_change(name, STATE__OPEN, STATE__WITHDRAWN);
}

/* ---- receiver ---- */

const void *MPIDU_gpudt_offer_find(const MPIDU_gpudt_offer_name_t * name)
{
    const char *mem;

    if (name->grain < 0)
        return NULL;
    mem = MPIDU_gpudt_pool_import(&name->pool, name->grain, MPIDU_GPUDT_POOL_GRAIN, NULL);
    return mem ? mem + MPIDU_GPUDT_POOL_GRAIN - MPIDU_GPUDT_OFFER_SZ : NULL;
}

bool MPIDU_gpudt_offer_is_open(const MPIDU_gpudt_offer_name_t * name)
{
    MPL_atomic_uint64_t *claim = MPIDU_gpudt_pool_claim(name);

    /* The reads before must not be moved behind the load */
    MPL_atomic_read_barrier();
    return claim && MPL_atomic_acquire_load_uint64(claim) == word(name, STATE__OPEN);
}

bool MPIDU_gpudt_offer_claim(const MPIDU_gpudt_offer_name_t * name)
{
    return state_change(name, STATE__OPEN, STATE__CLAIMED);
}
