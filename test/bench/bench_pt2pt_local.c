/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Limits, and packing on one rank. See bench_pt2pt_local.h. */

#define _POSIX_C_SOURCE 200112L  /* posix_memalign */

#include "bench_pt2pt_local.h"
#include "bench_pt2pt_memory.h"
#include "bench.h"

#define TAG_PACKED 4
#define BURST 64                /* copies in a row */
#define BURST_BYTES (16 << 20)  /* largest copy of a burst */

static void sample_idle(struct bench *bench)
{
    (void) bench;
}

/* ---- packing ---- */

static void *packed;            /* the current message; samples have no argument for it */

static void sample_pack(struct bench *bench)
{
    link_pack(&bench->link, packed);
}

static void sample_unpack(struct bench *bench)
{
    link_unpack(&bench->link, packed);
}

/* Rank 0 measures alone: the other may share its GPU. Both have the result. */
static int local_take(struct bench *bench, sample_fn fn)
{
    if (bench->rank == 1)
        fn(bench);
    return samples_take(bench, bench->rank == 0 ? fn : sample_idle);
}

/* The ranks exchange what they have packed, so that the received data can be checked. */
int measure_local(struct bench *bench)
{
    struct link *link = &bench->link;
    int bytes = (int) link->shape->bytes, n;

    if (!bench->opt.measure[MEASURE__LOCAL] || bench->method != METHOD__DATATYPE ||
        link->on_gpu != link->peer_on_gpu)
        return 1;
    packed = memory_alloc(link->on_gpu, link->shape->bytes);
    if (!packed)
        bench_fail("memory for packed data", "there is none");
    n = local_take(bench, sample_pack);
    row_print(bench, "pack", n, 1.0);
    MPI_Sendrecv_replace(packed, bytes, MPI_BYTE, link->peer, TAG_PACKED, link->peer, TAG_PACKED,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    n = local_take(bench, sample_unpack);
    memory_free(link->on_gpu, packed);
    if (!is_right(bench, 1, 1))
        return 0;
    row_print(bench, "unpack", n, 1.0);
    return 1;
}

#ifdef WITH_GPU

/* ---- limits ---- */

struct limit {
    void *to, *from;
    size_t bytes;
    int copies;                 /* in a row */
};
static struct limit limit;

static void sample_launch(struct bench *bench)
{
    (void) bench;
    gpu_nothing(STREAM__SEND);
    gpu_wait(STREAM__SEND);
}

static void sample_copies(struct bench *bench)
{
    int i;

    (void) bench;
    for (i = 0; i < limit.copies; i++)
        gpu_copy(STREAM__SEND, limit.to, limit.from, limit.bytes);
    gpu_wait(STREAM__SEND);
}

static void limit_row(struct bench *bench, const char *label, sample_fn fn)
{
    int n = samples_take(bench, bench->rank == 0 ? fn : sample_idle), i;

    for (i = 0; i < n && limit.copies > 1; i++)
        bench->seconds[i] /= limit.copies;
    if (bench->rank == 0)
        bench_row(label, (long long) limit.bytes, bench->seconds, n);
}

static void copies_measure(struct bench *bench, const char *label, void *to, void *from, int copies)
{
    limit.to = to;
    limit.from = from;
    limit.copies = copies;
    limit_row(bench, label, sample_copies);
}

/* Copies between GPU and pinned memory, and to another GPU if it can be reached. */
static void size_measure(struct bench *bench, size_t bytes, int has_peer)
{
    void *pinned = pinned_alloc(bytes), *memory = gpu_alloc(bytes);
    void *peer = bench->rank == 0 && has_peer ? gpu_peer_alloc(bytes) : NULL;

    if (!pinned || !memory || (bench->rank == 0 && has_peer && !peer))
        bench_fail("memory for a copy", "there is none");
    limit.bytes = bytes;
    copies_measure(bench, "limit:gpu/1:to-host:contiguous", pinned, memory, 1);
    copies_measure(bench, "limit:gpu/1:from-host:contiguous", memory, pinned, 1);
    if (has_peer)
        copies_measure(bench, "limit:gpu/2:peer:contiguous", peer, memory, 1);
    if (has_peer && bytes <= BURST_BYTES)
        copies_measure(bench, "limit:gpu/2:peer-burst:contiguous", peer, memory, BURST);
    pinned_free(pinned);
    gpu_free(memory);
    if (peer)
        gpu_free(peer);
}

void limits_measure(struct bench *bench)
{
    int has_peer = bench->rank == 0 && bench->opt.gpus > 1 && gpu_peer_open(1), i;

    MPI_Bcast(&has_peer, 1, MPI_INT, 0, MPI_COMM_WORLD);
    memset(&limit, 0, sizeof(limit));
    limit_row(bench, "limit:gpu/1:launch:none", sample_launch);
    for (i = 0; i < bench->opt.n_sizes; i++)
        size_measure(bench, (size_t) bench->opt.size[i], has_peer);
    if (bench->rank == 0 && has_peer)
        gpu_peer_close();
}

#endif /* WITH_GPU */
