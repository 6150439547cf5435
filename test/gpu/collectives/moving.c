/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Random collectives that only move data: random datatypes, other ones of the same bytes at some
 * ends, any kind of memory at each process and argument, on intra- and intercommunicators and
 * topologies. */

#include "collectives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a call sends and receives: nothing, one message, or one for each peer. */
enum amount { NONE, ONE, EACH };

static const struct form {
    enum amount send, recv;     /* at processes that send, and that receive */
    enum { ALL, FROM_ROOT, TO_ROOT, TOPO } who;
    enum { SAME, BY_PEER, BY_PAIR } counts;     /* may differ by peer, or by pair of processes */
    enum { DENSE, ELEMENTS, BYTES } displs;     /* displacements are arguments, in that unit */
} forms[CALL__NMOVING] = {
    [CALL__bcast] = {NONE, ONE, FROM_ROOT, SAME, DENSE},
    [CALL__gather] = {ONE, EACH, TO_ROOT, SAME, DENSE},
    [CALL__gatherv] = {ONE, EACH, TO_ROOT, BY_PEER, ELEMENTS},
    [CALL__scatter] = {EACH, ONE, FROM_ROOT, SAME, DENSE},
    [CALL__scatterv] = {EACH, ONE, FROM_ROOT, BY_PEER, ELEMENTS},
    [CALL__allgather] = {ONE, EACH, ALL, SAME, DENSE},
    [CALL__allgatherv] = {ONE, EACH, ALL, BY_PEER, ELEMENTS},
    [CALL__alltoall] = {EACH, EACH, ALL, SAME, DENSE},
    [CALL__alltoallv] = {EACH, EACH, ALL, BY_PAIR, ELEMENTS},
    [CALL__alltoallw] = {EACH, EACH, ALL, BY_PAIR, BYTES},
    [CALL__neighbor_allgather] = {ONE, EACH, TOPO, SAME, DENSE},
    [CALL__neighbor_allgatherv] = {ONE, EACH, TOPO, SAME, ELEMENTS},
    [CALL__neighbor_alltoall] = {EACH, EACH, TOPO, SAME, DENSE},
    [CALL__neighbor_alltoallv] = {EACH, EACH, TOPO, SAME, ELEMENTS},
    [CALL__neighbor_alltoallw] = {EACH, EACH, TOPO, SAME, BYTES},
};

/* The parameters that all processes draw. */
struct drawn {
    const struct form *form;
    MPI_Datatype type;          /* may be repeated */
    int size;                   /* its bytes */
    int n[MAX_PROCS][MAX_PROCS];        /* elements by processes: symmetric */
    int is_inter, in_place;
    int rank, local, nsend, nrecv;      /* peers */
    int root, is_root_group, is_root;
};

/* Elements of each message: between a few bytes and more than goes eagerly. */
static void counts_draw(struct rng *rng, struct drawn *d)
{
    MPI_Aint lb, extent, most = 3;
    int n;

    MPI_Type_get_extent(d->type, &lb, &extent);
    extent = labs(extent);
    if (rng_chance(rng, 20))
        most = 1 + (d->size * 10 > extent ? 40000 / (d->size + 1) : 400000 / (extent + 1));
    n = (int) rng_range(rng, 0, most);

    for (int i = 0; i < MAX_PROCS; i++) {
        for (int j = 0; j <= i; j++)
            d->n[i][j] = d->n[j][i] = d->form->counts == SAME ? n : (int) rng_range(rng, 0, most);
    }
}

static void place_find(struct rng *rng, const struct call *c, struct drawn *d)
{
    int weighted;

    MPI_Comm_rank(c->comm, &d->rank);
    MPI_Comm_size(c->comm, &d->local);
    d->nsend = d->nrecv = d->local;
    if (d->is_inter)
        MPI_Comm_remote_size(c->comm, &d->nsend);
    if (d->is_inter)
        d->nrecv = d->nsend;
    if (d->form->who == TOPO) {
        MPI_Topo_test(c->comm, &weighted);
        if (weighted == MPI_CART)
            d->nsend = d->nrecv = 2;
        else
            MPI_Dist_graph_neighbors_count(c->comm, &d->nrecv, &d->nsend, &weighted);
    }
    d->is_root_group = !d->is_inter || world_rank % 2 == 0;
    d->root = (int) rng_range(rng, 0, 100) % d->local;
    if (d->is_inter)
        d->root = 0;
    d->is_root = d->is_root_group && d->rank == d->root;
    d->in_place = !d->is_inter && d->form->who != TOPO && c->what != CALL__bcast &&
        rng_chance(rng, 25);
}

/* Elements that pass between this process and peer i. */
static int n_of(const struct drawn *d, int i, int is_one)
{
    switch (d->form->counts) {
        case BY_PEER:
            return d->n[0][is_one ? d->rank : i];
        case BY_PAIR:
            return d->n[d->rank][i];
        default:
            return d->n[0][0];
    }
}

/* Lay out a side, as elements of the type or as bytes. */
static void part_set(const struct drawn *d, struct part *p, enum amount amount, int npeers,
                     struct rng *own)
{
    /* MPICH takes a count of 0 for a call without data, which all processes must agree on */
    int may_be_bytes = !d->in_place && d->size > 0;
    int as_bytes = may_be_bytes && rng_chance(own, 30);
    int in_bytes = d->form->displs == BYTES;
    MPI_Aint at = 0;

    p->n = amount == ONE ? 1 : npeers;
    for (int i = 0; i < p->n || i == 0; i++) {
        MPI_Aint lb, extent, true_lb, true_extent, reach;
        int bytes = in_bytes ? may_be_bytes && rng_chance(own, 30) : as_bytes;

        p->type[i] = bytes ? MPI_BYTE : d->type;
        p->count[i] = n_of(d, i, amount == ONE) * (bytes ? d->size : 1);
        MPI_Type_get_extent(p->type[i], &lb, &extent);
        MPI_Type_get_true_extent(p->type[i], &true_lb, &true_extent);
        if (d->form->displs != DENSE && amount == EACH)
            at += rng_range(own, 0, 2);
        /* of elements of a negative extent the last one begins at the lowest address */
        reach = extent < 0 && p->count[i] > 0 ? (p->count[i] - 1) * extent : 0;
        p->displ[i] = at - (in_bytes ? true_lb + reach : 0);
        at += p->count[i] * (in_bytes ? labs(extent) : 1);
    }
    p->kind = kind_draw(own);
    p->shift = shift_draw(own, p->kind);
    part_measure(p, in_bytes);
}

static void call_set(const struct drawn *d, struct call *c, struct rng *own)
{
    const struct form *f = d->form;
    int is_rooted = f->who == FROM_ROOT || f->who == TO_ROOT;
    int at_root = is_rooted && d->is_root;
    int elsewhere = is_rooted && (!d->is_inter || !d->is_root_group);

    c->root = d->root;
    if (d->is_inter && d->is_root_group)
        c->root = d->is_root ? MPI_ROOT : MPI_PROC_NULL;
    part_set(d, &c->send, f->send, d->nsend, own);
    part_set(d, &c->recv, f->recv, d->nrecv, own);
    c->send.is_used = f->send != NONE &&
        (!is_rooted || (f->who == FROM_ROOT ? at_root : elsewhere));
    c->recv.is_used = !is_rooted || (f->who == TO_ROOT ? at_root : elsewhere) ||
        (c->what == CALL__bcast && at_root);
    if (d->in_place && f->who == FROM_ROOT)
        c->recv.is_in_place = at_root;
    else if (d->in_place)
        c->send.is_in_place = !is_rooted || at_root;
}

void moving_begin(struct random_call *r, unsigned long seed, unsigned long index)
{
    struct rng common, own;
    struct call c = { 0 };
    struct drawn d;
    struct randtype_opts opts = { 5, 2048, 1 << 14, 1 };

    memset(&d, 0, sizeof(d));
    rng_init(&common, seed * 1000003 + index);
    rng_init(&own, (seed * 1000003 + index) * 64 + world_rank + 1);
    c.what = (enum what) rng_range(&common, 0, CALL__NMOVING - 1);
    c.mode = (enum mode) rng_range(&common, 0, MODE__NMODES - 1);
    d.form = &forms[c.what];
    c.comm = comm_draw(&common, d.form->who != TOPO, d.form->who == TOPO, &d.is_inter);
    d.type = type_draw(&common, &opts);
    MPI_Type_size(d.type, &d.size);
    counts_draw(&common, &d);
    place_find(&common, &c, &d);
    call_set(&d, &c, &own);
    r->type = d.type;
    r->op = MPI_OP_NULL;
    snprintf(r->text, sizeof(r->text), "call %lu: %s, mode %d, %s%s to %s%s", index,
             call_name(c.what), c.mode, mem_name(c.send.kind),
             c.send.is_in_place ? " (in place)" : "", mem_name(c.recv.kind),
             d.is_inter ? ", two groups" : "");
    flight_begin(&r->flight, &c, bytes_fill, (unsigned) (index * 64 + world_rank));
}

int moving_direct_call(MPI_Comm comm, enum what what, enum mode mode, enum mem_kind kind,
                       unsigned long seed)
{
    struct rng common, own;
    struct call c = {.what = what,.mode = mode,.comm = comm,.has_twin_comm = 1,
        .twin_comm = MPI_COMM_WORLD
    };
    struct drawn d;
    struct randtype_opts opts = { 5, 2048, 1 << 14, 1 };
    int ok;

    memset(&d, 0, sizeof(d));
    rng_init(&common, seed);
    rng_init(&own, seed * 64 + (unsigned long) world_rank + 1);
    d.form = &forms[what];
    d.type = type_draw(&common, &opts);
    MPI_Type_size(d.type, &d.size);
    counts_draw(&common, &d);
    place_find(&common, &c, &d);
    call_set(&d, &c, &own);
    c.send.kind = c.recv.kind = kind;
    ok = call_check(&c, bytes_fill, (unsigned) (seed * 64) + (unsigned) world_rank);
    if (!ok)
        fprintf(stderr, "[%d] ... %s%s, seed %lu\n", world_rank, call_name(what),
                d.in_place ? " in place" : "", seed);
    MPI_Type_free(&d.type);
    return ok;
}
