/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures collectives, one of them also in place and nonblocking, and MPI_Reduce_local on doubles in GPU memory,
 * beside the same with copies of the program's own to and from pinned memory (staged), pinned memory
 * alone (host), and NCCL with a synchronization after each call, if the machine has it and a GPU for
 * each process (nccl).
 * Prints CSV: the median time of a call in us, of the process that takes longest. The bytes are
 * those of MPI's count; with Allgather, Alltoall and Reduce_scatter_block those of one pair of
 * processes times the number of processes. Each process uses a GPU of its own as long as there are
 * enough. The results of the calls before and after those that are timed are checked: from one to the
 * other the library may have begun to map memory.
 *
 *   mpiexec -n N bench_coll [--calls NAME,...] [--methods NAME,...] [--least BYTES] [--most BYTES]
 *                           [--milliseconds MS]
 *
 * exit status: 0 good, 1 wrong data, 2 cannot run as asked */

#include <cuda.h>
#include <mpi.h>

#include "bench.h"
#include "bench_coll_nccl.h"

#define MAX_SAMPLES 200
#define MIN_SAMPLES 5

#define CU(call_)                                                                       \
    do {                                                                                \
        CUresult res_ = (call_);                                                        \
        if (res_ != CUDA_SUCCESS) {                                                     \
            fprintf(stderr, "bench_coll: error %d of %s\n", (int) res_, #call_);        \
            MPI_Abort(MPI_COMM_WORLD, 2);                                               \
        }                                                                               \
    } while (0)

enum call {
    ALLREDUCE, ALLREDUCE_IN_PLACE, IALLREDUCE, REDUCE, REDUCE_SCATTER_BLOCK, BCAST, ALLGATHER, ALLTOALL,
    REDUCE_LOCAL, NCALLS
};
static const char *const call_names[NCALLS] = {
    "allreduce", "allreduce_in_place", "iallreduce", "reduce", "reduce_scatter_block", "bcast",
    "allgather", "alltoall", "reduce_local"
};

enum method { GPU, STAGED, HOST, NCCL, NMETHODS };
static const char *const method_names[NMETHODS] = { "gpu", "staged", "host", "nccl" };

/* Buffers of the most bytes. */
struct buffers {
    double *gpu_from, *gpu_to, *host_from, *host_to;
};

static int rank, nprocs;
static long least = 8, most = 64L << 20, milliseconds = 50;
static const char *wanted_calls = "", *wanted_methods = "";
static const struct nccl *nccl;         /* NULL: not measured */
static void *nccl_comm;
static CUstream stream;
/* Each method has its own communicator: after calls with buffers in host memory, those with buffers
 * on GPUs would find out only some calls later that they may go another way. */
static MPI_Comm comms[NMETHODS], comm;

/* Bytes that a process sends, and that it receives. */
static size_t sent(enum call c, size_t bytes)
{
    return c == ALLGATHER ? bytes / (size_t) nprocs : bytes;
}

static size_t received(enum call c, size_t bytes)
{
    return c == REDUCE_SCATTER_BLOCK ? bytes / (size_t) nprocs : bytes;
}

static void call_once(enum call c, size_t bytes, double *from, double *to)
{
    const int n = (int) (bytes / sizeof(double)), part = n / nprocs;
    MPI_Request request;

    switch (c) {
        case ALLREDUCE:
            MPI_Allreduce(from, to, n, MPI_DOUBLE, MPI_SUM, comm);
            break;
        case ALLREDUCE_IN_PLACE:
            MPI_Allreduce(MPI_IN_PLACE, to, n, MPI_DOUBLE, MPI_SUM, comm);
            break;
        case IALLREDUCE:
            MPI_Iallreduce(from, to, n, MPI_DOUBLE, MPI_SUM, comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
        case REDUCE:
            MPI_Reduce(from, to, n, MPI_DOUBLE, MPI_SUM, 0, comm);
            break;
        case REDUCE_SCATTER_BLOCK:
            MPI_Reduce_scatter_block(from, to, part, MPI_DOUBLE, MPI_SUM, comm);
            break;
        case BCAST:
            MPI_Bcast(rank == 0 ? from : to, n, MPI_DOUBLE, 0, comm);
            break;
        case ALLGATHER:
            MPI_Allgather(from, part, MPI_DOUBLE, to, part, MPI_DOUBLE, comm);
            break;
        case ALLTOALL:
            MPI_Alltoall(from, part, MPI_DOUBLE, to, part, MPI_DOUBLE, comm);
            break;
        default:
            MPI_Reduce_local(from, to, n, MPI_DOUBLE, MPI_SUM);
    }
}

/* The same by NCCL; only called for what NCCL has. */
static void call_nccl(enum call c, size_t bytes, double *from, double *to)
{
    const size_t n = bytes / sizeof(double), part = n / (size_t) nprocs;
    int res = 0;

    switch (c) {
        case ALLREDUCE:
        case IALLREDUCE:
            res = nccl->ncclAllReduce(from, to, n, NCCL_FLOAT64, NCCL_SUM, nccl_comm, stream);
            break;
        case ALLREDUCE_IN_PLACE:
            res = nccl->ncclAllReduce(to, to, n, NCCL_FLOAT64, NCCL_SUM, nccl_comm, stream);
            break;
        case REDUCE:
            res = nccl->ncclReduce(from, to, n, NCCL_FLOAT64, NCCL_SUM, 0, nccl_comm, stream);
            break;
        case REDUCE_SCATTER_BLOCK:
            res = nccl->ncclReduceScatter(from, to, part, NCCL_FLOAT64, NCCL_SUM, nccl_comm,
                                          stream);
            break;
        case BCAST:
            /* in place at the root, as MPI_Bcast is */
            res = nccl->ncclBroadcast(from, rank == 0 ? from : to, n, NCCL_FLOAT64, 0, nccl_comm,
                                      stream);
            break;
        case ALLGATHER:
            res = nccl->ncclAllGather(from, to, part, NCCL_FLOAT64, nccl_comm, stream);
            break;
        default:
            res = nccl->ncclGroupStart();
            for (int i = 0; i < nprocs && res == 0; i++) {
                size_t at = part * (size_t) i;
                res = nccl->ncclSend(from + at, part, NCCL_FLOAT64, i, nccl_comm, stream);
                if (res == 0)
                    res = nccl->ncclRecv(to + at, part, NCCL_FLOAT64, i, nccl_comm, stream);
            }
            if (res == 0)
                res = nccl->ncclGroupEnd();
    }
    if (res) {
        fprintf(stderr, "bench_coll: error %d of NCCL\n", res);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    CU(cuStreamSynchronize(stream));
}

static void call_by(enum method m, enum call c, size_t bytes, const struct buffers *b)
{
    comm = comms[m];
    if (m == NCCL) {
        call_nccl(c, bytes, b->gpu_from, b->gpu_to);
        return;
    }
    if (m == GPU) {
        call_once(c, bytes, b->gpu_from, b->gpu_to);
        return;
    }
    if (m == STAGED) {
        if (c != ALLREDUCE_IN_PLACE)
            CU(cuMemcpy((CUdeviceptr) b->host_from, (CUdeviceptr) b->gpu_from, sent(c, bytes)));
        if (c == REDUCE_LOCAL || c == ALLREDUCE_IN_PLACE)
            CU(cuMemcpy((CUdeviceptr) b->host_to, (CUdeviceptr) b->gpu_to, bytes));
    }
    call_once(c, bytes, b->host_from, b->host_to);
    if (m == STAGED)
        CU(cuMemcpy((CUdeviceptr) b->gpu_to, (CUdeviceptr) b->host_to, received(c, bytes)));
}

/* Element i of what a process sends. */
static double value(int from, size_t i)
{
    return (double) (from + 1) * (double) (i % 1000 + 1);
}

/* Element i of what this process gets. */
static double expected(enum call c, size_t n, size_t i)
{
    const size_t part = n / (size_t) nprocs;
    const double all = nprocs * (nprocs + 1) / 2;

    switch (c) {
        case ALLREDUCE:
        case ALLREDUCE_IN_PLACE:
        case IALLREDUCE:
        case REDUCE:
            return all * value(0, i);
        case REDUCE_SCATTER_BLOCK:
            return all * value(0, i + part * (size_t) rank);
        case BCAST:
            return value(0, i);
        case ALLGATHER:
            return value((int) (i / part), i % part);
        case ALLTOALL:
            return value((int) (i / part), i % part + part * (size_t) rank);
        default:
            return value(rank, i);
    }
}

/* Run a case once and compare its result. Returns whether it is right. */
static int is_right(enum method m, enum call c, size_t bytes, const struct buffers *b)
{
    const size_t n = bytes / sizeof(double), ngot = received(c, bytes) / sizeof(double);
    const int has_result = !(c == REDUCE && rank > 0) && !(c == BCAST && rank == 0);

    for (size_t i = 0; i < n; i++)
        b->host_from[i] = value(rank, i);
    if (c == ALLREDUCE_IN_PLACE)
        memcpy(b->host_to, b->host_from, bytes);
    else
        memset(b->host_to, 0, bytes);
    CU(cuMemcpy((CUdeviceptr) b->gpu_from, (CUdeviceptr) b->host_from, bytes));
    CU(cuMemcpy((CUdeviceptr) b->gpu_to, (CUdeviceptr) b->host_to, bytes));
    CU(cuCtxSynchronize());
    call_by(m, c, bytes, b);
    if (m != HOST)
        CU(cuMemcpy((CUdeviceptr) b->host_to, (CUdeviceptr) b->gpu_to, bytes));
    for (size_t i = 0; i < ngot && has_result; i++) {
        if (b->host_to[i] != expected(c, n, i)) {
            fprintf(stderr, "bench_coll: process %d, %s:%s, %zu bytes: element %zu is %g, not %g\n",
                    rank, call_names[c], method_names[m], bytes, i, b->host_to[i],
                    expected(c, n, i));
            return 0;
        }
    }
    return 1;
}

static void measure(enum method m, enum call c, size_t bytes, const struct buffers *b)
{
    double seconds[MAX_SAMPLES], mine, begin = MPI_Wtime();
    char name[64];
    int n = 0, is_done = 0;

    while (!is_done) {
        MPI_Barrier(MPI_COMM_WORLD);
        mine = MPI_Wtime();
        call_by(m, c, bytes, b);
        mine = MPI_Wtime() - mine;
        MPI_Allreduce(&mine, &seconds[n++], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        is_done = n == MAX_SAMPLES ||
            (n >= MIN_SAMPLES && (MPI_Wtime() - begin) * 1e3 > (double) milliseconds);
        MPI_Bcast(&is_done, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    snprintf(name, sizeof(name), "%s:%s/%d", call_names[c], method_names[m], nprocs);
    if (rank == 0)
        bench_row(name, (long long) bytes, seconds, n);
}

static void options_parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        const char *text = i + 1 < argc ? argv[i + 1] : "";
        long number = bench_number(text, 1L << 30);

        if (strcmp(argv[i], "--calls") == 0)
            wanted_calls = text;
        else if (strcmp(argv[i], "--methods") == 0)
            wanted_methods = text;
        else if (strcmp(argv[i], "--least") == 0)
            least = number;
        else if (strcmp(argv[i], "--most") == 0)
            most = number;
        else if (strcmp(argv[i], "--milliseconds") == 0)
            milliseconds = number;
        else
            least = 0;
    }
    if (least < 8 || most < least || milliseconds < 1) {
        if (rank == 0)
            fprintf(stderr, "bench_coll: wrong options, see the head of bench_coll.c\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

/* Whether a list has a name. An empty list has all. */
static int is_wanted(const char *list, const char *name)
{
    const char *at = strstr(list, name);
    size_t len = strlen(name);

    while (at && !((at == list || at[-1] == ',') && (at[len] == ',' || at[len] == '\0')))
        at = strstr(at + 1, name);
    return *list == '\0' || at != NULL;
}

/* Whether a call is to be measured and can have so many bytes: a multiple of a double for each
 * process. */
static int is_possible(enum method m, enum call c, size_t bytes)
{
    if (!is_wanted(wanted_methods, method_names[m]) ||
        (m == NCCL && (nccl == NULL || c == REDUCE_LOCAL)))
        return 0;
    return bytes / sizeof(double) % (size_t) nprocs == 0 ||
        (c != REDUCE_SCATTER_BLOCK && c != ALLGATHER && c != ALLTOALL);
}

/* Connect the processes by NCCL, if each has a GPU. */
static void nccl_open(int ngpus)
{
    nccl_id id;
    int res = 0;

    nccl = nprocs <= ngpus && is_wanted(wanted_methods, method_names[NCCL]) ? nccl_load() : NULL;
    if (nccl == NULL)
        return;
    if (rank == 0)
        res = nccl->ncclGetUniqueId(&id);
    MPI_Bcast(&id, (int) sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
    if (res || nccl->ncclCommInitRank(&nccl_comm, nprocs, id, rank)) {
        fprintf(stderr, "bench_coll: NCCL does not start\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

int main(int argc, char **argv)
{
    struct buffers b;
    CUdevice device;
    CUcontext context;
    int ngpus, good = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    options_parse(argc, argv);
    CU(cuInit(0));
    CU(cuDeviceGetCount(&ngpus));
    CU(cuDeviceGet(&device, rank % ngpus));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    CU(cuMemAlloc((CUdeviceptr *) &b.gpu_from, (size_t) most));
    CU(cuMemAlloc((CUdeviceptr *) &b.gpu_to, (size_t) most));
    CU(cuMemAllocHost((void **) &b.host_from, (size_t) most));
    CU(cuMemAllocHost((void **) &b.host_to, (size_t) most));

    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    nccl_open(ngpus);

    for (enum method m = 0; m < NMETHODS; m++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[m]);
    if (rank == 0)
        bench_header("us");
    for (enum call c = 0; c < NCALLS; c++) {
        if (!is_wanted(wanted_calls, call_names[c]))
            continue;
        for (size_t bytes = (size_t) least; bytes <= (size_t) most; bytes *= 8) {
            for (enum method m = 0; m < NMETHODS; m++) {
                if (!is_possible(m, c, bytes))
                    continue;
                int mine = is_right(m, c, bytes, &b), all;
                measure(m, c, bytes, &b);
                mine = is_right(m, c, bytes, &b) && mine;
                MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
                good = good && all;
            }
        }
    }
    if (nccl)
        nccl->ncclCommDestroy(nccl_comm);
    for (enum method m = 0; m < NMETHODS; m++)
        MPI_Comm_free(&comms[m]);
    CU(cuMemFreeHost(b.host_from));
    CU(cuMemFreeHost(b.host_to));
    CU(cuMemFree((CUdeviceptr) b.gpu_from));
    CU(cuMemFree((CUdeviceptr) b.gpu_to));
    MPI_Finalize();
    return good ? 0 : 1;
}
