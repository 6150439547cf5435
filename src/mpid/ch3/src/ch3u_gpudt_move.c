/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Collectives that move data among processes of a node whose buffers are in GPU memory, with any
 * datatypes at both ends:
 *
 *     all: exchange whether their buffers are for this way        host memory, 80 bytes each
 *     exchange offers of the buffers that are sent, by the same collective, unless they have not changed
 *     each: copies what it receives from the memory of the others
 *     all: exchange whether that was done
 *
 * No kernel waits for another process. As for reductions (ch3u_gpudt_coll.c), what the processes
 * decide by is the same in all of them: in some collectives a process does not know what the others
 * send, so that the pace of these does not depend on bytes. Nothing that is sent is changed, so a
 * call that a process could not do here is done again by MPICH's algorithm in all. */

#include "mpidimpl.h"
#include "mpidi_gpudt_coll_impl.h"
#include "mpidi_gpudt_move_impl.h"

/* Bytes of blocks up to which calls are of one class: which MPICH, too, moves by one algorithm, so
 * that a program that passes different lengths gets an error and not different classes. */
#define MAX_SHORT 12288

uint64_t MPIDI_Gpudt_move_class(MPI_Aint bytes)
{
    return bytes > MAX_SHORT ? (uint64_t) bytes : 0;
}

/* ---- buffers ---- */

/* Describe a block, unless it is empty. Returns false if it is not for this way. */
static bool buffer_describe(const struct MPIDI_Gpudt_block *b, bool is_sent,
                            struct MPIDI_Gpudt_ability *own, MPIR_Gpudt_buffer ** buffer)
{
    if (b->count == 0 || MPIDI_Gpudt_bytes_of(b->count, b->datatype) == 0)
        return true;
    if (MPIR_Gpudt_buffer_make(b->buf, b->count, b->datatype, buffer) != MPI_SUCCESS ||
        *buffer == NULL)
        return false;
    /* The GPU that copies is that of what is received */
    if (!is_sent || own->gpu == 0)
        own->gpu = MPIR_Gpudt_buffer_gpu(*buffer);
    if (!is_sent)
        return MPIR_Gpudt_is_direct(*buffer);
    own->offer_sz = MPL_MAX(own->offer_sz, (int64_t) (sizeof(struct MPIDI_Gpudt_slot) +
                                                      MPIR_GPUDT_OFFER_HEAD +
                                                      MPIR_Gpudt_offer_type_sz(*buffer)));
    return own->offer_sz <= MPIDI_GPUDT_SLOT_SZ && MPIR_Gpudt_may_offer(*buffer);
}

void MPIDI_Gpudt_move_describe(struct MPIDI_Gpudt_move *m, struct MPIDI_Gpudt_ability *own)
{
    memset(own, 0, sizeof(*own));
    own->bytes = m->bytes;
    for (int i = 0; i < m->comm->local_size; i++) {
        if (!buffer_describe(&m->send[i], true, own, &m->send_buffer[i]))
            return;
    }
    for (int i = 0; i < m->comm->local_size; i++) {
        if (!buffer_describe(&m->recv[i], false, own, &m->recv_buffer[i]))
            return;
    }
    own->is_able = 1;
}

void MPIDI_Gpudt_move_free(struct MPIDI_Gpudt_move *m)
{
    for (int i = 0; i < m->comm->local_size; i++) {
        MPIR_Gpudt_buffer_free(m->send_buffer[i]);
        MPIR_Gpudt_buffer_free(m->recv_buffer[i]);
        m->send_buffer[i] = m->recv_buffer[i] = NULL;
    }
}

/* Whether a call is for this way, from what all have told. An empty call is not. Where processes
 * share a GPU, each kernel would wait for the GPU to switch between them. */
static bool is_good(struct MPIDI_Gpudt_move *m, const struct MPIDI_Gpudt_ability *all)
{
    const bool is_forced = MPIR_CVAR_GPUDT_COLL == MPIR_CVAR_GPUDT_COLL_always;

    m->offer_sz = 0;
    for (int i = 0; i < m->comm->local_size; i++) {
        if (!all[i].is_able || all[i].bytes != all[0].bytes)
            return false;
        for (int j = 0; j < i && !is_forced; j++) {
            if (all[i].gpu && all[i].gpu == all[j].gpu)
                return false;
        }
        m->offer_sz = MPL_MAX(m->offer_sz, all[i].offer_sz);
    }
    return m->offer_sz > 0;
}

bool MPIDI_Gpudt_move_judge(struct MPIDI_Gpudt_move *m, const struct MPIDI_Gpudt_ability *all,
                            struct MPIDI_Gpudt_pace *pace)
{
    const bool is_able = is_good(m, all) && !pace->is_refused;

    pace->is_refused = false;
    MPIDI_Gpudt_coll_pace_set(pace, is_able);
    return is_able && MPIDI_Gpudt_coll_is_worth_mapping(&m->past->lost_us, MPL_MAX(m->bytes, 0));
}

/* ---- calls ---- */

/* Do a call, if all processes are able to.
 *   is_done  (OUT)  false: MPICH's algorithm must do it */
static int move_try(struct MPIDI_Gpudt_move *m, struct MPIDI_Gpudt_pace *pace,
                    struct MPIDI_Gpudt_kept **kept, bool * is_done)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_ability own, all[MPIR_GPUDT_COMBINE_MAX];

    *is_done = false;
    MPIDI_Gpudt_move_describe(m, &own);
    MPIDI_Gpudt_kept_compare(m, *kept, &own);
    mpi_errno = MPIDI_Gpudt_agree_allgather(m->comm, m->errflag, &own, sizeof(own), all);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_Gpudt_icoll_wait(m->comm);
    if (MPIDI_Gpudt_move_judge(m, all, pace)) {
        mpi_errno = MPIDI_Gpudt_agree_prepare(m->comm);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIDI_Gpudt_move_do(m, all, kept, is_done);
        MPIR_ERR_CHECK(mpi_errno);
        pace->is_refused = !*is_done;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static struct MPIDI_Gpudt_block block_of(const struct MPIDI_Gpudt_vector *v, int i)
{
    struct MPIDI_Gpudt_block b = {.datatype = v->datatypes ? v->datatypes[i] : v->datatype };
    MPI_Aint at, extent;

    b.count = v->counts ? v->counts[i] : v->count;
    /* Other arguments of such a block may be undefined */
    if (b.count == 0)
        return MPIDI_GPUDT_NO_BLOCK;
    MPIR_Datatype_get_extent_macro(b.datatype, extent);
    at = v->displs ? v->displs[i] : i * v->count;
    b.buf = (const char *) v->buf + at * (v->datatypes ? 1 : extent);
    return b;
}

/* The whole of a contiguous vector. */
static struct MPIDI_Gpudt_block single(const struct MPIDI_Gpudt_vector *v)
{
    return (struct MPIDI_Gpudt_block) {.buf = v->buf,.count = v->count,.datatype = v->datatype };
}

void MPIDI_Gpudt_move_set(struct MPIDI_Gpudt_move *m, const struct MPIDI_Gpudt_vector *send,
                          const struct MPIDI_Gpudt_vector *recv)
{
    const int rank = m->comm->rank;
    const bool is_root = rank == m->root;
    const bool is_in_place = send->buf == MPI_IN_PLACE || recv->buf == MPI_IN_PLACE;

    for (int i = 0; i < m->comm->local_size; i++) {
        m->send[i] = m->recv[i] = MPIDI_GPUDT_NO_BLOCK;
        m->send_buffer[i] = m->recv_buffer[i] = NULL;
    }
    m->own_from = m->own_to = MPIDI_GPUDT_NO_BLOCK;
    for (int i = 0; i < m->comm->local_size; i++) {
        if (i == rank)
            continue;
        if (m->form == MPIDI_GPUDT_MOVE__ALLTOALL ||
            (m->form == MPIDI_GPUDT_MOVE__SCATTER && is_root))
            m->send[i] = block_of(send, i);
        if (m->form == MPIDI_GPUDT_MOVE__ALLTOALL || m->form == MPIDI_GPUDT_MOVE__ALLGATHER ||
            (m->form == MPIDI_GPUDT_MOVE__GATHER && is_root))
            m->recv[i] = block_of(recv, i);
    }
    switch (m->form) {
        case MPIDI_GPUDT_MOVE__BCAST:
            if (is_root)
                m->send[0] = single(send);
            else
                m->recv[m->root] = single(recv);
            break;
        case MPIDI_GPUDT_MOVE__GATHER:
            if (!is_root)
                m->send[0] = single(send);
            break;
        case MPIDI_GPUDT_MOVE__SCATTER:
            if (!is_root)
                m->recv[m->root] = single(recv);
            break;
        case MPIDI_GPUDT_MOVE__ALLGATHER:
            m->send[0] = is_in_place ? block_of(recv, rank) : single(send);
            break;
        default:
            break;
    }
    if (is_in_place || m->form == MPIDI_GPUDT_MOVE__BCAST || (m->root >= 0 && !is_root))
        return;
    m->own_from = send->counts || m->form == MPIDI_GPUDT_MOVE__SCATTER ||
        m->form == MPIDI_GPUDT_MOVE__ALLTOALL ? block_of(send, rank) : single(send);
    m->own_to = m->form == MPIDI_GPUDT_MOVE__SCATTER ? single(recv) : block_of(recv, rank);
}

/* Do a call.
 *   bytes  (IN)  of a block, the same in all processes; -1: they may differ
 *   root   (IN)  -1: none
 * Returns as the functions in mpidi_gpudt_coll.h. */
static bool move_call(enum MPIDI_Gpudt_coll_e kind, enum MPIDI_Gpudt_move_form_e form,
                      const struct MPIDI_Gpudt_vector *send, const struct MPIDI_Gpudt_vector *recv,
                      MPI_Aint bytes, int root, MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                      int *mpi_errno_ptr)
{
    int mpi_errno;
    bool is_done = false;
    struct MPIDI_Gpudt_move m;
    struct MPIDI_Gpudt_pace *pace;

    if (bytes == 0)
        return false;
    pace = MPIDI_Gpudt_coll_ask(comm, kind, MPIDI_Gpudt_move_class(bytes));
    if (likely(pace == NULL))
        return false;
    m.form = form;
    m.bytes = bytes;
    m.root = root;
    m.comm = comm;
    m.errflag = errflag;
    m.past = &comm->dev.gpudt_coll.past;
    MPIDI_Gpudt_move_set(&m, send, recv);
    mpi_errno = move_try(&m, pace, &comm->dev.gpudt_coll.kept[kind], &is_done);
    if (unlikely(mpi_errno))
        MPIDI_Gpudt_move_refuse(&m, kind, mpi_errno);
    MPIDI_Gpudt_move_free(&m);
    if (mpi_errno == MPI_SUCCESS && !is_done)
        return false;
    *mpi_errno_ptr = mpi_errno;
    return true;
}

/* Whether a call may be done here: by arguments that all processes give. In an intercommunicator,
 * they may have datatypes that do not exist, as they are not used. */
#define MAY_MOVE(NAME_) \
    (comm->comm_kind == MPIR_COMM_KIND__INTRACOMM && \
     MPIR_CVAR_##NAME_##_INTRA_ALGORITHM == MPIR_CVAR_##NAME_##_INTRA_ALGORITHM_auto)

bool MPIDI_Gpudt_bcast_typed(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                             MPIR_Comm * comm, MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_vector v = {.buf = buffer,.count = count,.datatype = datatype };
    const MPI_Aint bytes = MPIDI_Gpudt_bytes_of(count, datatype);

    return move_call(MPIDI_GPUDT_COLL__BCAST, MPIDI_GPUDT_MOVE__BCAST, &v, &v, bytes, root, comm,
                     errflag, mpi_errno_ptr) ||
        (bytes > 0 && MPIDI_Gpudt_nodes_bcast(buffer, count, datatype, root,
                                              MPIDI_Gpudt_move_class(bytes), comm, errflag,
                                              mpi_errno_ptr));
}

bool MPIDI_Gpudt_allgather_typed(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                 void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                                 MPIR_Comm * comm, MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_vector s = {.buf = sendbuf,.count = sendcount,.datatype = sendtype };
    const struct MPIDI_Gpudt_vector r = {.buf = recvbuf,.count = recvcount,.datatype = recvtype };

    return MAY_MOVE(ALLGATHER) &&
        move_call(MPIDI_GPUDT_COLL__ALLGATHER_TYPED, MPIDI_GPUDT_MOVE__ALLGATHER, &s, &r,
                  MPIDI_Gpudt_bytes_of(recvcount, recvtype), -1, comm, errflag, mpi_errno_ptr);
}

bool MPIDI_Gpudt_allgatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                            void *recvbuf, const MPI_Aint * recvcounts, const MPI_Aint * displs,
                            MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                            int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_vector s = {.buf = sendbuf,.count = sendcount,.datatype = sendtype };
    const struct MPIDI_Gpudt_vector r = {
        .buf = recvbuf,.counts = recvcounts,.displs = displs,.datatype = recvtype
    };

    return MAY_MOVE(ALLGATHERV) &&
        move_call(MPIDI_GPUDT_COLL__ALLGATHERV, MPIDI_GPUDT_MOVE__ALLGATHER, &s, &r, -1, -1, comm,
                  errflag, mpi_errno_ptr);
}

bool MPIDI_Gpudt_gather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                        void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                        MPIR_Comm * comm, MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_vector s = {.buf = sendbuf,.count = sendcount,.datatype = sendtype };
    const struct MPIDI_Gpudt_vector r = {.buf = recvbuf,.count = recvcount,.datatype = recvtype };

    return MAY_MOVE(GATHER) &&
        move_call(MPIDI_GPUDT_COLL__GATHER, MPIDI_GPUDT_MOVE__GATHER, &s, &r,
                  comm->rank == root ? MPIDI_Gpudt_bytes_of(recvcount, recvtype) :
                  MPIDI_Gpudt_bytes_of(sendcount, sendtype), root, comm, errflag, mpi_errno_ptr);
}

bool MPIDI_Gpudt_gatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                         void *recvbuf, const MPI_Aint * recvcounts, const MPI_Aint * displs,
                         MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                         MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_vector s = {.buf = sendbuf,.count = sendcount,.datatype = sendtype };
    const struct MPIDI_Gpudt_vector r = {
        .buf = recvbuf,.counts = recvcounts,.displs = displs,.datatype = recvtype
    };

    return MAY_MOVE(GATHERV) &&
        move_call(MPIDI_GPUDT_COLL__GATHERV, MPIDI_GPUDT_MOVE__GATHER, &s, &r, -1, root, comm,
                  errflag, mpi_errno_ptr);
}

bool MPIDI_Gpudt_scatter(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                         void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                         MPIR_Comm * comm, MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_vector s = {.buf = sendbuf,.count = sendcount,.datatype = sendtype };
    const struct MPIDI_Gpudt_vector r = {.buf = recvbuf,.count = recvcount,.datatype = recvtype };

    return MAY_MOVE(SCATTER) &&
        move_call(MPIDI_GPUDT_COLL__SCATTER, MPIDI_GPUDT_MOVE__SCATTER, &s, &r,
                  comm->rank == root ? MPIDI_Gpudt_bytes_of(sendcount, sendtype) :
                  MPIDI_Gpudt_bytes_of(recvcount, recvtype), root, comm, errflag, mpi_errno_ptr);
}

bool MPIDI_Gpudt_scatterv(const void *sendbuf, const MPI_Aint * sendcounts,
                          const MPI_Aint * displs, MPI_Datatype sendtype, void *recvbuf,
                          MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                          MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_vector s = {
        .buf = sendbuf,.counts = sendcounts,.displs = displs,.datatype = sendtype
    };
    const struct MPIDI_Gpudt_vector r = {.buf = recvbuf,.count = recvcount,.datatype = recvtype };

    return MAY_MOVE(SCATTERV) &&
        move_call(MPIDI_GPUDT_COLL__SCATTERV, MPIDI_GPUDT_MOVE__SCATTER, &s, &r, -1, root, comm,
                  errflag, mpi_errno_ptr);
}

/* In place, an all-to-all would overwrite what others are to read. */
bool MPIDI_Gpudt_alltoall_typed(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                                MPIR_Comm * comm, MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_vector s = {.buf = sendbuf,.count = sendcount,.datatype = sendtype };
    const struct MPIDI_Gpudt_vector r = {.buf = recvbuf,.count = recvcount,.datatype = recvtype };

    return MAY_MOVE(ALLTOALL) && sendbuf != MPI_IN_PLACE &&
        move_call(MPIDI_GPUDT_COLL__ALLTOALL, MPIDI_GPUDT_MOVE__ALLTOALL, &s, &r,
                  MPIDI_Gpudt_bytes_of(recvcount, recvtype), -1, comm, errflag, mpi_errno_ptr);
}

bool MPIDI_Gpudt_alltoallv(const void *sendbuf, const MPI_Aint * sendcounts,
                           const MPI_Aint * sdispls, MPI_Datatype sendtype, void *recvbuf,
                           const MPI_Aint * recvcounts, const MPI_Aint * rdispls,
                           MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                           int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_vector s = {
        .buf = sendbuf,.counts = sendcounts,.displs = sdispls,.datatype = sendtype
    };
    const struct MPIDI_Gpudt_vector r = {
        .buf = recvbuf,.counts = recvcounts,.displs = rdispls,.datatype = recvtype
    };

    return MAY_MOVE(ALLTOALLV) && sendbuf != MPI_IN_PLACE &&
        move_call(MPIDI_GPUDT_COLL__ALLTOALLV, MPIDI_GPUDT_MOVE__ALLTOALL, &s, &r, -1, -1, comm,
                  errflag, mpi_errno_ptr);
}

bool MPIDI_Gpudt_alltoallw(const void *sendbuf, const MPI_Aint sendcounts[],
                           const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
                           const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                           const MPI_Datatype recvtypes[], MPIR_Comm * comm,
                           MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_vector s = {
        .buf = sendbuf,.counts = sendcounts,.displs = sdispls,.datatypes = sendtypes
    };
    const struct MPIDI_Gpudt_vector r = {
        .buf = recvbuf,.counts = recvcounts,.displs = rdispls,.datatypes = recvtypes
    };

    return MAY_MOVE(ALLTOALLW) && sendbuf != MPI_IN_PLACE &&
        move_call(MPIDI_GPUDT_COLL__ALLTOALLW, MPIDI_GPUDT_MOVE__ALLTOALL, &s, &r, -1, -1, comm,
                  errflag, mpi_errno_ptr);
}
