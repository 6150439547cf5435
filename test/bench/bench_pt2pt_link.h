/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/*
 * Two ranks, a message between them, and the ways to send it that bench_pt2pt compares. It must not
 * know what is measured.
 */

#ifndef BENCH_PT2PT_LINK_H_INCLUDED
#define BENCH_PT2PT_LINK_H_INCLUDED

#include "bench_pt2pt_types.h"
#include "bench_pt2pt_gpu.h"

/* Images of the message in the receive buffer, for as many messages in flight. */
#define MAX_IMAGES 1024

enum {
    METHOD__DATATYPE,           /* MPI's datatype on the buffer, wherever it is: what is measured */
    METHOD__KERNEL,             /* a user's kernel packs to pinned memory, which is sent as bytes */
    METHOD__COPY2D,             /* a 2-D copy to pinned memory, which is sent as bytes */
    METHOD__CONTIGUOUS,         /* as many contiguous bytes in the same memory: the yardstick */
    N_METHODS
};

extern const char *const method_name[N_METHODS];

enum { CORRUPT__NONE, CORRUPT__DATA, CORRUPT__GUARD };

/* How METHOD__KERNEL goes about it. */
struct tuning {
    size_t chunk;               /* bytes packed, sent and unpacked at a time; 0: all at once */
    int is_staged;              /* pack in GPU memory and copy, or pack straight to pinned memory */
};

struct link {
    int rank, peer;
    int on_gpu;                 /* this rank's buffers */
    int peer_on_gpu;
    const struct shape *shape;
    struct layout layout;       /* with lists in this rank's memory */
    int images;
    int has_own;                /* whether a user's own methods will be used, too */
    size_t image_bytes;         /* from one image to the next */
    size_t send_bytes, recv_bytes;      /* of the buffers, guards included */
    unsigned char *send, *recv;
    /* a user's own, for sending and receiving; NULL where not on a GPU */
    unsigned char *pinned[2], *staging[2];
    struct tuning tuning;
};

/* Gets the buffers and fills them; returns 0, with nothing left over, where there is no memory. The
 * caller sets rank, peer, on_gpu, peer_on_gpu, shape, images and has_own, and closes it. */
int link_open(struct link *link);
void link_close(struct link *link);

/* What an image of the shape takes in a buffer. */
size_t link_image_bytes(const struct shape *shape);

/* Whether a user's own code packs and unpacks. */
int link_is_own(int method);

/* Whether the method can send this shape between memories of these kinds. */
int link_can(const struct link *link, int method);

/* Sends the message, or receives it as image number 0: done when the call returns. */
void link_send(struct link *link, int method);
void link_recv(struct link *link, int method);

/* Sends the message and receives the peer's at the same time. */
void link_exchange(struct link *link, int method);

/* Sends the message n (at most images) times in a row, or receives it so often. */
void link_send_many(struct link *link, int method, int n);
void link_recv_many(struct link *link, int method, int n);

/* Sends the message n times, and receives the peer's n, all at the same time; not by a user's own
 * method. */
void link_exchange_many(struct link *link, int method, int n);

/* The same without waiting: one send, or n receives. */
void link_isend(const struct link *link, int method, MPI_Request * request);
void link_irecv_many(const struct link *link, int method, int n, MPI_Request * request);

/* Waits for all of them. */
void requests_wait(int n, MPI_Request * request);

/* Damages a byte that was received, or the one before it. */
void link_corrupt(struct link *link, int corrupt);

/* Checks that the first n images hold the peer's message, sent by the method, and that no other byte
 * of the buffer was touched; poisons it again. Returns how many words are wrong. */
long long link_check(struct link *link, int method, int n);

#endif /* BENCH_PT2PT_LINK_H_INCLUDED */
