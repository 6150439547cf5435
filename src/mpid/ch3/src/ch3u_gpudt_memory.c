/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The memory that parts of messages are in.
 *
 * Memory of the pool is for the messages that ask first. Those that find none wait in a queue,
 * and the head of the queue gets what is given back. Sends and receives have queues and shares of
 * the pool of their own. Must not know how messages go. */

#include "mpidi_gpudt_msg.h"

/* Messages go through pageable memory after so many seconds in which their share has neither got
 * nor given back memory of the pool. A GPU or a process that is slow gives its chunks back
 * sooner; one that is outside MPI for longer may be waiting for a message that waits for its
 * chunks. */
#define STARVED_SECONDS 1.0

/* Messages of a kind, and the memory of the pool that they hold. */
struct share {
    struct MPIDI_Gpudt_msg *waiting;    /* in turn */
    size_t held;                /* bytes */
    bool has_moved;             /* got or gave back memory since the last look */
    bool is_starved;            /* has not for long */
    MPL_time_t moved;           /* when that was seen, or began to be looked for */
};
static struct share shares[MPIDI_GPUDT_NSHARES];
static int first_share = 0;     /* whose turn is first */

static int nheld;               /* chunks of the pool in use */
static int nwaiting;            /* messages, in all queues */
static struct MPIDI_Gpudt_msg *served;  /* whose turn it is */

/* Bytes of the pool that a share may hold. Receives leave a quarter, because what they grant to
 * other processes may depend on what those grant to this one, and then on its sends having memory
 * to pack into. Short sends depend on nobody's grant, but must leave something to those that move
 * more. */
static size_t share_max(enum MPIDI_Gpudt_share_e share)
{
    size_t all = MPL_MAX(MPIR_CVAR_GPUDT_MSG_CHUNKS, 0) * MPIDU_gpudt_chunk_max();

    switch (share) {
        case MPIDI_GPUDT_SHARE__SHORT:
            return all / 4;
        case MPIDI_GPUDT_SHARE__RECV:
            return all - all / 4;
        default:
            return SIZE_MAX;
    }
}

/* Get a chunk from the pool, if the share is not used up; one chunk it may have always. */
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
    segment->is_pooled = false;
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
        /* That nothing moved when nobody waited says nothing */
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
    /* The head may hold something whose end depends on a message behind it */
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
