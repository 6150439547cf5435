/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The parts of collectives between GPUs of a node, see ch3u_gpudt_coll.c: which elements a process
 * combines, from where to where, and how messages do that instead. */

#include "mpidimpl.h"
#include "mpidi_gpudt_coll_impl.h"
#include "tuning/gpudt_tuning.h"

/* Elements of a part of a call. */
struct part {
    MPI_Aint first, n;
};

bool MPIDI_Gpudt_coll_is_worker(const struct MPIDI_Gpudt_coll_call *c, int from, int rank)
{
    const int size = c->comm->local_size;

    for (int i = from; i != rank; i = (i + 1) % size) {
        if (c->name[i].gpu == c->name[rank].gpu && c->name[i].gpu)
            return false;
    }
    return true;
}

static bool is_scatter(const struct MPIDI_Gpudt_coll_call *c)
{
    return c->kind == MPIDI_GPUDT_COLL__REDUCE_SCATTER_BLOCK ||
        c->kind == MPIDI_GPUDT_COLL__REDUCE_SCATTER;
}

/* Among how many processes the elements of a call are shared, and which of them one is.
 *   index  (OUT)  -1: none
 * The first worker is the root, for whose GPU the result of an MPI_Reduce is, and whose data an
 * MPI_Bcast is of: there the others work, if there are any. */
static int workers_count(const struct MPIDI_Gpudt_coll_call *c, int rank, int *index)
{
    const int size = c->comm->local_size;
    int n = 0, nspared = 0;

    *index = -1;
    if (c->kind == MPIDI_GPUDT_COLL__REDUCE && !MPIDI_Gpudt_coll_may_write()) {
        if (rank == c->root)
            *index = 0;
        return 1;
    }
    for (int i = 0; i < size; i++) {
        int r = (c->root + i) % size;
        if (MPIDI_Gpudt_coll_is_worker(c, c->root, r)) {
            if (r == rank)
                *index = n;
            n++;
        }
    }
    if (c->kind == MPIDI_GPUDT_COLL__BCAST_LONG)
        nspared = n > 1;
    else if (c->kind == MPIDI_GPUDT_COLL__REDUCE)
        nspared = n > 2 && c->n * c->extent >= MPIR_GPUDT_COLL_MIN_SPARED;
    *index -= *index < 0 ? 0 : nspared;
    return n - nspared;
}

/* The elements that a process combines, of its operand: its block, an equal share among the workers, or
 * all. */
static struct part part_of(const struct MPIDI_Gpudt_coll_call *c, int rank)
{
    const int size = c->comm->local_size;
    const MPI_Aint grain = MPL_MAX(MPIR_GPUDT_COLL_MIN_PART / MPL_MAX(c->extent, 1), 1);
    struct part p = {.first = c->n_out * rank,.n = c->n_out };
    int nworkers, index;
    MPI_Aint share;

    if (c->kind == MPIDI_GPUDT_COLL__REDUCE_SCATTER_BLOCK)
        return p;
    if (c->kind == MPIDI_GPUDT_COLL__ALLGATHER ||
        (c->kind == MPIDI_GPUDT_COLL__ALLREDUCE && !MPIDI_Gpudt_coll_may_write()))
        return (struct part) {.n = c->n };
    if (c->kind == MPIDI_GPUDT_COLL__ALLTOALL_WRITTEN)
        return (struct part) {.n = c->n / size };
    if (c->kind == MPIDI_GPUDT_COLL__REDUCE_SCATTER) {
        p = (struct part) {.n = c->counts[rank] };
        for (int i = 0; i < rank; i++)
            p.first += c->counts[i];
        return p;
    }
    nworkers = workers_count(c, rank, &index);
    if (index < 0)
        return (struct part) {.n = 0 };
    share = ((c->n + nworkers - 1) / nworkers + grain - 1) / grain * grain;
    p.first = MPL_MIN(share * index, c->n);
    p.n = MPL_MIN(share, c->n - p.first);
    return p;
}

/* Whether a process has an operand of a part of this one. */
static bool is_operand_of(const struct MPIDI_Gpudt_coll_call *c, int rank)
{
    if (c->kind == MPIDI_GPUDT_COLL__BCAST_LONG)
        return rank == c->root;
    return c->kind != MPIDI_GPUDT_COLL__ALLGATHER || rank == c->comm->rank;
}

/* Whether the result of a part goes to a process. */
static bool is_result_of(const struct MPIDI_Gpudt_coll_call *c, int rank)
{
    switch (c->kind) {
        case MPIDI_GPUDT_COLL__REDUCE:
            return rank == c->root;
        case MPIDI_GPUDT_COLL__BCAST_LONG:
            return rank != c->root;
        case MPIDI_GPUDT_COLL__REDUCE_SCATTER_BLOCK:
        case MPIDI_GPUDT_COLL__REDUCE_SCATTER:
            return rank == c->comm->rank;
        case MPIDI_GPUDT_COLL__ALLREDUCE:
            return rank == c->comm->rank || MPIDI_Gpudt_coll_may_write();
        default:
            return true;
    }
}

/* A byte of a process's operand or result.
 *   is_own   (IN)  this process's
 *   own      (IN)  its buffer, if so
 *   export   (IN)  otherwise, how to map it
 *   operand  (IN)  where it begins */
static struct MPIR_Gpudt_place place_at(bool is_own, const MPIR_Gpudt_buffer * own, const void *export,
                                        const struct MPIR_Gpudt_operand *operand, int64_t at)
{
    return (struct MPIR_Gpudt_place) {
        .buffer = is_own ? own : NULL,.export = export,.at = (is_own ? 0 : operand->at) + at
    };
}

/* Describe the part of this process. Returns false if it has none. Operands are in the order of
 * ranks. Of the results each process begins with those of another one, not all with the same. */
static bool part_describe(const struct MPIDI_Gpudt_coll_call *c, const struct MPIDI_Gpudt_known *k,
                          struct MPIR_Gpudt_combine *combine)
{
    const int rank = c->comm->rank, size = c->comm->local_size;
    const struct part p = part_of(c, rank);
    const bool is_alltoall = c->kind == MPIDI_GPUDT_COLL__ALLTOALL_WRITTEN;
    const int64_t in_at = p.first * c->extent;
    int64_t out_at = in_at;

    if (p.n == 0)
        return false;
    combine->own = c->in_buffer;
    combine->n = p.n;
    combine->datatype = c->datatype;
    combine->op = c->op;
    combine->is_each = is_alltoall;
    if (is_alltoall || c->kind == MPIDI_GPUDT_COLL__ALLGATHER)
        out_at = rank * p.n;
    else if (is_scatter(c))
        out_at = 0;
    for (int i = 0; i < size && !is_alltoall; i++) {
        if (is_operand_of(c, i))
            combine->in[combine->nin++] = place_at(i == rank, c->in_buffer, k->exports[i].in,
                                                   &c->name[i].in, in_at);
    }
    for (int step = 1; step <= size; step++) {
        const int i = (rank + step) % size;

        if (is_alltoall)
            combine->in[combine->nin++] = place_at(true, c->in_buffer, NULL, NULL, i * p.n);
        if (is_result_of(c, i))
            combine->out[combine->nout++] = place_at(i == rank, c->out_buffer, k->exports[i].out,
                                                     &c->name[i].out, out_at);
    }
    return true;
}

void MPIDI_Gpudt_coll_yield(void)
{
    /* An error of another message is that of its own call */
    (void) MPID_Progress_test(NULL);
    MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

/* The end of a part by what starting it has returned. */
static enum MPIDI_Gpudt_end_e end_of(int mpi_errno, bool is_started)
{
    if (mpi_errno)
        return MPIDI_GPUDT_END__FAILED;
    return is_started ? MPIDI_GPUDT_END__DONE : MPIDI_GPUDT_END__NOT_STARTED;
}

/* Do the part of this process. Returns how that ended.
 *   mpi_errno_ptr  (OUT)  the error, if it failed */
static enum MPIDI_Gpudt_end_e part_combine(const struct MPIDI_Gpudt_coll_call *c,
                                           const struct MPIDI_Gpudt_known *k, int *mpi_errno_ptr)
{
    struct MPIR_Gpudt_combine combine = {.others = MPIDI_Gpudt_coll_yield };
    bool is_done = false;

    if (!part_describe(c, k, &combine))
        return MPIDI_GPUDT_END__DONE;
    *mpi_errno_ptr = MPIR_Gpudt_combine(&combine, &is_done);
    return end_of(*mpi_errno_ptr, is_done);
}

enum MPIDI_Gpudt_end_e MPIDI_Gpudt_coll_part_start(const struct MPIDI_Gpudt_coll_call *c,
                                                   const struct MPIDI_Gpudt_known *k,
                                                   MPIR_Gpudt_op ** op, int *mpi_errno_ptr)
{
    struct MPIR_Gpudt_combine combine = {.others = NULL };

    *op = NULL;
    if (!part_describe(c, k, &combine))
        return MPIDI_GPUDT_END__DONE;
    *mpi_errno_ptr = MPIR_Gpudt_icombine(&combine, op);
    return end_of(*mpi_errno_ptr, *op != NULL);
}

/* Let messages do the block of a process in an allgather. */
static int block_by_messages(const struct MPIDI_Gpudt_coll_call *c, int rank, MPIR_Sched_t s)
{
    int mpi_errno = MPI_SUCCESS;
    char *block = (char *) c->out + rank * c->n;

    if (rank == c->comm->rank && !c->is_in_place) {
        mpi_errno = MPIR_Sched_copy(c->in, c->n, MPI_BYTE, block, c->n, MPI_BYTE, s);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_SCHED_BARRIER(s);
    }
    mpi_errno = MPIR_Ibcast_intra_sched_auto(block, c->n, MPI_BYTE, rank, c->comm, s);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Let messages do what a process sends in an all-to-all, from where it is to where it goes. */
static int blocks_by_messages(const struct MPIDI_Gpudt_coll_call *c, int rank, MPIR_Sched_t s)
{
    int mpi_errno = MPI_SUCCESS;
    const int size = c->comm->local_size;
    const MPI_Aint n = c->n / size;
    const char *in = c->in;
    char *out = (char *) c->out + rank * n;

    if (c->comm->rank != rank) {
        mpi_errno = MPIR_Sched_recv(out, n, MPI_BYTE, rank, c->comm, s);
        MPIR_ERR_CHECK(mpi_errno);
        goto fn_exit;
    }
    for (int i = 0; i < size; i++) {
        if (i == rank)
            mpi_errno = MPIR_Sched_copy(in + i * n, n, MPI_BYTE, out, n, MPI_BYTE, s);
        else
            mpi_errno = MPIR_Sched_send(in + i * n, n, MPI_BYTE, i, c->comm, s);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Let messages do a part that its process did not start. */
static int part_by_messages(const struct MPIDI_Gpudt_coll_call *c, int rank, MPIR_Sched_t s)
{
    const struct part p = part_of(c, rank);
    const char *in = (const char *) c->in + p.first * c->extent;
    char *out = c->out ? (char *) c->out + p.first * c->extent : NULL;
    const void *from = c->is_in_place ? MPI_IN_PLACE : in;

    switch (c->kind) {
        case MPIDI_GPUDT_COLL__ALLREDUCE:
            return MPIR_Iallreduce_intra_sched_auto(from, out, p.n, c->datatype, c->op, c->comm, s);
        case MPIDI_GPUDT_COLL__REDUCE:
            return MPIR_Ireduce_intra_sched_auto(from, out, p.n, c->datatype, c->op, c->root,
                                                 c->comm, s);
        case MPIDI_GPUDT_COLL__REDUCE_SCATTER_BLOCK:
        case MPIDI_GPUDT_COLL__REDUCE_SCATTER:
            return MPIR_Ireduce_intra_sched_auto(in, c->out, p.n, c->datatype, c->op, rank,
                                                 c->comm, s);
        case MPIDI_GPUDT_COLL__BCAST_LONG:
            return MPIR_Ibcast_intra_sched_auto((char *) c->in + p.first, p.n, MPI_BYTE, c->root,
                                                c->comm, s);
        case MPIDI_GPUDT_COLL__ALLTOALL_WRITTEN:
            return blocks_by_messages(c, rank, s);
        default:
            return block_by_messages(c, rank, s);
    }
}

int MPIDI_Gpudt_coll_parts_by_messages(const struct MPIDI_Gpudt_coll_call *c, const int32_t * ends,
                                       int tag, MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Sched_t s = MPIR_SCHED_NULL;

    mpi_errno = MPIR_Sched_create(&s, MPIR_SCHED_KIND_REGULAR);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Sched_set_tag(s, tag);
    for (int i = 0; i < c->comm->local_size; i++) {
        if (ends[i] == MPIDI_GPUDT_END__NOT_STARTED) {
            mpi_errno = part_by_messages(c, i, s);
            MPIR_ERR_CHECK(mpi_errno);
            MPIR_SCHED_BARRIER(s);
        }
    }
    mpi_errno = MPIR_Sched_start(s, c->comm, request);
    s = MPIR_SCHED_NULL;
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (s)
        MPIR_Sched_free(s);
    goto fn_exit;
}

int MPIDI_Gpudt_coll_ends_judge(MPIR_Comm * comm, const int32_t * ends, int own_errno)
{
    int mpi_errno = own_errno;

    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < comm->local_size; i++)
        MPIR_ERR_CHKANDJUMP1(ends[i] == MPIDI_GPUDT_END__FAILED, mpi_errno, MPI_ERR_OTHER,
                             "**gpudt_combine", "**gpudt_combine %d", i);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Gpudt_coll_ends_exchange(MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                                   enum MPIDI_Gpudt_end_e own, int own_errno, int32_t * ends)
{
    int mpi_errno = MPI_SUCCESS;
    const int32_t end = own;

    mpi_errno = MPIDI_Gpudt_agree_allgather(comm, errflag, &end, sizeof(end), ends);
    if (own_errno)
        mpi_errno = own_errno;
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_Gpudt_coll_ends_judge(comm, ends, MPI_SUCCESS);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

bool MPIDI_Gpudt_coll_ends_are_done(const MPIR_Comm * comm, const int32_t * ends)
{
    for (int i = 0; i < comm->local_size; i++) {
        if (ends[i] != MPIDI_GPUDT_END__DONE)
            return false;
    }
    return true;
}

/* Let messages do the parts that their processes did not start. */
static int rest_by_messages(const struct MPIDI_Gpudt_coll_call *c, const int32_t * ends)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *request;

    mpi_errno = MPIDI_Gpudt_coll_parts_by_messages(c, ends, MPIDI_GPUDT_PARTS_TAG, &request);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIC_Wait(request, c->errflag);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = request->status.MPI_ERROR;
    MPIR_Request_free(request);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Gpudt_coll_parts(struct MPIDI_Gpudt_coll_call *c, struct MPIDI_Gpudt_known *k,
                           int own_errno)
{
    int mpi_errno = MPI_SUCCESS;
    enum MPIDI_Gpudt_end_e own = MPIDI_GPUDT_END__FAILED;
    int32_t ends[MPIR_GPUDT_COMBINE_MAX];

    if (own_errno == MPI_SUCCESS)
        own = part_combine(c, k, &own_errno);
    mpi_errno = MPIDI_Gpudt_coll_ends_exchange(c->comm, c->errflag, own, own_errno, ends);
    MPIR_ERR_CHECK(mpi_errno);
    if (!MPIDI_Gpudt_coll_ends_are_done(c->comm, ends)) {
        MPIDI_Gpudt_known_refuse(k);
        mpi_errno = rest_by_messages(c, ends);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
