/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Senders of partitioned communication; see ch3u_part.c. */

#include "mpidi_part_impl.h"

/* Partitions below this size share a message: sending and matching one costs as much as copying
 * about this many bytes. */
#define MSG_SZ 4096
#define MAX_MSGS 1024

/* The tags before it are those of MPICH's collectives, of which two are allowed on a communicator that has
 * been revoked: messages with them would wait for ever. */
#define FIRST_TAG MPIR_FIRST_NBC_TAG

static struct MPIDI_Part *sends = NULL; /* all that the program has not freed */
static int next_tag = FIRST_TAG;

/* ---- initialization ---- */

/* Whether a send has one of n tags from first on. */
static struct MPIDI_Part *tags_owner(int first, int n)
{
    struct MPIDI_Part *part;

    for (part = sends; part; part = part->next_send) {
        if (first < part->header.tag + part->header.nmsgs && part->header.tag < first + n)
            break;
    }
    return part;
}

/* Tags are used again as late as possible, since messages of a send that has been freed may be
 * waiting at the receiver. */
static int tags_take(int n)
{
    int first = next_tag;
    const struct MPIDI_Part *owner;

    while (first > MPIR_TAG_COLL_BIT - n || (owner = tags_owner(first, n)) != NULL)
        first = first > MPIR_TAG_COLL_BIT - n ? FIRST_TAG :
            owner->header.tag + owner->header.nmsgs;
    next_tag = first + n;
    return first;
}

static void header_set(struct MPIDI_Part *part)
{
    struct MPIDI_Part_header *header = &part->header;
    MPI_Aint nparts = part->nparts;
    MPI_Aint per_msg = 1;

    if (part->part_sz == 0)
        per_msg = nparts;
    else if (part->part_sz < MSG_SZ)
        per_msg = (MSG_SZ + part->part_sz - 1) / part->part_sz;
    per_msg = MPL_MAX(per_msg, (nparts + MAX_MSGS - 1) / MAX_MSGS);
    /* Blocks at absolute addresses may be in any memory. Which one is asked of a buffer at MPI_BOTTOM only */
    if (part->buf == MPI_BOTTOM)
        per_msg = nparts;
    per_msg = MPL_MAX(1, MPL_MIN(per_msg, nparts));

    header->part_sz = part->part_sz;
    header->nparts = part->nparts;
    header->per_msg = (int) per_msg;
    header->nmsgs = MPL_MAX(1, (int) ((nparts + per_msg - 1) / per_msg));
    header->tag = tags_take(header->nmsgs);
    DL_APPEND_NP(sends, part, next_send, prev_send);
}

void MPIDI_Part_send_forget(struct MPIDI_Part *part)
{
    if (part->header.per_msg > 0)
        DL_DELETE_NP(sends, part, next_send, prev_send);
}

int MPID_Psend_init(const void *buf, int partitions, MPI_Count count, MPI_Datatype datatype,
                    int dest, int tag, MPIR_Comm * comm, MPIR_Info * info ATTRIBUTE((unused)),
                    MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Part *part = NULL;

    mpi_errno = MPIDI_Part_make(buf, partitions, count, datatype, dest, tag, comm,
                                MPIR_REQUEST_KIND__PART_SEND, &part);
    MPIR_ERR_CHECK(mpi_errno);
    header_set(part);
    part->msgs = MPL_calloc(part->header.nmsgs, sizeof(*part->msgs), MPL_MEM_OTHER);
    part->ready = MPL_calloc(MPL_MAX(1, partitions), 1, MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!part->msgs || !part->ready, mpi_errno, MPI_ERR_NO_MEM, "**nomem");

    if (dest != MPI_PROC_NULL) {
        mpi_errno = MPID_Isend(&part->header, sizeof(part->header), MPI_BYTE, dest, tag, comm,
                               MPIDI_PART_CONTEXT_OFFSET, &part->header_req);
        mpi_errno = MPIDI_Part_posted(&part->header_req, mpi_errno);
        MPIR_ERR_CHECK(mpi_errno);
    }
    *request = part->req;
    MPIDI_Part_watch(part);
    MPIDI_Part_advance(part);

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (part)
        MPIDI_Part_unmake(part);
    goto fn_exit;
}

/* ---- one operation ---- */

/* All partitions of message k are ready. */
static int msg_send(struct MPIDI_Part *part, int k)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Part_msg *msg = &part->msgs[k];
    int per_msg = part->header.per_msg;
    int n = MPL_MIN(per_msg, part->nparts - k * per_msg);
    MPI_Aint extent;

    if (part->rank == MPI_PROC_NULL)
        goto fn_fail;
    MPIR_Datatype_get_extent_macro(part->datatype, extent);
    mpi_errno = MPID_Isend(part->buf + (MPI_Aint) k * per_msg * part->count * extent,
                           n * part->count, part->datatype, part->rank,
                           MPIR_TAG_COLL_BIT | (part->header.tag + k), part->comm,
                           MPIDI_PART_CONTEXT_OFFSET, &msg->req);
    mpi_errno = MPIDI_Part_posted(&msg->req, mpi_errno);
    if (msg->req == NULL)
        goto fn_fail;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPIDI_Part_msg_end(part, k, mpi_errno);
    goto fn_exit;
}

void MPIDI_Part_send_start(struct MPIDI_Part *part)
{
    int per_msg = part->header.per_msg;

    memset(part->ready, 0, part->nparts);
    for (int k = 0; k < part->header.nmsgs; k++) {
        part->msgs[k].is_done = false;
        part->msgs[k].missing = MPL_MIN(per_msg, part->nparts - k * per_msg);
        if (part->msgs[k].missing == 0) {
            int mpi_errno ATTRIBUTE((unused)) = msg_send(part, k);
        }
    }
}

/* ---- MPI_Pready ---- */

/* A range or a list of partitions. */
struct chosen {
    int n;
    int low;
    const int *list;            /* NULL: from low on */
};

static inline int chosen_at(const struct chosen *chosen, int i)
{
    return chosen->list ? chosen->list[i] : chosen->low + i;
}

/* Mark all as ready, or none if one is already. */
static int ready_mark(struct MPIDI_Part *part, const struct chosen *chosen)
{
    int mpi_errno = MPI_SUCCESS;
    int i;

    for (i = 0; i < chosen->n; i++) {
        char *ready = &part->ready[chosen_at(chosen, i)];
        MPIR_ERR_CHKANDJUMP1(*ready, mpi_errno, MPI_ERR_ARG, "**part_ready_twice",
                             "**part_ready_twice %d", chosen_at(chosen, i));
        *ready = 1;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    while (i-- > 0)
        part->ready[chosen_at(chosen, i)] = 0;
    goto fn_exit;
}

static int make_ready(MPIR_Request * sreq, const struct chosen *chosen)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Part *part = MPIDI_Part_of(sreq);

    mpi_errno = ready_mark(part, chosen);
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < chosen->n; i++) {
        int k = chosen_at(chosen, i) / part->header.per_msg;
        if (--part->msgs[k].missing == 0) {
            int send_errno = msg_send(part, k);
            mpi_errno = mpi_errno ? mpi_errno : send_errno;
        }
    }
    if (part->is_running)
        MPIDI_Part_advance(part);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Pready_range(int partition_low, int partition_high, MPIR_Request * sreq)
{
    struct chosen chosen = {.n = partition_high - partition_low + 1,.low = partition_low };

    return make_ready(sreq, &chosen);
}

int MPID_Pready_list(int length, int array_of_partitions[], MPIR_Request * sreq)
{
    struct chosen chosen = {.n = length,.list = array_of_partitions };

    return make_ready(sreq, &chosen);
}
