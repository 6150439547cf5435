/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures first messages, and many messages to all ranks. See bench_pt2pt_group.h. */

#include "bench_pt2pt_group.h"
#include "bench_pt2pt_memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG_PEERS 4
#define TO_EACH 400             /* messages to each peer at once */
#define LEAST_BYTES 64
#define N_LENGTHS 8             /* 64, 128, ..., 8192 bytes */
#define ALIGN 256

/* ---- the first messages ---- */

/* A message from rank 0 to a peer and its empty answer, twice. The buffers exist already. Returns
 * the number of wrong words on this rank. */
static long long first_take(struct bench *bench, const struct shape *shape, int peer,
                            double seconds[2])
{
    struct link *link = &bench->link;
    long long n_wrong = 0;
    int i;

    if (bench->rank != 0 && bench->rank != peer)
        return 0;
    memset(link, 0, sizeof(*link));
    link->rank = bench->rank;
    link->peer = bench->rank == 0 ? peer : 0;
    link->on_gpu = place_on_gpu(bench, link->rank);
    link->peer_on_gpu = place_on_gpu(bench, link->peer);
    link->shape = shape;
    link->images = 1;
    if (!link_open(link))
        bench_fail("memory for a message", "there is none");
    MPI_Sendrecv(NULL, 0, MPI_BYTE, link->peer, TAG_DONE, NULL, 0, MPI_BYTE, link->peer, TAG_DONE,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (i = 0; i < 2; i++) {
        double start = MPI_Wtime();

        if (bench->rank == 0) {
            link_send(link, METHOD__DATATYPE);
            MPI_Recv(NULL, 0, MPI_BYTE, peer, TAG_DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            link_recv(link, METHOD__DATATYPE);
            MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_DONE, MPI_COMM_WORLD);
        }
        seconds[i] = MPI_Wtime() - start;
    }
    if (bench->rank == 1 && bench->opt.corrupt != CORRUPT__NONE)
        link_corrupt(link, bench->opt.corrupt);
    if (bench->rank == peer)
        n_wrong = link_check(link, METHOD__DATATYPE, 1);
    link_close(link);
    return n_wrong;
}

/* Rows of one size. */
static int firsts_measure(struct bench *bench, int type, size_t bytes)
{
    const char *method = bench->opt.label;
    struct shape shape;
    double next, pair[2] = { 0.0, 0.0 };
    char kind[64];
    long long n_wrong = 0;
    int peer, right;

    if (!shape_make(type, bytes, &shape))
        bench_fail("memory for a type", "there is none");
    for (peer = 1; peer < bench->n_ranks; peer++) {
        n_wrong += first_take(bench, &shape, peer, pair);
        bench->seconds[peer - 1] = pair[0];
        next = peer == 1 ? pair[1] : next;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    snprintf(kind, sizeof(kind), "%s_r%d", shape.name, bench->n_ranks);
    right = all_right(bench, kind, shape.bytes, n_wrong);
    if (right) {
        row_print_of(bench, "first", method, kind, shape.bytes, bench->seconds, 1, 1.0);
        row_print_of(bench, "first-next", method, kind, shape.bytes, &next, 1, 1.0);
        if (bench->n_ranks > 2)
            row_print_of(bench, "first-peer", method, kind, shape.bytes, bench->seconds + 1,
                         bench->n_ranks - 2, 1.0);
    }
    shape_free(&shape);
    return right ? EXIT__GOOD : EXIT__WRONG_DATA;
}

int first_measure(struct bench *bench)
{
    const struct options *opt = &bench->opt;
    int type = 0, s, status = EXIT__GOOD;

    if (!opt->measure[MEASURE__FIRST])
        return EXIT__GOOD;
    for (bench->place = PLACE__GPU_GPU; !opt->place[bench->place]; bench->place--) {
    }
    while (!opt->type[type])
        type++;
    row_print_of(bench, "first-init", "none", "none", 0, &bench->init_seconds, 1, 1.0);
    for (s = 0; s < opt->n_sizes && status == EXIT__GOOD; s++)
        status = firsts_measure(bench, type, (size_t) opt->size[s]);
    return status;
}

/* ---- many to all ---- */

struct peers {
    struct shape shape[N_LENGTHS];      /* message i has shape i % N_LENGTHS */
    struct layout layout[N_LENGTHS];    /* with lists in the memory of the buffers */
    int to_each, n_ranks, rank, on_gpu;
    size_t *place;              /* offset of message i in a rank's part of a buffer */
    size_t part_bytes;          /* of a buffer, for one rank */
    unsigned char *send, *recv; /* one part; one part per rank, the own one unused */
    MPI_Request *request;
};
static struct peers peers;      /* the current one; samples have no argument for it */

static void sample_peers(struct bench *bench)
{
    int n = 0, i, peer;

    (void) bench;
    for (i = 0; i < peers.to_each; i++)
        for (peer = 0; peer < peers.n_ranks; peer++)
            if (peer != peers.rank)
                MPI_Irecv(peers.recv + (size_t) peer * peers.part_bytes + peers.place[i],
                          peers.shape[i % N_LENGTHS].count, peers.shape[i % N_LENGTHS].type, peer,
                          TAG_PEERS, MPI_COMM_WORLD, &peers.request[n++]);
    for (i = 0; i < peers.to_each; i++)
        for (peer = 0; peer < peers.n_ranks; peer++)
            if (peer != peers.rank)
                MPI_Isend(peers.send + peers.place[i], peers.shape[i % N_LENGTHS].count,
                          peers.shape[i % N_LENGTHS].type, peer, TAG_PEERS, MPI_COMM_WORLD,
                          &peers.request[n++]);
    requests_wait(n, peers.request);
}

/* Count the wrong words: in each message of each rank, and around them. */
static long long peers_check(void)
{
    long long n_wrong = 0;
    int i, peer;

    for (peer = 0; peer < peers.n_ranks; peer++)
        for (i = 0; i < peers.to_each && peer != peers.rank; i++)
            n_wrong += memory_compare(peers.on_gpu, &peers.layout[i % N_LENGTHS], peers.recv,
                                      (size_t) peer * peers.part_bytes + peers.place[i],
                                      peers.place[i], peer);
    return n_wrong + memory_not_poison(peers.on_gpu, peers.recv,
                                       peers.part_bytes * (size_t) peers.n_ranks);
}

static void layout_get(int k)
{
    peers.layout[k] = peers.shape[k].layout;
#ifdef WITH_GPU
    if (peers.on_gpu && !gpu_layout_make(&peers.shape[k].layout, &peers.layout[k]))
        bench_fail("memory for a layout", "there is none");
#endif
}

static void peers_open(const struct bench *bench, int type)
{
    int i, k;

    peers.to_each = options_outstanding(&bench->opt, TO_EACH);
    peers.n_ranks = bench->n_ranks;
    peers.rank = bench->rank;
    peers.on_gpu = bench->place == PLACE__GPU_GPU;
    peers.place = malloc((size_t) peers.to_each * sizeof(size_t));
    peers.request = malloc((size_t) peers.to_each * (size_t) peers.n_ranks * 2 *
                           sizeof(MPI_Request));
    if (!peers.place || !peers.request)
        bench_fail("memory for requests", "there is none");
    for (k = 0; k < N_LENGTHS; k++) {
        if (!shape_make(type, (size_t) LEAST_BYTES << k, &peers.shape[k]))
            bench_fail("memory for a type", "there is none");
        layout_get(k);
    }
    peers.part_bytes = ALIGN;
    for (i = 0; i < peers.to_each; i++) {
        peers.place[i] = peers.part_bytes;
        peers.part_bytes += (peers.shape[i % N_LENGTHS].span + ALIGN - 1) / ALIGN * ALIGN + ALIGN;
    }
    peers.send = memory_alloc(peers.on_gpu, peers.part_bytes);
    peers.recv = memory_alloc(peers.on_gpu, peers.part_bytes * (size_t) peers.n_ranks);
    if (!peers.send || !peers.recv)
        bench_fail("memory for messages", "there is none");
    memory_fill(peers.on_gpu, peers.send, peers.part_bytes, peers.rank);
    memory_fill(peers.on_gpu, peers.recv, peers.part_bytes * (size_t) peers.n_ranks, SALT_POISON);
}

static void peers_close(void)
{
    int k;

    for (k = 0; k < N_LENGTHS; k++) {
#ifdef WITH_GPU
        if (peers.on_gpu)
            gpu_layout_free(&peers.layout[k]);
#endif
        shape_free(&peers.shape[k]);
    }
    memory_free(peers.on_gpu, peers.send);
    memory_free(peers.on_gpu, peers.recv);
    free(peers.place);
    free(peers.request);
}

static int peers_type_measure(struct bench *bench, int type)
{
    size_t bytes = 0;
    char kind[64];
    int i, n, right;

    peers_open(bench, type);
    for (i = 0; i < peers.to_each; i++)
        bytes += peers.shape[i % N_LENGTHS].bytes;
    bytes /= (size_t) peers.to_each;
    snprintf(kind, sizeof(kind), "%s_r%d", peers.shape[0].name, peers.n_ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    n = samples_take(bench, sample_peers);
    samples_slower(bench, n);
    if (bench->rank == 1 && bench->opt.corrupt == CORRUPT__DATA)
        memory_poke(peers.on_gpu, peers.recv + peers.place[0],
                    pattern_byte(peers.place[0], 0) ^ 1);
    if (bench->rank == 1 && bench->opt.corrupt == CORRUPT__GUARD)
        memory_poke(peers.on_gpu, peers.recv + peers.place[0] - 1, POISON_BYTE ^ 1);
    right = all_right(bench, kind, bytes, peers_check());
    if (right)
        row_print_of(bench, "peers", bench->opt.label, kind, bytes, bench->seconds, n,
                     (double) peers.to_each * (peers.n_ranks - 1));
    peers_close();
    return right ? EXIT__GOOD : EXIT__WRONG_DATA;
}

int peers_measure(struct bench *bench)
{
    static const int places[] = { PLACE__HOST_HOST, PLACE__GPU_GPU };
    const struct options *opt = &bench->opt;
    int i, type, status = EXIT__GOOD;

    for (i = 0; i < 2 && opt->measure[MEASURE__PEERS]; i++) {
        bench->place = places[i];
        for (type = 0; type < shape_count() && opt->place[bench->place]; type++)
            if (opt->type[type] && status == EXIT__GOOD)
                status = peers_type_measure(bench, type);
    }
    return status;
}
