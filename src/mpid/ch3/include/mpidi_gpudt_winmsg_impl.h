/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Operations on windows by messages of their own: what the files of the origin and of the target share.
 * See ch3u_gpudt_winmsg.c. */

#ifndef MPIDI_GPUDT_WINMSG_IMPL_H_INCLUDED
#define MPIDI_GPUDT_WINMSG_IMPL_H_INCLUDED

#include "mpidi_gpudt_msg.h"
#include "mpidi_gpudt_window_impl.h"

/* Kinds of messages, in the low bits of a tag: none of them is that of ch3's SYNC_POST_TAG. */
enum {
    MPIDI_GPUDT_WINMSG__PUT = 1,        /* data of the origin */
    MPIDI_GPUDT_WINMSG__GOT,    /* data of the target, the answer to a get */
    MPIDI_GPUDT_WINMSG__PUT_DONE,       /* empty, the other answer: data of the origin is there */
    MPIDI_GPUDT_WINMSG_NTAGS = 4
};

/* An operation under way. */
struct MPIDI_Gpudt_winmsg {
    struct MPIDI_Gpudt_winmsg *next, *prev;
    MPIR_Win *win;
    int rank;                   /* of the other process */
    int tag;                    /* its number, without a kind */
    bool is_origin;
    bool is_get;                /* the answer is data */
    MPI_Op op;                  /* of an accumulate; MPI_OP_NULL: none */
    MPIR_Request *data;         /* the origin's; NULL: complete, not started, or none */
    MPIR_Request *answer;       /* the target's: data, or empty; in the origin from the start */
    MPI_Aint bytes;             /* of the target's data; in the target only of an accumulate */
    MPI_Aint arrived;           /* of the last of the two that has been received */
    /* Only in the origin */
    unsigned number;            /* of those of this process */
    MPIR_Request *ureq;         /* that it shares with other parts; NULL: none */
    /* Only in the target */
    bool is_unanswered;
    bool is_pending;            /* an accumulate that is not combined yet */
    bool is_unposted;           /* and for which there was no memory so far */
    unsigned nth;               /* of those of its origin */
    void *room;                 /* memory for the origin's data */
    void *old;                  /* and for what was there before, of MPI_Get_accumulate */
    bool has_old;               /* that is in it */
    MPI_Aint n;                 /* elements of these */
    MPI_Datatype basic;
    void *addr;
    int count;
    MPI_Datatype datatype;      /* MPI_DATATYPE_NULL: the part of this process has failed */
    int slot;                   /* of the datatype; negative: predefined */
    int mpi_errno;              /* the first error */
};

/* ---- both processes (ch3u_gpudt_winmsg.c) ---- */

/* NULL: there is no memory for it. */
struct MPIDI_Gpudt_winmsg *MPIDI_Gpudt_winmsg_make(MPIR_Win * win, int rank, int tag, bool is_get,
                                                   MPI_Op op);

/* Have the hook advance it until its end, when it is freed. */
void MPIDI_Gpudt_winmsg_add(struct MPIDI_Gpudt_winmsg *msg);

/* The first error counts. */
static inline void MPIDI_Gpudt_winmsg_error(struct MPIDI_Gpudt_winmsg *msg, int mpi_errno)
{
    if (msg->mpi_errno == MPI_SUCCESS)
        msg->mpi_errno = mpi_errno;
}

/* Start one of its messages.
 *   tag  (IN)  its kind */
int MPIDI_Gpudt_winmsg_recv(const struct MPIDI_Gpudt_winmsg *msg, void *buf, MPI_Aint count,
                            MPI_Datatype datatype, int tag, MPIR_Request ** req);

/* Send a message, or an empty one if that fails: the other process waits for one. If that fails as well,
 * the connection has failed, which the other process knows, and *req is NULL.
 *   datatype  (IN)  MPI_DATATYPE_NULL: an empty one */
void MPIDI_Gpudt_winmsg_send(struct MPIDI_Gpudt_winmsg *msg, const void *buf, MPI_Aint count,
                             MPI_Datatype datatype, int tag, MPIR_Request ** req);

/* Whether a message is complete, or there is none. Then *req is NULL. */
bool MPIDI_Gpudt_winmsg_is_done(struct MPIDI_Gpudt_winmsg *msg, MPIR_Request ** req);

/* ---- the target (ch3u_gpudt_wintarget.c) ---- */

/* Do its next steps. Returns whether the last one is done. */
bool MPIDI_Gpudt_wintarget_advance(struct MPIDI_Gpudt_winmsg *msg);

#endif /* MPIDI_GPUDT_WINMSG_IMPL_H_INCLUDED */
