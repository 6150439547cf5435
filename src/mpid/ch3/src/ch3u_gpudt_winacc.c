/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Long accumulates on windows in GPU memory that the origin does not map, by messages of their own
 * (ch3u_gpudt_winmsg.c): which these are, their division into parts, and what the target does with a part.
 * Must not know how the messages are sent.
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

void *MPIDI_Gpudt_winacc_room(const void *addr, int count, MPI_Datatype datatype, MPI_Op op)
{
    MPI_Aint n, bytes, extent;
    MPI_Datatype basic;

    MPIDI_Gpudt_winacc_elements(count, datatype, &n, &basic, &bytes);
    MPIR_Datatype_get_extent_macro(basic, extent);
    return op == MPI_REPLACE ? MPIR_Gpudt_temp_alloc_moved(addr, basic, n * extent) :
        MPIR_Gpudt_temp_alloc(addr, n * extent, op, basic);
}

void MPIDI_Gpudt_winacc_room_free(void *room)
{
    MPIR_Gpudt_temp_free(room);
}

int MPIDI_Gpudt_winacc_combine(MPIR_Win * win, void *room, void *addr, int count,
                               MPI_Datatype datatype, MPI_Op op)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint n, bytes;
    MPI_Datatype basic;

    MPIDI_Gpudt_winacc_elements(count, datatype, &n, &basic, &bytes);
    MPIDI_Gpudt_win_hold_own(win);
    mpi_errno = do_accumulate_op(room, n, basic, addr, count, datatype, 0, op,
                                 MPIDI_RMA_ACC_SRCBUF_DEFAULT);
    MPIDI_Gpudt_win_unhold(win);
    return mpi_errno;
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

/* Whether an accumulate can be divided: elements of both sides follow each other. */
static bool is_divisible(const struct MPIR_Gpudt_rma *r)
{
    return MPIR_DATATYPE_IS_PREDEFINED(r->datatype) && r->buftype == r->datatype;
}

static bool is_apt(const MPIR_Win * win, int rank, const struct MPIR_Gpudt_rma *r)
{
    const MPIR_Comm *comm = win->comm_ptr;
    const struct MPIDI_Gpudt_peer *peer = MPIDI_Gpudt_win_peer(win, rank);
    const bool is_near = comm->node_comm && comm->intranode_table[rank] >= 0;
    const MPI_Datatype basic = basic_of(r->datatype);
    MPI_Aint bytes;

    if (!win->gpudt->is_gpu[rank] || (peer && MPIDI_Gpudt_peer_is_mapped(peer)) ||
        basic == MPI_DATATYPE_NULL || basic != basic_of(r->buftype) ||
        !MPIDI_Gpudt_winmsg_is_apt(win, rank, r))
        return false;
    MPIR_Datatype_get_size_macro(r->datatype, bytes);
    bytes *= r->count;
    if (is_near && bytes < MPIR_GPUDT_WIN_ACC_FACTOR * (MPI_Aint) MPIR_CVAR_GPUDT_WIN_MSG_MIN)
        return false;
    return is_divisible(r) || bytes <= MPIR_GPUDT_WIN_ACC_WHOLE;
}

/* The request is that of the last part, which is the last one to be combined; errors of the others are kept
 * by the window. */
static int parts_start(MPIR_Win * win, int rank, const struct MPIR_Gpudt_rma *r, MPI_Op op,
                       MPIR_Request * ureq)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Gpudt_rma part = *r;
    MPI_Aint extent, most = r->count;

    MPIR_Datatype_get_extent_macro(r->datatype, extent);
    if (is_divisible(r))
        most = MPL_MAX(MPIR_GPUDT_WIN_ACC_PART / extent, 1);
    for (MPI_Aint i = 0; i < r->count; i += most) {
        if (most < r->count) {
            part.count = part.bufcount = MPL_MIN(most, r->count - i);
            part.buf = (const char *) r->buf + i * extent;
        }
        mpi_errno = MPIDI_Gpudt_winmsg_start(win, rank, &part, op, i * extent,
                                             i + most >= r->count ? ureq : NULL);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Gpudt_winacc_start(MPIR_Win * win, int rank, const struct MPIR_Gpudt_rma *r, MPI_Op op,
                             MPIR_Request * ureq, bool * is_taken)
{
    int mpi_errno = MPI_SUCCESS;
    bool are_any;

    *is_taken = false;
    if (op == MPI_NO_OP || !is_apt(win, rank, r))
        goto fn_exit;
    mpi_errno = pending_check(win, rank, &are_any);
    MPIR_ERR_CHECK(mpi_errno);
    if (are_any)
        goto fn_exit;
    mpi_errno = MPIDI_Gpudt_win_await(win, rank, is_taken);
    MPIR_ERR_CHECK(mpi_errno);
    if (*is_taken)
        mpi_errno = parts_start(win, rank, r, op, ureq);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
