/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Receives long messages with a GPU buffer, by rendezvous (see ch3u_gpudt_msg.c). */

#include "mpidi_gpudt_msg.h"
#include "tuning/gpudt_tuning.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_MSG_DEPTH
      category    : GPUDT
      type        : int
      default     : 8
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Segments of one message with a GPU buffer that are in flight at a time, 1 to 8, so that
        packing, sending and unpacking overlap. The value of the receiver is used.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

static void rndv_advance(struct MPIDI_Gpudt_msg *msg);
static int data_arrived(MPIDI_VC_t * vc, MPIR_Request * rreq, int *complete);

int64_t MPIDI_Gpudt_room(const MPIR_Request * rreq)
{
    MPI_Aint dt_sz;

    MPIR_Datatype_get_size_macro(rreq->dev.datatype, dt_sz);
    return MPL_MIN(rreq->dev.recv_data_sz, rreq->dev.user_count * dt_sz);
}

int64_t MPIDI_Gpudt_room_check(MPIR_Request * rreq)
{
    const int64_t room = MPIDI_Gpudt_room(rreq);

    if (room == rreq->dev.recv_data_sz)
        return room;
    rreq->status.MPI_ERROR =
        MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                             MPI_ERR_TRUNCATE, "**truncate", "**truncate %d %d %d %d",
                             rreq->status.MPI_SOURCE, rreq->status.MPI_TAG,
                             (int) rreq->dev.recv_data_sz, (int) room);
    MPIR_STATUS_SET_COUNT(rreq->status, room);
    return room;
}

int MPIDI_Gpudt_pkt_rts(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * pkt, void *data ATTRIBUTE((unused)),
                        intptr_t * buflen, MPIR_Request ** rreqp)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *rreq;
    bool is_matched;

    *buflen = 0;
    *rreqp = NULL;
    if (vc->state == MPIDI_VC_STATE_MORIBUND)
        return MPI_SUCCESS;     /* the data will not come */
    mpi_errno = MPIDI_Gpudt_envelope_match(vc, &pkt->gpudt_envelope, &rreq, &is_matched);
    if (mpi_errno == MPI_SUCCESS && is_matched)
        MPIDI_Gpudt_recv_rndv(vc, rreq, false, &mpi_errno);
    return mpi_errno;
}

/* Bytes of a segment.
 *   stage  (IN)  memory that the segments pass through; NULL: chunks */
static int64_t chunk_sz_choose(int64_t total, const MPIR_Gpudt_stage_t * stage)
{
    int64_t max = (int64_t) MPIDU_gpudt_chunk_max();
    int64_t sz = MPL_MAX(total / MPIR_GPUDT_MIN_CHUNKS, MPIR_GPUDT_MIN_CHUNK_SZ);

    if (stage) {
        max = MPIR_Gpudt_stage_segment(stage);
        sz = total / ((total + max - 1) / max);
    }
    sz = MPL_MIN(MPL_ROUND_UP_ALIGN(sz, MPIDU_GPUDT_POOL_GRAIN), max);
    return MPL_MIN(sz, total);
}

void MPIDI_Gpudt_cts_init(const MPIR_Request * rreq, MPIDI_CH3_Pkt_t * upkt)
{
    MPIDI_CH3_Pkt_gpudt_cts_t *pkt = &upkt->gpudt_cts;

    memset(upkt, 0, sizeof(*upkt));
    MPIDI_Pkt_init(pkt, MPIDI_CH3_PKT_GPUDT_CTS);
    pkt->sender_req_id = rreq->dev.sender_req_id;
    pkt->receiver_req_id = rreq->handle;
}

int MPIDI_Gpudt_answer_send(MPIDI_VC_t * vc, const MPIR_Request * rreq, int what)
{
    MPIDI_CH3_Pkt_t upkt;

    MPIDI_Gpudt_cts_init(rreq, &upkt);
    upkt.gpudt_cts.n = what;
    return MPIDI_Gpudt_send_pkt(vc, &upkt, sizeof(upkt.gpudt_cts));
}

/* Tell the sender that no data is wanted, and complete the receive, with an error if the sender is
 * gone. A receive without a communicator is one of mpidi_revoked.h. */
static int rndv_refuse(MPIDI_VC_t * vc, MPIR_Request * rreq)
{
    int mpi_errno = MPI_SUCCESS;

    /* With fault tolerance, a sender from host memory on a revoked communicator may be in a list that
     * only nemesis's own packets remove it from. It waits, as in the release */
    if (rreq->dev.gpudt_vc || rreq->comm || !MPIR_CVAR_ENABLE_FT)
        mpi_errno = MPIDI_Gpudt_answer_send(vc, rreq, rreq->comm ? 0 : MPIDI_GPUDT_CTS__REVOKED);
    if (mpi_errno && rreq->status.MPI_ERROR == MPI_SUCCESS)
        rreq->status.MPI_ERROR = mpi_errno;
    return MPID_Request_complete(rreq);
}

int MPIDI_Gpudt_recv_fail(MPIDI_VC_t * vc, MPIR_Request * rreq, int mpi_errno)
{
    rreq->status.MPI_ERROR = mpi_errno;
    return rndv_refuse(vc, rreq);
}

/* Add a credit for a segment's chunk to a packet, with its position in the pool if the pool is
 * shared. */
static void cts_add(MPIDI_CH3_Pkt_gpudt_cts_t * pkt, const struct MPIDI_Gpudt_segment *segment)
{
    MPIDU_gpudt_pool_name_t name;
    int grain;

    pkt->segment[pkt->n] = segment - segment->msg->segment;
    pkt->grain[pkt->n] = -1;
    pkt->is_staged = segment->msg->is_staged;
    if (segment->chunk && MPIDU_gpudt_chunk_export(segment->chunk, &name, &grain) &&
        grain <= INT16_MAX) {
        pkt->grain[pkt->n] = grain;
        pkt->pool_token = name.token;
        pkt->pool_pid = name.pid;
        pkt->pool_fd = name.fd;
    }
    pkt->n++;
}

static void cts_send(struct MPIDI_Gpudt_msg *msg, MPIDI_CH3_Pkt_gpudt_cts_t * pkt)
{
    int mpi_errno;

    if (!msg->is_cleared) {
        pkt->total = msg->total;
        pkt->chunk_sz = msg->chunk_sz;
        msg->is_cleared = true;
    }
    mpi_errno = MPIDI_Gpudt_send_pkt(msg->vc, pkt, sizeof(*pkt));
    if (mpi_errno) {
        MPIDI_Gpudt_msg_fail(msg, mpi_errno);
        msg->is_peer_gone = true;
    }
}

/* Send the credit for a message that is packed early. */
static void early_credit_give(struct MPIDI_Gpudt_msg *msg)
{
    MPIDI_CH3_Pkt_t upkt;

    MPIDI_Gpudt_cts_init(msg->req, &upkt);
    cts_add(&upkt.gpudt_cts, &msg->segment[0]);
    cts_send(msg, &upkt.gpudt_cts);
}

/* Receive a matched message in segments, by way of a stage or through chunks.
 *   buffer, stage  (IN)  owned by the callee */
static int segments_receive(MPIDI_VC_t * vc, MPIR_Request * rreq, MPIR_Gpudt_buffer * buffer,
                            MPIR_Gpudt_stage_t * stage)
{
    int mpi_errno = MPI_SUCCESS;
    int depth = MPL_MAX(1, MPL_MIN(MPIR_CVAR_GPUDT_MSG_DEPTH, MPIDI_GPUDT_MAX_SEGMENTS));
    int64_t total = MPIDI_Gpudt_room_check(rreq);
    struct MPIDI_Gpudt_msg *msg;

    if (stage)
        depth = MPL_MIN(depth, MPIR_GPUDT_STAGE_DEPTH);
    /* One of a process that is known to be dead does not wait for chunks */
    if (vc->state == MPIDI_VC_STATE_MORIBUND)
        MPIR_ERR_SET1(rreq->status.MPI_ERROR, MPIX_ERR_PROC_FAILED, "**comm_fail",
                      "**comm_fail %d", vc->pg_rank);
    if (total == 0 || vc->state == MPIDI_VC_STATE_MORIBUND) {
        MPIR_Gpudt_buffer_free(buffer);
        MPIR_Gpudt_stage_free(stage);
        return rndv_refuse(vc, rreq);
    }
    mpi_errno = MPIDI_Gpudt_msg_make(rreq, vc, buffer, MPIDI_GPUDT_SHARE__RECV, depth,
                                     rndv_advance, &msg);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    msg->total = total;
    msg->chunk_sz = chunk_sz_choose(total, stage);
    msg->stage = stage;
    msg->is_staged = stage != NULL;
    if (stage && MPIDI_Gpudt_early_receive(msg))
        early_credit_give(msg);
    MPIDI_Gpudt_msg_advance(msg);

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPIR_Gpudt_stage_free(stage);
    mpi_errno = MPIDI_Gpudt_recv_fail(vc, rreq, mpi_errno);
    goto fn_exit;
}

int MPIDI_Gpudt_recv_start(MPIDI_VC_t * vc, MPIR_Request * rreq, MPIR_Gpudt_buffer * buffer,
                           int which)
{
    MPIR_Gpudt_stage_t *stage = NULL;

    if (buffer && rreq->dev.gpudt_vc && MPIDI_Gpudt_direct_recv(vc, rreq, buffer, which, &stage))
        return MPI_SUCCESS;
    return segments_receive(vc, rreq, buffer, stage);
}

bool MPIDI_Gpudt_recv_rndv(MPIDI_VC_t * vc, MPIR_Request * rreq, bool is_if_gpu,
                           int *mpi_errno_ptr)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Gpudt_buffer *buffer;
    /* The kernel of a process that dies may still write to the buffer, which the program reuses then */
    const int which = MPIR_GPUDT_WAY__PULLED | MPIR_GPUDT_WAY__STAGED |
        (MPIR_CVAR_ENABLE_FT ? 0 : MPIR_GPUDT_WAY__PUSHED);

    MPIR_FUNC_ENTER;

    if (rreq->dev.gpudt_vc && (MPIDI_Gpudt_inbound_matched(vc, rreq) ||
                               MPIDI_Gpudt_direct_join(vc, rreq, which))) {
        *mpi_errno_ptr = MPI_SUCCESS;
        return true;
    }
    mpi_errno = MPIR_Gpudt_buffer_make(rreq->dev.user_buf, rreq->dev.user_count,
                                       rreq->dev.datatype, &buffer);
    if (mpi_errno) {
        MPIDI_Gpudt_room_check(rreq);
        mpi_errno = MPIDI_Gpudt_recv_fail(vc, rreq, mpi_errno);
    } else if (buffer == NULL && is_if_gpu) {
        return false;
    } else {
        mpi_errno = MPIDI_Gpudt_recv_start(vc, rreq, buffer, which);
    }

    MPIR_FUNC_EXIT;
    *mpi_errno_ptr = mpi_errno;
    return true;
}

/* Send as many credits as the message can use and memory allows.
 *
 * The sender uses every credit, so the credits out and the segments received must not exceed the
 * message. */
static void credits_give(struct MPIDI_Gpudt_msg *msg)
{
    MPIDI_CH3_Pkt_t upkt;
    MPIDI_CH3_Pkt_gpudt_cts_t *pkt = &upkt.gpudt_cts;
    int noutside = MPIDI_Gpudt_msg_segments(msg, MPIDI_GPUDT_SEGMENT__CREDIT) +
        MPIDI_Gpudt_msg_segments(msg, MPIDI_GPUDT_SEGMENT__ARRIVING);
    int nmoving = MPIDI_Gpudt_msg_segments(msg, MPIDI_GPUDT_SEGMENT__MOVING);

    MPIDI_Gpudt_cts_init(msg->req, &upkt);
    while (noutside + nmoving < msg->nsegments &&
           msg->started + noutside * msg->chunk_sz < msg->total) {
        struct MPIDI_Gpudt_segment *segment = MPIDI_Gpudt_segment_find(msg);
        if (!msg->is_staged &&
            !MPIDI_Gpudt_segment_fill(segment, msg->chunk_sz, noutside + nmoving == 0))
            break;
        segment->state = MPIDI_GPUDT_SEGMENT__CREDIT;
        cts_add(pkt, segment);
        noutside++;
    }
    if (pkt->n)
        cts_send(msg, pkt);
}

/* Tell the sender that its staging memory is not used any more. */
static void stage_release(struct MPIDI_Gpudt_msg *msg)
{
    int mpi_errno = MPIDI_Gpudt_answer_send(msg->vc, msg->req, MPIDI_GPUDT_CTS__PULLED);

    if (mpi_errno)
        MPIDI_Gpudt_msg_fail(msg, mpi_errno);
}

static void rndv_advance(struct MPIDI_Gpudt_msg *msg)
{
    MPIDI_Gpudt_moved_clear(msg);
    if (!msg->is_peer_gone)
        credits_give(msg);
    if ((msg->started == msg->total || msg->is_peer_gone) &&
        MPIDI_Gpudt_msg_segments(msg, MPIDI_GPUDT_SEGMENT__MOVING) == 0) {
        if (msg->is_staged && !msg->is_peer_gone)
            stage_release(msg);
        MPIDI_Gpudt_msg_end(msg);
    }
}

/* The sender has reported a failure: answer, and end the message. */
static void sender_failed(struct MPIDI_Gpudt_msg *msg, MPIDI_VC_t * vc)
{
    int mpi_errno = MPI_SUCCESS;

    MPIDI_Gpudt_answer_send(vc, msg->req, MPIDI_GPUDT_CTS__END);
    MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**gpudt_peer");
    MPIDI_Gpudt_msg_fail(msg, mpi_errno);
    msg->is_peer_gone = true;
    MPIDI_Gpudt_msg_advance(msg);
}

/* A segment is being packed into a place of the stage. */
static void data_comes(struct MPIDI_Gpudt_segment *segment, int value)
{
    struct MPIDI_Gpudt_msg *msg = segment->msg;

    if (!MPIDI_Gpudt_segment_unpack_ahead(segment, value))
        return;
    msg->started += segment->len;
    MPIDI_Gpudt_msg_advance(msg);
}

/* The sender finds no places for the message, and has sent none of it. */
static void sender_unstaged(struct MPIDI_Gpudt_msg *msg)
{
    for (int i = 0; i < msg->nsegments; i++)
        msg->segment[i].state = MPIDI_GPUDT_SEGMENT__IDLE;
    MPIR_Gpudt_stage_free(msg->stage);
    msg->stage = NULL;
    msg->is_staged = msg->is_cleared = false;
    msg->chunk_sz = chunk_sz_choose(msg->total, NULL);
    MPIDI_Gpudt_msg_advance(msg);
}

/* Whether a packet only tells something of the sender, and brings no data. */
static bool tells(MPIDI_VC_t * vc, struct MPIDI_Gpudt_msg *msg, int where, int *mpi_errno_ptr)
{
    *mpi_errno_ptr = MPI_SUCCESS;
    switch (where) {
        case MPIDI_GPUDT_DATA__NONE:
            sender_failed(msg, vc);
            return true;
        case MPIDI_GPUDT_DATA__UNSTAGED:
            sender_unstaged(msg);
            return true;
        case MPIDI_GPUDT_DATA__PUSHED:
            MPIDI_Gpudt_pushed(msg);
            return true;
        case MPIDI_GPUDT_DATA__UNPUSHED:
        case MPIDI_GPUDT_DATA__UNREACHED:
            *mpi_errno_ptr = MPIDI_Gpudt_unpushed(msg, where == MPIDI_GPUDT_DATA__UNREACHED);
            return true;
        default:
            return false;
    }
}

int MPIDI_Gpudt_pkt_data(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * upkt, void *data, intptr_t * buflen,
                         MPIR_Request ** rreqp)
{
    const MPIDI_CH3_Pkt_gpudt_data_t *pkt = &upkt->gpudt_data;
    const intptr_t there = *buflen;
    MPIR_Request *rreq;
    struct MPIDI_Gpudt_msg *msg;
    struct MPIDI_Gpudt_segment *segment;
    int complete, mpi_errno;

    if (vc->state == MPIDI_VC_STATE_MORIBUND)   /* its messages have failed already */
        return MPIDI_Gpudt_data_drop(pkt->where == MPIDI_GPUDT_DATA__FOLLOWS ? pkt->len : 0, data,
                                     buflen, rreqp);
    MPIR_Request_get_ptr(pkt->receiver_req_id, rreq);
    msg = rreq->dev.gpudt;
    *rreqp = NULL;
    *buflen = 0;
    if (tells(vc, msg, pkt->where, &mpi_errno))
        return mpi_errno;

    segment = &msg->segment[pkt->segment];
    if (segment->is_ahead) {
        /* An early pack that has failed is done again, with a greater value: the kernel waits already */
        if (pkt->where == MPIDI_GPUDT_DATA__COMING)
            return MPI_SUCCESS;
        segment->is_ahead = false;
        MPIDI_Gpudt_msg_advance(msg);
        return MPI_SUCCESS;
    }
    segment->off = pkt->off;
    segment->len = pkt->len;
    if (msg->is_staged)
        segment->mem = MPIR_Gpudt_stage_mem(msg->stage) + pkt->place;
    if (pkt->where == MPIDI_GPUDT_DATA__COMING) {
        data_comes(segment, pkt->value);
        return MPI_SUCCESS;
    }
    segment->state = MPIDI_GPUDT_SEGMENT__ARRIVING;
    msg->arriving = pkt->segment;
    if (pkt->where == MPIDI_GPUDT_DATA__SHARED) {
        return data_arrived(vc, rreq, &complete);
    }
    if (there >= pkt->len) {
        *buflen = pkt->len;
        MPIR_Memcpy(segment->mem, data, pkt->len);
        return data_arrived(vc, rreq, &complete);
    }
    rreq->dev.iov[0].iov_base = segment->mem;
    rreq->dev.iov[0].iov_len = pkt->len;
    rreq->dev.iov_count = 1;
    rreq->dev.iov_offset = 0;
    rreq->dev.OnDataAvail = data_arrived;
    *rreqp = rreq;
    return MPI_SUCCESS;
}

/* A segment has arrived. *complete refers to the channel's reading, not to the request. */
static int data_arrived(MPIDI_VC_t * vc ATTRIBUTE((unused)), MPIR_Request * rreq, int *complete)
{
    struct MPIDI_Gpudt_msg *msg = rreq->dev.gpudt;
    struct MPIDI_Gpudt_segment *segment = &msg->segment[msg->arriving];

    msg->started += segment->len;
    MPIDI_Gpudt_segment_unpack(segment);
    MPIDI_Gpudt_msg_advance(msg);
    *complete = TRUE;
    return MPI_SUCCESS;
}
