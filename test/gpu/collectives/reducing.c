/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Random reductions: predefined operations and an operation of the user, in any kind of memory at
 * each process and argument, on intra- and intercommunicators. */

#include "collectives.h"

#include <stdio.h>

/* The elements of a reduction: predefined operands, or any datatype with the user's operation. */
struct elements {
    MPI_Op op;
    MPI_Datatype type;
    fill_fn fill;
    int is_made;
};

static void elements_draw(struct rng *rng, struct elements *e)
{
    struct randtype_opts opts = { 4, 512, 1 << 12, 1 };
    struct operands o;

    e->is_made = rng_chance(rng, 25);
    if (!e->is_made) {
        operands_draw(rng, &o);
        e->op = o.op;
        e->type = o.type;
        e->fill = operands_fill;
        return;
    }
    MPI_Op_create(op_affine, 0, &e->op);
    e->type = type_draw(rng, &opts);
    e->fill = bytes_fill;
}

static int count_draw(struct rng *rng, int is_made)
{
    if (rng_chance(rng, 10))
        return 0;
    return (int) rng_range(rng, 1, is_made ? 12 : rng_chance(rng, 85) ? 200 : 12000);
}

/* Sizes of the two groups, and this process's place. */
struct place {
    int is_inter, rank, local, remote, is_first_group;
};

static void place_find(MPI_Comm comm, int is_inter, struct place *p)
{
    p->is_inter = is_inter;
    MPI_Comm_rank(comm, &p->rank);
    MPI_Comm_size(comm, &p->local);
    p->remote = p->local;
    if (is_inter)
        MPI_Comm_remote_size(comm, &p->remote);
    p->is_first_group = world_rank % 2 == 0;
}

/* Counts of a reduce-scatter, whose sum is the same in both groups. Returns the sum. */
static int scatter_counts(struct rng *rng, struct call *c, const struct place *p, int n)
{
    int sum = 0;

    for (int i = 0; i < p->local; i++) {
        c->counts[i] = p->is_inter ? n * p->remote : n;
        if (c->what == CALL__reduce_scatter && !p->is_inter)
            c->counts[i] = (int) rng_range(rng, 0, 2 * n);
        sum += c->counts[i];
    }
    return sum;
}

static void root_set(struct call *c, const struct place *p, int root)
{
    c->root = root % (p->is_inter ? 1 : p->local);
    if (p->is_inter && p->is_first_group)
        c->root = p->rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
}

static void parts_set(struct rng *common, struct rng *own, struct call *c, const struct place *p,
                      const struct elements *e, int n)
{
    int is_rooted = c->what == CALL__reduce;
    int is_scatter = c->what == CALL__reduce_scatter || c->what == CALL__reduce_scatter_block;
    int in_place = !p->is_inter && rng_chance(common, 25);

    root_set(c, p, (int) rng_range(common, 0, 100));
    c->send.n = c->recv.n = 1;
    c->send.type[0] = c->recv.type[0] = e->type;
    c->send.count[0] = c->recv.count[0] = n;
    if (is_scatter) {
        c->send.count[0] = scatter_counts(common, c, p, n);
        c->recv.count[0] = in_place ? c->send.count[0] : c->counts[p->rank];
    }
    c->send.is_used = !is_rooted || !p->is_inter || !p->is_first_group;
    c->recv.is_used = !is_rooted || c->root == MPI_ROOT || (!p->is_inter && p->rank == c->root);
    c->send.is_in_place = in_place && c->recv.is_used;
    part_measure(&c->send, 0);
    part_measure(&c->recv, 0);
    c->send.kind = kind_draw(own);
    c->recv.kind = kind_draw(own);
    c->send.shift = shift_draw(own, c->send.kind);
    c->recv.shift = shift_draw(own, c->recv.kind);
}

void reducing_begin(struct random_call *r, unsigned long seed, unsigned long index)
{
    struct rng common, own;
    struct call c = { 0 };
    struct elements e;
    struct place p;
    char name[MPI_MAX_OBJECT_NAME];
    int is_inter, len, n;

    rng_init(&common, seed * 1000003 + index);
    rng_init(&own, (seed * 1000003 + index) * 64 + world_rank + 1);
    c.what = (enum what) rng_range(&common, CALL__NMOVING, CALL__NCALLS - 1);
    c.mode = (enum mode) rng_range(&common, 0, MODE__NMODES - 1);
    c.comm = comm_draw(&common, c.what != CALL__scan && c.what != CALL__exscan, 0, &is_inter);
    c.has_twin_comm = !is_inter;
    c.twin_comm = MPI_COMM_WORLD;
    place_find(c.comm, is_inter, &p);
    elements_draw(&common, &e);
    c.op = e.op;
    n = count_draw(&common, e.is_made);
    parts_set(&common, &own, &c, &p, &e, n);
    r->type = e.is_made ? e.type : MPI_DATATYPE_NULL;
    r->op = e.is_made ? e.op : MPI_OP_NULL;
    MPI_Type_get_name(e.type, name, &len);
    snprintf(r->text, sizeof(r->text), "call %lu: %s, mode %d, operation %x, %d of %s, %s%s to %s%s",
             index, call_name(c.what), c.mode, (unsigned) c.op, n,
             e.is_made ? "a derived datatype" : name, mem_name(c.send.kind),
             c.send.is_in_place ? " (in place)" : "", mem_name(c.recv.kind),
             is_inter ? ", two groups" : "");
    flight_begin(&r->flight, &c, e.fill, (unsigned) (index * 64 + world_rank));
}
