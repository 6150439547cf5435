/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Reductions, and other collectives, by MPICH's algorithms (MPIR_CVAR_GPUDT_COLL=never) in which a
 * driver call of one process fails: none of the others waits for a message of that process, which goes
 * on, and it gets an error unless all have the right result. moves.c has collectives that move data;
 * inter.c does the same between two groups. */

#include "collectives.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

#define CODE 999                /* CUDA_ERROR_UNKNOWN */

static int rank, nprocs;
static enum mode mode;          /* of the calls */
static int is_inter;            /* between two groups */

/* Short ones, and ones for which MPICH takes other algorithms. */
static const int counts[] = { 120, 1200 };

static const struct {
    enum what what;
    int is_in_place;
} cases[] = {
    {CALL__reduce, 0}, {CALL__allreduce, 0}, {CALL__reduce_scatter_block, 0},
    {CALL__reduce_scatter, 1}, {CALL__scan, 0}, {CALL__exscan, 1}, {CALL__alltoall, 0},
    {CALL__alltoall, 1}, {CALL__alltoallv, 0}, {CALL__alltoallv, 1}, {CALL__alltoallw, 0},
    {CALL__alltoallw, 1}, {CALL__gatherv, 0}, {CALL__scatterv, 0}
};
#define NCASES ((int) (sizeof(cases) / sizeof(cases[0])))

/* A call in the current mode. The arguments are those before the request. */
#define CALL(Name_, iname_, ...)                                                            \
    (mode == MODE__BLOCKING ? MPI_##Name_(__VA_ARGS__) :                                    \
     (err = MPI_I##iname_(__VA_ARGS__, &request)) ? err : MPI_Wait(&request, MPI_STATUS_IGNORE))

/* A sum of n integers of each process, or an exchange of them. Returns its error.
 *   from  (IN)  MPI_IN_PLACE: they are in to */
static int flat_call(MPI_Comm comm, enum what what, const void *from, void *to, int n)
{
    int blocks[MAX_PROCS], displs[MAX_PROCS], bytes[MAX_PROCS], err;
    MPI_Datatype types[MAX_PROCS];
    MPI_Request request;

    for (int i = 0; i < nprocs; i++) {
        blocks[i] = n / nprocs;
        displs[i] = i * blocks[i];
        bytes[i] = displs[i] * (int) sizeof(int);
        types[i] = MPI_INT;
    }
    switch (what) {
        case CALL__reduce:
            return CALL(Reduce, reduce, from, to, n, MPI_INT, MPI_SUM, 0, comm);
        case CALL__allreduce:
            return CALL(Allreduce, allreduce, from, to, n, MPI_INT, MPI_SUM, comm);
        case CALL__reduce_scatter_block:
            return CALL(Reduce_scatter_block, reduce_scatter_block, from, to, n / nprocs, MPI_INT,
                        MPI_SUM, comm);
        case CALL__reduce_scatter:
            return CALL(Reduce_scatter, reduce_scatter, from, to, blocks, MPI_INT, MPI_SUM, comm);
        case CALL__scan:
            return CALL(Scan, scan, from, to, n, MPI_INT, MPI_SUM, comm);
        case CALL__gatherv:
            return CALL(Gatherv, gatherv, from, n / nprocs, MPI_INT, to, blocks, displs, MPI_INT, 0,
                        comm);
        case CALL__scatterv:
            return CALL(Scatterv, scatterv, from, blocks, displs, MPI_INT, to, n / nprocs, MPI_INT,
                        0, comm);
        case CALL__alltoall:
            return CALL(Alltoall, alltoall, from, n / nprocs, MPI_INT, to, n / nprocs, MPI_INT,
                        comm);
        case CALL__alltoallv:
            return CALL(Alltoallv, alltoallv, from, blocks, displs, MPI_INT, to, blocks, displs,
                        MPI_INT, comm);
        case CALL__alltoallw:
            return CALL(Alltoallw, alltoallw, from, blocks, bytes, types, to, blocks, bytes, types,
                        comm);
        default:
            return CALL(Exscan, exscan, from, to, n, MPI_INT, MPI_SUM, comm);
    }
}

int flat_operand(int i, int k)
{
    return 1000 * i + k;
}

/* Element k of the sum of the first i processes. */
static int sum_of(int i, int k)
{
    return 1000 * i * (i - 1) / 2 + k * i;
}

/* Whether the result of this process, of a call that has succeeded, is right. */
static int is_right(enum what what, const int *values, int n)
{
    const int is_scatter = what == CALL__reduce_scatter || what == CALL__reduce_scatter_block ||
        what == CALL__scatterv;
    const int has_root = what == CALL__reduce || what == CALL__gatherv;
    int first = is_scatter ? n / nprocs * rank : 0, ok = 1, summands = nprocs;

    if ((has_root && rank != 0) || (what == CALL__exscan && rank == 0))
        return 1;
    if (what == CALL__scan || what == CALL__exscan)
        summands = rank + (what == CALL__scan);
    for (int k = 0; k < (is_scatter ? n / nprocs : n); k++) {
        if (what == CALL__alltoall || what == CALL__alltoallv || what == CALL__alltoallw)
            ok &= values[k] == flat_operand(k / (n / nprocs), n / nprocs * rank + k % (n / nprocs));
        else if (what == CALL__gatherv)
            ok &= values[k] == flat_operand(k / (n / nprocs), k % (n / nprocs));
        else if (what == CALL__scatterv)
            ok &= values[k] == flat_operand(0, first + k);
        else
            ok &= values[k] == sum_of(summands, first + k);
    }
    return ok;
}

/* A call in which driver call number `at` of a process fails, and one after it. Returns whether there
 * were that many. */
static int fault_run(MPI_Comm comm, int i, int n, int victim, long at)
{
    const enum what what = is_inter ? inter_whats[i] : cases[i].what;
    int *values = malloc((size_t) n * sizeof(int)), fired = 0, err, err_class, sum[2];
    struct mem from, to;

    mem_alloc(&from, MEM__DEVICE, (size_t) n * sizeof(int));
    mem_alloc(&to, MEM__DEVICE, (size_t) n * sizeof(int));
    for (int repeat = 0; repeat < 2; repeat++) {
        for (int k = 0; k < n; k++)
            values[k] = flat_operand(rank, k);
        mem_write(&from, 0, values, (size_t) n * sizeof(int));
        mem_write(&to, 0, values, (size_t) n * sizeof(int));
        MPI_Barrier(MPI_COMM_WORLD);
        if (repeat == 0 && rank == victim)
            gpu.emu_fail_set(NULL, at, CODE, 1);
        err = is_inter ? inter_call(comm, mode, what, from.addr, to.addr, n) :
            flat_call(comm, what, cases[i].is_in_place ? MPI_IN_PLACE : from.addr, to.addr, n);
        if (repeat == 0 && rank == victim) {
            fired = gpu.emu_failed_count() > 0;
            gpu.emu_fail_set(NULL, 0, 0, 1);
        }
        CHECK_MPI(MPI_Error_class(err, &err_class));
        if (err_class == MPI_ERR_IN_STATUS || err_class == MPI_ERR_PENDING)
            report_fail("%s returns an error of a class that is not for it: %s", call_name(what),
                        report_mpi_text(err));
        mem_read(&to, 0, values, (size_t) n * sizeof(int));
        sum[0] = err != MPI_SUCCESS ||
            !(is_inter ? inter_is_right(what, values, n) : is_right(what, values, n));
        sum[1] = rank == victim && err != MPI_SUCCESS;
        CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        if (sum[0] && !sum[1] && rank == victim)
            report_fail("%s, %d elements, call %ld of rank %d fails, run %d: that process succeeds",
                        call_name(what), n, at, victim, repeat);
        if (repeat == 1 && err)
            report_fail("%s after call %ld of rank %d has failed: %s", call_name(what), at, victim,
                        report_mpi_text(err));
    }
    CHECK_MPI(MPI_Bcast(&fired, 1, MPI_INT, victim, MPI_COMM_WORLD));
    mem_free(&from);
    mem_free(&to);
    free(values);
    return fired;
}

void flat_faults_run(enum mode which, int between_groups)
{
    /* There are any number, as the driver is asked again and again whether a copy has ended */
    enum { MAX_CALLS = 60 };
    const int ncases = between_groups ? NINTER : NCASES;
    MPI_Comm comm;
    long at;

    mode = which;
    is_inter = between_groups;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    for (int i = 0; i < ncases; i++) {
        for (int victim = 0; victim < nprocs; victim++) {
            if (is_inter)
                comm = inter_comm();
            else
                MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            for (at = 1; at <= MAX_CALLS; at++) {
                if (!fault_run(comm, i, counts[(i + victim) % 2], victim, at))
                    break;
            }
            /* Others than the root have no part in some calls of their group */
            CHECK(at > 1 || (is_inter && victim > 0 && victim < nprocs / 2));
            MPI_Comm_free(&comm);
        }
    }
}
