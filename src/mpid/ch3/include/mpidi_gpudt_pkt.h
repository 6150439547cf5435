/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Packets of messages that go through chunks of staging memory; how they are used is in
 * ch3u_gpudt_msg.c. Included by mpidpkt.h. A request to send has the form of any other.
 *
 * None may be larger than MPICH's own packets, since nemesis sends the largest for each. */

#ifndef MPIDI_GPUDT_PKT_H_INCLUDED
#define MPIDI_GPUDT_PKT_H_INCLUDED

#define MPIDI_GPUDT_MAX_SEGMENTS 8 /* chunks of one message under way at a time */

/* Receiver to sender: you may send this many more chunks. The first one also clears to send. */
typedef struct MPIDI_CH3_Pkt_gpudt_cts {
    MPIDI_CH3_Pkt_type_t type;
    MPI_Request sender_req_id;
    MPI_Request receiver_req_id;
    int pool_pid;               /* whose pool the chunks are in */
    uint64_t pool_token;
    int64_t total;              /* bytes of the message that the receiver wants; first grant only */
    int64_t chunk_sz;           /* bytes of each chunk but the last; first grant only */
    int pool_fd;
    int16_t unit[MPIDI_GPUDT_MAX_SEGMENTS];        /* where in the pool; -1: the data is to come with
                                                 * the packet */
    int8_t segment[MPIDI_GPUDT_MAX_SEGMENTS]; /* the receiver's number of the chunk */
    int8_t n;                   /* chunks granted; or a MPIDI_GPUDT_CTS__ value */
} MPIDI_CH3_Pkt_gpudt_cts_t;

/* Sender to receiver: the data of a short message, which is behind the packet. The envelope has the
 * form of a request to send. */
typedef struct MPIDI_CH3_Pkt_gpudt_eager_data {
    MPIDI_CH3_Pkt_type_t type;
    MPI_Request sender_req_id;
    int is_failed;              /* there is no data, as the sender has failed */
    int pool_pid;               /* the sender's pool, which tells which GPUs it uses */
    uint64_t pool_token;
    int pool_fd;                /* -1: none */
} MPIDI_CH3_Pkt_gpudt_eager_data_t;

enum {
    MPIDI_GPUDT_DATA__FOLLOWS,  /* the data is behind the packet */
    MPIDI_GPUDT_DATA__SHARED,   /* the data is in the place that was granted */
    MPIDI_GPUDT_DATA__NONE      /* the sender has failed: there is no data and no more will come */
};

/* Sender to receiver: a chunk. */
typedef struct MPIDI_CH3_Pkt_gpudt_data {
    MPIDI_CH3_Pkt_type_t type;
    MPI_Request receiver_req_id;
    int64_t off;                /* position in the stream of the message, bytes */
    int64_t len;
    int segment;                   /* as granted */
    int where;                  /* MPIDI_GPUDT_DATA__... */
} MPIDI_CH3_Pkt_gpudt_data_t;

#endif /* MPIDI_GPUDT_PKT_H_INCLUDED */
