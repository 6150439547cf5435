/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Allocates the chunks of messages from the staging pool.
 *
 * Requests are served in order: messages that find no free chunk wait in a queue, and the head of
 * the queue gets the next one. Each share (sends, receives, ...) has its own queue and limit. Must
 * not know the protocol. */

#include "mpidi_gpudt_msg.h"

/* A share is starved if it has neither got nor returned memory of the pool for this long; its
 * messages then use pageable memory. A slow GPU or process returns its chunks sooner. A process
 * that is outside MPI for longer may itself depend on a message that waits for its chunks. */
#define STARVED_SECONDS 1.0

/* Messages of one class, and the memory of the pool that they hold. */
struct share {
    struct MPIDI_Gpudt_msg *waiting;    /* queue */
    size_t held;
    bool has_moved;             /* got or returned memory since the last check */
    bool is_starved;            /* see STARVED_SECONDS */
    MPL_time_t moved;           /* time of that check, or when the queue became nonempty */
};
static struct share shares[MPIDI_GPUDT_NSHARES];
static int first_share = 0;     /* share that is served first */

static int nheld;               /* chunks of the pool in use by messages */
static size_t kept = 0;         /* bytes of chunks that are kept while messages come and go */
static size_t kept_small = 0;   /* of them, in small chunks */
static int nwaiting;            /* messages in all queues */
static struct MPIDI_Gpudt_msg *served;  /* message that is being served */

static size_t pool_sz(void)
{
    return MPL_MAX(MPIR_CVAR_GPUDT_MSG_CHUNKS, 0) * MPIDU_gpudt_chunk_max();
}

/* Bytes of the pool that a share may hold, besides what is kept. Receives leave a quarter to sends:
 * the data for a receive's credits may depend on the peer's own receives, and so on this process's
 * sends having memory to pack into. Short sends need no credit, but must leave memory to long
 * messages. */
static size_t share_max(enum MPIDI_Gpudt_share_e share)
{
    size_t all = pool_sz() - MPL_MIN(kept, pool_sz());

    switch (share) {
        case MPIDI_GPUDT_SHARE__SHORT:
            return all / 4;
        case MPIDI_GPUDT_SHARE__RECV:
            return all - all / 4;
        default:
            return SIZE_MAX;
    }
}

MPIDU_gpudt_chunk_t *MPIDI_Gpudt_kept_get(size_t sz)
{
    MPIDU_gpudt_chunk_t *chunk;

    if (kept + sz > pool_sz() / 4)
        return NULL;
    MPIDU_gpudt_chunk_get(sz, NULL, false, &chunk);
    if (chunk == NULL)
        return NULL;
    kept += chunk->sz;
    if (MPIDU_gpudt_chunk_is_small(chunk))
        kept_small += chunk->sz;
    if (kept <= pool_sz() / 4 && kept_small <= MPIDU_gpudt_small_sz() / 4 &&
        shares[MPIDI_GPUDT_SHARE__RECV].held <= share_max(MPIDI_GPUDT_SHARE__RECV))
        return chunk;
    MPIDI_Gpudt_kept_put(chunk);
    return NULL;
}

void MPIDI_Gpudt_kept_put(MPIDU_gpudt_chunk_t * chunk)
{
    kept -= chunk->sz;
    if (MPIDU_gpudt_chunk_is_small(chunk))
        kept_small -= chunk->sz;
    MPIDU_gpudt_chunk_put(chunk);
}

/* Get a chunk from the pool if the share is below its limit. A share may always have one chunk. */
static bool pool_take(struct MPIDI_Gpudt_segment *segment, size_t sz)
{
    struct MPIDI_Gpudt_msg *msg = segment->msg;
    struct share *share = &shares[msg->share];

    sz = MPL_MIN(sz, MPIDU_gpudt_chunk_max());
    if (share->held && share->held + sz > share_max(msg->share))
        return false;
    MPIDU_gpudt_chunk_get(sz, msg->gpu_addr, false, &segment->chunk);
    if (segment->chunk == NULL)
        return false;
    segment->is_pooled = true;
    share->held += segment->chunk->sz;
    share->has_moved = true;
    nheld++;
    segment->mem = segment->chunk->mem;
    return true;
}

static bool heap_take(struct MPIDI_Gpudt_segment *segment, size_t sz)
{
    MPIDU_gpudt_chunk_get(sz, segment->msg->gpu_addr, true, &segment->chunk);
    if (segment->chunk == NULL)
        return false;
    segment->mem = segment->chunk->mem;
    return true;
}

bool MPIDI_Gpudt_segment_fill(struct MPIDI_Gpudt_segment *segment, size_t sz, bool is_only)
{
    struct MPIDI_Gpudt_msg *msg = segment->msg;

    if (served == msg || (!msg->is_waiting && shares[msg->share].waiting == NULL)) {
        if (pool_take(segment, sz))
            return true;
        if (is_only && (nheld == 0 || shares[msg->share].is_starved) && heap_take(segment, sz))
            return true;
    }
    msg->wants_memory = true;
    return false;
}

bool MPIDI_Gpudt_places_take(struct MPIDI_Gpudt_msg *msg)
{
    const int64_t nsegments = (msg->total + msg->chunk_sz - 1) / msg->chunk_sz;
    const int n = (int) MPL_MIN(nsegments, MPIR_GPUDT_STAGE_DEPTH);

    if (msg->nplaces)
        return true;
    if ((served == msg || (!msg->is_waiting && shares[msg->share].waiting == NULL)) &&
        MPIR_Gpudt_stage_take(msg->stage, n, msg->place)) {
        msg->nplaces = n;
        shares[msg->share].has_moved = true;
        return true;
    }
    msg->wants_memory = true;
    return false;
}

bool MPIDI_Gpudt_places_lack(const struct MPIDI_Gpudt_msg *msg)
{
    return msg->nplaces == 0 && msg->is_waiting && shares[msg->share].is_starved;
}

void MPIDI_Gpudt_places_put(struct MPIDI_Gpudt_msg *msg)
{
    if (msg->nplaces)
        shares[MPIDI_GPUDT_SHARE__STAGE].has_moved = true;
    while (msg->nplaces > 0)
        MPIR_Gpudt_stage_put(msg->stage, msg->place[--msg->nplaces]);
}

bool MPIDI_Gpudt_segment_fill_now(struct MPIDI_Gpudt_segment *segment, size_t sz)
{
    return pool_take(segment, sz) || heap_take(segment, sz);
}

void MPIDI_Gpudt_segment_clear(struct MPIDI_Gpudt_segment *segment)
{
    MPIR_Gpudt_free(segment->op);
    segment->op = NULL;
    if (segment->is_pooled) {
        struct share *share = &shares[segment->msg->share];
        share->held -= segment->chunk->sz;
        share->has_moved = true;
        nheld--;
    }
    if (segment->chunk)
        MPIDU_gpudt_chunk_put(segment->chunk);
    segment->chunk = NULL;
    segment->is_pooled = segment->is_ahead = segment->is_missed = segment->is_unwanted = false;
    segment->value = 0;
    segment->state = MPIDI_GPUDT_SEGMENT__IDLE;
}

/* ---- waiting for memory ---- */

static void starved_update(struct share *share)
{
    MPL_time_t now;
    double seconds;

    MPL_wtime(&now);
    if (share->has_moved) {
        share->has_moved = false;
        share->moved = now;
        share->is_starved = false;
    }
    MPL_wtime_diff(&share->moved, &now, &seconds);
    if (seconds > STARVED_SECONDS)
        share->is_starved = true;
}

void MPIDI_Gpudt_wait_set(struct MPIDI_Gpudt_msg *msg, bool is_waiting)
{
    struct share *share = &shares[msg->share];

    if (msg->is_waiting == is_waiting)
        return;
    msg->is_waiting = is_waiting;
    if (is_waiting) {
        /* The time before the queue became nonempty does not count */
        if (share->waiting == NULL)
            MPL_wtime(&share->moved);
        DL_APPEND_NP(share->waiting, msg, wait_next, wait_prev);
        nwaiting++;
    } else {
        DL_DELETE_NP(share->waiting, msg, wait_next, wait_prev);
        nwaiting--;
    }
}

static void turn(struct MPIDI_Gpudt_msg *msg, MPIDI_Gpudt_run_fn run)
{
    served = msg;
    run(msg);
    served = NULL;
}

static void share_serve(struct share *share, MPIDI_Gpudt_run_fn run)
{
    struct MPIDI_Gpudt_msg *msg, *next;

    if (share->waiting == NULL)
        return;
    starved_update(share);
    while ((msg = share->waiting) != NULL) {
        turn(msg, run);
        if (share->waiting == msg)
            break;
    }
    /* The head may hold memory until a message behind it completes */
    if (share->is_starved) {
        DL_FOREACH_SAFE_NP(share->waiting, msg, next, wait_next, wait_prev)
            turn(msg, run);
    }
}

bool MPIDI_Gpudt_wait_serve(MPIDI_Gpudt_run_fn run)
{
    if (nwaiting == 0)
        return false;
    first_share = (first_share + 1) % MPIDI_GPUDT_NSHARES;
    for (int i = 0; i < MPIDI_GPUDT_NSHARES; i++)
        share_serve(&shares[(first_share + i) % MPIDI_GPUDT_NSHARES], run);
    return nwaiting > 0;
}
