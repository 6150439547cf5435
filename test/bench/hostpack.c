/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures MPI_Pack, MPI_Unpack and MPI_Type_commit on host memory, one rank, as CSV. The program
 * uses standard MPI calls only, so the same source measures any MPI; compare-pingpong --ranks 1
 * compares two.
 *
 * The cases "commit:" time the commit alone; "cycle:" time creation, commit and free, because a
 * library may move work from one of these to another. */

#include <mpi.h>
#include <string.h>
#include "bench.h"

#define N_SIZES 4
#define SAMPLES 200             /* maximum per case */
#define MIN_SAMPLES 15
#define CASE_BYTES (256L * 1024 * 1024) /* limits the repetitions of large sizes: total bytes of a
                                         * case */
#define SAMPLE_BYTES (256 * 1024)       /* several small packs make one sample, because of the
                                         * clock's resolution */
#define COMMIT_BATCH 64
#define COMMIT_BYTES (64 * 1024)        /* packed size of the regular types that are committed */
#define LARGE_BLOCKS 10000000

static const int pack_bytes[N_SIZES] = { 1024, 16 * 1024, 256 * 1024, 4 * 1024 * 1024 };

/* Make a type, not committed, and a count of it that packs to bytes or a little less. */
typedef void (*make_fn) (int bytes, MPI_Datatype * type, int *count);

static void make_contiguous(int bytes, MPI_Datatype * type, int *count)
{
    MPI_Type_contiguous(bytes / 8, MPI_DOUBLE, type);
    *count = 1;
}

static void make_vector_8_16(int bytes, MPI_Datatype * type, int *count)
{
    MPI_Type_vector(bytes / 8, 1, 2, MPI_DOUBLE, type);
    *count = 1;
}

static void make_vector_128_512(int bytes, MPI_Datatype * type, int *count)
{
    MPI_Type_vector(bytes / 128, 16, 64, MPI_DOUBLE, type);
    *count = 1;
}

static void make_vector_of_vectors(int bytes, MPI_Datatype * type, int *count)
{
    MPI_Datatype inner;

    MPI_Type_vector(8, 2, 4, MPI_DOUBLE, &inner);
    MPI_Type_create_hvector(bytes / 128, 1, 512, inner, type);
    MPI_Type_free(&inner);
    *count = 1;
}

/* The face of a block across the contiguous dimension: one double of each row. */
static void make_subarray_face(int bytes, MPI_Datatype * type, int *count)
{
    int size[3] = { bytes / 128, 16, 16 }, subsize[3] = { bytes / 128, 16, 1 };
    int start[3] = { 0, 0, 3 };

    MPI_Type_create_subarray(3, size, subsize, start, MPI_ORDER_C, MPI_DOUBLE, type);
    *count = 1;
}

static void make_subarray_block(int bytes, MPI_Datatype * type, int *count)
{
    int size[3] = { bytes / 512, 16, 16 }, subsize[3] = { bytes / 512, 8, 8 };
    int start[3] = { 0, 4, 4 };

    MPI_Type_create_subarray(3, size, subsize, start, MPI_ORDER_C, MPI_DOUBLE, type);
    *count = 1;
}

static void make_transpose(int bytes, MPI_Datatype * type, int *count)
{
    MPI_Datatype column;

    MPI_Type_vector(bytes / 256, 1, 32, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, 8, type);
    MPI_Type_free(&column);
    *count = 32;
}

static void make_struct(int bytes, MPI_Datatype * type, int *count)
{
    int length[4] = { 1, 1, 1, 1 };
    MPI_Aint displ[4] = { 0, 8, 12, 16 };
    MPI_Datatype member[4] = { MPI_DOUBLE, MPI_INT, MPI_INT, MPI_CHAR }, unpadded;

    MPI_Type_create_struct(4, length, displ, member, &unpadded);
    MPI_Type_create_resized(unpadded, 0, 24, type);
    MPI_Type_free(&unpadded);
    *count = bytes / 17;
}

/* An indexed type of blocks of 1 to 8 doubles, gaps of 1 to 4, from a fixed sequence. */
static void make_indexed(int bytes, MPI_Datatype * type, int *count)
{
    int left = bytes / 8, n = 0, place = 0;
    int *length = malloc((size_t) left * 2 * sizeof(int));
    int *displ = length + left;
    unsigned int sequence = 12345;

    if (!length) {
        fprintf(stderr, "hostpack: no memory for a list of %d blocks\n", left);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    while (left > 0) {
        sequence = sequence * 1103515245u + 12345u;
        length[n] = 1 + (int) (sequence >> 16) % 8;
        if (length[n] > left)
            length[n] = left;
        displ[n] = place;
        place += length[n] + 1 + (int) (sequence >> 20) % 4;
        left -= length[n++];
    }
    MPI_Type_indexed(n, length, displ, MPI_DOUBLE, type);
    free(length);
    *count = 1;
}

/* As many blocks of one double as bytes has doubles, at irregular distances. */
static void make_indexed_single(int bytes, MPI_Datatype * type, int *count)
{
    int n = bytes / 8, i;
    int *length = malloc((size_t) n * 2 * sizeof(int));
    int *displ = length + n;

    if (!length) {
        fprintf(stderr, "hostpack: no memory for a list of %d blocks\n", n);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (i = 0; i < n; i++) {
        length[i] = 1;
        displ[i] = 3 * i + i % 2;
    }
    MPI_Type_indexed(n, length, displ, MPI_DOUBLE, type);
    free(length);
    *count = 1;
}

static const struct layout {
    const char *name;
    make_fn make;
} layouts[] = {
    {"contiguous", make_contiguous},
    {"vector_8_16", make_vector_8_16},
    {"vector_128_512", make_vector_128_512},
    {"vector_of_vectors", make_vector_of_vectors},
    {"subarray_face", make_subarray_face},
    {"subarray_block", make_subarray_block},
    {"transpose", make_transpose},
    {"struct", make_struct},
    {"indexed", make_indexed},
};

#define N_LAYOUTS ((int) (sizeof(layouts) / sizeof(layouts[0])))

/* One layout in one size, with its buffers. */
struct job {
    MPI_Datatype type;
    int count;
    int bytes;                  /* packed */
    int span;                   /* of the type map in memory; its lowest byte is at 0 or above */
    unsigned char *data;
    unsigned char *packed;
};

/* A different offset in pages than the data's, at the start of a cache line. */
#define PACKED_SKEW 2112

static int job_init(struct job *job, make_fn make, int bytes)
{
    MPI_Aint lb, extent, true_lb, true_extent;

    make(bytes, &job->type, &job->count);
    MPI_Type_commit(&job->type);
    MPI_Type_get_extent(job->type, &lb, &extent);
    MPI_Type_get_true_extent(job->type, &true_lb, &true_extent);
    MPI_Type_size(job->type, &job->bytes);
    job->bytes *= job->count;
    job->span = (int) (extent * (job->count - 1) + true_lb + true_extent);
    job->data = bench_alloc((size_t) job->span, 0);
    job->packed = bench_alloc((size_t) job->bytes, PACKED_SKEW);
    return job->data && job->packed;
}

static void job_free(struct job *job)
{
    bench_free(job->data, 0);
    bench_free(job->packed, PACKED_SKEW);
    MPI_Type_free(&job->type);
}

static void job_pack(struct job *job)
{
    int position = 0;
    MPI_Pack(job->data, job->count, job->type, job->packed, job->bytes, &position, MPI_COMM_SELF);
}

static void job_unpack(struct job *job)
{
    int position = 0;
    MPI_Unpack(job->packed, job->bytes, &position, job->data, job->count, job->type, MPI_COMM_SELF);
}

static unsigned char byte_value(int i)
{
    return (unsigned char) (1 + (i * 7 + (i >> 8)) % 255);
}

/* Pack, unpack over zeros, and check that all bytes of the type came back, each at its position. */
static int job_is_right(struct job *job)
{
    int i, found = 0, wrong = 0;

    for (i = 0; i < job->span; i++)
        job->data[i] = byte_value(i);
    job_pack(job);
    memset(job->data, 0, (size_t) job->span);
    job_unpack(job);
    for (i = 0; i < job->span; i++)
        if (job->data[i]) {
            found++;
            wrong += job->data[i] != byte_value(i);
        }
    return wrong == 0 && found == job->bytes;
}

static void job_time(struct job *job, const char *what, const char *name,
                     void (*run) (struct job *))
{
    double seconds[SAMPLES];
    int batch = job->bytes < SAMPLE_BYTES ? SAMPLE_BYTES / job->bytes : 1;
    long fitting = CASE_BYTES / ((long) job->bytes * batch);
    int samples = fitting > SAMPLES ? SAMPLES : fitting < MIN_SAMPLES ? MIN_SAMPLES : (int) fitting;
    char label[64];
    int i, j;

    for (i = -samples / 5; i < samples; i++) {
        double start = MPI_Wtime();
        for (j = 0; j < batch; j++)
            run(job);
        if (i >= 0)
            seconds[i] = (MPI_Wtime() - start) / batch;
    }
    snprintf(label, sizeof(label), "%s:%s", what, name);
    bench_row(label, job->bytes, seconds, samples);
}

static int pack_cases(void)
{
    int i, s, good = 1;

    for (i = 0; i < N_LAYOUTS && good; i++)
        for (s = 0; s < N_SIZES && good; s++) {
            struct job job;

            good = job_init(&job, layouts[i].make, pack_bytes[s]);
            if (!good) {
                fprintf(stderr, "hostpack: no memory for %s\n", layouts[i].name);
            } else if (!(good = job_is_right(&job))) {
                fprintf(stderr, "hostpack: %s of %d bytes: wrong data\n", layouts[i].name,
                        job.bytes);
            } else {
                job_time(&job, "pack", layouts[i].name, job_pack);
                job_time(&job, "unpack", layouts[i].name, job_unpack);
            }
            job_free(&job);
        }
    return good;
}

/* Time commit and the whole life of a type; a sample has batch types. */
static void commit_case(const char *name, make_fn make, int bytes, int batch, int samples)
{
    double commit[SAMPLES], cycle[SAMPLES];
    MPI_Datatype type[COMMIT_BATCH];
    char label[64];
    int i, j, count;

    for (i = -samples / 5; i < samples; i++) {
        double start = MPI_Wtime(), middle, committed, end;

        for (j = 0; j < batch; j++)
            make(bytes, &type[j], &count);
        middle = MPI_Wtime();
        for (j = 0; j < batch; j++)
            MPI_Type_commit(&type[j]);
        committed = MPI_Wtime();
        for (j = 0; j < batch; j++)
            MPI_Type_free(&type[j]);
        end = MPI_Wtime();
        if (i >= 0) {
            commit[i] = (committed - middle) / batch;
            cycle[i] = (end - start) / batch;
        }
    }
    snprintf(label, sizeof(label), "commit:%s", name);
    bench_row(label, 0, commit, samples);
    snprintf(label, sizeof(label), "cycle:%s", name);
    bench_row(label, 0, cycle, samples);
}

int main(int argc, char *argv[])
{
    int large = argc == 2 && strcmp(argv[1], "--large") == 0;
    int i, good;

    MPI_Init(&argc, &argv);
    if (argc > 1 && !large) {
        fprintf(stderr, "usage: hostpack [--large]\n--large also commits a list of %d blocks\n",
                LARGE_BLOCKS);
        MPI_Finalize();
        return 2;
    }
    bench_header("us_median");
    good = pack_cases();
    if (good) {
        for (i = 0; i < N_LAYOUTS; i++)
            commit_case(layouts[i].name, layouts[i].make, COMMIT_BYTES, COMMIT_BATCH, SAMPLES);
        commit_case("indexed_100k", make_indexed_single, 100000 * 8, 1, 50);
        if (large)
            commit_case("indexed_10M", make_indexed_single, LARGE_BLOCKS * 8, 1, 5);
    }
    MPI_Finalize();
    return good ? 0 : 1;
}
