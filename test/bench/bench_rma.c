/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Measures one-sided operations with MPI_Win_flush between the GPUs of two processes, or of several pairs
 * of them at once, each from an even rank to the next one, in one window, while the targets are not in
 * MPI: puts and gets; accumulates of doubles; atomic operations on a 64-bit counter,
 * with origin and result in host memory (fetch-host, swap-host) or on the GPU (fetch-gpu); and the same
 * by all origins on the window of one target (fetch-one, accumulate-one). Beside it,
 * what the hardware does: an empty kernel with a synchronization (launch), and the driver's copy to
 * memory of the other process that the program has mapped itself (copy, which is 2-D for rows and 3-D
 * for boxes); and half of a round trip of messages with the same datatype at both ends (message). Prints
 * CSV: the median time in us, in rank 0.
 *
 *     contig          8 B to --most; also accumulates
 *     strided         the same bytes, every second double; also accumulates up to half of --most
 *     blocks          the same bytes, every second block of 256 B
 *     32x1024         32 operations of 1 KiB, then one flush
 *     X-Y, X-Z, Y-Z   faces of a cube of doubles, x fastest, of edge 64 to --edge
 *     box             a corner of the cube, of half its edge
 *
 * Each process uses a GPU of its own if there are enough. What was put is got back and compared. Memory
 * is mapped in any case (MPIR_CVAR_GPUDT_DIRECT=always), as messages would wait for the target for ever;
 * but with MPIR_CVAR_GPUDT_DIRECT=never it is not, and the targets wait in MPI.
 *
 *   mpiexec -n N bench_rma [--most BYTES] [--edge N] [--milliseconds MS] [--window gpu|host]
 *
 * With --window host the targets' windows are in pageable host memory, and they wait in MPI; the copy is to
 * GPU memory all the same.
 *
 * exit status: 0 good, 1 wrong data, 2 cannot run as asked */

#include <cuda.h>
#include <mpi.h>
#include <stdatomic.h>
#include <unistd.h>

#include "bench.h"

#define MAX_SAMPLES 400
#define MIN_SAMPLES 10
#define MANY 32
#define MANY_BYTES 1024
#define BLOCK 256               /* bytes */
#define TAG_LAST 1              /* of the message after the last one of a shape */

#define CU(call_)                                                                       \
    do {                                                                                \
        CUresult res_ = (call_);                                                        \
        if (res_ != CUDA_SUCCESS) {                                                     \
            fprintf(stderr, "bench_rma: error %d of %s\n", (int) res_, #call_);         \
            MPI_Abort(MPI_COMM_WORLD, 2);                                               \
        }                                                                               \
    } while (0)

/* Planes of rows of doubles in a buffer, and the datatype of all of them. */
struct shape {
    char name[32];
    size_t rows, row, pitch;    /* bytes of a row, and from one to the next */
    size_t planes, height;      /* rows from one plane to the next */
    MPI_Datatype type;
};

/* Bytes of a shape. */
static size_t shape_bytes(const struct shape *s)
{
    return s->planes * s->rows * s->row;
}

enum how {
    PUT, GET, COPY, LAUNCH, ACCUMULATE, GET_ACCUMULATE, FETCH_HOST, FETCH_GPU, SWAP_HOST, FETCH_ONE,
    ACCUMULATE_ONE, MESSAGE, NHOWS
};
static const char *const how_names[NHOWS] = {
    "put", "get", "copy", "launch", "accumulate", "get-accumulate", "fetch-host", "fetch-gpu",
    "swap-host", "fetch-one", "accumulate-one", "message"
};

static int rank, target;        /* the rank of the target; only in an origin */
static MPI_Comm pair, origins;  /* an origin and its target; all origins */
static int is_direct;           /* the targets are not in MPI */
static int is_host;             /* their windows are in host memory */
static long most = 64L << 20, edge = 512, milliseconds = 50;
static MPI_Win win;
static CUdeviceptr mine, theirs;        /* this process's buffer; one of the target, mapped here */
static size_t sz;               /* of each */
static CUstream stream;
static CUfunction empty;       /* NULL: a driver that takes no kernels, such as the emulated one */

static const char ptx[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry empty() { ret; }\n";

/* ---- shapes ---- */

static struct shape rows_make(const char *name, size_t rows, size_t row, size_t pitch)
{
    struct shape s = {.rows = rows,.row = row,.pitch = pitch,.planes = 1 };

    snprintf(s.name, sizeof(s.name), "%s", name);
    MPI_Type_vector((int) rows, (int) (row / sizeof(double)), (int) (pitch / sizeof(double)),
                    MPI_DOUBLE, &s.type);
    MPI_Type_commit(&s.type);
    return s;
}

/* A face of a cube, which is one double thick in a dimension: 0 is z, 2 is x. */
static struct shape face_make(int n, int thin)
{
    static const char *const names[] = { "X-Y", "X-Z", "Y-Z" };
    const size_t line = (size_t) n * sizeof(double);
    const int sizes[] = { n, n, n }, starts[] = { 0, 0, 0 };
    int subsizes[] = { n, n, n };
    struct shape s = {.rows = 1,.row = n * line,.pitch = n * line,.planes = 1 };

    if (thin == 1)
        s.rows = (size_t) n, s.row = line;
    if (thin == 2)
        s.rows = (size_t) n * (size_t) n, s.row = sizeof(double), s.pitch = line;
    subsizes[thin] = 1;
    snprintf(s.name, sizeof(s.name), "%s/%d", names[thin], n);
    MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &s.type);
    MPI_Type_commit(&s.type);
    return s;
}

/* A corner of a cube. */
static struct shape box_make(int n)
{
    const int sizes[] = { n, n, n }, starts[] = { 0, 0, 0 }, subsizes[] = { n / 2, n / 2, n / 2 };
    const size_t half = (size_t) n / 2;
    struct shape s = {
        .rows = half,.row = half * sizeof(double),.pitch = (size_t) n * sizeof(double),
        .planes = half,.height = (size_t) n
    };

    snprintf(s.name, sizeof(s.name), "box/%d", n);
    MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &s.type);
    MPI_Type_commit(&s.type);
    return s;
}

/* Call a function with a shape, and free that. */
static int shape_use(int (*use) (const struct shape * s), struct shape s)
{
    const int good = use(&s);

    MPI_Type_free(&s.type);
    return good;
}

/* The same with each shape. Returns whether no call returned 0. */
static int shapes_each(int (*use) (const struct shape * s))
{
    int good = 1;

    for (size_t bytes = 8; bytes <= (size_t) most; bytes *= 2) {
        good &= shape_use(use, rows_make("contig", 1, bytes, bytes));
        good &= shape_use(use, rows_make("strided", bytes / sizeof(double), sizeof(double),
                                         2 * sizeof(double)));
        if (bytes >= 2 * BLOCK)
            good &= shape_use(use, rows_make("blocks", bytes / BLOCK, BLOCK, 2 * BLOCK));
    }
    for (int n = 64; n <= (int) edge; n *= 2) {
        for (int thin = 0; thin < 3; thin++)
            good &= shape_use(use, face_make(n, thin));
        good &= shape_use(use, box_make(n));
    }
    return good;
}

/* ---- what is measured ---- */

static void copy_rows(const struct shape *s)
{
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,.srcDevice = mine,.srcPitch = s->pitch,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,.dstDevice = theirs,.dstPitch = s->pitch,
        .WidthInBytes = s->row,.Height = s->rows
    };

    CUDA_MEMCPY3D box = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,.srcDevice = mine,.srcPitch = s->pitch,
        .srcHeight = s->height,.dstMemoryType = CU_MEMORYTYPE_DEVICE,.dstDevice = theirs,
        .dstPitch = s->pitch,.dstHeight = s->height,.WidthInBytes = s->row,.Height = s->rows,
        .Depth = s->planes
    };

    if (s->planes > 1)
        CU(cuMemcpy3DAsync(&box, stream));
    else if (s->rows == 1)
        CU(cuMemcpyDtoDAsync(theirs, mine, s->row, stream));
    else
        CU(cuMemcpy2DAsync(&copy, stream));
    CU(cuStreamSynchronize(stream));
}

/* Start an operation that computes. The second half of this process's buffer is the result, without gaps. */
static void update(enum how how, const struct shape *s)
{
    static const int64_t one = 1;
    static int64_t seen, expected;
    const int is_contig = s == NULL || s->rows == 1;
    const int nresults = s ? (int) (shape_bytes(s) / sizeof(double)) : 1, n = is_contig ? nresults : 1;
    const MPI_Datatype type = is_contig ? MPI_DOUBLE : s->type;
    char *const result = (char *) mine + sz / 2;

    if (how == ACCUMULATE || how == ACCUMULATE_ONE)
        MPI_Accumulate((void *) mine, n, type, target, 0, n, type, MPI_SUM, win);
    else if (how == GET_ACCUMULATE)
        MPI_Get_accumulate((void *) mine, n, type, result, nresults, MPI_DOUBLE, target, 0, n, type,
                           MPI_SUM, win);
    else if (how == FETCH_HOST || how == FETCH_ONE)
        MPI_Fetch_and_op(&one, &seen, MPI_INT64_T, target, 0, MPI_SUM, win);
    else if (how == FETCH_GPU)
        MPI_Fetch_and_op((void *) mine, result, MPI_INT64_T, target, 0, MPI_SUM, win);
    else
        MPI_Compare_and_swap(&one, &expected, &seen, MPI_INT64_T, target, 0, win);
}

/* One sample: `times` operations, then one flush. */
static void once(enum how how, const struct shape *s, int times)
{
    if (how == LAUNCH) {
        CU(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
        CU(cuStreamSynchronize(stream));
        return;
    }
    if (how == COPY) {
        copy_rows(s);
        return;
    }
    if (how == MESSAGE) {
        MPI_Send((void *) mine, 1, s->type, 1, 0, pair);
        MPI_Recv((void *) mine, 1, s->type, 1, 0, pair, MPI_STATUS_IGNORE);
        return;
    }
    for (int i = 0; i < times; i++) {
        const size_t at = s ? (size_t) i * s->rows * s->pitch : 0;      /* of one plane */
        if (how > LAUNCH)
            update(how, s);
        else if (how == PUT)
            MPI_Put((char *) mine + at, 1, s->type, target, (MPI_Aint) at, 1, s->type, win);
        else
            MPI_Get((char *) mine + at, 1, s->type, target, (MPI_Aint) at, 1, s->type, win);
    }
    MPI_Win_flush(target, win);
}

static void measure(enum how how, const struct shape *s, int times)
{
    double seconds[MAX_SAMPLES], begin, start;
    char name[64];
    int n = 0;

    for (int i = 0; i < 3; i++)
        once(how, s, times);
    MPI_Barrier(origins);
    begin = MPI_Wtime();
    while (n < MAX_SAMPLES &&
           (n < MIN_SAMPLES || (MPI_Wtime() - begin) * 1e3 < (double) milliseconds)) {
        start = MPI_Wtime();
        once(how, s, times);
        seconds[n++] = (MPI_Wtime() - start) / (how == MESSAGE ? 2 : 1);
    }
    snprintf(name, sizeof(name), "%s:%s", how_names[how],
             s ? s->name : how == LAUNCH ? "empty" : "counter");
    if (rank == 0)
        bench_row(name, s ? (long long) (times * shape_bytes(s)) : how == LAUNCH ? 0 : 8, seconds, n);
}

/* Count in the window, and compare what is counted with the number of operations. */
static int measure_counter(void)
{
    int64_t zero = 0, seen = 0, one = 1, n = 100;

    MPI_Accumulate(&zero, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, MPI_REPLACE, win);
    CU(cuMemcpyHtoD(mine, &one, sizeof(one)));
    for (int i = 0; i < n; i++)
        once(i % 2 ? FETCH_HOST : FETCH_GPU, NULL, 1);
    MPI_Fetch_and_op(NULL, &seen, MPI_INT64_T, target, 0, MPI_NO_OP, win);
    MPI_Win_flush(target, win);
    if (seen != n)
        fprintf(stderr, "bench_rma: the counter is %lld\n", (long long) seen);
    for (enum how how = FETCH_HOST; how <= SWAP_HOST; how++)
        measure(how, NULL, 1);
    return seen == n;
}

/* Count in the window of one target, and compare; then measure that, and accumulates there. */
static int measure_one(void)
{
    const int own = target;
    int64_t zero = 0, seen = 0, n = 100;
    int norigins;

    MPI_Comm_size(origins, &norigins);
    target = 1;
    if (rank == 0) {
        MPI_Accumulate(&zero, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, MPI_REPLACE, win);
        MPI_Win_flush(target, win);
    }
    MPI_Barrier(origins);
    for (int i = 0; i < n; i++)
        once(FETCH_ONE, NULL, 1);
    MPI_Barrier(origins);
    MPI_Fetch_and_op(NULL, &seen, MPI_INT64_T, target, 0, MPI_NO_OP, win);
    MPI_Win_flush(target, win);
    if (seen != n * norigins)
        fprintf(stderr, "bench_rma: the counter of all origins is %lld\n", (long long) seen);
    MPI_Barrier(origins);
    measure(FETCH_ONE, NULL, 1);
    for (size_t bytes = 8; bytes <= (size_t) most; bytes *= 8) {
        struct shape s = rows_make("contig", 1, bytes, bytes);
        measure(ACCUMULATE_ONE, &s, 1);
        MPI_Type_free(&s.type);
    }
    target = own;
    MPI_Barrier(origins);
    return seen == n * norigins;
}

/* Put a pattern, get it back, and compare. */
static int is_right(const struct shape *s)
{
    const size_t plane = s->height * s->pitch;
    const size_t span = (s->planes - 1) * plane + (s->rows - 1) * s->pitch + s->row;
    unsigned char *sent = malloc(span), *seen = malloc(span);
    int good = sent && seen;

    for (size_t i = 0; good && i < span; i++)
        sent[i] = (unsigned char) (i * 7 + i / 251 + s->row);
    if (good) {
        CU(cuMemcpyHtoD(mine, sent, span));
        once(PUT, s, 1);
        CU(cuMemsetD8(mine, 0, span));
        CU(cuCtxSynchronize());
        once(GET, s, 1);
        CU(cuMemcpyDtoH(seen, mine, span));
    }
    for (size_t i = 0; good && i < s->planes * s->rows; i++) {
        const size_t at = i / s->rows * plane + i % s->rows * s->pitch;
        good = memcmp(sent + at, seen + at, s->row) == 0;
    }
    if (!good)
        fprintf(stderr, "bench_rma: wrong data: %s, %zu rows of %zu bytes\n", s->name, s->rows,
                s->row);
    free(sent);
    free(seen);
    return good;
}

/* Whether accumulates of a shape are measured: doubles in a row, or every second one. */
static int is_accumulated(const struct shape *s)
{
    const size_t elements = s->planes * s->rows;

    return (elements == 1 || (s->planes == 1 && s->pitch == 2 * sizeof(double))) &&
        elements * s->pitch <= (size_t) most;
}

static int shape_measure(const struct shape *s)
{
    const int good = is_right(s);

    for (enum how how = PUT; how <= COPY; how++)
        measure(how, s, 1);
    if (is_accumulated(s)) {
        for (enum how how = ACCUMULATE; how <= GET_ACCUMULATE; how++)
            measure(how, s, 1);
    }
    return good;
}

/* The origin's part. Returns whether all data was right. */
static int origin(void)
{
    int good = 1;
    struct shape s;

    if (empty)
        measure(LAUNCH, NULL, 1);
    good &= measure_counter();
    good &= measure_one();
    good &= shapes_each(shape_measure);
    s = rows_make("32x1024", 1, MANY_BYTES, MANY_BYTES);
    measure(PUT, &s, MANY);
    measure(GET, &s, MANY);
    MPI_Type_free(&s.type);
    if (empty)
        measure(LAUNCH, NULL, 1);
    return good;
}

static int messages_measure(const struct shape *s)
{
    measure(MESSAGE, s, 1);
    MPI_Send(NULL, 0, MPI_BYTE, 1, TAG_LAST, pair);
    return 1;
}

/* The target's part of it. */
static int messages_return(const struct shape *s)
{
    MPI_Status status;

    MPI_Recv((void *) mine, 1, s->type, 0, MPI_ANY_TAG, pair, &status);
    while (status.MPI_TAG != TAG_LAST) {
        MPI_Send((void *) mine, 1, s->type, 0, 0, pair);
        MPI_Recv((void *) mine, 1, s->type, 0, MPI_ANY_TAG, pair, &status);
    }
    return 1;
}

/* ---- all processes ---- */

static void options_parse(int argc, char **argv)
{
    int good = 1;

    for (int i = 1; i < argc; i += 2) {
        const char *text = i + 1 < argc ? argv[i + 1] : "";
        long number = bench_number(text, 1L << 30);

        if (strcmp(argv[i], "--window") == 0) {
            is_host = strcmp(text, "host") == 0;
            good &= is_host || strcmp(text, "gpu") == 0;
            continue;
        }
        if (strcmp(argv[i], "--most") == 0)
            most = number;
        else if (strcmp(argv[i], "--edge") == 0)
            edge = number;
        else if (strcmp(argv[i], "--milliseconds") == 0)
            milliseconds = number;
        else
            good = 0;
    }
    if (!good || most < 8 || edge < 1 || edge > 1024 || milliseconds < 1) {
        fprintf(stderr, "bench_rma: wrong options, see the head of bench_rma.c\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    sz = (size_t) edge * (size_t) edge * (size_t) edge * sizeof(double);
    if (sz < 2 * (size_t) most)
        sz = 2 * (size_t) most;
    if (sz < MANY * MANY_BYTES)
        sz = MANY * MANY_BYTES;
}

/* The memory of a process that its window is in, and that messages are sent from. */
static CUdeviceptr mine_make(void)
{
    CUdeviceptr made;

    if (is_host && rank % 2) {
        made = (CUdeviceptr) calloc(1, sz);
        if (made == 0)
            MPI_Abort(MPI_COMM_WORLD, 2);
    } else {
        CU(cuMemAlloc(&made, sz));
    }
    return made;
}

static void mine_free(void)
{
    if (is_host && rank % 2)
        free((void *) mine);
    else
        CU(cuMemFree(mine));
}

/* Map a second buffer of the target in the origin. Returns it in the target. */
static CUdeviceptr theirs_map(void)
{
    CUipcMemHandle handle;
    CUdeviceptr buffer = 0;

    if (rank % 2 == 1) {
        CU(cuMemAlloc(&buffer, sz));
        CU(cuIpcGetMemHandle(&handle, buffer));
    }
    MPI_Bcast(&handle, sizeof(handle), MPI_BYTE, 1, pair);
    if (rank % 2 == 0)
        CU(cuIpcOpenMemHandle(&theirs, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    return buffer;
}

int main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUdeviceptr buffer;
    MPI_Win done_win;
    MPI_Aint done_sz;
    const char *way = getenv("MPIR_CVAR_GPUDT_DIRECT");
    atomic_int *is_done;
    int nprocs, ngpus, unit, good = 1;

    is_direct = strcmp(way ? way : "", "never") != 0;
    if (is_direct)
        setenv("MPIR_CVAR_GPUDT_DIRECT", "always", 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    options_parse(argc, argv);
    is_direct &= !is_host;
    CU(cuInit(0));
    CU(cuDeviceGetCount(&ngpus));
    if (nprocs % 2) {
        fprintf(stderr, "bench_rma: needs pairs of processes\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    target = rank + 1;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &origins);
    CU(cuDeviceGet(&device, rank % ngpus));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    if (cuModuleLoadData(&module, ptx) != CUDA_SUCCESS ||
        cuModuleGetFunction(&empty, module, "empty") != CUDA_SUCCESS)
        empty = NULL;
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    mine = mine_make();
    buffer = theirs_map();
    MPI_Win_create((void *) mine, (MPI_Aint) sz, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (is_direct) {
        MPI_Win_allocate_shared(rank % 2 == 0 ? sizeof(*is_done) : 0, 1, MPI_INFO_NULL, pair,
                                &is_done, &done_win);
        MPI_Win_shared_query(done_win, 0, &done_sz, &unit, &is_done);
        if (rank % 2 == 0)
            atomic_store(is_done, 0);
    }

    if (rank == 0)
        bench_header("us");
    shapes_each(rank % 2 == 0 ? messages_measure : messages_return);
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank % 2 == 0) {
        good = origin();
        if (is_direct)
            atomic_store(is_done, 1);
        else
            MPI_Send(NULL, 0, MPI_BYTE, 1, TAG_LAST, pair);
    } else if (!is_direct) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_LAST, pair, MPI_STATUS_IGNORE);
    } else {
        while (!atomic_load(is_done))
            usleep(1000);
    }
    MPI_Win_unlock_all(win);

    if (is_direct)
        MPI_Win_free(&done_win);
    MPI_Win_free(&win);
    if (rank % 2 == 0)
        CU(cuIpcCloseMemHandle(theirs));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank % 2 == 1)
        CU(cuMemFree(buffer));
    mine_free();
    CU(cuStreamDestroy(stream));
    MPI_Comm_free(&pair);
    MPI_Comm_free(&origins);
    MPI_Finalize();
    return good ? 0 : 1;
}
