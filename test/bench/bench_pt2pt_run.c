/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/*
 * Samples and rows. See bench_pt2pt_run.h.
 */

#define _POSIX_C_SOURCE 200112L  /* posix_memalign */

#include "bench_pt2pt_run.h"
#include "bench.h"

#define WARM_UP_SECONDS 0.03

void bench_fail(const char *what, const char *why)
{
    fprintf(stderr, "bench_pt2pt: %s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, EXIT__CANNOT_RUN);
}

double sample_take(struct bench *bench, sample_fn fn)
{
    double start = MPI_Wtime();

    fn(bench);
    return MPI_Wtime() - start;
}

int samples_number(struct bench *bench, double once)
{
    const struct options *opt = &bench->opt;
    int n = (int) (opt->milliseconds * 1e-3 / (once > 1e-7 ? once : 1e-7));

    n = n > opt->repetitions ? opt->repetitions : n;
    if (n < opt->least)
        n = opt->repetitions < opt->least ? opt->repetitions : opt->least;
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return n;
}

/* Before the first case of a place: the library maps the memory of another process once enough
 * messages would have gained by it. */
static void place_warm(struct bench *bench, sample_fn fn, double once)
{
    static int is_warm[N_PLACES];
    int n = (int) (WARM_UP_SECONDS / (once > 1e-7 ? once : 1e-7)), i;

    if (is_warm[bench->place])
        return;
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (i = 0; i < n; i++)
        fn(bench);
    is_warm[bench->place] = 1;
}

int samples_take(struct bench *bench, sample_fn fn)
{
    double once;
    int n, i;

    fn(bench);
    once = sample_take(bench, fn);
    place_warm(bench, fn, once);
    n = samples_number(bench, once);
    for (i = -n / 10; i < 0; i++)
        fn(bench);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < n; i++)
        bench->seconds[i] = sample_take(bench, fn);
    return n;
}

void sample_pingpong(struct bench *bench)
{
    if (bench->rank == 0) {
        link_send(&bench->link, bench->method);
        link_recv(&bench->link, bench->method);
    } else {
        link_recv(&bench->link, bench->method);
        link_send(&bench->link, bench->method);
    }
}

void samples_slower(struct bench *bench, int n)
{
    MPI_Reduce(bench->rank == 0 ? MPI_IN_PLACE : bench->seconds, bench->seconds, n, MPI_DOUBLE,
               MPI_MAX, 0, MPI_COMM_WORLD);
}

void row_print_of(struct bench *bench, const char *measure, const char *method, const char *type,
                  size_t bytes, double *seconds, int n, double parts)
{
    int gpus = bench->place == PLACE__HOST_HOST ? 0 :
        bench->place == PLACE__GPU_GPU ? bench->opt.gpus : 1;
    char label[128];
    int i;

    if (bench->rank != 0)
        return;
    for (i = 0; i < n; i++)
        seconds[i] /= parts;
    snprintf(label, sizeof(label), "%s:%s/%d:%s:%s", measure, place_name[bench->place], gpus,
             method, type);
    bench_row(label, (long long) bytes, seconds, n);
}

const char *row_method(const struct bench *bench)
{
    return bench->method == METHOD__DATATYPE ? bench->opt.label : method_name[bench->method];
}

void row_print(struct bench *bench, const char *measure, int n, double parts)
{
    row_print_of(bench, measure, row_method(bench), bench->link.shape->name,
                 bench->link.shape->bytes, bench->seconds, n, parts);
}

int place_on_gpu(const struct bench *bench, int rank)
{
    return bench->place == PLACE__GPU_GPU ||
        bench->place == (rank == 0 ? PLACE__GPU_HOST : PLACE__HOST_GPU);
}

int all_right(const struct bench *bench, const char *what, size_t bytes, long long n_wrong)
{
    long long total;

    if (n_wrong)
        fprintf(stderr, "bench_pt2pt: %s, %s of %zu bytes: rank %d has %lld wrong words\n",
                place_name[bench->place], what, bytes, bench->rank, n_wrong);
    MPI_Allreduce(&n_wrong, &total, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return total == 0;
}

int is_right(struct bench *bench, int images_0, int images_1)
{
    int images = bench->rank == 0 ? images_0 : images_1;
    char what[128];

    if (bench->rank == 1 && bench->opt.corrupt != CORRUPT__NONE)
        link_corrupt(&bench->link, bench->opt.corrupt);
    snprintf(what, sizeof(what), "%s, %s", method_name[bench->method], bench->link.shape->name);
    return all_right(bench, what, bench->link.shape->bytes,
                     link_check(&bench->link, bench->method, images));
}
