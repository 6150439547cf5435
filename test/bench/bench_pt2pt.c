/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures messages between ranks in host and GPU memory, as CSV. Between two ranks: ping-pong,
 * exchange in both directions, message rate, overlap with a kernel, many messages at once, time in
 * calls. Each of many datatypes is sent as such, and for comparison as a user would do it without
 * them: by own kernels and pinned memory, or GPU memory, tuned for each case; by a 2-D copy; and
 * as the same number of contiguous bytes. Between any number of ranks: the exchange with 26
 * neighbours, compared with fused packing by hand; many messages to all others; the first messages.
 * All received bytes are checked. The program uses standard MPI calls only, so the same source
 * measures any GPU-aware MPI.
 *
 * The type of a row is measure:memory/gpus:method:type. The methods are
 *   datatype          MPI's datatype; another name by --label
 *   kernel            an own kernel packs to pinned host memory, which is sent; one unpacks
 *   kernel-gpu        the same with GPU memory, from which the library sends the contiguous bytes
 *   copy2d            as kernel, with the driver's 2-D copies
 *   contiguous        as many contiguous bytes
 * The time of a row is in us, of
 *   pingpong          half a round trip
 *   bidir             a message in each direction at once; MB/s is of one direction
 *   rate, window      one of many messages in a row; small ones, large ones
 *   window-both       the same in each direction at once; MB/s is of one direction
 *   overlap-messages  as bidir; -kernel: a kernel; -both: both at once
 *   isend-first       the call that sends first in a burst of 26; isend-burst: their mean
 *   pack, unpack      MPI_Pack and MPI_Unpack from memory to memory of a rank, without messages
 *   iprobe            a call, with unmatched sends; iprobe-idle: without
 *   beside-few        as pingpong, beside a kernel of few blocks; -memory: one that uses the memory
 *   halo26            an exchange; type pP_vV_rN: blocks of P^3 points, V variables, N ranks;
 *                     methods datatype, fused (one kernel packs all to GPU memory, which is sent;
 *                     one unpacks), fused-host (the same through pinned host memory)
 *   peers             one of many messages of 64 to 8192 bytes that each rank sends to every
 *                     other; bytes is the mean; type TYPE_rN: N ranks
 *   bare-read, -write, bare-packed-N  a kernel of the user without MPI, which reads from the other GPU,
 *                     writes to it, or packs, copies and unpacks in N pieces; method hand
 *   first             the first message and an empty answer; first-next: the second; first-peer:
 *                     the first to each further rank; first-init: MPI_Init; type TYPE_rN
 *   limit:...         lower bounds of any method: an empty launch with a synchronize; the call
 *                     that launches, alone and in a burst of 26; a contiguous copy to pinned
 *                     memory, from there, and by the copy engine from one GPU to another (peer;
 *                     peer-burst: one of many in a row)
 *
 * MB/s is bytes divided by that time, even if no message has completed by then.
 *
 * Build for host memory only:
 *   mpicc -O2 -o bench_pt2pt bench_pt2pt*.c
 * For GPU memory as well, with $CUDA the toolkit's folder:
 *   nvcc -O3 -arch=native -DWITH_GPU -c bench_pt2pt_gpu.cu
 *   mpicc -O2 -DWITH_GPU -o bench_pt2pt bench_pt2pt*.c bench_pt2pt_gpu.o \
 *       -L$CUDA/lib64 -lcudart_static -ldl -lrt -lpthread -lstdc++
 * Run: mpiexec -bind-to core -n 2 ./bench_pt2pt --help */

#define _POSIX_C_SOURCE 200112L  /* posix_memalign */

#include "bench_pt2pt_run.h"
#include "bench_pt2pt_bare.h"
#include "bench_pt2pt_group.h"
#include "bench_pt2pt_load.h"
#include "bench_pt2pt_local.h"
#include <stddef.h>
#include <string.h>
#include <time.h>
#include "bench.h"

#define TUNING_REPETITIONS 3
#define COMPUTE_SECONDS 50e-6   /* minimum time of the kernel to overlap with, approximately */
#define COMPUTE_ROUNDS 1000     /* of the first kernel; its time determines that of the next */
#define MAX_BUFFER ((size_t) 8 << 30)   /* limit for the data received at once */

/* ---- measures ---- */

static void sample_bidir(struct bench *bench)
{
    link_exchange(&bench->link, bench->method);
}

static int measure_pingpong(struct bench *bench)
{
    int n = samples_take(bench, sample_pingpong);

    if (!is_right(bench, 1, 1))
        return 0;
    row_print(bench, "pingpong", n, 2.0);
    return 1;
}

static int measure_bidir(struct bench *bench)
{
    int n = samples_take(bench, sample_bidir);

    samples_slower(bench, n);
    if (!is_right(bench, 1, 1))
        return 0;
    row_print(bench, "bidir", n, 1.0);
    return 1;
}

#ifdef WITH_GPU

static void sample_compute(struct bench *bench)
{
    if (bench->link.on_gpu) {
        gpu_compute(bench->compute_rounds);
        gpu_wait(STREAM__COMPUTE);
    }
}

/* The kernel starts first, so that the GPU is busy for messages that need it. */
static void sample_both(struct bench *bench)
{
    if (bench->link.on_gpu)
        gpu_compute(bench->compute_rounds);
    link_exchange(&bench->link, bench->method);
    if (bench->link.on_gpu)
        gpu_wait(STREAM__COMPUTE);
}

/* Choose a kernel that takes as long as the messages, the same on both ranks. */
static void compute_choose(struct bench *bench, double wanted)
{
    double once, slower, rounds;

    bench->compute_rounds = COMPUTE_ROUNDS;
    sample_compute(bench);
    once = sample_take(bench, sample_compute);
    MPI_Allreduce(&once, &slower, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    rounds = COMPUTE_ROUNDS * (wanted > COMPUTE_SECONDS ? wanted : COMPUTE_SECONDS) / slower;
    bench->compute_rounds = rounds < 1 ? 1 : rounds > 1e9 ? 1000000000 : (int) rounds;
    MPI_Bcast(&bench->compute_rounds, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static int measure_overlap(struct bench *bench)
{
    double median;
    int n;

    if (!bench->link.on_gpu && !bench->link.peer_on_gpu)
        return 1;
    n = samples_take(bench, sample_bidir);
    samples_slower(bench, n);
    qsort(bench->seconds, (size_t) n, sizeof(double), bench_compare);
    median = bench_quantile(bench->seconds, n, 0.5);
    MPI_Bcast(&median, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    row_print(bench, "overlap-messages", n, 1.0);
    compute_choose(bench, median);
    n = samples_take(bench, sample_compute);
    samples_slower(bench, n);
    row_print(bench, "overlap-kernel", n, 1.0);
    n = samples_take(bench, sample_both);
    samples_slower(bench, n);
    if (!is_right(bench, 1, 1))
        return 0;
    row_print(bench, "overlap-both", n, 1.0);
    return 1;
}

/* ---- tuning the user's own kernel ---- */

/* Measure one tuning by the fastest of a few round trips; keep it if it is the fastest so far. */
static void tuning_try(struct bench *bench, struct tuning candidate, struct tuning *best,
                       double *fastest)
{
    double seconds = 0.0;
    int i;

    bench->link.tuning = candidate;
    sample_pingpong(bench);
    for (i = 0; i < TUNING_REPETITIONS; i++) {
        double once = sample_take(bench, sample_pingpong);
        seconds = i == 0 || once < seconds ? once : seconds;
    }
    MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (*fastest == 0.0 || seconds < *fastest) {
        *fastest = seconds;
        *best = candidate;
    }
}

/* Find the fastest tuning. Chunks need a kernel on both sides. */
static void tuning_choose(struct bench *bench)
{
    static const size_t chunks[] = { 0, 4 << 20, 2 << 20, 1 << 20, 512 << 10, 256 << 10, 128 << 10,
        64 << 10
    };
    struct tuning best = { 0, 0 };
    double fastest = 0.0;
    size_t c;
    int staged;

    for (staged = 0; staged <= (bench->method == METHOD__KERNEL); staged++)
        for (c = 0; c < sizeof(chunks) / sizeof(chunks[0]); c++) {
            struct tuning candidate = { chunks[c], staged };

            if (c == 0 && bench->place == PLACE__GPU_GPU)
                candidate.chunk = (size_t) bench->opt.chunk;
            if (c > 0 && (bench->opt.chunk > 0 || bench->place != PLACE__GPU_GPU ||
                          2 * chunks[c] > bench->link.shape->bytes))
                continue;
            tuning_try(bench, candidate, &best, &fastest);
        }
    bench->link.tuning = best;
    if (bench->opt.verbose && bench->rank == 0)
        fprintf(stderr, "tuned: %s, %s, %s of %zu bytes: chunks of %zu bytes (0: all at once)%s\n",
                place_name[bench->place], method_name[bench->method], bench->link.shape->name,
                bench->link.shape->bytes, best.chunk, best.is_staged ? ", staged" : "");
}

#endif /* WITH_GPU */

/* ---- cases ---- */

/* All measures of one method; the link is open. */
static int method_run(struct bench *bench)
{
    const struct options *opt = &bench->opt;
    int right = 1;

#ifdef WITH_GPU
    if (bench->method == METHOD__KERNEL || bench->method == METHOD__KERNEL_GPU) {
        tuning_choose(bench);
        right = is_right(bench, 1, 1);
    }
#endif
    /* the other methods are compared with it */
    if (opt->measure[MEASURE__PINGPONG] || opt->measure[MEASURE__BIDIR] ||
        opt->measure[MEASURE__WINDOW] || opt->measure[MEASURE__BESIDE])
        right = right && measure_pingpong(bench);
    if (opt->measure[MEASURE__BIDIR])
        right = right && measure_bidir(bench);
    right = right && measure_rate(bench) && measure_window(bench) && measure_isend(bench) &&
        measure_iprobe(bench) && measure_local(bench);
#ifdef WITH_GPU
    right = right && measure_bare(bench) && measure_beside(bench);
    if (opt->measure[MEASURE__OVERLAP])
        right = right && measure_overlap(bench);
#endif
    return right;
}

/* Set the link that the case needs. Messages that would not fit into memory at once are left
 * out. */
static void link_describe(struct bench *bench, const struct shape *shape, size_t bytes)
{
    struct link *link = &bench->link;

    memset(link, 0, sizeof(*link));
    bench->asked = bytes;
    link->rank = bench->rank;
    link->peer = 1 - bench->rank;
    link->on_gpu = place_on_gpu(bench, link->rank);
    link->peer_on_gpu = place_on_gpu(bench, link->peer);
    link->shape = shape;
    link->has_pinned = bench->opt.method[METHOD__KERNEL] || bench->opt.method[METHOD__COPY2D];
    link->has_staging = bench->opt.method[METHOD__KERNEL] || bench->opt.method[METHOD__KERNEL_GPU];
    link->images = load_images(bench);
    if (link->images > 1 && (size_t) link->images * link_image_bytes(shape) > MAX_BUFFER) {
        if (bench->rank == 0)
            fprintf(stderr, "bench_pt2pt: %d at once of %s of %zu bytes are left out: too large\n",
                    link->images, shape->name, shape->bytes);
        link->images = 1;
    }
}

/* One type in one size in memories of given kinds, by all methods. Returns an EXIT__ value. */
static int case_run(struct bench *bench, int type, size_t bytes)
{
    struct link *link = &bench->link;
    struct shape shape;
    int is_there, all_there, status = EXIT__GOOD;

    is_there = shape_make(type, bytes, &shape);
    MPI_Allreduce(&is_there, &all_there, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all_there) {
        if (is_there)
            shape_free(&shape);
        if (bench->rank == 0)
            fprintf(stderr, "bench_pt2pt: no memory for %s of %zu bytes\n", shape_name(type),
                    bytes);
        return EXIT__CANNOT_RUN;
    }
    link_describe(bench, &shape, bytes);
    is_there = link_open(link);
    MPI_Allreduce(&is_there, &all_there, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all_there) {
        status = EXIT__CANNOT_RUN;
        if (bench->rank == 0)
            fprintf(stderr, "bench_pt2pt: no memory for %s of %zu bytes, which lie in %zu\n",
                    shape.name, shape.bytes, shape.span);
    }
    for (bench->method = 0; bench->method < N_METHODS && status == EXIT__GOOD; bench->method++)
        if (bench->opt.method[bench->method] && link_can(link, bench->method) &&
            !method_run(bench))
            status = EXIT__WRONG_DATA;
    if (is_there)
        link_close(link);
    shape_free(&shape);
    return status;
}

/* Whether any measure needs a link. */
static int has_links(const struct options *opt)
{
    int m;

    for (m = 0; m < MEASURES_OF_TWO; m++)
        if (opt->measure[m] && m != MEASURE__LIMIT)
            return 1;
    return 0;
}

static int all_run(struct bench *bench)
{
    const struct options *opt = &bench->opt;
    int type, s, status;

    if (bench->rank == 0)
        bench_header("us_median");
    status = first_measure(bench);
#ifdef WITH_GPU
    if (opt->measure[MEASURE__ISEND] && gpu_count() > 0)
        launch_calls_measure(bench);
    if (opt->measure[MEASURE__LIMIT] && gpu_count() > 0)
        limits_measure(bench);
#endif
    if (status == EXIT__GOOD)
        status = halo_measure(bench);
    if (status == EXIT__GOOD)
        status = peers_measure(bench);
    if (!has_links(opt))
        return status;
    for (bench->place = 0; bench->place < N_PLACES; bench->place++)
        for (type = 0; type < shape_count() && opt->place[bench->place]; type++)
            for (s = 0; s < opt->n_sizes && opt->type[type] && status == EXIT__GOOD; s++)
                status = case_run(bench, type, (size_t) opt->size[s]);
#ifdef WITH_GPU
    bare_end(bench);
#endif
    return status;
}

/* Number of GPUs that every rank sees. Collective. */
static int gpus_seen(void)
{
#ifdef WITH_GPU
    int mine = gpu_count(), fewest;

    MPI_Allreduce(&mine, &fewest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return fewest;
#else
    return 0;
#endif
}

/* Whether there are as many GPUs as the options need. */
static int gpus_suffice(const struct options *opt, int n_gpus, int rank)
{
    int needed = opt->place[PLACE__HOST_GPU] || opt->place[PLACE__GPU_HOST] ||
        opt->place[PLACE__GPU_GPU] ? opt->gpus : 0;

    if (needed > n_gpus && rank == 0)
        fprintf(stderr, "bench_pt2pt: GPUs needed: %d, there: %d\n", needed, n_gpus);
    return needed <= n_gpus;
}

/* Allocate the samples, on all ranks or none. */
static void samples_alloc(struct bench *bench)
{
    /* some measures have one sample per rank */
    size_t n = (size_t) bench->opt.repetitions + (size_t) bench->n_ranks;

    bench->seconds = malloc(n * sizeof(double));
    bench->more = malloc(n * sizeof(double));
    if (!bench->seconds || !bench->more)
        bench_fail("memory for samples", "there is none");
}

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

int main(int argc, char *argv[])
{
    struct bench bench;
    struct options *opt = &bench.opt;
    double start = seconds_now();
    int n_gpus;

    memset(&bench, 0, sizeof(bench));
    MPI_Init(&argc, &argv);
    bench.init_seconds = seconds_now() - start;
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.n_ranks);
    n_gpus = gpus_seen();
    options_default(opt, n_gpus, bench.n_ranks);
    if (bench.rank == 0)
        options_parse(argc, argv, opt, bench.n_ranks);
    MPI_Bcast(opt, sizeof(*opt), MPI_BYTE, 0, MPI_COMM_WORLD);
    if (opt->run && !gpus_suffice(opt, n_gpus, bench.rank)) {
        opt->run = 0;
        opt->exit_status = EXIT__CANNOT_RUN;
    }
    if (opt->run) {
        samples_alloc(&bench);
#ifdef WITH_GPU
        if (n_gpus > 0)
            gpu_open(bench.rank % opt->gpus);
#endif
        opt->exit_status = all_run(&bench);
        free(bench.seconds);
        free(bench.more);
    }
    MPI_Finalize();
    return opt->exit_status;
}
