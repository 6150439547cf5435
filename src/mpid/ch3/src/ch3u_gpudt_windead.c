/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Windows, in any memory, of which a process has died. ch3 counts what the others have to answer, and no
 * answer comes from the dead: neither its acknowledgements, nor the end of its epochs. With fault tolerance
 * (MPIR_CVAR_ENABLE_FT) what waits for them ends with MPIX_ERR_PROC_FAILED:
 *
 *     a call for one target      at once, if that process has died
 *     any other synchronization  after MAX_SILENCE in which no request of this process has completed and
 *                                nothing was acknowledged: the others may still complete it, and a call
 *                                for them alone succeeds
 *     MPI_Wait for an operation  when its target dies
 *
 * The locks that it holds are released. ch3 does not know who holds one, so there is a list. What a process has
 * sent may ask for a lock when its death is known already: that is looked at when another one waits.
 *
 * User Level Failure Mitigation lets synchronizations fail that the failed process has no part in. Epochs
 * that have failed are not ended: of their window only locks of other targets can be used. ch3:sock does
 * not tell when a process has died. */

#include "mpidimpl.h"
#include "mpidi_gpudt_window_impl.h"

/* Seconds. A process that computes meanwhile may take longer to do its part. */
#define MAX_SILENCE 5.0

/* With fault tolerance: requests of operations that have been given to ch3. */
struct awaited {
    MPIR_Request *ureq;
    const MPIDI_VC_t *vc;
    bool is_over;               /* it has failed, and the list has a reference: the end of what has been sent
                                 * of it may still be told to the request */
    struct awaited *next, *prev;
};

static struct awaited *awaited_requests = NULL;
static bool is_finalizer_set = false;

/* With fault tolerance: locks of this process's windows that others hold. */
struct holder {
    MPIR_Win *win;
    const MPIDI_VC_t *vc;
    struct holder *next, *prev;
};

static struct holder *holders = NULL;
static bool has_all_holders = true;     /* there was memory for each of them */
static bool is_release_due = false;     /* of dead holders */

/* ---- end ---- */

static void awaited_free(struct awaited *a)
{
    DL_DELETE(awaited_requests, a);
    if (a->is_over)
        MPIR_Request_free(a->ureq);
    MPL_free(a);
}

/* For MPIR_Add_finalize. */
static int lists_end(void *unused ATTRIBUTE((unused)))
{
    struct holder *h, *next;

    DL_FOREACH_SAFE(holders, h, next) {
        DL_DELETE(holders, h);
        MPL_free(h);
    }
    has_all_holders = true;
    is_release_due = false;
    while (awaited_requests) {
        /* The last reference to a communicator must not be dropped when connections are gone */
        if (awaited_requests->is_over)
            awaited_requests->ureq->comm = NULL;
        awaited_free(awaited_requests);
    }
    is_finalizer_set = false;
    return 0;
}

static void finalizer_set(void)
{
    if (!is_finalizer_set)
        MPIR_Add_finalize(lists_end, NULL, MPIR_FINALIZE_CALLBACK_PRIO - 1);
    is_finalizer_set = true;
}

/* ---- synchronizations ---- */

static bool is_dead(const MPIR_Win * win, int rank)
{
    MPIDI_VC_t *vc;

    MPIDI_Comm_get_vc(win->comm_ptr, rank, &vc);
    return vc->state == MPIDI_VC_STATE_MORIBUND;
}

/* A process of the window that has died; negative: none. */
static int dead_find(const MPIR_Win * win)
{
    int rank = win->comm_ptr->local_size - 1;

    while (rank >= 0 && !is_dead(win, rank))
        rank--;
    return rank;
}

static int dead_error(int rank)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_SET1(mpi_errno, MPIX_ERR_PROC_FAILED, "**comm_fail", "**comm_fail %d", rank);
    return mpi_errno;
}

static void state_take(MPID_Progress_state * state)
{
    MPID_Progress_start(state);
    MPID_Progress_end(state);
}

/* Whether a request has completed since the state was taken. */
static bool has_completed(const MPID_Progress_state * since)
{
    MPID_Progress_state now;

    state_take(&now);
    return now.ch.completion_count != since->ch.completion_count;
}

/* Make progress until a request completes, for MAX_SILENCE at most.
 *   is_silent  (OUT)  none has */
static int wait_while_silent(bool * is_silent)
{
    int mpi_errno = MPI_SUCCESS;
    MPID_Progress_state before;
    MPL_time_t start, now;
    double seconds = 0;

    MPL_wtime(&start);
    state_take(&before);
    while (!has_completed(&before) && seconds < MAX_SILENCE) {
        mpi_errno = poke_progress_engine();
        MPIR_ERR_CHECK(mpi_errno);
        MPIDI_Gpudt_poll_pause();
        MPL_wtime(&now);
        MPL_wtime_diff(&start, &now, &seconds);
    }

  fn_exit:
    *is_silent = !has_completed(&before);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Gpudt_win_progress(MPIR_Win * win, int rank)
{
    int mpi_errno = MPI_SUCCESS, dead;
    bool is_silent;

    if (likely(MPIDI_Failed_vc_count == 0) || (dead = dead_find(win)) < 0) {
        mpi_errno = wait_progress_engine();
        goto fn_exit;
    }
    if (rank >= 0 && is_dead(win, rank)) {
        mpi_errno = dead_error(rank);
        goto fn_exit;
    }
    mpi_errno = wait_while_silent(&is_silent);
    MPIR_ERR_CHECK(mpi_errno);
    if (is_silent)
        mpi_errno = dead_error(dead);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Gpudt_win_test_failed(const MPIR_Win * win)
{
    static const MPIR_Win *looked = NULL;       /* at which window, in the last call */
    static MPID_Progress_state last;    /* as of the last one that saw that a request had completed */
    static MPL_time_t since;
    MPL_time_t now;
    double seconds;
    int dead;

    if (likely(MPIDI_Failed_vc_count == 0) || (dead = dead_find(win)) < 0)
        return MPI_SUCCESS;
    MPL_wtime(&now);
    if (looked != win || has_completed(&last)) {
        looked = win;
        state_take(&last);
        since = now;
    }
    MPL_wtime_diff(&since, &now, &seconds);
    return seconds < MAX_SILENCE ? MPI_SUCCESS : dead_error(dead);
}

bool MPIDI_Gpudt_win_has_dead(const MPIR_Win * win)
{
    return unlikely(MPIDI_Failed_vc_count > 0) && dead_find(win) >= 0;
}

int MPIDI_Gpudt_win_free_failed(const MPIR_Win * win)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;

    /* As MPIDI_Gpudt_win_unmap and MPI_Win_free do */
    if (MPIDI_Gpudt_win_is_unmapped(win))
        (void) MPIR_Barrier(win->comm_ptr->node_comm, &errflag);
    (void) MPIR_Barrier(win->comm_ptr, &errflag);
    return dead_error(dead_find(win));
}

/* ---- locks ---- */

/* Forget a holder. Returns whether there was one.
 *   win, vc  (IN)  of which; NULL: any, whose process has died */
static bool holder_drop(const MPIR_Win * win, const MPIDI_VC_t * vc, MPIR_Win ** of)
{
    struct holder *h;

    DL_FOREACH(holders, h) {
        if ((win == NULL || h->win == win) &&
            (vc ? h->vc == vc : h->vc->state == MPIDI_VC_STATE_MORIBUND))
            break;
    }
    if (h == NULL)
        return false;
    *of = h->win;
    DL_DELETE(holders, h);
    MPL_free(h);
    return true;
}

/* Release the locks of those that have died, or do so when a release has ended.
 *   win  (IN)  NULL: of all windows */
static void dead_release(const MPIR_Win * win)
{
    MPIR_Win *of;

    is_release_due |= MPIDI_Gpudt_win_lock_is_releasing();
    while (!MPIDI_Gpudt_win_lock_is_releasing() && holder_drop(win, NULL, &of)) {
        int mpi_errno = MPIDI_CH3I_Release_lock(of);

        MPIDI_Gpudt_win_keep(of, &mpi_errno);
    }
}

static void holder_add(MPIR_Win * win, const MPIDI_VC_t * vc)
{
    struct holder *h = MPL_malloc(sizeof(*h), MPL_MEM_RMA);

    has_all_holders &= h != NULL;
    if (h == NULL)
        return;
    *h = (struct holder) {.win = win,.vc = vc };
    DL_APPEND(holders, h);
    finalizer_set();
}

void MPIDI_Gpudt_win_locks_released(void)
{
    if (unlikely(is_release_due)) {
        is_release_due = false;
        dead_release(NULL);
    }
}

static bool is_own(const MPIR_Win * win, const MPIDI_VC_t * vc)
{
    MPIDI_VC_t *own;

    MPIDI_Comm_get_vc(win->comm_ptr, win->comm_ptr->rank, &own);
    return vc == own;
}

int MPIDI_Gpudt_win_lock_acquire(MPIR_Win * win, const MPIDI_VC_t * vc, int lock_type)
{
    int is_acquired = MPIDI_CH3I_Try_acquire_win_lock(win, lock_type);

    if (likely(!MPIR_CVAR_ENABLE_FT))
        return is_acquired;
    if (!is_acquired) {
        dead_release(win);
        is_acquired = MPIDI_CH3I_Try_acquire_win_lock(win, lock_type);
    }
    if (is_acquired && vc && !is_own(win, vc))
        holder_add(win, vc);
    return is_acquired;
}

int MPIDI_Gpudt_win_lock_release(MPIR_Win * win, const MPIDI_VC_t * vc)
{
    MPIR_Win *of;

    /* It may have been released when that process died */
    if (unlikely(MPIR_CVAR_ENABLE_FT) && !holder_drop(win, vc, &of) && has_all_holders)
        return MPI_SUCCESS;
    return MPIDI_CH3I_Release_lock(win);
}

int MPIDI_Gpudt_rma_answered(const MPIDI_VC_t * vc, int mpi_errno)
{
    return MPIR_CVAR_ENABLE_FT && vc->state == MPIDI_VC_STATE_MORIBUND ? MPI_SUCCESS : mpi_errno;
}

void MPIDI_Gpudt_rma_vc_ended(const MPIDI_VC_t * vc)
{
    if (vc->state == MPIDI_VC_STATE_MORIBUND)
        dead_release(NULL);
}

/* ---- requests ---- */

/* For request_completed_cb. */
static int awaited_completed(MPIR_Request * ureq)
{
    struct awaited *a;

    DL_FOREACH(awaited_requests, a) {
        if (a->ureq == ureq)
            break;
    }
    if (a)
        awaited_free(a);
    return MPI_SUCCESS;
}

/* ch3 leaves a request alone that is complete. */
static void awaited_fail(struct awaited *a)
{
    a->is_over = true;
    MPIR_Request_add_ref(a->ureq);
    a->ureq->dev.request_completed_cb = NULL;
    a->ureq->status.MPI_ERROR = dead_error(a->vc->pg_rank);
    MPIR_cc_set(&a->ureq->cc, 1);
    MPID_Request_complete(a->ureq);
}

void MPIDI_Gpudt_rma_awaited_any(const MPIR_Win * win, int rank, MPIR_Request * ureq)
{
    MPIDI_VC_t *vc;
    struct awaited *a;

    a = MPL_malloc(sizeof(*a), MPL_MEM_RMA);
    if (a == NULL)              /* this request waits whatever happens */
        return;
    MPIDI_Comm_get_vc(win->comm_ptr, rank, &vc);
    *a = (struct awaited) {.ureq = ureq,.vc = vc };
    DL_APPEND(awaited_requests, a);
    ureq->dev.request_completed_cb = awaited_completed;
    finalizer_set();
    /* It may wait for a lock, and never be issued */
    if (vc->state == MPIDI_VC_STATE_MORIBUND)
        awaited_fail(a);
}

void MPIDI_Gpudt_rma_vc_failed(const MPIDI_VC_t * vc)
{
    struct awaited *a;

    /* Synchronizations look at it */
    MPIDI_CH3_Progress_signal_completion();
    DL_FOREACH(awaited_requests, a) {
        if (a->vc == vc && !a->is_over)
            awaited_fail(a);
    }
}
