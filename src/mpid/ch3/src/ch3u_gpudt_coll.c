/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Collectives among processes of a node whose buffers are in GPU memory:
 *
 *     all: exchange the names of their buffers                    host memory, some 100 bytes each
 *     the first time: exchange how to map them
 *     each: do its part, by one kernel that reads and writes the memory of all
 *     all: exchange whether that was done
 *
 * The part of a reduction is an equal share of the elements, or the block of the process. An
 * allgather is a reduction of one operand: each process writes its block to all. A long broadcast is
 * one, too: each process but the root reads a share of the root's data, and writes it to all of them.
 * With a GPU for each, no link carries more than the data once in each direction. In an all-to-all of
 * contiguous blocks each process writes its blocks, one to each.
 *
 * No kernel waits for another process. Each element is combined by one process, from left to right
 * in the order of ranks: all get the same bits, and the same ones each time. A process accesses no
 * part but its own, so that operands may be results, too.
 *
 * With fault tolerance processes write to their own memory only (MPIDI_Gpudt_coll_may_write): each of them,
 * or the root, combines all elements, in the same order, and other data is copied by its receivers
 * (ch3u_gpudt_move.c). Operands are not results then, but in an MPI_Reduce.
 *
 * The processes must agree, call by call, whether to exchange names, though some of them may
 * have their operands in host memory or no GPU at all. What they decide by is therefore the same
 * in all: the communicator, the call and its bytes, and what was exchanged before. After calls
 * that could not be done here, the next ones of that size do not ask, nor does the first one. Once all
 * processes have told in a blocking call that they will never have a GPU, no call of the communicator asks
 * again. So programs on the host do not pay. Nonblocking calls decide in the same way
 * (ch3u_gpudt_icoll.c), and so do the starts of a persistent one, by what its own starts before
 * have shown (ch3u_gpudt_pcoll.c). */

#include "mpidimpl.h"
#include "mpidi_gpudt_coll_impl.h"
#include "mpidi_gpudt_move_impl.h"
#include "mpidi_gpudt_shm.h"
#include "mpir_ext_gpudt.h"
#include "tuning/gpudt_tuning.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_COLL
      category    : GPUDT
      type        : enum
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_ALL
      description : |-
        Whether blocking, nonblocking and persistent collectives among GPUs of a node are done by
        kernels that access the memory of all processes. Must be the same in all processes.
        auto   - If the memory can be mapped, and once mapping it pays off
        never  - By MPICH's algorithms, with messages
        always - From the first time on

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* Calls of a kind and size that do not ask, at most. One more is a prime: the question then falls on
 * each call of a program whose buffers take turns between host and GPU. */
#define MAX_PAUSE 126

/* ---- the communicator ---- */

enum MPIDI_Gpudt_coll_place_e MPIDI_Gpudt_coll_place_find(const MPIR_Comm * comm)
{
    MPIDI_VC_t *vc;

    if (comm->comm_kind != MPIR_COMM_KIND__INTRACOMM || comm->local_size < 2)
        return MPIDI_GPUDT_COLL__FAR;
    /* Numbers of nodes are those of a process group */
    for (int i = 0; i < comm->local_size; i++) {
        MPIDI_Comm_get_vc(comm, i, &vc);
        if (vc->pg != MPIDI_Process.my_pg)
            return MPIDI_GPUDT_COLL__FAR;
    }
    if (comm->node_count == 1)
        return comm->local_size <= MPIR_GPUDT_COMBINE_MAX ?
            MPIDI_GPUDT_COLL__ON_NODE : MPIDI_GPUDT_COLL__FAR;
    return comm->hierarchy_kind == MPIR_COMM_HIERARCHY_KIND__PARENT ?
        MPIDI_GPUDT_COLL__ON_NODES : MPIDI_GPUDT_COLL__FAR;
}

void MPIR_Ext_gpudt_comm_is_host(MPI_Comm comm)
{
    MPIR_Comm *comm_ptr;

    if (comm == MPI_COMM_NULL)
        return;
    MPIR_Comm_get_ptr(comm, comm_ptr);
    comm_ptr->dev.gpudt_coll.place = MPIDI_GPUDT_COLL__FAR;
}

void MPIDI_Gpudt_coll_free(MPIR_Comm * comm)
{
    MPIDI_Gpudt_agree_shm_free(comm);
    MPIDI_Gpudt_past_free(&comm->dev.gpudt_coll.past);
    MPIDI_Gpudt_kept_free(comm);
}

void MPIDI_Gpudt_coll_pace_set(struct MPIDI_Gpudt_pace *pace, bool is_possible)
{
    pace->pause = is_possible ? 0 : pace->next_pause;
    pace->next_pause = is_possible ? 0 : (uint8_t) MPL_MIN(2 * pace->next_pause + 1, MAX_PAUSE);
}

bool MPIDI_Gpudt_coll_is_worth_mapping(double *lost_us, MPI_Aint bytes)
{
    *lost_us += MPIR_GPUDT_COLL_LOST_US + MPIR_GPUDT_COLL_LOST_US_PER_BYTE * (double) bytes;
    return *lost_us >= MPIR_GPUDT_COLL_MAP_US ||
        MPIR_CVAR_GPUDT_COLL == MPIR_CVAR_GPUDT_COLL_always;
}

/* ---- calls ---- */

/* Do a call, if all processes are able to.
 *   is_done  (OUT)  false: nothing was done */
static int call_try(struct MPIDI_Gpudt_coll_call *c, bool * is_done)
{
    int mpi_errno = MPI_SUCCESS;
    /* On the stack: about memory of the heap the driver may be asked */
    struct MPIDI_Gpudt_coll_name own, name[MPIR_GPUDT_COMBINE_MAX];
    struct MPIDI_Gpudt_coll_exports exports, all[MPIR_GPUDT_COMBINE_MAX];
    struct MPIDI_Gpudt_known *k;

    c->past = &c->comm->dev.gpudt_coll.past;
    c->name = name;
    MPIDI_Gpudt_coll_describe(c, &own);
    mpi_errno = MPIDI_Gpudt_agree_allgather(c->comm, c->errflag, &own, sizeof(own), name);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_Gpudt_icoll_wait(c->comm);
    k = MPIDI_Gpudt_coll_judge(c);
    if (unlikely(!c->can_have_gpu))
        MPIDI_Gpudt_coll_give_up(c->comm);
    if (k == NULL)
        goto fn_exit;
    mpi_errno = MPIDI_Gpudt_agree_prepare(c->comm);
    if (mpi_errno == MPI_SUCCESS && !k->is_exchanged) {
        MPIDI_Gpudt_coll_export(c, &exports);
        mpi_errno = MPIDI_Gpudt_agree_allgather(c->comm, c->errflag, &exports, sizeof(exports),
                                                all);
        if (mpi_errno == MPI_SUCCESS)
            MPIDI_Gpudt_coll_exported(c, k, all);
    }
    *is_done = true;
    /* After an error as well: the others may wait for how it ends */
    mpi_errno = MPIDI_Gpudt_coll_parts(c, k, mpi_errno);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Do a call that asks. Returns as MPIDI_Gpudt_bcast_typed. */
static bool call_do(struct MPIDI_Gpudt_coll_call *c, int *mpi_errno_ptr)
{
    int mpi_errno;
    bool is_done = false;

    mpi_errno = call_try(c, &is_done);
    if (unlikely(mpi_errno))
        MPIDI_Gpudt_coll_refuse(c, mpi_errno);
    MPIR_Gpudt_buffer_free(c->in_buffer);
    MPIR_Gpudt_buffer_free(c->out_buffer);
    if (mpi_errno == MPI_SUCCESS && !is_done)
        return false;
    *mpi_errno_ptr = mpi_errno;
    return true;
}

/* As MPIDI_Gpudt_coll_ask, for a reduction. Most calls do not ask: they must find that out before they
 * describe anything. */
static inline struct MPIDI_Gpudt_pace *reduction_ask(MPIR_Comm * comm,
                                                     enum MPIDI_Gpudt_coll_e kind, MPI_Aint n,
                                                     MPI_Datatype datatype, MPI_Op op)
{
    const uint64_t bytes = MPIDI_Gpudt_coll_bytes(n, datatype, op);

    return bytes > 0 ? MPIDI_Gpudt_coll_ask(comm, kind, bytes) : NULL;
}

/* For a call that is described in its arguments only where it asks. */
#define CALL(...) (&(struct MPIDI_Gpudt_coll_call) {__VA_ARGS__})

static bool allreduce_try(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                          MPI_Op op, MPIR_Comm * comm, MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    const enum MPIDI_Gpudt_coll_e kind = MPIDI_GPUDT_COLL__ALLREDUCE;
    const bool is_in_place = sendbuf == MPI_IN_PLACE;
    struct MPIDI_Gpudt_pace *pace;

    if (MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM != MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM_auto)
        return false;
    if (unlikely(MPIDI_Gpudt_coll_is_at(comm, MPIDI_GPUDT_COLL__ON_NODES)))
        return MPIDI_Gpudt_nodes_allreduce(sendbuf, recvbuf, count, datatype, op, comm, errflag,
                                           mpi_errno_ptr);
    pace = reduction_ask(comm, kind, count, datatype, op);
    return unlikely(pace != NULL) &&
        call_do(CALL(.kind = kind,.in = is_in_place ? recvbuf : sendbuf,.out = recvbuf,.n = count,
                     .n_out = count,.datatype = datatype,.op = op,.is_in_place = is_in_place,
                     .is_apt = true,.comm = comm,.errflag = errflag,.pace = pace), mpi_errno_ptr);
}

int MPIDI_Gpudt_allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                          MPI_Op op, MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    int mpi_errno;

    if (allreduce_try(sendbuf, recvbuf, count, datatype, op, comm, errflag, &mpi_errno))
        return mpi_errno;
    return MPIR_Allreduce_impl(sendbuf, recvbuf, count, datatype, op, comm, errflag);
}

static bool reduce_try(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                       MPI_Op op, int root, MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                       int *mpi_errno_ptr)
{
    const enum MPIDI_Gpudt_coll_e kind = MPIDI_GPUDT_COLL__REDUCE;
    const bool is_in_place = sendbuf == MPI_IN_PLACE;
    struct MPIDI_Gpudt_pace *pace;

    /* Between groups, not all processes have a datatype */
    if (comm->comm_kind != MPIR_COMM_KIND__INTRACOMM ||
        MPIR_CVAR_REDUCE_INTRA_ALGORITHM != MPIR_CVAR_REDUCE_INTRA_ALGORITHM_auto)
        return false;
    if (unlikely(MPIDI_Gpudt_coll_is_at(comm, MPIDI_GPUDT_COLL__ON_NODES)))
        return MPIDI_Gpudt_nodes_reduce(sendbuf, recvbuf, count, datatype, op, root, comm, errflag,
                                        mpi_errno_ptr);
    pace = reduction_ask(comm, kind, count, datatype, op);
    return unlikely(pace != NULL) &&
        call_do(CALL(.kind = kind,.in = is_in_place ? recvbuf : sendbuf,
                     .out = comm->rank == root ? recvbuf : NULL,.n = count,.n_out = count,
                     .datatype = datatype,.op = op,.root = root,.is_in_place = is_in_place,
                     .is_apt = true,.comm = comm,.errflag = errflag,.pace = pace), mpi_errno_ptr);
}

int MPIDI_Gpudt_reduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                       MPI_Op op, int root, MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    int mpi_errno;

    if (reduce_try(sendbuf, recvbuf, count, datatype, op, root, comm, errflag, &mpi_errno))
        return mpi_errno;
    return MPIR_Reduce_impl(sendbuf, recvbuf, count, datatype, op, root, comm, errflag);
}

/* In place, a result would overwrite operands of other processes' parts. */
int MPIDI_Gpudt_reduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Aint recvcount,
                                     MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                                     MPIR_Errflag_t * errflag)
{
    const enum MPIDI_Gpudt_coll_e kind = MPIDI_GPUDT_COLL__REDUCE_SCATTER_BLOCK;
    const MPI_Aint n = recvcount * comm->local_size;
    struct MPIDI_Gpudt_pace *pace = NULL;
    int mpi_errno;

    if (MPIR_CVAR_REDUCE_SCATTER_BLOCK_INTRA_ALGORITHM ==
        MPIR_CVAR_REDUCE_SCATTER_BLOCK_INTRA_ALGORITHM_auto && sendbuf != MPI_IN_PLACE)
        pace = reduction_ask(comm, kind, n, datatype, op);
    if (unlikely(pace != NULL) &&
        call_do(CALL(.kind = kind,.in = sendbuf,.out = recvbuf,.n = n,.n_out = recvcount,
                     .datatype = datatype,.op = op,.is_apt = true,.comm = comm,.errflag = errflag,
                     .pace = pace), &mpi_errno))
        return mpi_errno;
    return MPIR_Reduce_scatter_block_impl(sendbuf, recvbuf, recvcount, datatype, op, comm, errflag);
}

int MPIDI_Gpudt_reduce_scatter(const void *sendbuf, void *recvbuf, const MPI_Aint recvcounts[],
                               MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                               MPIR_Errflag_t * errflag)
{
    const enum MPIDI_Gpudt_coll_e kind = MPIDI_GPUDT_COLL__REDUCE_SCATTER;
    const MPI_Aint n_out = recvcounts[comm->rank];
    struct MPIDI_Gpudt_pace *pace = NULL;
    MPI_Aint n = 0;
    int mpi_errno;

    if (MPIR_CVAR_REDUCE_SCATTER_INTRA_ALGORITHM == MPIR_CVAR_REDUCE_SCATTER_INTRA_ALGORITHM_auto) {
        for (int i = 0; i < comm->local_size; i++)
            n += recvcounts[i];
        pace = reduction_ask(comm, kind, n, datatype, op);
    }
    /* Of this call some processes only may be in place, those that get a part of the result */
    if (unlikely(pace != NULL) &&
        call_do(CALL(.kind = kind,.in = sendbuf,.out = n_out ? recvbuf : NULL,.n = n,
                     .n_out = n_out,.counts = recvcounts,.datatype = datatype,.op = op,
                     .is_apt = sendbuf != MPI_IN_PLACE,.comm = comm,.errflag = errflag,
                     .pace = pace), &mpi_errno))
        return mpi_errno;
    return MPIR_Reduce_scatter_impl(sendbuf, recvbuf, recvcounts, datatype, op, comm, errflag);
}

/* Where the data of a buffer begins, if it is contiguous; else is_contig is false. */
static char *data_of(const void *buf, MPI_Datatype datatype, bool * is_contig)
{
    MPI_Aint true_lb;
    int contig;

    MPIR_Datatype_is_contig(datatype, &contig);
    MPIR_Datatype_get_true_lb(datatype, &true_lb);
    *is_contig = *is_contig && contig;
    return (char *) buf + true_lb;
}

bool MPIDI_Gpudt_coll_allgather_set(struct MPIDI_Gpudt_coll_call *c, const void *sendbuf,
                                    MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                                    MPI_Datatype recvtype)
{
    if (!MPIDI_Gpudt_coll_may_write())
        return false;
    c->kind = MPIDI_GPUDT_COLL__ALLGATHER;
    c->datatype = MPI_BYTE;
    c->op = MPI_BOR;
    c->is_in_place = sendbuf == MPI_IN_PLACE;
    c->is_apt = true;
    MPIR_Datatype_get_size_macro(recvtype, c->n);
    c->n *= recvcount;
    c->n_out = c->n * c->comm->local_size;
    c->out = data_of(recvbuf, recvtype, &c->is_apt);
    c->in = c->is_in_place ? (char *) c->out + c->comm->rank * c->n :
        data_of(sendbuf, sendtype, &c->is_apt);
    if (c->n > MPIR_GPUDT_COLL_MAX_NARROW &&
        ((uintptr_t) c->in | (uintptr_t) c->out | (uintptr_t) c->n) % 16)
        c->is_apt = false;
    return true;
}

static bool allgather_try(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                          MPIR_Comm * comm, MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    struct MPIDI_Gpudt_coll_call c;
    struct MPIDI_Gpudt_pace *pace;
    MPI_Aint bytes;

    /* In an intercommunicator there may be datatypes that do not exist, as they are not used */
    if (comm->comm_kind != MPIR_COMM_KIND__INTRACOMM ||
        MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM != MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM_auto)
        return false;
    bytes = MPIDI_Gpudt_bytes_of(recvcount, recvtype);
    if (bytes == 0)
        return false;
    pace = MPIDI_Gpudt_coll_may_write() ?
        MPIDI_Gpudt_coll_ask(comm, MPIDI_GPUDT_COLL__ALLGATHER, (uint64_t) bytes) : NULL;
    if (unlikely(pace != NULL)) {
        c = (struct MPIDI_Gpudt_coll_call) {.comm = comm,.errflag = errflag,.pace = pace };
        (void) MPIDI_Gpudt_coll_allgather_set(&c, sendbuf, sendtype, recvbuf, recvcount, recvtype);
        if (call_do(&c, mpi_errno_ptr))
            return true;
        if (c.is_on_host)
            return false;
    }
    pace = MPIDI_Gpudt_coll_ask(comm, MPIDI_GPUDT_COLL__ALLGATHER_TYPED,
                                MPIDI_Gpudt_move_class(bytes));
    return unlikely(pace != NULL) &&
        MPIDI_Gpudt_allgather_typed(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                    comm, errflag, pace, mpi_errno_ptr);
}

int MPIDI_Gpudt_allgather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                          MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    int mpi_errno;

    if (allgather_try(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, errflag,
                      &mpi_errno))
        return mpi_errno;
    return MPIR_Allgather_impl(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                               errflag);
}

/* Whether a broadcast is done by shares; the same in all processes. */
static inline bool is_long(const MPIR_Comm * comm, MPI_Aint bytes)
{
    return comm->local_size > 2 && bytes >= MPIR_GPUDT_COLL_MIN_LONG && MPIDI_Gpudt_coll_may_write();
}

bool MPIDI_Gpudt_coll_bcast_set(struct MPIDI_Gpudt_coll_call *c, void *buffer, MPI_Aint count,
                                MPI_Datatype datatype, int root)
{
    c->n = MPIDI_Gpudt_bytes_of(count, datatype);
    if (!is_long(c->comm, c->n))
        return false;
    c->kind = MPIDI_GPUDT_COLL__BCAST_LONG;
    c->datatype = MPI_BYTE;
    c->op = MPI_BOR;
    c->root = root;
    c->is_apt = true;
    c->n_out = c->n;
    c->in = data_of(buffer, datatype, &c->is_apt);
    /* In the root as well, where it is no result: buffers are known whatever the root is */
    c->out = (void *) c->in;
    if ((uintptr_t) c->in % 16)
        c->is_apt = false;
    return true;
}

static bool bcast_try(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                      MPIR_Comm * comm, MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    struct MPIDI_Gpudt_coll_call c;
    struct MPIDI_Gpudt_pace *pace;
    MPI_Aint bytes;

    /* In an intercommunicator, not all processes have a datatype */
    if (comm->comm_kind != MPIR_COMM_KIND__INTRACOMM ||
        MPIR_CVAR_BCAST_INTRA_ALGORITHM != MPIR_CVAR_BCAST_INTRA_ALGORITHM_auto)
        return false;
    bytes = MPIDI_Gpudt_bytes_of(count, datatype);
    if (bytes == 0)
        return false;
    if (unlikely(MPIDI_Gpudt_coll_is_at(comm, MPIDI_GPUDT_COLL__ON_NODES)))
        return MPIDI_Gpudt_nodes_bcast(buffer, count, datatype, root,
                                       MPIDI_Gpudt_move_class(bytes), comm, errflag, mpi_errno_ptr);
    pace = is_long(comm, bytes) ?
        MPIDI_Gpudt_coll_ask(comm, MPIDI_GPUDT_COLL__BCAST_LONG, (uint64_t) bytes) : NULL;
    if (unlikely(pace != NULL)) {
        c = (struct MPIDI_Gpudt_coll_call) {.comm = comm,.errflag = errflag,.pace = pace };
        (void) MPIDI_Gpudt_coll_bcast_set(&c, buffer, count, datatype, root);
        if (call_do(&c, mpi_errno_ptr))
            return true;
        if (c.is_on_host)
            return false;
    }
    pace = MPIDI_Gpudt_coll_ask(comm, MPIDI_GPUDT_COLL__BCAST, MPIDI_Gpudt_move_class(bytes));
    return unlikely(pace != NULL) &&
        MPIDI_Gpudt_bcast_typed(buffer, count, datatype, root, comm, errflag, pace, mpi_errno_ptr);
}

int MPIDI_Gpudt_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                      MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    int mpi_errno;

    if (bcast_try(buffer, count, datatype, root, comm, errflag, &mpi_errno))
        return mpi_errno;
    return MPIR_Bcast_impl(buffer, count, datatype, root, comm, errflag);
}

/* Whether the blocks of an all-to-all are written by their senders; the same in all processes. */
static inline bool is_written(const MPIR_Comm * comm, MPI_Aint block)
{
    return (comm->local_size > 2 || block <= MPIR_GPUDT_COLL_MAX_WRITTEN) &&
        MPIDI_Gpudt_coll_may_write();
}

bool MPIDI_Gpudt_coll_alltoall_set(struct MPIDI_Gpudt_coll_call *c, const void *sendbuf,
                                   MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                                   MPI_Aint recvcount, MPI_Datatype recvtype)
{
    const MPI_Aint n = MPIDI_Gpudt_bytes_of(recvcount, recvtype);

    if (!is_written(c->comm, n))
        return false;
    c->kind = MPIDI_GPUDT_COLL__ALLTOALL_WRITTEN;
    c->datatype = MPI_BYTE;
    c->op = MPI_BOR;
    c->is_apt = true;
    c->n = c->n_out = n * c->comm->local_size;
    c->in = data_of(sendbuf, sendtype, &c->is_apt);
    c->out = data_of(recvbuf, recvtype, &c->is_apt);
    /* The kernel moves words, and long blocks fast by 16 bytes only; by as many blocks of threads as it
     * takes */
    if (((uintptr_t) c->in | (uintptr_t) c->out | (uintptr_t) n) %
        (n > MPIR_GPUDT_COLL_MAX_NARROW ? 16 : 4) ||
        MPIDI_Gpudt_bytes_of(sendcount, sendtype) != n || MPIR_CVAR_GPUDT_MAX_BLOCKS > 0)
        c->is_apt = false;
    return true;
}

static bool alltoall_try(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                         void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, MPIR_Comm * comm,
                         MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    struct MPIDI_Gpudt_coll_call c;
    struct MPIDI_Gpudt_pace *pace;
    MPI_Aint block;

    /* In an intercommunicator there may be datatypes that do not exist, as they are not used. In place, an
     * all-to-all would overwrite what others are to read */
    if (comm->comm_kind != MPIR_COMM_KIND__INTRACOMM || sendbuf == MPI_IN_PLACE ||
        MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM != MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM_auto)
        return false;
    block = MPIDI_Gpudt_bytes_of(recvcount, recvtype);
    if (block == 0)
        return false;
    pace = is_written(comm, block) ?
        MPIDI_Gpudt_coll_ask(comm, MPIDI_GPUDT_COLL__ALLTOALL_WRITTEN,
                             (uint64_t) block * (uint64_t) comm->local_size) : NULL;
    if (unlikely(pace != NULL)) {
        c = (struct MPIDI_Gpudt_coll_call) {.comm = comm,.errflag = errflag,.pace = pace };
        (void) MPIDI_Gpudt_coll_alltoall_set(&c, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                             recvtype);
        if (call_do(&c, mpi_errno_ptr))
            return true;
        if (c.is_on_host)
            return false;
    }
    pace = MPIDI_Gpudt_coll_ask(comm, MPIDI_GPUDT_COLL__ALLTOALL, MPIDI_Gpudt_move_class(block));
    return unlikely(pace != NULL) &&
        MPIDI_Gpudt_alltoall_typed(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                   comm, errflag, pace, mpi_errno_ptr);
}

int MPIDI_Gpudt_alltoall(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                         void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, MPIR_Comm * comm,
                         MPIR_Errflag_t * errflag)
{
    int mpi_errno;

    if (alltoall_try(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, errflag,
                     &mpi_errno))
        return mpi_errno;
    return MPIR_Alltoall_impl(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                              errflag);
}
