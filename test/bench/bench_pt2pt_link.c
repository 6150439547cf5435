/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Buffers of a message, and the methods to send it. See bench_pt2pt_link.h. */

#include "bench_pt2pt_link.h"
#include "bench_pt2pt_memory.h"
#include <stdlib.h>
#include <string.h>

#define GUARD_BYTES 256         /* around each image; also keeps the data aligned */
#define TAG 1
#define CHUNKS_IN_FLIGHT GPU_EVENTS

const char *const method_name[N_METHODS] =
    { "datatype", "kernel", "kernel-gpu", "copy2d", "contiguous" };

enum { SEND, RECV };            /* index of pinned and staging */

/* A variable, because compilers warn about the constant as an array that is too small. */
MPI_Status *no_statuses = MPI_STATUSES_IGNORE;

void requests_wait(int n, MPI_Request * request)
{
    MPI_Waitall(n, request, no_statuses);
}

/* ---- buffers ---- */

static unsigned char *send_data(const struct link *link)
{
    return link->send + GUARD_BYTES;
}

static unsigned char *recv_data(const struct link *link, int image)
{
    return link->recv + GUARD_BYTES + (size_t) image * link->image_bytes;
}

static int link_memory_get(struct link *link)
{
    int is_there;

    link->send = memory_alloc(link->on_gpu, link->send_bytes);
    link->recv = memory_alloc(link->on_gpu, link->recv_bytes);
    is_there = link->send && link->recv;
    link->layout = link->shape->layout;
#ifdef WITH_GPU
    if (link->on_gpu) {
        size_t bytes = link->shape->bytes * (size_t) link->images;
        int i;

        for (i = SEND; i <= RECV; i++) {
            link->pinned[i] = link->has_pinned ? pinned_alloc(bytes) : NULL;
            link->staging[i] = link->has_staging ? gpu_alloc(bytes) : NULL;
            is_there = is_there && (link->pinned[i] || !link->has_pinned) &&
                (link->staging[i] || !link->has_staging);
        }
        if (!gpu_layout_make(&link->shape->layout, &link->layout)) {
            link->layout.family = LAYOUT__STRIDED;      /* there is no list to free */
            is_there = 0;
        }
    }
#endif
    return is_there;
}

size_t link_image_bytes(const struct shape *shape)
{
    return (shape->span + GUARD_BYTES - 1) / GUARD_BYTES * GUARD_BYTES + GUARD_BYTES;
}

int link_open(struct link *link)
{
    link->image_bytes = link_image_bytes(link->shape);
    link->send_bytes = GUARD_BYTES + link->image_bytes;
    link->recv_bytes = GUARD_BYTES + (size_t) link->images * link->image_bytes;
    memset(link->pinned, 0, sizeof(link->pinned));
    memset(link->staging, 0, sizeof(link->staging));
    memset(&link->tuning, 0, sizeof(link->tuning));
    if (!link_memory_get(link)) {
        link_close(link);
        return 0;
    }
    memory_fill(link->on_gpu, link->send, link->send_bytes, link->rank);
    memory_fill(link->on_gpu, link->recv, link->recv_bytes, SALT_POISON);
    return 1;
}

void link_close(struct link *link)
{
#ifdef WITH_GPU
    int i;

    for (i = SEND; link->on_gpu && i <= RECV; i++) {
        if (link->pinned[i])
            pinned_free(link->pinned[i]);
        if (link->staging[i])
            gpu_free(link->staging[i]);
    }
    if (link->on_gpu)
        gpu_layout_free(&link->layout);
#endif
    memory_free(link->on_gpu, link->send);
    memory_free(link->on_gpu, link->recv);
}

int link_is_own(int method)
{
    return method == METHOD__KERNEL || method == METHOD__KERNEL_GPU || method == METHOD__COPY2D;
}

int link_can(const struct link *link, int method)
{
    if (method == METHOD__KERNEL)
        return link->on_gpu || link->peer_on_gpu;
    if (method == METHOD__KERNEL_GPU)
        return link->on_gpu && link->peer_on_gpu;
    if (method == METHOD__COPY2D)
        return (link->on_gpu || link->peer_on_gpu) && link->shape->width > 0;
    return 1;
}

void link_corrupt(struct link *link, int corrupt)
{
    unsigned char *at = recv_data(link, 0) - (corrupt == CORRUPT__GUARD);
    unsigned char byte = corrupt == CORRUPT__GUARD ? POISON_BYTE :
        pattern_byte(GUARD_BYTES, link->peer);

    memory_poke(link->on_gpu, at, byte ^ 1);
}

long long link_check(struct link *link, int method, int n)
{
    struct layout bytes = { LAYOUT__STRIDED, 1, 0, 1, {0}, {0}, {1}, NULL, NULL, 0 };
    const struct layout *layout = &link->layout;
    long long n_wrong = 0;
    int i;

    if (method == METHOD__CONTIGUOUS) {
        bytes.word = link->shape->bytes % 8 == 0 ? 8 : 1;
        bytes.step[0] = bytes.word;
        bytes.n_words = (uint32_t) (link->shape->bytes / (size_t) bytes.word);
        layout = &bytes;
    }
    for (i = 0; i < n; i++)
        n_wrong += memory_compare(link->on_gpu, layout, link->recv,
                                  (size_t) (recv_data(link, i) - link->recv), GUARD_BYTES,
                                  link->peer);
    return n_wrong + memory_not_poison(link->on_gpu, link->recv, link->recv_bytes);
}

/* ---- MPI's own methods ---- */

/* On a host buffer a user's own method is MPI's datatype: there is no kernel to write. */
static int is_own(const struct link *link, int method)
{
    return link->on_gpu && link_is_own(method);
}

static void message_of(const struct link *link, int method, MPI_Datatype * type, int *count)
{
    *type = method == METHOD__CONTIGUOUS ? MPI_BYTE : link->shape->type;
    *count = method == METHOD__CONTIGUOUS ? (int) link->shape->bytes : link->shape->count;
}

void link_pack(struct link *link, void *packed)
{
    int at = 0;

    MPI_Pack(send_data(link), link->shape->count, link->shape->type, packed,
             (int) link->shape->bytes, &at, MPI_COMM_SELF);
}

void link_unpack(struct link *link, const void *packed)
{
    int at = 0;

    MPI_Unpack(packed, (int) link->shape->bytes, &at, recv_data(link, 0), link->shape->count,
               link->shape->type, MPI_COMM_SELF);
}

/* ---- a user's own method, all at once ---- */

#ifdef WITH_GPU

/* What is sent, or received, as bytes. */
static unsigned char *wire_of(const struct link *link, int method, int way)
{
    return method == METHOD__KERNEL_GPU ? link->staging[way] : link->pinned[way];
}

static int bytes_of(const struct link *link)
{
    return (int) link->shape->bytes;
}

/* Start packing the message to what is sent, as number slot in it. */
static void own_pack(struct link *link, int method, int slot)
{
    const struct shape *shape = link->shape;
    unsigned char *wire = wire_of(link, method, SEND) + (size_t) slot * shape->bytes;
    unsigned char *staging = link->staging[SEND] + (size_t) slot * shape->bytes;

    if (method == METHOD__COPY2D) {
        gpu_copy_2d(STREAM__SEND, wire, shape->width, send_data(link), shape->pitch, shape->width,
                    shape->height);
        return;
    }
    gpu_move(STREAM__SEND, &link->layout, send_data(link),
             link->tuning.is_staged ? staging : wire, 0, link->layout.n_words, 0);
    if (link->tuning.is_staged)
        gpu_copy(STREAM__SEND, wire, staging, shape->bytes);
}

/* Start unpacking message number slot of what was received to an image. */
static void own_unpack(struct link *link, int method, int slot, int image)
{
    const struct shape *shape = link->shape;
    unsigned char *wire = wire_of(link, method, RECV) + (size_t) slot * shape->bytes;
    unsigned char *staging = link->staging[RECV] + (size_t) slot * shape->bytes;

    if (method == METHOD__COPY2D) {
        gpu_copy_2d(STREAM__RECV, recv_data(link, image), shape->pitch, wire, shape->width,
                    shape->width, shape->height);
        return;
    }
    if (link->tuning.is_staged)
        gpu_copy(STREAM__RECV, staging, wire, shape->bytes);
    gpu_move(STREAM__RECV, &link->layout, recv_data(link, image),
             link->tuning.is_staged ? staging : wire, 0, link->layout.n_words, 1);
}

/* ---- a user's own method, in chunks: packing overlaps with sending ---- */

struct flow {
    struct link *link;
    int is_recv;
    unsigned char *wire;        /* what is sent or received: CHUNKS_IN_FLIGHT chunks */
    uint32_t chunk_words, n_chunks;
    uint32_t begun, passed_on, done;    /* chunks: packed or received; sent or unpacked; complete */
    MPI_Request request[CHUNKS_IN_FLIGHT];
};

static void flow_start(struct flow *flow, struct link *link, int method, int is_recv)
{
    uint32_t word = (uint32_t) link->layout.word;

    memset(flow, 0, sizeof(*flow));
    flow->link = link;
    flow->is_recv = is_recv;
    flow->wire = wire_of(link, method, is_recv ? RECV : SEND);
    flow->chunk_words = (uint32_t) (link->tuning.chunk / word);
    if (flow->chunk_words == 0 || flow->chunk_words > link->layout.n_words)
        flow->chunk_words = link->layout.n_words;
    flow->n_chunks = (link->layout.n_words + flow->chunk_words - 1) / flow->chunk_words;
}

static uint32_t flow_words(const struct flow *flow, uint32_t chunk)
{
    uint32_t left = flow->link->layout.n_words - chunk * flow->chunk_words;

    return left < flow->chunk_words ? left : flow->chunk_words;
}

/* The address of a chunk in what is sent or received, or in staging memory. */
static unsigned char *flow_slot(const struct flow *flow, unsigned char *memory, uint32_t chunk)
{
    return memory + (size_t) (chunk % CHUNKS_IN_FLIGHT) * flow->chunk_words *
        (size_t) flow->link->layout.word;
}

/* Start packing or unpacking a chunk, and record an event behind it. */
static void flow_move(struct flow *flow, uint32_t chunk)
{
    struct link *link = flow->link;
    int way = flow->is_recv ? RECV : SEND, stream = flow->is_recv ? STREAM__RECV : STREAM__SEND;
    uint32_t n = flow_words(flow, chunk);
    unsigned char *wire = flow_slot(flow, flow->wire, chunk);
    unsigned char *staging = flow_slot(flow, link->staging[way], chunk);
    size_t bytes = (size_t) n * (size_t) link->layout.word;

    if (link->tuning.is_staged && flow->is_recv)
        gpu_copy(stream, staging, wire, bytes);
    gpu_move(stream, &link->layout, flow->is_recv ? recv_data(link, 0) : send_data(link),
             link->tuning.is_staged ? staging : wire, chunk * flow->chunk_words, n,
             flow->is_recv);
    if (link->tuning.is_staged && !flow->is_recv)
        gpu_copy(stream, wire, staging, bytes);
    gpu_mark(stream, (int) (chunk % CHUNKS_IN_FLIGHT));
}

static int flow_request_done(struct flow *flow, uint32_t chunk)
{
    int is_done;

    MPI_Test(&flow->request[chunk % CHUNKS_IN_FLIGHT], &is_done, MPI_STATUS_IGNORE);
    return is_done;
}

static void flow_step_send(struct flow *flow)
{
    struct link *link = flow->link;
    uint32_t chunk = flow->passed_on;

    while (flow->begun < flow->n_chunks && flow->begun - flow->done < CHUNKS_IN_FLIGHT)
        flow_move(flow, flow->begun++);
    if (chunk < flow->begun && gpu_passed(STREAM__SEND, (int) (chunk % CHUNKS_IN_FLIGHT))) {
        MPI_Isend(flow_slot(flow, flow->wire, chunk),
                  (int) flow_words(flow, chunk) * link->layout.word, MPI_BYTE, link->peer, TAG,
                  MPI_COMM_WORLD, &flow->request[chunk % CHUNKS_IN_FLIGHT]);
        flow->passed_on++;
    }
    if (flow->done < flow->passed_on && flow_request_done(flow, flow->done))
        flow->done++;
}

static void flow_step_recv(struct flow *flow)
{
    struct link *link = flow->link;

    while (flow->begun < flow->n_chunks && flow->begun - flow->done < CHUNKS_IN_FLIGHT) {
        uint32_t chunk = flow->begun++;

        MPI_Irecv(flow_slot(flow, flow->wire, chunk),
                  (int) flow_words(flow, chunk) * link->layout.word, MPI_BYTE, link->peer, TAG,
                  MPI_COMM_WORLD, &flow->request[chunk % CHUNKS_IN_FLIGHT]);
    }
    if (flow->passed_on < flow->begun && flow_request_done(flow, flow->passed_on))
        flow_move(flow, flow->passed_on++);
    if (flow->done < flow->passed_on &&
        gpu_passed(STREAM__RECV, (int) (flow->done % CHUNKS_IN_FLIGHT)))
        flow->done++;
}

/* Do what is possible without waiting; returns whether all is complete. */
static int flow_step(struct flow *flow)
{
    if (flow->done < flow->n_chunks) {
        if (flow->is_recv)
            flow_step_recv(flow);
        else
            flow_step_send(flow);
    }
    return flow->done == flow->n_chunks;
}

static int is_chunked(const struct link *link, int method)
{
    return method != METHOD__COPY2D && link->tuning.chunk > 0;
}

static void own_send(struct link *link, int method)
{
    struct flow flow;

    if (is_chunked(link, method)) {
        flow_start(&flow, link, method, 0);
        while (!flow_step(&flow)) {
        }
        return;
    }
    own_pack(link, method, 0);
    gpu_wait(STREAM__SEND);
    MPI_Send(wire_of(link, method, SEND), bytes_of(link), MPI_BYTE, link->peer, TAG,
             MPI_COMM_WORLD);
}

static void own_recv(struct link *link, int method)
{
    struct flow flow;

    if (is_chunked(link, method)) {
        flow_start(&flow, link, method, 1);
        while (!flow_step(&flow)) {
        }
        return;
    }
    MPI_Recv(wire_of(link, method, RECV), bytes_of(link), MPI_BYTE, link->peer, TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    own_unpack(link, method, 0, 0);
    gpu_wait(STREAM__RECV);
}

static void own_exchange(struct link *link, int method)
{
    struct flow out, in;
    MPI_Request request[2];
    MPI_Status status[2];
    int is_out = 0, is_in = 0;

    if (is_chunked(link, method)) {
        flow_start(&out, link, method, 0);
        flow_start(&in, link, method, 1);
        while (!is_out || !is_in) {
            is_in = flow_step(&in);
            is_out = flow_step(&out);
        }
        return;
    }
    MPI_Irecv(wire_of(link, method, RECV), bytes_of(link), MPI_BYTE, link->peer, TAG,
              MPI_COMM_WORLD, &request[0]);
    own_pack(link, method, 0);
    gpu_wait(STREAM__SEND);
    MPI_Isend(wire_of(link, method, SEND), bytes_of(link), MPI_BYTE, link->peer, TAG,
              MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, status);
    own_unpack(link, method, 0, 0);
    gpu_wait(STREAM__RECV);
}

/* All messages are packed, then all sent; all received, then all unpacked: one wait each. */
static void own_send_many(struct link *link, int method, int n)
{
    MPI_Request request[MAX_IMAGES];
    int i;

    for (i = 0; i < n; i++)
        own_pack(link, method, i);
    gpu_wait(STREAM__SEND);
    for (i = 0; i < n; i++)
        MPI_Isend(wire_of(link, method, SEND) + (size_t) i * link->shape->bytes, bytes_of(link),
                  MPI_BYTE, link->peer, TAG, MPI_COMM_WORLD, &request[i]);
    requests_wait(n, request);
}

static void own_recv_many(struct link *link, int method, int n)
{
    MPI_Request request[MAX_IMAGES];
    int i;

    for (i = 0; i < n; i++)
        MPI_Irecv(wire_of(link, method, RECV) + (size_t) i * link->shape->bytes, bytes_of(link),
                  MPI_BYTE, link->peer, TAG, MPI_COMM_WORLD, &request[i]);
    requests_wait(n, request);
    for (i = 0; i < n; i++)
        own_unpack(link, method, i, i);
    gpu_wait(STREAM__RECV);
}

#endif /* WITH_GPU */

/* ---- any method ---- */

#ifdef WITH_GPU
#define OWN(link_, method_, call_)      \
    if (is_own(link_, method_)) {       \
        call_;                          \
        return;                         \
    }
#else
#define OWN(link_, method_, call_)      \
    (void) is_own(link_, method_)
#endif

void link_isend(const struct link *link, int method, MPI_Request * request)
{
    MPI_Datatype type;
    int count;

    message_of(link, method, &type, &count);
    MPI_Isend(send_data(link), count, type, link->peer, TAG, MPI_COMM_WORLD, request);
}

void link_irecv_many(const struct link *link, int method, int n, MPI_Request * request)
{
    MPI_Datatype type;
    int count, i;

    message_of(link, method, &type, &count);
    for (i = 0; i < n; i++)
        MPI_Irecv(recv_data(link, i), count, type, link->peer, TAG, MPI_COMM_WORLD, &request[i]);
}

void link_send(struct link *link, int method)
{
    MPI_Datatype type;
    int count;

    OWN(link, method, own_send(link, method));
    message_of(link, method, &type, &count);
    MPI_Send(send_data(link), count, type, link->peer, TAG, MPI_COMM_WORLD);
}

void link_recv(struct link *link, int method)
{
    MPI_Datatype type;
    int count;

    OWN(link, method, own_recv(link, method));
    message_of(link, method, &type, &count);
    MPI_Recv(recv_data(link, 0), count, type, link->peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void link_exchange(struct link *link, int method)
{
    MPI_Request request[2];
    MPI_Status status[2];
    MPI_Datatype type;
    int count;

    OWN(link, method, own_exchange(link, method));
    message_of(link, method, &type, &count);
    MPI_Irecv(recv_data(link, 0), count, type, link->peer, TAG, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(send_data(link), count, type, link->peer, TAG, MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, status);
}

void link_send_many(struct link *link, int method, int n)
{
    MPI_Request request[MAX_IMAGES];
    int i;

    OWN(link, method, own_send_many(link, method, n));
    for (i = 0; i < n; i++)
        link_isend(link, method, &request[i]);
    requests_wait(n, request);
}

void link_recv_many(struct link *link, int method, int n)
{
    MPI_Request request[MAX_IMAGES];

    OWN(link, method, own_recv_many(link, method, n));
    link_irecv_many(link, method, n, request);
    requests_wait(n, request);
}

void link_exchange_many(struct link *link, int method, int n)
{
    MPI_Request request[2 * MAX_IMAGES];
    int i;

    link_irecv_many(link, method, n, request);
    for (i = 0; i < n; i++)
        link_isend(link, method, &request[n + i]);
    requests_wait(2 * n, request);
}
