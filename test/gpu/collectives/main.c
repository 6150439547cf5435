/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests collectives with buffers in any kind of memory: each call is made on them and on their
 * twins in host memory, whose contents must then be the same. Any number of processes, at most 8.
 *
 *     collectives cases                            reductions that the release gets wrong, each by itself
 *     collectives direct [SEED [ONE_IN]]           those that map the other processes' memory; one
 *                                                  pair of operation and datatype in ONE_IN
 *     collectives faults                           the same with failures; emulated driver only
 *     collectives pending [SEED]                   many nonblocking ones in flight
 *     collectives dies                             the last process dies; with MPIR_CVAR_ENABLE_FT=1
 *     collectives threads                          other threads call MPI meanwhile; emulated driver only
 *     collectives ifaults                          the same, nonblocking
 *     collectives local [SEED]                     MPI_Reduce_local of every operation and datatype
 *     collectives reducing [SEED [CALLS [KIND]]]   random reductions
 *     collectives moving [SEED [CALLS [KIND]]]     random collectives without an operation
 *
 * KIND: only that kind of memory. With pageable memory, MPICH's own handling is tested.
 *
 * A failure prints the call and the command line to reproduce it. */

#include "collectives.h"
#include "oracle.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int world_rank;

static enum mem_kind only = MEM__NKINDS;

enum mem_kind kind_draw(struct rng *rng)
{
    enum mem_kind kind = only;

    while (kind == MEM__NKINDS || !mem_exists(kind))
        kind = (enum mem_kind) rng_range(rng, 0, MEM__NKINDS - 1);
    return kind;
}

int shift_draw(struct rng *rng, enum mem_kind kind)
{
    int shift = (int) rng_range(rng, 0, 15);

    if (!mem_is_gpu(kind))
        return 0;
    return rng_chance(rng, 30) ? shift : 8 * (shift % 2);
}

/* Whether MPICH knows where the data of a datatype is: not so in some nests of resized types. */
static int has_bounds(MPI_Datatype type)
{
    MPI_Aint lb, span, size, lo, hi;
    oracle *map = oracle_create(type);

    MPI_Type_get_true_extent(type, &lb, &span);
    oracle_span(map, 1, &size, &lo, &hi);
    oracle_free(map);
    return lo == lb && hi == lb + span;
}

MPI_Datatype type_draw(struct rng *rng, const struct randtype_opts *opts)
{
    MPI_Datatype type, resized;
    MPI_Aint lb, span;

    while (1) {
        type = randtype_make(rng, opts, NULL);
        MPI_Type_get_true_extent(type, &lb, &span);
        MPI_Type_create_resized(type, rng_range(rng, -16, 16), span + rng_range(rng, 0, 12),
                                &resized);
        if (has_bounds(type) && has_bounds(resized))
            break;
        randtype_free(&type);
        MPI_Type_free(&resized);
    }
    MPI_Type_commit(&resized);
    randtype_free(&type);
    return resized;
}

/* Every other process of the world in one group, the others in the other one. */
static MPI_Comm inter_make(void)
{
    MPI_Comm half, inter;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter);
    MPI_Comm_free(&half);
    return inter;
}

/* A ring, or a graph with random edges that every process draws. */
static MPI_Comm topo_make(struct rng *rng, int nprocs)
{
    MPI_Comm comm;
    int rank, periodic = 1, nin = 0, nout = 0, in[MAX_PROCS], out[MAX_PROCS];

    if (rng_chance(rng, 50)) {
        MPI_Cart_create(MPI_COMM_WORLD, 1, &nprocs, &periodic, 0, &comm);
        return comm;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < nprocs; i++) {
        for (int j = 0; j < nprocs; j++) {
            if (!rng_chance(rng, 60))
                continue;
            if (i == rank)
                out[nout++] = j;
            if (j == rank)
                in[nin++] = i;
        }
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, nin, in, MPI_UNWEIGHTED, nout, out,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    return comm;
}

MPI_Comm comm_draw(struct rng *rng, int may_be_inter, int must_be_topo, int *is_inter)
{
    MPI_Comm comm;
    int nprocs;

    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    *is_inter = !must_be_topo && may_be_inter && nprocs > 1 && rng_chance(rng, 20);
    if (*is_inter)
        comm = inter_make();
    else if (must_be_topo)
        comm = topo_make(rng, nprocs);
    else
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

static void calls_run(const char *what, void (*call) (unsigned long, unsigned long),
                      unsigned long seed, unsigned long ncalls)
{
    for (unsigned long i = 0; i < ncalls; i++)
        call(seed, i);
    if (report_failures)
        fprintf(stderr, "again: collectives %s %lu %lu\n", what, seed, ncalls);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "cases";
    unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
    unsigned long ncalls = argc > 3 ? strtoul(argv[3], NULL, 0) : 200;
    const char *coll = getenv("MPIR_CVAR_GPUDT_COLL");
    int nprocs, provided;

    report_time_limit(300);
    MPI_Init_thread(NULL, NULL, strcmp(what, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE,
                    &provided);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    if (gpu_open() == 0 || nprocs > MAX_PROCS)
        return 1;
    gpu_set_current(0);
    /* The algorithm for buffers is not that for their twins then */
    operands_exact = coll && strcmp(coll, "always") == 0;
    if (argc > 4 && (only = mem_named(argv[4])) == MEM__NKINDS)
        return 2;
    if (strcmp(what, "cases") == 0)
        cases_run();
    else if (strcmp(what, "direct") == 0)
        direct_run((unsigned) seed, argc > 3 ? (unsigned) ncalls : 1);
    else if (strcmp(what, "faults") == 0)
        direct_faults_run(MODE__BLOCKING);
    else if (strcmp(what, "ifaults") == 0)
        direct_faults_run(MODE__NONBLOCKING);
    else if (strcmp(what, "pending") == 0)
        pending_run(seed);
    else if (strcmp(what, "dies") == 0)
        dies_run();
    else if (strcmp(what, "threads") == 0)
        threads_run();
    else if (strcmp(what, "local") == 0)
        local_run(seed);
    else if (strcmp(what, "reducing") == 0)
        calls_run(what, reducing_call, seed, ncalls);
    else if (strcmp(what, "moving") == 0)
        calls_run(what, moving_call, seed, ncalls);
    else
        return 2;
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
