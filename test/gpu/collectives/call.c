/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Makes the calls that collectives.h describes, and compares their results. */

#include "collectives.h"
#include "report.h"

#include <stdio.h>
#include <string.h>

const char *call_name(enum what what)
{
    switch (what) {
#define CALL_NAME(Name_, name_) case CALL__##name_: return "MPI_" #Name_;
            MOVING_CALLS(CALL_NAME)
            REDUCING_CALLS(CALL_NAME)
#undef CALL_NAME
        default:
            return "no call";
    }
}

/* A call in the mode asked for; the arguments are those before the communicator. */
#define CALL(Name_, name_, ...)                                                                 \
    case CALL__##name_:                                                                         \
        switch (c->mode) {                                                                      \
            case MODE__BLOCKING:                                                                \
                return MPI_##Name_(__VA_ARGS__, c->comm);                                       \
            case MODE__NONBLOCKING:                                                             \
                return MPI_I##name_(__VA_ARGS__, c->comm, request);                             \
            default:                                                                            \
                return MPI_##Name_##_init(__VA_ARGS__, c->comm, MPI_INFO_NULL, request);        \
        }

int call_start(const struct call *c, const void *sendbuf, void *recvbuf, MPI_Request * request)
{
    const struct part *s = &c->send, *r = &c->recv;

    switch (c->what) {
        CALL(Bcast, bcast, recvbuf, r->count[0], r->type[0], c->root)
        CALL(Gather, gather, sendbuf, s->count[0], s->type[0], recvbuf, r->count[0], r->type[0],
             c->root)
        CALL(Gatherv, gatherv, sendbuf, s->count[0], s->type[0], recvbuf, r->count, r->int_displ,
             r->type[0], c->root)
        CALL(Scatter, scatter, sendbuf, s->count[0], s->type[0], recvbuf, r->count[0], r->type[0],
             c->root)
        CALL(Scatterv, scatterv, sendbuf, s->count, s->int_displ, s->type[0], recvbuf, r->count[0],
             r->type[0], c->root)
        CALL(Allgather, allgather, sendbuf, s->count[0], s->type[0], recvbuf, r->count[0],
             r->type[0])
        CALL(Allgatherv, allgatherv, sendbuf, s->count[0], s->type[0], recvbuf, r->count,
             r->int_displ, r->type[0])
        CALL(Alltoall, alltoall, sendbuf, s->count[0], s->type[0], recvbuf, r->count[0],
             r->type[0])
        CALL(Alltoallv, alltoallv, sendbuf, s->count, s->int_displ, s->type[0], recvbuf, r->count,
             r->int_displ, r->type[0])
        CALL(Alltoallw, alltoallw, sendbuf, s->count, s->int_displ, s->type, recvbuf, r->count,
             r->int_displ, r->type)
        CALL(Neighbor_allgather, neighbor_allgather, sendbuf, s->count[0], s->type[0], recvbuf,
             r->count[0], r->type[0])
        CALL(Neighbor_allgatherv, neighbor_allgatherv, sendbuf, s->count[0], s->type[0], recvbuf,
             r->count, r->int_displ, r->type[0])
        CALL(Neighbor_alltoall, neighbor_alltoall, sendbuf, s->count[0], s->type[0], recvbuf,
             r->count[0], r->type[0])
        CALL(Neighbor_alltoallv, neighbor_alltoallv, sendbuf, s->count, s->int_displ, s->type[0],
             recvbuf, r->count, r->int_displ, r->type[0])
        CALL(Neighbor_alltoallw, neighbor_alltoallw, sendbuf, s->count, s->displ, s->type, recvbuf,
             r->count, r->displ, r->type)
        CALL(Reduce, reduce, sendbuf, recvbuf, s->count[0], s->type[0], c->op, c->root)
        CALL(Allreduce, allreduce, sendbuf, recvbuf, s->count[0], s->type[0], c->op)
        CALL(Reduce_scatter, reduce_scatter, sendbuf, recvbuf, c->counts, s->type[0], c->op)
        CALL(Reduce_scatter_block, reduce_scatter_block, sendbuf, recvbuf, c->counts[0],
             s->type[0], c->op)
        CALL(Scan, scan, sendbuf, recvbuf, s->count[0], s->type[0], c->op)
        CALL(Exscan, exscan, sendbuf, recvbuf, s->count[0], s->type[0], c->op)
        default:
            return MPI_ERR_OTHER;
    }
}

void part_measure(struct part *p, int are_bytes)
{
    p->lo = p->hi = 0;
    for (int i = 0; i < p->n; i++) {
        MPI_Aint lb, extent, true_lb, true_extent, at, reach;

        MPI_Type_get_extent(p->type[i], &lb, &extent);
        MPI_Type_get_true_extent(p->type[i], &true_lb, &true_extent);
        p->int_displ[i] = (int) p->displ[i];
        if (p->count[i] == 0)
            continue;
        at = p->displ[i] * (are_bytes ? 1 : extent) + true_lb;
        reach = extent * (p->count[i] - 1);
        if (at + (reach < 0 ? reach : 0) < p->lo)
            p->lo = at + (reach < 0 ? reach : 0);
        if (at + true_extent + (reach > 0 ? reach : 0) > p->hi)
            p->hi = at + true_extent + (reach > 0 ? reach : 0);
    }
}

/* Whether a process has a buffer for a part. */
static int has_buffer(const struct part *p)
{
    return p->is_used && !p->is_in_place;
}

/* The argument that stands for a part: i is 0 for the twin. */
static void *argument(const struct part *p, const struct twin *t, int i)
{
    static char unused;

    return p->is_in_place ? MPI_IN_PLACE : p->is_used ? t->buf[i] : &unused;
}

/* Fill the buffers, which may be used by the next start of a persistent call. */
static void fill(const struct call *c, struct twin *send, struct twin *recv, fill_fn fn,
                 unsigned seed)
{
    if (has_buffer(&c->send)) {
        fn(send, &c->send, seed);
        twin_write(send);
    }
    if (has_buffer(&c->recv)) {
        fn(recv, &c->recv, seed + 1);
        twin_write(recv);
    }
}

static int compare(const struct call *c, struct twin *send, struct twin *recv)
{
    int ok = 1;

    if (has_buffer(&c->send))
        ok &= twin_check(send, "a send buffer");
    if (has_buffer(&c->recv))
        ok &= twin_check(recv, "a receive buffer");
    return ok;
}

void flight_begin(struct flight *f, const struct call *c, fill_fn fn, unsigned seed)
{
    struct call calls[2] = { *c, *c };

    f->call = *c;
    f->fill = fn;
    f->seed = seed;
    if (has_buffer(&c->send))
        twin_make(&f->send, c->send.kind, c->send.lo, c->send.hi, c->send.shift);
    if (has_buffer(&c->recv))
        twin_make(&f->recv, c->recv.kind, c->recv.lo, c->recv.hi, c->recv.shift);
    fill(c, &f->send, &f->recv, fn, seed);
    if (c->has_twin_comm)
        calls[0].comm = c->twin_comm;
    for (int i = 0; i < 2; i++) {
        f->request[i] = MPI_REQUEST_NULL;
        CHECK_MPI(call_start(&calls[i], argument(&c->send, &f->send, i),
                             argument(&c->recv, &f->recv, i), &f->request[i]));
        if (c->mode == MODE__PERSISTENT)
            CHECK_MPI(MPI_Start(&f->request[i]));
    }
}

int flight_end(struct flight *f)
{
    const struct call *c = &f->call;
    int ok = 1;

    CHECK_MPI(MPI_Waitall(2, f->request, MPI_STATUSES_IGNORE));
    ok &= compare(c, &f->send, &f->recv);
    if (c->mode == MODE__PERSISTENT) {
        fill(c, &f->send, &f->recv, f->fill, f->seed + 77);
        CHECK_MPI(MPI_Startall(2, f->request));
        CHECK_MPI(MPI_Waitall(2, f->request, MPI_STATUSES_IGNORE));
        ok &= compare(c, &f->send, &f->recv);
        for (int i = 0; i < 2; i++)
            MPI_Request_free(&f->request[i]);
    }
    if (has_buffer(&c->send))
        twin_free(&f->send);
    if (has_buffer(&c->recv))
        twin_free(&f->recv);
    return ok;
}

int call_check(const struct call *c, fill_fn fn, unsigned seed)
{
    struct flight f;

    flight_begin(&f, c, fn, seed);
    return flight_end(&f);
}
