/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures the transposition of a matrix of doubles whose rows are distributed over the processes, each
 * with a GPU:
 *
 *     alltoallw   one MPI_Alltoallw, subarrays at one end and columns at the other
 *     alltoall    2-D copies to a packed buffer, MPI_Alltoall of contiguous bytes, a kernel that
 *                 transposes each block
 *     nccl        the same with NCCL's send and receive, synchronized once; if the machine has it and
 *                 a GPU for each process
 *
 * Prints CSV: the median time of the process that takes longest; the bytes are those of a process.
 * Every element of the result is checked.
 *
 *   mpiexec -n N bench_transpose [BYTES ...]
 *
 * exit status: 0 good, 1 wrong data, 2 cannot run as asked */

#include <cuda.h>
#include <mpi.h>

#include "bench.h"
#include "bench_coll_nccl.h"
#include "bench_transpose_gpu.h"

#define SAMPLES 60
#define WARM_UPS 15
#define TILE 32                 /* the number of rows of a process is a multiple of it */

#define CU(call_)                                                                       \
    do {                                                                                \
        CUresult res_ = (call_);                                                        \
        if (res_ != CUDA_SUCCESS) {                                                     \
            fprintf(stderr, "bench_transpose: error %d of %s\n", (int) res_, #call_);   \
            MPI_Abort(MPI_COMM_WORLD, 2);                                               \
        }                                                                               \
    } while (0)

enum method { ALLTOALLW, ALLTOALL, NCCL, NMETHODS };
static const char *const method_names[NMETHODS] = { "alltoallw", "alltoall", "nccl" };

/* The rows of one process: `rows` of n elements, of the matrix and of its transpose. */
static struct matrix {
    int n, rows;
    size_t bytes;
    CUdeviceptr from, to, packed, arrived;
    int *counts, *displs;
    MPI_Datatype *from_types, *to_types;
} m;
static int rank, nprocs;
static CUstream stream;
static const struct nccl *nccl;         /* NULL: not measured */
static void *nccl_comm;

static size_t block_elements(void)
{
    return (size_t) m.rows * (size_t) m.rows;
}

/* The types of the block that goes to a process, and of the one that comes from it. */
static void types_make(int other)
{
    const int sizes[] = { m.rows, m.n }, subsizes[] = { m.rows, m.rows };
    const int starts[] = { 0, other * m.rows };
    MPI_Datatype column, element_wide;

    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE,
                             &m.from_types[other]);
    MPI_Type_vector(m.rows, 1, m.n, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &element_wide);
    MPI_Type_contiguous(m.rows, element_wide, &m.to_types[other]);
    MPI_Type_free(&column);
    MPI_Type_free(&element_wide);
    MPI_Type_commit(&m.from_types[other]);
    MPI_Type_commit(&m.to_types[other]);
    m.counts[other] = 1;
    m.displs[other] = other * m.rows * (int) sizeof(double);
}

static void matrix_make(long bytes)
{
    m.n = TILE * nprocs;
    while ((size_t) (m.n + TILE * nprocs) * (size_t) (m.n + TILE * nprocs) / (size_t) nprocs *
           sizeof(double) <= (size_t) bytes)
        m.n += TILE * nprocs;
    m.rows = m.n / nprocs;
    m.bytes = (size_t) m.rows * (size_t) m.n * sizeof(double);
    CU(cuMemAlloc(&m.from, m.bytes));
    CU(cuMemAlloc(&m.to, m.bytes));
    CU(cuMemAlloc(&m.packed, m.bytes));
    CU(cuMemAlloc(&m.arrived, m.bytes));
    m.counts = calloc((size_t) nprocs, sizeof(int));
    m.displs = calloc((size_t) nprocs, sizeof(int));
    m.from_types = calloc((size_t) nprocs, sizeof(MPI_Datatype));
    m.to_types = calloc((size_t) nprocs, sizeof(MPI_Datatype));
    for (int i = 0; i < nprocs; i++)
        types_make(i);
}

static void matrix_free(void)
{
    for (int i = 0; i < nprocs; i++) {
        MPI_Type_free(&m.from_types[i]);
        MPI_Type_free(&m.to_types[i]);
    }
    free(m.counts);
    free(m.displs);
    free(m.from_types);
    free(m.to_types);
    CU(cuMemFree(m.from));
    CU(cuMemFree(m.to));
    CU(cuMemFree(m.packed));
    CU(cuMemFree(m.arrived));
}

/* Pack the block of each process. */
static void pack_start(void)
{
    const size_t width = (size_t) m.rows * sizeof(double);

    for (int i = 0; i < nprocs; i++) {
        CUDA_MEMCPY2D copy = {
            .srcMemoryType = CU_MEMORYTYPE_DEVICE,.dstMemoryType = CU_MEMORYTYPE_DEVICE,
            .srcDevice = m.from + (size_t) i * width,.srcPitch = (size_t) m.n * sizeof(double),
            .dstDevice = m.packed + (size_t) i * block_elements() * sizeof(double),
            .dstPitch = width,.WidthInBytes = width,.Height = (size_t) m.rows
        };
        CU(cuMemcpy2DAsync(&copy, stream));
    }
}

static void transpose_all(void)
{
    for (int i = 0; i < nprocs; i++)
        transpose_start((double *) m.to + (size_t) i * (size_t) m.rows, m.n,
                        (const double *) m.arrived + (size_t) i * block_elements(), m.rows, stream);
    CU(cuStreamSynchronize(stream));
}

static void nccl_exchange(void)
{
    int res = nccl->ncclGroupStart();

    for (int i = 0; i < nprocs && res == 0; i++) {
        const size_t at = (size_t) i * block_elements();
        res = nccl->ncclSend((double *) m.packed + at, block_elements(), NCCL_FLOAT64, i, nccl_comm,
                             stream);
        if (res == 0)
            res = nccl->ncclRecv((double *) m.arrived + at, block_elements(), NCCL_FLOAT64, i,
                                 nccl_comm, stream);
    }
    if (res == 0)
        res = nccl->ncclGroupEnd();
    if (res) {
        fprintf(stderr, "bench_transpose: error %d of NCCL\n", res);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static void transpose_by(enum method method)
{
    static const int zeros[256];

    if (method == ALLTOALLW) {
        MPI_Alltoallw((void *) m.from, m.counts, zeros, m.from_types, (void *) m.to, m.counts,
                      m.displs, m.to_types, MPI_COMM_WORLD);
        return;
    }
    pack_start();
    if (method == NCCL) {
        nccl_exchange();
    } else {
        CU(cuStreamSynchronize(stream));
        MPI_Alltoall((void *) m.packed, (int) block_elements(), MPI_DOUBLE, (void *) m.arrived,
                     (int) block_elements(), MPI_DOUBLE, MPI_COMM_WORLD);
    }
    transpose_all();
}

/* Element (row, column) of the matrix is row * n + column. Returns 1 if the result is right. */
static int is_right(enum method method)
{
    double *mem = malloc(m.bytes);
    long wrong = 0;

    for (long i = 0; i < (long) m.rows * m.n; i++)
        mem[i] = (double) ((long) rank * m.rows * m.n + i);
    CU(cuMemcpyHtoD(m.from, mem, m.bytes));
    CU(cuMemsetD8(m.to, 0xff, m.bytes));
    CU(cuCtxSynchronize());
    transpose_by(method);
    CU(cuMemcpyDtoH(mem, m.to, m.bytes));
    for (long row = 0; row < m.rows; row++) {
        for (long column = 0; column < m.n; column++)
            wrong += mem[row * m.n + column] !=
                (double) (column * m.n + (long) rank * m.rows + row);
    }
    free(mem);
    if (wrong)
        fprintf(stderr, "bench_transpose: process %d, %s of %d x %d: %ld elements are wrong\n", rank,
                method_names[method], m.n, m.n, wrong);
    return wrong == 0;
}

static void measure(enum method method)
{
    double seconds[SAMPLES], mine;
    char name[64];

    for (int i = -WARM_UPS; i < SAMPLES; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        mine = MPI_Wtime();
        transpose_by(method);
        mine = MPI_Wtime() - mine;
        MPI_Allreduce(&mine, &seconds[i < 0 ? 0 : i], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    snprintf(name, sizeof(name), "transpose:%s/%d", method_names[method], nprocs);
    if (rank == 0)
        bench_row(name, (long long) m.bytes, seconds, SAMPLES);
}

static void gpu_open(int *ngpus)
{
    CUdevice device;
    CUcontext context;

    CU(cuInit(0));
    CU(cuDeviceGetCount(ngpus));
    CU(cuDeviceGet(&device, rank % *ngpus));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

static void nccl_open(int ngpus)
{
    nccl_id id;
    int res = 0;

    nccl = nprocs <= ngpus ? nccl_load() : NULL;
    if (nccl == NULL)
        return;
    if (rank == 0)
        res = nccl->ncclGetUniqueId(&id);
    MPI_Bcast(&id, (int) sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
    if (res || nccl->ncclCommInitRank(&nccl_comm, nprocs, id, rank))
        MPI_Abort(MPI_COMM_WORLD, 2);
}

int main(int argc, char **argv)
{
    static const long sizes[] = { 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 128 << 20 };
    int ngpus, good = 1, all;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    if (nprocs > 256)
        MPI_Abort(MPI_COMM_WORLD, 2);
    gpu_open(&ngpus);
    nccl_open(ngpus);
    if (rank == 0)
        bench_header("us");
    for (int s = 0; s < (argc > 1 ? argc - 1 : (int) (sizeof(sizes) / sizeof(sizes[0]))); s++) {
        const long bytes = argc > 1 ? bench_number(argv[s + 1], 1L << 30) : sizes[s];
        if (bytes == 0)
            MPI_Abort(MPI_COMM_WORLD, 2);
        matrix_make(bytes);
        for (enum method method = 0; method < NMETHODS; method++) {
            if (method == NCCL && nccl == NULL)
                continue;
            int right = is_right(method);
            measure(method);
            /* MPI may have begun to map memory meanwhile */
            right = is_right(method) && right;
            MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
            good = good && all;
        }
        matrix_free();
    }
    if (nccl)
        nccl->ncclCommDestroy(nccl_comm);
    CU(cuStreamDestroy(stream));
    MPI_Finalize();
    return !good;
}
