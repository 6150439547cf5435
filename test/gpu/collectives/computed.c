/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Calls whose results are computed: see collectives.h. */

#include "collectives.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define N COMPUTED_N

const enum what computed_whats[NCOMPUTED] = {
    CALL__allreduce, CALL__bcast, CALL__alltoallw, CALL__allgather, CALL__reduce_scatter_block,
    CALL__gatherv, CALL__scatter, CALL__reduce
};

long direct_count(void)
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

void computed_make(struct computed *p, enum what what, int number, enum mem_kind where,
                   MPI_Comm comm)
{
    MPI_Group group, world;
    int own[MAX_PROCS];

    p->what = what;
    MPI_Comm_size(comm, &p->size);
    MPI_Comm_rank(comm, &p->me);
    p->root = number % p->size;
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < p->size; i++)
        own[i] = i;
    MPI_Group_translate_ranks(group, p->size, own, world, p->ranks);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    mem_alloc(&p->from, where, (size_t) (p->size * N) * sizeof(int));
    mem_alloc(&p->to, where, (size_t) (p->size * N) * sizeof(int));
    computed_fill(p, number);
}

void computed_fill(struct computed *p, int number)
{
    int *values = malloc((size_t) (p->size * N) * sizeof(int));

    p->number = number;
    for (int i = 0; i < p->size * N; i++)
        values[i] = value_of(number, world_rank, i / N, i % N);
    mem_write(&p->from, 0, values, (size_t) (p->size * N) * sizeof(int));
    memset(values, 0xff, (size_t) (p->size * N) * sizeof(int));
    mem_write(&p->to, 0, values, (size_t) (p->size * N) * sizeof(int));
    free(values);
}

/* A nonblocking call, or a persistent one; its error. The arguments are those before the
 * communicator. */
#define CALL(Name_, iname_, ...)                                                                \
    (mode == MODE__PERSISTENT ?                                                                 \
     MPI_##Name_##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &p->request) :                        \
     MPI_I##iname_(__VA_ARGS__, comm, &p->request))

int computed_start(struct computed *p, enum mode mode, MPI_Comm comm)
{
    MPI_Datatype type = every_second(), types[MAX_PROCS];
    int counts[MAX_PROCS], displs[MAX_PROCS], bytes[MAX_PROCS], root = p->root, err;
    void *from = p->from.addr, *to = p->to.addr;

    for (int i = 0; i < p->size; i++) {
        counts[i] = 1;
        displs[i] = i;
        bytes[i] = i * N * (int) sizeof(int);
        types[i] = type;
    }
    switch (p->what) {
        case CALL__allreduce:
            err = CALL(Allreduce, allreduce, from, to, N, MPI_INT, MPI_SUM);
            break;
        case CALL__reduce:
            err = CALL(Reduce, reduce, from, to, N, MPI_INT, MPI_SUM, root);
            break;
        case CALL__reduce_scatter_block:
            err = CALL(Reduce_scatter_block, reduce_scatter_block, from, to, N, MPI_INT, MPI_SUM);
            break;
        case CALL__bcast:
            err = CALL(Bcast, bcast, p->me == root ? from : to, 1, type, root);
            break;
        case CALL__allgather:
            err = CALL(Allgather, allgather, from, 1, type, to, N / 2, MPI_INT);
            break;
        case CALL__gatherv:
            for (int i = 0; i < p->size; i++) {
                counts[i] = N / 2;
                displs[i] = i * N;
            }
            err = CALL(Gatherv, gatherv, from, 1, type, to, counts, displs, MPI_INT, root);
            break;
        case CALL__scatter:
            err = CALL(Scatter, scatter, from, N, MPI_INT, to, N, MPI_INT, root);
            break;
        default:
            err = CALL(Alltoallw, alltoallw, from, counts, bytes, types, to, counts, bytes, types);
    }
    MPI_Type_free(&type);
    memset(counts, 0x7f, sizeof(counts));
    memset(displs, 0x7f, sizeof(displs));
    memset(bytes, 0x7f, sizeof(bytes));
    return err;
}

/* The sum of what all have for process `to`. */
static int sum_of(const struct computed *p, int to, int k)
{
    int sum = 0;

    for (int i = 0; i < p->size; i++)
        sum += value_of(p->number, p->ranks[i], to, k);
    return sum;
}

/* What a call must have put at integer k of block b; untouched integers are -1. */
static int expected(const struct computed *p, int b, int k)
{
    const int is_root = p->me == p->root;

    switch (p->what) {
        case CALL__allreduce:
        case CALL__reduce:
            return b == 0 && (is_root || p->what == CALL__allreduce) ? sum_of(p, k / N, k % N) : -1;
        case CALL__reduce_scatter_block:
            return b == 0 ? sum_of(p, p->me, k) : -1;
        case CALL__bcast:
            return b == 0 && !is_root && k % 2 == 0 ? value_of(p->number, p->ranks[p->root], 0, k) :
                -1;
        case CALL__allgather:
            k += b * N;
            return k < p->size * N / 2 ?
                value_of(p->number, p->ranks[k / (N / 2)], 0, k % (N / 2) * 2) : -1;
        case CALL__gatherv:
            return is_root && k < N / 2 ? value_of(p->number, p->ranks[b], 0, k * 2) : -1;
        case CALL__scatter:
            return b == 0 ? value_of(p->number, p->ranks[p->root], p->me, k) : -1;
        default:
            return k % 2 == 0 ? value_of(p->number, p->ranks[b], p->me, k) : -1;
    }
}

void computed_check(const struct computed *p)
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
}

int computed_is_complete(const struct computed *p)
{
    int *values = malloc((size_t) (p->size * N) * sizeof(int)), is_same = 1;

    mem_read(&p->to, 0, values, (size_t) (p->size * N) * sizeof(int));
    for (int i = 0; i < p->size * N; i++)
        is_same &= values[i] == expected(p, i / N, i % N);
    free(values);
    return is_same;
}

void computed_free(struct computed *p)
{
    mem_free(&p->from);
    mem_free(&p->to);
}
