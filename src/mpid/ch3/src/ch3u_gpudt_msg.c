/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Progress and state of messages with a GPU buffer, common to senders and receivers.
 *
 * A long message is sent in segments, by rendezvous with credits. The receiver gives credits for
 * chunks of its staging memory; the sender fills a chunk and tells the receiver, which unpacks it
 * and gives the credit again:
 *
 *     sender                                                       receiver
 *       | -- request to send ------------------------------------------> |  matched with a receive
 *       | <--------------------------------- clear to send, n credits -- |
 *       | pack into a chunk (GPU)                                        |
 *       | -- data of the segment --------------------------------------> |  unpack (GPU)
 *       | <------------------------- clear to send, credit for a chunk - |
 *
 * A sender that fails says so instead of sending data, and completes when the receiver has
 * answered. A receiver that fails receives the rest and drops it.
 *
 * Between processes of a node the sender packs directly into the receiver's chunk, which is in
 * shared memory; otherwise into a chunk of its own, which is then sent after its packet. Packets of
 * other messages may pass between segments. No call waits for a GPU: the progress engine polls GPU
 * operations through a hook. The memory needed for a message does not depend on its length.
 *
 * Between GPUs of a node the receiver may copy from the sender's buffer instead
 * (ch3u_gpudt_direct.c).
 *
 * Either buffer, or both, may be on a GPU. A short message is sent eagerly (ch3u_gpudt_short.c),
 * and an eager message for a GPU buffer is staged through chunks (ch3u_gpudt_eager.c).
 *
 * The hook polls only messages with GPU operations in flight, and those at the head of a queue for
 * memory (ch3u_gpudt_memory.c). All others wait for a packet and are not polled. */

#include "mpidi_gpudt_msg.h"
#include "mpidu_yield.h"

/* Short sends polled by a call that does not wait, and messages that it looks at to find them: the
 * oldest ones. The cost of the call must not grow with the number of messages. */
#define POLL_SOME 4
#define POLL_LOOKS 32

/* Messages in flight that are looked at after each packet of a burst: the oldest ones, which are the
 * next to end. After some packets all are, since the oldest ones may be long. */
#define BURST_LOOKS 4
#define BURST_LOOKS_ALL 8

/* Also: the hook is active */
bool MPIDI_Gpudt_is_busy = false;

static struct MPIDI_Gpudt_msg *msgs = NULL;     /* all */
static struct MPIDI_Gpudt_msg *actives = NULL;  /* those with GPU operations in flight */
/* Some message is being advanced. Functions of the program must not run meanwhile, which release the lock:
 * nothing would advance until they end. */
static bool is_advancing = false;
static MPIR_Request *freed = NULL;      /* requests to be completed then, of no one */
static MPIR_Request *used = NULL;       /* complete ones, to be freed then */
static bool has_ended;          /* some request was completed */

static int hook_id;
static bool has_hook = false;

/* Callers of MPIDI_Gpudt_hook_also, each once. */
#define MAX_OTHERS 4
static struct other {
    MPIDI_Gpudt_advance_fn advance;     /* NULL: no such operation so far */
    void (*settle) (void);
    void (*end) (void);
} others[MAX_OTHERS];

/* ---- the progress engine ---- */

void MPIDI_Gpudt_wake(void)
{
    if (!MPIDI_Gpudt_is_busy) {
        MPIDI_Gpudt_is_busy = true;
        MPIR_Progress_hook_activate(hook_id);
        /* Another thread may be blocked in the progress engine */
        MPIDI_CH3_Progress_signal_completion();
    }
}

static void active_set(struct MPIDI_Gpudt_msg *msg, bool is_active)
{
    if (is_active && !msg->is_active)
        DL_APPEND_NP(actives, msg, active_next, active_prev);
    else if (!is_active && msg->is_active)
        DL_DELETE_NP(actives, msg, active_next, active_prev);
    msg->is_active = is_active;
    if (is_active)
        MPIDI_Gpudt_wake();
}

static void msg_free(struct MPIDI_Gpudt_msg *msg)
{
    active_set(msg, false);
    MPIDI_Gpudt_wait_set(msg, false);
    DL_DELETE(msgs, msg);
    MPIR_Gpudt_buffer_free(msg->buffer);
    MPIDI_Gpudt_direct_end(msg);
    MPIDI_Gpudt_msg_mem_put(msg);
}

/* Whether a segment has a GPU operation in flight. One that was launched ahead, and has ended, waits for
 * a packet. */
static bool is_moving(const struct MPIDI_Gpudt_msg *msg)
{
    for (int i = 0; i < msg->nsegments; i++) {
        const struct MPIDI_Gpudt_segment *segment = &msg->segment[i];
        if (segment->state == MPIDI_GPUDT_SEGMENT__MOVING &&
            (!segment->is_ahead || segment->op || segment->value))
            return true;
    }
    return false;
}

/* After a change of state: move a message to the list by which it will be advanced, or free it.
 * Returns whether it will be polled. Messages that wait for a packet are only in the list of all. */
static bool msg_settle(struct MPIDI_Gpudt_msg *msg)
{
    if (msg->req == NULL && MPIDI_Gpudt_msg_segments(msg, MPIDI_GPUDT_SEGMENT__WIRE) == 0) {
        msg_free(msg);
        return false;
    }
    MPIDI_Gpudt_wait_set(msg, msg->req && msg->wants_memory);
    active_set(msg, msg->is_put_off || is_moving(msg));
    if (msg->is_waiting)
        MPIDI_Gpudt_wake();
    return msg->is_active;
}

/* Returns whether GPU operations of the message are still in flight. A message from or to GPU memory does not
 * go on in a host function of a stream, but in the next call elsewhere. */
static bool msg_advance(struct MPIDI_Gpudt_msg *msg)
{
    if (msg->buffer && unlikely(!MPIR_Gpudt_takes_calls())) {
        active_set(msg, true);
        return true;
    }
    msg->wants_memory = false;
    if (msg->req)
        msg->advance(msg);
    return msg_settle(msg);
}

void MPIDI_Gpudt_request_complete(MPIR_Request * req)
{
    if (is_advancing && MPIR_Object_get_ref(req) == 1)
        DL_APPEND(freed, req);
    else
        MPID_Request_complete(req);
}

void MPIDI_Gpudt_request_free(MPIR_Request * req)
{
    if (is_advancing)
        DL_APPEND(used, req);
    else
        MPIR_Request_free(req);
}

/* After a pass. Other threads may advance messages meanwhile. */
static void requests_settle(void)
{
    MPIR_Request *req;

    while (unlikely((req = freed))) {
        DL_DELETE(freed, req);
        MPID_Request_complete(req);
    }
    while (unlikely((req = used))) {
        DL_DELETE(used, req);
        MPIR_Request_free(req);
    }
}

/* The same for the hook: most of what it looks at are pulls that the GPU has not ended yet. */
static bool msg_look(struct MPIDI_Gpudt_msg *msg)
{
    if (msg->is_one_move && msg->req && MPIDI_Gpudt_segment_is_busy(&msg->segment[0]))
        return true;
    return msg_advance(msg);
}

static void msg_run(struct MPIDI_Gpudt_msg *msg)
{
    msg_advance(msg);
}

void MPIDI_Gpudt_msg_advance(struct MPIDI_Gpudt_msg *msg)
{
    if (is_advancing) {
        active_set(msg, true);
    } else {
        is_advancing = true;
        msg_run(msg);
        is_advancing = false;
        requests_settle();
    }
}

void MPIDI_Gpudt_msg_advance_later(struct MPIDI_Gpudt_msg *msg)
{
    active_set(msg, true);
}

/* For MPIR_Progress_hook_register. */
static int hook(int *made_progress)
{
    struct MPIDI_Gpudt_msg *msg, *next;
    static unsigned npasses = 0;
    bool are_others_busy = false, is_brief;
    int nleft = 0;

    if (is_advancing)
        return MPI_SUCCESS;
    is_advancing = true;
    has_ended = false;

    MPIDI_Gpudt_burst_check();
    is_brief = MPIDI_Gpudt_is_burst && ++npasses % BURST_LOOKS_ALL;
    /* Advancing a message may append to the list; it removes no other message */
    DL_FOREACH_SAFE_NP(actives, msg, next, active_next, active_prev) {
        if (msg_look(msg) && is_brief && ++nleft == BURST_LOOKS)
            break;
    }
    for (int i = 0; i < MAX_OTHERS && others[i].advance; i++)
        are_others_busy |= others[i].advance(&has_ended);
    if (!MPIDI_Gpudt_wait_serve(msg_run) && actives == NULL && !are_others_busy) {
        MPIDI_Gpudt_is_busy = false;
        MPIR_Progress_hook_deactivate(hook_id);
    }

    if (has_ended)
        *made_progress = TRUE;
    is_advancing = false;
    requests_settle();
    for (int i = 0; i < MAX_OTHERS && others[i].advance; i++) {
        if (others[i].settle)
            others[i].settle();
    }
    return MPI_SUCCESS;
}

bool MPIDI_Gpudt_poll_all(void)
{
    int made_progress = FALSE;

    if (is_advancing)
        return false;
    hook(&made_progress);
    /* Another thread may wait in the progress engine for what has ended */
    if (made_progress)
        MPIDI_CH3_Progress_signal_completion();
    return true;
}

void MPIDI_Gpudt_poll_some(void)
{
    struct MPIDI_Gpudt_msg *msg, *next;
    int npolled = 0, nlooks = 0;

    if (is_advancing)
        return;
    is_advancing = true;
    DL_FOREACH_SAFE_NP(actives, msg, next, active_next, active_prev) {
        if (npolled == POLL_SOME || nlooks++ == POLL_LOOKS)
            break;
        if (msg->share == MPIDI_GPUDT_SHARE__SHORT) {
            msg_run(msg);
            npolled++;
        }
    }
    is_advancing = false;
    requests_settle();
}

/* For MPIR_Add_finalize. Messages that are left belong to requests that the program never
 * completed. */
static int hook_end(void *unused ATTRIBUTE((unused)))
{
    struct MPIDI_Gpudt_msg *msg, *next;

    DL_FOREACH_SAFE(msgs, msg, next) {
        for (int i = 0; i < msg->nsegments; i++)
            MPIDI_Gpudt_segment_clear(&msg->segment[i]);
        if (msg->req)
            msg->req->dev.gpudt = NULL;
        msg_free(msg);
    }
    MPIDI_Gpudt_msg_mem_end();
    for (int i = 0; i < MAX_OTHERS && others[i].advance; i++)
        others[i].end();
    MPIR_Progress_hook_deregister(hook_id);
    has_hook = false;
    MPIDI_Gpudt_is_busy = false;
    MPIDI_Gpudt_burst_forget();
    return 0;
}

int MPIDI_Gpudt_hook_make(void)
{
    int mpi_errno = MPI_SUCCESS;

    if (likely(has_hook))
        goto fn_exit;
    mpi_errno = MPIR_Progress_hook_register(hook, &hook_id);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    has_hook = true;
    /* Before the staging pool is freed */
    MPIR_Add_finalize(hook_end, NULL, MPIR_FINALIZE_CALLBACK_PRIO - 1);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_Gpudt_hook_also(MPIDI_Gpudt_advance_fn advance, void (*settle) (void), void (*end) (void))
{
    int i = 0;

    while (i < MAX_OTHERS && others[i].advance && others[i].advance != advance)
        i++;
    MPIR_Assert(i < MAX_OTHERS);
    others[i].advance = advance;
    others[i].settle = settle;
    others[i].end = end;
}

void MPIDI_Gpudt_poll_pause(void)
{
    /* It may sleep, which it must not while it holds the lock; releasing that also yields */
    if (!MPIR_IS_THREADED)
        MPIDU_yield();
    MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

/* ---- messages ---- */

int MPIDI_Gpudt_msg_make(MPIR_Request * req, MPIDI_VC_t * vc, MPIR_Gpudt_buffer * buffer,
                         enum MPIDI_Gpudt_share_e share, int nsegments,
                         void (*advance) (struct MPIDI_Gpudt_msg *),
                         struct MPIDI_Gpudt_msg **msg_ptr)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_msg *msg;

    mpi_errno = MPIDI_Gpudt_hook_make();
    MPII_GPUDT_ERR_CHECK(mpi_errno);

    msg = MPIDI_Gpudt_msg_mem_get(nsegments);
    MPIR_ERR_CHKANDJUMP1(!msg, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "GPU message");
    for (int i = 0; i < nsegments; i++)
        msg->segment[i].msg = msg;
    msg->nsegments = nsegments;
    msg->credit = (struct MPIDI_Gpudt_credit *) (msg->segment + nsegments);
    msg->req = req;
    msg->vc = vc;
    msg->share = share;
    msg->offer.grain = -1;
    msg->advance = advance;
    msg->buffer = buffer;
    if (buffer)
        msg->gpu_addr = MPIR_Gpudt_buffer_addr(buffer);
    req->dev.gpudt = msg;
    DL_APPEND(msgs, msg);
    *msg_ptr = msg;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPIR_Gpudt_buffer_free(buffer);
    goto fn_exit;
}

/* The channel has read the rest of data that nobody wants. */
static int rest_read(MPIDI_VC_t * vc ATTRIBUTE((unused)), MPIR_Request * req, int *complete)
{
    MPIR_Request_free(req);
    *complete = TRUE;
    return MPI_SUCCESS;
}

/* The channel is reading data into a chunk, and its sender has died. What it has sent may still be
 * read, or not: the request stays until then. */
static void rest_drop(MPIR_Request * req)
{
    MPIR_Request_add_ref(req);
    req->dev.drop_data = TRUE;
    req->dev.OnDataAvail = rest_read;
}

void MPIDI_Gpudt_msg_end(struct MPIDI_Gpudt_msg *msg)
{
    MPIR_Request *req = msg->req;

    for (int i = 0; i < msg->nsegments; i++) {
        if (msg->segment[i].state == MPIDI_GPUDT_SEGMENT__ARRIVING)
            rest_drop(req);
        MPIDI_Gpudt_segment_clear(&msg->segment[i]);
    }
    if (msg->mpi_errno)
        req->status.MPI_ERROR = msg->mpi_errno;
    msg->req = NULL;
    req->dev.gpudt = NULL;
    has_ended = true;
    MPIDI_Gpudt_request_complete(req);
}

void MPIDI_Gpudt_msg_fail(struct MPIDI_Gpudt_msg *msg, int mpi_errno)
{
    if (msg->mpi_errno == MPI_SUCCESS)
        msg->mpi_errno = mpi_errno;
}

int MPIDI_Gpudt_msg_segments(const struct MPIDI_Gpudt_msg *msg, enum MPIDI_Gpudt_segment_e state)
{
    int n = 0;

    for (int i = 0; i < msg->nsegments; i++) {
        if (msg->segment[i].state == state)
            n++;
    }
    return n;
}

/* The user's buffer must not be accessed any more. Chunks that the channel is writing or reading
 * are kept until it has finished. */
void MPIDI_Gpudt_msg_detach(struct MPIDI_Gpudt_msg *msg)
{
    for (int i = 0; i < msg->nsegments; i++) {
        if (msg->segment[i].state != MPIDI_GPUDT_SEGMENT__WIRE)
            MPIDI_Gpudt_segment_clear(&msg->segment[i]);
    }
    msg->req->dev.gpudt = NULL;
    msg->req = NULL;
    if (is_advancing)
        active_set(msg, true);
    else
        msg_settle(msg);
}

bool MPIDI_Gpudt_msgs_exist(const MPIDI_VC_t * vc)
{
    struct MPIDI_Gpudt_msg *msg;

    DL_FOREACH(msgs, msg) {
        if (msg->vc == vc)
            return true;
    }
    return false;
}

void MPIDI_Gpudt_msgs_fail(const MPIDI_VC_t * vc, bool is_shared, int mpi_errno)
{
    struct MPIDI_Gpudt_msg *msg;

    DL_FOREACH(msgs, msg) {
        if (msg->vc == vc) {
            MPIDI_Gpudt_msg_fail(msg, mpi_errno);
            msg->is_peer_gone = true;
            for (int i = 0; i < msg->nsegments; i++) {
                if (is_shared && !msg->is_staged && msg->segment[i].chunk &&
                    msg->segment[i].state == MPIDI_GPUDT_SEGMENT__CREDIT)
                    MPIDU_gpudt_chunk_taint(msg->segment[i].chunk);
            }
            active_set(msg, true);
        }
    }
}
