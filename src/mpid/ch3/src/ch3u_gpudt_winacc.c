/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* MPI_Accumulate and MPI_Get_accumulate of long data on windows that the origin does not map, by
 * messages of their own (ch3u_gpudt_winmsg.c): which these are, their division into parts, and what the
 * target does with a part. Must not know how the messages are sent.
 *
 * The target combines the parts of an origin in the order in which they were sent. ch3's own operations and
 * kernels of the origin wait for them (MPIDI_Gpudt_winacc_order). As long as ch3 has some that it has not
 * issued, accumulates go with these. */

#include "mpidimpl.h"
#include "mpidi_gpudt_window_impl.h"
#include "gpudt_temp.h"
#include "tuning/gpudt_tuning.h"

/* ---- the target ---- */

/* The datatype of the elements; MPI_DATATYPE_NULL: they are not all of one. */
static MPI_Datatype basic_of(MPI_Datatype datatype)
{
    MPIR_Datatype *type;

    if (MPIR_DATATYPE_IS_PREDEFINED(datatype))
        return datatype;
    MPIR_Datatype_get_ptr(datatype, type);
    return type->basic_type;
}

void MPIDI_Gpudt_winacc_elements(int count, MPI_Datatype datatype, MPI_Aint * n,
                                 MPI_Datatype * basic, MPI_Aint * bytes)
{
    MPI_Aint size;

    *basic = basic_of(datatype);
    MPIR_Datatype_get_size_macro(datatype, *bytes);
    *bytes *= count;
    MPIR_Datatype_get_size_macro(*basic, size);
    *n = *bytes / size;
}

void *MPIDI_Gpudt_winacc_room(const void *addr, MPI_Aint n, MPI_Datatype basic, MPI_Op op)
{
    MPI_Aint extent;

    MPIR_Datatype_get_extent_macro(basic, extent);
    return op == MPI_REPLACE ? MPIR_Gpudt_temp_alloc_moved(addr, basic, n * extent) :
        MPIR_Gpudt_temp_alloc(addr, n * extent, op, basic);
}

void MPIDI_Gpudt_winacc_room_free(void *room)
{
    MPIR_Gpudt_temp_free(room);
}

int MPIDI_Gpudt_winacc_combine(MPIR_Win * win, void *room, MPI_Aint n, MPI_Datatype basic, void *old,
                               void *addr, int count, MPI_Datatype datatype, MPI_Op op)
{
    int mpi_errno = MPI_SUCCESS;

    MPIDI_Gpudt_win_hold_own(win);
    if (old)
        mpi_errno = MPIR_Localcopy(addr, count, datatype, old, n, basic);
    MPIR_ERR_CHECK(mpi_errno);
    if (op != MPI_NO_OP)
        mpi_errno = do_accumulate_op(room, n, basic, addr, count, datatype, 0, op,
                                     MPIDI_RMA_ACC_SRCBUF_DEFAULT);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIDI_Gpudt_win_unhold(win);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- the origin ---- */

/* Whether ch3 has operations on a target's memory that it has not issued. */
static int pending_check(MPIR_Win * win, int rank, bool * are_any)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_RMA_Target_t *t;

    mpi_errno = MPIDI_CH3I_Win_find_target(win, rank, &t);
    MPIR_ERR_CHECK(mpi_errno);
    *are_any = t && (t->pending_net_ops_list_head || t->pending_user_ops_list_head);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Whether an accumulate can be divided: elements of all buffers follow each other. */
static bool is_divisible(const struct MPIDI_Gpudt_winop *o)
{
    return MPIR_DATATYPE_IS_PREDEFINED(o->r.datatype) && o->r.buftype == o->r.datatype &&
        (!o->r.is_get || o->result_type == o->r.datatype);
}

/* Bytes of an accumulate on a process's memory that is done so, at most. What is attached to a dynamic window
 * is most often on a GPU if the origin's buffer is. */
static MPI_Aint most_bytes(const MPIR_Win * win, int rank, const struct MPIDI_Gpudt_winop *o)
{
    if (win->gpudt->is_gpu[rank] || win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC)
        return is_divisible(o) ? MPIR_AINT_MAX : MPIR_GPUDT_WIN_ACC_WHOLE;
    if (!is_divisible(o))
        return 0;
    return o->r.is_get ? MPIR_GPUDT_WIN_GET_ACC_HOST : MPIR_GPUDT_WIN_ACC_HOST;
}

static bool is_apt(const MPIR_Win * win, int rank, const struct MPIDI_Gpudt_winop *o)
{
    const MPIR_Comm *comm = win->comm_ptr;
    const struct MPIDI_Gpudt_peer *peer = MPIDI_Gpudt_win_peer(win, rank);
    const bool is_near = comm->node_comm && comm->intranode_table[rank] >= 0;
    const MPI_Datatype basic = basic_of(o->r.datatype);
    MPI_Aint bytes;

    if ((peer && MPIDI_Gpudt_peer_is_mapped(peer)) || basic == MPI_DATATYPE_NULL ||
        basic != basic_of(o->r.buftype) || (o->r.is_get && basic != basic_of(o->result_type)))
        return false;
    MPIR_Datatype_get_size_macro(o->r.datatype, bytes);
    bytes *= o->r.count;
    if (is_near && bytes < MPIR_GPUDT_WIN_ACC_FACTOR * (MPI_Aint) MPIR_CVAR_GPUDT_WIN_MSG_MIN)
        return false;
    return bytes <= most_bytes(win, rank, o) && MPIDI_Gpudt_winmsg_is_apt(win, rank, &o->r);
}

/* The operation's request is complete when all parts are. If one cannot be started while others are under way,
 * that is an error of the request, or of the window. */
static int parts_start(MPIR_Win * win, int rank, const struct MPIDI_Gpudt_winop *o,
                       MPIR_Request * ureq)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_winop part = *o;
    MPI_Aint extent, most = o->r.count;

    MPIR_Datatype_get_extent_macro(o->r.datatype, extent);
    if (is_divisible(o))
        most = MPL_MAX(MPIR_GPUDT_WIN_ACC_PART / extent, 1);
    for (MPI_Aint i = 0; i < o->r.count; i += most) {
        const bool is_last = i + most >= o->r.count;
        if (most < o->r.count) {
            part.r.count = part.r.bufcount = part.result_count = MPL_MIN(most, o->r.count - i);
            part.r.buf = (const char *) o->r.buf + i * extent;
            part.result = (char *) o->result + i * extent;
            part.off = i * extent;
        }
        if (ureq && !is_last)
            MPIR_cc_inc(ureq->cc_ptr);
        mpi_errno = MPIDI_Gpudt_winmsg_start(win, rank, &part, ureq);
        if (mpi_errno && ureq) {
            /* for this part, and for the last one */
            if (!is_last)
                MPIDI_Gpudt_winmsg_ureq_end(ureq, mpi_errno);
            MPIDI_Gpudt_winmsg_ureq_end(ureq, mpi_errno);
            mpi_errno = MPI_SUCCESS;
            break;
        }
        if (mpi_errno && i > 0) {
            MPIDI_Gpudt_win_keep(win, &mpi_errno);
            break;
        }
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Gpudt_winacc_start(MPIR_Win * win, int rank, const struct MPIDI_Gpudt_winop *o,
                             MPIR_Request * ureq, bool * is_taken)
{
    int mpi_errno = MPI_SUCCESS;
    bool are_any;

    *is_taken = false;
    if (!is_apt(win, rank, o))
        goto fn_exit;
    mpi_errno = pending_check(win, rank, &are_any);
    MPIR_ERR_CHECK(mpi_errno);
    if (are_any)
        goto fn_exit;
    mpi_errno = MPIDI_Gpudt_win_await(win, rank, is_taken);
    MPIR_ERR_CHECK(mpi_errno);
    if (*is_taken)
        mpi_errno = parts_start(win, rank, o, ureq);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
