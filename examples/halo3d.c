/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Halo exchange of a 3-D block with all of its 26 neighbours by subarray datatypes, by messages or,
 * with --halo put, by MPI_Put. Checks every value, prints time and bandwidth. The blocks are in GPU memory if there is a GPU. The program
 * uses standard MPI calls only, the same for both kinds of memory, and must not know how the
 * library moves the data.
 *
 * Each rank owns a block of points. Each point holds some doubles. The block is the inner part of
 * an array with a halo of the given radius on every side. The ranks form a periodic grid, so every
 * side of every block has a neighbour, which may be the rank itself, or the same rank for several
 * sides.
 *
 * Build for host memory only:
 *   mpicc -O2 -o halo3d halo3d.c halo3d_field.c halo3d_options.c
 * For GPU memory as well, with $CUDA the toolkit's folder (the program also runs without a GPU):
 *   nvcc -O2 -arch=native -DWITH_GPU -c halo3d_gpu.cu
 *   mpicc -O2 -DWITH_GPU -o halo3d halo3d.c halo3d_field.c halo3d_options.c halo3d_gpu.o \
 *       -L$CUDA/lib64 -lcudart_static -ldl -lrt -lpthread -lstdc++ */

#include "example_mpi.h"
#include "halo3d_value.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_SIDES 27              /* 6 faces, 12 edges, 8 corners, and the block itself */
#define SIDE_SELF (N_SIDES / 2)
#define SIDE_OPPOSITE(side_) (N_SIDES - 1 - (side_))

struct exchange {
    MPI_Comm comm;
    int neighbour[N_SIDES];
    MPI_Datatype send_type[N_SIDES];
    MPI_Datatype recv_type[N_SIDES];
    MPI_Win win;                /* of the array; MPI_WIN_NULL: exchange by messages */
    MPI_Group neighbours;       /* if there is a window */
    long long bytes;            /* sent, and also received, by each rank in one exchange */
};

/* The step to a side's neighbour in dimension d: -1, 0 or 1. A side's number has three such
 * digits. */
static int side_step(int side, int d)
{
    static const int weight[N_DIMS] = { 9, 3, 1 };
    return side / weight[d] % 3 - 1;
}

/* Commits the type of the owned points that a side's neighbour needs, or of the halo on that
 * side. */
static MPI_Datatype side_type(const struct block *block, int side, int is_send,
                              MPI_Datatype point_type)
{
    int subsize[N_DIMS], start[N_DIMS], d;
    MPI_Datatype type;

    for (d = 0; d < N_DIMS; d++) {
        int step = side_step(side, d);
        int behind = block->radius + block->inner[d];   /* the first point of the upper halo */

        subsize[d] = step ? block->radius : block->inner[d];
        if (step < 0)
            start[d] = is_send ? block->radius : 0;
        else if (step > 0)
            start[d] = is_send ? behind - block->radius : behind;
        else
            start[d] = block->radius;
    }
    MPI_Type_create_subarray(N_DIMS, block->outer, subsize, start, MPI_ORDER_C, point_type, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Creates the periodic grid of all ranks, and this rank's block in it. */
static void block_init(const struct options *opt, struct block *block, MPI_Comm * comm,
                       int grid[N_DIMS])
{
    int period[N_DIMS] = { 1, 1, 1 }, place[N_DIMS], n_ranks, rank, d;

    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    memset(grid, 0, N_DIMS * sizeof(grid[0]));
    MPI_Dims_create(n_ranks, N_DIMS, grid);
    MPI_Cart_create(MPI_COMM_WORLD, N_DIMS, grid, period, 0, comm);
    MPI_Comm_rank(*comm, &rank);
    MPI_Cart_coords(*comm, rank, N_DIMS, place);

    block->radius = opt->radius;
    block->elements = opt->elements;
    block->n_values = (size_t) opt->elements;
    for (d = 0; d < N_DIMS; d++) {
        block->inner[d] = opt->size[d];
        block->outer[d] = opt->size[d] + 2 * opt->radius;
        block->origin[d] = (long long) opt->size[d] * place[d];
        block->whole[d] = (long long) opt->size[d] * grid[d];
        block->n_values *= (size_t) block->outer[d];
    }
}

/* Finds the neighbours in the grid and creates the types of all sides, and a window of the field if
 * the options ask for MPI_Put. */
static void exchange_init(const struct options *opt, const struct block *block, double *field,
                          MPI_Comm comm, struct exchange *ex)
{
    int place[N_DIMS], neighbour[N_DIMS], rank, d, side;
    MPI_Datatype point_type;
    MPI_Count bytes;

    ex->comm = comm;
    ex->bytes = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Cart_coords(comm, rank, N_DIMS, place);
    MPI_Type_contiguous(block->elements, MPI_DOUBLE, &point_type);
    for (side = 0; side < N_SIDES; side++) {
        ex->neighbour[side] = MPI_PROC_NULL;
        if (side == SIDE_SELF)
            continue;
        for (d = 0; d < N_DIMS; d++)
            neighbour[d] = place[d] + side_step(side, d);
        MPI_Cart_rank(comm, neighbour, &ex->neighbour[side]);
        ex->send_type[side] = side_type(block, side, 1, point_type);
        ex->recv_type[side] = side_type(block, side, 0, point_type);
        MPI_Type_size_x(ex->send_type[side], &bytes);
        ex->bytes += bytes;
    }
    MPI_Type_free(&point_type);
    ex->win = MPI_WIN_NULL;
    if (opt->halo == HALO__PUT) {
        ex->neighbours = neighbours_group(comm, ex->neighbour, N_SIDES);
        MPI_Win_create(field_array(field), (MPI_Aint) (block->n_values * sizeof(double)),
                       sizeof(double), MPI_INFO_NULL, comm, &ex->win);
    }
}

static void exchange_free(struct exchange *ex)
{
    int side;

    if (ex->win != MPI_WIN_NULL) {
        MPI_Win_free(&ex->win);
        MPI_Group_free(&ex->neighbours);
    }
    for (side = 0; side < N_SIDES; side++) {
        if (side == SIDE_SELF)
            continue;
        MPI_Type_free(&ex->send_type[side]);
        MPI_Type_free(&ex->recv_type[side]);
    }
}

/* One exchange by messages. The tag is the side as seen by the sender: in a small grid one rank is the
 * neighbour on several sides, and the tag distinguishes its messages. */
static void exchange_messages(const struct exchange *ex, double *field)
{
    MPI_Request request[2 * N_SIDES];
    MPI_Status status[2 * N_SIDES];
    double *array = field_array(field);
    int side, n = 0;

    for (side = 0; side < N_SIDES; side++)
        if (side != SIDE_SELF)
            MPI_Irecv(array, 1, ex->recv_type[side], ex->neighbour[side], SIDE_OPPOSITE(side),
                      ex->comm, &request[n++]);
    for (side = 0; side < N_SIDES; side++)
        if (side != SIDE_SELF)
            MPI_Isend(array, 1, ex->send_type[side], ex->neighbour[side], side, ex->comm,
                      &request[n++]);
    MPI_Waitall(n, request, status);
}

/* One exchange by MPI_Put: each rank writes into the halos of its neighbours, which have allowed it
 * by MPI_Win_post. All blocks have the same shape, so the type of the halo on the opposite side is
 * that of the neighbour. */
static void exchange_put(const struct exchange *ex, double *field)
{
    double *array = field_array(field);
    int side;

    MPI_Win_post(ex->neighbours, 0, ex->win);
    MPI_Win_start(ex->neighbours, 0, ex->win);
    for (side = 0; side < N_SIDES; side++)
        if (side != SIDE_SELF)
            MPI_Put(array, 1, ex->send_type[side], ex->neighbour[side], 0, 1,
                    ex->recv_type[SIDE_OPPOSITE(side)], ex->win);
    MPI_Win_complete(ex->win);
    MPI_Win_wait(ex->win);
}

static void exchange_run(const struct exchange *ex, double *field)
{
    if (ex->win != MPI_WIN_NULL)
        exchange_put(ex, field);
    else
        exchange_messages(ex, field);
}

static int time_compare(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

/* Runs the timed exchanges. On rank 0, seconds becomes the sorted times, each that of the slowest
 * rank. */
static void exchange_time(const struct exchange *ex, double *field, double *seconds, int iterations)
{
    int i, rank;

    for (i = 0; i < iterations; i++) {
        MPI_Barrier(ex->comm);
        seconds[i] = -MPI_Wtime();
        exchange_run(ex, field);
        seconds[i] += MPI_Wtime();
    }
    MPI_Comm_rank(ex->comm, &rank);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : seconds, seconds, iterations, MPI_DOUBLE, MPI_MAX, 0,
               ex->comm);
    if (rank == 0)
        qsort(seconds, (size_t) iterations, sizeof(double), time_compare);
}

static void time_print(const struct exchange *ex, const double *seconds, int iterations)
{
    int half = iterations / 2;
    double median = iterations % 2 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;

    printf("exchange: median %.2f us, fastest %.2f, slowest %.2f, of %d\n", median * 1e6,
           seconds[0] * 1e6, seconds[iterations - 1] * 1e6, iterations);
    printf("bandwidth: %.3f GB/s sent by each rank, and as much received\n",
           (double) ex->bytes / median / 1e9);
}

static void mismatch_print(const struct block *block, const struct mismatch *m, int rank)
{
    int at[N_DIMS], element;

    if (m->where < 0 || m->where >= (long long) block->n_values) {
        fprintf(stderr, "halo3d: rank %d: guard at %lld of %zu: %.17g, expected %.17g\n", rank,
                m->where, block->n_values, m->seen, m->expected);
        return;
    }
    element = point_of_value(block, m->where, at);
    fprintf(stderr, "halo3d: rank %d: %s at x %d y %d z %d element %d: %.17g, expected %.17g\n",
            rank, point_is_owned(block, at) ? "interior" : "halo", at[2] - block->radius,
            at[1] - block->radius, at[0] - block->radius, element, m->seen,
            m->expected);
}

/* Checks the field on all ranks; the first rank with wrong values prints them. Collective. */
static int exchange_is_right(const struct memory *memory, const struct block *block,
                             const struct exchange *ex, double *field, int pass)
{
    struct mismatch list[MAX_REPORTED];
    long long n_wrong, total;
    int rank, n_ranks, first, i;

    MPI_Comm_rank(ex->comm, &rank);
    MPI_Comm_size(ex->comm, &n_ranks);
    must(memory->check(block, field, pass, list, &n_wrong));
    first = n_wrong ? rank : n_ranks;
    MPI_Allreduce(&n_wrong, &total, 1, MPI_LONG_LONG, MPI_SUM, ex->comm);
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, ex->comm);
    if (rank == first) {
        fprintf(stderr, "halo3d: %lld wrong values on %d ranks, the first (x, y, z count from the "
                "rank's own block):\n", total, n_ranks);
        for (i = 0; i < MAX_REPORTED && i < n_wrong; i++)
            mismatch_print(block, &list[i], rank);
    }
    return total == 0;
}

/* Two passes with different values, each with one exchange and then the timed ones, all checked.
 * This detects a halo that only the first exchange fills. */
static int passes_run(const struct options *opt, const struct memory *memory,
                      const struct block *block, const struct exchange *ex, double *field,
                      double *seconds)
{
    int rank;

    MPI_Comm_rank(ex->comm, &rank);
    must(memory->fill(block, field, 0));
    exchange_run(ex, field);
    if (opt->corrupt != CORRUPT__NONE)
        must(memory->corrupt(block, field, opt->corrupt));
    if (!exchange_is_right(memory, block, ex, field, 0))
        return EXIT__WRONG_VALUES;
    must(memory->fill(block, field, 1));
    exchange_time(ex, field, seconds, opt->iterations);
    if (!exchange_is_right(memory, block, ex, field, 1))
        return EXIT__WRONG_VALUES;
    if (rank == 0) {
        time_print(ex, seconds, opt->iterations);
        printf("check: every value correct\n");
    }
    return EXIT__GOOD;
}

static int job_run(const struct options *opt)
{
    struct block block;
    struct exchange ex;
    MPI_Comm comm;
    const struct memory *memory;
    double *field, *seconds;
    int grid[N_DIMS], rank, have, status = EXIT__CANNOT_RUN;

    block_init(opt, &block, &comm, grid);
    MPI_Comm_rank(comm, &rank);
    memory = memory_take("halo3d", opt->memory, comm);
    if (!memory) {
        MPI_Comm_free(&comm);
        return status;
    }
    must(memory->alloc(&block, &field));
    seconds = malloc((size_t) opt->iterations * sizeof(double));
    have = field && seconds;
    MPI_Allreduce(MPI_IN_PLACE, &have, 1, MPI_INT, MPI_MIN, comm);
    if (have) {
        exchange_init(opt, &block, field, comm, &ex);
        if (rank == 0)
            printf("halo3d: %d x %d x %d ranks, each %d x %d x %d points, %d double%s a point, "
                   "radius %d, %s\n"
                   "%s: to 26 neighbours, %.3f MB sent by each rank\n",
                   grid[2], grid[1], grid[0], opt->size[2], opt->size[1], opt->size[0],
                   opt->elements, opt->elements == 1 ? "" : "s", opt->radius,
                   memory->name, opt->halo == HALO__PUT ? "puts" : "messages",
                   (double) ex.bytes / 1e6);
        status = passes_run(opt, memory, &block, &ex, field, seconds);
        exchange_free(&ex);
    } else if (rank == 0) {
        fprintf(stderr, "halo3d: no %s for %.1f MB on each rank\n", memory->name,
                ((double) block.n_values + opt->iterations) * sizeof(double) / 1e6);
    }
    free(seconds);
    memory->free(field);
    MPI_Comm_free(&comm);
    return status;
}

int main(int argc, char *argv[])
{
    struct options opt = { {128, 128, 128}, 1, 1, 50, MEMORY__ANY, HALO__MESSAGES, CORRUPT__NONE, 0,
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
