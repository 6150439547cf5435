/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Messages with a buffer on a GPU, under way: what senders and receivers share.
 *
 * A long message is cut into chunks. The receiver grants chunks of its staging memory, the sender
 * fills them and says so, the receiver unpacks them and grants them again:
 *
 *     sender                                                       receiver
 *       | -- request to send ------------------------------------------> |  matched with a receive
 *       | <--------------------------------------- grant of n chunks --- |
 *       | pack into a chunk (GPU)                                        |
 *       | -- data of the chunk ----------------------------------------> |  unpack (GPU)
 *       | <----------------------------------- grant of that chunk --- - |
 *
 * A sender that fails says so in place of data, and ends when the receiver has answered; a receiver
 * that fails lets the rest come and drops it.
 *
 * Between processes of a node the sender packs straight into the receiver's chunk, which is in
 * memory that they share; otherwise into a chunk of its own, which then goes with the packet. Every
 * chunk travels by itself, so other messages pass between them, and nobody waits for a GPU: what
 * a GPU does is asked for by the progress engine through a hook. Memory for a message does not
 * depend on its length.
 *
 * Either buffer, or both, may be on a GPU. A short message is sent eagerly, as from a packed
 * buffer, and an eager message for a GPU buffer passes through chunks on its way to it. */

#include "mpidi_gpudt_msg.h"
#include "mpidi_pack_cut.h"
#include "mpidu_yield.h"

bool MPIDI_Gpudt_is_busy = false;

/* Turns of the progress engine, of a microsecond or so each, that a message waits for memory of the
 * pool. Chunks are given back sooner, unless the processes that they were granted to are not in
 * MPI. */
#define STARVED_MAX 1000

static struct MPIDI_Gpudt_msg *msgs = NULL;
static bool is_advancing = false;       /* the hook is at work */
static bool has_ended;          /* some request was completed */

static int hook_id;
static bool has_hook = false;

/* ---- the progress engine ---- */

static void msg_free(struct MPIDI_Gpudt_msg *msg)
{
    DL_DELETE(msgs, msg);
    MPL_free(msg);
}

/* For MPIR_Progress_hook_register. */
static int hook(int *made_progress)
{
    struct MPIDI_Gpudt_msg *msg, *next;

    if (is_advancing)
        return MPI_SUCCESS;
    is_advancing = true;
    has_ended = false;

    /* Set again by what is found to be under way */
    MPIDI_Gpudt_is_busy = false;
    DL_FOREACH(msgs, msg) {
        if (msg->req)
            msg->advance(msg);
        if (MPIDI_Gpudt_msg_parts(msg, MPIDI_GPUDT_PART__MOVING))
            MPIDI_Gpudt_is_busy = true;
    }
    DL_FOREACH_SAFE(msgs, msg, next) {
        if (msg->req == NULL && MPIDI_Gpudt_msg_parts(msg, MPIDI_GPUDT_PART__WIRE) == 0)
            msg_free(msg);
    }
    if (msgs == NULL)
        MPIR_Progress_hook_deactivate(hook_id);

    if (has_ended)
        *made_progress = TRUE;
    is_advancing = false;
    return MPI_SUCCESS;
}

/* For MPIR_Add_finalize. Messages that are left belong to requests that the program never
 * completed. */
static int hook_end(void *unused ATTRIBUTE((unused)))
{
    struct MPIDI_Gpudt_msg *msg, *next;

    DL_FOREACH_SAFE(msgs, msg, next) {
        for (int i = 0; i < msg->nparts; i++)
            MPIDI_Gpudt_part_clear(&msg->part[i]);
        if (msg->req)
            msg->req->dev.gpudt = NULL;
        msg_free(msg);
    }
    MPIR_Progress_hook_deregister(hook_id);
    has_hook = false;
    MPIDI_Gpudt_is_busy = false;
    return 0;
}

void MPIDI_Gpudt_poll_pause(void)
{
    MPIDU_yield();
    MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

void MPIDI_Gpudt_set_busy(void)
{
    if (!MPIDI_Gpudt_is_busy) {
        MPIDI_Gpudt_is_busy = true;
        /* Another thread may be asleep in the progress engine */
        MPIDI_CH3_Progress_signal_completion();
    }
}

/* ---- messages ---- */

int MPIDI_Gpudt_msg_make(MPIR_Request * req, MPIDI_VC_t * vc,
                         void (*advance) (struct MPIDI_Gpudt_msg *),
                         struct MPIDI_Gpudt_msg **msg_ptr)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_msg *msg;

    if (!has_hook) {
        mpi_errno = MPIR_Progress_hook_register(hook, &hook_id);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        has_hook = true;
        /* Before the pool of staging memory goes */
        MPIR_Add_finalize(hook_end, NULL, MPIR_FINALIZE_CALLBACK_PRIO - 1);
    }

    msg = MPL_calloc(1, sizeof(*msg), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP1(!msg, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "GPU message");
    for (int i = 0; i < MPIDI_GPUDT_MAX_PARTS; i++)
        msg->part[i].msg = msg;
    msg->req = req;
    msg->vc = vc;
    msg->advance = advance;
    MPIR_Gpudt_has_part(req->dev.user_buf, req->dev.user_count, req->dev.datatype, &msg->gpu_addr);
    req->dev.gpudt = msg;

    if (msgs == NULL)
        MPIR_Progress_hook_activate(hook_id);
    DL_APPEND(msgs, msg);
    *msg_ptr = msg;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_Gpudt_msg_advance(struct MPIDI_Gpudt_msg *msg)
{
    if (!is_advancing) {
        is_advancing = true;
        msg->advance(msg);
        is_advancing = false;
    }
    MPIDI_Gpudt_set_busy();
}

void MPIDI_Gpudt_msg_end(struct MPIDI_Gpudt_msg *msg)
{
    MPIR_Request *req = msg->req;

    for (int i = 0; i < msg->nparts; i++)
        MPIDI_Gpudt_part_clear(&msg->part[i]);
    if (msg->mpi_errno)
        req->status.MPI_ERROR = msg->mpi_errno;
    msg->req = NULL;
    req->dev.gpudt = NULL;
    has_ended = true;
    MPID_Request_complete(req);
}

void MPIDI_Gpudt_msg_fail(struct MPIDI_Gpudt_msg *msg, int mpi_errno)
{
    if (msg->mpi_errno == MPI_SUCCESS)
        msg->mpi_errno = mpi_errno;
}

int MPIDI_Gpudt_msg_parts(const struct MPIDI_Gpudt_msg *msg, enum MPIDI_Gpudt_part_e state)
{
    int n = 0;

    for (int i = 0; i < msg->nparts; i++) {
        if (msg->part[i].state == state)
            n++;
    }
    return n;
}

/* The user's buffer must not be touched any more. Chunks that the channel is writing or reading are
 * kept until it is done with them. */
void MPIDI_Gpudt_request_destroyed(MPIR_Request * req)
{
    struct MPIDI_Gpudt_msg *msg = req->dev.gpudt;

    for (int i = 0; i < msg->nparts; i++) {
        if (msg->part[i].state != MPIDI_GPUDT_PART__WIRE)
            MPIDI_Gpudt_part_clear(&msg->part[i]);
    }
    msg->req = NULL;
    req->dev.gpudt = NULL;
}

void MPIDI_Gpudt_vc_failed(MPIDI_VC_t * vc)
{
    struct MPIDI_Gpudt_msg *msg;
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_SET1(mpi_errno, MPIX_ERR_PROC_FAILED, "**comm_fail", "**comm_fail %d", vc->pg_rank);
    DL_FOREACH(msgs, msg) {
        if (msg->vc == vc) {
            MPIDI_Gpudt_msg_fail(msg, mpi_errno);
            msg->is_peer_gone = true;
            for (int i = 0; i < msg->nparts; i++) {
                if (msg->part[i].state == MPIDI_GPUDT_PART__GRANTED && MPIDI_Gpudt_may_share(vc))
                    MPIDU_gpudt_chunk_taint(msg->part[i].chunk);
            }
            MPIDI_Gpudt_set_busy();
        }
    }
}

/* ---- parts ---- */

void MPIDI_Gpudt_part_move(struct MPIDI_Gpudt_part *part, bool is_pack)
{
    int mpi_errno = MPI_SUCCESS;
    const MPIDI_Request *dev = &part->msg->req->dev;
    MPI_Aint actual = 0;
    bool handled;

    part->op = NULL;
    part->state = MPIDI_GPUDT_PART__MOVING;
    if (part->len == 0)
        return;
    if (is_pack)
        mpi_errno = MPIR_Gpudt_ipack(dev->user_buf, dev->user_count, dev->datatype, part->off,
                                     part->mem, part->len, &actual, &part->op, &handled);
    else
        mpi_errno = MPIR_Gpudt_iunpack(part->mem, part->len, dev->user_buf, dev->user_count,
                                       dev->datatype, part->off, &actual, &part->op, &handled);
    if (!handled && part->msg->gpu_addr) {
        MPIR_ERR_SET1(mpi_errno, MPI_ERR_BUFFER, "**gpudt_freed", "**gpudt_freed %p",
                      part->msg->gpu_addr);
    } else if (!handled && is_pack) {
        mpi_errno = MPIR_Typerep_pack(dev->user_buf, dev->user_count, dev->datatype, part->off,
                                      part->mem, part->len, &actual);
    } else if (!handled) {
        mpi_errno = MPIR_Typerep_unpack(part->mem, part->len, dev->user_buf, dev->user_count,
                                        dev->datatype, part->off, &actual);
    }
    if (mpi_errno) {
        MPIDI_Gpudt_msg_fail(part->msg, mpi_errno);
    } else if (actual != part->len) {
        /* The CPU moves whole elements of the datatype only */
        if (!is_pack)
            MPIDI_CH3U_Unpack_cut(part->msg->req, part->off + actual, part->msg->total);
        else if (actual == 0)
            MPIDI_CH3U_Pack_cut(part->msg->req, part->off, part->mem, part->len);
        else
            part->len = actual;
    }
}

/* Whether a part's bytes are there. */
static bool part_is_moved(struct MPIDI_Gpudt_part *part)
{
    int mpi_errno, is_done = true;

    if (part->op) {
        mpi_errno = MPIR_Gpudt_test(part->op, &is_done);
        if (mpi_errno) {
            is_done = true;
            MPIDI_Gpudt_msg_fail(part->msg, mpi_errno);
        }
        if (is_done)
            part->op = NULL;
    }
    return is_done;
}

struct MPIDI_Gpudt_part *MPIDI_Gpudt_msg_moved(struct MPIDI_Gpudt_msg *msg)
{
    struct MPIDI_Gpudt_part *first = NULL;

    for (int i = 0; i < msg->nparts; i++) {
        struct MPIDI_Gpudt_part *part = &msg->part[i];
        if (part->state == MPIDI_GPUDT_PART__MOVING && (first == NULL || part->off < first->off))
            first = part;
    }
    return first && part_is_moved(first) ? first : NULL;
}

bool MPIDI_Gpudt_part_fill(struct MPIDI_Gpudt_part *part, size_t sz, bool is_only)
{
    struct MPIDI_Gpudt_msg *msg = part->msg;

    MPIDU_gpudt_chunk_get(sz, msg->gpu_addr, is_only && msg->nstarved >= STARVED_MAX,
                          &part->chunk);
    if (part->chunk) {
        msg->nstarved = 0;
        part->mem = part->chunk->mem;
        return true;
    }
    if (is_only) {
        msg->nstarved++;
        MPIDI_Gpudt_is_busy = true;
    }
    return false;
}

void MPIDI_Gpudt_part_clear(struct MPIDI_Gpudt_part *part)
{
    MPIR_Gpudt_free(part->op);
    part->op = NULL;
    if (part->chunk)
        MPIDU_gpudt_chunk_put(part->chunk);
    part->chunk = NULL;
    part->state = MPIDI_GPUDT_PART__IDLE;
}

/* ---- the other end ---- */

bool MPIDI_Gpudt_may_share(const MPIDI_VC_t * vc)
{
    MPIDI_VC_t *own;

    /* Node numbers mean something within one group of processes only */
    if (!MPIR_CVAR_GPUDT_SHARE || vc->pg != MPIDI_Process.my_pg || vc->node_id < 0)
        return false;
    MPIDI_PG_Get_vc(MPIDI_Process.my_pg, MPIDI_Process.my_pg_rank, &own);
    return own->node_id == vc->node_id;
}

int MPIDI_Gpudt_send_pkt(MPIDI_VC_t * vc, void *pkt, size_t sz)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *req = NULL;

    MPID_THREAD_CS_ENTER(POBJ, vc->pobj_mutex);
    mpi_errno = MPIDI_CH3_iStartMsg(vc, pkt, sz, &req);
    MPID_THREAD_CS_EXIT(POBJ, vc->pobj_mutex);
    if (req) {
        if (mpi_errno == MPI_SUCCESS)
            mpi_errno = req->status.MPI_ERROR;
        MPIR_Request_free(req);
    }
    return mpi_errno;
}
