/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* MPICH's algorithms named tsp_, which are used where control variables choose them: their temporary
 * buffers are in GPU memory, too. */

#include "collectives.h"
#include "report.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 6000                  /* elements of a message, which are not short */

static int rank, nprocs;

/* The algorithms with such buffers. */
static const struct algorithm {
    enum what what;
    const char *name;
    int is_in_place;
} algorithms[] = {
    {CALL__bcast, "tsp_scatterv_recexch_allgatherv", 0},
    {CALL__gather, "tsp_tree", 0},
    {CALL__scatter, "tsp_tree", 0},
    {CALL__allgather, "tsp_ring", 0},
    {CALL__allgather, "tsp_brucks", 0},
    {CALL__allgatherv, "tsp_ring", 0},
    {CALL__allgatherv, "tsp_brucks", 0},
    {CALL__alltoall, "tsp_ring", 0},
    {CALL__alltoall, "tsp_brucks", 0},
    {CALL__alltoall, "tsp_scattered", 1},
    {CALL__alltoallv, "tsp_inplace", 1},
    {CALL__alltoallw, "tsp_inplace", 1},
    {CALL__reduce, "tsp_tree", 0},
    {CALL__reduce, "tsp_ring", 0},
    {CALL__allreduce, "tsp_recexch_single_buffer", 0},
    {CALL__allreduce, "tsp_recexch_multiple_buffer", 0},
    {CALL__allreduce, "tsp_tree", 0},
    {CALL__allreduce, "tsp_ring", 0},
    {CALL__allreduce, "tsp_recexch_reduce_scatter_recexch_allgatherv", 0},
    {CALL__reduce_scatter, "tsp_recexch", 0},
    {CALL__reduce_scatter_block, "tsp_recexch", 0},
    {CALL__scan, "tsp_recursive_doubling", 0},
};

/* Whether a control variable chooses an algorithm. */
static int is_chosen(const struct algorithm *a)
{
    char variable[100];
    const char *value;

    snprintf(variable, sizeof(variable), "MPIR_CVAR_I%s_INTRA_ALGORITHM",
             call_name(a->what) + strlen("MPI_"));
    for (char *c = variable; *c; c++)
        *c = (char) toupper(*c);
    value = getenv(variable);
    return value && strcmp(value, a->name) == 0;
}

/* N elements for each peer, or of each process. */
static void part_fill(struct part *p, MPI_Datatype type, int npeers, MPI_Aint unit)
{
    *p = (struct part) {.is_used = 1,.n = npeers,.kind = MEM__DEVICE };
    for (int i = 0; i < npeers; i++) {
        p->count[i] = N;
        p->displ[i] = i * N * unit;
        p->type[i] = type;
    }
    part_measure(p, unit > 1);
}

static void call_fill(const struct algorithm *a, struct call *c, MPI_Datatype type)
{
    const int is_each_sent = a->what == CALL__alltoall || a->what == CALL__scatter ||
        a->what == CALL__reduce_scatter || a->what == CALL__reduce_scatter_block;
    const int is_each_received = a->what == CALL__gather || a->what == CALL__allgather ||
        a->what == CALL__allgatherv || (a->what >= CALL__alltoall && a->what <= CALL__alltoallw);
    MPI_Aint lb, unit = 1;

    if (a->what == CALL__alltoallw)
        MPI_Type_get_extent(type, &lb, &unit);
    part_fill(&c->send, type, is_each_sent ? nprocs : 1, unit);
    part_fill(&c->recv, type, is_each_received ? nprocs : 1, unit);
    c->send.is_in_place = a->is_in_place;
    c->send.is_used = a->what != CALL__bcast && (a->what != CALL__scatter || rank == c->root);
    c->recv.is_used = (a->what != CALL__gather && a->what != CALL__reduce) || rank == c->root;
    if (a->what == CALL__reduce_scatter)
        c->send.count[0] = N * nprocs;
    for (int i = 0; i < nprocs; i++)
        c->counts[i] = N;
}

/* One call of an algorithm, by all processes. */
static void algorithm_run(const struct algorithm *a, enum mode mode, MPI_Datatype vector)
{
    const int is_moving = a->what < CALL__NMOVING;
    struct call c = {.what = a->what,.mode = mode,.comm = MPI_COMM_WORLD,.root = nprocs - 1,.op = MPI_SUM
    };
    unsigned long long temps = report_variable("gpudt_temps"), all;

    call_fill(a, &c, is_moving ? vector : MPI_INT);
    if (!call_check(&c, is_moving ? bytes_fill : operands_fill, (unsigned) (100 * a->what + rank)))
        fprintf(stderr, "... %s by %s, mode %d\n", call_name(a->what), a->name, mode);
    temps = report_variable("gpudt_temps") - temps;
    CHECK_MPI(MPI_Allreduce(&temps, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    if (all == 0)
        report_fail("%s by %s, mode %d, has no temporary buffers in GPU memory",
                    call_name(a->what), a->name, mode);
}

void transports_run(void)
{
    int nchosen = 0;
    MPI_Datatype vector;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    for (int i = 0; i < (int) (sizeof(algorithms) / sizeof(algorithms[0])); i++) {
        if (!is_chosen(&algorithms[i]))
            continue;
        nchosen++;
        algorithm_run(&algorithms[i], MODE__NONBLOCKING, vector);
        algorithm_run(&algorithms[i], MODE__PERSISTENT, vector);
    }
    CHECK(nchosen > 0);
    MPI_Type_free(&vector);
}
