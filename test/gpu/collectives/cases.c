/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Reductions that fail with the release's own handling of device memory, each by itself; and where
 * temporary buffers are, also of calls that move data. */

#include "collectives.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 5

static int rank, nprocs;
static MPI_Op affine;

/* 12 bytes at a displacement, which is not in the middle of the extent. */
static MPI_Datatype placed_type(MPI_Aint displ)
{
    const MPI_Aint displs[] = { displ, displ + 10 };
    const int lengths[] = { 8, 4 };
    MPI_Datatype type, resized;

    MPI_Type_create_hindexed(2, lengths, displs, MPI_BYTE, &type);
    MPI_Type_create_resized(type, displ, 16, &resized);
    MPI_Type_commit(&resized);
    MPI_Type_free(&type);
    return resized;
}

/* The parts of a process of a reduction of N elements for each process. */
static void call_fill(struct call *c, MPI_Datatype type, enum mem_kind send, enum mem_kind recv)
{
    int is_scatter = c->what == CALL__reduce_scatter || c->what == CALL__reduce_scatter_block;
    int has_result = c->what != CALL__reduce || rank == c->root;

    c->send = (struct part) {.is_used = 1,.n = 1,.kind = send };
    c->recv = (struct part) {.is_used = has_result,.n = 1,.kind = recv };
    c->send.type[0] = c->recv.type[0] = type;
    c->recv.count[0] = N;
    c->send.count[0] = is_scatter ? N * nprocs : N;
    for (int i = 0; i < nprocs; i++)
        c->counts[i] = N;
    part_measure(&c->send, 0);
    part_measure(&c->recv, 0);
}

/* Every reduction in every mode. */
static void reductions_run(const char *name, MPI_Datatype type, enum mem_kind send,
                           enum mem_kind recv)
{
    for (int i = CALL__NMOVING; i < CALL__NCALLS * MODE__NMODES; i++) {
        struct call c = {.what = (enum what) (i % CALL__NCALLS),
            .mode = (enum mode) (i / CALL__NCALLS),.comm = MPI_COMM_WORLD,.root = nprocs - 1,.op = affine
        };

        if (c.what < CALL__NMOVING)
            continue;
        call_fill(&c, type, send, recv);
        if (!call_check(&c, bytes_fill, (unsigned) (100 * i + rank)))
            fprintf(stderr, "... %s, %s, mode %d\n", name, call_name(c.what), c.mode);
    }
}

/* Data at an absolute address: the address of the buffer says nothing. */
static void absolute_run(void)
{
    struct mem mem;
    MPI_Datatype type, absolute;
    unsigned char mine[16], expected[16], seen[16];
    MPI_Request request;

    for (int i = 0; i < 16; i++)
        mine[i] = expected[i] = (unsigned char) (16 + 17 * rank + i);
    mem_alloc(&mem, MEM__DEVICE, 16);
    type = placed_type(0);
    absolute = randtype_absolute(type, mem.addr);
    CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, expected, 1, type, affine, MPI_COMM_WORLD));

    for (int mode = 0; mode < MODE__NMODES; mode++) {
        mem_write(&mem, 0, mine, 16);
        if (mode == MODE__BLOCKING) {
            CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, MPI_BOTTOM, 1, absolute, affine,
                                    MPI_COMM_WORLD));
        } else if (mode == MODE__NONBLOCKING) {
            CHECK_MPI(MPI_Iallreduce(MPI_IN_PLACE, MPI_BOTTOM, 1, absolute, affine,
                                     MPI_COMM_WORLD, &request));
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            CHECK_MPI(MPI_Allreduce_init(MPI_IN_PLACE, MPI_BOTTOM, 1, absolute, affine,
                                         MPI_COMM_WORLD, MPI_INFO_NULL, &request));
            CHECK_MPI(MPI_Start(&request));
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            MPI_Request_free(&request);
        }
        mem_read(&mem, 0, seen, 16);
        report_compare("a reduction at an absolute address", seen, expected, 16);
    }
    MPI_Type_free(&absolute);
    MPI_Type_free(&type);
    mem_free(&mem);
}

/* Check the result of a reduction of n doubles, of which the i-th is rank + i % n. */
static void doubles_check(const struct call *c, struct mem *to, double *host)
{
    const int n = c->counts[0];
    int nsummed = c->what == CALL__scan ? rank + 1 : c->what == CALL__exscan ? rank : nprocs;
    double sum = 0;

    for (int i = 0; i < nsummed; i++)
        sum += i;
    mem_read(to, 0, host, (size_t) n * sizeof(double));
    for (int i = 0; i < n && nsummed > 0 && (c->what != CALL__reduce || rank == 0); i++) {
        if (host[i] != sum + (double) nsummed * i) {
            report_fail("%s of %d doubles, mode %d: element %d is %g", call_name(c->what), n,
                        (int) c->mode, i, host[i]);
            break;
        }
    }
}

/* Make that reduction, a persistent one twice, and check each result. */
static void doubles_reduce(const struct call *c, struct mem *from, struct mem *to, double *host)
{
    const size_t bytes = (size_t) c->counts[0] * sizeof(double);
    MPI_Request request;

    for (int i = 0; i < (c->mode == MODE__PERSISTENT ? 2 : 1); i++) {
        memset(host, 0xff, bytes);
        mem_write(to, 0, host, bytes);
        if (i == 0)
            CHECK_MPI(call_start(c, from->addr, to->addr, &request));
        if (c->mode == MODE__PERSISTENT)
            CHECK_MPI(MPI_Start(&request));
        if (c->mode != MODE__BLOCKING)
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        doubles_check(c, to, host);
    }
    if (c->mode == MODE__PERSISTENT)
        CHECK_MPI(MPI_Request_free(&request));
}

/* Reductions of doubles in GPU memory: their temporary buffers are on the GPU too, and no step is
 * done by the CPU. */
static void temporaries_run(enum mode mode, int n)
{
    static const enum what calls[] = { CALL__allreduce, CALL__reduce, CALL__reduce_scatter,
        CALL__reduce_scatter_block, CALL__scan, CALL__exscan
    };
    const int ncalls = sizeof(calls) / sizeof(calls[0]);
    unsigned long long temps = report_variable("gpudt_temps");
    unsigned long long by_cpu = report_variable("gpudt_reductions_cpu");
    const char *limit = getenv("MPIR_CVAR_GPUDT_TEMP_MIB");
    double *host = malloc((size_t) (n * nprocs) * sizeof(double));
    struct call c = {.mode = mode,.comm = MPI_COMM_WORLD,.op = MPI_SUM };
    struct mem from, to;
    size_t bytes = (size_t) n * sizeof(double);

    mem_alloc(&from, MEM__DEVICE, (int) bytes * nprocs);
    mem_alloc(&to, MEM__DEVICE, (int) bytes);
    for (int i = 0; i < n * nprocs; i++)
        host[i] = rank + i % n;
    mem_write(&from, 0, host, bytes * (size_t) nprocs);
    c.send.count[0] = n;
    c.send.type[0] = MPI_DOUBLE;
    for (int i = 0; i < nprocs; i++)
        c.counts[i] = n;
    for (int i = 0; i < ncalls; i++) {
        c.what = calls[i];
        doubles_reduce(&c, &from, &to, host);
    }
    temps = report_variable("gpudt_temps") - temps;
    by_cpu = report_variable("gpudt_reductions_cpu") - by_cpu;
    if (limit && strcmp(limit, "0") == 0 ? temps > 0 :
        (nprocs > 1 && temps < (unsigned) ncalls) || by_cpu > 0)
        report_fail("%llu temporary buffers on the GPU, %llu reductions by the CPU", temps, by_cpu);
    mem_free(&from);
    mem_free(&to);
    free(host);
}

/* A call that moves n elements, or so many to each process, of which MPICH's algorithm keeps some in
 * a temporary buffer. */
static void moved_call(enum what what, enum mode mode, MPI_Comm comm, MPI_Datatype type, int n)
{
    struct call c = {.what = what,.mode = mode,.comm = comm,.root = nprocs - 1 };

    c.send = (struct part) {.is_used = what != CALL__bcast,.n = 1,.kind = MEM__DEVICE };
    c.recv = (struct part) {.is_used = 1,.n = what == CALL__bcast ? 1 : nprocs,
        .kind = MEM__DEVICE
    };
    c.send.is_in_place = what == CALL__alltoall;
    c.send.count[0] = n;
    c.send.type[0] = type;
    for (int i = 0; i < c.recv.n; i++) {
        c.recv.count[i] = n;
        c.recv.displ[i] = (MPI_Aint) i * n;
        c.recv.type[i] = type;
    }
    part_measure(&c.send, 0);
    part_measure(&c.recv, 0);
    if (!call_check(&c, bytes_fill, (unsigned) (1000 * n + rank)))
        fprintf(stderr, "... %s of %d elements, mode %d\n", call_name(what), n, (int) mode);
}

/* Calls of n elements of 16 bytes, on a new communicator: MPICH's algorithms do them.
 *   most  (IN)  temporary buffers in GPU memory of each call in this process; -1: at least one */
static void moved_calls(enum mode mode, MPI_Datatype type, int n, int most)
{
    static const enum what calls[] = { CALL__alltoall, CALL__bcast };
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 2; i++) {
        long temps = (long) report_variable("gpudt_temps");

        moved_call(calls[i], mode, comm, type, n);
        temps = (long) report_variable("gpudt_temps") - temps;
        if (nprocs > 1 && (most < 0 ? temps == 0 : temps > most))
            report_fail("%s of %d elements, mode %d: %ld temporary buffers on the GPU",
                        call_name(calls[i]), n, (int) mode, temps);
    }
    MPI_Comm_free(&comm);
}

/* Data in GPU memory that is moved: its temporary buffers are on the GPU, too, unless they are short,
 * or there is no memory. */
static void moved_run(enum mode mode)
{
    enum { SHORT = 100, LONG = 6000, LONGER = 30000 };
    const char *limit = getenv("MPIR_CVAR_GPUDT_TEMP_MIB");
    const int is_never = limit && strcmp(limit, "0") == 0;
    MPI_Datatype type;

    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    moved_calls(mode, type, SHORT, 0);
    moved_calls(mode, type, LONG, is_never ? 0 : -1);
    if (gpu.is_emulated) {
        gpu.emu_fail_set("cuMemAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY, 0);
        moved_calls(mode, type, LONGER, 0);
        gpu.emu_fail_set(NULL, 0, 0, 0);
    }
    MPI_Type_free(&type);
}

/* Arguments that are not looked at where they are not significant: the result of a nonblocking
 * reduction in other processes than the root; the datatype of an empty block. Often enough for the
 * processes to tell each other of their buffers. */
static void insignificant_run(enum mem_kind kind)
{
    enum { n = 20000, ntimes = 6 };
    struct mem from, to;
    int *host = calloc(n, sizeof(host[0])), *counts = calloc(nprocs, sizeof(counts[0]));
    int *displs = calloc(nprocs, sizeof(displs[0]));
    MPI_Datatype *types = calloc(nprocs, sizeof(types[0]));
    MPI_Request request;

    CHECK(host && counts && displs && types);
    mem_alloc(&from, kind, n * sizeof(host[0]));
    mem_alloc(&to, kind, n * sizeof(host[0]));
    for (int t = 0; t < ntimes; t++) {
        for (int i = 0; i < n; i++)
            host[i] = rank + i + t;
        mem_write(&from, 0, host, n * sizeof(host[0]));
        CHECK_MPI(MPI_Ireduce(from.addr, rank ? MPI_IN_PLACE : (void *) to.addr, n, MPI_INT, MPI_SUM, 0,
                              MPI_COMM_WORLD, &request));
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        mem_read(&to, 0, host, n * sizeof(host[0]));
        for (int i = 0; i < n && rank == 0; i++) {
            if (host[i] != nprocs * (i + t) + nprocs * (nprocs - 1) / 2) {
                report_fail("element %d of a reduction is %d", i, host[i]);
                break;
            }
        }
    }
    for (int i = 0; i < nprocs; i++) {
        counts[i] = i == rank ? 0 : n;
        types[i] = i == rank ? MPI_DATATYPE_NULL : MPI_INT;
    }
    if (nprocs == 2) {
        for (int i = 0; i < n; i++)
            host[i] = 10 * i + rank;
        mem_write(&from, 0, host, n * sizeof(host[0]));
        CHECK_MPI(MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, from.addr, counts, displs, types,
                                 MPI_COMM_WORLD, &request));
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        mem_read(&from, 0, host, n * sizeof(host[0]));
        for (int i = 0; i < n; i++) {
            if (host[i] != 10 * i + 1 - rank) {
                report_fail("element %d of an all-to-all is %d", i, host[i]);
                break;
            }
        }
    }
    mem_free(&from);
    mem_free(&to);
    free(host);
    free(counts);
    free(displs);
    free(types);
}

/* A reduction of which only the first process gets a result, and only that one is in place. Often enough
 * for the processes to tell each other of their buffers. */
static void partly_in_place_run(enum mem_kind kind, enum mode mode, int n)
{
    const int is_mine = rank == 0, ntimes = 6;
    int *host = malloc((size_t) n * sizeof(host[0]));
    struct call c = {.what = CALL__reduce_scatter,.mode = mode,.comm = MPI_COMM_WORLD,.op = MPI_SUM };
    MPI_Request request = MPI_REQUEST_NULL;
    struct mem mem;

    mem_alloc(&mem, kind, (size_t) n * sizeof(host[0]));
    c.counts[0] = n;
    c.send.type[0] = MPI_INT;
    for (int t = 0; t < ntimes; t++) {
        for (int i = 0; i < n; i++)
            host[i] = rank + i + t;
        mem_write(&mem, 0, host, (size_t) n * sizeof(host[0]));
        if (mode != MODE__PERSISTENT || t == 0)
            CHECK_MPI(call_start(&c, is_mine ? MPI_IN_PLACE : mem.addr, is_mine ? mem.addr : NULL,
                                 &request));
        if (mode == MODE__PERSISTENT)
            CHECK_MPI(MPI_Start(&request));
        if (mode != MODE__BLOCKING)
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        mem_read(&mem, 0, host, (size_t) n * sizeof(host[0]));
        for (int i = 0; i < n && is_mine; i++) {
            if (host[i] != nprocs * (i + t) + nprocs * (nprocs - 1) / 2) {
                report_fail("element %d of a reduction in place at one process is %d", i, host[i]);
                break;
            }
        }
    }
    if (mode == MODE__PERSISTENT)
        MPI_Request_free(&request);
    mem_free(&mem);
    free(host);
}

void cases_run(void)
{
    static const struct {
        const char *name;
        MPI_Aint displ;
        enum mem_kind send, recv;
    } cases[] = {
        {"lower bound above", 48, MEM__DEVICE, MEM__DEVICE},
        {"lower bound below", -40, MEM__DEVICE, MEM__DEVICE},
        {"send buffer on the device", 0, MEM__DEVICE, MEM__PAGEABLE},
        {"receive buffer on the device", 0, MEM__PAGEABLE, MEM__DEVICE},
        {"managed memory", 8, MEM__MANAGED, MEM__DEVICE},
    };

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    MPI_Op_create(op_affine, 0, &affine);
    for (int i = 0; i < (int) (sizeof(cases) / sizeof(cases[0])); i++) {
        MPI_Datatype type = placed_type(cases[i].displ);
        reductions_run(cases[i].name, type, cases[i].send, cases[i].recv);
        MPI_Type_free(&type);
    }
    absolute_run();
    insignificant_run(MEM__PAGEABLE);
    insignificant_run(MEM__DEVICE);
    for (enum mode mode = 0; mode < MODE__NMODES; mode++) {
        temporaries_run(mode, 3);
        temporaries_run(mode, 100000);
        temporaries_run(mode, 90000);   /* in the same buffers */
        moved_run(mode);
        partly_in_place_run(MEM__PAGEABLE, mode, 1000);
        partly_in_place_run(MEM__DEVICE, mode, 1000);
        partly_in_place_run(MEM__DEVICE, mode, 100000);
    }
    MPI_Op_free(&affine);
}
