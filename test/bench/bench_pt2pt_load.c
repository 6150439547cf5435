/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures of two ranks under load. See bench_pt2pt_load.h. */

#define _POSIX_C_SOURCE 200112L  /* posix_memalign */

#include "bench_pt2pt_load.h"
#include <stdlib.h>
#include <string.h>
#include "bench.h"

#define OUTSTANDING 64
#define UNMATCHED 1000
#define RATE_BYTES (64 << 10)   /* largest message for the rate */
#define WINDOW_BYTES_LEAST (1 << 10)
#define WINDOW_BYTES (16 << 20)
#define ISEND_BYTES (8 << 10)
#define IPROBE_BYTES (1 << 20)
#define BESIDE_BYTES (4 << 20)
#define BURST 26                /* sends of a neighbourhood */
#define PROBES 200              /* calls that make a sample */
#define TAG_NEVER 3

/* ---- many at once ---- */

static int has_rate(const struct bench *bench)
{
    return bench->opt.measure[MEASURE__RATE] && bench->asked <= RATE_BYTES;
}

static int has_window(const struct bench *bench)
{
    return bench->opt.measure[MEASURE__WINDOW] && bench->asked >= WINDOW_BYTES_LEAST &&
        bench->asked <= WINDOW_BYTES;
}

static int has_isend(const struct bench *bench)
{
    return bench->opt.measure[MEASURE__ISEND] && bench->asked <= ISEND_BYTES;
}

int load_images(const struct bench *bench)
{
    int n = has_rate(bench) || has_window(bench) ?
        options_outstanding(&bench->opt, OUTSTANDING) : 1;

    return has_isend(bench) && n < BURST ? BURST : n;
}

/* The empty answer is sent when the last message has been received. */
static void sample_many(struct bench *bench)
{
    int n = options_outstanding(&bench->opt, OUTSTANDING);

    if (bench->rank == 0) {
        link_send_many(&bench->link, bench->method, n);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG_DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        link_recv_many(&bench->link, bench->method, n);
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_DONE, MPI_COMM_WORLD);
    }
}

static void sample_many_both(struct bench *bench)
{
    link_exchange_many(&bench->link, bench->method,
                       options_outstanding(&bench->opt, OUTSTANDING));
}

static int one_way_measure(struct bench *bench, const char *measure)
{
    int images = options_outstanding(&bench->opt, OUTSTANDING), n;

    if (bench->link.images < images)    /* out of memory, already reported */
        return 1;
    n = samples_take(bench, sample_many);
    if (!is_right(bench, 0, images))
        return 0;
    row_print(bench, measure, n, images);
    return 1;
}

int measure_rate(struct bench *bench)
{
    return !has_rate(bench) || one_way_measure(bench, "rate");
}

int measure_window(struct bench *bench)
{
    int images = options_outstanding(&bench->opt, OUTSTANDING), n;

    if (!has_window(bench))
        return 1;
    if (!one_way_measure(bench, "window"))
        return 0;
    if (link_is_own(bench->method) || bench->link.images < images)
        return 1;
    n = samples_take(bench, sample_many_both);
    samples_slower(bench, n);
    if (!is_right(bench, images, images))
        return 0;
    row_print(bench, "window-both", n, images);
    return 1;
}

/* ---- time in MPI_Isend ---- */

/* A burst of expected sends, with nothing else in flight: the seconds in the first and in all of
 * the calls. */
static void burst_take(struct bench *bench, double *first, double *all)
{
    MPI_Request request[BURST];
    double start, once;
    int i;

    if (bench->rank == 1)
        link_irecv_many(&bench->link, bench->method, BURST, request);
    MPI_Barrier(MPI_COMM_WORLD);
    start = once = MPI_Wtime();
    for (i = 0; i < BURST && bench->rank == 0; i++) {
        link_isend(&bench->link, bench->method, &request[i]);
        if (i == 0)
            once = MPI_Wtime();
    }
    *first = once - start;
    *all = MPI_Wtime() - start;
    requests_wait(BURST, request);
    MPI_Barrier(MPI_COMM_WORLD);
}

int measure_isend(struct bench *bench)
{
    double start;
    int n, i;

    if (!has_isend(bench) || bench->link.images < BURST || link_is_own(bench->method))
        return 1;
    burst_take(bench, &bench->seconds[0], &bench->more[0]);
    start = MPI_Wtime();
    burst_take(bench, &bench->seconds[0], &bench->more[0]);
    n = samples_number(bench, MPI_Wtime() - start);
    for (i = 0; i < n; i++)
        burst_take(bench, &bench->seconds[i], &bench->more[i]);
    if (!is_right(bench, 0, BURST))
        return 0;
    row_print(bench, "isend-first", n, 1.0);
    row_print_of(bench, "isend-burst", row_method(bench), bench->link.shape->name,
                 bench->link.shape->bytes, bench->more, n, BURST);
    return 1;
}

/* ---- time in MPI_Iprobe ---- */

static void sample_probes(struct bench *bench)
{
    int i, is_there;

    (void) bench;
    for (i = 0; i < PROBES; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, TAG_NEVER, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
}

/* Rank 0 measures; the other waits for a message of it, so that it makes progress. */
static void probes_measure(struct bench *bench, const char *measure)
{
    int n = 0, i;

    if (bench->rank == 0) {
        sample_probes(bench);
        n = (int) (bench->opt.milliseconds * 1e-3 / sample_take(bench, sample_probes));
        n = n > bench->opt.repetitions ? bench->opt.repetitions : n < 1 ? 1 : n;
        for (i = 0; i < n; i++)
            bench->seconds[i] = sample_take(bench, sample_probes);
        MPI_Send(NULL, 0, MPI_BYTE, 1, TAG_DONE, MPI_COMM_WORLD);
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    row_print(bench, measure, n, PROBES);
}

int measure_iprobe(struct bench *bench)
{
    int n_unmatched = options_outstanding(&bench->opt, UNMATCHED), i;
    MPI_Request *request;

    if (!bench->opt.measure[MEASURE__IPROBE] || bench->asked > IPROBE_BYTES ||
        link_is_own(bench->method))
        return 1;
    request = malloc((size_t) n_unmatched * sizeof(*request));
    if (!request)
        bench_fail("memory for requests", "there is none");
    probes_measure(bench, "iprobe-idle");
    for (i = 0; i < n_unmatched && bench->rank == 0; i++)
        link_isend(&bench->link, bench->method, &request[i]);
    probes_measure(bench, "iprobe");
    for (i = 0; i < n_unmatched && bench->rank == 1; i++)
        link_recv(&bench->link, bench->method);
    if (bench->rank == 0)
        requests_wait(n_unmatched, request);
    free(request);
    return is_right(bench, 0, 1);
}

#ifdef WITH_GPU

/* ---- beside kernels ---- */

int measure_beside(struct bench *bench)
{
    static const struct {
        const char *measure;
        int what;
    } kernels[] = { {"beside-few", OCCUPY__FEW}, {"beside-memory", OCCUPY__MEMORY} };
    int on_gpu = bench->link.on_gpu, k, n;

    if (!bench->opt.measure[MEASURE__BESIDE] || bench->asked > BESIDE_BYTES ||
        bench->place == PLACE__HOST_HOST)
        return 1;
    for (k = 0; k < 2; k++) {
        if (on_gpu)
            gpu_occupy(kernels[k].what);
        MPI_Barrier(MPI_COMM_WORLD);
        n = samples_take(bench, sample_pingpong);
        if (on_gpu)
            gpu_occupy_end();
        if (!is_right(bench, 1, 1))
            return 0;
        row_print(bench, kernels[k].measure, n, 2.0);
    }
    return 1;
}

/* ---- time in a launch ---- */

static void launches_take(double *first, double *all)
{
    double start = MPI_Wtime();
    int i;

    *first = 0.0;
    for (i = 0; i < BURST; i++) {
        gpu_nothing(STREAM__SEND);
        if (i == 0)
            *first = MPI_Wtime() - start;
    }
    *all = MPI_Wtime() - start;
    gpu_wait(STREAM__SEND);
}

void launch_calls_measure(struct bench *bench)
{
    int n = bench->opt.repetitions, i;

    if (bench->rank != 0)
        return;
    launches_take(&bench->seconds[0], &bench->more[0]);
    for (i = 0; i < n; i++)
        launches_take(&bench->seconds[i], &bench->more[i]);
    for (i = 0; i < n; i++)
        bench->more[i] /= BURST;
    bench_row("limit:gpu/1:launch-call:none", 0, bench->seconds, n);
    bench_row("limit:gpu/1:launch-calls:none", 0, bench->more, n);
}

#endif /* WITH_GPU */
