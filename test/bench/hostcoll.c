/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Collectives on host memory: the time of a call as CSV, for blocks of doubles and, where a collective moves
 * data, for a vector of them. A sample is the longest time of any process for several calls, after a
 * barrier. The program uses standard MPI calls only, so the same source measures any MPI: see
 * compare-pingpong.
 *
 *   mpiexec -n N hostcoll [--min BYTES] [--max BYTES] [--repetitions SAMPLES] */

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

#define CALLS 8                 /* of a sample */
#define MIN_SAMPLES 30
#define SAMPLES_BYTES (64L << 20)       /* of all calls of a case, about */

enum call {
    CALL__BARRIER, CALL__BCAST, CALL__ALLREDUCE, CALL__ALLREDUCE_IN_PLACE, CALL__REDUCE,
    CALL__REDUCE_SCATTER_BLOCK, CALL__SCAN, CALL__ALLGATHER, CALL__ALLTOALL, CALL__GATHER,
    CALL__SCATTER, CALL__IALLREDUCE, CALL__N
};
static const char *const names[CALL__N] = {
    "barrier", "bcast", "allreduce", "allreduce_in_place", "reduce", "reduce_scatter_block", "scan",
    "allgather", "alltoall", "gather", "scatter", "iallreduce"
};

/* Calls that combine data take predefined types only. */
static int moves_data(enum call call)
{
    return call == CALL__BCAST || (call >= CALL__ALLGATHER && call <= CALL__SCATTER);
}

struct block {                  /* what a process sends to each other one */
    double *from, *to;
    int count;
    MPI_Datatype type;
    long doubles;               /* from block to block */
};

static int rank, nranks;

static void call_once(enum call call, const struct block *b)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request;

    switch (call) {
        case CALL__BARRIER:
            MPI_Barrier(comm);
            break;
        case CALL__BCAST:
            MPI_Bcast(rank == 0 ? b->from : b->to, b->count, b->type, 0, comm);
            break;
        case CALL__ALLREDUCE:
            MPI_Allreduce(b->from, b->to, b->count, b->type, MPI_SUM, comm);
            break;
        case CALL__ALLREDUCE_IN_PLACE:
            MPI_Allreduce(MPI_IN_PLACE, b->to, b->count, b->type, MPI_MAX, comm);
            break;
        case CALL__REDUCE:
            MPI_Reduce(b->from, b->to, b->count, b->type, MPI_SUM, 0, comm);
            break;
        case CALL__REDUCE_SCATTER_BLOCK:
            MPI_Reduce_scatter_block(b->from, b->to, b->count, b->type, MPI_SUM, comm);
            break;
        case CALL__SCAN:
            MPI_Scan(b->from, b->to, b->count, b->type, MPI_SUM, comm);
            break;
        case CALL__ALLGATHER:
            MPI_Allgather(b->from, b->count, b->type, b->to, b->count, b->type, comm);
            break;
        case CALL__ALLTOALL:
            MPI_Alltoall(b->from, b->count, b->type, b->to, b->count, b->type, comm);
            break;
        case CALL__GATHER:
            MPI_Gather(b->from, b->count, b->type, b->to, b->count, b->type, 0, comm);
            break;
        case CALL__SCATTER:
            MPI_Scatter(b->from, b->count, b->type, b->to, b->count, b->type, 0, comm);
            break;
        default:
            MPI_Iallreduce(b->from, b->to, b->count, b->type, MPI_SUM, comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
    }
}

/* Whether an MPI_Allreduce and an MPI_Alltoall of these blocks are right. */
static int is_right(const struct block *b)
{
    int wrong = 0;

    for (long i = 0; i < (long) nranks * b->doubles; i++) {
        b->from[i] = (double) (rank + i);
        b->to[i] = -1;
    }
    if (b->type == MPI_DOUBLE) {
        MPI_Allreduce(b->from, b->to, b->count, b->type, MPI_SUM, MPI_COMM_WORLD);
        for (long i = 0; i < b->count; i++)
            wrong += b->to[i] != nranks * (double) i + nranks * (nranks - 1) / 2;
    } else {
        MPI_Alltoall(b->from, b->count, b->type, b->to, b->count, b->type, MPI_COMM_WORLD);
        for (long i = 0; i < (long) nranks * b->doubles; i += 2)
            wrong += b->to[i] != (double) (i / b->doubles + rank * b->doubles + i % b->doubles);
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return wrong == 0;
}

static void case_run(enum call call, const struct block *b, long bytes, int most, double *seconds)
{
    char name[64];
    long samples = SAMPLES_BYTES / (CALLS * bytes * nranks);

    samples = samples < MIN_SAMPLES ? MIN_SAMPLES : samples;
    samples = samples < most ? samples : most;
    for (long i = 0; i < samples / 5 + 2; i++)
        call_once(call, b);
    for (long i = 0; i < samples; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime(), took;
        for (int k = 0; k < CALLS; k++)
            call_once(call, b);
        took = (MPI_Wtime() - start) / CALLS;
        MPI_Reduce(&took, &seconds[i], 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    }
    snprintf(name, sizeof(name), "%s%s", names[call], b->type == MPI_DOUBLE ? "" : ":vector_8_16");
    if (rank == 0)
        bench_row(name, bytes, seconds, (int) samples);
}

int main(int argc, char *argv[])
{
    int min = 8, max = 1 << 20, most = 1000, good = 1;
    double *seconds;
    struct block b;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    if (!bench_options(argc, argv, &min, &max, &most)) {
        fprintf(stderr, "usage: hostcoll [--min BYTES] [--max BYTES] [--repetitions SAMPLES]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    seconds = malloc((size_t) most * sizeof(*seconds));
    b.from = malloc((size_t) max * 2 * (size_t) nranks);
    b.to = malloc((size_t) max * 2 * (size_t) nranks);
    if (!seconds || !b.from || !b.to) {
        fprintf(stderr, "hostcoll: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (rank == 0)
        bench_header("us_median");
    for (long bytes = min < 8 ? 8 : min; bytes <= max && good; bytes *= 8) {
        for (int is_vector = 0; is_vector < 2 && good; is_vector++) {
            b.doubles = bytes / 8 * (is_vector ? 2 : 1);
            b.count = is_vector ? 1 : (int) (bytes / 8);
            b.type = MPI_DOUBLE;
            if (is_vector) {
                MPI_Datatype vector;
                MPI_Type_vector((int) (bytes / 8), 1, 2, MPI_DOUBLE, &vector);
                MPI_Type_create_resized(vector, 0, bytes * 2, &b.type);
                MPI_Type_commit(&b.type);
                MPI_Type_free(&vector);
            }
            good = is_right(&b);
            for (int call = 0; call < CALL__N && good; call++) {
                if ((!is_vector || moves_data(call)) && (call != CALL__BARRIER || bytes == min))
                    case_run(call, &b, bytes, most, seconds);
            }
            if (is_vector)
                MPI_Type_free(&b.type);
        }
    }
    if (!good && rank == 0)
        fprintf(stderr, "hostcoll: wrong data\n");
    free(b.from);
    free(b.to);
    free(seconds);
    MPI_Finalize();
    return good ? 0 : 1;
}
