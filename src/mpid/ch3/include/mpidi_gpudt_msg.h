/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* State of messages that go through chunks of staging memory. For ch3u_gpudt_*.c only. */

#ifndef MPIDI_GPUDT_MSG_H_INCLUDED
#define MPIDI_GPUDT_MSG_H_INCLUDED

#include "mpidimpl.h"
#include "mpidu_gpudt_staging.h"

/* What a grant says in place of a number of chunks: the sender's failure is known, and no more
 * grants will come. */
#define MPIDI_GPUDT_CTS__END (-1)

/* Another: the communicator has been revoked, and nobody will receive the message. */
#define MPIDI_GPUDT_CTS__REVOKED (-2)

enum MPIDI_Gpudt_segment_e {
    MPIDI_GPUDT_SEGMENT__IDLE,
    MPIDI_GPUDT_SEGMENT__CREDIT,  /* receiver: the sender may fill it */
    MPIDI_GPUDT_SEGMENT__ARRIVING, /* receiver: the channel is reading its data */
    MPIDI_GPUDT_SEGMENT__MOVING,   /* between the chunk and the user's buffer */
    MPIDI_GPUDT_SEGMENT__WIRE      /* sender: the channel is writing its data */
};

/* Who shares memory of the pool, and in which queue a message waits for it. */
enum MPIDI_Gpudt_share_e {
    MPIDI_GPUDT_SHARE__SHORT,   /* short sends */
    MPIDI_GPUDT_SHARE__SEND,    /* long sends that pack into memory of their own */
    MPIDI_GPUDT_SHARE__RECV,    /* receives that grant chunks */
    MPIDI_GPUDT_SHARE__EAGER,   /* what has arrived: never waits */
    MPIDI_GPUDT_NSHARES
};

/* A chunk of a message under way. */
struct MPIDI_Gpudt_segment {
    struct MPIDI_Gpudt_msg *msg;
    enum MPIDI_Gpudt_segment_e state;
    MPIDU_gpudt_chunk_t *chunk; /* NULL: memory of the user or of another process, or none */
    char *mem;
    int64_t off;                /* position in the stream, bytes */
    int64_t len;                /* of user data; 0: none of it is wanted */
    MPIR_Gpudt_op *op;          /* while moving; NULL: done */
    int credit;                 /* sender: the receiver's number of the chunk */
    bool is_shared;             /* sender: mem is in the receiver's pool */
    bool is_pooled;             /* the chunk is memory of the pool */
};

/* A sender's right to send one chunk. */
struct MPIDI_Gpudt_credit {
    int segment;                   /* the receiver's number of the chunk */
    char *mem;                  /* of the receiver's pool; NULL: the data goes with the packet */
};

struct MPIDI_Gpudt_msg {
    struct MPIDI_Gpudt_msg *next, *prev;        /* in the list of all */
    struct MPIDI_Gpudt_msg *active_next, *active_prev;  /* of those that the hook looks at */
    struct MPIDI_Gpudt_msg *wait_next, *wait_prev;      /* of those that wait for memory */
    bool is_active;
    bool is_waiting;
    bool wants_memory;          /* found none when it advanced last */
    enum MPIDI_Gpudt_share_e share;
    MPIR_Request *req;          /* NULL: completed or destroyed */
    MPIDI_VC_t *vc;
    void (*advance) (struct MPIDI_Gpudt_msg * msg);
    MPI_Request peer_id;        /* the request at the other end; sender: after the first grant */
    MPIR_Gpudt_buffer *buffer;  /* of the user; NULL: it is in host memory */
    const void *gpu_addr;       /* of the buffer; NULL: not known, or in host memory */
    int64_t total;              /* bytes that this message moves */
    int64_t chunk_sz;
    int64_t started;            /* bytes in chunks that were started: packing, or unpacking */
    int64_t done;               /* bytes in chunks that are through */
    int mpi_errno;              /* first failure, reported when the request completes */
    bool is_cleared;            /* the first grant was sent or has come */
    bool is_failure_sent;       /* sender: the receiver has been told of mpi_errno */
    bool is_peer_gone;          /* nothing more will come from the other end, nor go there */
    int arriving;               /* receiver: number of the segment that is arriving */
    int64_t arriving_sz;        /* eager: bytes of the message that it will hold, wanted or not */
    int64_t arrived;            /* eager: bytes of the message that were read */
    int ncredits;               /* sender */
    struct MPIDI_Gpudt_credit *credit;
    int nsegments;
    struct MPIDI_Gpudt_segment segment[];
};

/* Have the progress engine call what is under way, from the first message on. */
int MPIDI_Gpudt_hook_make(void);

/* Lets what is under way advance.
 *   has_ended  (OUT)  set if some request was completed, else left alone
 * Returns whether some is still under way. */
typedef bool (*MPIDI_Gpudt_advance_fn) (bool * has_ended);

/* Have the hook let something else advance, beside messages between processes.
 *   end  (IN)  gives up what is left, in MPI_Finalize */
void MPIDI_Gpudt_hook_also(MPIDI_Gpudt_advance_fn advance, void (*end) (void));

/* Have the progress engine look. */
void MPIDI_Gpudt_wake(void);

/* Make the state of a message and attach it to its request.
 *   req      (IN)   its user_buf, user_count and datatype are set
 *   buffer   (IN)   description of the user's buffer, which the message owns now, also on failure;
 *                   NULL: it is in host memory
 *   nsegments   (IN)   chunks under way at a time, at most
 *   advance  (IN)   does what can be done without waiting; is called while a segment is moving or the
 *                   message waits for memory, and by MPIDI_Gpudt_msg_advance
 *   msg      (OUT)  gone when the message has ended */
int MPIDI_Gpudt_msg_make(MPIR_Request * req, MPIDI_VC_t * vc, MPIR_Gpudt_buffer * buffer,
                         enum MPIDI_Gpudt_share_e share, int nsegments,
                         void (*advance) (struct MPIDI_Gpudt_msg *),
                         struct MPIDI_Gpudt_msg **msg);

/* Let a message advance now, or soon if another one is just being advanced. To be called after a
 * change of its state; it may be gone afterwards. */
void MPIDI_Gpudt_msg_advance(struct MPIDI_Gpudt_msg *msg);

/* Let a few messages advance that a GPU may have done something for, in a call that does not wait. */
void MPIDI_Gpudt_poll_some(void);

/* End a message whose segments are all idle or granted: complete its request with its error. */
void MPIDI_Gpudt_msg_end(struct MPIDI_Gpudt_msg *msg);

/* Part a message from its request, which is destroyed. The message may be gone afterwards. */
void MPIDI_Gpudt_msg_detach(struct MPIDI_Gpudt_msg *msg);

/* End the messages of a connection that has failed.
 *   is_shared  (IN)  whether the other process may have chunks of this one's pool mapped */
void MPIDI_Gpudt_msgs_fail(const MPIDI_VC_t * vc, bool is_shared, int mpi_errno);

/* Note a failure; the first one stays. */
void MPIDI_Gpudt_msg_fail(struct MPIDI_Gpudt_msg *msg, int mpi_errno);

/* Start moving segment->len bytes between segment->mem and the user's buffer at segment->off. Sets segment->len
 * to what is moved, which is less only if the CPU packs and an element of the datatype is cut. */
void MPIDI_Gpudt_segment_move(struct MPIDI_Gpudt_segment *segment, bool is_pack);

/* The segment that was the first to be moved, if its bytes are there; NULL if they are not, or if no
 * segment is moving. Never waits; parts of a message are moved in order. Failures are noted in the
 * message. */
struct MPIDI_Gpudt_segment *MPIDI_Gpudt_msg_moved(struct MPIDI_Gpudt_msg *msg);

/* A segment that is not in use; there is one. */
struct MPIDI_Gpudt_segment *MPIDI_Gpudt_segment_find(struct MPIDI_Gpudt_msg *msg);

/* A segment's data has come: unpack it, unless nobody wants it any more. */
void MPIDI_Gpudt_segment_unpack(struct MPIDI_Gpudt_segment *segment);

/* Give back the chunks whose data has got to the user's buffer. */
void MPIDI_Gpudt_moved_clear(struct MPIDI_Gpudt_msg *msg);

/* Get a chunk for a segment from the pool. Messages of one share get memory in the order in which
 * they asked for it. Memory that is not from the pool is slow, and is the way out only where the
 * pool has nothing in use, or where nothing has been given back for a second.
 *   sz       (IN)  bytes wanted
 *   is_only  (IN)  whether no other part of the message is in use
 * Returns false if there is none now: the message will be advanced again when there may be. */
bool MPIDI_Gpudt_segment_fill(struct MPIDI_Gpudt_segment *segment, size_t sz, bool is_only);

/* The same for data that has arrived: out of turn, and from anywhere.
 * Returns false if there is no memory. */
bool MPIDI_Gpudt_segment_fill_now(struct MPIDI_Gpudt_segment *segment, size_t sz);

/* Put a message into the queue of those that wait for memory, or take it out. */
void MPIDI_Gpudt_wait_set(struct MPIDI_Gpudt_msg *msg, bool is_waiting);

/* Give memory to the messages that wait, in turn.
 *   run  (IN)  lets a message advance
 * Returns whether some still wait. */
typedef void (*MPIDI_Gpudt_run_fn) (struct MPIDI_Gpudt_msg * msg);
bool MPIDI_Gpudt_wait_serve(MPIDI_Gpudt_run_fn run);

/* Give back what a segment holds. */
void MPIDI_Gpudt_segment_clear(struct MPIDI_Gpudt_segment *segment);

/* Number of segments in a state. */
int MPIDI_Gpudt_msg_segments(const struct MPIDI_Gpudt_msg *msg, enum MPIDI_Gpudt_segment_e state);

/* Whether the process at the other end of a connection is on this node and may share memory. */
bool MPIDI_Gpudt_may_share(const MPIDI_VC_t * vc);

/* Send a packet. */
int MPIDI_Gpudt_send_pkt(MPIDI_VC_t * vc, void *pkt, size_t sz);

/* Send a packet and behind it what a segment has packed; the segment is cleared when the channel is done
 * with it. A failure is noted in the message.
 *   pkt  (IN)  within a MPIDI_CH3_Pkt_t */
void MPIDI_Gpudt_segment_send(struct MPIDI_Gpudt_segment *segment, void *pkt, size_t sz);

/* Bytes that a receive has room for; less than the message has is an error in its status. */
int64_t MPIDI_Gpudt_room_check(MPIR_Request * rreq);

/* Send the packet that a receive is matched with.
 *   type     (IN)  of the packet
 *   data_sz  (IN)  bytes of the message */
int MPIDI_Gpudt_envelope_send(struct MPIDI_Gpudt_msg *msg, int type, intptr_t data_sz);

/* Match such a packet with a receive, or put it into the queue of unexpected messages.
 *   rreq        (OUT)  its request
 *   is_matched  (OUT)  whether it is a receive of the program */
int MPIDI_Gpudt_envelope_match(MPIDI_VC_t * vc, const MPIDI_CH3_Pkt_rndv_req_to_send_t * pkt,
                               MPIR_Request ** rreq, bool * is_matched);

/* ---- short messages (ch3u_gpudt_short.c) ---- */

/* Start a short send.
 *   msg  (IN)  just made, with one segment */
int MPIDI_Gpudt_short_send(struct MPIDI_Gpudt_msg *msg, intptr_t data_sz);

/* A receive has been matched with a message that has come from a GPU buffer.
 * Returns whether that is a short one, whose data is yet to come. */
bool MPIDI_Gpudt_short_matched(const MPIDI_VC_t * vc, const MPIR_Request * rreq);

/* The request of a message from a GPU buffer is destroyed, whether or not its data has come. */
void MPIDI_Gpudt_short_unwanted(const MPIR_Request * rreq);

/* End the short messages whose data would come over a connection that has failed. */
void MPIDI_Gpudt_short_vc_failed(const MPIDI_VC_t * vc, int err);

#endif /* MPIDI_GPUDT_MSG_H_INCLUDED */
