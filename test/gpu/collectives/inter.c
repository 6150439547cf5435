/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Calls between two groups of processes, of which flat.c lets driver calls fail. */

#include "collectives.h"
#include "report.h"

const enum what inter_whats[NINTER] = {
    CALL__bcast, CALL__gather, CALL__gatherv, CALL__scatter, CALL__allgather, CALL__allgatherv,
    CALL__alltoall, CALL__alltoallw, CALL__reduce, CALL__allreduce, CALL__reduce_scatter_block
};

static int rank, nprocs;
static int nfirst;              /* processes of the first group */

static int is_first(void)
{
    return rank < nfirst;
}

MPI_Comm inter_comm(void)
{
    MPI_Comm local, comm;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    nfirst = nprocs / 2;
    MPI_Comm_split(MPI_COMM_WORLD, is_first(), rank, &local);
    CHECK_MPI(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, is_first() ? nfirst : 0, 0, &comm));
    MPI_Comm_free(&local);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

/* The arguments are those before the request. */
#define CALL(Name_, iname_, ...)                                                            \
    (mode == MODE__BLOCKING ? MPI_##Name_(__VA_ARGS__) :                                    \
     (err = MPI_I##iname_(__VA_ARGS__, &request)) ? err : MPI_Wait(&request, MPI_STATUS_IGNORE))

int inter_call(MPI_Comm comm, enum mode mode, enum what what, const void *from, void *to, int n)
{
    const int m = n / nprocs, size = is_first() ? nfirst : nprocs - nfirst;
    const int root = !is_first() ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    int blocks[MAX_PROCS], displs[MAX_PROCS], bytes[MAX_PROCS], err;
    MPI_Datatype types[MAX_PROCS];
    MPI_Request request;

    for (int i = 0; i < nprocs; i++) {
        blocks[i] = m;
        displs[i] = i * m;
        bytes[i] = displs[i] * (int) sizeof(int);
        types[i] = MPI_INT;
    }
    switch (what) {
        case CALL__bcast:
            return CALL(Bcast, bcast, is_first() ? (void *) from : to, n, MPI_INT, root, comm);
        case CALL__gather:
            return CALL(Gather, gather, from, m, MPI_INT, to, m, MPI_INT, root, comm);
        case CALL__gatherv:
            return CALL(Gatherv, gatherv, from, m, MPI_INT, to, blocks, displs, MPI_INT, root, comm);
        case CALL__scatter:
            return CALL(Scatter, scatter, from, m, MPI_INT, to, m, MPI_INT, root, comm);
        case CALL__allgather:
            return CALL(Allgather, allgather, from, m, MPI_INT, to, m, MPI_INT, comm);
        case CALL__allgatherv:
            return CALL(Allgatherv, allgatherv, from, m, MPI_INT, to, blocks, displs, MPI_INT, comm);
        case CALL__alltoall:
            return CALL(Alltoall, alltoall, from, m, MPI_INT, to, m, MPI_INT, comm);
        case CALL__alltoallw:
            return CALL(Alltoallw, alltoallw, from, blocks, bytes, types, to, blocks, bytes, types,
                        comm);
        case CALL__reduce:
            return CALL(Reduce, reduce, from, to, n, MPI_INT, MPI_SUM, root, comm);
        case CALL__allreduce:
            return CALL(Allreduce, allreduce, from, to, n, MPI_INT, MPI_SUM, comm);
        default:
            return CALL(Reduce_scatter_block, reduce_scatter_block, from, to, n / size, MPI_INT,
                        MPI_SUM, comm);
    }
}

/* Element k of the sum of the other group. */
static int sum_of(int k)
{
    int sum = 0;

    for (int i = 0; i < nprocs; i++) {
        if ((i < nfirst) != is_first())
            sum += flat_operand(i, k);
    }
    return sum;
}

int inter_is_right(enum what what, const int *values, int n)
{
    const int m = n / nprocs, other = is_first() ? nfirst : 0;
    const int me = is_first() ? rank : rank - nfirst, size = is_first() ? nfirst : nprocs - nfirst;
    const int nother = nprocs - size;
    const int from_first = what == CALL__bcast || what == CALL__scatter;
    const int to_first = what == CALL__gather || what == CALL__gatherv || what == CALL__reduce;
    int ok = 1, len = nother * m;

    if ((from_first && is_first()) || (to_first && rank > 0))
        return 1;
    if (what == CALL__bcast || what == CALL__reduce || what == CALL__allreduce)
        len = n;
    else if (what == CALL__scatter)
        len = m;
    else if (what == CALL__reduce_scatter_block)
        len = n / size;
    for (int k = 0; k < len; k++) {
        switch (what) {
            case CALL__bcast:
                ok &= values[k] == flat_operand(0, k);
                break;
            case CALL__scatter:
                ok &= values[k] == flat_operand(0, me * m + k);
                break;
            case CALL__reduce:
            case CALL__allreduce:
                ok &= values[k] == sum_of(k);
                break;
            case CALL__reduce_scatter_block:
                ok &= values[k] == sum_of(me * len + k);
                break;
            case CALL__alltoall:
            case CALL__alltoallw:
                ok &= values[k] == flat_operand(other + k / m, me * m + k % m);
                break;
            default:
                ok &= values[k] == flat_operand(other + k / m, k % m);
        }
    }
    return ok;
}
