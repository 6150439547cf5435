/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Sends long messages with a GPU buffer, by rendezvous (see ch3u_gpudt_msg.c). */

#include "mpidi_gpudt_msg.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_EAGER_MAX
      category    : GPUDT
      type        : int
      default     : 8192
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Bytes of a message from a GPU buffer that are sent without waiting for the receiver, at
        most; the limit for any message of the connection holds too. 0: no message.

    - name        : MPIR_CVAR_GPUDT_SHARE
      category    : GPUDT
      type        : boolean
      default     : true
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Whether messages with GPU buffers between processes of a node go through memory that both have
        mapped: the receiver's staging memory, or GPU memory. Windows and collectives map GPU memory in
        any case, unless MPIR_CVAR_GPUDT_DIRECT is never.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

static void send_advance(struct MPIDI_Gpudt_msg *msg);

/* ---- starting ---- */

/* Make the request and the message of a send. */
static int send_make(const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                     MPIR_Comm * comm, int context_offset, MPIDI_VC_t * vc, int type,
                     bool is_short, MPIR_Gpudt_buffer * buffer, MPIR_Request ** request,
                     struct MPIDI_Gpudt_msg **msg)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *sreq = NULL;

    MPIDI_Request_create_sreq(sreq, mpi_errno, goto fn_fail);
    MPIR_ERR_CHKANDJUMP(!sreq, mpi_errno, MPI_ERR_OTHER, "**nomemreq");
    MPIDI_Request_set_type(sreq, type);
    sreq->dev.OnDataAvail = NULL;
    sreq->dev.OnFinal = NULL;
    mpi_errno = MPIDI_Gpudt_msg_make(sreq, vc, buffer, is_short ? MPIDI_GPUDT_SHARE__SHORT :
                                     MPIDI_GPUDT_SHARE__SEND,
                                     is_short ? 1 : MPIDI_GPUDT_MAX_SEGMENTS, send_advance, msg);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *request = sreq;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (sreq) {
        MPIR_Request_free(sreq);
        MPIR_Request_free(sreq);
    }
    goto fn_exit;
}

/* Whether a message is sent eagerly. */
static bool is_short_send(intptr_t data_sz, const MPIR_Comm * comm, const MPIDI_VC_t * vc, int type)
{
    int max;

    MPIDI_CH3_GET_EAGER_THRESHOLD(&max, comm, vc);
    max = MPL_MIN(max - (int) sizeof(MPIDI_CH3_Pkt_eager_send_t), MPIR_CVAR_GPUDT_EAGER_MAX);
    return data_sz <= max && data_sz <= MPIDU_gpudt_chunk_max() && type != MPIDI_REQUEST_TYPE_SSEND;
}

bool MPIDI_Gpudt_isend(const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                       MPIR_Comm * comm, int context_offset, MPIDI_VC_t * vc, int type,
                       MPIR_Request ** request, int *mpi_errno_ptr)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_msg *msg;
    MPIR_Gpudt_buffer *buffer;
    MPIR_Request *sreq = NULL;
    MPI_Aint dt_sz;
    intptr_t data_sz;
    bool is_short;

    MPIR_FUNC_ENTER;

    mpi_errno = MPIR_Gpudt_buffer_make(buf, count, datatype, &buffer);
    if (mpi_errno == MPI_SUCCESS && buffer == NULL)
        return false;

    *request = NULL;
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPIR_Datatype_get_size_macro(datatype, dt_sz);
    data_sz = count * dt_sz;
    is_short = is_short_send(data_sz, comm, vc, type);
    mpi_errno = send_make(buf, count, datatype, rank, tag, comm, context_offset, vc, type, is_short,
                          buffer, &sreq, &msg);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (is_short) {
        mpi_errno = MPIDI_Gpudt_short_send(msg, data_sz);
    } else {
        MPIDI_Request_set_msg_type(sreq, MPIDI_REQUEST_RNDV_MSG);
        MPIDI_Gpudt_direct_offer_long(msg, data_sz);
        mpi_errno = MPIDI_Gpudt_envelope_send(msg, MPIDI_CH3_PKT_GPUDT_RTS, data_sz);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        MPIDI_Gpudt_early_pack(msg, data_sz);
    }
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *request = sreq;

  fn_exit:
    MPIR_FUNC_EXIT;
    *mpi_errno_ptr = mpi_errno;
    return true;
  fn_fail:
    if (sreq) {
        MPIDI_Gpudt_request_destroyed(sreq);
        MPIR_Request_free(sreq);
        MPIR_Request_free(sreq);
    }
    goto fn_exit;
}

static void data_pkt_send(struct MPIDI_Gpudt_msg *msg, MPIDI_CH3_Pkt_gpudt_data_t * pkt)
{
    int mpi_errno = MPIDI_Gpudt_send_pkt(msg->vc, pkt, sizeof(*pkt));

    if (mpi_errno) {
        MPIDI_Gpudt_msg_fail(msg, mpi_errno);
        msg->is_peer_gone = true;
    }
}

/* Send a packet without data.
 *   where  (IN)  MPIDI_GPUDT_DATA__UNSTAGED, _UNPUSHED or _UNREACHED; or _NONE: the request must stay until the
 *                receiver has answered, because clear to send packets in flight name it */
static void empty_send(struct MPIDI_Gpudt_msg *msg, int where)
{
    MPIDI_CH3_Pkt_t upkt;
    MPIDI_CH3_Pkt_gpudt_data_t *pkt = &upkt.gpudt_data;

    memset(&upkt, 0, sizeof(upkt));
    MPIDI_Pkt_init(pkt, MPIDI_CH3_PKT_GPUDT_DATA);
    pkt->receiver_req_id = msg->peer_id;
    pkt->where = where;
    data_pkt_send(msg, pkt);
}

/* ---- chunks ---- */

/* The first clear to send of a message sets its size and its chunks' size. */
static void cleared_set(struct MPIDI_Gpudt_msg *msg, const MPIDI_CH3_Pkt_gpudt_cts_t * pkt)
{
    MPIR_Request *rts_sreq;

    MPIDI_Request_fetch_and_clear_rts_sreq(msg->req, &rts_sreq);
    if (rts_sreq)
        MPIR_Request_free(rts_sreq);
    msg->is_cleared = true;
    msg->peer_id = pkt->receiver_req_id;
    msg->total = pkt->total;
    msg->chunk_sz = pkt->chunk_sz;
    msg->nsegments = MPIDI_GPUDT_MAX_SEGMENTS;
    if (pkt->is_staged) {
        msg->is_staged = true;
        msg->share = MPIDI_GPUDT_SHARE__STAGE;
    }
}

/* Store the credits of a packet, or the reason why it has none. */
static void credits_add(struct MPIDI_Gpudt_msg *msg, const MPIDI_CH3_Pkt_gpudt_cts_t * pkt)
{
    const MPIDU_gpudt_pool_name_t name = {
        .token = pkt->pool_token,.pid = pkt->pool_pid,.fd = pkt->pool_fd
    };

    if (pkt->n == MPIDI_GPUDT_CTS__REVOKED) {
        int err = MPI_SUCCESS;
        MPIR_ERR_SETSIMPLE(err, MPIX_ERR_REVOKED, "**revoked");
        MPIDI_Gpudt_msg_fail(msg, err);
        msg->is_peer_gone = true;
    }
    for (int i = 0; i < pkt->n; i++) {
        struct MPIDI_Gpudt_credit *credit = &msg->credit[msg->ncredits++];
        credit->segment = pkt->segment[i];
        credit->mem = NULL;
        if (!msg->is_staged && pkt->grain[i] >= 0 && MPIDI_Gpudt_peer_meet(msg->vc, &name))
            credit->mem = MPIDU_gpudt_pool_import(&name, pkt->grain[i], msg->chunk_sz,
                                                  msg->gpu_addr);
    }
}

/* The receiver has the whole message, and uses neither the buffer nor the stage any more. If the
 * program has freed the buffer meanwhile, a mapping may have kept its memory. */
static void pulled(struct MPIDI_Gpudt_msg *msg)
{
    int mpi_errno = MPIR_Gpudt_buffer_check(msg->buffer);

    msg->done = msg->total;
    msg->is_peer_gone = true;
    if (mpi_errno)
        MPIDI_Gpudt_msg_fail(msg, mpi_errno);
}

int MPIDI_Gpudt_pkt_cts(MPIDI_VC_t * vc, MPIDI_CH3_Pkt_t * upkt, void *data ATTRIBUTE((unused)),
                        intptr_t * buflen, MPIR_Request ** rreqp)
{
    int mpi_errno = MPI_SUCCESS;
    const MPIDI_CH3_Pkt_gpudt_cts_t *pkt = &upkt->gpudt_cts;
    MPIR_Request *sreq;
    struct MPIDI_Gpudt_msg *msg;
    bool is_final;

    *buflen = 0;
    *rreqp = NULL;
    if (vc->state == MPIDI_VC_STATE_MORIBUND)
        goto fn_exit;           /* its messages have failed already */
    MPIR_Request_get_ptr(pkt->sender_req_id, sreq);
    msg = sreq->dev.gpudt;
    if (msg && msg->is_failure_sent) {
        /* Credits may still arrive until the receiver has seen the failure */
        if (pkt->n == MPIDI_GPUDT_CTS__END) {
            msg->is_peer_gone = true;
            MPIDI_Gpudt_msg_advance(msg);
        }
        goto fn_exit;
    }
    if (msg == NULL) {
        /* A send from host memory to a receive buffer on a GPU. The message fails with the connection now */
        if (!MPIDI_Gpudt_answer_came(vc, sreq))
            goto fn_exit;
        mpi_errno = MPIDI_Gpudt_msg_make(sreq, vc, NULL, MPIDI_GPUDT_SHARE__SEND,
                                         MPIDI_GPUDT_MAX_SEGMENTS, send_advance, &msg);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (msg->share == MPIDI_GPUDT_SHARE__SHORT) {
        MPIDI_Gpudt_short_answered(msg, pkt->n);
        goto fn_exit;
    }
    if (pkt->n == MPIDI_GPUDT_CTS__PUSH && !MPIDI_Gpudt_push_start(msg, pkt, &is_final)) {
        msg->peer_id = pkt->receiver_req_id;
        empty_send(msg, is_final ? MPIDI_GPUDT_DATA__UNREACHED : MPIDI_GPUDT_DATA__UNPUSHED);
        MPIDI_Gpudt_msg_advance(msg);
        goto fn_exit;
    }
    if (!msg->is_cleared)
        cleared_set(msg, pkt);
    if (pkt->n == MPIDI_GPUDT_CTS__PULLED)
        pulled(msg);
    if (!MPIDI_Gpudt_early_cleared(msg, pkt))
        credits_add(msg, pkt);
    MPIDI_Gpudt_msg_advance(msg);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Give a segment memory to pack into. Returns false if there is none now; the message is advanced
 * again when there may be. */
static bool segment_place(struct MPIDI_Gpudt_segment *segment,
                          const struct MPIDI_Gpudt_credit *credit)
{
    struct MPIDI_Gpudt_msg *msg = segment->msg;
    bool is_only = MPIDI_Gpudt_msg_segments(msg, MPIDI_GPUDT_SEGMENT__IDLE) == msg->nsegments;

    segment->credit = credit->segment;
    if (msg->is_staged) {
        segment->is_shared = true;
        if (!MPIDI_Gpudt_places_take(msg))
            return false;
        segment->mem = msg->place[credit->segment];
        return true;
    }
    segment->is_shared = credit->mem != NULL;
    segment->mem = credit->mem;
    if (segment->mem == NULL) {
        if (!MPIDI_Gpudt_segment_fill(segment, segment->len, is_only))
            return false;
        segment->len = MPL_MIN(segment->len, (int64_t) segment->chunk->sz);
    }
    return true;
}

static void data_pkt_set(const struct MPIDI_Gpudt_segment *segment,
                         MPIDI_CH3_Pkt_gpudt_data_t * pkt)
{
    const struct MPIDI_Gpudt_msg *msg = segment->msg;

    MPIDI_Pkt_init(pkt, MPIDI_CH3_PKT_GPUDT_DATA);
    pkt->receiver_req_id = msg->peer_id;
    pkt->off = segment->off;
    pkt->len = segment->len;
    pkt->segment = segment->credit;
    pkt->place = msg->is_staged ? segment->mem - MPIR_Gpudt_stage_mem(msg->stage) : 0;
    pkt->value = 0;
}

/* Tell the receiver of a segment that a kernel packs, for it to launch a kernel that waits for it. Only
 * of the first segment: while that is unpacked, the others are packed, and kernels that wait for them
 * would take multiprocessors from it (16 MiB in two segments between H100s: 95 us instead of 86). If
 * there are other messages, both GPUs may have much to do before. */
static void segment_announce(struct MPIDI_Gpudt_segment *segment)
{
    MPIDI_CH3_Pkt_t upkt;
    MPIDI_CH3_Pkt_gpudt_data_t *pkt = &upkt.gpudt_data;

    if (segment->value && segment->op && segment->off == 0 && MPIDI_Gpudt_direct_is_only()) {
        data_pkt_set(segment, pkt);
        pkt->where = MPIDI_GPUDT_DATA__COMING;
        pkt->value = segment->value;
        data_pkt_send(segment->msg, pkt);
    }
    segment->value = 0;
}

/* Pack as many segments as there are credits and memory. Returns whether there was one. */
static bool segments_start(struct MPIDI_Gpudt_msg *msg)
{
    int used = 0;

    for (int i = 0; i < msg->nsegments && used < msg->ncredits && msg->started < msg->total; i++) {
        struct MPIDI_Gpudt_segment *segment = &msg->segment[i];
        if (segment->state != MPIDI_GPUDT_SEGMENT__IDLE)
            continue;
        segment->off = msg->started;
        segment->len = MPL_MIN(msg->chunk_sz, msg->total - msg->started);
        if (!segment_place(segment, &msg->credit[used]))
            break;
        used++;
        MPIDI_Gpudt_segment_move(segment, true);
        segment_announce(segment);
        msg->started += segment->len;
        if (msg->mpi_errno)
            break;
    }
    msg->ncredits -= used;
    memmove(msg->credit, msg->credit + used, msg->ncredits * sizeof(msg->credit[0]));
    return used > 0;
}

/* Send a packed segment. */
static void segment_ship(struct MPIDI_Gpudt_segment *segment)
{
    struct MPIDI_Gpudt_msg *msg = segment->msg;
    MPIDI_CH3_Pkt_t upkt;
    MPIDI_CH3_Pkt_gpudt_data_t *pkt = &upkt.gpudt_data;

    data_pkt_set(segment, pkt);
    if (msg->is_pushed)
        pkt->where = MPIDI_GPUDT_DATA__PUSHED;
    else
        pkt->where = segment->is_shared ? MPIDI_GPUDT_DATA__SHARED : MPIDI_GPUDT_DATA__FOLLOWS;
    msg->done += segment->len;

    if (segment->is_shared) {
        MPIDI_Gpudt_segment_clear(segment);
        data_pkt_send(msg, pkt);
    } else {
        MPIDI_Gpudt_segment_send(segment, pkt, sizeof(*pkt));
    }
}

/* Let a staged message that found no places pass through host memory: the receiver gives credits
 * anew. */
static void unstage(struct MPIDI_Gpudt_msg *msg)
{
    MPIDI_Gpudt_wait_set(msg, false);
    msg->wants_memory = false;
    msg->is_staged = msg->is_cleared = false;
    msg->share = MPIDI_GPUDT_SHARE__SEND;
    msg->ncredits = 0;
    empty_send(msg, MPIDI_GPUDT_DATA__UNSTAGED);
}

/* Send the packed segments, or drop them after a failure. */
static void moved_ship(struct MPIDI_Gpudt_msg *msg)
{
    struct MPIDI_Gpudt_segment *segment;

    while ((segment = MPIDI_Gpudt_msg_moved(msg)) != NULL) {
        if (msg->mpi_errno == MPI_SUCCESS && !segment->is_unwanted)
            segment_ship(segment);
        else
            MPIDI_Gpudt_segment_clear(segment);
    }
}

static void send_advance(struct MPIDI_Gpudt_msg *msg)
{
    MPIDI_Gpudt_early_advance(msg);
    if (!msg->is_cleared && !msg->is_peer_gone)
        return;

    moved_ship(msg);
    /* Segments packed by the CPU, or already complete on the GPU, are sent at once. With an early pack there
     * may be more credits than segments: nothing else would use those that are left. */
    while (msg->mpi_errno == MPI_SUCCESS && segments_start(msg))
        moved_ship(msg);
    if (msg->mpi_errno == MPI_SUCCESS && msg->is_staged && msg->wants_memory &&
        MPIDI_Gpudt_places_lack(msg))
        unstage(msg);
    if (!msg->is_cleared && !msg->is_peer_gone)
        return;

    if (MPIDI_Gpudt_msg_segments(msg, MPIDI_GPUDT_SEGMENT__IDLE) < msg->nsegments)
        return;
    if (msg->mpi_errno && !msg->is_failure_sent && !msg->is_peer_gone) {
        msg->is_failure_sent = true;
        empty_send(msg, MPIDI_GPUDT_DATA__NONE);
    }
    /* The receiver answers when it has read all of a stage */
    if (msg->mpi_errno || msg->is_staged ? msg->is_peer_gone : msg->done == msg->total)
        MPIDI_Gpudt_msg_end(msg);
}
