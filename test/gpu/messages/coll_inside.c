/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Nonblocking collectives in states that a program cannot bring about, or only by many calls, so that
 * the library's own variables are set. They are between GPUs, but for `refused`:
 *
 *     coll_inside tags         calls with the tags at which MPICH begins to use older ones anew, with
 *                              processes that differ in how they make a call
 *     coll_inside no-memory    a process that has no memory for an operation
 *     coll_inside refused      a process that takes no part in calls that the others do by MPICH's
 *                              algorithms: with MPIR_CVAR_GPUDT_COLL=never
 *     coll_inside restarted    a process that has seen an error of a persistent call before, and the
 *                              others have not
 *     coll_inside truncated    processes that make different calls */

#include "mpidimpl.h"
#include "mpidi_gpudt_icoll.h"
#include "gpu.h"
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define N 600
/* Integers for which MPICH sends in a ring: in messages that are sent without the receiver's help, to
 * which allgatherv cuts longer data */
#define RING_N 12000
#define LONG_N 300000
#define MAX_N 8

static int rank, nprocs;
static int has_no_memory = 0;
static struct mem from, to;     /* MAX_N * N integers in GPU memory, which are 0 at first */
static int host_from[MAX_N * LONG_N], host_to[MAX_N * LONG_N];

/* The library's, as this program is linked with it. */
void *mmap(void *addr, size_t sz, int prot, int flags, int fd, off_t at)
{
    if (has_no_memory && (flags & MAP_ANONYMOUS)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *) syscall(SYS_mmap, addr, sz, prot, flags, fd, at);
}

static MPIR_Comm *comm_of(MPI_Comm comm)
{
    MPIR_Comm *ptr;

    MPIR_Comm_get_ptr(comm, ptr);
    return ptr;
}

/* ---- tags ---- */

/* Sums of which one process has its operand in host memory, so that all learn that they are not for the
 * GPU: the second one makes the third one not ask. Process 0 makes the third one when it knows that,
 * and the others before. */
static void sums_run(MPI_Comm comm, int tag)
{
    const int is_host = rank == nprocs - 1;
    MPI_Request requests[2];
    int token = 0, values[N], seen[3][N];
    void *operand = is_host ? (void *) values : from.addr, *sums[3];

    memset(seen, 0xff, sizeof(seen));
    mem_write(&to, 0, seen, sizeof(seen));
    for (int i = 0; i < 3; i++)
        sums[i] = is_host ? (void *) seen[i] : to.addr + i * sizeof(seen[0]);
    for (int i = 0; i < N; i++)
        values[i] = i;
    mem_write(&from, 0, values, sizeof(values));
    CHECK_MPI(MPI_Iallreduce(operand, sums[0], N, MPI_INT, MPI_SUM, comm, &requests[0]));
    CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    comm_of(comm)->next_sched_tag = tag;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 1; i < nprocs && rank == 0; i++)
        CHECK_MPI(MPI_Recv(&token, 1, MPI_INT, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Iallreduce(operand, sums[1], N, MPI_INT, MPI_SUM, comm, &requests[0]));
    if (rank == 0)
        CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Iallreduce(operand, sums[2], N, MPI_INT, MPI_SUM, comm, &requests[1]));
    if (rank > 0)
        CHECK_MPI(MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    if (!is_host)
        mem_read(&to, 0, seen, sizeof(seen));
    for (int i = 0; i < 3; i++)
        CHECK(seen[i][N - 1] == nprocs * (N - 1));
}

static void tags_run(void)
{
    const int tag_ub = MPIR_Process.attrs.tag_ub, ends[] = { tag_ub / 2, tag_ub };
    MPI_Comm comm;
    int next[2];

    for (int i = 0; i < 2; i++) {
        for (int before = 1; before < 5; before++) {
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            sums_run(comm, ends[i] - before);
            next[0] = comm_of(comm)->next_sched_tag;
            next[1] = -next[0];
            CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, next, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
            CHECK(next[0] == -next[1]);
            MPI_Comm_free(&comm);
        }
    }
}

/* ---- a process that cannot take part ---- */

/* Whether an error tells that the last process has failed. */
static int is_of_last(int err)
{
    char text[100];

    snprintf(text, sizeof(text), "Process %d could not do its part of a collective", nprocs - 1);
    return MPIR_ERR_GET_CLASS(err) == MPI_ERR_OTHER && strstr(report_mpi_text(err), text) != NULL;
}

static void no_memory_run(void)
{
    MPI_Request request;
    int err, sum = -1;

    mem_write(&from, 0, &rank, sizeof(rank));
    mem_write(&to, 0, &sum, sizeof(sum));
    for (int i = 0; i < 2; i++) {
        has_no_memory = i == 0 && rank == nprocs - 1;
        err = MPI_Iallreduce(from.addr, to.addr, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        has_no_memory = 0;
        if (err == MPI_SUCCESS)
            err = MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK((err != MPI_SUCCESS) == (i == 0));
        CHECK(i > 0 || is_of_last(err) == (rank < nprocs - 1));
        mem_read(&to, 0, &sum, sizeof(sum));
        CHECK(i == 0 || sum == nprocs * (nprocs - 1) / 2);
    }
}

/* Of MPI_Iallgatherv: long blocks are cut only if there is a short one. */
static int block_n(int i, int n)
{
    return i == 0 ? MPL_MIN(n, 100) : n;
}

/* A call of n integers for each process. */
static int call_start(MPI_Comm comm, enum MPIDI_Gpudt_coll_e kind, int n, void *send, void *recv,
                      MPI_Request * request)
{
    int counts[MAX_N], displs[MAX_N];

    for (int i = 0; i < nprocs; i++) {
        counts[i] = n;
        displs[i] = i * n;
    }
    switch (kind) {
        case MPIDI_GPUDT_COLL__ALLREDUCE:
            return MPI_Iallreduce(send, recv, n, MPI_INT, MPI_SUM, comm, request);
        case MPIDI_GPUDT_COLL__REDUCE:
            return MPI_Ireduce(send, recv, n, MPI_INT, MPI_SUM, 0, comm, request);
        case MPIDI_GPUDT_COLL__REDUCE_SCATTER_BLOCK:
            return MPI_Ireduce_scatter_block(send, recv, n, MPI_INT, MPI_SUM, comm, request);
        case MPIDI_GPUDT_COLL__REDUCE_SCATTER:
            return MPI_Ireduce_scatter(send, recv, counts, MPI_INT, MPI_SUM, comm, request);
        case MPIDI_GPUDT_COLL__ALLGATHER:
            return MPI_Iallgather(send, n, MPI_INT, recv, n, MPI_INT, comm, request);
        case MPIDI_GPUDT_COLL__BCAST:
            return MPI_Ibcast(send, n, MPI_INT, 0, comm, request);
        case MPIDI_GPUDT_COLL__ALLGATHERV:
            for (int i = 0; i < nprocs; i++)
                counts[i] = block_n(i, n);
            return MPI_Iallgatherv(send, counts[rank], MPI_INT, recv, counts, displs, MPI_INT, comm,
                                   request);
        case MPIDI_GPUDT_COLL__GATHER:
            return MPI_Igather(send, n, MPI_INT, recv, n, MPI_INT, 0, comm, request);
        case MPIDI_GPUDT_COLL__SCATTER:
            return MPI_Iscatter(send, n, MPI_INT, recv, n, MPI_INT, 0, comm, request);
        default:
            return MPI_Ialltoall(send, n, MPI_INT, recv, n, MPI_INT, comm, request);
    }
}

/* What this process sends instead. */
static void call_refuse(MPIR_Comm * comm, enum MPIDI_Gpudt_coll_e kind, int n)
{
    MPI_Aint counts[MAX_N], displs[MAX_N];
    struct MPIDI_Gpudt_icall call = {.kind = kind,.comm = comm,
        .recv = {.counts = counts,.displs = displs,.datatype = MPI_INT}
    };
    int tag;

    for (int i = 0; i < nprocs; i++) {
        counts[i] = block_n(i, n);
        displs[i] = i * n;
    }
    CHECK(MPIR_Sched_next_tag(comm, &tag) == MPI_SUCCESS);
    MPIDI_Gpudt_icall_refuse(&call, tag, MPI_ERR_OTHER);
}

/* Whether each process needs something of each other one. */
static int is_of_all(enum MPIDI_Gpudt_coll_e kind)
{
    return kind == MPIDI_GPUDT_COLL__ALLREDUCE || kind == MPIDI_GPUDT_COLL__ALLGATHER ||
        kind == MPIDI_GPUDT_COLL__ALLGATHERV || kind == MPIDI_GPUDT_COLL__ALLTOALL;
}

/* In host memory, of which MPICH's algorithms send so little without the receiver's help: that
 * process receives nothing. */
static void refused_run(void)
{
    static const enum MPIDI_Gpudt_coll_e kinds[] = {
        MPIDI_GPUDT_COLL__ALLREDUCE, MPIDI_GPUDT_COLL__REDUCE, MPIDI_GPUDT_COLL__REDUCE_SCATTER_BLOCK,
        MPIDI_GPUDT_COLL__REDUCE_SCATTER, MPIDI_GPUDT_COLL__ALLGATHER, MPIDI_GPUDT_COLL__BCAST,
        MPIDI_GPUDT_COLL__ALLGATHERV, MPIDI_GPUDT_COLL__GATHER, MPIDI_GPUDT_COLL__SCATTER,
        MPIDI_GPUDT_COLL__ALLTOALL
    };
    enum { NKINDS = sizeof(kinds) / sizeof(kinds[0]) };
    MPI_Comm comms[2 * NKINDS];
    MPI_Request request;
    int err;

    for (int i = 0; i < 2 * NKINDS; i++) {
        int n = i % 2 == 0 ? N : kinds[i / 2] == MPIDI_GPUDT_COLL__ALLGATHERV ? LONG_N :
            kinds[i / 2] == MPIDI_GPUDT_COLL__ALLGATHER ? RING_N : N / 20, victim = i % nprocs;
        /* Each on a communicator of its own, none of which is freed before the end: messages are left */
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        err = MPI_ERR_OTHER;
        if (rank == victim)
            call_refuse(comm_of(comms[i]), kinds[i / 2], n);
        else
            err = call_start(comms[i], kinds[i / 2], n, host_from, host_to, &request);
        if (err == MPI_SUCCESS)
            err = MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(err != MPI_SUCCESS || !is_of_all(kinds[i / 2]));
    }
    for (int i = 0; i < 2 * NKINDS; i++)
        MPI_Comm_free(&comms[i]);
}

/* As when an exchange has failed in the last start, though the others were told what they needed. */
static void restarted_run(void)
{
    MPI_Request request;
    MPIR_Request *req;
    int err, sum = -1;

    mem_write(&from, 0, &rank, sizeof(rank));
    mem_write(&to, 0, &sum, sizeof(sum));
    CHECK_MPI(MPI_Allreduce_init(from.addr, to.addr, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &request));
    for (int i = 0; i < 3; i++) {
        if (i == 1 && rank == nprocs - 1) {
            MPIR_Request_get_ptr(request, req);
            req->u.persist_coll.gpudt->error_class = MPI_ERR_TRUNCATE;
        }
        err = MPI_Start(&request);
        CHECK(i == 0 || rank < nprocs - 1 || MPIR_ERR_GET_CLASS(err) == MPI_ERR_TRUNCATE);
        if (err == MPI_SUCCESS)
            err = MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK((err != MPI_SUCCESS) == (i > 0));
        CHECK(i != 1 || is_of_last(err) == (rank < nprocs - 1));
        mem_read(&to, 0, &sum, sizeof(sum));
        CHECK(i > 0 || sum == nprocs * (nprocs - 1) / 2);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK_MPI(MPI_Request_free(&request));
}

/* ---- different calls ---- */

static long requests_in_use(void)
{
    long n = 0;

    for (int i = 0; i < MPIR_REQUEST_NUM_POOLS; i++)
        n += MPIR_Request_mem[i].num_allocated - MPIR_Request_mem[i].num_avail;
    return n;
}

static void truncated_run(void)
{
    enum { REPEATS = 8 };
    MPI_Comm comms[REPEATS];
    MPI_Request request;
    long before = 0;
    int err, is_there;
    char short_text[100];

    snprintf(short_text, sizeof(short_text), "Process 1 has sent %d bytes about its part of a collective",
             (int) sizeof(struct MPIDI_Gpudt_ability));
    for (int i = 0; i < REPEATS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        /* The message of the reduction is there before the broadcast looks for its own, which is
         * shorter */
        if (rank > 0) {
            usleep(20000);
            for (int k = 0; k < 4; k++)
                CHECK_MPI(MPI_Iprobe(0, 1, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE));
        }
        err = call_start(comms[i], rank == 0 ? MPIDI_GPUDT_COLL__ALLREDUCE :
                         MPIDI_GPUDT_COLL__BCAST, N, from.addr, to.addr, &request);
        if (err == MPI_SUCCESS)
            err = MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(err != MPI_SUCCESS);
        CHECK(rank > 0 || strstr(report_mpi_text(err), short_text) != NULL);
        MPI_Barrier(MPI_COMM_WORLD);
        /* What nobody has received */
        CHECK(MPIDI_CH3U_Clean_recvq(comm_of(comms[i])) == MPI_SUCCESS);
        if (i == 1)
            before = requests_in_use();
    }
    CHECK(requests_in_use() == before);
    for (int i = 0; i < REPEATS; i++)
        MPI_Comm_free(&comms[i]);
}

static void buffers_make(void)
{
    const size_t sz = MAX_N * N * sizeof(int);
    void *zero = calloc(1, sz);

    mem_alloc(&from, MEM__DEVICE, sz);
    mem_alloc(&to, MEM__DEVICE, sz);
    mem_write(&from, 0, zero, sz);
    mem_write(&to, 0, zero, sz);
    free(zero);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "tags";

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    if (gpu_open() == 0 || nprocs > MAX_N)
        return 1;
    gpu_set_current(0);
    buffers_make();
    if (strcmp(what, "tags") == 0)
        tags_run();
    else if (strcmp(what, "no-memory") == 0)
        no_memory_run();
    else if (strcmp(what, "refused") == 0)
        refused_run();
    else if (strcmp(what, "restarted") == 0)
        restarted_run();
    else if (strcmp(what, "truncated") == 0)
        truncated_run();
    else
        return 2;
    mem_free(&from);
    mem_free(&to);
    MPI_Finalize();
    return report_done();
}
