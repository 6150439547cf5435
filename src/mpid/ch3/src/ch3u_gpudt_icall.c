/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The arguments of nonblocking and persistent collectives between GPUs of a node: as a reduction, as
 * a move of data, and for MPICH's algorithm. */

#include "mpidimpl.h"
#include "mpidi_gpudt_icoll.h"

/* ---- arguments that are kept ---- */

/* Keep a vector, and its datatypes. One that the call does not use in this process may have any
 * arguments. */
static void vector_keep(struct MPIDI_Gpudt_vector *v, struct MPIDI_Gpudt_icall_arrays *a, int n,
                        bool is_used)
{
    if (!is_used) {
        *v = (struct MPIDI_Gpudt_vector) {.buf = v->buf,.datatype = MPI_BYTE };
        return;
    }
    for (int i = 0; i < n && v->counts; i++) {
        a->counts[i] = v->counts[i];
        /* Other arguments of an empty block may be undefined */
        a->displs[i] = v->displs && a->counts[i] ? v->displs[i] : 0;
        a->datatypes[i] = v->datatypes && a->counts[i] ? v->datatypes[i] : MPI_BYTE;
        MPIR_Datatype_add_ref_if_not_builtin(a->datatypes[i]);
    }
    if (v->datatypes)
        v->datatype = MPI_BYTE;
    MPIR_Datatype_add_ref_if_not_builtin(v->datatype);
    v->counts = v->counts ? a->counts : NULL;
    v->displs = v->displs ? a->displs : NULL;
    v->datatypes = v->datatypes ? a->datatypes : NULL;
}

static void vector_release(const struct MPIDI_Gpudt_vector *v,
                           const struct MPIDI_Gpudt_icall_arrays *a, int n)
{
    MPIR_Datatype_release_if_not_builtin(v->datatype);
    for (int i = 0; i < n && v->counts; i++)
        MPIR_Datatype_release_if_not_builtin(a->datatypes[i]);
}

void MPIDI_Gpudt_icall_keep(const struct MPIDI_Gpudt_icall *call,
                            struct MPIDI_Gpudt_icall_copy *copy)
{
    const int n = call->comm->local_size;
    const bool is_root = call->comm->rank == call->root;
    const bool is_gather = call->kind == MPIDI_GPUDT_COLL__GATHER ||
        call->kind == MPIDI_GPUDT_COLL__GATHERV;
    const bool is_scatter = call->kind == MPIDI_GPUDT_COLL__SCATTER ||
        call->kind == MPIDI_GPUDT_COLL__SCATTERV;

    copy->call = *call;
    copy->n = n;
    vector_keep(&copy->call.send, &copy->send, n,
                call->send.buf != MPI_IN_PLACE && (is_root || !is_scatter));
    /* Where a reduction has no result, its buffer may have any value, also that of MPI_IN_PLACE;
     * count and datatype are those of its operands */
    vector_keep(&copy->call.recv, &copy->recv, n,
                is_scatter ? call->recv.buf != MPI_IN_PLACE : is_root || !is_gather);
}

void MPIDI_Gpudt_icall_release(struct MPIDI_Gpudt_icall_copy *copy)
{
    vector_release(&copy->call.send, &copy->send, copy->n);
    vector_release(&copy->call.recv, &copy->recv, copy->n);
}

/* ---- descriptions ---- */

bool MPIDI_Gpudt_icall_reduction(const struct MPIDI_Gpudt_icall *call,
                                 struct MPIDI_Gpudt_coll_call *c)
{
    const struct MPIDI_Gpudt_vector *send = &call->send, *recv = &call->recv;
    const int rank = call->comm->rank, size = call->comm->local_size;
    const bool is_in_place = send->buf == MPI_IN_PLACE;
    const bool has_result = call->root < 0 || call->root == rank;

    *c = (struct MPIDI_Gpudt_coll_call) {
        .kind = call->kind,.in = is_in_place ? recv->buf : send->buf,
        .out = has_result ? (void *) recv->buf : NULL,.n = recv->count,.n_out = recv->count,
        .datatype = recv->datatype,.op = call->op,.root = MPL_MAX(call->root, 0),
        .is_in_place = is_in_place,.is_apt = true,.comm = call->comm
    };
    switch (call->kind) {
        case MPIDI_GPUDT_COLL__ALLREDUCE:
        case MPIDI_GPUDT_COLL__REDUCE:
            return true;
        case MPIDI_GPUDT_COLL__REDUCE_SCATTER_BLOCK:
            c->n *= size;
            return true;
        case MPIDI_GPUDT_COLL__REDUCE_SCATTER:
            /* Others may not be in place */
            c->is_apt = !is_in_place;
            c->counts = recv->counts;
            c->n_out = recv->counts[rank];
            c->out = c->n_out ? (void *) recv->buf : NULL;
            c->n = 0;
            for (int i = 0; i < size; i++)
                c->n += recv->counts[i];
            return true;
        case MPIDI_GPUDT_COLL__ALLGATHER:
            return MPIDI_Gpudt_coll_allgather_set(c, send->buf, send->datatype, (void *) recv->buf,
                                                  recv->count, recv->datatype);
        case MPIDI_GPUDT_COLL__BCAST:
            return MPIDI_Gpudt_coll_bcast_set(c, (void *) recv->buf, recv->count, recv->datatype,
                                              call->root);
        case MPIDI_GPUDT_COLL__ALLTOALL:
            return MPIDI_Gpudt_coll_alltoall_set(c, send->buf, send->count, send->datatype,
                                                 (void *) recv->buf, recv->count, recv->datatype);
        default:
            return false;
    }
}

static enum MPIDI_Gpudt_move_form_e form_of(enum MPIDI_Gpudt_coll_e kind)
{
    switch (kind) {
        case MPIDI_GPUDT_COLL__BCAST:
            return MPIDI_GPUDT_MOVE__BCAST;
        case MPIDI_GPUDT_COLL__GATHER:
        case MPIDI_GPUDT_COLL__GATHERV:
            return MPIDI_GPUDT_MOVE__GATHER;
        case MPIDI_GPUDT_COLL__SCATTER:
        case MPIDI_GPUDT_COLL__SCATTERV:
            return MPIDI_GPUDT_MOVE__SCATTER;
        case MPIDI_GPUDT_COLL__ALLGATHER:
        case MPIDI_GPUDT_COLL__ALLGATHERV:
            return MPIDI_GPUDT_MOVE__ALLGATHER;
        default:
            return MPIDI_GPUDT_MOVE__ALLTOALL;
    }
}

/* Bytes of a block, the same in all processes; -1: they may differ. */
static MPI_Aint block_bytes(const struct MPIDI_Gpudt_icall *call)
{
    const struct MPIDI_Gpudt_vector *v = &call->recv;
    MPI_Aint size;

    switch (call->kind) {
        case MPIDI_GPUDT_COLL__BCAST:
        case MPIDI_GPUDT_COLL__ALLGATHER:
        case MPIDI_GPUDT_COLL__ALLTOALL:
            break;
        case MPIDI_GPUDT_COLL__GATHER:
            v = call->comm->rank == call->root ? &call->recv : &call->send;
            break;
        case MPIDI_GPUDT_COLL__SCATTER:
            v = call->comm->rank == call->root ? &call->send : &call->recv;
            break;
        default:
            return -1;
    }
    MPIR_Datatype_get_size_macro(v->datatype, size);
    return v->count * size;
}

void MPIDI_Gpudt_icall_move(const struct MPIDI_Gpudt_icall *call, struct MPIDI_Gpudt_move *m)
{
    m->form = form_of(call->kind);
    m->bytes = block_bytes(call);
    m->root = call->root;
    m->comm = call->comm;
    m->errflag = NULL;
    MPIDI_Gpudt_move_set(m, &call->send, &call->recv);
}

bool MPIDI_Gpudt_icall_forms(const struct MPIDI_Gpudt_icall *call,
                             struct MPIDI_Gpudt_pace *pace[MPIDI_GPUDT_NIFORMS])
{
    struct MPIDI_Gpudt_coll_call c;
    MPI_Aint n;
    uint64_t bytes;

    memset(pace, 0, MPIDI_GPUDT_NIFORMS * sizeof(pace[0]));
    if (call->comm->comm_kind != MPIR_COMM_KIND__INTRACOMM ||
        !MPIDI_Gpudt_coll_is_at(call->comm, MPIDI_GPUDT_COLL__ON_NODE))
        return false;
    bytes = MPIDI_Gpudt_icall_reduction(call, &c) ?
        MPIDI_Gpudt_coll_bytes(c.n, c.datatype, c.op) : 0;
    if (bytes > 0)
        pace[MPIDI_GPUDT_IFORM__REDUCTION] = MPIDI_Gpudt_coll_pace(call->comm, c.kind, bytes);
    if (call->kind >= MPIDI_GPUDT_COLL__ALLGATHER) {
        enum MPIDI_Gpudt_coll_e kind = call->kind == MPIDI_GPUDT_COLL__ALLGATHER ?
            MPIDI_GPUDT_COLL__ALLGATHER_TYPED : call->kind;
        n = block_bytes(call);
        if (n != 0)
            pace[MPIDI_GPUDT_IFORM__MOVE] = MPIDI_Gpudt_coll_pace(call->comm, kind,
                                                                  MPIDI_Gpudt_move_class(n));
    }
    return pace[MPIDI_GPUDT_IFORM__REDUCTION] || pace[MPIDI_GPUDT_IFORM__MOVE];
}

bool MPIDI_Gpudt_icall_start(const struct MPIDI_Gpudt_icall *call, MPIR_Request ** request,
                             int *mpi_errno_ptr)
{
    struct MPIDI_Gpudt_pace *pace[MPIDI_GPUDT_NIFORMS];

    return MPIDI_Gpudt_icall_forms(call, pace) &&
        MPIDI_Gpudt_icoll_start(call, pace, request, mpi_errno_ptr);
}

/* ---- MPICH's algorithms ---- */

static int reduction_algorithm(const struct MPIDI_Gpudt_icall *k, MPIR_Request ** request)
{
    const void *from = k->send.buf;
    const struct MPIDI_Gpudt_vector *r = &k->recv;
    void *to = (void *) r->buf;

    switch (k->kind) {
        case MPIDI_GPUDT_COLL__ALLREDUCE:
            return MPIR_Iallreduce_impl(from, to, r->count, r->datatype, k->op, k->comm, request);
        case MPIDI_GPUDT_COLL__REDUCE:
            return MPIR_Ireduce_impl(from, to, r->count, r->datatype, k->op, k->root, k->comm,
                                     request);
        case MPIDI_GPUDT_COLL__REDUCE_SCATTER_BLOCK:
            return MPIR_Ireduce_scatter_block_impl(from, to, r->count, r->datatype, k->op, k->comm,
                                                   request);
        default:
            return MPIR_Ireduce_scatter_impl(from, to, r->counts, r->datatype, k->op, k->comm,
                                             request);
    }
}

static int move_algorithm(const struct MPIDI_Gpudt_icall *k, MPIR_Request ** request)
{
    const struct MPIDI_Gpudt_vector *s = &k->send, *r = &k->recv;
    void *to = (void *) r->buf;

    switch (k->kind) {
        case MPIDI_GPUDT_COLL__BCAST:
            return MPIR_Ibcast_impl(to, r->count, r->datatype, k->root, k->comm, request);
        case MPIDI_GPUDT_COLL__ALLGATHER:
            return MPIR_Iallgather_impl(s->buf, s->count, s->datatype, to, r->count, r->datatype,
                                        k->comm, request);
        case MPIDI_GPUDT_COLL__ALLGATHERV:
            return MPIR_Iallgatherv_impl(s->buf, s->count, s->datatype, to, r->counts, r->displs,
                                         r->datatype, k->comm, request);
        case MPIDI_GPUDT_COLL__GATHER:
            return MPIR_Igather_impl(s->buf, s->count, s->datatype, to, r->count, r->datatype,
                                     k->root, k->comm, request);
        case MPIDI_GPUDT_COLL__GATHERV:
            return MPIR_Igatherv_impl(s->buf, s->count, s->datatype, to, r->counts, r->displs,
                                      r->datatype, k->root, k->comm, request);
        case MPIDI_GPUDT_COLL__SCATTER:
            return MPIR_Iscatter_impl(s->buf, s->count, s->datatype, to, r->count, r->datatype,
                                      k->root, k->comm, request);
        case MPIDI_GPUDT_COLL__SCATTERV:
            return MPIR_Iscatterv_impl(s->buf, s->counts, s->displs, s->datatype, to, r->count,
                                       r->datatype, k->root, k->comm, request);
        case MPIDI_GPUDT_COLL__ALLTOALL:
            return MPIR_Ialltoall_impl(s->buf, s->count, s->datatype, to, r->count, r->datatype,
                                       k->comm, request);
        case MPIDI_GPUDT_COLL__ALLTOALLV:
            return MPIR_Ialltoallv_impl(s->buf, s->counts, s->displs, s->datatype, to, r->counts,
                                        r->displs, r->datatype, k->comm, request);
        default:
            return MPIR_Ialltoallw_impl(s->buf, s->counts, s->displs, s->datatypes, to, r->counts,
                                        r->displs, r->datatypes, k->comm, request);
    }
}

/* A schedule that takes the tag at which MPICH looks for those of older calls later than its call was
 * made would find younger ones. Whether a call becomes an operation differs between processes, and
 * their tags must not. */
int MPIDI_Gpudt_icall_tag_skip(MPIR_Comm * comm)
{
    const int tag_ub = MPIR_Process.attrs.tag_ub, after = comm->next_sched_tag + 1;
    int tag;

    return unlikely(after == tag_ub / 2 || after == tag_ub) ? MPIR_Sched_next_tag(comm, &tag) :
        MPI_SUCCESS;
}

/* Its schedule takes the next tag of the communicator, which other processes may have given to
 * another call by now: it gets the tag of this one. Nothing in here lets other threads call MPI,
 * who would take that tag as well: the first steps of a schedule may wait for the GPU, but for
 * no message. */
int MPIDI_Gpudt_icall_plain(const struct MPIDI_Gpudt_icall *call, int tag, MPIR_Request ** request)
{
    const int next_tag = call->comm->next_sched_tag;
    int mpi_errno;

    *request = NULL;
    call->comm->next_sched_tag = tag;
    mpi_errno = call->kind < MPIDI_GPUDT_COLL__ALLGATHER ? reduction_algorithm(call, request) :
        move_algorithm(call, request);
    call->comm->next_sched_tag = next_tag;
    return mpi_errno;
}
