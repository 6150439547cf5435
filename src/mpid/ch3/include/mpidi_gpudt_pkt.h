/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Packets of messages with GPU buffers; the protocol is described in ch3u_gpudt_msg.c. Included by
 * mpidpkt.h.
 *
 * None may be larger than MPICH's own packets, since nemesis sends the size of the largest for
 * each. */

#ifndef MPIDI_GPUDT_PKT_H_INCLUDED
#define MPIDI_GPUDT_PKT_H_INCLUDED

#include "mpidu_gpudt_pool_name.h"

#define MPIDI_GPUDT_MAX_SEGMENTS 8 /* segments of one message in flight */

/* Sender to receiver: the envelope of a message, which is the request to send of a long one. */
typedef struct MPIDI_CH3_Pkt_gpudt_envelope {
    MPIDI_CH3_Pkt_rndv_req_to_send_t rts;       /* first member, since the type of any packet is */
    MPIDU_gpudt_offer_name_t offer;
} MPIDI_CH3_Pkt_gpudt_envelope_t;

/* Receiver to sender: clear to send, with credits. The first one opens the message, each later one
 * adds credits. */
typedef struct MPIDI_CH3_Pkt_gpudt_cts {
    MPIDI_CH3_Pkt_type_t type;
    MPI_Request sender_req_id;
    MPI_Request receiver_req_id;
    int pool_pid;               /* process whose pool the chunks are in */
    uint64_t pool_token;
    int64_t total;              /* bytes of the message that the receiver accepts; first packet
                                 * only */
    int64_t chunk_sz;           /* bytes of each chunk but the last; first packet only */
    int pool_fd;
    int16_t grain[MPIDI_GPUDT_MAX_SEGMENTS];    /* position in the pool, in grains; -1: the data is
                                                 * to follow its packet. With
                                                 * MPIDI_GPUDT_CTS__PUSH the first one is that of an
                                                 * offer of the receiver's buffer */
    int8_t segment[MPIDI_GPUDT_MAX_SEGMENTS];   /* the receiver's number of the segment */
    int8_t n;                   /* number of credits, or a MPIDI_GPUDT_CTS__ value */
    int8_t is_staged;           /* segments go to places of the stage that was offered */
} MPIDI_CH3_Pkt_gpudt_cts_t;

/* Sender to receiver: the data of a short message, which follows the packet. Its envelope, sent
 * before, has the layout of a request to send. */
typedef struct MPIDI_CH3_Pkt_gpudt_eager_data {
    MPIDI_CH3_Pkt_type_t type;
    MPI_Request sender_req_id;
    int is_failed;              /* no data follows, as the sender has failed */
    int pool_pid;               /* the sender's pool, which lists the GPUs that it uses */
    uint64_t pool_token;
    int pool_fd;                /* -1: none */
} MPIDI_CH3_Pkt_gpudt_eager_data_t;

enum {
    MPIDI_GPUDT_DATA__FOLLOWS,  /* the data follows the packet */
    MPIDI_GPUDT_DATA__SHARED,   /* the data is in the chunk of the credit, or in a place of the
                                 * stage */
    MPIDI_GPUDT_DATA__COMING,   /* the sender's kernel packs the data into a place of the stage, and
                                 * then signals its semaphore; _SHARED follows, or _NONE */
    MPIDI_GPUDT_DATA__UNSTAGED, /* no data: the sender finds no places, and the message is to pass
                                 * through chunks instead */
    MPIDI_GPUDT_DATA__PUSHED,   /* the data is in the receiver's buffer, all of it */
    MPIDI_GPUDT_DATA__UNPUSHED, /* no data: the sender cannot map that buffer now, and the message is
                                 * to go another way */
    MPIDI_GPUDT_DATA__UNREACHED,        /* the same, and it never can */
    MPIDI_GPUDT_DATA__NONE      /* the sender has failed: neither data nor more packets follow */
};

/* Sender to receiver: a segment. */
typedef struct MPIDI_CH3_Pkt_gpudt_data {
    MPIDI_CH3_Pkt_type_t type;
    MPI_Request receiver_req_id;
    int64_t off;                /* position in the stream of the message, bytes */
    int64_t len;
    int64_t place;              /* of a staged segment: its position in the staging memory, bytes */
    int segment;                /* number in the credit */
    int where;                  /* MPIDI_GPUDT_DATA__... */
    int value;                  /* of the semaphore, with MPIDI_GPUDT_DATA__COMING */
} MPIDI_CH3_Pkt_gpudt_data_t;

/* Origin to target: a put, get or accumulate whose data is a message; see ch3u_gpudt_winmsg.c. A flattened
 * datatype follows the packet if type_sz > 0. */
typedef struct MPIDI_CH3_Pkt_gpudt_win {
    MPIDI_CH3_Pkt_type_t type;
    MPI_Win win;                /* the target's handle */
    int rank;                   /* of the origin, in the window's communicator */
    int tag;                    /* of the message */
    void *addr;                 /* in the target */
    int count;
    MPI_Datatype datatype;      /* predefined; MPI_DATATYPE_NULL: the one in the slot */
    int slot;                   /* of those in which the target keeps datatypes of the origin */
    int is_get;
    MPI_Op op;                  /* of an accumulate, or MPI_OP_NULL */
    int64_t type_sz;            /* bytes of the datatype, which is to be kept in the slot; 0: it is there */
} MPIDI_CH3_Pkt_gpudt_win_t;

#endif /* MPIDI_GPUDT_PKT_H_INCLUDED */
