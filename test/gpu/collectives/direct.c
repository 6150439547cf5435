/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Collectives by kernels that map the other processes' buffers (MPIR_CVAR_GPUDT_COLL): reductions
 * by every operation of every datatype, allgathers, long broadcasts, and all-to-alls whose blocks the
 * senders write, on one GPU and on several; moves.c has the others. A performance variable tells whether
 * they went that way. */

#include "collectives.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/resource.h>

#define CODE 999                /* CUDA_ERROR_UNKNOWN */
#define MAX_ROOTS 3             /* of long calls, which take long where many processes share a core */

static int rank, nprocs;
static enum mode mode = MODE__BLOCKING; /* of the calls */
static enum mem_kind kind = MEM__DEVICE;        /* memory of this process: one of two GPUs */
static int is_reachable = 1;    /* GPUs can map each other's memory */

/* Parts that all processes have done directly. */
static long direct_parts(void)
{
    long own = (long) report_variable("gpudt_reductions_direct"), sum;

    CHECK_MPI(MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    return sum;
}

/* A reduction of n elements for each process; the twins on another communicator. */
static void reduction_run(MPI_Comm comm, enum what what, const struct operands *o, int n,
                          int is_in_place, unsigned seed)
{
    int is_scatter = what == CALL__reduce_scatter_block || what == CALL__reduce_scatter;
    int has_result, len;
    char name[MPI_MAX_OBJECT_NAME];
    struct call c = {.what = what,.mode = mode,.comm = comm,.has_twin_comm = 1,
        .twin_comm = MPI_COMM_WORLD,.root = (int) seed % nprocs,.op = o->op
    };

    has_result = what != CALL__reduce || rank == c.root;
    c.send = (struct part) {.is_used = 1,.n = 1,.kind = kind,.type = { o->type} };
    c.recv = c.send;
    c.recv.is_used = has_result;
    c.send.is_in_place = is_in_place && has_result && !is_scatter;
    c.recv.count[0] = n;
    c.send.count[0] = is_scatter ? n * nprocs : n;
    c.counts[0] = n;
    if (what == CALL__reduce_scatter) {
        /* Different ones, of which some may be 0 */
        c.send.count[0] = 0;
        for (int i = 0; i < nprocs; i++) {
            c.counts[i] = n * (int) ((seed / 5 + (unsigned) i) % 3) / 2;
            c.send.count[0] += c.counts[i];
        }
        c.recv.count[0] = c.counts[rank];
    }
    part_measure(&c.send, 0);
    part_measure(&c.recv, 0);
    if (!call_check(&c, operands_fill, seed + (unsigned) rank)) {
        MPI_Type_get_name(o->type, name, &len);
        fprintf(stderr, "... %s%s, operation %x, %d of %s%s\n",
                mode == MODE__BLOCKING ? "" : mode == MODE__NONBLOCKING ? "nonblocking " :
                "persistent ", call_name(what), (unsigned) o->op, n,
                name, is_in_place ? ", in place" : "");
    }
}

/* One operation and datatype in so many. Some have no kernel. */
static void reductions_run(MPI_Comm comm, unsigned seed, unsigned one_in)
{
    static const enum what whats[] = {
        CALL__allreduce, CALL__reduce, CALL__reduce_scatter_block, CALL__allreduce,
        CALL__reduce_scatter
    };
    static const int counts[] = { 1, 37, 2000, 70001 };
    struct operands o;
    long before = direct_parts();
    int ncalls = 0;

    for (int i = (int) (seed % one_in); operands_get(i, &o); i += (int) one_in) {
        for (int j = 0; j < 5; j++) {
            reduction_run(comm, whats[j], &o, counts[(i + j) % (i % 8 ? 3 : 4)], j == 3,
                          (unsigned) (i * 5 + j));
            ncalls += operands_have_kernel(&o);
        }
    }
    if (direct_parts() - before < ncalls / 2)
        report_fail("%ld parts of %d calls with kernels were reduced directly", direct_parts() - before, ncalls);
}

/* Blocks of many sizes, from and to any alignment. */
static void allgathers_run(MPI_Comm comm)
{
    static const int counts[] = { 8, 16, 37, 4096, 65536, 70000, 70001 };
    const MPI_Datatype types[] = { MPI_BYTE, MPI_DOUBLE };
    long before = direct_parts();

    for (int i = 0; i < 28; i++) {
        int n = counts[i % 7], is_in_place = i / 7 % 2;
        struct call c = {.what = CALL__allgather,.mode = mode,.comm = comm,
            .has_twin_comm = 1,.twin_comm = MPI_COMM_WORLD
        };

        c.send = (struct part) {.is_used = 1,.n = 1,.kind = kind,.shift = i / 14 * rank};
        c.recv = (struct part) {.is_used = 1,.n = nprocs,.kind = kind,.shift = i / 14};
        c.send.is_in_place = is_in_place;
        c.send.count[0] = n;
        c.send.type[0] = types[i % 2];
        for (int k = 0; k < nprocs; k++) {
            c.recv.count[k] = n;
            c.recv.displ[k] = (MPI_Aint) k * n;
            c.recv.type[k] = types[i % 2];
        }
        part_measure(&c.send, 0);
        part_measure(&c.recv, 0);
        if (!call_check(&c, bytes_fill, (unsigned) (100 * i + rank)))
            fprintf(stderr, "... MPI_Allgather, %d elements\n", n);
    }
    if (is_reachable && direct_parts() - before < 14 * nprocs)
        report_fail("%ld parts of 28 allgathers were direct", direct_parts() - before);
}

/* All-to-alls of contiguous blocks, which their senders write: of two processes, short ones only. */
static void alltoalls_run(MPI_Comm comm)
{
    static const int counts[] = { 1, 1000, 131072, 131076, 300000 };
    const int nstarts = mode == MODE__PERSISTENT ? 2 : 1;       /* of call_check */
    int is_direct;

    for (int i = 0; i < 10; i++) {
        const long before = direct_parts();
        const int n = counts[i % 5];
        struct call c = {.what = CALL__alltoall,.mode = mode,.comm = comm,.has_twin_comm = 1,
            .twin_comm = MPI_COMM_WORLD
        };

        c.send = c.recv = (struct part) {.is_used = 1,.n = nprocs,.kind = kind,.shift = i / 5 * 4};
        for (int k = 0; k < nprocs; k++) {
            c.send.count[k] = c.recv.count[k] = n;
            c.send.displ[k] = c.recv.displ[k] = (MPI_Aint) k * n;
            c.send.type[k] = c.recv.type[k] = MPI_INT;
        }
        part_measure(&c.send, 0);
        part_measure(&c.recv, 0);
        if (!call_check(&c, bytes_fill, (unsigned) (100 * i + rank)))
            fprintf(stderr, "... MPI_Alltoall, %d elements\n", n);
        /* Long ones from multiples of 16 bytes only */
        is_direct = is_reachable && (n <= 1000 || (i < 5 && (nprocs > 2 || n <= 131072)));
        CHECK(direct_parts() - before == (is_direct ? nprocs * nstarts : 0));
    }
}

/* Long broadcasts of contiguous data, of which each process but the root gives a share to the others,
 * if there are several: of sizes about the least one, from several roots and any alignment. In every fourth
 * call the root's elements are not contiguous. */
static void broadcasts_run(MPI_Comm comm)
{
    static const int counts[] = { 524288, 524289, 600001, 1048583 };
    MPI_Datatype pairs;
    long before = direct_parts();
    const int nroots = nprocs < MAX_ROOTS ? nprocs : MAX_ROOTS, ncalls = 4 * nroots;
    int ndirect = 0;

    MPI_Type_vector(2, 1, 2, MPI_BYTE, &pairs);
    MPI_Type_commit(&pairs);
    for (int i = 0; i < ncalls; i++) {
        struct call c = {.what = CALL__bcast,.mode = mode,.comm = comm,.has_twin_comm = 1,
            .twin_comm = MPI_COMM_WORLD,.root = nprocs - 1 - i / 4
        };
        const int n = counts[i % 4] / 2 * 2, is_apart = i % 4 == 2 && rank == c.root;

        c.recv = (struct part) {.is_used = 1,.n = 1,.kind = kind,.shift = i % 4 == 3 ? 3 * rank : 0};
        c.recv.count[0] = is_apart ? n / 2 : i % 4 == 2 ? n : counts[i % 4];
        c.recv.type[0] = is_apart ? pairs : MPI_BYTE;
        part_measure(&c.recv, 0);
        if (!call_check(&c, bytes_fill, (unsigned) (100 * i + rank)))
            fprintf(stderr, "... MPI_Bcast of %d bytes from %d\n", counts[i % 4], c.root);
        ndirect += direct_parts() > before;
        before = direct_parts();
    }
    if (is_reachable)
        CHECK(nprocs == 2 ? ndirect == 0 : ndirect >= nroots);
    MPI_Type_free(&pairs);
}

/* Reductions so long that the root combines nothing if two others have GPUs. */
static void long_reductions_run(MPI_Comm comm)
{
    const struct operands o = { MPI_SUM, MPI_INT };
    const long before = direct_parts();

    for (int i = 0; i < nprocs && i < MAX_ROOTS; i++)
        reduction_run(comm, CALL__reduce, &o, 262144 + i, i % 2, (unsigned) i);
    CHECK(direct_parts() > before);
}

/* The same bits in all processes, whatever the order of the summands' sizes. */
static void bits_run(MPI_Comm comm)
{
    enum { N = 3001 };
    double *values = malloc(N * sizeof(double));
    double *all = malloc(N * sizeof(double) * (size_t) nprocs);
    struct mem mem;

    mem_alloc(&mem, kind, N * sizeof(double));
    for (int repeat = 0; repeat < 3; repeat++) {
        srand(7u + (unsigned) rank);
        for (int i = 0; i < N; i++)
            values[i] = (double) rand() / (1 + rand() % 1000) - 1e6 * (rank % 2);
        mem_write(&mem, 0, values, N * sizeof(double));
        CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, mem.addr, N, MPI_DOUBLE, MPI_SUM, comm));
        mem_read(&mem, 0, values, N * sizeof(double));
        CHECK_MPI(MPI_Allgather(values, N, MPI_DOUBLE, all, N, MPI_DOUBLE, MPI_COMM_WORLD));
        for (int i = 1; i < nprocs; i++)
            report_compare("a sum in two processes", all + i * N, all, N * sizeof(double));
    }
    mem_free(&mem);
    free(values);
    free(all);
}

/* A process with its operand in host memory keeps all from this way, and later calls come back to
 * it. */
static void mixed_run(MPI_Comm comm)
{
    const struct operands o = { MPI_SUM, MPI_INT };
    int sum = 0, one = 1;
    long before;
    struct mem from, to;
    MPI_Request request;

    mem_alloc(&from, kind, sizeof(int));
    mem_alloc(&to, kind, sizeof(int));
    mem_write(&from, 0, &one, sizeof(int));
    for (int i = 0; i < 9; i++) {
        void *buf = rank == i % nprocs ? &sum : to.addr;

        sum = 0;
        mem_write(&to, 0, &sum, sizeof(int));
        if (mode == MODE__BLOCKING) {
            CHECK_MPI(MPI_Allreduce(from.addr, buf, 1, MPI_INT, MPI_SUM, comm));
        } else if (mode == MODE__NONBLOCKING) {
            CHECK_MPI(MPI_Iallreduce(from.addr, buf, 1, MPI_INT, MPI_SUM, comm, &request));
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            CHECK_MPI(MPI_Allreduce_init(from.addr, buf, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL,
                                         &request));
            CHECK_MPI(MPI_Start(&request));
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK_MPI(MPI_Request_free(&request));
        }
        if (buf != &sum)
            mem_read(&to, 0, &sum, sizeof(int));
        CHECK(sum == nprocs);
    }
    before = direct_parts();
    for (int i = 0; i < 16; i++)
        reduction_run(comm, CALL__allreduce, &o, 1, 0, 1);
    if (direct_parts() == before)
        report_fail("no reduction was direct after %d others", 9);
    mem_free(&from);
    mem_free(&to);
}

/* A sum in place, in the current mode. Returns its error.
 *   persistent  (IN)  a request for it, if that is the mode */
static int sum_call(MPI_Comm comm, struct mem *mem, int n, MPI_Request persistent)
{
    MPI_Request request = persistent;
    int err;

    if (mode == MODE__BLOCKING)
        return MPI_Allreduce(MPI_IN_PLACE, mem->addr, n, MPI_INT, MPI_SUM, comm);
    if (mode == MODE__NONBLOCKING)
        err = MPI_Iallreduce(MPI_IN_PLACE, mem->addr, n, MPI_INT, MPI_SUM, comm, &request);
    else
        err = MPI_Start(&request);
    return err ? err : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A sum of n integers in which a driver call of one process fails: its call number `at`. Either all
 * get the sum, or some get an error; the next sum is right. A persistent one is made and, unless it is
 * to be new, started before. Returns whether there were that many calls. */
static int fault_run(MPI_Comm comm, struct mem *mem, int n, int is_new, int victim, long at)
{
    int *values = malloc((size_t) n * sizeof(int));
    int err, fired = 0, nfailed, failed;
    MPI_Request request = MPI_REQUEST_NULL;

    if (mode == MODE__PERSISTENT)
        CHECK_MPI(MPI_Allreduce_init(MPI_IN_PLACE, mem->addr, n, MPI_INT, MPI_SUM, comm,
                                     MPI_INFO_NULL, &request));
    for (int repeat = mode == MODE__PERSISTENT && !is_new ? -1 : 0; repeat < 2; repeat++) {
        for (int i = 0; i < n; i++)
            values[i] = i + rank;
        mem_write(mem, 0, values, (size_t) n * sizeof(int));
        MPI_Barrier(MPI_COMM_WORLD);
        if (repeat == 0 && rank == victim)
            gpu.emu_fail_set(NULL, at, CODE, 1);
        err = sum_call(comm, mem, n, request);
        if (repeat == 0 && rank == victim) {
            fired = gpu.emu_failed_count() > 0;
            gpu.emu_fail_set(NULL, 0, 0, 1);
        }
        failed = err != MPI_SUCCESS;
        CHECK_MPI(MPI_Allreduce(&failed, &nfailed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        mem_read(mem, 0, values, (size_t) n * sizeof(int));
        for (int i = 0; i < n && nfailed == 0; i++) {
            if (values[i] != nprocs * i + nprocs * (nprocs - 1) / 2) {
                report_fail("call %ld of rank %d fails: element %d is %d", at, victim, i,
                            values[i]);
                break;
            }
        }
        if (repeat != 0 && err)
            report_fail("after call %ld of rank %d has failed: %s", at, victim,
                        report_mpi_text(err));
    }
    if (request != MPI_REQUEST_NULL)
        CHECK_MPI(MPI_Request_free(&request));
    CHECK_MPI(MPI_Bcast(&fired, 1, MPI_INT, victim, MPI_COMM_WORLD));
    free(values);
    return fired;
}

/* Each driver call of a sum fails once, in either process.
 *   is_new  (IN)  of one in memory and on a communicator that are used for the first time */
static void faults_run(int is_new, int victim)
{
    enum { N = 4096, MAX_CALLS = 200 };
    MPI_Comm comm = MPI_COMM_NULL;
    struct mem mem;
    int fired = 1;
    long at;

    for (at = 1; fired && at < MAX_CALLS; at++) {
        if (is_new || at == 1) {
            mem_alloc(&mem, kind, N * sizeof(int));
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        }
        fired = fault_run(comm, &mem, N, is_new, victim, at);
        if (is_new || !fired || at + 1 == MAX_CALLS) {
            mem_free(&mem);
            MPI_Comm_free(&comm);
        }
    }
    /* A process that waits long for the GPU, as on a busy machine, asks for its end in many calls */
    CHECK(at > 3);
}

/* A call that is faulted. */
struct faulted {
    int is_bcast, n;            /* integers that a process gets from another one */
};

static int faulted_call(const struct faulted *f, MPI_Comm comm, char *from, char *to)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int err;

    if (f->is_bcast)
        return MPI_Bcast(rank == 0 ? from : to, f->n, MPI_INT, 0, comm);
    if (mode == MODE__BLOCKING)
        return MPI_Alltoall(from, f->n, MPI_INT, to, f->n, MPI_INT, comm);
    if (mode == MODE__NONBLOCKING) {
        err = MPI_Ialltoall(from, f->n, MPI_INT, to, f->n, MPI_INT, comm, &request);
        return err ? err : MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK_MPI(MPI_Alltoall_init(from, f->n, MPI_INT, to, f->n, MPI_INT, comm, MPI_INFO_NULL,
                                &request));
    err = MPI_Start(&request);
    if (err == MPI_SUCCESS)
        err = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_MPI(MPI_Request_free(&request));
    return err;
}

/* Compare what a process has got, and say which fault it was if that is wrong. */
static void faulted_check(const struct faulted *f, const int *values, int victim, long at)
{
    const int n = !f->is_bcast ? nprocs * f->n : rank > 0 ? f->n : 0;

    for (int i = 0; i < n; i++) {
        if (values[i] != (f->is_bcast ? i : rank * f->n + i % f->n + 7 * (i / f->n))) {
            report_fail("call %ld of rank %d fails: element %d is %d", at, victim, i, values[i]);
            break;
        }
    }
}

/* The same of short blocks of an all-to-all, which one kernel writes to all, or of a long broadcast,
 * whose shares the processes give each other. */
static void blocks_faults_run(const struct faulted *f, int is_new, int victim)
{
    enum { MAX_CALLS = 200 };
    MPI_Comm comm = MPI_COMM_NULL;
    struct mem from, to;
    const int n = f->is_bcast ? f->n : nprocs * f->n;
    const size_t sz = (size_t) n * sizeof(int);
    int *values = malloc(sz), fired = 1, err, failed, nfailed;
    long at;

    for (at = 1; fired && at < MAX_CALLS; at++) {
        if (is_new || at == 1) {
            mem_alloc(&from, kind, sz);
            mem_alloc(&to, kind, sz);
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            for (int i = 0; i < n; i++)
                values[i] = i + 7 * rank;
            mem_write(&from, 0, values, sz);
        }
        for (int repeat = 0; repeat < 2; repeat++) {
            memset(values, 0xff, sz);
            mem_write(&to, 0, values, sz);
            MPI_Barrier(MPI_COMM_WORLD);
            if (repeat == 0 && rank == victim)
                gpu.emu_fail_set(NULL, at, CODE, 1);
            err = faulted_call(f, comm, from.addr, to.addr);
            if (repeat == 0 && rank == victim) {
                fired = gpu.emu_failed_count() > 0;
                gpu.emu_fail_set(NULL, 0, 0, 1);
            }
            failed = err != MPI_SUCCESS;
            CHECK_MPI(MPI_Allreduce(&failed, &nfailed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
            mem_read(&to, 0, values, sz);
            if (nfailed == 0)
                faulted_check(f, values, victim, at);
            if (repeat == 1 && err)
                report_fail("after call %ld of rank %d has failed: %s", at, victim,
                            report_mpi_text(err));
        }
        CHECK_MPI(MPI_Bcast(&fired, 1, MPI_INT, victim, MPI_COMM_WORLD));
        if (is_new || !fired || at + 1 == MAX_CALLS) {
            mem_free(&from);
            mem_free(&to);
            MPI_Comm_free(&comm);
        }
    }
    CHECK(at > 3);
    free(values);
}

/* Faults of long broadcasts, in the root and in another process. */
void direct_bcast_faults_run(void)
{
    static const struct faulted f = {.is_bcast = 1,.n = 131072 };

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    CHECK(gpu.is_emulated && nprocs > 2);
    for (int i = 0; i < 4; i++)
        blocks_faults_run(&f, i / 2, i % 2);
}

void direct_faults_run(enum mode which)
{
    static const struct faulted alltoall = {.n = 1024 };

    mode = which;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    if (!gpu.is_emulated)
        report_fail("only the emulated driver fails on demand");
    for (int i = 0; i < 4 && gpu.is_emulated; i++)
        faults_run(i / 2, i % 2);
    for (int i = 0; i < 4 && gpu.is_emulated; i++)
        blocks_faults_run(&alltoall, i / 2, i % 2);
    if (gpu.is_emulated)
        direct_move_faults_run(kind, mode);
}

void direct_unreached_run(void)
{
    MPI_Comm comm;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    CHECK(mem_exists(MEM__OTHER_DEVICE));
    if (rank % 2)
        kind = MEM__OTHER_DEVICE;
    is_reachable = 0;
    for (int i = 0; i < MODE__NMODES; i++) {
        mode = (enum mode) i;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (nprocs == 2) {
            allgathers_run(comm);
            alltoalls_run(comm);
        }
        broadcasts_run(comm);
        MPI_Comm_free(&comm);
    }
}

void direct_unshared_run(void)
{
    const struct operands o = { MPI_SUM, MPI_INT };
    struct rlimit limit, none;
    MPI_Comm comm;
    long before;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    none = limit;
    none.rlim_cur = 0;
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 3; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        before = direct_parts();
        /* The first call of a communicator makes its memory, in process 0 */
        if (i < 2)
            CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
        reduction_run(comm, CALL__allreduce, &o, 100, 0, 1);
        CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        reduction_run(comm, CALL__reduce, &o, 1000, i % 2, 2);
        CHECK(direct_parts() > before);
        MPI_Comm_free(&comm);
    }
}

void direct_run(unsigned seed, unsigned one_in)
{
    MPI_Comm comm;
    const int has_two = mem_exists(MEM__OTHER_DEVICE);
    int is_alone;               /* no process shares its GPU */

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    if (has_two && rank % 2)
        kind = MEM__OTHER_DEVICE;
    is_alone = nprocs <= 1 + has_two || getenv("OWN_GPU");
    for (int i = 0; i < MODE__NMODES; i++) {
        mode = (enum mode) i;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        reductions_run(comm, seed + (unsigned) i, one_in << i);
        if (is_alone) {
            allgathers_run(comm);
            alltoalls_run(comm);
        }
        broadcasts_run(comm);
        long_reductions_run(comm);
        if (mode == MODE__BLOCKING)
            bits_run(comm);
        mixed_run(comm);
        MPI_Comm_free(&comm);
        direct_moves_run(kind, mode, seed);
    }
}
