/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* State of a partitioned request, private to ch3u_part*.c; see ch3u_part.c. */

#ifndef MPIDI_PART_IMPL_H_INCLUDED
#define MPIDI_PART_IMPL_H_INCLUDED

#include "mpidimpl.h"

/* What a sender tells the receiver when it is initialized. Message k has the partitions from k *
 * per_msg on, and its tag is MPIR_TAG_COLL_BIT | (tag + k). */
struct MPIDI_Part_header {
    int64_t part_sz;            /* bytes of a partition of the sender */
    int32_t nparts;             /* partitions of the sender */
    int32_t per_msg;            /* partitions in a message, at least 1; fewer in the last one */
    int32_t nmsgs;
    int32_t tag;
};

/* One message of a started request. */
struct MPIDI_Part_msg {
    MPIR_Request *req;          /* NULL: not posted, or done */
    void *bounce;               /* receives: data to unpack when it is complete; or NULL */
    int missing;                /* sends: partitions that are not ready yet */
    bool is_done;
};

struct MPIDI_Part {
    MPIR_Request *req;          /* valid until it is freed, and while active */
    bool is_freed;              /* by the program */
    bool is_send;
    bool is_listed;
    bool is_running;            /* an operation has been started and is not complete */
    struct MPIDI_Part *prev, *next;     /* in the list of those that need progress */
    struct MPIDI_Part *prev_send, *next_send;   /* in the list of all sends */

    MPIR_Comm *comm;
    int rank;
    int tag;
    char *buf;
    int nparts;
    MPI_Aint count;             /* elements of a partition */
    MPI_Datatype datatype;
    MPI_Aint part_sz;           /* bytes of a partition */

    struct MPIDI_Part_header header;    /* of the sender: its own, or as received */
    MPIR_Request *header_req;   /* NULL: the header has been sent or received */
    int failed;                 /* error class and code that all operations end with */

    struct MPIDI_Part_msg *msgs;        /* header.nmsgs; NULL before a header has arrived */
    int first;                  /* all messages before this one are done */
    char *ready;                /* sends: for each partition, whether it is marked ready */
    MPI_Aint received;          /* bytes */
};

static inline struct MPIDI_Part *MPIDI_Part_of(const MPIR_Request * req)
{
    return req->dev.user_buf;
}

/* ch3u_part.c */

/* Whether a request needs progress. Known to the progress engine of nemesis. */
extern bool MPIDI_Part_is_busy;

/* Make a request and its state; the header is not exchanged yet.
 *   buf, ..., comm  (IN)   as for MPI_Psend_init or MPI_Precv_init
 *   kind            (IN)   MPIR_REQUEST_KIND__PART_SEND or _RECV
 *   part_p          (OUT)  to be ended by MPIDI_Part_unmake if the initialization fails */
int MPIDI_Part_make(const void *buf, int partitions, MPI_Aint count, MPI_Datatype datatype,
                    int rank, int tag, MPIR_Comm * comm, MPIR_Request_kind_t kind,
                    struct MPIDI_Part **part_p);
void MPIDI_Part_unmake(struct MPIDI_Part *part);

/* Have the progress engine look at the request, as long as there is something to wait for. */
void MPIDI_Part_watch(struct MPIDI_Part *part);

/* Look for completed messages. Returns whether there was something to do. May free part. */
bool MPIDI_Part_advance(struct MPIDI_Part *part);

/* Whether message k is done; if it has just completed, take its result. */
bool MPIDI_Part_msg_done(struct MPIDI_Part *part, int k);

/* Message k ends with an error, or without data. */
void MPIDI_Part_msg_end(struct MPIDI_Part *part, int k, int mpi_errno);

/* A message or header was posted: decide what a failed call leaves behind.
 *   req  (INOUT)  from MPID_Isend or _Irecv; NULL afterwards if it will never complete */
int MPIDI_Part_posted(MPIR_Request ** req, int mpi_errno);

/* ch3u_part_send.c */

/* Send the messages that need no partition to be ready. */
void MPIDI_Part_send_start(struct MPIDI_Part *part);
/* The program has freed the request: its tags may be used again. */
void MPIDI_Part_send_forget(struct MPIDI_Part *part);

/* ch3u_part_recv.c */

/* Take the header that has arrived, or its error. Returns false if there is no memory now. */
bool MPIDI_Part_recv_match(struct MPIDI_Part *part);
/* Post a receive for each message. */
void MPIDI_Part_recv_start(struct MPIDI_Part *part);
/* Unpack message k, of which n bytes have arrived in its bounce buffer. */
int MPIDI_Part_recv_unpack(struct MPIDI_Part *part, int k, MPI_Aint n);

#endif /* MPIDI_PART_IMPL_H_INCLUDED */
