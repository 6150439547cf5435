/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Soak test: a long run's operations in a short time. In each round communicators, windows,
 * datatypes and buffers are created, messages of all sizes and modes are exchanged, another thread
 * has messages of its own, the GPU has other work, and everything is freed. After a tenth of the
 * time the library has allocated all it needs; at the end it must not have more of pinned memory,
 * GPU memory, datatypes there, open files, or memory of the process. Two processes or more.
 *
 *     soak [seconds [seed]] */

#include "randtype.h"
#include "report.h"
#include "side.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MSGS 8              /* in a round, each way */
#define BUFFERED_MAX (8 << 10)  /* bytes of a buffered message, approximately */
#define LOAD_SZ (4 << 20)       /* bytes of the GPU's other work */

enum mode { STANDARD, SYNCHRONOUS, READY, BUFFERED, PERSISTENT, NMODES };

/* A message from each process to the next one, and the one received from the previous one. */
struct msg {
    enum mode mode;
    MPI_Datatype type;
    MPI_Aint count;
    struct side out, in;
    MPI_Request requests[2];
};

static int rank, nprocs;
static CUstream load_stream;
static struct mem load_mem;

/* ---- resources of the process ---- */

struct state {
    unsigned long long pinned, device, types, heap_chunks;
    int files;
    double memory;              /* MiB of private memory */
};

static int files_count(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    CHECK(dir != NULL);
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

static double memory_get(void)
{
    char line[256];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");

    while (file && fgets(line, sizeof(line), file))
        sscanf(line, "RssAnon: %ld", &kib);
    if (file)
        fclose(file);
    CHECK(kib > 0);
    return kib / 1024.0;
}

static void state_get(struct state *state)
{
    state->pinned = report_variable("gpudt_pinned_bytes");
    state->device = report_variable("gpudt_device_bytes");
    state->types = report_variable("gpudt_cached_types");
    state->heap_chunks = report_variable("gpudt_heap_chunks");
    state->files = files_count();
    state->memory = memory_get();
}

/* Pools may have grown up to a small maximum; all other resources must not have. */
static void state_compare(const struct state *before, const struct state *after)
{
    if (after->pinned > before->pinned + (32 << 20))
        report_fail("%llu bytes are pinned, %llu were", after->pinned, before->pinned);
    if (after->device > before->device + (32 << 20))
        report_fail("%llu bytes of GPU memory are in use, %llu were", after->device,
                    before->device);
    if (after->types != before->types)
        report_fail("%llu datatypes are in GPU memory, %llu were", after->types, before->types);
    if (after->files != before->files)
        report_fail("%d files are open, %d were", after->files, before->files);
    if (after->memory > before->memory + 8)
        report_fail("the process has %.1f MiB of memory, it had %.1f", after->memory,
                    before->memory);
}

/* ---- messages ---- */

/* A datatype of about so many bytes: contiguous, equidistant blocks, a list, or a struct. */
static MPI_Datatype type_draw(struct rng *rng, MPI_Aint bytes, MPI_Aint * count)
{
    int n = (int) (bytes / 64 + 1), lens[64], displs[64];
    MPI_Aint offs[2] = { 0, 24 };
    MPI_Datatype type, types[2] = { MPI_DOUBLE, MPI_INT };

    *count = 1;
    switch (rng_range(rng, 0, 3)) {
        case 0:
            *count = bytes / 4;
            return MPI_INT;
        case 1:
            MPI_Type_vector(n, 16, (int) rng_range(rng, 17, 40), MPI_INT, &type);
            break;
        case 2:
            for (int i = 0; i < 64; i++) {
                lens[i] = (int) rng_range(rng, 1, 3);
                displs[i] = 5 * i + (int) rng_range(rng, 0, 1);
            }
            MPI_Type_indexed(64, lens, displs, MPI_INT, &type);
            *count = bytes / 512 + 1;
            break;
        default:
            lens[0] = lens[1] = (int) rng_range(rng, 1, 3);
            MPI_Type_create_struct(2, lens, offs, types, &type);
            *count = n / 2 + 1;
            break;
    }
    MPI_Type_commit(&type);
    return type;
}

static enum mem_kind kind_draw(struct rng *rng)
{
    static const enum mem_kind kinds[] = {
        MEM__DEVICE, MEM__DEVICE, MEM__DEVICE, MEM__OTHER_DEVICE, MEM__MANAGED, MEM__POOL,
        MEM__PINNED, MEM__PAGEABLE
    };
    enum mem_kind kind = kinds[rng_range(rng, 0, 7)];

    return mem_exists(kind) ? kind : MEM__DEVICE;
}

/* Draw a message and make its buffers. All processes draw the same messages, each with its own
 * memory. */
static void msg_make(struct msg *m, struct rng *rng, struct rng *own, unsigned seed)
{
    int bits = (int) rng_range(rng, 3, 21);
    MPI_Aint bytes = (MPI_Aint) rng_range(rng, 8, (int64_t) 1 << bits);

    m->mode = (enum mode) rng_range(rng, 0, NMODES - 1);
    if (m->mode == BUFFERED && bytes > BUFFERED_MAX)
        m->mode = STANDARD;
    m->type = type_draw(rng, bytes, &m->count);
    side_make(&m->out, kind_draw(own), m->type, m->count, (int) rng_range(own, 0, 15));
    side_make(&m->in, kind_draw(own), m->type, m->count, (int) rng_range(own, 0, 15));
    side_fill(&m->out, seed + rank);
    side_clear(&m->in, seed + (rank + nprocs - 1) % nprocs);
}

static void msg_recv(struct msg *m, int tag, MPI_Comm comm)
{
    int from = (rank + nprocs - 1) % nprocs;

    if (m->mode == PERSISTENT) {
        CHECK_MPI(MPI_Recv_init(m->in.buf, (int) m->count, m->type, from, tag, comm,
                                &m->requests[0]));
        CHECK_MPI(MPI_Start(&m->requests[0]));
    } else {
        CHECK_MPI(MPI_Irecv(m->in.buf, (int) m->count, m->type, from, tag, comm,
                            &m->requests[0]));
    }
}

static void msg_send(struct msg *m, int tag, MPI_Comm comm, int may_be_ready)
{
    int to = (rank + 1) % nprocs, n = (int) m->count;
    MPI_Request *request = &m->requests[1];

    switch (m->mode) {
        case SYNCHRONOUS:
            CHECK_MPI(MPI_Issend(m->out.buf, n, m->type, to, tag, comm, request));
            break;
        case BUFFERED:
            CHECK_MPI(MPI_Ibsend(m->out.buf, n, m->type, to, tag, comm, request));
            break;
        case PERSISTENT:
            CHECK_MPI(MPI_Send_init(m->out.buf, n, m->type, to, tag, comm, request));
            CHECK_MPI(MPI_Start(request));
            break;
        case READY:
            if (may_be_ready) {
                CHECK_MPI(MPI_Irsend(m->out.buf, n, m->type, to, tag, comm, request));
                break;
            }
            /* fall through */
        default:
            CHECK_MPI(MPI_Isend(m->out.buf, n, m->type, to, tag, comm, request));
            break;
    }
}

static void msg_end(struct msg *m, unsigned seed)
{
    MPI_Status statuses[2];

    CHECK_MPI(MPI_Waitall(2, m->requests, statuses));
    side_check(&m->in, "a received buffer", seed + (rank + nprocs - 1) % nprocs, m->in.size);
    side_check(&m->out, "a sent buffer", seed + rank, m->out.size);
    if (m->mode == PERSISTENT) {
        MPI_Request_free(&m->requests[0]);
        MPI_Request_free(&m->requests[1]);
    }
    side_free(&m->in);
    side_free(&m->out);
}

static void type_end(struct msg *m)
{
    if (m->type != MPI_INT)
        MPI_Type_free(&m->type);
}

/* Messages round a ring of processes; receives are posted first, or last. */
static void messages(struct rng *rng, struct rng *own, unsigned seed, MPI_Comm comm)
{
    struct msg msgs[MAX_MSGS];
    int n = (int) rng_range(rng, 1, MAX_MSGS), posted = rng_chance(rng, 50);
    int types_first = rng_chance(rng, 50);

    for (int i = 0; i < n; i++)
        msg_make(&msgs[i], rng, own, seed + 100 * i);
    for (int i = 0; posted && i < n; i++)
        msg_recv(&msgs[i], i, comm);
    CHECK_MPI(MPI_Barrier(comm));
    for (int i = 0; i < n; i++)
        msg_send(&msgs[i], i, comm, posted);
    for (int i = 0; !posted && i < n; i++)
        msg_recv(&msgs[i], i, comm);
    for (int i = 0; types_first && i < n; i++)
        type_end(&msgs[i]);
    for (int i = 0; i < n; i++)
        msg_end(&msgs[i], seed + 100 * i);
    for (int i = 0; !types_first && i < n; i++)
        type_end(&msgs[i]);
}

/* ---- what else goes on ---- */

/* A thread of the program: short messages on a communicator of its own. */
static void *thread(void *arg)
{
    MPI_Comm comm = *(MPI_Comm *) arg;

    gpu_set_current(0);
    for (int i = 0; i < 8; i++) {
        int n = 1 + i * i * 40, to = (rank + 1) % nprocs, from = (rank + nprocs - 1) % nprocs;
        struct side out, in;
        side_make(&out, MEM__DEVICE, MPI_INT, n, 0);
        side_make(&in, MEM__DEVICE, MPI_INT, n, 0);
        side_fill(&out, 7 * i + rank);
        side_clear(&in, 7 * i + from);
        CHECK_MPI(MPI_Sendrecv(out.buf, n, MPI_INT, to, i, in.buf, n, MPI_INT, from, i, comm,
                               MPI_STATUS_IGNORE));
        side_check(&in, "a thread's buffer", 7 * i + from, in.size);
        side_free(&out);
        side_free(&in);
    }
    return NULL;
}

/* Other work of the program's on the GPU. */
static void load_start(void)
{
    for (int i = 0; i < 4; i++) {
        CU(MemsetD8Async((CUdeviceptr) load_mem.addr, (unsigned char) i, LOAD_SZ, load_stream));
        CU(MemcpyAsync((CUdeviceptr) load_mem.addr, (CUdeviceptr) (load_mem.addr + LOAD_SZ),
                       LOAD_SZ, load_stream));
    }
}

static MPI_Win win_make(MPI_Comm comm)
{
    MPI_Win win;
    int *mem;

    CHECK_MPI(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &mem, &win));
    return win;
}

static void win_use(MPI_Win win)
{
    int value = rank, *mem, flag;

    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK_MPI(MPI_Put(&value, 1, MPI_INT, (rank + 1) % nprocs, 0, 1, MPI_INT, win));
    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK_MPI(MPI_Win_get_attr(win, MPI_WIN_BASE, &mem, &flag));
    CHECK(*mem == (rank + nprocs - 1) % nprocs);
}

static void turn(struct rng *rng, struct rng *own, unsigned seed)
{
    int has_win = rng_chance(rng, 50);
    MPI_Comm comms[2];
    pthread_t other;
    MPI_Win win;

    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comms[1]));
    if (pthread_create(&other, NULL, thread, &comms[0]))
        exit(3);
    load_start();
    if (has_win)
        win = win_make(comms[1]);
    messages(rng, own, seed, comms[1]);
    if (has_win) {
        win_use(win);
        CHECK_MPI(MPI_Win_free(&win));
        messages(rng, own, seed + 1000, comms[1]);
    }
    pthread_join(other, NULL);
    CU(StreamSynchronize(load_stream));
    CHECK_MPI(MPI_Comm_free(&comms[1]));
    CHECK_MPI(MPI_Comm_free(&comms[0]));
}

/* Rounds until a time is reached, as seen by process 0. Returns their number. */
static int turns(struct rng *rng, struct rng *own, double until)
{
    int n = 0, go_on = 1;

    while (go_on) {
        turn(rng, own, 10000u * (unsigned) n++);
        go_on = MPI_Wtime() < until && report_failures == 0;
        CHECK_MPI(MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    return n;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 10, begin;
    unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
    static char attached[2 * MAX_MSGS * (2 * BUFFERED_MAX + MPI_BSEND_OVERHEAD)];
    struct state before, after;
    struct rng rng, own;
    int provided, n, size;
    void *detached;

    report_time_limit((unsigned) (3 * seconds) + 100);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    CU(StreamCreate(&load_stream, CU_STREAM_NON_BLOCKING));
    mem_alloc(&load_mem, MEM__DEVICE, 2 * LOAD_SZ);
    MPI_Buffer_attach(attached, sizeof(attached));
    rng_init(&rng, seed);
    rng_init(&own, seed + 1 + rank);

    begin = MPI_Wtime();
    n = turns(&rng, &own, begin + seconds / 10);
    state_get(&before);
    n += turns(&rng, &own, begin + seconds);
    state_get(&after);
    state_compare(&before, &after);
    if (rank == 0 || report_failures)
        fprintf(stderr, "soak %.0f %lu: %d turns in %.1f s\n", seconds, seed, n,
                MPI_Wtime() - begin);

    MPI_Buffer_detach(&detached, &size);
    mem_free(&load_mem);
    CU(StreamDestroy(load_stream));
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
