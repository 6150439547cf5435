/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Two ranks, a message between them, and the methods to send it that bench_pt2pt compares. Must not
 * know what is measured. */

#ifndef BENCH_PT2PT_LINK_H_INCLUDED
#define BENCH_PT2PT_LINK_H_INCLUDED

#include "bench_pt2pt_types.h"
#include "bench_pt2pt_gpu.h"

/* Maximum of images of the message in the receive buffer, one per message in flight. */
#define MAX_IMAGES 1024

enum {
    METHOD__DATATYPE,           /* MPI's datatype on the buffer, in any memory: the object of the
                                 * benchmark */
    METHOD__KERNEL,             /* a user's kernel packs to pinned memory, which is sent as bytes */
    METHOD__KERNEL_GPU,         /* a user's kernel packs to GPU memory, which is sent as bytes */
    METHOD__COPY2D,             /* a 2-D copy to pinned memory, which is sent as bytes */
    METHOD__CONTIGUOUS,         /* as many contiguous bytes in the same memory: the reference */
    N_METHODS
};

extern const char *const method_name[N_METHODS];

enum { CORRUPT__NONE, CORRUPT__DATA, CORRUPT__GUARD };

/* Parameters of METHOD__KERNEL and METHOD__KERNEL_GPU. */
struct tuning {
    size_t chunk;               /* bytes packed, sent and unpacked at a time; 0: all at once */
    int is_staged;              /* METHOD__KERNEL: pack in GPU memory and copy, or pack directly to
                                 * pinned memory */
};

struct link {
    int rank, peer;
    int on_gpu;                 /* this rank's buffers */
    int peer_on_gpu;
    const struct shape *shape;
    struct layout layout;       /* with lists in this rank's memory */
    int images;
    int has_pinned, has_staging;        /* for a user's own methods, if they are to be used */
    size_t image_bytes;         /* distance of images */
    size_t send_bytes, recv_bytes;      /* of the buffers, guards included */
    unsigned char *send, *recv;
    /* for a user's own methods, to send and receive; NULL if not on a GPU */
    unsigned char *pinned[2], *staging[2];
    struct tuning tuning;
};

/* Allocate and fill the buffers; returns 0, with nothing allocated, if there is no memory. The
 * caller sets rank, peer, on_gpu, peer_on_gpu, shape, images, has_pinned and has_staging, and
 * closes the link. */
int link_open(struct link *link);
void link_close(struct link *link);

/* Bytes of an image of the shape in a buffer. */
size_t link_image_bytes(const struct shape *shape);

/* Whether a method packs and unpacks by a user's own code. */
int link_is_own(int method);

/* Whether the method can send this shape between memories of these kinds. */
int link_can(const struct link *link, int method);

/* Send the message, or receive it as image 0: complete when the call returns. */
void link_send(struct link *link, int method);
void link_recv(struct link *link, int method);

/* Send the message and receive the peer's at the same time. */
void link_exchange(struct link *link, int method);

/* Send the message n (at most images) times in a row, or receive it n times. */
void link_send_many(struct link *link, int method, int n);
void link_recv_many(struct link *link, int method, int n);

/* Send the message n times, and receive the peer's n, all at the same time; not by a user's own
 * method. */
void link_exchange_many(struct link *link, int method, int n);

/* The same without waiting: one send, or n receives. */
void link_isend(const struct link *link, int method, MPI_Request * request);
void link_irecv_many(const struct link *link, int method, int n, MPI_Request * request);

/* Wait for all of them. */
void requests_wait(int n, MPI_Request * request);

/* MPI_Pack the send buffer to memory of the message's bytes, of the same kind, or MPI_Unpack from
 * there to image 0. */
void link_pack(struct link *link, void *packed);
void link_unpack(struct link *link, const void *packed);

/* Corrupt a byte that was received, or the one before it. */
void link_corrupt(struct link *link, int corrupt);

/* Check that the first n images have the peer's message, sent by the method, and that no other byte
 * of the buffer was changed; poison it again. Returns the number of wrong words. */
long long link_check(struct link *link, int method, int n);

#endif /* BENCH_PT2PT_LINK_H_INCLUDED */
