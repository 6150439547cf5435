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
    own->can_have_gpu = MPIR_Gpudt_may_become_present();
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

/* Whether any process can have a GPU, now or later, from what all have told. */
static bool any_can_have_gpu(const struct MPIDI_Gpudt_move *m, const struct MPIDI_Gpudt_ability *all)
{
    for (int i = 0; i < m->comm->local_size; i++) {
        if (all[i].can_have_gpu)
            return true;
    }
    return false;
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
    if (unlikely(!any_can_have_gpu(m, all)))
        MPIDI_Gpudt_coll_give_up(m->comm);
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

/* Do a call that asks.
 *   pace   (IN/OUT)  from MPIDI_Gpudt_coll_ask
 *   bytes  (IN)      of a block, the same in all processes; -1: they may differ
 *   root   (IN)      -1: none
 * Returns as MPIDI_Gpudt_bcast_typed. */
static bool move_call(enum MPIDI_Gpudt_coll_e kind, enum MPIDI_Gpudt_move_form_e form,
                      struct MPIDI_Gpudt_pace *pace, const struct MPIDI_Gpudt_vector *send,
                      const struct MPIDI_Gpudt_vector *recv, MPI_Aint bytes, int root,
                      MPIR_Comm * comm, MPIR_Errflag_t * errflag, int *mpi_errno_ptr)
{
    int mpi_errno;
    bool is_done = false;
    struct MPIDI_Gpudt_move m;

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

/* For vectors that are described in the arguments of a call only where it asks. */
#define VECTOR(...) (&(struct MPIDI_Gpudt_vector) {__VA_ARGS__})

/* As MPIDI_Gpudt_coll_ask. Most calls do not ask: they must find that out before they describe anything.
 *   bytes  (IN)  of a block, the same in all processes */
static inline struct MPIDI_Gpudt_pace *block_ask(MPIR_Comm * comm, enum MPIDI_Gpudt_coll_e kind,
                                                 MPI_Aint bytes)
{
    return bytes ? MPIDI_Gpudt_coll_ask(comm, kind, MPIDI_Gpudt_move_class(bytes)) : NULL;
}

/* The same for blocks whose bytes may differ. */
static inline struct MPIDI_Gpudt_pace *lengths_ask(MPIR_Comm * comm, enum MPIDI_Gpudt_coll_e kind)
{
    return MPIDI_Gpudt_coll_ask(comm, kind, MPIDI_Gpudt_move_class(-1));
}

bool MPIDI_Gpudt_bcast_typed(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                             MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                             struct MPIDI_Gpudt_pace *pace, int *mpi_errno_ptr)
{
    const struct MPIDI_Gpudt_vector v = {.buf = buffer,.count = count,.datatype = datatype };

    return move_call(MPIDI_GPUDT_COLL__BCAST, MPIDI_GPUDT_MOVE__BCAST, pace, &v, &v,
                     MPIDI_Gpudt_bytes_of(count, datatype), root, comm, errflag, mpi_errno_ptr);
}

bool MPIDI_Gpudt_allgather_typed(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                 void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                                 MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                                 struct MPIDI_Gpudt_pace *pace, int *mpi_errno_ptr)
{
    return move_call(MPIDI_GPUDT_COLL__ALLGATHER_TYPED, MPIDI_GPUDT_MOVE__ALLGATHER, pace,
                     VECTOR(.buf = sendbuf,.count = sendcount,.datatype = sendtype),
                     VECTOR(.buf = recvbuf,.count = recvcount,.datatype = recvtype),
                     MPIDI_Gpudt_bytes_of(recvcount, recvtype), -1, comm, errflag, mpi_errno_ptr);
}

bool MPIDI_Gpudt_alltoall_typed(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                                MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                                struct MPIDI_Gpudt_pace *pace, int *mpi_errno_ptr)
{
    return move_call(MPIDI_GPUDT_COLL__ALLTOALL, MPIDI_GPUDT_MOVE__ALLTOALL, pace,
                     VECTOR(.buf = sendbuf,.count = sendcount,.datatype = sendtype),
                     VECTOR(.buf = recvbuf,.count = recvcount,.datatype = recvtype),
                     MPIDI_Gpudt_bytes_of(recvcount, recvtype), -1, comm, errflag, mpi_errno_ptr);
}

int MPIDI_Gpudt_allgatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                           void *recvbuf, const MPI_Aint * recvcounts, const MPI_Aint * displs,
                           MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    const enum MPIDI_Gpudt_coll_e kind = MPIDI_GPUDT_COLL__ALLGATHERV;
    struct MPIDI_Gpudt_pace *pace = MAY_MOVE(ALLGATHERV) ? lengths_ask(comm, kind) : NULL;
    int mpi_errno;

    if (unlikely(pace != NULL) &&
        move_call(kind, MPIDI_GPUDT_MOVE__ALLGATHER, pace,
                  VECTOR(.buf = sendbuf,.count = sendcount,.datatype = sendtype),
                  VECTOR(.buf = recvbuf,.counts = recvcounts,.displs = displs,
                         .datatype = recvtype), -1, -1, comm, errflag, &mpi_errno))
        return mpi_errno;
    return MPIR_Allgatherv_impl(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                                comm, errflag);
}

int MPIDI_Gpudt_gather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                       void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                       MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    const enum MPIDI_Gpudt_coll_e kind = MPIDI_GPUDT_COLL__GATHER;
    struct MPIDI_Gpudt_pace *pace = NULL;
    MPI_Aint bytes = 0;
    int mpi_errno;

    if (MAY_MOVE(GATHER)) {
        bytes = comm->rank == root ? MPIDI_Gpudt_bytes_of(recvcount, recvtype) :
            MPIDI_Gpudt_bytes_of(sendcount, sendtype);
        pace = block_ask(comm, kind, bytes);
    }
    if (unlikely(pace != NULL) &&
        move_call(kind, MPIDI_GPUDT_MOVE__GATHER, pace,
                  VECTOR(.buf = sendbuf,.count = sendcount,.datatype = sendtype),
                  VECTOR(.buf = recvbuf,.count = recvcount,.datatype = recvtype), bytes, root,
                  comm, errflag, &mpi_errno))
        return mpi_errno;
    return MPIR_Gather_impl(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,
                            errflag);
}

int MPIDI_Gpudt_gatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                        void *recvbuf, const MPI_Aint * recvcounts, const MPI_Aint * displs,
                        MPI_Datatype recvtype, int root, MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    const enum MPIDI_Gpudt_coll_e kind = MPIDI_GPUDT_COLL__GATHERV;
    struct MPIDI_Gpudt_pace *pace = MAY_MOVE(GATHERV) ? lengths_ask(comm, kind) : NULL;
    int mpi_errno;

    if (unlikely(pace != NULL) &&
        move_call(kind, MPIDI_GPUDT_MOVE__GATHER, pace,
                  VECTOR(.buf = sendbuf,.count = sendcount,.datatype = sendtype),
                  VECTOR(.buf = recvbuf,.counts = recvcounts,.displs = displs,
                         .datatype = recvtype), -1, root, comm, errflag, &mpi_errno))
        return mpi_errno;
    return MPIR_Gatherv_impl(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                             root, comm, errflag);
}

int MPIDI_Gpudt_scatter(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                        void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                        MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    const enum MPIDI_Gpudt_coll_e kind = MPIDI_GPUDT_COLL__SCATTER;
    struct MPIDI_Gpudt_pace *pace = NULL;
    MPI_Aint bytes = 0;
    int mpi_errno;

    if (MAY_MOVE(SCATTER)) {
        bytes = comm->rank == root ? MPIDI_Gpudt_bytes_of(sendcount, sendtype) :
            MPIDI_Gpudt_bytes_of(recvcount, recvtype);
        pace = block_ask(comm, kind, bytes);
    }
    if (unlikely(pace != NULL) &&
        move_call(kind, MPIDI_GPUDT_MOVE__SCATTER, pace,
                  VECTOR(.buf = sendbuf,.count = sendcount,.datatype = sendtype),
                  VECTOR(.buf = recvbuf,.count = recvcount,.datatype = recvtype), bytes, root,
                  comm, errflag, &mpi_errno))
        return mpi_errno;
    return MPIR_Scatter_impl(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,
                             errflag);
}

int MPIDI_Gpudt_scatterv(const void *sendbuf, const MPI_Aint * sendcounts, const MPI_Aint * displs,
                         MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                         MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                         MPIR_Errflag_t * errflag)
{
    const enum MPIDI_Gpudt_coll_e kind = MPIDI_GPUDT_COLL__SCATTERV;
    struct MPIDI_Gpudt_pace *pace = MAY_MOVE(SCATTERV) ? lengths_ask(comm, kind) : NULL;
    int mpi_errno;

    if (unlikely(pace != NULL) &&
        move_call(kind, MPIDI_GPUDT_MOVE__SCATTER, pace,
                  VECTOR(.buf = sendbuf,.counts = sendcounts,.displs = displs,
                         .datatype = sendtype),
                  VECTOR(.buf = recvbuf,.count = recvcount,.datatype = recvtype), -1, root, comm,
                  errflag, &mpi_errno))
        return mpi_errno;
    return MPIR_Scatterv_impl(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype,
                              root, comm, errflag);
}

/* In place, an all-to-all would overwrite what others are to read. */
int MPIDI_Gpudt_alltoallv(const void *sendbuf, const MPI_Aint * sendcounts,
                          const MPI_Aint * sdispls, MPI_Datatype sendtype, void *recvbuf,
                          const MPI_Aint * recvcounts, const MPI_Aint * rdispls,
                          MPI_Datatype recvtype, MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    const enum MPIDI_Gpudt_coll_e kind = MPIDI_GPUDT_COLL__ALLTOALLV;
    struct MPIDI_Gpudt_pace *pace = MAY_MOVE(ALLTOALLV) && sendbuf != MPI_IN_PLACE ?
        lengths_ask(comm, kind) : NULL;
    int mpi_errno;

    if (unlikely(pace != NULL) &&
        move_call(kind, MPIDI_GPUDT_MOVE__ALLTOALL, pace,
                  VECTOR(.buf = sendbuf,.counts = sendcounts,.displs = sdispls,
                         .datatype = sendtype),
                  VECTOR(.buf = recvbuf,.counts = recvcounts,.displs = rdispls,
                         .datatype = recvtype), -1, -1, comm, errflag, &mpi_errno))
        return mpi_errno;
    return MPIR_Alltoallv_impl(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                               recvtype, comm, errflag);
}

int MPIDI_Gpudt_alltoallw(const void *sendbuf, const MPI_Aint sendcounts[],
                          const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
                          const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                          const MPI_Datatype recvtypes[], MPIR_Comm * comm,
                          MPIR_Errflag_t * errflag)
{
    const enum MPIDI_Gpudt_coll_e kind = MPIDI_GPUDT_COLL__ALLTOALLW;
    struct MPIDI_Gpudt_pace *pace = MAY_MOVE(ALLTOALLW) && sendbuf != MPI_IN_PLACE ?
        lengths_ask(comm, kind) : NULL;
    int mpi_errno;

    if (unlikely(pace != NULL) &&
        move_call(kind, MPIDI_GPUDT_MOVE__ALLTOALL, pace,
                  VECTOR(.buf = sendbuf,.counts = sendcounts,.displs = sdispls,
                         .datatypes = sendtypes),
                  VECTOR(.buf = recvbuf,.counts = recvcounts,.displs = rdispls,
                         .datatypes = recvtypes), -1, -1, comm, errflag, &mpi_errno))
        return mpi_errno;
    return MPIR_Alltoallw_impl(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                               rdispls, recvtypes, comm, errflag);
}
