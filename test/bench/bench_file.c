/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures MPI_File_write_at and _read_at of noncontiguous buffers in GPU memory, beside the same in
 * host memory and contiguous host memory of the packed size: medians in ms, and host over GPU. Each
 * process has a range of the file of its own. What is read last is compared with what was written first. The
 * file should be in a memory file system, or the disk is measured.
 *
 *   mpiexec -n 1 bench_file FILE [MIB]
 *
 * exit status: 0 good, 1 wrong data, 2 cannot run as asked */

#include <cuda.h>
#include <mpi.h>
#include <string.h>

#include "bench.h"

#define SAMPLES 7

#define CU(call_)                                                                       \
    do {                                                                                \
        CUresult res_ = (call_);                                                        \
        if (res_ != CUDA_SUCCESS) {                                                     \
            fprintf(stderr, "bench_file: error %d of %s\n", (int) res_, #call_);        \
            MPI_Abort(MPI_COMM_WORLD, 2);                                               \
        }                                                                               \
    } while (0)

/* Blocks of `block` bytes, `stride` bytes apart. */
struct shape {
    const char *name;
    int block, stride;
};

static const struct shape shapes[] = {
    {"contiguous", 4096, 4096},
    {"vector_8_16", 8, 16},
    {"vector_64_128", 64, 128},
    {"vector_4096_8192", 4096, 8192}
};

#define N_SHAPES ((int) (sizeof(shapes) / sizeof(shapes[0])))

enum memory { GPU, HOST, CONTIG, N_MEMORIES };
static const char *const memory_names[N_MEMORIES] = { "gpu", "host", "contig" };

static int rank;
static MPI_File file;

/* Buffers of one shape. */
struct buffers {
    MPI_Datatype type;
    size_t span, bytes;
    char *host, *contig, *seen;
    CUdeviceptr gpu;
};

static char pattern(size_t i)
{
    return (char) (i * 7 + (i >> 10));
}

static double transfer(const struct buffers *b, enum memory memory, int is_write)
{
    void *buf = memory == GPU ? (void *) (uintptr_t) b->gpu : memory == HOST ? b->host : b->contig;
    const int count = memory == CONTIG ? (int) (b->bytes / 4096) : 1;
    const MPI_Offset at = (MPI_Offset) rank * (MPI_Offset) b->bytes;
    MPI_Datatype type = b->type;
    double start;

    if (memory == CONTIG) {
        MPI_Type_contiguous(4096, MPI_BYTE, &type);
        MPI_Type_commit(&type);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    if (is_write)
        MPI_File_write_at(file, at, buf, count, type, MPI_STATUS_IGNORE);
    else
        MPI_File_read_at(file, at, buf, count, type, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime() - start;
    if (memory == CONTIG)
        MPI_Type_free(&type);
    return start;
}

static int shape_run(const struct shape *shape, size_t bytes)
{
    static double seconds[2][N_MEMORIES][SAMPLES];
    struct buffers b = {.bytes = bytes };
    const size_t rows = bytes / (size_t) shape->block;
    double ms[N_MEMORIES];
    int good;

    b.span = rows * (size_t) shape->stride;
    MPI_Type_vector((int) rows, shape->block, shape->stride, MPI_BYTE, &b.type);
    MPI_Type_commit(&b.type);
    b.host = malloc(b.span);
    b.seen = malloc(b.span);
    b.contig = malloc(bytes);
    if (!b.host || !b.seen || !b.contig) {
        fprintf(stderr, "bench_file: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (size_t i = 0; i < b.span; i++)
        b.host[i] = pattern(i);
    memset(b.contig, 1, bytes);
    CU(cuMemAlloc(&b.gpu, b.span));
    CU(cuMemcpyHtoD(b.gpu, b.host, b.span));
    for (int i = -1; i < SAMPLES; i++) {
        for (int is_write = 1; is_write >= 0; is_write--) {
            /* the GPU's data is the last written, and it is read to the GPU first */
            for (int k = 0; k < N_MEMORIES; k++) {
                const enum memory memory = (enum memory) (is_write ? N_MEMORIES - 1 - k : k);
                double s;

                if (!is_write && memory == GPU)
                    CU(cuMemsetD8(b.gpu, 0, b.span));
                CU(cuCtxSynchronize());
                s = transfer(&b, memory, is_write);
                if (i >= 0)
                    seconds[is_write][memory][i] = s;
            }
        }
    }
    CU(cuMemcpyDtoH((void *) b.seen, b.gpu, b.span));
    good = 1;
    for (size_t r = 0; r < rows; r++) {
        const size_t first = r * (size_t) shape->stride;

        for (size_t i = first; i < first + (size_t) shape->block; i++)
            good = good && b.seen[i] == pattern(i) && b.host[i] == pattern(i);
    }
    if (!good)
        fprintf(stderr, "bench_file: %s: wrong data\n", shape->name);
    for (int is_write = 1; is_write >= 0 && rank == 0; is_write--) {
        printf("%s,%s,%zu", shape->name, is_write ? "write" : "read", bytes);
        for (int k = 0; k < N_MEMORIES; k++) {
            qsort(seconds[is_write][k], SAMPLES, sizeof(double), bench_compare);
            ms[k] = 1e3 * bench_quantile(seconds[is_write][k], SAMPLES, 0.5);
            printf(",%.2f", ms[k]);
        }
        printf(",%.2f\n", ms[HOST] / ms[GPU]);
        fflush(stdout);
    }
    CU(cuMemFree(b.gpu));
    free(b.host);
    free(b.seen);
    free(b.contig);
    MPI_Type_free(&b.type);
    return good;
}

int main(int argc, char *argv[])
{
    CUcontext context;
    CUdevice device;
    int good = 1;
    long mib = argc > 2 ? bench_number(argv[2], 16384) : 1024;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 2 || mib < 1) {
        fprintf(stderr, "usage: bench_file FILE [MIB]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR |
                      MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
        fprintf(stderr, "bench_file: cannot open %s\n", argv[1]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (rank == 0) {
        printf("type,call,bytes");
        for (int k = 0; k < N_MEMORIES; k++)
            printf(",%s_ms", memory_names[k]);
        printf(",host/gpu\n");
    }
    for (int i = 0; i < N_SHAPES; i++)
        good = shape_run(&shapes[i], (size_t) mib << 20) && good;
    MPI_File_close(&file);
    MPI_Finalize();
    return good ? 0 : 1;
}
