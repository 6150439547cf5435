/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures messages between two GPUs whose ends differ: blocks of a vector sent to a contiguous buffer
 * (typed-contig) and the reverse (contig-typed), and both ends alike (typed-typed), from memory of
 * cuMemAlloc or, with --pool, of a pool, which other processes cannot map. To be run once with each
 * value of MPIR_CVAR_GPUDT_DIRECT, which is part of the rows: half the time of a round trip. What
 * arrives is checked before and after. With --box, cubes of doubles within cubes of twice the side instead of
 * vectors; MPIR_CVAR_GPUDT_FORBID=copy2d compares kernels with the driver's 3-D copy.
 *
 *   mpiexec -n 2 bench_ways [--pool] [--box] [--most BYTES] [--milliseconds MS]
 *
 * exit status: 0 good, 1 wrong data, 2 cannot run as asked */

#include <cuda.h>
#include <mpi.h>

#include "bench.h"

#define MAX_SAMPLES 400
#define MIN_SAMPLES 10
#define WARM_UPS 200            /* memory of other processes is mapped once that pays off */

#define CU(call_)                                                                       \
    do {                                                                                \
        CUresult res_ = (call_);                                                        \
        if (res_ != CUDA_SUCCESS) {                                                     \
            fprintf(stderr, "bench_ways: error %d of %s\n", (int) res_, #call_);        \
            MPI_Abort(MPI_COMM_WORLD, 2);                                               \
        }                                                                               \
    } while (0)

static int rank, is_pool, is_box;
static long most = 64L << 20, milliseconds = 30;
static CUdeviceptr from, to;
static MPI_Datatype from_type, to_type;
static int from_count, to_count;

static void message(int sender)
{
    if (rank == sender)
        MPI_Send((void *) from, from_count, from_type, 1 - rank, 0, MPI_COMM_WORLD);
    else
        MPI_Recv((void *) to, to_count, to_type, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double round_trip(void)
{
    double start = MPI_Wtime();

    message(0);
    message(1);
    return MPI_Wtime() - start;
}

/* Fill the send buffer with numbers that depend on their position, and compare what the other process,
 * which has filled its own alike, has sent. Returns 1 if it is right. */
static int is_right(size_t bytes, size_t span)
{
    double *sent = malloc(span), *got = malloc(span), *packed = malloc(bytes);
    double *expected = malloc(bytes);
    int at = 0, right;

    if (!sent || !got || !packed || !expected)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (size_t i = 0; i < span / sizeof(double); i++)
        sent[i] = (double) i;
    CU(cuMemcpyHtoD(from, sent, span));
    CU(cuMemsetD8(to, 0, span));
    CU(cuCtxSynchronize());
    round_trip();
    CU(cuMemcpyDtoH(got, to, span));
    MPI_Pack(sent, from_count, from_type, expected, (int) bytes, &at, MPI_COMM_WORLD);
    at = 0;
    MPI_Pack(got, to_count, to_type, packed, (int) bytes, &at, MPI_COMM_WORLD);
    right = memcmp(packed, expected, bytes) == 0;
    free(sent);
    free(got);
    free(packed);
    free(expected);
    return right;
}

static CUdeviceptr allocate(size_t bytes, int of_pool)
{
    CUdeviceptr memory = 0;

    if (!of_pool) {
        CU(cuMemAlloc(&memory, bytes));
    } else {
        CU(cuMemAllocAsync(&memory, bytes, NULL));
        CU(cuStreamSynchronize(NULL));
    }
    return memory;
}

static int case_measure(const char *name, size_t bytes, size_t span)
{
    static double seconds[MAX_SAMPLES];
    double once;
    int n, right, all;

    from = allocate(span, is_pool);
    to = allocate(span, 0);
    right = is_right(bytes, span);
    MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    for (int i = 0; i < WARM_UPS && all; i++)
        once = round_trip();
    n = all ? (int) (milliseconds * 1e-3 / once) : 0;
    n = n > MAX_SAMPLES ? MAX_SAMPLES : n < MIN_SAMPLES ? MIN_SAMPLES : n;
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < n && all; i++)
        seconds[i] = round_trip() / 2;
    if (all) {
        /* MPI may have begun to map memory meanwhile */
        right = is_right(bytes, span);
        MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    if (rank == 0 && all)
        bench_row(name, (long long) bytes, seconds, n);
    if (!all && rank == 0)
        fprintf(stderr, "bench_ways: wrong data: %s of %zu bytes\n", name, bytes);
    CU(cuMemFree(from));
    CU(cuMemFree(to));
    return all;
}

/* The three pairs of ends of a datatype, which is freed. */
static int ends_measure(const char *direct, const char *text, MPI_Datatype type, size_t bytes,
                        size_t span)
{
    static const char *const ends[] = { "typed-contig", "contig-typed", "typed-typed" };
    const int n = (int) (bytes / sizeof(double));
    int good = 1;

    MPI_Type_commit(&type);
    for (int i = 0; i < 3 && good; i++) {
        char name[96];

        from_type = i == 1 ? MPI_DOUBLE : type;
        from_count = i == 1 ? n : 1;
        to_type = i == 0 ? MPI_DOUBLE : type;
        to_count = i == 0 ? n : 1;
        snprintf(name, sizeof(name), "%s:%s:%s:%s", ends[i], is_pool ? "pool" : "alloc", direct,
                 text);
        good = case_measure(name, bytes, span);
    }
    MPI_Type_free(&type);
    return good;
}

static int vector_measure(const char *direct, int block, int stride, size_t bytes)
{
    const int rows = (int) (bytes / (size_t) block);
    MPI_Datatype vector;
    char text[32];

    MPI_Type_vector(rows, block / 8, stride / 8, MPI_DOUBLE, &vector);
    snprintf(text, sizeof(text), "vector_%d_%d", block, stride);
    return ends_measure(direct, text, vector, bytes, (size_t) rows * (size_t) stride);
}

/* The largest cube of at most so many bytes. */
static int box_measure(const char *direct, size_t most_bytes)
{
    static const int starts[3] = { 0, 0, 0 };
    size_t side = 1;
    MPI_Datatype box;

    while ((side + 1) * (side + 1) * (side + 1) * sizeof(double) <= most_bytes)
        side++;
    const size_t bytes = side * side * side * sizeof(double);
    const int all = 2 * (int) side, part = (int) side;
    const int sizes[3] = { all, all, all }, subsizes[3] = { part, part, part };
    MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &box);
    return ends_measure(direct, "box", box, bytes, 8 * bytes);
}

int main(int argc, char **argv)
{
    static const int shapes[][2] = { {8, 16}, {8, 64}, {8, 512}, {32, 64}, {128, 512} };
    const char *direct = getenv("MPIR_CVAR_GPUDT_DIRECT");
    int ranks, ngpus, good = 1;
    CUdevice device;
    CUcontext ctx;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--pool") == 0)
            is_pool = 1;
        else if (strcmp(argv[i], "--box") == 0)
            is_box = 1;
        else if (strcmp(argv[i], "--most") == 0 && i + 1 < argc)
            most = bench_number(argv[++i], 256L << 20);
        else if (strcmp(argv[i], "--milliseconds") == 0 && i + 1 < argc)
            milliseconds = bench_number(argv[++i], 10000);
        else
            most = 0;           /* an unknown word */
    }
    if (ranks != 2 || most == 0 || milliseconds == 0 || cuInit(0) != CUDA_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    CU(cuDeviceGetCount(&ngpus));
    CU(cuDeviceGet(&device, rank % ngpus));
    CU(cuDevicePrimaryCtxRetain(&ctx, device));
    CU(cuCtxSetCurrent(ctx));
    if (rank == 0)
        bench_header("us_median");
    for (long bytes = 16 << 10; bytes <= most && good && is_box; bytes *= 4)
        good = box_measure(direct ? direct : "auto", (size_t) bytes);
    for (int s = 0; s < (int) (sizeof(shapes) / sizeof(shapes[0])) && !is_box; s++) {
        for (long bytes = 16 << 10; bytes <= most && good; bytes *= 4)
            good = vector_measure(direct ? direct : "auto", shapes[s][0], shapes[s][1],
                                  (size_t) bytes);
    }
    CU(cuDevicePrimaryCtxRelease(device));
    MPI_Finalize();
    return !good;
}
