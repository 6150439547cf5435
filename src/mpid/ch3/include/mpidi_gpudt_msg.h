/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* State of messages that are staged through chunks of pinned memory. For ch3u_gpudt_*.c only.
 *
 * A chunk is a buffer of the staging pool. A segment is a part of a message in flight, with the
 * chunk that holds it. A credit is the right to send one segment; the receiver sends credits in
 * clear to send packets. */

#ifndef MPIDI_GPUDT_MSG_H_INCLUDED
#define MPIDI_GPUDT_MSG_H_INCLUDED

#include "mpidimpl.h"
#include "mpidi_gpudt_burst.h"
#include "gpudt_direct.h"
#include "mpidu_gpudt_offer.h"
#include "mpidu_gpudt_staging.h"

/* Instead of a number of credits: the receiver has seen the sender's failure and sends no more
 * credits. */
#define MPIDI_GPUDT_CTS__END (-1)

/* Instead of a number of credits: the communicator has been revoked, and the message is not
 * received. */
#define MPIDI_GPUDT_CTS__REVOKED (-2)

/* The receiver has copied the message from the sender's buffer, or from its stage. */
#define MPIDI_GPUDT_CTS__PULLED (-3)

/* The receiver cannot do so, and its claim of the offer is given up. */
#define MPIDI_GPUDT_CTS__UNCLAIMED (-4)

/* The sender is to copy the message to the receiver's buffer, which the packet offers. */
#define MPIDI_GPUDT_CTS__PUSH (-5)

enum MPIDI_Gpudt_segment_e {
    MPIDI_GPUDT_SEGMENT__IDLE,
    MPIDI_GPUDT_SEGMENT__CREDIT,    /* receiver: a credit for it is out, or it is to be pushed */
    MPIDI_GPUDT_SEGMENT__ARRIVING,  /* receiver: the channel is reading its data */
    MPIDI_GPUDT_SEGMENT__MOVING,    /* between the chunk and the user's buffer */
    MPIDI_GPUDT_SEGMENT__WIRE,      /* sender: the channel is writing its data */
    MPIDI_GPUDT_SEGMENT__CLAIMED    /* sender: its data is not needed if the receiver pulls it */
};

/* Classes of messages that share the pool; each has a queue of messages that wait for memory. */
enum MPIDI_Gpudt_share_e {
    MPIDI_GPUDT_SHARE__SHORT,   /* short sends */
    MPIDI_GPUDT_SHARE__SEND,    /* long sends that pack into local memory */
    MPIDI_GPUDT_SHARE__STAGE,   /* long sends that pack into places of the stage */
    MPIDI_GPUDT_SHARE__RECV,    /* receives that give credits */
    MPIDI_GPUDT_SHARE__EAGER,   /* eager data that has arrived: never waits */
    MPIDI_GPUDT_NSHARES
};

/* A part of a message in flight. */
struct MPIDI_Gpudt_segment {
    struct MPIDI_Gpudt_msg *msg;
    enum MPIDI_Gpudt_segment_e state;
    MPIDU_gpudt_chunk_t *chunk; /* NULL: memory of the user or of another process, or none */
    char *mem;
    int64_t off;                /* position in the packed stream, bytes */
    int64_t len;                /* bytes to move; 0: the data is dropped */
    MPIR_Gpudt_op *op;          /* pack or unpack operation while moving; NULL: complete */
    int credit;                 /* sender: the receiver's number of the segment */
    int value;                  /* staged: of the semaphore of its place, as of MPIR_Gpudt_stage_move */
    bool is_ahead;              /* receiver: it was launched before the sender said that its data is
                                 * there, which it has not done yet */
    bool is_missed;             /* receiver: that was in vain */
    bool is_unwanted;           /* sender: packed early for a receiver that takes the message in another
                                 * way */
    bool is_shared;             /* sender: mem is in the receiver's pool, or in the stage */
    bool is_pooled;             /* the chunk is from the pool */
};

/* A sender's right to send one segment. */
struct MPIDI_Gpudt_credit {
    int segment;                /* the receiver's number of the segment */
    char *mem;                  /* in the receiver's pool; NULL: the data is to follow its packet,
                                 * or the message is staged */
};

/* Whether to try something again that was in vain before: twice as many chances are let pass each time. */
struct MPIDI_Gpudt_trial {
    int npassed;                /* after the last time; 0: that was not in vain */
    int nleft;                  /* of these */
};

#define MPIDI_GPUDT_TRIAL_MIN 16
#define MPIDI_GPUDT_TRIAL_MAX 65536

static inline bool MPIDI_Gpudt_trial_may(struct MPIDI_Gpudt_trial *trial)
{
    if (trial->nleft == 0)
        return true;
    trial->nleft--;
    return false;
}

static inline void MPIDI_Gpudt_trial_end(struct MPIDI_Gpudt_trial *trial, bool was_in_vain)
{
    trial->npassed = !was_in_vain ? 0 :
        MPL_MIN(MPL_MAX(2 * trial->npassed, MPIDI_GPUDT_TRIAL_MIN), MPIDI_GPUDT_TRIAL_MAX);
    trial->nleft = trial->npassed;
}

struct MPIDI_Gpudt_msg {
    struct MPIDI_Gpudt_msg *next, *prev;        /* in the list of all messages */
    struct MPIDI_Gpudt_msg *active_next, *active_prev;  /* in the list that the hook polls */
    struct MPIDI_Gpudt_msg *wait_next, *wait_prev;      /* in the queue of those that wait for
                                                         * memory */
    MPIDU_gpudt_chunk_t *offer_chunk;   /* of a long send, or of a receive that is to be pushed;
                                         * NULL: none */
    MPIDU_gpudt_offer_name_t offer;     /* grain is -1 if there is none */
    MPL_time_t offered;         /* short send: when the offer was made */
    MPIR_Gpudt_stage_t *stage;  /* of a long message; NULL: none */
    bool is_staged;             /* its data passes through the stage */
    bool is_pushed;             /* send: it is copied to the receiver's buffer */
    bool is_early;              /* send: its last segment is all of it, packed before the first clear
                                 * to send, or going to be */
    int nplaces;                /* staged send: its places of the stage, by the receiver's number of
                                 * the segment; 0: none yet */
    char *place[MPIR_GPUDT_STAGE_DEPTH];
    bool is_put_off;            /* short send: not packed yet, as the receiver may pull it soon */
    bool is_pulled;             /* short send: the receiver has pulled it */
    bool is_one_move;           /* waits for nothing but the operation of its only segment */
    bool is_active;
    bool is_waiting;
    bool wants_memory;          /* found none when it advanced last */
    enum MPIDI_Gpudt_share_e share;
    MPIR_Request *req;          /* NULL: completed or destroyed */
    MPIDI_VC_t *vc;
    void (*advance) (struct MPIDI_Gpudt_msg * msg);
    MPI_Request peer_id;        /* the request of the peer; sender: known from the first clear to
                                 * send */
    MPIR_Gpudt_buffer *buffer;  /* user's buffer; NULL: it is in host memory */
    const void *gpu_addr;       /* address in the buffer; NULL: not known, or in host memory */
    int64_t total;              /* bytes that this message moves */
    int64_t chunk_sz;
    int64_t started;            /* bytes whose packing or unpacking was started */
    int64_t done;               /* bytes sent */
    int mpi_errno;              /* first failure, reported when the request completes */
    bool is_cleared;            /* the first clear to send was sent or received */
    bool is_failure_sent;       /* sender: the receiver was told of mpi_errno */
    bool is_peer_gone;          /* nothing more is received from the peer or sent to it */
    int arriving;               /* receiver: number of the segment that is arriving */
    int64_t arriving_sz;        /* eager: bytes that this segment will receive, dropped ones
                                 * included */
    int64_t arrived;            /* eager: bytes of the message received */
    int ncredits;               /* sender: credits not used yet */
    struct MPIDI_Gpudt_credit *credit;
    int nsegments;
    int capacity;               /* segments that there is memory for */
    struct MPIDI_Gpudt_segment segment[];
};

/* Register the progress hook; called for each message, does so for the first one. */
int MPIDI_Gpudt_hook_make(void);

/* Advance all operations of one kind.
 *   has_ended  (OUT)  set if some request was completed, else left alone
 * Returns whether operations are still in flight. */
typedef bool (*MPIDI_Gpudt_advance_fn) (bool * has_ended);

/* Have the hook also advance operations other than messages between processes.
 *   settle  (IN)  called after each pass, in which functions of the program must not run: what it does may
 *                 release datatypes and communicators; NULL: nothing to do
 *   end     (IN)  cancels those that are left, in MPI_Finalize */
void MPIDI_Gpudt_hook_also(MPIDI_Gpudt_advance_fn advance, void (*settle) (void), void (*end) (void));

/* Complete a request of an operation of the hook; after its pass, if the program has freed the request: that
 * may release a datatype and a communicator. */
void MPIDI_Gpudt_request_complete(MPIR_Request * req);

/* Free a request that is complete; in a pass after it, for the same reason. */
void MPIDI_Gpudt_request_free(MPIR_Request * req);

/* Activate the hook. */
void MPIDI_Gpudt_wake(void);

/* Memory of a message, all zero but for its capacity; NULL: there is none. */
struct MPIDI_Gpudt_msg *MPIDI_Gpudt_msg_mem_get(int nsegments);
void MPIDI_Gpudt_msg_mem_put(struct MPIDI_Gpudt_msg *msg);
/* Free what is kept for later messages. */
void MPIDI_Gpudt_msg_mem_end(void);

/* Make the state of a message and attach it to its request.
 *   req        (IN)   its user_buf, user_count and datatype are set
 *   buffer     (IN)   description of the user's buffer, owned by the message from now on, also on
 *                     failure; NULL: it is in host memory
 *   nsegments  (IN)   segments in flight, at most
 *   advance    (IN)   does what can be done without waiting; is called while a segment is moving or
 *                     the message waits for memory, and by MPIDI_Gpudt_msg_advance
 *   msg        (OUT)  freed when the message has ended */
int MPIDI_Gpudt_msg_make(MPIR_Request * req, MPIDI_VC_t * vc, MPIR_Gpudt_buffer * buffer,
                         enum MPIDI_Gpudt_share_e share, int nsegments,
                         void (*advance) (struct MPIDI_Gpudt_msg *),
                         struct MPIDI_Gpudt_msg **msg);

/* Advance a message now, or soon if another one is being advanced. To be called after a change of
 * its state; the message may be freed by it. */
void MPIDI_Gpudt_msg_advance(struct MPIDI_Gpudt_msg *msg);

/* Have the hook advance a message. */
void MPIDI_Gpudt_msg_advance_later(struct MPIDI_Gpudt_msg *msg);

/* Advance all messages with GPU operations in flight. Returns false if some message is being advanced:
 * then this does nothing. */
bool MPIDI_Gpudt_poll_all(void);

/* A receive that was posted has got its envelope: begin a burst, or continue it, if other packets have
 * arrived, too. */
void MPIDI_Gpudt_burst_begin(void);

/* After each packet: end the burst if it is over. */
void MPIDI_Gpudt_burst_check(void);

/* Forget the burst: nothing is in flight. */
void MPIDI_Gpudt_burst_forget(void);

/* Advance a few short sends with GPU operations in flight, from a call that does not wait. */
void MPIDI_Gpudt_poll_some(void);

/* End a message whose segments are all idle or wait for data: complete its request with its
 * error. */
void MPIDI_Gpudt_msg_end(struct MPIDI_Gpudt_msg *msg);

/* Detach a message from its request, which is destroyed or has been cancelled. The message may be freed by
 * it. */
void MPIDI_Gpudt_msg_detach(struct MPIDI_Gpudt_msg *msg);

/* End the messages of a connection that has failed.
 *   is_shared  (IN)  whether the peer may have mapped chunks of this process's pool */
void MPIDI_Gpudt_msgs_fail(const MPIDI_VC_t * vc, bool is_shared, int mpi_errno);

/* Record a failure; the first one is kept. */
void MPIDI_Gpudt_msg_fail(struct MPIDI_Gpudt_msg *msg, int mpi_errno);

/* Start moving segment->len bytes between segment->mem and the user's buffer at segment->off. Sets
 * segment->len to the bytes moved, which are fewer only if the CPU packs and an element of the
 * datatype is cut. */
void MPIDI_Gpudt_segment_move(struct MPIDI_Gpudt_segment *segment, bool is_pack);

/* Whether a segment has an operation that is not complete. Never waits; a failure is recorded in the
 * message. */
bool MPIDI_Gpudt_segment_is_busy(struct MPIDI_Gpudt_segment *segment);

/* The segment that started to move first, if it is complete; NULL if it is not, or if no segment is
 * moving. Never waits; the segments of a message move in order. Failures are recorded in the
 * message. */
struct MPIDI_Gpudt_segment *MPIDI_Gpudt_msg_moved(struct MPIDI_Gpudt_msg *msg);

/* An idle segment; the caller knows that there is one. */
struct MPIDI_Gpudt_segment *MPIDI_Gpudt_segment_find(struct MPIDI_Gpudt_msg *msg);

/* A segment's data has arrived: unpack it, unless the message has failed. */
void MPIDI_Gpudt_segment_unpack(struct MPIDI_Gpudt_segment *segment);

/* A segment's data is on its way to its place of the stage: launch a kernel that waits for it, if that
 * is possible, and makes sense after what came of earlier ones.
 *   value  (IN)  as of MPIR_Gpudt_stage_move
 * Returns false if nothing was done. */
bool MPIDI_Gpudt_segment_unpack_ahead(struct MPIDI_Gpudt_segment *segment, int value);

/* Release the segments that have been unpacked. */
void MPIDI_Gpudt_moved_clear(struct MPIDI_Gpudt_msg *msg);

/* Get a chunk for a segment from the pool. Messages of one share get memory in the order in which
 * they asked. Pageable memory is slow, and used only where no chunk of the pool is in use or the
 * share is starved (STARVED_SECONDS).
 *   sz       (IN)  bytes needed
 *   is_only  (IN)  whether no other segment of the message is in use
 * Returns false if there is none now: the message is advanced again when there may be. */
bool MPIDI_Gpudt_segment_fill(struct MPIDI_Gpudt_segment *segment, size_t sz, bool is_only);

/* The same for data that has arrived: ahead of the queue, from pageable memory if necessary.
 * Returns false when out of memory. */
bool MPIDI_Gpudt_segment_fill_now(struct MPIDI_Gpudt_segment *segment, size_t sz);

/* Get a chunk from the pool that is kept while messages come and go. Kept ones take a quarter of the
 * pool at most, and of the small chunks, which offers need; messages share the rest.
 *   sz  (IN)  bytes needed, at most MPIDU_gpudt_chunk_max()
 * Returns NULL if there is none, or if receives hold so much that too little would be left. */
MPIDU_gpudt_chunk_t *MPIDI_Gpudt_kept_get(size_t sz);

/* Return it. */
void MPIDI_Gpudt_kept_put(MPIDU_gpudt_chunk_t * chunk);

/* Get the places of the stage for a staged send, as many as it has segments in flight at most: a
 * message that had some of them could wait for another one that has the rest. Messages get them in
 * the order in which they asked. Returns false if there are too few now: the message is advanced
 * again when there may be enough. */
bool MPIDI_Gpudt_places_take(struct MPIDI_Gpudt_msg *msg);

/* Return them, if there are any. */
void MPIDI_Gpudt_places_put(struct MPIDI_Gpudt_msg *msg);

/* Whether a message that found none should do without: others have kept theirs for STARVED_SECONDS,
 * and may themselves depend on this message. */
bool MPIDI_Gpudt_places_lack(const struct MPIDI_Gpudt_msg *msg);

/* Append a message to the queue of its share for memory, or remove it. */
void MPIDI_Gpudt_wait_set(struct MPIDI_Gpudt_msg *msg, bool is_waiting);

/* Give memory to the messages that wait, in order.
 *   run  (IN)  advances a message
 * Returns whether some still wait. */
typedef void (*MPIDI_Gpudt_run_fn) (struct MPIDI_Gpudt_msg * msg);
bool MPIDI_Gpudt_wait_serve(MPIDI_Gpudt_run_fn run);

/* Release a segment: its operation and its chunk. */
void MPIDI_Gpudt_segment_clear(struct MPIDI_Gpudt_segment *segment);

/* Number of segments in a state. */
int MPIDI_Gpudt_msg_segments(const struct MPIDI_Gpudt_msg *msg, enum MPIDI_Gpudt_segment_e state);

/* Whether messages of a connection exist that are not complete. */
bool MPIDI_Gpudt_msgs_exist(const MPIDI_VC_t * vc);

/* ---- processes that share memory (ch3u_gpudt_peer.c) ---- */

/* Whether the peer of a connection may share memory, being on this node. A process of another group
 * may turn out not to be. */
bool MPIDI_Gpudt_may_share(const MPIDI_VC_t * vc);

/* Whether the peer of a connection shares its pool, of which a packet had the name. To be called
 * before the pool is used. */
bool MPIDI_Gpudt_peer_meet(const MPIDI_VC_t * vc, const MPIDU_gpudt_pool_name_t * name);

/* Note the number of the peer's process in its offers. */
void MPIDI_Gpudt_peer_note(const MPIDI_VC_t * vc, uint64_t process);

/* ---- packets (ch3u_gpudt_wire.c) ---- */

/* Send a packet. */
int MPIDI_Gpudt_send_pkt(MPIDI_VC_t * vc, void *pkt, size_t sz);

/* Send a packet, followed by the data of a segment. The segment is released when the channel has
 * finished with it. A failure is recorded in the message.
 *   pkt  (IN)  within a MPIDI_CH3_Pkt_t */
void MPIDI_Gpudt_segment_send(struct MPIDI_Gpudt_segment *segment, void *pkt, size_t sz);

/* Bytes of a message that fit into a receive's buffer. */
int64_t MPIDI_Gpudt_room(const MPIR_Request * rreq);

/* The same. If that is not all, sets a truncation error in its status. */
int64_t MPIDI_Gpudt_room_check(MPIR_Request * rreq);

/* Receive a matched long message.
 *   buffer  (IN)  of the receive, owned by the callee; NULL: it is in host memory
 *   which   (IN)  sum of the direct ways that may be chosen */
int MPIDI_Gpudt_recv_start(MPIDI_VC_t * vc, MPIR_Request * rreq, MPIR_Gpudt_buffer * buffer,
                           int which);

/* Complete a matched receive with an error, and tell the sender that no data is wanted. */
int MPIDI_Gpudt_recv_fail(MPIDI_VC_t * vc, MPIR_Request * rreq, int mpi_errno);

/* Begin a clear to send: set all but what it says. */
void MPIDI_Gpudt_cts_init(const MPIR_Request * rreq, MPIDI_CH3_Pkt_t * upkt);

/* Send a clear to send without credits.
 *   what  (IN)  0: no data is wanted; or a MPIDI_GPUDT_CTS__ value */
int MPIDI_Gpudt_answer_send(MPIDI_VC_t * vc, const MPIR_Request * rreq, int what);

/* Send the envelope of a message, by which it is matched.
 *   type     (IN)  of the packet
 *   data_sz  (IN)  bytes of the message */
int MPIDI_Gpudt_envelope_send(struct MPIDI_Gpudt_msg *msg, int type, intptr_t data_sz);

/* Match an envelope with a receive, or append it to the queue of unexpected messages.
 *   rreq        (OUT)  its request
 *   is_matched  (OUT)  whether a posted receive was found */
int MPIDI_Gpudt_envelope_match(MPIDI_VC_t * vc, const MPIDI_CH3_Pkt_gpudt_envelope_t * pkt,
                               MPIR_Request ** rreq, bool * is_matched);

/* ---- direct copies (ch3u_gpudt_direct.c) ---- */

/* Offer the buffer of a short send to the receiver, by MPIDI_Gpudt_envelope_send. There is no offer
 * if msg->offer.grain is -1 afterwards.
 *   chunk  (IN)  for the offer, owned by the caller */
void MPIDI_Gpudt_direct_offer(struct MPIDI_Gpudt_msg *msg, const MPIDU_gpudt_chunk_t * chunk);

/* The same for a long message, if there is memory for an offer: to the receiver, or to the sender.
 *   data_sz  (IN)  bytes that are sent: the sender waits for the receiver, so a stage may be offered as
 *                  well, or the receiver may ask the sender to copy, though it can map neither. 0: of a
 *                  receive */
void MPIDI_Gpudt_direct_offer_long(struct MPIDI_Gpudt_msg *msg, int64_t data_sz);

/* Free what is left of the offer of a message that is freed. */
void MPIDI_Gpudt_direct_end(struct MPIDI_Gpudt_msg *msg);

/* Whether the offers that are open are those of one long message. */
bool MPIDI_Gpudt_direct_is_only(void);

/* Receive a message together with others of the same kind, if there are some that wait to be copied.
 *   rreq, which  (IN)  as for MPIDI_Gpudt_direct_recv
 * Returns false if not. */
bool MPIDI_Gpudt_direct_join(MPIDI_VC_t * vc, MPIR_Request * rreq, int which);

/* Receive a message by the sender's offer, if that is possible.
 *   rreq    (IN)  matched with the message
 *   buffer  (IN)  of the receive; owned by the callee if true is returned
 *   which   (IN)  sum of the ways that may be chosen; of a short message, whose sender may withdraw
 *                 the offer, only MPIR_GPUDT_WAY__PULLED
 *   stage   (OUT)  not NULL: the message is to be received by way of this, which the caller owns;
 *                  may be a null pointer if that is none of the ways
 * Returns whether the message is received by a copy between the buffers. Errors are reported in the
 * request. */
bool MPIDI_Gpudt_direct_recv(MPIDI_VC_t * vc, MPIR_Request * rreq, MPIR_Gpudt_buffer * buffer,
                             int which, MPIR_Gpudt_stage_t ** stage);

/* ---- datatypes of offers (ch3u_gpudt_types.c) ---- */

/* Where an offer of a buffer has the description of its datatype: MPIR_GPUDT_TYPE__INLINE, or in grains;
 * MPIR_GPUDT_TYPE__NONE: there is no room. */
int MPIDI_Gpudt_type_publish(const MPIR_Gpudt_buffer * buffer);

/* Forget those of a process that is gone. */
void MPIDI_Gpudt_types_forget(const MPIDU_gpudt_pool_name_t * pool);

/* Find the description of the datatype of an offered buffer, if it is not part of the offer.
 *   type  (OUT)  NULL: it is part of the offer, or there is none
 * Returns false if it cannot be mapped. */
bool MPIDI_Gpudt_offer_type_find(const MPIDU_gpudt_offer_name_t * name,
                                 const MPIR_Gpudt_offer_t * offer, const void **type);

/* ---- staged messages that are packed early (ch3u_gpudt_early.c) ---- */

/* Have a place of the stage for all of a message, before its offer is made, if it is to be packed
 * early. */
void MPIDI_Gpudt_early_take(struct MPIDI_Gpudt_msg *msg);

/* Pack it, if there is one. */
void MPIDI_Gpudt_early_pack(struct MPIDI_Gpudt_msg *msg, int64_t data_sz);

/* Look after the packing until the first clear to send has arrived, or the peer is gone. */
void MPIDI_Gpudt_early_advance(struct MPIDI_Gpudt_msg *msg);

/* The first clear to send of a message that is packed early has arrived, and msg->total is known.
 * Returns whether that has used the packet's credit. */
bool MPIDI_Gpudt_early_cleared(struct MPIDI_Gpudt_msg *msg, const MPIDI_CH3_Pkt_gpudt_cts_t * pkt);

/* Receive a message that the sender packs early. Returns false if nothing was started; else segment 0 is
 * all of it, for which the sender is to get a credit. */
bool MPIDI_Gpudt_early_receive(struct MPIDI_Gpudt_msg *msg);

/* ---- direct copies by the sender (ch3u_gpudt_push.c) ---- */

/* Ask the sender of a message to copy it to the buffer of a receive. Returns false if nothing was
 * sent; else the buffer is owned by the callee, and errors are reported in the request. */
bool MPIDI_Gpudt_push_ask(MPIDI_VC_t * vc, MPIR_Request * rreq, MPIR_Gpudt_buffer * buffer);

/* The sender has done so. */
void MPIDI_Gpudt_pushed(struct MPIDI_Gpudt_msg *msg);

/* The sender does not: receive the message in another way.
 *   is_final  (IN)  it never can */
int MPIDI_Gpudt_unpushed(struct MPIDI_Gpudt_msg *msg, bool is_final);

/* Start to copy a send to the buffer that a packet offers. Returns false if nothing was started, as
 * the memory cannot be mapped, or that does not pay off yet.
 *   is_final  (OUT)  it never can be */
bool MPIDI_Gpudt_push_start(struct MPIDI_Gpudt_msg *msg, const MPIDI_CH3_Pkt_gpudt_cts_t * pkt,
                            bool * is_final);

/* ---- short messages (ch3u_gpudt_short.c, ch3u_gpudt_inbound.c) ---- */

/* The receiver has pulled a short message, or has given up its claim.
 *   what  (IN)  MPIDI_GPUDT_CTS__PULLED or _UNCLAIMED */
void MPIDI_Gpudt_short_answered(struct MPIDI_Gpudt_msg *msg, int what);

/* Start a short send.
 *   msg  (IN)  new, with one segment */
int MPIDI_Gpudt_short_send(struct MPIDI_Gpudt_msg *msg, intptr_t data_sz);

/* A receive has been matched with a message from a GPU buffer. Returns whether it is a short one,
 * whose data has not arrived. */
bool MPIDI_Gpudt_inbound_matched(MPIDI_VC_t * vc, MPIR_Request * rreq);

/* Receive data that nobody wants.
 *   sz                    (IN)   its bytes
 *   data, buflen, rreqp   (IN/OUT)  as of a packet handler */
int MPIDI_Gpudt_data_drop(int64_t sz, void *data, intptr_t * buflen, MPIR_Request ** rreqp);

/* The request of a message from a GPU buffer is destroyed, whether or not its data has arrived. */
void MPIDI_Gpudt_inbound_unwanted(const MPIR_Request * rreq);

/* Complete, with an error, the short messages whose data would come over a failed connection. */
void MPIDI_Gpudt_inbound_vc_failed(const MPIDI_VC_t * vc, int err);

#endif /* MPIDI_GPUDT_MSG_H_INCLUDED */
