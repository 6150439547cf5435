/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Ping-pong between two ranks in host memory: half round trip and rate as CSV, for contiguous bytes
 * and doubles and for one vector type. The program uses standard MPI calls only, so the same source
 * measures any MPI. */

#include <mpi.h>
#include <string.h>
#include "bench.h"

#define BLOCK_BYTES 8
#define STRIDE_BYTES 16
#define GUARD_BYTES 64
#define MIN_REPETITIONS 50
/* limits the repetitions of large messages: approximate total bytes of a case */
#define CASE_BYTES (64L * 1024 * 1024)
/* up to this size a sample is several round trips, because of the clock's resolution */
#define SMALL_BYTES 4096
#define SMALL_BATCH 8

enum { TYPE__BYTE, TYPE__DOUBLE, TYPE__VECTOR, N_TYPES };

static const char *const type_name[N_TYPES] = { "byte", "double", "vector_8_16" };

struct options {
    int min_bytes;
    int max_bytes;
    int repetitions;            /* samples per case, maximum */
};

/* One case: count of type at buffer + GUARD_BYTES moves bytes that lie within span bytes. */
struct message {
    MPI_Datatype type;
    int count;
    int bytes;
    int span;
    unsigned char *buffer;
};

static void message_init(struct message *msg, int type, int bytes)
{
    msg->bytes = msg->span = bytes;
    msg->count = bytes / 8;
    if (type == TYPE__BYTE) {
        msg->type = MPI_BYTE;
        msg->count = bytes;
    } else if (type == TYPE__DOUBLE) {
        msg->type = MPI_DOUBLE;
    } else {
        MPI_Type_vector(bytes / BLOCK_BYTES, BLOCK_BYTES, STRIDE_BYTES, MPI_BYTE, &msg->type);
        MPI_Type_commit(&msg->type);
        msg->count = 1;
        msg->span = bytes / BLOCK_BYTES * STRIDE_BYTES;
    }
}

static int byte_is_data(const struct message *msg, int i)
{
    return i >= 0 && i < msg->span && (msg->span == msg->bytes || i % STRIDE_BYTES < BLOCK_BYTES);
}

static unsigned char byte_value(int i, int salt)
{
    return (unsigned char) (i * 7 + (i >> 8) + salt);
}

/* Send the message of rank 0 and check on rank 1 that exactly its bytes arrived. */
static int message_is_right(const struct message *msg, int rank)
{
    int i, wrong = 0;

    for (i = -GUARD_BYTES; i < msg->span + GUARD_BYTES; i++)
        msg->buffer[i + GUARD_BYTES] = rank == 0 ? byte_value(i, 1) : 0xa5;
    if (rank == 0) {
        MPI_Send(msg->buffer + GUARD_BYTES, msg->count, msg->type, 1, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(msg->buffer + GUARD_BYTES, msg->count, msg->type, 0, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        for (i = -GUARD_BYTES; i < msg->span + GUARD_BYTES; i++)
            wrong += msg->buffer[i + GUARD_BYTES] !=
                (byte_is_data(msg, i) ? byte_value(i, 1) : 0xa5);
    }
    MPI_Bcast(&wrong, 1, MPI_INT, 1, MPI_COMM_WORLD);
    return wrong == 0;
}

static void round_trip(const struct message *msg, int rank)
{
    void *data = msg->buffer + GUARD_BYTES;

    if (rank == 0) {
        MPI_Send(data, msg->count, msg->type, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(data, msg->count, msg->type, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(data, msg->count, msg->type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(data, msg->count, msg->type, 0, 0, MPI_COMM_WORLD);
    }
}

/* Measure one case; seconds has space for the repetitions. Returns 0 if wrong bytes arrived. */
static int case_run(const struct options *opt, int type, int bytes, unsigned char *buffer,
                    double *seconds, int rank)
{
    struct message msg;
    long fitting = CASE_BYTES / bytes;
    int batch = bytes <= SMALL_BYTES ? SMALL_BATCH : 1;
    int repetitions, i, j, right;

    message_init(&msg, type, bytes);
    msg.buffer = buffer;
    if (fitting < MIN_REPETITIONS)
        fitting = MIN_REPETITIONS;
    repetitions = fitting < opt->repetitions ? (int) fitting : opt->repetitions;

    right = message_is_right(&msg, rank);
    for (i = 0; i < repetitions / 5 + 1; i++)
        round_trip(&msg, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < repetitions; i++) {
        double start = MPI_Wtime();
        for (j = 0; j < batch; j++)
            round_trip(&msg, rank);
        seconds[i] = (MPI_Wtime() - start) / (2 * batch);
    }
    if (rank == 0) {
        if (right)
            bench_row(type_name[type], bytes, seconds, repetitions);
        else
            fprintf(stderr, "pingpong: %s, %d bytes: wrong data arrived\n", type_name[type], bytes);
    }
    if (type == TYPE__VECTOR)
        MPI_Type_free(&msg.type);
    return right;
}

static int options_parse(int argc, char *argv[], struct options *opt)
{
    int i;

    for (i = 1; i + 1 < argc; i += 2) {
        int *number = strcmp(argv[i], "--min") == 0 ? &opt->min_bytes :
            strcmp(argv[i], "--max") == 0 ? &opt->max_bytes :
            strcmp(argv[i], "--repetitions") == 0 ? &opt->repetitions : NULL;

        /* the vector's span is twice the bytes and must fit into an int */
        if (!number || !(*number = (int) bench_number(argv[i + 1], 1 << 29)))
            return 0;
    }
    return i == argc && opt->min_bytes % 8 == 0 && opt->min_bytes <= opt->max_bytes;
}

int main(int argc, char *argv[])
{
    struct options opt = { 8, 4 * 1024 * 1024, 2000 };
    int rank, n_ranks, type, bytes, have, right = 1;
    unsigned char *buffer;
    double *seconds;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    if (n_ranks != 2 || !options_parse(argc, argv, &opt)) {
        if (rank == 0)
            fprintf(stderr, "usage: mpiexec -n 2 pingpong [--min BYTES] [--max BYTES] "
                    "[--repetitions N]\nsizes are doubled from BYTES (default 8, a multiple of 8) "
                    "to BYTES (default 4194304)\n");
        MPI_Finalize();
        return 2;
    }

    buffer = bench_alloc(2 * (size_t) opt.max_bytes + 2 * GUARD_BYTES, 0);
    seconds = malloc((size_t) opt.repetitions * sizeof(double));
    have = buffer && seconds;
    MPI_Allreduce(MPI_IN_PLACE, &have, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (have) {
        if (rank == 0)
            bench_header("half_round_trip_us_median");
        for (type = 0; type < N_TYPES && right; type++)
            for (bytes = opt.min_bytes; bytes <= opt.max_bytes && right; bytes *= 2)
                right = case_run(&opt, type, bytes, buffer, seconds, rank);
    } else if (rank == 0) {
        fprintf(stderr, "pingpong: no memory for messages of %d bytes\n", opt.max_bytes);
    }
    free(seconds);
    bench_free(buffer, 0);
    MPI_Finalize();
    return !have ? 2 : right ? 0 : 1;
}
