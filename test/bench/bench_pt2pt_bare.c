/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Kernels written by hand that move a message between two GPUs, without MPI. See
 * bench_pt2pt_bare.h. */

#define _POSIX_C_SOURCE 200112L  /* posix_memalign */

#include "bench_pt2pt_bare.h"
#include "bench.h"

#ifdef WITH_GPU

#define SALT 7

/* Rank 0's; all is NULL or unused in rank 1. */
static struct bare {
    size_t bytes;               /* of own and of peer */
    void *own, *peer;           /* buffers on this GPU and on the other one */
    void *packed;               /* on this GPU */
    struct layout on_peer;
    int pieces;
} bare;
static int has_peer = -1;       /* -1: not known yet */

static void sample_idle(struct bench *bench)
{
    (void) bench;
}

static void sample_read(struct bench *bench)
{
    gpu_across(&bench->link.layout, bare.own, bare.peer);
    gpu_wait(STREAM__SEND);
}

static void sample_write(struct bench *bench)
{
    gpu_across(&bench->link.layout, bare.peer, bare.own);
    gpu_wait(STREAM__SEND);
}

static void sample_packed(struct bench *bench)
{
    gpu_across_packed(&bench->link.layout, &bare.on_peer, bare.peer, bare.own, bare.packed,
                      bare.pieces);
    gpu_peer_wait();
}

static void buffers_make(struct bench *bench)
{
    const struct shape *shape = bench->link.shape;

    bare.bytes = (shape->span + 15) / 16 * 16;
    bare.own = gpu_alloc(bare.bytes);
    bare.peer = gpu_peer_alloc(bare.bytes);
    bare.packed = gpu_alloc(shape->bytes);
    if (!bare.own || !bare.peer || !bare.packed ||
        !gpu_peer_layout_make(&shape->layout, &bare.on_peer))
        bench_fail("memory for a message between two GPUs", "there is none");
}

static void buffers_free(void)
{
    gpu_free(bare.own);
    gpu_free(bare.peer);
    gpu_free(bare.packed);
    gpu_layout_free(&bare.on_peer);
}

/* Move once, from one buffer to the other, and count the wrong words. */
static long long check(struct bench *bench, sample_fn fn)
{
    void *from = fn == sample_read ? bare.peer : bare.own;
    void *to = fn == sample_read ? bare.own : bare.peer;

    gpu_fill(from, bare.bytes, SALT);
    gpu_fill(to, bare.bytes, SALT_POISON);
    fn(bench);
    return gpu_compare(&bench->link.layout, to, 0, 0, SALT) + gpu_not_poison(to, bare.bytes);
}

static int way_measure(struct bench *bench, const char *measure, sample_fn fn)
{
    long long wrong = bench->rank == 0 ? check(bench, fn) : 0;
    int n;

    if (!all_right(bench, measure, bench->link.shape->bytes, wrong))
        return 0;
    n = samples_take(bench, bench->rank == 0 ? fn : sample_idle);
    row_print_of(bench, measure, "hand", bench->link.shape->name, bench->link.shape->bytes,
                 bench->seconds, n, 1.0);
    return 1;
}

int measure_bare(struct bench *bench)
{
    int right;

    if (!bench->opt.measure[MEASURE__BARE] || bench->method != METHOD__DATATYPE ||
        bench->place != PLACE__GPU_GPU || bench->opt.gpus < 2)
        return 1;
    if (has_peer < 0) {
        has_peer = bench->rank == 0 && gpu_peer_open(1);
        MPI_Bcast(&has_peer, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (!has_peer)
        return 1;
    if (bench->rank == 0)
        buffers_make(bench);
    right = way_measure(bench, "bare-read", sample_read) &&
        way_measure(bench, "bare-write", sample_write);
    for (bare.pieces = 1; bare.pieces <= GPU_EVENTS && right; bare.pieces *= 2) {
        char measure[32];

        snprintf(measure, sizeof(measure), "bare-packed-%d", bare.pieces);
        right = way_measure(bench, measure, sample_packed);
    }
    if (bench->rank == 0)
        buffers_free();
    return right;
}

void bare_end(struct bench *bench)
{
    if (bench->rank == 0 && has_peer == 1)
        gpu_peer_close();
    has_peer = -1;
}

#endif /* WITH_GPU */
