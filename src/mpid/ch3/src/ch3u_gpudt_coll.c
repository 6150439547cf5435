/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Collectives among processes of a node whose buffers are in GPU memory:
 *
 *     all: exchange the names of their buffers                    host memory, some 64 bytes each
 *     the first time: exchange how to map them
 *     each: do its part, by one kernel that reads and writes the memory of all
 *     all: exchange whether that was done
 *
 * The part of a reduction is an equal share of the elements, or the block of the process. An
 * allgather is a reduction of one operand: each process writes its block to all.
 *
 * No kernel waits for another process. Each element is combined by one process, from left to right
 * in the order of ranks: all get the same bits, and the same ones each time. A process accesses no
 * part but its own, so that operands may be results, too.
 *
 * The processes must agree, call by call, whether to exchange names, though some of them may have
 * their operands in host memory or no GPU at all. What they decide by is therefore the same in all:
 * the communicator, the call and its bytes, and what was exchanged before. After calls that could
 * not be done here, the next ones of that size do not ask, nor does the first one; so programs on the
 * host do not pay. */

#include "mpidimpl.h"
#include "mpidi_gpudt_coll_impl.h"

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
        Whether blocking collectives among GPUs of a node are done by kernels that access the
        memory of all processes. Must be the same in all processes.
        auto   - If the memory can be mapped, and once mapping it pays off
        never  - By MPICH's algorithms, with messages
        always - From the first time on

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define MAX_PAUSE 255           /* calls of a kind and size after which to ask again, at most */
#define NKNOWN 16               /* sets of buffers that a communicator remembers */

/* Bytes of a block up to which a kernel may move byte by byte. */
#define MAX_NARROW (64 << 10)

/* Microseconds that calls must have lost by messages before memory is mapped, and what a call
 * loses: two messages and a kernel, and more for its bytes. Mapping takes about 60 for each buffer,
 * but 2,000 the first time. */
#define MAP_US 250
#define LOST_US 30
#define LOST_US_PER_BYTE (1 / 20e3)

/* ---- the communicator ---- */

/* Whether all processes of a communicator are on one node. Only what is the same in all of them may
 * count. */
static bool is_on_node(MPIR_Comm * comm)
{
    MPIDI_VC_t *vc;

    if (comm->comm_kind != MPIR_COMM_KIND__INTRACOMM || comm->node_count != 1 ||
        comm->local_size < 2 || comm->local_size > MPIR_GPUDT_COMBINE_MAX)
        return false;
    /* Numbers of nodes are those of a process group */
    for (int i = 0; i < comm->local_size; i++) {
        MPIDI_Comm_get_vc(comm, i, &vc);
        if (vc->pg != MPIDI_Process.my_pg)
            return false;
    }
    return true;
}

void MPIDI_Gpudt_coll_free(MPIR_Comm * comm)
{
    MPL_free(comm->dev.gpudt_coll.known);
    comm->dev.gpudt_coll.known = NULL;
}

struct MPIDI_Gpudt_pace *MPIDI_Gpudt_coll_ask(MPIR_Comm * comm, enum MPIDI_Gpudt_coll_e kind,
                                              uint64_t bytes)
{
    MPIDI_Gpudt_coll_t *coll = &comm->dev.gpudt_coll;
    struct MPIDI_Gpudt_pace *pace;
    int size = 0;

    if (unlikely(coll->place == MPIDI_GPUDT_COLL__NEW))
        coll->place = is_on_node(comm) ? MPIDI_GPUDT_COLL__ON_NODE : MPIDI_GPUDT_COLL__FAR;
    if (coll->place == MPIDI_GPUDT_COLL__FAR || MPIR_CVAR_GPUDT_COLL == MPIR_CVAR_GPUDT_COLL_never)
        return NULL;
    for (; bytes > 1; bytes /= 2)
        size++;
    pace = &coll->pace[kind][size];
    /* A communicator may be made for a single call, on the host */
    if (!pace->has_begun && MPIR_CVAR_GPUDT_COLL != MPIR_CVAR_GPUDT_COLL_always)
        pace->pause = 1;
    pace->has_begun = true;
    if (pace->pause == 0)
        return pace;
    pace->pause--;
    return NULL;
}

void MPIDI_Gpudt_coll_pace_set(struct MPIDI_Gpudt_pace *pace, bool is_possible)
{
    pace->pause = is_possible ? 0 : pace->next_pause;
    pace->next_pause = is_possible ? 0 : (uint8_t) MPL_MIN(2 * pace->next_pause + 1, MAX_PAUSE);
}

bool MPIDI_Gpudt_coll_is_worth_mapping(MPIR_Comm * comm, MPI_Aint bytes)
{
    comm->dev.gpudt_coll.lost_us += LOST_US + LOST_US_PER_BYTE * (double) bytes;
    return comm->dev.gpudt_coll.lost_us >= MAP_US ||
        MPIR_CVAR_GPUDT_COLL == MPIR_CVAR_GPUDT_COLL_always;
}

/* Whether this call asks the other processes. With an operation of the user, their datatypes may
 * have different extents; predefined ones are of predefined datatypes. */
static bool is_to_ask(struct MPIDI_Gpudt_coll_call *c)
{
    if (c->n == 0 || !HANDLE_IS_BUILTIN(c->op))
        return false;
    MPIR_Datatype_get_extent_macro(c->datatype, c->extent);
    c->pace = MPIDI_Gpudt_coll_ask(c->comm, c->kind,
                                   (uint64_t) c->n * (uint64_t) MPL_MAX(c->extent, 1));
    return c->pace != NULL;
}

/* ---- buffers ---- */

/* Describe the buffers of this process. Returns whether they are for this way. */
static bool buffers_describe(struct MPIDI_Gpudt_coll_call *c, struct MPIDI_Gpudt_coll_name *own)
{
    uint64_t gpu;

    if (!c->is_apt || !MPIR_DATATYPE_IS_PREDEFINED(c->datatype) ||
        !MPIR_Gpudt_operand_make(c->in, c->n, c->datatype, c->op, &c->in_buffer, &own->in,
                                 &own->gpu))
        return false;
    if (c->out == NULL)
        return true;
    return MPIR_Gpudt_operand_make(c->out, c->n_out, c->datatype, c->op, &c->out_buffer, &own->out,
                                   &gpu) &&
        MPIR_Gpudt_operands_fit(c->in_buffer, c->out_buffer);
}

/* Exchange the names of the buffers.
 *   is_able  (OUT)  whether they are for this way in all processes */
static int names_exchange(struct MPIDI_Gpudt_coll_call *c, bool * is_able)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_Gpudt_coll_t *coll = &c->comm->dev.gpudt_coll;
    struct MPIDI_Gpudt_coll_name own;

    memset(&own, 0, sizeof(own));
    own.has_gpu = MPIR_Gpudt_is_present();
    if (buffers_describe(c, &own)) {
        if (coll->known == NULL)
            coll->known = MPL_calloc(NKNOWN, sizeof(*coll->known), MPL_MEM_COMM);
        own.is_able = coll->known != NULL;
    }
    mpi_errno = MPIDI_Gpudt_agree_allgather(c->comm, c->errflag, &own, sizeof(own), c->name);
    MPIR_ERR_CHECK(mpi_errno);
    *is_able = c->is_on_host = true;
    for (int i = 0; i < c->comm->local_size; i++) {
        *is_able = *is_able && c->name[i].is_able;
        c->is_on_host = c->is_on_host && !c->name[i].has_gpu;
        /* Each kernel would wait for the GPU to switch between processes */
        if (c->kind == MPIDI_GPUDT_COLL__ALLGATHER)
            *is_able = *is_able && MPIDI_Gpudt_coll_is_worker(c, 0, i);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Whether the buffers of a call are in the same allocations as those of an earlier one. */
static bool is_same(const struct MPIR_Gpudt_operand *a, const struct MPIR_Gpudt_operand *b)
{
    return a->process == b->process && a->id == b->id;
}

static bool is_known(const struct MPIDI_Gpudt_known *k, const struct MPIDI_Gpudt_coll_call *c)
{
    for (int i = 0; i < c->comm->local_size; i++) {
        if (!is_same(&k->name[i].in, &c->name[i].in) || !is_same(&k->name[i].out, &c->name[i].out))
            return false;
    }
    return k->last_use > 0;
}

/* The entry of the buffers of a call. If they are new, it takes the place of the one that was not
 * used for longest. */
static struct MPIDI_Gpudt_known *known_find(const struct MPIDI_Gpudt_coll_call *c)
{
    MPIDI_Gpudt_coll_t *coll = &c->comm->dev.gpudt_coll;
    struct MPIDI_Gpudt_known *all = coll->known, *k = &all[0];

    for (int i = 0; i < NKNOWN && !is_known(k, c); i++)
        k = &all[i];
    if (!is_known(k, c)) {
        for (int i = 0; i < NKNOWN; i++)
            k = all[i].last_use < k->last_use ? &all[i] : k;
        k->is_refused = k->is_exchanged = false;
        k->lost_us = 0;
        memcpy(k->name, c->name, (size_t) c->comm->local_size * sizeof(k->name[0]));
    }
    k->last_use = ++coll->nuses;
    return k;
}

/* Exchange how to map the buffers of a call, if that is worth it by now. */
static int exports_exchange(struct MPIDI_Gpudt_coll_call *c, struct MPIDI_Gpudt_known *k)
{
    int mpi_errno = MPI_SUCCESS;
    /* On the stack: about memory of the heap the driver may be asked */
    struct MPIDI_Gpudt_coll_exports own, all[MPIR_GPUDT_COMBINE_MAX];

    k->lost_us += LOST_US + LOST_US_PER_BYTE * (double) (c->n * c->extent);
    if (k->lost_us < MAP_US && MPIR_CVAR_GPUDT_COLL != MPIR_CVAR_GPUDT_COLL_always)
        goto fn_exit;
    memset(&own, 0, sizeof(own));
    MPIR_Gpudt_operand_export(c->in_buffer, own.in);
    if (c->out_buffer)
        MPIR_Gpudt_operand_export(c->out_buffer, own.out);
    mpi_errno = MPIDI_Gpudt_agree_allgather(c->comm, c->errflag, &own, sizeof(own), all);
    MPIR_ERR_CHECK(mpi_errno);
    memcpy(k->exports, all, (size_t) c->comm->local_size * sizeof(all[0]));
    k->is_exchanged = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- calls ---- */

/* Do a call, if all processes are able to.
 *   is_done  (OUT)  false: nothing was done */
static int call_try(struct MPIDI_Gpudt_coll_call *c, bool * is_done)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_coll_name name[MPIR_GPUDT_COMBINE_MAX];
    struct MPIDI_Gpudt_known *k;
    bool is_able;

    c->name = name;
    mpi_errno = names_exchange(c, &is_able);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_Gpudt_coll_pace_set(c->pace, is_able);
    if (!is_able)
        goto fn_exit;
    k = known_find(c);
    if (k->is_refused)
        goto fn_exit;
    if (!k->is_exchanged) {
        mpi_errno = exports_exchange(c, k);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (k->is_exchanged) {
        *is_done = true;
        mpi_errno = MPIDI_Gpudt_coll_parts(c, k);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static bool call_do(struct MPIDI_Gpudt_coll_call *c, int *mpi_errno_ptr)
{
    int mpi_errno;
    bool is_done = false;

    if (likely(!is_to_ask(c)))
        return false;
    mpi_errno = call_try(c, &is_done);
    MPIR_Gpudt_buffer_free(c->in_buffer);
    MPIR_Gpudt_buffer_free(c->out_buffer);
    if (mpi_errno == MPI_SUCCESS && !is_done)
        return false;
    *mpi_errno_ptr = mpi_errno;
    return true;
}

bool MPIDI_Gpudt_allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                           MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                           MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    const bool is_in_place = sendbuf == MPI_IN_PLACE;
    struct MPIDI_Gpudt_coll_call c = {
        .kind = MPIDI_GPUDT_COLL__ALLREDUCE,.in = is_in_place ? recvbuf : sendbuf,.out = recvbuf,
        .n = count,.n_out = count,.datatype = datatype,.op = op,.is_in_place = is_in_place,
        .is_apt = true,.comm = comm,.errflag = errflag
    };

    return MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM == MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM_auto &&
        call_do(&c, mpi_errno_ptr);
}

bool MPIDI_Gpudt_reduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                        MPI_Op op, int root, MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                        int *mpi_errno_ptr)
{
    const bool is_in_place = sendbuf == MPI_IN_PLACE;
    struct MPIDI_Gpudt_coll_call c = {
        .kind = MPIDI_GPUDT_COLL__REDUCE,.in = is_in_place ? recvbuf : sendbuf,
        .out = comm->rank == root ? recvbuf : NULL,
        .n = count,.n_out = count,.datatype = datatype,.op = op,.root = root,
        .is_in_place = is_in_place,.is_apt = true,.comm = comm,.errflag = errflag
    };

    return MPIR_CVAR_REDUCE_INTRA_ALGORITHM == MPIR_CVAR_REDUCE_INTRA_ALGORITHM_auto &&
        call_do(&c, mpi_errno_ptr);
}

/* In place, a result would overwrite operands of other processes' parts. */
bool MPIDI_Gpudt_reduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Aint recvcount,
                                      MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                                      MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    struct MPIDI_Gpudt_coll_call c = {
        .kind = MPIDI_GPUDT_COLL__REDUCE_SCATTER_BLOCK,.in = sendbuf,.out = recvbuf,
        .n = recvcount * comm->local_size,.n_out = recvcount,.datatype = datatype,.op = op,
        .is_apt = true,.comm = comm,.errflag = errflag
    };

    return MPIR_CVAR_REDUCE_SCATTER_BLOCK_INTRA_ALGORITHM ==
        MPIR_CVAR_REDUCE_SCATTER_BLOCK_INTRA_ALGORITHM_auto && sendbuf != MPI_IN_PLACE &&
        call_do(&c, mpi_errno_ptr);
}

bool MPIDI_Gpudt_reduce_scatter(const void *sendbuf, void *recvbuf, const MPI_Aint recvcounts[],
                                MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                                MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    struct MPIDI_Gpudt_coll_call c = {
        .kind = MPIDI_GPUDT_COLL__REDUCE_SCATTER,.in = sendbuf,
        .out = recvcounts[comm->rank] ? recvbuf : NULL,.n_out = recvcounts[comm->rank],
        .counts = recvcounts,.datatype = datatype,.op = op,.is_apt = true,.comm = comm,
        .errflag = errflag
    };

    for (int i = 0; i < comm->local_size; i++)
        c.n += recvcounts[i];
    return MPIR_CVAR_REDUCE_SCATTER_INTRA_ALGORITHM ==
        MPIR_CVAR_REDUCE_SCATTER_INTRA_ALGORITHM_auto && sendbuf != MPI_IN_PLACE &&
        call_do(&c, mpi_errno_ptr);
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

bool MPIDI_Gpudt_allgather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                           void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                           MPIR_Comm * comm, MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    struct MPIDI_Gpudt_coll_call c = {
        .kind = MPIDI_GPUDT_COLL__ALLGATHER,.datatype = MPI_BYTE,.op = MPI_BOR,
        .is_in_place = sendbuf == MPI_IN_PLACE,.is_apt = true,.comm = comm,.errflag = errflag
    };

    MPIR_Datatype_get_size_macro(recvtype, c.n);
    c.n *= recvcount;
    c.n_out = c.n * comm->local_size;
    c.out = data_of(recvbuf, recvtype, &c.is_apt);
    c.in = c.is_in_place ? (char *) c.out + comm->rank * c.n :
        data_of(sendbuf, sendtype, &c.is_apt);
    if (c.n > MAX_NARROW && ((uintptr_t) c.in | (uintptr_t) c.out | (uintptr_t) c.n) % 16)
        c.is_apt = false;
    if (MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM == MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM_auto &&
        call_do(&c, mpi_errno_ptr))
        return true;
    return !c.is_on_host && MPIDI_Gpudt_allgather_typed(sendbuf, sendcount, sendtype, recvbuf,
                                                        recvcount, recvtype, comm, errflag,
                                                        mpi_errno_ptr);
}
