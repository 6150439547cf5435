/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* MPI_Put and MPI_Get by the origin alone, whose GPU maps the target's window:
 *
 *     MPI_Win_create    the processes of a node exchange what they need to map each other's memory
 *                       (ch3u_gpudt_expose.c)
 *     MPI_Put, MPI_Get  map it at the first use; start a copy, and do not wait
 *     flush, end of     wait for the copies, and only then go on: to messages of the epoch, and to
 *     the epoch         what tells the target
 *
 * A copy must not start before the target has exposed its memory. ch3 sends its own operations as
 * early as possible and leaves that to the target, or to its state machine. So:
 *
 *     fence       ch3 starts a barrier at the end of a fence, and holds back messages of the next
 *                 epoch until it has ended. MPI_Win_fence waits for it, in all processes: the
 *                 barrier needs the progress of each of them
 *     start       the first copy waits for the messages of MPI_Win_post; the others only if they came
 *                 in time
 *     lock        MPI_Win_lock and MPI_Win_lock_all wait for the locks of windows that can be mapped.
 *                 From then on the target need not call MPI. If memory is attached to a dynamic
 *                 window after MPI_Win_lock_all, the first operation asks for the lock and waits
 *
 * The other process may post or unlock only after this one has sent it a message, so these waits end
 * after MAX_WAIT. In any other state the operation goes by messages. Both kinds may be in flight to a
 * target: MPI does not order puts and gets. Origins may be in any memory.
 * Accumulates are in ch3u_gpudt_update.c.
 *
 * No synchronization waits on a dynamic window without GPU memory. So when there is some, a process that
 * does not know it yet leaves a fence at once, as those of other nodes always do, and need not call MPI
 * soon. A fence then waits for MAX_WAIT, too: the first FEW_FENCES, after which all processes of the node
 * must have seen it, or, with several nodes, each one.
 *
 * Copies in flight are in ch3u_gpudt_copies.c. A put or get that is like one that waits for a launch joins
 * it there, and is no copy of its own (gpudt_window.h). */

#include "mpidimpl.h"
#include "mpidi_gpudt_msg.h"
#include "mpidi_gpudt_window_impl.h"

/* Seconds for another process to post or to unlock; and if no memory is on a GPU, where ch3's own messages
 * need no such wait, and others save less. */
#define MAX_WAIT 10e-3
#define MAX_WAIT_HOST 100e-6

#define FEW_FENCES 2

/* ---- synchronization ---- */

/* Whether this process may map memory of another one in the window. */
static bool is_mapped(const MPIR_Win * win, const struct MPIDI_Gpudt_peer *peer)
{
    return peer && peer->rank != win->comm_ptr->rank && MPIDI_Gpudt_peer_is_mapped(peer);
}

/* Make progress while waiting for another process.
 *   start       (IN)   when that began
 *   is_in_time  (OUT)  false: it has taken MAX_WAIT */
static int wait_some(const MPIR_Win * win, MPL_time_t * start, bool * is_in_time)
{
    int mpi_errno = MPI_SUCCESS;
    MPL_time_t now;
    double seconds;

    mpi_errno = poke_progress_engine();
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_Gpudt_poll_pause();
    MPL_wtime(&now);
    MPL_wtime_diff(start, &now, &seconds);
    *is_in_time = seconds < (win->gpudt->is_host ? MAX_WAIT_HOST : MAX_WAIT);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Whether a fence should wait for the others.
 *   is_by_all  (OUT)  whether all of them do so */
static bool is_fence_waited_for(MPIR_Win * win, bool * is_by_all)
{
    struct MPIDI_Gpudt_win *w = win->gpudt;
    bool is_mapped = w->nfences > 0;

    *is_by_all = true;
    if (!w->is_exposed)
        return false;
    if (win->create_flavor != MPI_WIN_FLAVOR_DYNAMIC)
        return true;
    for (int i = 0; i < w->npeers && !is_mapped; i++)
        is_mapped = MPIDI_Gpudt_peer_is_mapped(&w->peer[i]);
    if (is_mapped && w->nfences <= FEW_FENCES)
        w->nfences++;
    *is_by_all = w->npeers == win->comm_ptr->local_size && w->nfences > FEW_FENCES;
    return is_mapped;
}

int MPIDI_Gpudt_win_fenced_any(MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;
    bool is_by_all, is_in_time = true;
    MPL_time_t start;

    if (!is_fence_waited_for(win, &is_by_all))
        goto fn_exit;
    MPL_wtime(&start);
    while (win->states.access_state == MPIDI_RMA_FENCE_ISSUED && is_in_time) {
        mpi_errno = is_by_all ? MPIDI_Gpudt_win_progress(win, -1) : wait_some(win, &start, &is_in_time);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Wait for a lock, until it has taken MAX_WAIT. */
static int lock_wait(MPIR_Win * win, MPIDI_RMA_Target_t * target, MPL_time_t * start)
{
    int mpi_errno = MPI_SUCCESS, made_progress;
    bool is_in_time = true;

    while (target->access_state != MPIDI_RMA_LOCK_GRANTED && is_in_time) {
        mpi_errno = MPIDI_CH3I_RMA_Make_progress_target(win, target->target_rank, &made_progress);
        MPIR_ERR_CHECK(mpi_errno);
        if (target->access_state != MPIDI_RMA_LOCK_GRANTED)
            mpi_errno = wait_some(win, start, &is_in_time);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Gpudt_win_lock_any(MPIR_Win * win, MPIDI_RMA_Target_t * target)
{
    MPL_time_t start;

    if (!is_mapped(win, MPIDI_Gpudt_win_peer(win, target->target_rank)))
        return MPI_SUCCESS;
    MPL_wtime(&start);
    return lock_wait(win, target, &start);
}

/* Ask for the lock of a target in an epoch of MPI_Win_lock_all: that for messages. */
static int lock_ask(MPIR_Win * win, int rank, MPIDI_RMA_Target_t ** target)
{
    int mpi_errno = MPI_SUCCESS, made_progress;

    mpi_errno = MPIDI_CH3I_Win_create_target(win, rank, target);
    MPIR_ERR_CHECK(mpi_errno);
    (*target)->access_state = MPIDI_RMA_LOCK_CALLED;
    (*target)->lock_type = MPI_LOCK_SHARED;
    mpi_errno = MPIDI_CH3I_RMA_Make_progress_target(win, rank, &made_progress);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* All are asked for before waiting. */
int MPIDI_Gpudt_win_lock_all_any(MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPIDI_Gpudt_win *w = win->gpudt;
    MPIDI_RMA_Target_t *target;
    MPL_time_t start;

    MPL_wtime(&start);
    for (int i = 0; i < w->npeers; i++) {
        if (is_mapped(win, &w->peer[i]))
            mpi_errno = lock_ask(win, w->peer[i].rank, &target);
        MPIR_ERR_CHECK(mpi_errno);
    }
    for (int i = 0; i < w->npeers; i++) {
        mpi_errno = MPIDI_CH3I_Win_find_target(win, w->peer[i].rank, &target);
        MPIR_ERR_CHECK(mpi_errno);
        if (target)
            mpi_errno = lock_wait(win, target, &start);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Whether this process may access a target's memory now, as far as it knows without progress. */
static bool is_granted(MPIR_Win * win, int rank)
{
    MPIDI_RMA_Target_t *target;

    switch (win->states.access_state) {
        case MPIDI_RMA_FENCE_GRANTED:
        case MPIDI_RMA_PSCW_GRANTED:
        case MPIDI_RMA_LOCK_ALL_GRANTED:
            return true;
        case MPIDI_RMA_PER_TARGET:
        case MPIDI_RMA_LOCK_ALL_CALLED:
            return MPIDI_CH3I_Win_find_target(win, rank, &target) == MPI_SUCCESS && target &&
                target->access_state == MPIDI_RMA_LOCK_GRANTED;
        default:
            return false;
    }
}

int MPIDI_Gpudt_win_access(MPIR_Win * win, int rank, bool * may_access)
{
    int mpi_errno = MPI_SUCCESS;
    bool is_in_time = !win->gpudt->is_late;
    MPIDI_RMA_Target_t *target;
    MPL_time_t start;

    *may_access = is_granted(win, rank);
    if (*may_access)
        goto fn_exit;
    MPL_wtime(&start);
    if (win->states.access_state == MPIDI_RMA_PSCW_ISSUED) {
        while (win->states.access_state == MPIDI_RMA_PSCW_ISSUED && is_in_time) {
            mpi_errno = wait_some(win, &start, &is_in_time);
            MPIR_ERR_CHECK(mpi_errno);
        }
        win->gpudt->is_late = !is_in_time;
    } else if (win->states.access_state == MPIDI_RMA_LOCK_ALL_CALLED) {
        mpi_errno = MPIDI_CH3I_Win_find_target(win, rank, &target);
        MPIR_ERR_CHECK(mpi_errno);
        /* the memory was attached after MPI_Win_lock_all */
        if (target == NULL) {
            mpi_errno = lock_ask(win, rank, &target);
            MPIR_ERR_CHECK(mpi_errno);
            if (is_in_time)
                mpi_errno = lock_wait(win, target, &start);
            MPIR_ERR_CHECK(mpi_errno);
        }
    }
    *may_access = is_granted(win, rank);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Gpudt_win_await(MPIR_Win * win, int rank, bool * may_access)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_win *w = win->gpudt;
    bool is_in_time = true;
    MPIDI_RMA_Target_t *target;
    MPL_time_t start;

    MPL_wtime(&start);
    mpi_errno = MPIDI_Gpudt_win_access(win, rank, may_access);
    MPIR_ERR_CHECK(mpi_errno);
    if (*may_access || w->is_late)
        goto fn_exit;
    while (win->states.access_state == MPIDI_RMA_FENCE_ISSUED && is_in_time) {
        mpi_errno = wait_some(win, &start, &is_in_time);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (win->states.access_state == MPIDI_RMA_PER_TARGET ||
        win->states.access_state == MPIDI_RMA_LOCK_ALL_CALLED) {
        mpi_errno = MPIDI_CH3I_Win_find_target(win, rank, &target);
        MPIR_ERR_CHECK(mpi_errno);
        if (target)
            mpi_errno = lock_wait(win, target, &start);
        MPIR_ERR_CHECK(mpi_errno);
    }
    *may_access = is_granted(win, rank);
    w->is_late = !*may_access;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- operations ---- */

/* Let an operation without a request join another one that waits for a launch: both are waited for by
 * way of that one. Makes no progress, so that nobody else can change the series meanwhile. */
static bool move_join(MPIR_Win * win, int rank, MPIR_Gpudt_target_t * target,
                      const struct MPIR_Gpudt_rma *r)
{
    MPIR_Gpudt_series_t *series = MPIR_Gpudt_series_find(target, r);

    return series && is_granted(win, rank) && MPIR_Gpudt_series_join(target, series, r);
}

/* By the origin alone.
 *   r  (IN)  disp as given to the operation */
static int move_direct(MPIR_Win * win, int rank, struct MPIR_Gpudt_rma r, MPIR_Request * ureq,
                       bool * is_taken)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPIDI_Gpudt_peer *peer = MPIDI_Gpudt_win_peer(win, rank);
    MPIR_Gpudt_target_t *target = NULL;
    MPIR_Gpudt_op *op = NULL;
    bool may_access;

    *is_taken = false;
    if (!is_mapped(win, peer))
        goto fn_exit;
    target = peer->target;
    if (target) {
        r.disp *= win->basic_info_table[rank].disp_unit;
        *is_taken = ureq == NULL && move_join(win, rank, target, &r);
        if (*is_taken) {
            win->gpudt->njoined++;
            goto fn_exit;
        }
    }
    if (MPIR_Gpudt_is_near(r.buf, r.bufcount, r.buftype) && !MPIR_Gpudt_is_in_use())
        goto fn_exit;
    mpi_errno = MPIDI_Gpudt_win_access(win, rank, &may_access);
    MPIR_ERR_CHECK(mpi_errno);
    if (!may_access)
        goto fn_exit;
    if (target == NULL) {
        mpi_errno = MPIDI_Gpudt_win_target(win, rank, r.datatype, &r.disp, &target);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (target == NULL)
        goto fn_exit;
    MPIDI_Gpudt_win_copies_limit(win->gpudt);
    /* If the program has made several at a time, it is going to do so again */
    mpi_errno = MPIR_Gpudt_target_move(target, &r, ureq == NULL,
                                       ureq == NULL && win->gpudt->has_series, &op, is_taken);
    if (mpi_errno == MPI_SUCCESS && *is_taken)
        mpi_errno = MPIDI_Gpudt_win_copy_add(win->gpudt, rank, op, ureq);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIDI_Gpudt_win_target_end(win, target);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

bool MPIDI_Gpudt_win_move(MPIR_Win * win, int rank, MPI_Aint disp, int count,
                          MPI_Datatype datatype, const void *buf, int bufcount,
                          MPI_Datatype buftype, bool is_get, MPIR_Request * ureq,
                          int *mpi_errno_ptr)
{
    const struct MPIR_Gpudt_rma r = {
        .disp = disp,.count = count,.datatype = datatype,
        .buf = buf,.bufcount = bufcount,.buftype = buftype,.is_get = is_get
    };
    bool is_taken;

    *mpi_errno_ptr = move_direct(win, rank, r, ureq, &is_taken);
    if (*mpi_errno_ptr == MPI_SUCCESS && !is_taken)
        *mpi_errno_ptr = MPIDI_Gpudt_winmsg_move(win, rank, &r, ureq, &is_taken);
    return is_taken || *mpi_errno_ptr;
}
