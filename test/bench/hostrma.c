/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One-sided operations on host memory: the time of an operation of process 0 on the window of process 1, with
 * the flush that completes it, as CSV. Windows are allocated by MPI, so that the processes may share them, or
 * created by the program in memory of its own; the target waits in a barrier. Operations are of doubles,
 * and those that only move data also of a vector of them; a fence is timed with a put in it. The program
 * uses standard MPI calls only, so the same source measures any MPI: see compare-pingpong.
 *
 *   mpiexec -n 2 hostrma [--min BYTES] [--max BYTES] [--repetitions SAMPLES]
 *
 * exit status: 0 good, 1 wrong data, 2 cannot run as asked */

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

#define CALLS 8                 /* of a sample */
#define MIN_SAMPLES 30
#define SAMPLES_BYTES (64L << 20)       /* of all calls of a case, about */

enum call {
    CALL__PUT, CALL__GET, CALL__ACCUMULATE, CALL__GET_ACCUMULATE, CALL__FETCH_AND_OP,
    CALL__COMPARE_AND_SWAP, CALL__FENCE, CALL__N
};
static const char *const names[CALL__N] = {
    "put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap", "fence"
};

static int rank;
static double *origin, *result; /* of the most bytes, with gaps */
static double *memory;          /* of the window */
static MPI_Win win;

static int moves_data(enum call call)
{
    return call == CALL__PUT || call == CALL__GET;
}

static int is_of_one(enum call call)
{
    return call == CALL__FETCH_AND_OP || call == CALL__COMPARE_AND_SWAP;
}

/* Do an operation of process 0, and complete it. */
static void call_once(enum call call, int count, MPI_Datatype type)
{
    static const long long one = 1;
    long long before;

    switch (call) {
        case CALL__PUT:
            MPI_Put(origin, count, type, 1, 0, count, type, win);
            break;
        case CALL__GET:
            MPI_Get(result, count, type, 1, 0, count, type, win);
            break;
        case CALL__ACCUMULATE:
            MPI_Accumulate(origin, count, type, 1, 0, count, type, MPI_SUM, win);
            break;
        case CALL__GET_ACCUMULATE:
            MPI_Get_accumulate(origin, count, type, result, count, type, 1, 0, count, type, MPI_SUM, win);
            break;
        case CALL__FETCH_AND_OP:
            MPI_Fetch_and_op(&one, &before, MPI_LONG_LONG, 1, 0, MPI_SUM, win);
            break;
        default:
            MPI_Compare_and_swap(&one, &one, &before, MPI_LONG_LONG, 1, 0, win);
            break;
    }
    MPI_Win_flush(1, win);
}

static void fence_once(int count, MPI_Datatype type)
{
    if (rank == 0)
        MPI_Put(origin, count, type, 1, 0, count, type, win);
    MPI_Win_fence(0, win);
}

static void case_run(enum call call, const char *window, long bytes, int count, MPI_Datatype type, int most,
                     double *seconds)
{
    char name[64];
    long samples = SAMPLES_BYTES / (CALLS * bytes);

    samples = samples < MIN_SAMPLES ? MIN_SAMPLES : samples;
    samples = samples < most ? samples : most;
    if (call == CALL__FENCE)
        MPI_Win_fence(0, win);
    else
        MPI_Win_lock_all(0, win);
    for (long i = -(samples / 5 + 2); i < samples; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int k = 0; k < CALLS; k++) {
            if (call == CALL__FENCE)
                fence_once(count, type);
            else if (rank == 0)
                call_once(call, count, type);
        }
        if (i >= 0)
            seconds[i] = (MPI_Wtime() - start) / CALLS;
    }
    if (call != CALL__FENCE)
        MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(name, sizeof(name), "%s:%s%s", names[call], window, type == MPI_DOUBLE ? "" : ":vector_8_16");
    if (rank == 0)
        bench_row(name, bytes, seconds, (int) samples);
}

/* Whether what is put arrives and comes back. */
static int is_right(int count, MPI_Datatype type, long doubles, int stride)
{
    int wrong = 0;

    for (long i = 0; i < doubles; i++) {
        origin[i] = (double) (i + 1);
        result[i] = -1;
    }
    MPI_Win_lock_all(0, win);
    if (rank == 0) {
        call_once(CALL__PUT, count, type);
        call_once(CALL__GET, count, type);
    }
    MPI_Win_unlock_all(win);
    for (long i = 0; i < doubles && rank == 0; i++)
        wrong += result[i] != (i % stride == 0 ? origin[i] : -1);
    /* Sums of zeros stay zeros */
    memset(origin, 0, (size_t) doubles * sizeof(*origin));
    MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return wrong == 0;
}

/* Measure all operations on a window. Returns whether the data was right. */
static int window_run(const char *window, int min, int max, int most, double *seconds)
{
    int good = 1;

    for (long bytes = min < 8 ? 8 : min; bytes <= max && good; bytes *= 8) {
        const int doubles = (int) (bytes / 8);
        MPI_Datatype vector;

        MPI_Type_vector(doubles, 1, 2, MPI_DOUBLE, &vector);
        MPI_Type_commit(&vector);
        good = is_right(doubles, MPI_DOUBLE, doubles, 1) && is_right(1, vector, 2L * doubles - 1, 2);
        for (enum call call = 0; call < CALL__N && good; call++) {
            if (is_of_one(call) && bytes != min)
                continue;
            case_run(call, window, bytes, doubles, MPI_DOUBLE, most, seconds);
            if (moves_data(call))
                case_run(call, window, bytes, 1, vector, most, seconds);
        }
        MPI_Type_free(&vector);
    }
    return good;
}

int main(int argc, char *argv[])
{
    int min = 8, max = 1 << 18, most = 1000, nranks, good;
    double *seconds, *own;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    if (!bench_options(argc, argv, &min, &max, &most) || nranks != 2) {
        fprintf(stderr, "usage: mpiexec -n 2 hostrma [--min BYTES] [--max BYTES] [--repetitions SAMPLES]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    seconds = malloc((size_t) most * sizeof(*seconds));
    origin = bench_alloc((size_t) max * 2, 0);
    result = bench_alloc((size_t) max * 2, 1024);
    own = bench_alloc((size_t) max * 2, 2048);
    if (rank == 0)
        bench_header("us_median");

    MPI_Win_allocate((MPI_Aint) max * 2, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    good = window_run("allocated", min, max, most, seconds);
    MPI_Win_free(&win);
    MPI_Win_create(own, (MPI_Aint) max * 2, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    good = good && window_run("created", min, max, most, seconds);
    MPI_Win_free(&win);

    if (!good && rank == 0)
        fprintf(stderr, "hostrma: wrong data\n");
    bench_free(own, 2048);
    bench_free(result, 1024);
    bench_free(origin, 0);
    free(seconds);
    MPI_Finalize();
    return good ? 0 : 1;
}
