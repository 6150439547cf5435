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
#define MPIDI_GPUDT_GRANT__END (-1)

/* Another: the communicator has been revoked, and nobody will receive the message. */
#define MPIDI_GPUDT_GRANT__REVOKED (-2)

enum MPIDI_Gpudt_part_e {
    MPIDI_GPUDT_PART__IDLE,
    MPIDI_GPUDT_PART__GRANTED,  /* receiver: the sender may fill it */
    MPIDI_GPUDT_PART__ARRIVING, /* receiver: the channel is reading its data */
    MPIDI_GPUDT_PART__MOVING,   /* between the chunk and the user's buffer */
    MPIDI_GPUDT_PART__WIRE      /* sender: the channel is writing its data */
};

/* A chunk of a message under way. */
struct MPIDI_Gpudt_part {
    struct MPIDI_Gpudt_msg *msg;
    enum MPIDI_Gpudt_part_e state;
    MPIDU_gpudt_chunk_t *chunk; /* NULL: memory of the user or of another process, or none */
    char *mem;
    int64_t off;                /* position in the stream, bytes */
    int64_t len;                /* of user data; 0: none of it is wanted */
    MPIR_Gpudt_op *op;          /* while moving; NULL: done */
    int ticket;                 /* sender: the receiver's number of the chunk */
    bool is_shared;             /* sender: mem is in the receiver's pool */
};

/* A sender's right to send one chunk. */
struct MPIDI_Gpudt_ticket {
    int part;                   /* the receiver's number of the chunk */
    char *mem;                  /* of the receiver's pool; NULL: the data goes with the packet */
};

struct MPIDI_Gpudt_msg {
    struct MPIDI_Gpudt_msg *next, *prev;
    MPIR_Request *req;          /* NULL: completed or destroyed */
    MPIDI_VC_t *vc;
    void (*advance) (struct MPIDI_Gpudt_msg * msg);
    MPI_Request peer_id;        /* the request at the other end; sender: after the first grant */
    const void *gpu_addr;       /* of the user's buffer, as MPIR_Gpudt_has_part gives it */
    int64_t total;              /* bytes that this message moves */
    int64_t chunk_sz;
    int64_t started;            /* bytes in chunks that were started: packing, or unpacking */
    int64_t done;               /* bytes in chunks that are through */
    int mpi_errno;              /* first failure, reported when the request completes */
    bool is_cleared;            /* the first grant was sent or has come */
    bool is_failure_sent;       /* sender: the receiver has been told of mpi_errno */
    bool is_peer_gone;          /* nothing more will come from the other end, nor go there */
    int arriving;               /* receiver: number of the part that is arriving */
    int64_t arriving_sz;        /* eager: bytes of the message that it will hold, wanted or not */
    int64_t arrived;            /* eager: bytes of the message that were read */
    int nstarved;               /* times in a row that no memory was had, none being in use */
    int nparts;
    struct MPIDI_Gpudt_part part[MPIDI_GPUDT_MAX_PARTS];
    int ntickets;               /* sender */
    struct MPIDI_Gpudt_ticket ticket[MPIDI_GPUDT_MAX_PARTS];
};

/* Make the state of a message and attach it to its request.
 *   req      (IN)   its user_buf, user_count and datatype are set
 *   advance  (IN)   does what can be done without waiting; is called until the message ends
 *   msg      (OUT)  listed */
int MPIDI_Gpudt_msg_make(MPIR_Request * req, MPIDI_VC_t * vc,
                         void (*advance) (struct MPIDI_Gpudt_msg *),
                         struct MPIDI_Gpudt_msg **msg);

/* Let a message advance now, unless it is being done, or call this after a change of its state. */
void MPIDI_Gpudt_msg_advance(struct MPIDI_Gpudt_msg *msg);

/* End a message whose parts are all idle or granted: complete its request with its error. */
void MPIDI_Gpudt_msg_end(struct MPIDI_Gpudt_msg *msg);

/* Note a failure; the first one stays. */
void MPIDI_Gpudt_msg_fail(struct MPIDI_Gpudt_msg *msg, int mpi_errno);

/* Start moving part->len bytes between part->mem and the user's buffer at part->off. Sets part->len
 * to what is moved, which is less only if the CPU packs and an element of the datatype is cut. */
void MPIDI_Gpudt_part_move(struct MPIDI_Gpudt_part *part, bool is_pack);

/* The part that was the first to be moved, if its bytes are there; NULL if they are not, or if no
 * part is moving. Never waits; parts of a message are moved in order. Failures are noted in the
 * message. */
struct MPIDI_Gpudt_part *MPIDI_Gpudt_msg_moved(struct MPIDI_Gpudt_msg *msg);

/* Get a chunk for a part. A message that has none yet waits a while for one that is given back,
 * since memory that is not from the pool is slow.
 *   sz       (IN)  bytes wanted
 *   is_only  (IN)  whether no other part of the message is in use
 * Returns false if there is none now; the progress engine will ask again. */
bool MPIDI_Gpudt_part_fill(struct MPIDI_Gpudt_part *part, size_t sz, bool is_only);

/* Give back what a part holds. */
void MPIDI_Gpudt_part_clear(struct MPIDI_Gpudt_part *part);

/* Number of parts in a state. */
int MPIDI_Gpudt_msg_parts(const struct MPIDI_Gpudt_msg *msg, enum MPIDI_Gpudt_part_e state);

/* Somebody's turn may come without a packet: have the progress engine look. */
void MPIDI_Gpudt_set_busy(void);

/* Whether the process at the other end of a connection is on this node and may share memory. */
bool MPIDI_Gpudt_may_share(const MPIDI_VC_t * vc);

/* Send a packet. */
int MPIDI_Gpudt_send_pkt(MPIDI_VC_t * vc, void *pkt, size_t sz);

#endif /* MPIDI_GPUDT_MSG_H_INCLUDED */
