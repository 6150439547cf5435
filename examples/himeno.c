/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The Himeno benchmark: Poisson's equation by Jacobi's method with a 19-point stencil, the domain
 * divided among the ranks in two dimensions. The arrays are in GPU memory if there is a GPU. The
 * halo is exchanged by vector types whose blocks are single floats or short rows. Prints MFLOPS and
 * the residual, after comparing every value of a few iterations with those of a single rank. With
 * --overlap the halo is exchanged while the GPU computes the points that do not need it, and with
 * --halo put by MPI_Put instead of messages. The program uses standard MPI calls only, the same for
 * both kinds of memory.
 *
 * Build for host memory only:
 *   mpicc -O3 -o himeno himeno.c himeno_exchange.c himeno_field.c himeno_options.c
 * For GPU memory as well, with $CUDA the toolkit's folder (the program also runs without a GPU):
 *   nvcc -O3 -arch=native -DWITH_GPU -c himeno_gpu.cu
 *   mpicc -O3 -DWITH_GPU -o himeno himeno.c himeno_exchange.c himeno_field.c \
 *       himeno_options.c himeno_gpu.o -L$CUDA/lib64 -lcudart_static -ldl -lrt -lpthread -lstdc++ */

#include "example_mpi.h"
#include "himeno_exchange.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARM_UP 2               /* iterations before the timed ones */
/* Maximum relative difference of residuals, which are summed in different order. */
#define RESIDUAL_TOLERANCE 1e-10

/* Exchanges the halo of an array; returns the seconds that it took. */
static double exchange_time(const struct exchange *ex, float *array)
{
    double start = MPI_Wtime();

    exchange_run(ex, array);
    return MPI_Wtime() - start;
}

static void pressure_swap(struct grid *grid)
{
    float *computed = grid->next;

    grid->next = grid->pressure;
    grid->pressure = computed;
}

/* Runs iterations, starting with the current arrays. ex is NULL for a part without neighbours.
 * Returns the seconds spent in exchanges. */
static double iterations_run(const struct memory *memory, const struct part *part,
                             const struct exchange *ex, struct grid *grid, int iterations)
{
    double seconds = 0.0;
    int n;

    for (n = 0; n < iterations; n++) {
        if (ex)
            seconds += exchange_time(ex, grid->pressure);
        must(memory->step(part, grid, n));
        pressure_swap(grid);
    }
    return seconds;
}

/* The same, but each exchange is of what the iteration has computed first, while it computes the
 * rest. */
static double iterations_overlap(const struct memory *memory, const struct part *part,
                                 const struct exchange *ex, struct grid *grid, int iterations)
{
    double seconds = exchange_time(ex, grid->pressure);
    int n;

    for (n = 0; n < iterations; n++) {
        must(memory->step_begin(part, grid, n));
        seconds += exchange_time(ex, grid->next);
        must(memory->step_end(part, grid, n));
        pressure_swap(grid);
    }
    must(memory->wait(grid));
    return seconds;
}

/* The type of the owned points of a part within its array, or within the array of the whole
 * domain. */
static MPI_Datatype owned_type(const struct part *part, int in_whole)
{
    int size[N_DIMS], subsize[N_DIMS], start[N_DIMS] = { 0, 0, 0 }, d;
    MPI_Datatype type;

    size[0] = subsize[0] = part->whole[0];
    for (d = 0; d < N_CUT; d++) {
        size[d + 1] = in_whole ? part->whole[d + 1] : part->owned[d] + 2;
        subsize[d + 1] = part->owned[d];
        start[d + 1] = in_whole ? part->first[d] : 1;
    }
    MPI_Type_create_subarray(N_DIMS, size, subsize, start, MPI_ORDER_C, MPI_FLOAT, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Gathers all ranks' pressure in host memory of rank 0, directly from the memory it is in. */
static void pressure_gather(const struct options *opt, const struct part *part, MPI_Comm comm,
                            const int grid_of_ranks[N_CUT], float *pressure, float *whole)
{
    MPI_Datatype type = owned_type(part, 0);
    MPI_Request request;
    int rank, n_ranks, source, place[N_CUT];

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n_ranks);
    MPI_Isend(pressure, 1, type, 0, 0, comm, &request);
    for (source = 0; rank == 0 && source < n_ranks; source++) {
        MPI_Datatype from_source;
        struct part theirs;

        MPI_Cart_coords(comm, source, N_CUT, place);
        part_init(opt, grid_of_ranks, place, &theirs);
        from_source = owned_type(&theirs, 1);
        MPI_Recv(whole, 1, from_source, source, 0, comm, MPI_STATUS_IGNORE);
        MPI_Type_free(&from_source);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
}

/* Counts the values that differ in any bit and prints the first. whole has no halo, single has. */
static long long pressure_compare(const struct part *part, const float *whole, const float *single)
{
    long long n_wrong = 0;
    int i, j, k;

    for (i = 0; i < part->whole[0]; i++)
        for (j = 0; j < part->whole[1]; j++)
            for (k = 0; k < part->whole[2]; k++) {
                const float *seen = whole++;
                const float *expected = single + (size_t) i * (size_t) part->plane +
                    (size_t) ((j + 1) * part->row + k + 1);

                if (memcmp(seen, expected, sizeof(*seen)) != 0 && n_wrong++ == 0)
                    fprintf(stderr, "himeno: at i %d j %d k %d: %.9g, a single rank has %.9g\n", i,
                            j, k, (double) *seen, (double) *expected);
            }
    return n_wrong;
}

/* Rank 0: runs the same iterations alone and compares. Returns an EXIT__ value. */
static int single_compare(const struct options *opt, const struct memory *memory,
                          const float *whole, double residual)
{
    const int one[N_CUT] = { 1, 1 }, origin[N_CUT] = { 0, 0 };
    double *residuals = malloc((size_t) opt->check * sizeof(double));
    float *pressure;
    struct part part;
    struct grid grid;
    long long n_wrong;
    int status = EXIT__CANNOT_RUN;

    part_init(opt, one, origin, &part);
    pressure = malloc(part.n_points * sizeof(float));
    must(memory->alloc(&part, opt->check, &grid));
    if (!residuals || !pressure || !grid.a[0]) {
        fprintf(stderr, "himeno: no memory for the whole domain on one rank; --check 0 does "
                "without\n");
    } else {
        must(memory->fill(&part, &grid, VALUES__VARIED));
        iterations_run(memory, &part, NULL, &grid, opt->check);
        must(memory->pressure(&part, &grid, pressure));
        must(memory->residuals(&grid, opt->check, residuals));
        n_wrong = pressure_compare(&part, whole, pressure);
        status = EXIT__WRONG_VALUES;
        if (n_wrong)
            fprintf(stderr, "himeno: %lld values differ from a single rank's\n", n_wrong);
        else if (!(fabs(residual / residuals[opt->check - 1] - 1.0) < RESIDUAL_TOLERANCE))
            fprintf(stderr, "himeno: residual %.17g, a single rank has %.17g\n", residual,
                    residuals[opt->check - 1]);
        else
            status = EXIT__GOOD;
    }
    if (grid.a[0])
        memory->free(&grid);
    free(pressure);
    free(residuals);
    return status;
}

/* The sum over all ranks of the last iteration's residual, on rank 0. */
static double residual_last(const struct memory *memory, const struct grid *grid, int iterations,
                            double *residuals, MPI_Comm comm)
{
    double sum = 0.0;

    must(memory->residuals(grid, iterations, residuals));
    MPI_Reduce(&residuals[iterations - 1], &sum, 1, MPI_DOUBLE, MPI_SUM, 0, comm);
    return sum;
}

/* One rank's share of the job. */
struct job {
    const struct options *opt;
    const struct memory *memory;
    int grid_of_ranks[N_CUT];
    struct part part;
    struct exchange exchange;
    struct grid grid;
    double *residuals;
};

/* Runs iterations as the options say; returns the seconds spent in exchanges. */
static double job_iterate(struct job *job, int iterations)
{
    if (job->opt->overlap)
        return iterations_overlap(job->memory, &job->part, &job->exchange, &job->grid, iterations);
    return iterations_run(job->memory, &job->part, &job->exchange, &job->grid, iterations);
}

/* Runs a few iterations with values that differ everywhere, and compares all with a single-rank
 * run. Returns an EXIT__ value, the same on all ranks. */
static int job_check(struct job *job)
{
    const struct options *opt = job->opt;
    MPI_Comm comm = job->exchange.comm;
    float *whole = NULL;
    double residual;
    int rank, status = EXIT__GOOD;

    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        whole = malloc((size_t) opt->size[0] * (size_t) opt->size[1] * (size_t) opt->size[2] *
                       sizeof(float));
        if (!whole) {
            fprintf(stderr, "himeno: no memory for the whole pressure; --check 0 does without\n");
            status = EXIT__CANNOT_RUN;
        }
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, comm);
    if (status != EXIT__GOOD)
        return status;
    must(job->memory->fill(&job->part, &job->grid, VALUES__VARIED));
    job_iterate(job, opt->check);
    residual = residual_last(job->memory, &job->grid, opt->check, job->residuals, comm);
    if (opt->corrupt && rank == 0)
        must(job->memory->corrupt(&job->part, &job->grid));
    pressure_gather(opt, &job->part, comm, job->grid_of_ranks, job->grid.pressure, whole);
    if (rank == 0)
        status = single_compare(opt, job->memory, whole, residual);
    free(whole);
    MPI_Bcast(&status, 1, MPI_INT, 0, comm);
    return status;
}

/* The benchmark, timed, with its own initial values. */
static void job_time(struct job *job)
{
    const struct options *opt = job->opt;
    MPI_Comm comm = job->exchange.comm;
    double seconds[2], residual, flops = FLOPS_PER_POINT;
    int rank, d;

    must(job->memory->fill(&job->part, &job->grid, VALUES__BENCHMARK));
    job_iterate(job, opt->iterations < WARM_UP ? opt->iterations : WARM_UP);
    must(job->memory->fill(&job->part, &job->grid, VALUES__BENCHMARK));
    MPI_Barrier(comm);
    seconds[0] = -MPI_Wtime();
    seconds[1] = job_iterate(job, opt->iterations);
    seconds[0] += MPI_Wtime();
    residual = residual_last(job->memory, &job->grid, opt->iterations, job->residuals, comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : seconds, seconds, 2, MPI_DOUBLE, MPI_MAX, 0, comm);
    if (rank != 0)
        return;
    for (d = 0; d < N_DIMS; d++)
        flops *= opt->size[d] - 2;
    printf("time: %.6f s for %d iterations, %.2f us of each for its exchange\n", seconds[0],
           opt->iterations, seconds[1] / (opt->iterations + opt->overlap) * 1e6);
    printf("speed: %.1f MFLOPS\n", flops * opt->iterations / seconds[0] / 1e6);
    printf("residual: %.6e\n", residual);
}

/* With the memory allocated: checks, then measures. */
static int job_start(struct job *job)
{
    const struct options *opt = job->opt;
    long long most;
    int rank, status;

    MPI_Reduce(&job->exchange.bytes, &most, 1, MPI_LONG_LONG, MPI_MAX, 0, job->exchange.comm);
    MPI_Comm_rank(job->exchange.comm, &rank);
    if (rank == 0)
        printf("himeno: %d x %d x %d points, %d x %d ranks, %s\n"
               "%s: at most %.3f MB sent by a rank in an iteration\n", opt->size[0],
               opt->size[1], opt->size[2], job->grid_of_ranks[0], job->grid_of_ranks[1],
               job->memory->name, opt->halo == HALO__PUT ? "puts" : "messages",
               (double) most / 1e6);
    if (opt->check > 0) {
        status = job_check(job);
        if (status != EXIT__GOOD)
            return status;
        if (rank == 0)
            printf("check: all values equal to those of a single rank after %d iterations\n",
                   opt->check);
    }
    job_time(job);
    return EXIT__GOOD;
}

static int job_run(const struct options *opt)
{
    const int period[N_CUT] = { 0, 0 };
    int most = opt->iterations > opt->check ? opt->iterations : opt->check;
    int place[N_CUT], rank, have, status = EXIT__CANNOT_RUN;
    struct job job;
    MPI_Comm comm;

    job.opt = opt;
    if (!grid_init(opt, job.grid_of_ranks))
        return status;
    MPI_Cart_create(MPI_COMM_WORLD, N_CUT, job.grid_of_ranks, period, 0, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Cart_coords(comm, rank, N_CUT, place);
    part_init(opt, job.grid_of_ranks, place, &job.part);
    job.memory = memory_take("himeno", opt->memory, comm);
    if (job.memory) {
        must(job.memory->alloc(&job.part, most, &job.grid));
        job.residuals = malloc((size_t) most * sizeof(double));
        have = job.grid.a[0] && job.residuals;
        MPI_Allreduce(MPI_IN_PLACE, &have, 1, MPI_INT, MPI_MIN, comm);
        if (have) {
            exchange_init(opt, &job.part, &job.grid, comm, job.grid_of_ranks, place,
                          &job.exchange);
            status = job_start(&job);
            exchange_free(&job.exchange);
        } else if (rank == 0) {
            fprintf(stderr, "himeno: no %s for %.1f MB on each rank\n", job.memory->name,
                    (double) job.part.n_points * N_ARRAYS * sizeof(float) / 1e6);
        }
        free(job.residuals);
        if (job.grid.a[0])
            job.memory->free(&job.grid);
    }
    MPI_Comm_free(&comm);
    return status;
}

int main(int argc, char *argv[])
{
    struct options opt = { {128, 128, 256}, {0, 0}, 100, 4, MEMORY__ANY, HALO__MESSAGES, 0, 0, 0,
        EXIT__GOOD
    };
    int rank;

    /* By default, errors in MPI calls abort the job with a message */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        options_parse(argc, argv, &opt);
    MPI_Bcast(&opt, sizeof(opt) / sizeof(int), MPI_INT, 0, MPI_COMM_WORLD);
    if (opt.run)
        opt.exit_status = job_run(&opt);
    MPI_Finalize();
    return opt.exit_status;
}
