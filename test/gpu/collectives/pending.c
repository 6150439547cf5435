/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Nonblocking collectives by copies from the other processes' memory (MPIR_CVAR_GPUDT_COLL): many in
 * flight on communicators that overlap, with blocking ones between them, with datatypes and
 * communicators that are freed meanwhile, and with a process that comes late. Every result is
 * computed. Performance variables tell whether they went that way. */

#include "collectives.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N 600                   /* integers that a process has for each other one */
#define MAX_PENDING 48

static int rank, nprocs;
static enum mem_kind kind = MEM__DEVICE;        /* of this process: one of two GPUs */

/* A call in flight. */
struct pending {
    enum what what;
    int number;                 /* distinguishes its data */
    int size, me;               /* of its communicator */
    int is_on_host;             /* in this process */
    int ranks[MAX_PROCS];       /* in MPI_COMM_WORLD, of its processes */
    struct mem from, to;
    MPI_Request request;
};

static const enum what whats[] = {
    CALL__allreduce, CALL__bcast, CALL__alltoallw, CALL__allgather, CALL__reduce_scatter_block,
    CALL__gatherv, CALL__scatter, CALL__reduce
};
#define NWHATS ((int) (sizeof(whats) / sizeof(whats[0])))
#define NLATE 4                 /* of these that are made with a process that comes late */

/* Directly done by all processes. */
static long direct_count(void)
{
    long own = (long) (report_variable("gpudt_reductions_direct") +
                       report_variable("gpudt_collective_pulls"));
    long sum;

    CHECK_MPI(MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    return sum;
}

/* Element k of what a process of the world has for process `to` of a communicator. */
static int value_of(int number, int from, int to, int k)
{
    return 7 * number + 100000 * from + 10000 * to + k;
}

/* Every second integer: what the first process sends, and the others receive. */
static MPI_Datatype every_second(void)
{
    MPI_Datatype type;

    MPI_Type_vector(N / 2, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static void pending_make(struct pending *p, enum what what, int number, int is_on_host,
                         MPI_Comm comm)
{
    MPI_Group group, world;
    int own[MAX_PROCS], *values;
    enum mem_kind where = is_on_host ? MEM__PAGEABLE : kind;

    p->what = what;
    p->number = number;
    p->is_on_host = is_on_host;
    MPI_Comm_size(comm, &p->size);
    MPI_Comm_rank(comm, &p->me);
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < p->size; i++)
        own[i] = i;
    MPI_Group_translate_ranks(group, p->size, own, world, p->ranks);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    mem_alloc(&p->from, where, (size_t) (p->size * N) * sizeof(int));
    mem_alloc(&p->to, where, (size_t) (p->size * N) * sizeof(int));
    values = malloc((size_t) (p->size * N) * sizeof(int));
    for (int i = 0; i < p->size * N; i++)
        values[i] = value_of(number, rank, i / N, i % N);
    mem_write(&p->from, 0, values, (size_t) (p->size * N) * sizeof(int));
    memset(values, 0xff, (size_t) (p->size * N) * sizeof(int));
    mem_write(&p->to, 0, values, (size_t) (p->size * N) * sizeof(int));
    free(values);
}

/* Start a call. All of its arguments but the buffers are gone when this returns. */
static int pending_start(struct pending *p, MPI_Comm comm)
{
    MPI_Datatype type = every_second(), types[MAX_PROCS];
    int counts[MAX_PROCS], displs[MAX_PROCS], bytes[MAX_PROCS], root = p->number % p->size, err;
    void *from = p->from.addr, *to = p->to.addr;

    for (int i = 0; i < p->size; i++) {
        counts[i] = 1;
        displs[i] = i;
        bytes[i] = i * N * (int) sizeof(int);
        types[i] = type;
    }
    switch (p->what) {
        case CALL__allreduce:
            err = MPI_Iallreduce(from, to, N, MPI_INT, MPI_SUM, comm, &p->request);
            break;
        case CALL__reduce:
            err = MPI_Ireduce(from, to, N, MPI_INT, MPI_SUM, root, comm, &p->request);
            break;
        case CALL__reduce_scatter_block:
            err = MPI_Ireduce_scatter_block(from, to, N, MPI_INT, MPI_SUM, comm, &p->request);
            break;
        case CALL__bcast:
            err = MPI_Ibcast(p->me == root ? from : to, 1, type, root, comm, &p->request);
            break;
        case CALL__allgather:
            err = MPI_Iallgather(from, 1, type, to, N / 2, MPI_INT, comm, &p->request);
            break;
        case CALL__gatherv:
            for (int i = 0; i < p->size; i++) {
                counts[i] = N / 2;
                displs[i] = i * N;
            }
            err = MPI_Igatherv(from, 1, type, to, counts, displs, MPI_INT, root, comm, &p->request);
            break;
        case CALL__scatter:
            err = MPI_Iscatter(from, N, MPI_INT, to, N, MPI_INT, root, comm, &p->request);
            break;
        default:
            err = MPI_Ialltoallw(from, counts, bytes, types, to, counts, bytes, types, comm,
                                 &p->request);
    }
    MPI_Type_free(&type);
    memset(counts, 0x7f, sizeof(counts));
    memset(displs, 0x7f, sizeof(displs));
    memset(bytes, 0x7f, sizeof(bytes));
    return err;
}

/* The sum of what all have for process `to`. */
static int sum_of(const struct pending *p, int to, int k)
{
    int sum = 0;

    for (int i = 0; i < p->size; i++)
        sum += value_of(p->number, p->ranks[i], to, k);
    return sum;
}

/* What a call must have put at integer k of block b; untouched integers are -1. */
static int expected(const struct pending *p, int b, int k)
{
    const int root = p->number % p->size;
    const int is_root = p->me == root;

    switch (p->what) {
        case CALL__allreduce:
        case CALL__reduce:
            return b == 0 && (is_root || p->what == CALL__allreduce) ? sum_of(p, k / N, k % N) : -1;
        case CALL__reduce_scatter_block:
            return b == 0 ? sum_of(p, p->me, k) : -1;
        case CALL__bcast:
            return b == 0 && !is_root && k % 2 == 0 ? value_of(p->number, p->ranks[root], 0, k) :
                -1;
        case CALL__allgather:
            k += b * N;
            return k < p->size * N / 2 ?
                value_of(p->number, p->ranks[k / (N / 2)], 0, k % (N / 2) * 2) : -1;
        case CALL__gatherv:
            return is_root && k < N / 2 ? value_of(p->number, p->ranks[b], 0, k * 2) : -1;
        case CALL__scatter:
            return b == 0 ? value_of(p->number, p->ranks[root], p->me, k) : -1;
        default:
            return k % 2 == 0 ? value_of(p->number, p->ranks[b], p->me, k) : -1;
    }
}

/* Compare and free. */
static void pending_end(struct pending *p)
{
    int *values = malloc((size_t) (p->size * N) * sizeof(int));

    mem_read(&p->to, 0, values, (size_t) (p->size * N) * sizeof(int));
    for (int i = 0; i < p->size * N; i++) {
        if (values[i] != expected(p, i / N, i % N)) {
            report_fail("%s, number %d of %d processes: integer %d is %d, not %d",
                        call_name(p->what), p->number, p->size, i, values[i],
                        expected(p, i / N, i % N));
            break;
        }
    }
    free(values);
    mem_free(&p->from);
    mem_free(&p->to);
}

/* The GPU becomes idle whatever MPI has in flight. */
static void gpu_synchronize(void)
{
    CU(CtxSynchronize());
}

/* Wait for calls in a random order, now and then with a single test or with the GPU idle. */
static void pending_complete(struct pending *p, int n, struct rng *rng)
{
    MPI_Request *requests = malloc((size_t) n * sizeof(MPI_Request));
    int index, is_done;

    for (int i = 0; i < n; i++)
        requests[i] = p[i].request;
    for (int left = n; left > 0; left--) {
        if (rng_chance(rng, 20))
            gpu_synchronize();
        if (rng_chance(rng, 50)) {
            index = (int) rng_range(rng, 0, n - 1);
            is_done = 0;
            while (requests[index] == MPI_REQUEST_NULL)
                index = (index + 1) % n;
            CHECK_MPI(MPI_Test(&requests[index], &is_done, MPI_STATUS_IGNORE));
            if (!is_done)
                CHECK_MPI(MPI_Wait(&requests[index], MPI_STATUS_IGNORE));
        } else {
            CHECK_MPI(MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE));
        }
        pending_end(&p[index]);
    }
    free(requests);
}

/* All kinds of calls in flight on all communicators, freed ones as well. Some have a process with host
 * memory, and so have blocking ones between them. */
static void together_run(const MPI_Comm * comms, int ncomms, unsigned long seed, int may_be_host)
{
    static struct pending p[MAX_PENDING];
    struct rng common, own;
    int n = 0, in, out;

    rng_init(&common, seed);
    rng_init(&own, seed * 64 + (unsigned long) rank + 1);
    for (int i = 0; i < MAX_PENDING; i++) {
        enum what what = whats[rng_range(&common, 0, NWHATS - 1)];
        MPI_Comm comm = comms[rng_range(&common, 0, ncomms - 1)], copy;
        int is_freed = rng_chance(&common, 20), host = may_be_host && rng_chance(&common, 15) ?
            (int) rng_range(&common, 0, nprocs - 1) : -1;
        int is_blocking = rng_chance(&common, 10);

        if (comm == MPI_COMM_NULL)
            continue;
        if (is_freed)
            MPI_Comm_dup(comm, &copy);
        pending_make(&p[n], what, i, rank == host, comm);
        CHECK_MPI(pending_start(&p[n++], is_freed ? copy : comm));
        if (is_freed)
            MPI_Comm_free(&copy);
        if (is_blocking) {
            in = rank;
            CHECK_MPI(MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_MAX, comm));
            CHECK(out >= rank);
        }
        if (rng_chance(&own, 10))
            gpu_synchronize();
    }
    pending_complete(p, n, &own);
}

/* A process calls late. The others get on, and can synchronize their GPU. */
static void late_run(MPI_Comm comm, enum what what)
{
    enum { USECONDS = 300000 };
    struct pending p;
    double start;
    int is_done;

    for (int late = 0; late < nprocs; late += nprocs - 1) {
        pending_make(&p, what, late, 0, comm);
        MPI_Barrier(comm);
        if (rank == late)
            usleep(USECONDS);
        start = MPI_Wtime();
        CHECK_MPI(pending_start(&p, comm));
        if (rank != late) {
            CHECK_MPI(MPI_Test(&p.request, &is_done, MPI_STATUS_IGNORE));
            gpu_synchronize();
            if (MPI_Wtime() - start > USECONDS * 0.5e-6)
                report_fail("%s waited for a process that was late", call_name(what));
        }
        CHECK_MPI(MPI_Wait(&p.request, MPI_STATUS_IGNORE));
        pending_end(&p);
    }
}

static void begin(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    if (mem_exists(MEM__OTHER_DEVICE) && rank % 2)
        kind = MEM__OTHER_DEVICE;
}

void pending_run(unsigned long seed)
{
    MPI_Comm comms[4];
    long before;

    begin();
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, nprocs - rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0 || nprocs == 2 ? 0 : MPI_UNDEFINED, rank, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &comms[3]);
    before = direct_count();
    for (int i = 0; i < 4; i++)
        together_run(comms, 4, seed * 10 + (unsigned long) i, i % 2);
    if (direct_count() - before < 2 * MAX_PENDING)
        report_fail("only %ld parts and blocks were done directly", direct_count() - before);
    before = direct_count();
    for (int i = 0; i < NLATE; i++)
        late_run(comms[0], whats[i]);
    if (direct_count() - before < 2 * NLATE)
        report_fail("only %ld parts and blocks were done directly with late processes",
                    direct_count() - before);
    for (int i = 0; i < 4; i++) {
        if (comms[i] != MPI_COMM_NULL)
            MPI_Comm_free(&comms[i]);
    }
}
