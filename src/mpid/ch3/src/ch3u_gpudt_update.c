/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* MPI_Accumulate, MPI_Get_accumulate, MPI_Fetch_and_op and MPI_Compare_and_swap by a kernel of the
 * origin alone, whose GPU maps the target's window, or on its own memory. When the target's may be
 * accessed is described in ch3u_gpudt_window.c.
 *
 * They are atomic to each other by a lock of the target's memory in the window. An origin holds it
 * while its kernel works: beside others if theirs and its own use atomic operations of the GPU, else
 * alone. The target holds it alone while it handles operations that came by messages,
 * from processes that cannot map the memory, or on its own if no kernel can do them. So each waits
 * for at most one kernel of each of the others. An origin makes progress while it waits. A target
 * waits inside of the progress engine; who holds the lock then needs nothing of it, nor the lock of
 * its own progress engine.
 *
 * The target makes no progress then, and the kernel may be queued behind other work on its GPU. But
 * it cannot put the operation aside and handle other messages first: they rely on it being done, as
 * an accumulate on the same elements, the unlock that gives the window to the next process, or the
 * acknowledgement of a flush. Their handlers, of all packets of one-sided communication, know no
 * queue; nor can a process's messages be left where they are, since all that come by shared memory
 * are in one.
 *
 * An operation is complete when its call returns, so that later ones cannot overtake it. It must
 * not overtake earlier ones either: as long as messages to the target are not known to be complete,
 * all operations go by messages. Those that are messages of their own (ch3u_gpudt_winacc.c) are waited
 * for. */

#include "mpidimpl.h"
#include "mpidi_gpudt_window_impl.h"

#include "mpidu_yield.h"

/* Looks at a lock that others hold beside each other before this process handles messages: enough for a
 * kernel or two. */
#define MIN_LOOKS 1000

/* ---- the lock ---- */

void MPIDI_Gpudt_win_hold_any(MPIR_Win * win, int rank)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_peer *peer = MPIDI_Gpudt_win_peer(win, rank);
    bool is_held = false;

    if (peer == NULL || peer->lock == NULL ||
        (peer->regions && !MPIDI_Gpudt_regions_exist(peer->regions)))
        return;
    while (!is_held && mpi_errno == MPI_SUCCESS) {
        mpi_errno = MPIDI_Gpudt_winlock_try(peer->lock, rank, MPIDI_GPUDT_WINLOCK_ALONE, INT_MAX,
                                            &is_held);
        if (!is_held)
            MPIDU_yield();
    }
    if (is_held)
        win->gpudt->held = peer->lock;
    MPIDI_Gpudt_win_keep(win, &mpi_errno);
}

void MPIDI_Gpudt_win_unhold_any(MPIR_Win * win)
{
    if (win->gpudt->held)
        MPIDI_Gpudt_winlock_release(win->gpudt->held, MPIDI_GPUDT_WINLOCK_ALONE);
    win->gpudt->held = NULL;
}

/* The guard of an operation. */
struct hold {
    const struct MPIDI_Gpudt_peer *peer;
    int number;                 /* of this process on the node */
    int how;                    /* the lock is held; as in MPIDI_Gpudt_winlock_try */
};

static int peer_enter(void *state, bool are_several)
{
    int mpi_errno = MPI_SUCCESS;
    struct hold *hold = state;
    bool is_held = false;
    int looks = MIN_LOOKS;

    hold->how = are_several ? hold->number : MPIDI_GPUDT_WINLOCK_ALONE;
    do {
        mpi_errno = MPIDI_Gpudt_winlock_try(hold->peer->lock, hold->peer->rank, hold->how, looks,
                                            &is_held);
        MPIR_ERR_CHECK(mpi_errno);
        if (is_held)
            break;
        mpi_errno = poke_progress_engine();
        MPIR_ERR_CHECK(mpi_errno);
        MPIDI_Gpudt_poll_pause();
        /* Where kernels take long, the next one waits for longer */
        looks = MPL_MIN(looks, INT_MAX / 2) * 2;
    } while (true);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void peer_leave(void *state)
{
    const struct hold *hold = state;

    MPIDI_Gpudt_winlock_release(hold->peer->lock, hold->how);
}

static void others_let(void)
{
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

static void others_stop(void)
{
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

/* ---- operations ---- */

/* Whether messages to a target may not be complete there. */
static int messages_check(MPIR_Win * win, int rank, bool * are_any)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_RMA_Target_t *t;

    mpi_errno = MPIDI_CH3I_Win_find_target(win, rank, &t);
    MPIR_ERR_CHECK(mpi_errno);
    *are_any = t && (t->pending_net_ops_list_head || t->pending_user_ops_list_head ||
                     t->num_ops_flush_not_issued || t->num_pkts_wait_for_local_completion ||
                     t->sync.outstanding_acks);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Whether an operation on a target's memory may start now. Once an operation has gone by messages,
 * as before the target's MPI_Win_post, the next ones need not wait for that. */
static int start_check(MPIR_Win * win, int rank, bool * may_start)
{
    int mpi_errno = MPI_SUCCESS;
    bool are_messages = false;

    *may_start = true;
    if (rank == win->comm_ptr->rank)
        goto fn_exit;
    mpi_errno = messages_check(win, rank, &are_messages);
    MPIR_ERR_CHECK(mpi_errno);
    *may_start = !are_messages;
    if (*may_start)
        mpi_errno = MPIDI_Gpudt_win_access(win, rank, may_start);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Do an operation whose displacement is in units of the target. Returns as the functions for
 * MPICH's files do. */
static bool update_do(MPIR_Win * win, int rank, struct MPIR_Gpudt_update *u, MPIR_Request * ureq,
                      int *mpi_errno_ptr)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPIDI_Gpudt_peer *peer = MPIDI_Gpudt_win_peer(win, rank);
    struct hold hold = {.peer = peer };
    struct MPIR_Gpudt_guard guard = {
        .enter = peer_enter,.leave = peer_leave,.pause = others_let,.resume = others_stop,
        .state = &hold
    };
    MPIR_Gpudt_target_t *target = NULL;
    bool is_taken = false, may_start;

    MPIDI_Gpudt_winacc_order(win, rank);
    if (peer == NULL || peer->lock == NULL || !(peer->rank == win->comm_ptr->rank ?
                                                win->gpudt->own || peer->regions :
                                                MPIDI_Gpudt_peer_is_mapped(peer)))
        goto fn_exit;
    mpi_errno = start_check(win, rank, &may_start);
    MPIR_ERR_CHECK(mpi_errno);
    if (!may_start)
        goto fn_exit;
    hold.number = win->comm_ptr->intranode_table[win->comm_ptr->rank];
    mpi_errno = MPIDI_Gpudt_win_target(win, rank, u->datatype, &u->disp, &target);
    MPIR_ERR_CHECK(mpi_errno);
    if (target == NULL)
        goto fn_exit;
    mpi_errno = MPIR_Gpudt_target_update(target, u, &guard, &is_taken);
    if (mpi_errno == MPI_SUCCESS && is_taken && ureq)
        mpi_errno = MPID_Request_complete(ureq);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIDI_Gpudt_win_target_end(win, target);
    *mpi_errno_ptr = mpi_errno;
    return is_taken;
  fn_fail:
    is_taken = true;
    goto fn_exit;
}

bool MPIDI_Gpudt_win_accumulate(MPIR_Win * win, int rank, MPI_Aint disp, int count,
                                MPI_Datatype datatype, MPI_Op op, const void *origin,
                                int origin_count, MPI_Datatype origin_type, MPIR_Request * ureq,
                                int *mpi_errno_ptr)
{
    struct MPIR_Gpudt_update u = {
        .name = "accumulate",.disp = disp,.count = count,.datatype = datatype,.op = op,
        .origin = origin,.origin_count = origin_count,.origin_type = origin_type
    };
    const struct MPIDI_Gpudt_winop o = {
        .r = {
            .disp = disp,.count = count,.datatype = datatype,
            .buf = origin,.bufcount = origin_count,.buftype = origin_type
        },.op = op
    };
    bool is_taken;

    *mpi_errno_ptr = MPIDI_Gpudt_winacc_start(win, rank, &o, ureq, &is_taken);
    return is_taken || *mpi_errno_ptr || update_do(win, rank, &u, ureq, mpi_errno_ptr);
}

bool MPIDI_Gpudt_win_get_accumulate(MPIR_Win * win, int rank, MPI_Aint disp, int count,
                                    MPI_Datatype datatype, MPI_Op op, const void *origin,
                                    int origin_count, MPI_Datatype origin_type, void *result,
                                    int result_count, MPI_Datatype result_type,
                                    MPIR_Request * ureq, int *mpi_errno_ptr)
{
    struct MPIR_Gpudt_update u = {
        .name = "get accumulate",.disp = disp,.count = count,.datatype = datatype,.op = op,
        .origin = origin,.origin_count = origin_count,.origin_type = origin_type,
        .has_result = true,
        .result = result,.result_count = result_count,.result_type = result_type
    };
    const bool has_origin = op != MPI_NO_OP;
    const struct MPIDI_Gpudt_winop o = {
        .r = {
            .disp = disp,.count = count,.datatype = datatype,
            .buf = has_origin ? origin : result,
            .bufcount = has_origin ? origin_count : result_count,
            .buftype = has_origin ? origin_type : result_type,.is_get = true
        },.op = op,.result = result,.result_count = result_count,.result_type = result_type
    };
    bool is_taken;

    *mpi_errno_ptr = MPIDI_Gpudt_winacc_start(win, rank, &o, ureq, &is_taken);
    return is_taken || *mpi_errno_ptr || update_do(win, rank, &u, ureq, mpi_errno_ptr);
}

bool MPIDI_Gpudt_win_fetch_and_op(MPIR_Win * win, int rank, MPI_Aint disp, MPI_Datatype datatype,
                                  MPI_Op op, const void *origin, void *result, int *mpi_errno_ptr)
{
    struct MPIR_Gpudt_update u = {
        .name = "fetch and op",.disp = disp,.count = 1,.datatype = datatype,.op = op,
        .origin = origin,.origin_count = 1,.origin_type = datatype,
        .has_result = true,.result = result,.result_count = 1,.result_type = datatype
    };

    return update_do(win, rank, &u, NULL, mpi_errno_ptr);
}

bool MPIDI_Gpudt_win_compare_and_swap(MPIR_Win * win, int rank, MPI_Aint disp,
                                      MPI_Datatype datatype, const void *origin,
                                      const void *compare, void *result, int *mpi_errno_ptr)
{
    struct MPIR_Gpudt_update u = {
        .name = "compare and swap",.disp = disp,.count = 1,.datatype = datatype,
        .op = MPI_OP_NULL,.origin = origin,.origin_count = 1,.origin_type = datatype,
        .compare = compare,
        .has_result = true,.result = result,.result_count = 1,.result_type = datatype
    };

    return update_do(win, rank, &u, NULL, mpi_errno_ptr);
}
