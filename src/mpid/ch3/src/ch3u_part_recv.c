/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Receivers of partitioned communication; see ch3u_part.c. */

#include "mpidi_part_impl.h"

/* ---- initialization ---- */

int MPID_Precv_init(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source,
                    int tag, MPIR_Comm * comm, MPIR_Info * info ATTRIBUTE((unused)),
                    MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Part *part = NULL;

    mpi_errno = MPIDI_Part_make(buf, partitions, count, datatype, source, tag, comm,
                                MPIR_REQUEST_KIND__PART_RECV, &part);
    MPIR_ERR_CHECK(mpi_errno);
    if (source != MPI_PROC_NULL) {
        mpi_errno = MPID_Irecv(&part->header, sizeof(part->header), MPI_BYTE, source, tag, comm,
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

bool MPIDI_Part_recv_match(struct MPIDI_Part *part)
{
    part->failed = part->header_req->status.MPI_ERROR;
    /* Cancelled: the request was freed */
    if (part->failed || MPIR_STATUS_GET_CANCEL_BIT(part->header_req->status))
        return true;
    part->msgs = MPL_calloc(part->header.nmsgs, sizeof(*part->msgs), MPL_MEM_OTHER);
    return part->msgs != NULL;
}

/* ---- one operation ---- */

static MPI_Aint room_of(const struct MPIDI_Part *part)
{
    return part->part_sz * part->nparts;
}

static MPI_Aint sent_of(const struct MPIDI_Part *part)
{
    return part->header.part_sz * part->header.nparts;
}

/* Where message k begins and ends in the packed receive buffer, if it does not end before. */
static void msg_range(const struct MPIDI_Part *part, int k, MPI_Aint * first, MPI_Aint * last)
{
    MPI_Aint msg_sz = part->header.part_sz * part->header.per_msg;
    MPI_Aint end = MPL_MIN(k * msg_sz + msg_sz, sent_of(part));

    *first = MPL_MIN(k * msg_sz, room_of(part));
    *last = MPL_MIN(end, room_of(part));
}

/* Post the receive of message k. */
static int msg_recv(struct MPIDI_Part *part, int k)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Part_msg *msg = &part->msgs[k];
    MPI_Datatype datatype = part->datatype;
    MPI_Aint first, last, type_sz, extent, true_lb, all;
    MPIR_Datatype *dt_ptr;
    int is_contig;
    void *buf;

    msg_range(part, k, &first, &last);
    MPIDI_Datatype_get_info(1, datatype, is_contig, type_sz, dt_ptr, true_lb);
    (void) dt_ptr;
    MPIR_Datatype_get_extent_macro(datatype, extent);
    all = last - first;
    if (all == 0 || is_contig) {
        buf = part->buf + true_lb + first;
        datatype = MPI_BYTE;
    } else if (first % type_sz == 0 && last % type_sz == 0 &&
               (first == 0 || part->buf != MPI_BOTTOM)) {
        buf = part->buf + first / type_sz * extent;
        all /= type_sz;
    } else {
        buf = msg->bounce = MPL_malloc(all, MPL_MEM_BUFFER);
        if (buf == NULL) {
            /* Received without data, since the sender waits for it */
            MPIR_ERR_SET(part->req->status.MPI_ERROR, MPI_ERR_NO_MEM, "**nomem");
            all = 0;
        }
        datatype = MPI_BYTE;
    }
    mpi_errno = MPID_Irecv(buf, all, datatype, part->rank,
                           MPIR_TAG_COLL_BIT | (part->header.tag + k), part->comm,
                           MPIDI_PART_CONTEXT_OFFSET, &msg->req);
    mpi_errno = MPIDI_Part_posted(&msg->req, mpi_errno);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_Part_recv_start(struct MPIDI_Part *part)
{
    for (int k = 0; part->msgs && k < part->header.nmsgs; k++) {
        int mpi_errno;

        part->msgs[k].is_done = false;
        mpi_errno = msg_recv(part, k);
        if (mpi_errno)
            MPIDI_Part_msg_end(part, k, mpi_errno);
    }
}

int MPIDI_Part_recv_unpack(struct MPIDI_Part *part, int k, MPI_Aint n)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint first, last, done;

    msg_range(part, k, &first, &last);
    mpi_errno = MPIR_Typerep_unpack(part->msgs[k].bounce, MPL_MIN(n, last - first), part->buf,
                                    part->count * part->nparts, part->datatype, first, &done);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- MPI_Parrived ---- */

/* Whether all messages with data of a partition are done. A partition without data, and one that
 * the sender does not reach, has arrived with the last message. */
static bool has_arrived(struct MPIDI_Part *part, int partition)
{
    MPI_Aint msg_sz = part->header.part_sz * part->header.per_msg;
    MPI_Aint first = partition * part->part_sz;
    int from = 0, to;

    if (!part->is_running)
        return true;
    if (part->header_req || part->msgs == NULL)
        return false;
    to = part->header.nmsgs - 1;
    if (part->part_sz > 0 && first + part->part_sz <= sent_of(part)) {
        from = (int) (first / msg_sz);
        to = (int) ((first + part->part_sz - 1) / msg_sz);
    }
    for (int k = MPL_MAX(from, part->first); k <= to; k++) {
        if (!MPIDI_Part_msg_done(part, k))
            return false;
    }
    return true;
}

int MPID_Parrived(MPIR_Request * rreq, int partition, int *flag)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Part *part = MPIDI_Part_of(rreq);

    if (!has_arrived(part, partition)) {
        mpi_errno = MPID_Progress_test(NULL);
        MPIR_ERR_CHECK(mpi_errno);
    }
    *flag = has_arrived(part, partition);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
