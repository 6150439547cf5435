/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Partitioned communication: what senders and receivers have in common.
 *
 * A partitioned request is a set of ordinary messages, so that it works with any kind of memory,
 * between any two processes:
 *
 *     sender                                                     receiver
 *     MPI_Psend_init                                             MPI_Precv_init
 *       | -- header: tag of the program ---------------------------> |  receive posted for it
 *     MPI_Start, MPI_Pready                                      MPI_Start
 *       | -- message k: tag from the header + k -------------------> |  a receive posted for each k
 *       | -- message k + 1, ... -----------------------------------> |
 *
 * All of them have a context id of their own, so that they never match other messages. Headers are
 * sent and received by initialization, with the tag of the program, so that the order of messages
 * makes requests match in the order of their initialization. The sender gives each request tags
 * that no other of its requests has; they have MPIR_TAG_COLL_BIT, which tags of programs have not.
 *
 * A message contains one partition of the sender, or as many as are at least MSG_SZ bytes, and is
 * sent when all of them are ready. The sender chooses this without knowing the receiver, so that it
 * may send at once. There are at most MAX_MSGS, since the receiver searches a list of posted
 * receives for each, and there is at least one, so that a receive completes only after its send has
 * started. A receiver whose datatype is noncontiguous, and has an element that is in two messages,
 * unpacks those from a bounce buffer.
 *
 * The progress engine looks, through a hook, at the requests that are active or wait for a header.
 * All functions are called with the lock of the progress engine held. */

#include "mpidi_part_impl.h"

/* Also: the hook is active. The progress engine must not wait for a packet before it calls the
 * hook, since messages are completed elsewhere, too: by other hooks, and by calls that send to the
 * process itself. */
bool MPIDI_Part_is_busy = false;

static struct MPIDI_Part *parts = NULL; /* those that need progress */

/* Those to be freed after a pass of the hook. Releasing a datatype or a communicator may run functions of the
 * program, and other threads then: the list would change, and nothing would advance meanwhile. */
static struct MPIDI_Part *to_free = NULL;
static bool is_advancing = false;       /* the hook */

static int hook_id;
static bool has_hook = false;

static void all_free(void);

/* ---- the progress engine ---- */

/* For MPIR_Progress_hook_register. */
static int hook(int *made_progress)
{
    struct MPIDI_Part *part, *next;

    *made_progress = FALSE;
    if (is_advancing)
        return MPI_SUCCESS;
    is_advancing = true;
    DL_FOREACH_SAFE(parts, part, next) {
        if (MPIDI_Part_advance(part))
            *made_progress = TRUE;
    }
    is_advancing = false;
    all_free();
    return MPI_SUCCESS;
}

/* Receives that were freed before they were matched are the only ones left by a correct program. */
static int end_all(void *unused ATTRIBUTE((unused)))
{
    struct MPIDI_Part *part, *next;

    DL_FOREACH_SAFE(parts, part, next) {
        if (part->header_req && !part->is_send)
            MPID_Cancel_recv(part->header_req);
        if (part->header_req && MPIR_Request_is_complete(part->header_req))
            MPIDI_Part_advance(part);
    }
    MPIR_Progress_hook_deregister(hook_id);
    has_hook = false;
    parts = NULL;
    MPIDI_Part_is_busy = false;
    return MPI_SUCCESS;
}

static int hook_make(void)
{
    int mpi_errno = MPI_SUCCESS;

    if (!has_hook) {
        mpi_errno = MPIR_Progress_hook_register(hook, &hook_id);
        MPIR_ERR_CHECK(mpi_errno);
        has_hook = true;
        MPIR_Add_finalize(end_all, NULL, MPIR_FINALIZE_CALLBACK_PRIO + 1);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_Part_watch(struct MPIDI_Part *part)
{
    bool is_needed = part->header_req || part->is_running;

    if (is_needed && !part->is_listed)
        DL_APPEND(parts, part);
    else if (!is_needed && part->is_listed)
        DL_DELETE(parts, part);
    part->is_listed = is_needed;

    if (parts && !MPIDI_Part_is_busy)
        MPIR_Progress_hook_activate(hook_id);
    else if (!parts && MPIDI_Part_is_busy)
        MPIR_Progress_hook_deactivate(hook_id);
    MPIDI_Part_is_busy = parts != NULL;
}

/* ---- life ---- */

static int sizes_set(struct MPIDI_Part *part)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint type_sz, all;

    MPIR_Datatype_get_size_macro(part->datatype, type_sz);
    MPIR_ERR_CHKANDJUMP2(__builtin_mul_overflow(type_sz, part->count, &part->part_sz) ||
                         __builtin_mul_overflow(part->part_sz, part->nparts, &all), mpi_errno,
                         MPI_ERR_COUNT, "**part_sizes", "**part_sizes %d %d", part->nparts,
                         (int) type_sz);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Part_make(const void *buf, int partitions, MPI_Aint count, MPI_Datatype datatype,
                    int rank, int tag, MPIR_Comm * comm, MPIR_Request_kind_t kind,
                    struct MPIDI_Part **part_p)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Part *part = NULL;
    MPIR_Request *req;

    MPIR_ERR_CHKANDJUMP1(partitions < 0, mpi_errno, MPI_ERR_ARG, "**part_negative",
                         "**part_negative %d", partitions);
    mpi_errno = hook_make();
    MPIR_ERR_CHECK(mpi_errno);

    part = MPL_calloc(1, sizeof(*part), MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(part == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    part->is_send = kind == MPIR_REQUEST_KIND__PART_SEND;
    part->buf = (char *) buf;
    part->nparts = partitions;
    part->count = count;
    /* A datatype that is not used need not be one */
    part->datatype = count > 0 ? datatype : MPI_BYTE;
    part->rank = rank;
    part->tag = tag;
    mpi_errno = sizes_set(part);
    MPIR_ERR_CHECK(mpi_errno);

    req = MPIR_Request_create(kind);
    MPIR_ERR_CHKANDJUMP(req == NULL, mpi_errno, MPI_ERR_OTHER, "**nomemreq");
    MPIR_cc_set(&req->cc, 0);
    req->comm = comm;
    MPIR_Comm_add_ref(comm);
    req->u.part.partitions = partitions;
    MPIR_Part_request_inactivate(req);
    req->dev.user_buf = part;

    part->req = req;
    part->comm = comm;
    MPIR_Comm_add_ref(comm);
    MPIR_Datatype_add_ref_if_not_builtin(part->datatype);
    *part_p = part;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(part);
    goto fn_exit;
}

static void part_free(struct MPIDI_Part *part)
{
    int mpi_errno ATTRIBUTE((unused));

    MPIR_Datatype_release_if_not_builtin(part->datatype);
    mpi_errno = MPIR_Comm_release(part->comm);
    MPL_free(part->msgs);
    MPL_free(part->ready);
    MPL_free(part);
}

void MPIDI_Part_unmake(struct MPIDI_Part *part)
{
    MPIR_Request_free(part->req);
    if (part->is_send)
        MPIDI_Part_send_forget(part);
    part_free(part);
}

static void all_free(void)
{
    struct MPIDI_Part *part;

    while ((part = to_free)) {
        DL_DELETE(to_free, part);
        part_free(part);
    }
}

/* Free what the program has freed and nothing waits for. */
static void part_settle(struct MPIDI_Part *part)
{
    MPIDI_Part_watch(part);
    if (!part->is_freed || part->is_listed)
        return;
    DL_APPEND(to_free, part);
    if (!is_advancing)
        all_free();
}

void MPIDI_Part_freed(MPIR_Request * req)
{
    struct MPIDI_Part *part = MPIDI_Part_of(req);

    part->is_freed = true;
    if (part->is_send)
        MPIDI_Part_send_forget(part);
    part_settle(part);
}

/* ---- one operation ---- */

void MPIDI_Part_start(MPIR_Request * req)
{
    struct MPIDI_Part *part = MPIDI_Part_of(req);

    MPIR_Part_request_activate(req);
    MPIR_Request_add_ref(req);
    MPIR_cc_set(&req->cc, 1);
    MPIR_Status_set_empty(&req->status);
    req->status.MPI_ERROR = MPI_SUCCESS;
    part->is_running = true;
    part->first = 0;
    part->received = 0;
    if (part->is_send)
        MPIDI_Part_send_start(part);
    else if (part->header_req == NULL)
        MPIDI_Part_recv_start(part);
    MPIDI_Part_watch(part);
    MPIDI_Part_advance(part);
}

int MPIDI_Part_posted(MPIR_Request ** req, int mpi_errno)
{
    /* A receive of a message that has arrived returns its error as well as its request */
    if (*req && (mpi_errno == MPI_SUCCESS || MPIR_Request_is_complete(*req)))
        return MPI_SUCCESS;
    if (*req)
        MPIR_Request_free(*req);
    *req = NULL;
    return mpi_errno;
}

void MPIDI_Part_msg_end(struct MPIDI_Part *part, int k, int mpi_errno)
{
    struct MPIDI_Part_msg *msg = &part->msgs[k];

    if (mpi_errno && part->req->status.MPI_ERROR == MPI_SUCCESS)
        part->req->status.MPI_ERROR = mpi_errno;
    if (msg->req)
        MPIR_Request_free(msg->req);
    MPL_free(msg->bounce);
    msg->req = NULL;
    msg->bounce = NULL;
    msg->is_done = true;
}

bool MPIDI_Part_msg_done(struct MPIDI_Part *part, int k)
{
    struct MPIDI_Part_msg *msg = &part->msgs[k];
    int mpi_errno;

    if (msg->is_done)
        return true;
    if (msg->req == NULL || !MPIR_Request_is_complete(msg->req))
        return false;

    mpi_errno = msg->req->status.MPI_ERROR;
    if (!part->is_send) {
        MPI_Aint n = MPIR_STATUS_GET_COUNT(msg->req->status);
        part->received += n;
        if (msg->bounce && n > 0) {
            int unpack_errno = MPIDI_Part_recv_unpack(part, k, n);
            mpi_errno = mpi_errno ? mpi_errno : unpack_errno;
        }
    }
    MPIDI_Part_msg_end(part, k, mpi_errno);
    return true;
}

static void part_finish(struct MPIDI_Part *part)
{
    MPIR_Request *req = part->req;

    if (part->failed)
        req->status.MPI_ERROR = part->failed;
    if (part->rank == MPI_PROC_NULL) {
        MPIR_Status_set_procnull(&req->status);
    } else if (!part->is_send) {
        req->status.MPI_SOURCE = part->rank;
        req->status.MPI_TAG = part->tag;
        MPIR_STATUS_SET_COUNT(req->status, part->received);
    }
    part->is_running = false;
    MPID_Request_complete(req);
}

bool MPIDI_Part_advance(struct MPIDI_Part *part)
{
    bool has_advanced = false;

    if (part->header_req && MPIR_Request_is_complete(part->header_req) &&
        (part->is_send || MPIDI_Part_recv_match(part))) {
        MPIR_Request_free(part->header_req);
        part->header_req = NULL;
        if (!part->is_send && part->is_running)
            MPIDI_Part_recv_start(part);
        has_advanced = true;
    }
    if (part->is_running && (part->is_send || part->header_req == NULL)) {
        int nmsgs = part->msgs ? part->header.nmsgs : 0;

        while (part->first < nmsgs && MPIDI_Part_msg_done(part, part->first))
            part->first++;
        if (part->first == nmsgs) {
            part_finish(part);
            has_advanced = true;
        }
    }
    if (has_advanced)
        part_settle(part);
    return has_advanced;
}
