/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The copies of a window that the origin's GPU has in flight, for puts and gets. Must not know when a
 * window may be accessed.
 *
 * They are waited for in the order from the last to the first: waiting for the last one launches what is
 * queued behind others (gpudt_batch.h). */

#include "mpidimpl.h"
#include "mpidi_gpudt_msg.h"
#include "mpidi_gpudt_window_impl.h"

#define MAX_COPIES 256          /* of a window in flight */
#define POKE_EACH 4             /* waits for copies: progress takes a twentieth of a short one's time */

struct MPIDI_Gpudt_copy {
    struct MPIDI_Gpudt_copy *next, *prev;       /* of the window; of its spare ones only next */
    struct MPIDI_Gpudt_copy *next_req, *prev_req;       /* of those with a request */
    struct MPIDI_Gpudt_win *win;
    int rank;                   /* of the target */
    unsigned number;            /* they are in the order of these */
    MPIR_Gpudt_op *op;
    MPIR_Request *ureq;         /* NULL: none */
};

static struct MPIDI_Gpudt_copy *requests = NULL;        /* copies with a request, of all windows */

/* Remove a copy that is complete, and report its error. */
static void copy_end(struct MPIDI_Gpudt_copy *copy, int mpi_errno)
{
    struct MPIDI_Gpudt_win *w = copy->win;

    DL_DELETE(w->copies, copy);
    w->ncopies--;
    if (copy->ureq) {
        DL_DELETE_NP(requests, copy, next_req, prev_req);
        copy->ureq->status.MPI_ERROR = mpi_errno;
        MPID_Request_complete(copy->ureq);
    } else if (unlikely(mpi_errno)) {
        MPIDI_Gpudt_win_fail(w->handle, mpi_errno);
    }
    copy->next = w->spare;
    w->spare = copy;
}

/* Memory for a copy; NULL: there is none. */
static struct MPIDI_Gpudt_copy *copy_new(struct MPIDI_Gpudt_win *w)
{
    struct MPIDI_Gpudt_copy *copy = w->spare;

    if (likely(copy))
        w->spare = copy->next;
    else
        copy = MPL_malloc(sizeof(*copy), MPL_MEM_RMA);
    return copy;
}

void MPIDI_Gpudt_win_copies_free(struct MPIDI_Gpudt_win *w)
{
    struct MPIDI_Gpudt_copy *copy;

    while ((copy = w->spare)) {
        w->spare = copy->next;
        MPL_free(copy);
    }
}

/* For MPIDI_Gpudt_hook_also: only requests must complete without a call for their window. */
static bool requests_advance(bool * has_ended)
{
    struct MPIDI_Gpudt_copy *copy, *next;

    DL_FOREACH_SAFE_NP(requests, copy, next, next_req, prev_req) {
        int done, mpi_errno = MPIR_Gpudt_test(copy->op, &done);
        if (done) {
            copy_end(copy, mpi_errno);
            *has_ended = true;
        }
    }
    return requests != NULL;
}

/* For MPIDI_Gpudt_hook_also: copies of windows that the program has not freed. */
static void requests_end(void)
{
    struct MPIDI_Gpudt_copy *copy, *next;

    DL_FOREACH_SAFE_NP(requests, copy, next, next_req, prev_req) {
        MPIR_Gpudt_free(copy->op);
        copy_end(copy, MPI_SUCCESS);
    }
}

/* The last copy from or to a rank's memory; a negative rank: of all. NULL: none is in flight.
 *   number  (IN)  of the last one that counts */
static struct MPIDI_Gpudt_copy *copy_last(const struct MPIDI_Gpudt_win *w, int rank, unsigned number)
{
    struct MPIDI_Gpudt_copy *copy = w->copies ? w->copies->prev : NULL;

    while (copy && ((rank >= 0 && copy->rank != rank) || (int) (copy->number - number) > 0))
        copy = copy == w->copies ? NULL : copy->prev;
    return copy;
}

/* Progress of everything else. */
static void others_poke(const struct MPIDI_Gpudt_win *w)
{
    int mpi_errno = poke_progress_engine();

    if (unlikely(mpi_errno))
        MPIDI_Gpudt_win_fail(w->handle, mpi_errno);
}

/* Nothing else of a flush enters the progress engine if all operations were the origin's GPU's. Programs that
 * look for a change of a window again and again would wait for ever for a process that needs an answer of
 * this one. So there is progress in some of these calls in any case, while a copy is under way, and again and
 * again if that takes long; then other threads go on, too. */
void MPIDI_Gpudt_win_wait_any(MPIR_Win * win, int rank)
{
    struct MPIDI_Gpudt_copy *copy;
    struct MPIDI_Gpudt_win *w = win->gpudt;
    const unsigned last = w->last_copy, last_msg = w->last_msg;     /* other threads may start more */
    int mpi_errno, done;

    w->is_late = false;
    if (w->copies) {
        w->has_series = w->njoined > 0;
        w->njoined = 0;
    }
    copy = copy_last(w, rank, last);
    if (copy)
        MPIR_Gpudt_urge(copy->op);
    if (w->is_exposed && w->nwaits++ % POKE_EACH == 0)
        others_poke(w);
    while ((copy = copy_last(w, rank, last))) {
        mpi_errno = MPIR_Gpudt_test_urgent(copy->op, &done);
        if (done) {
            copy_end(copy, mpi_errno);
        } else {
            MPIDI_Gpudt_poll_pause();
            others_poke(w);
        }
    }
    MPIDI_Gpudt_winmsg_wait(win, rank, last_msg);
}

void MPIDI_Gpudt_win_copies_limit(struct MPIDI_Gpudt_win *w)
{
    if (w->ncopies == MAX_COPIES)
        copy_end(w->copies, MPIR_Gpudt_wait(w->copies->op));
}

int MPIDI_Gpudt_win_copy_add(struct MPIDI_Gpudt_win *w, int rank, MPIR_Gpudt_op * op,
                             MPIR_Request * ureq)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_copy *copy = NULL;

    if (op && (ureq == NULL || MPIDI_Gpudt_hook_make() == MPI_SUCCESS))
        copy = copy_new(w);
    if (copy == NULL) {
        mpi_errno = MPIR_Gpudt_wait(op);
        if (ureq && mpi_errno == MPI_SUCCESS)
            mpi_errno = MPID_Request_complete(ureq);
        goto fn_exit;
    }
    copy->win = w;
    copy->rank = rank;
    copy->op = op;
    copy->ureq = ureq;
    DL_APPEND(w->copies, copy);
    w->ncopies++;
    copy->number = ++w->last_copy;
    if (ureq) {
        DL_APPEND_NP(requests, copy, next_req, prev_req);
        MPIDI_Gpudt_hook_also(requests_advance, NULL, requests_end);
        MPIDI_Gpudt_wake();
    }

  fn_exit:
    return mpi_errno;
}
