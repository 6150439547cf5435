/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Random calls of collectives, several in flight at a time, and what they draw: datatypes, kinds of
 * memory and communicators. */

#include "collectives.h"
#include "oracle.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

#define NCOMMS 3                /* communicators of each form, which the calls share */
#define NCALLS_OF_COMMS 100     /* after which there are others */
#define PRINT_S 60              /* seconds between two lines of output */

enum mem_kind kind_only = MEM__NKINDS;

enum mem_kind kind_draw(struct rng *rng)
{
    enum mem_kind kind = kind_only;

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
        span += rng_range(rng, 0, 12);
        MPI_Type_create_resized(type, rng_range(rng, -16, 16), rng_chance(rng, 20) ? -span : span,
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

/* ---- communicators ---- */

enum form { FORM__INTRA, FORM__INTER, FORM__TOPO, NFORMS };

static MPI_Comm comms[NFORMS][NCOMMS];
static int has_comm[NFORMS][NCOMMS];

MPI_Comm comm_draw(struct rng *rng, int may_be_inter, int must_be_topo, int *is_inter)
{
    int nprocs, i = (int) rng_range(rng, 0, NCOMMS - 1);
    enum form form;
    MPI_Comm *comm;

    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    *is_inter = !must_be_topo && may_be_inter && nprocs > 1 && rng_chance(rng, 20);
    form = *is_inter ? FORM__INTER : must_be_topo ? FORM__TOPO : FORM__INTRA;
    comm = &comms[form][i];
    if (has_comm[form][i])
        return *comm;
    if (form == FORM__INTER)
        *comm = inter_make();
    else if (form == FORM__TOPO)
        *comm = topo_make(rng, nprocs);
    else
        MPI_Comm_dup(MPI_COMM_WORLD, comm);
    MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
    has_comm[form][i] = 1;
    return *comm;
}

void comms_free(void)
{
    for (int form = 0; form < NFORMS; form++) {
        for (int i = 0; i < NCOMMS; i++) {
            if (has_comm[form][i])
                MPI_Comm_free(&comms[form][i]);
            has_comm[form][i] = 0;
        }
    }
}

/* ---- calls ---- */

void random_end(struct random_call *r)
{
    if (!flight_end(&r->flight))
        fprintf(stderr, "[%d] %s\n", world_rank, r->text);
    if (r->type != MPI_DATATYPE_NULL)
        MPI_Type_free(&r->type);
    if (r->op != MPI_OP_NULL)
        MPI_Op_free(&r->op);
}

static void rate_print(const char *name, unsigned long done, unsigned long ncalls, double seconds)
{
    if (world_rank == 0)
        printf("%lu of %lu calls (%s), %.0f a second\n", done, ncalls, name,
               (double) done / seconds);
    fflush(stdout);
}

void many_run(const char *name, void (*begin) (struct random_call *, unsigned long, unsigned long),
                unsigned long seed, unsigned long ncalls)
{
    struct random_call *calls = malloc(MAX_FLIGHTS * sizeof(*calls));
    double start = MPI_Wtime(), printed = start;
    unsigned long since = 0;
    struct rng rng;

    rng_init(&rng, seed);
    for (unsigned long i = 0; i < ncalls;) {
        unsigned long n = (unsigned long) rng_range(&rng, 1, MAX_FLIGHTS);

        report_time_limit(300);
        n = n < ncalls - i ? n : ncalls - i;
        for (unsigned long k = 0; k < n; k++) {
            int moves = rng_chance(&rng, 50);
            (begin ? begin : moves ? moving_begin : reducing_begin) (&calls[k], seed, i + k);
        }
        for (unsigned long k = 0; k < n; k++)
            random_end(&calls[k]);
        i += n;
        since += n;
        if (since >= NCALLS_OF_COMMS) {
            comms_free();
            since = 0;
        }
        if (MPI_Wtime() - printed > PRINT_S) {
            rate_print(name, i, ncalls, MPI_Wtime() - start);
            printed = MPI_Wtime();
        }
    }
    comms_free();
    rate_print(name, ncalls, ncalls, MPI_Wtime() - start);
    if (report_failures)
        fprintf(stderr, "again: collectives %s %lu %lu\n", name, seed, ncalls);
    free(calls);
}
