/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Collectives that move data by copies from the other processes' memory (MPIR_CVAR_GPUDT_COLL): with
 * random datatypes at both ends, with failing drivers, and with lengths that do not agree. A
 * performance variable tells whether they went that way. */

#include "collectives.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODE 999                /* CUDA_ERROR_UNKNOWN */
#define FAULT_ROOT 1            /* its blocks are not the first ones */
#define NCALLS 24               /* random calls of each collective, of which many are empty */

static int rank, nprocs;
static enum mode mode;          /* of the calls */

/* Blocks that all processes have copied directly. */
static long direct_blocks(void)
{
    long own = (long) report_variable("gpudt_collective_pulls"), sum;

    CHECK_MPI(MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    return sum;
}

/* All but empty calls, and all-to-all ones in place, go this way; an allgather of contiguous
 * elements has a way of its own. On a new communicator, so that no call depends on those before. */
static void random_run(enum mem_kind kind, unsigned long seed)
{
    MPI_Comm comm;

    for (int what = CALL__bcast; what <= CALL__alltoallw; what++) {
        long before = direct_blocks(), now;
        int ndirect = 0;

        for (unsigned long i = 0; i < NCALLS; i++) {
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            moving_direct_call(comm, (enum what) what, mode, kind, seed * 1000 + i);
            MPI_Comm_free(&comm);
            now = direct_blocks();
            ndirect += now > before;
            before = now;
        }
        if (ndirect < NCALLS / 8)
            report_fail("%d of %d random calls of %s were direct", ndirect, NCALLS,
                        call_name((enum what) what));
    }
}

/* What goes from a process to another one, element k. */
static int value_of(int from, int to, int k)
{
    return 1000000 * from + 100000 * to + k;
}

/* One call of each form in which blocks go between processes. */
#define NWHATS 5
static const enum what whats[NWHATS] = {
    CALL__bcast, CALL__gatherv, CALL__scatterv, CALL__allgatherv, CALL__alltoallw
};

/* Rows of a matrix of n by n integers for each process, and columns: an all-to-all transposes the
 * blocks. */
struct transpose {
    int n;
    MPI_Datatype row, column;
    struct mem from, to;
};

static void transpose_make(struct transpose *t, enum mem_kind kind, int n)
{
    MPI_Datatype column;

    t->n = n;
    MPI_Type_contiguous(n, MPI_INT, &t->row);
    MPI_Type_commit(&t->row);
    MPI_Type_vector(n, 1, n, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &t->column);
    MPI_Type_commit(&t->column);
    MPI_Type_free(&column);
    mem_alloc(&t->from, kind, (size_t) (nprocs * n * n) * sizeof(int));
    mem_alloc(&t->to, kind, (size_t) (nprocs * n * n) * sizeof(int));
}

static void transpose_free(struct transpose *t)
{
    MPI_Type_free(&t->row);
    MPI_Type_free(&t->column);
    mem_free(&t->from);
    mem_free(&t->to);
}

/* Start and free a persistent call; returns its error. */
static int persistent_call(MPI_Request * request)
{
    int err = MPI_Start(request);

    if (err == MPI_SUCCESS)
        err = MPI_Wait(request, MPI_STATUS_IGNORE);
    CHECK_MPI(MPI_Request_free(request));
    return err;
}

/* A call in the current mode; returns its error. The arguments are those before the request. */
#define CALL(Name_, iname_, ...)                                                            \
    (mode == MODE__BLOCKING ? MPI_##Name_(__VA_ARGS__) :                                    \
     mode == MODE__NONBLOCKING ? (err = MPI_I##iname_(__VA_ARGS__, &request)) ?             \
     err : MPI_Wait(&request, MPI_STATUS_IGNORE) :                                          \
     (err = MPI_##Name_##_init(__VA_ARGS__, MPI_INFO_NULL, &request)) ?                     \
     err : persistent_call(&request))

/* Make a call with rows on the side that sends, and columns on the one that receives. Returns its
 * error. */
static int transpose_call(struct transpose *t, MPI_Comm comm, enum what what, int root)
{
    int counts[MAX_PROCS], bytes[MAX_PROCS], in_rows[MAX_PROCS], in_ints[MAX_PROCS];
    int n = t->n, n2 = n * n;
    MPI_Datatype rows[MAX_PROCS], columns[MAX_PROCS];
    int *values = malloc((size_t) (nprocs * n2) * sizeof(int));
    struct mem *buf = rank == root ? &t->from : &t->to;
    MPI_Request request;
    int err;

    for (int i = 0; i < nprocs * n2; i++)
        values[i] = value_of(rank, i / n2, i % n2);
    mem_write(&t->from, 0, values, (size_t) (nprocs * n2) * sizeof(int));
    memset(values, 0xff, (size_t) (nprocs * n2) * sizeof(int));
    mem_write(&t->to, 0, values, (size_t) (nprocs * n2) * sizeof(int));
    free(values);
    for (int i = 0; i < nprocs; i++) {
        counts[i] = n;
        bytes[i] = i * n2 * (int) sizeof(int);
        in_rows[i] = i * n;
        in_ints[i] = i * n2;
        rows[i] = t->row;
        columns[i] = t->column;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    switch (what) {
        case CALL__bcast:
            return CALL(Bcast, bcast, buf->addr, n, rank == root ? t->row : t->column, root, comm);
        case CALL__gatherv:
            return CALL(Gatherv, gatherv, t->from.addr, n, t->row, t->to.addr, counts, in_ints,
                        t->column, root, comm);
        case CALL__scatterv:
            return CALL(Scatterv, scatterv, t->from.addr, counts, in_rows, t->row, t->to.addr, n,
                        t->column, root, comm);
        case CALL__allgatherv:
            return CALL(Allgatherv, allgatherv, t->from.addr, n, t->row, t->to.addr, counts, in_ints,
                        t->column, comm);
        default:
            return CALL(Alltoallw, alltoallw, t->from.addr, counts, bytes, rows, t->to.addr, counts,
                        bytes, columns, comm);
    }
}

/* Whether a call writes block p of this process.
 *   from, to  (OUT)  as of value_of */
static int is_block_of(enum what what, int root, int p, int *from, int *to)
{
    const int has_root = what != CALL__alltoallw && what != CALL__allgatherv;

    *from = has_root && what != CALL__gatherv ? root : p;
    *to = what == CALL__alltoallw || what == CALL__scatterv ? rank : 0;
    if (what == CALL__gatherv)
        return rank == root;
    return !has_root || (p == 0 && (what != CALL__bcast || rank != root));
}

/* Compare with what it must be. Returns 1 if that is so. */
static int transpose_is_right(struct transpose *t, enum what what, int root)
{
    int n2 = t->n * t->n, ok = 1, from, to;
    int *values = malloc((size_t) (nprocs * n2) * sizeof(int));

    mem_read(&t->to, 0, values, (size_t) (nprocs * n2) * sizeof(int));
    for (int p = 0; p < nprocs; p++) {
        for (int k = 0; k < n2 && is_block_of(what, root, p, &from, &to); k++) {
            int at = p * n2 + k % t->n * t->n + k / t->n;
            ok &= values[at] == value_of(from, to, k);
        }
    }
    free(values);
    return ok;
}

/* A call in which a driver call of one process fails: its call number `at`. Either all get the data,
 * or some get an error; the next call is right. Returns whether there were that many calls. */
static int fault_run(struct transpose *t, MPI_Comm comm, enum what what, int victim, long at)
{
    int err, fired = 0, failed, nfailed;

    for (int repeat = 0; repeat < 2; repeat++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (repeat == 0 && rank == victim)
            gpu.emu_fail_set(NULL, at, CODE, 1);
        err = transpose_call(t, comm, what, FAULT_ROOT);
        if (repeat == 0 && rank == victim) {
            fired = gpu.emu_failed_count() > 0;
            gpu.emu_fail_set(NULL, 0, 0, 1);
        }
        failed = err != MPI_SUCCESS;
        CHECK_MPI(MPI_Allreduce(&failed, &nfailed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        if (nfailed == 0 && !transpose_is_right(t, what, FAULT_ROOT))
            report_fail("call %ld of rank %d fails in %s: wrong data, run %d", at, victim,
                        call_name(what), repeat);
        if (repeat == 1 && err)
            report_fail("after call %ld of rank %d has failed: %s", at, victim,
                        report_mpi_text(err));
    }
    CHECK_MPI(MPI_Bcast(&fired, 1, MPI_INT, victim, MPI_COMM_WORLD));
    return fired;
}

/* Each driver call fails once.
 *   is_new  (IN)  in a call with memory, types and communicator that are used for the first time */
static void faults_run(enum mem_kind kind, int is_new, enum what what, int victim)
{
    enum { MAX_CALLS = 300 };
    struct transpose t;
    MPI_Comm comm = MPI_COMM_NULL;
    int fired = 1;
    long at;

    for (at = 1; fired && at < MAX_CALLS; at++) {
        if (is_new || at == 1) {
            transpose_make(&t, kind, 37);
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            if (!is_new)
                CHECK_MPI(transpose_call(&t, comm, what, FAULT_ROOT));
        }
        fired = fault_run(&t, comm, what, victim, at);
        if (is_new || !fired || at + 1 == MAX_CALLS) {
            transpose_free(&t);
            MPI_Comm_free(&comm);
        }
    }
    /* A process that waits long for the GPU, as on a busy machine, asks for its end in many calls */
    CHECK(at > 3);
}

/* One process sends more than another one expects: an error in all, in the others one that names this
 * process, and the next call is right.
 *   n  (IN)  what it expects */
static void lengths_run(enum mem_kind kind, int n)
{
    MPI_Comm comm;
    struct transpose t;
    MPI_Request request;
    int counts[2][MAX_PROCS], displs[MAX_PROCS], err, err_class;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    transpose_make(&t, kind, 8);
    for (int i = 0; i < nprocs; i++) {
        counts[0][i] = rank == 0 && i == 1 ? 20 : 10;
        counts[1][i] = rank == 1 && i == 0 ? n : 10;
        displs[i] = 20 * i;
    }
    err = CALL(Alltoallv, alltoallv, t.from.addr, counts[0], displs, MPI_INT, t.to.addr, counts[1],
               displs, MPI_INT, comm);
    CHECK_MPI(MPI_Error_class(err, &err_class));
    CHECK(err_class == (rank == 1 ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER));
    CHECK(rank == 1 || strstr(report_mpi_text(err), "Process 1 could not do its part"));
    CHECK_MPI(transpose_call(&t, comm, CALL__alltoallw, 0));
    CHECK(transpose_is_right(&t, CALL__alltoallw, 0));
    transpose_free(&t);
    MPI_Comm_free(&comm);
}

/* A process with its buffer in host memory keeps all from this way, and later calls come back. */
static void mixed_run(MPI_Comm comm, enum mem_kind kind)
{
    struct transpose t, host;
    long before;

    transpose_make(&t, kind, 16);
    transpose_make(&host, MEM__PAGEABLE, 16);
    for (int i = 0; i < 16; i++) {
        struct transpose *own = i < 6 && rank == i % nprocs ? &host : &t;
        for (int k = 0; k < NWHATS; k++) {
            CHECK_MPI(transpose_call(own, comm, whats[k], i % nprocs));
            CHECK(transpose_is_right(own, whats[k], i % nprocs));
        }
    }
    before = direct_blocks();
    for (int i = 0; i < 32; i++)
        CHECK_MPI(transpose_call(&t, comm, CALL__alltoallw, 0));
    CHECK(direct_blocks() > before);
    transpose_free(&t);
    transpose_free(&host);
}

/* What a process receives in a short call, also from itself, takes one launch: of pulled blocks, or, in a
 * MPI_Alltoall of processes with a GPU each, of the blocks that it sends. */
static void together_run(MPI_Comm comm, enum mem_kind kind, int is_v)
{
    enum { N = 1000 };
    struct transpose t;
    MPI_Request request;
    unsigned long long launches = 0, batches = 0, kept = 0, written = 0;
    int err, *values, counts[MAX_PROCS], displs[MAX_PROCS], is_written;

    transpose_make(&t, kind, 32);
    values = malloc((size_t) (nprocs * N) * sizeof(int));
    for (int i = 0; i < nprocs * N; i++)
        values[i] = value_of(rank, i / N, i % N);
    mem_write(&t.from, 0, values, (size_t) (nprocs * N) * sizeof(int));
    for (int i = 0; i < nprocs; i++) {
        counts[i] = N;
        displs[i] = i * N;
    }
    for (int i = 0; i < 3; i++) {
        launches = report_variable("gpudt_launches");
        batches = report_variable("gpudt_batches");
        kept = report_variable("gpudt_offers_kept");
        written = report_variable("gpudt_reductions_direct");
        if (is_v)
            CHECK_MPI(CALL(Alltoallv, alltoallv, t.from.addr, counts, displs, MPI_INT, t.to.addr,
                           counts, displs, MPI_INT, comm));
        else
            CHECK_MPI(CALL(Alltoall, alltoall, t.from.addr, N, MPI_INT, t.to.addr, N, MPI_INT,
                           comm));
    }
    is_written = (int) (report_variable("gpudt_reductions_direct") - written);
    CHECK(is_written == 0 || (is_written == 1 && !is_v));
    if (!is_v && nprocs == 2 && mem_exists(MEM__OTHER_DEVICE))
        CHECK(is_written);
    CHECK(report_variable("gpudt_launches") == launches + 1);
    CHECK(report_variable("gpudt_batches") == batches + !is_written);
    CHECK(report_variable("gpudt_offers_kept") == kept + (mode == MODE__BLOCKING && !is_written));
    mem_read(&t.to, 0, values, (size_t) (nprocs * N) * sizeof(int));
    for (int i = 0; i < nprocs * N; i++) {
        if (values[i] != value_of(i / N, rank, i % N)) {
            report_fail("element %d of a short call is %d", i, values[i]);
            break;
        }
    }
    free(values);
    transpose_free(&t);
}

/* What one process sends changes from call to call: its address, its memory, its datatype, or nothing.
 * What the others receive changes as well. */
static void changing_run(MPI_Comm comm, enum mem_kind kind)
{
    enum { N = 64, ROOM = 4 * N };
    MPI_Datatype vector, every_second;
    MPI_Request request;
    struct mem from, to;
    int values[MAX_PROCS * ROOM], err;
    const size_t sz = sizeof(values) / MAX_PROCS * (size_t) nprocs;

    MPI_Type_vector(N, 1, 2, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, 2 * N * sizeof(int), &every_second);
    MPI_Type_free(&vector);
    MPI_Type_commit(&every_second);
    mem_alloc(&from, kind, sz);
    mem_alloc(&to, kind, sz);
    for (int i = 0; i < 60; i++) {
        const int is_mine = rank == i / 5 % nprocs;
        const int at = is_mine ? i % 4 : 0, at_to = i % 7 == 6, is_second = is_mine && i % 3 == 2;
        if (is_mine && i % 5 == 4) {
            mem_free(&from);
            mem_alloc(&from, kind, sz);
        }
        for (int k = 0; k < nprocs * ROOM; k++)
            values[k] = 1000000 * (i + 1) + 100000 * rank + k;
        mem_write(&from, 0, values, sz);
        CHECK_MPI(CALL(Alltoall, alltoall, from.addr + 4 * at, is_second ? 1 : N,
                       is_second ? every_second : MPI_INT, to.addr + 4 * at_to, N, MPI_INT, comm));
        mem_read(&to, 0, values, sz);
        for (int k = 0; k < nprocs * N; k++) {
            const int p = k / N, his = p == i / 5 % nprocs;
            const int step = his && i % 3 == 2 ? 2 : 1;
            const int place = (his ? i % 4 : 0) + step * (N * rank + k % N);
            if (values[k + at_to] != 1000000 * (i + 1) + 100000 * p + place) {
                report_fail("call %d: element %d of what process %d sent is %d", i, k % N, p,
                            values[k + at_to]);
                break;
            }
        }
    }
    MPI_Type_free(&every_second);
    mem_free(&from);
    mem_free(&to);
}

/* One process sends, to one root and then to another. Those that send nothing offer the same each
 * time. */
static void roots_run(MPI_Comm comm, enum mem_kind kind)
{
    enum { N = 100 };
    const int sender = nprocs - 1;
    MPI_Request request;
    struct mem from, to;
    int values[N], counts[MAX_PROCS], displs[MAX_PROCS], err;

    mem_alloc(&from, kind, sizeof(values));
    mem_alloc(&to, kind, sizeof(values));
    for (int i = 0; i < nprocs; i++) {
        counts[i] = i == sender ? N : 0;
        displs[i] = 0;
    }
    for (int i = 0; i < N; i++)
        values[i] = i + 1;
    mem_write(&from, 0, values, sizeof(values));
    for (int i = 0; i < 30; i++) {
        const int root = i / 3 % (nprocs - 1);
        memset(values, 0, sizeof(values));
        mem_write(&to, 0, values, sizeof(values));
        CHECK_MPI(CALL(Gatherv, gatherv, from.addr, counts[rank], MPI_INT, to.addr, counts, displs,
                       MPI_INT, root, comm));
        mem_read(&to, 0, values, sizeof(values));
        for (int k = 0; k < N; k++) {
            if (values[k] != (rank == root ? k + 1 : 0)) {
                report_fail("call %d: element %d of root %d is %d", i, k, root, values[k]);
                break;
            }
        }
    }
    mem_free(&from);
    mem_free(&to);
}

void direct_moves_run(enum mem_kind kind, enum mode which, unsigned long seed)
{
    MPI_Comm comm;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    mode = which;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    random_run(kind, seed);
    for (int i = 0; i < 2; i++)
        together_run(comm, kind, i);
    changing_run(comm, kind);
    roots_run(comm, kind);
    mixed_run(comm, kind);
    lengths_run(kind, 10);
    lengths_run(kind, 0);
    MPI_Comm_free(&comm);
}

void direct_move_faults_run(enum mem_kind kind, enum mode which)
{
    mode = which;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    for (int k = 0; k < NWHATS; k++) {
        for (int victim = 0; victim < nprocs; victim++) {
            faults_run(kind, 1, whats[k], victim);
            if (nprocs == 2)
                faults_run(kind, 0, whats[k], victim);
        }
    }
}
