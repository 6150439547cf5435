/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One-sided operations by the origin's GPU or by messages of their own: the interface for MPICH's
 * own files of ch3. Included by mpidi_gpudt_rma.h. Callers hold the lock of the progress engine.
 *
 * Of a window with GPU memory in any process, which others map, all processes know it. The origin then
 * copies by its own GPU: it starts an operation when it may access the target's memory, and waits for its end
 * before it tells the target, or returns from a flush. What is not suited goes by messages; the two
 * may be mixed. See ch3u_gpudt_expose.c for how the processes know it, ch3u_gpudt_window.c for puts and
 * gets, ch3u_gpudt_update.c for the others, and ch3u_gpudt_regions.c for dynamic windows. */

#ifndef MPIDI_GPUDT_WINDOW_H_INCLUDED
#define MPIDI_GPUDT_WINDOW_H_INCLUDED

struct MPIDI_RMA_Target;

/* ---- life ---- */

/* Whether the memory of a window of this process can be mapped by others of the node, as a part of
 * what processes exchange when a window is created, and else whether the process uses GPUs, with which
 * it may put and get by messages of their own: to be added to its disp_unit. Greater than any int, or 0.
 * Of a dynamic window, whether that may be so of memory that is attached later. Not for shared windows,
 * which are mapped already. */
MPI_Aint MPIDI_Gpudt_win_expose_any(MPIR_Win * win, const void *base, MPI_Aint size);

static inline MPI_Aint MPIDI_Gpudt_win_expose(MPIR_Win * win, const void *base, MPI_Aint size)
{
    return unlikely(MPIR_Gpudt_is_possible()) && win->create_flavor != MPI_WIN_FLAVOR_SHARED ?
        MPIDI_Gpudt_win_expose_any(win, base, size) : 0;
}

/* Make the window's state for all this, and exchange what is needed to map each other's memory, if any
 * process has told something. Collective.
 *   table  (IN)  what was exchanged: four elements for each process, of which the third is the
 *                disp_unit with that addition */
int MPIDI_Gpudt_win_exchange(MPIR_Win * win, const MPI_Aint * table);

/* In MPI_Win_attach and MPI_Win_detach: let the other processes of the node map GPU memory of this
 * process, or no longer. Of memory that they cannot map, nothing is done. */
void MPIDI_Gpudt_win_attach_any(MPIR_Win * win, const void *base, MPI_Aint size);
void MPIDI_Gpudt_win_detach_any(MPIR_Win * win, const void *base);

static inline void MPIDI_Gpudt_win_attach(MPIR_Win * win, const void *base, MPI_Aint size)
{
    if (unlikely(win->gpudt))
        MPIDI_Gpudt_win_attach_any(win, base, size);
}

static inline void MPIDI_Gpudt_win_detach(MPIR_Win * win, const void *base)
{
    if (unlikely(win->gpudt))
        MPIDI_Gpudt_win_detach_any(win, base);
}

/* A message wants to access this process's memory. If that is known not to be attached, the window keeps
 * an error. */
void MPIDI_Gpudt_win_accessed_any(const MPIR_Win * win, const void *addr, MPI_Datatype datatype);

static inline void MPIDI_Gpudt_win_accessed(const MPIR_Win * win, const void *addr,
                                            MPI_Datatype datatype)
{
    if (unlikely(win->gpudt))
        MPIDI_Gpudt_win_accessed_any(win, addr, datatype);
}

/* In MPI_Win_free, before the processes wait for each other: unmap the memory of other processes that
 * they are about to free. Collective. */
int MPIDI_Gpudt_win_unmap_any(MPIR_Win * win);

static inline int MPIDI_Gpudt_win_unmap(MPIR_Win * win)
{
    return unlikely(win->gpudt) ? MPIDI_Gpudt_win_unmap_any(win) : MPI_SUCCESS;
}

/* Wait for operations that an erroneous program has left, and release all of it. The other processes
 * do not access the window any more. */
void MPIDI_Gpudt_win_end_any(MPIR_Win * win);

static inline void MPIDI_Gpudt_win_end(MPIR_Win * win)
{
    if (unlikely(win->gpudt))
        MPIDI_Gpudt_win_end_any(win);
}

/* ---- synchronization ---- */

/* Wait for the ends of all copies so far to and from a rank's window; a negative rank: of all ranks. The
 * window keeps their errors. */
void MPIDI_Gpudt_win_wait_any(MPIR_Win * win, int rank);

static inline void MPIDI_Gpudt_win_wait(MPIR_Win * win, int rank)
{
    if (unlikely(win->gpudt))
        MPIDI_Gpudt_win_wait_any(win, rank);
}

/* At the end of a fence: wait until all processes have completed their part of it, if any of them exposes
 * memory. Of a dynamic window for 10 ms at most, unless all of them are known to wait. */
int MPIDI_Gpudt_win_fenced_any(MPIR_Win * win);

static inline int MPIDI_Gpudt_win_fenced(MPIR_Win * win)
{
    return unlikely(win->gpudt) ? MPIDI_Gpudt_win_fenced_any(win) : MPI_SUCCESS;
}

/* In MPI_Win_lock: wait some time until a lock that was called for is granted, if this process can map
 * the target's memory. */
int MPIDI_Gpudt_win_lock_any(MPIR_Win * win, struct MPIDI_RMA_Target *target);

static inline int MPIDI_Gpudt_win_lock(MPIR_Win * win, struct MPIDI_RMA_Target *target)
{
    return unlikely(win->gpudt) ? MPIDI_Gpudt_win_lock_any(win, target) : MPI_SUCCESS;
}

/* In MPI_Win_lock_all: the same for the locks of all windows that this process can map. */
int MPIDI_Gpudt_win_lock_all_any(MPIR_Win * win);

static inline int MPIDI_Gpudt_win_lock_all(MPIR_Win * win)
{
    return unlikely(win->gpudt) ? MPIDI_Gpudt_win_lock_all_any(win) : MPI_SUCCESS;
}

/* ---- processes that have died (ch3u_gpudt_windead.c) ---- */

/* Wait for progress of a window's synchronization: wait_progress_engine, but for an error if the process
 * that is waited for has died, or may be one that has died.
 *   rank  (IN)  who is waited for; negative: any processes of the window */
int MPIDI_Gpudt_win_progress(MPIR_Win * win, int rank);

/* In MPI_Win_test, if the epoch has not ended: an error if it may wait for a process that has died. */
int MPIDI_Gpudt_win_test_failed(const MPIR_Win * win);

/* Whether a process of the window is known to have died. */
bool MPIDI_Gpudt_win_has_dead(const MPIR_Win * win);

/* MPI_Win_free of a window of which a process has died. The others may not know it yet, and wait for this
 * process. Always an error: operations of others may still be on their way, and so nothing of the window
 * is freed. */
int MPIDI_Gpudt_win_free_failed(const MPIR_Win * win);

/* With fault tolerance: an operation has been given to ch3. Should its target die, its request ends with an
 * error.
 *   ureq  (IN)  NULL: it has none */
void MPIDI_Gpudt_rma_awaited_any(const MPIR_Win * win, int rank, MPIR_Request * ureq);

static inline void MPIDI_Gpudt_rma_awaited(const MPIR_Win * win, int rank, MPIR_Request * ureq)
{
    if (unlikely(ureq && MPIR_CVAR_ENABLE_FT))
        MPIDI_Gpudt_rma_awaited_any(win, rank, ureq);
}

/* MPIDI_CH3I_Try_acquire_win_lock and MPIDI_CH3I_Release_lock for an origin. With fault tolerance, a lock
 * that has not been released by a dead one does not keep others from it.
 *   vc  (IN)  NULL: this process */
int MPIDI_Gpudt_win_lock_acquire(MPIR_Win * win, const MPIDI_VC_t * vc, int lock_type);
int MPIDI_Gpudt_win_lock_release(MPIR_Win * win, const MPIDI_VC_t * vc);

/* Whether MPIDI_CH3I_Release_lock is granting locks (in ch3u_handle_recv_req.c), within which no other lock can
 * be released; it has ended. */
bool MPIDI_Gpudt_win_lock_is_releasing(void);
void MPIDI_Gpudt_win_locks_released(void);

/* The error of an answer to an origin: none with fault tolerance if that has died, since what it has sent
 * before may be read afterwards. */
int MPIDI_Gpudt_rma_answered(const MPIDI_VC_t * vc, int mpi_errno);

/* A connection fails, and has failed. */
void MPIDI_Gpudt_rma_vc_failed(const MPIDI_VC_t * vc);
void MPIDI_Gpudt_rma_vc_ended(const MPIDI_VC_t * vc);

/* ---- operations ---- */

/* Start MPI_Put or, if is_get, MPI_Get. Returns whether it was started or has failed, with
 * *mpi_errno_ptr. Otherwise a message must do it.
 *   ureq  (IN)  request to complete at the end; NULL: none */
bool MPIDI_Gpudt_win_move(MPIR_Win * win, int rank, MPI_Aint disp, int count,
                          MPI_Datatype datatype, const void *buf, int bufcount,
                          MPI_Datatype buftype, bool is_get, MPIR_Request * ureq,
                          int *mpi_errno_ptr);

#define MPIDI_Gpudt_takes_move(win_, ...)                                       \
    (unlikely((win_)->gpudt) && MPIDI_Gpudt_win_move(win_, __VA_ARGS__))

/* The others, which are complete when the call returns, but for accumulates by messages. Each returns as
 * MPIDI_Gpudt_win_move does. */
bool MPIDI_Gpudt_win_accumulate(MPIR_Win * win, int rank, MPI_Aint disp, int count,
                                MPI_Datatype datatype, MPI_Op op, const void *origin,
                                int origin_count, MPI_Datatype origin_type, MPIR_Request * ureq,
                                int *mpi_errno_ptr);
bool MPIDI_Gpudt_win_get_accumulate(MPIR_Win * win, int rank, MPI_Aint disp, int count,
                                    MPI_Datatype datatype, MPI_Op op, const void *origin,
                                    int origin_count, MPI_Datatype origin_type, void *result,
                                    int result_count, MPI_Datatype result_type,
                                    MPIR_Request * ureq, int *mpi_errno_ptr);
bool MPIDI_Gpudt_win_fetch_and_op(MPIR_Win * win, int rank, MPI_Aint disp, MPI_Datatype datatype,
                                  MPI_Op op, const void *origin, void *result, int *mpi_errno_ptr);
bool MPIDI_Gpudt_win_compare_and_swap(MPIR_Win * win, int rank, MPI_Aint disp,
                                      MPI_Datatype datatype, const void *origin,
                                      const void *compare, void *result, int *mpi_errno_ptr);

#define MPIDI_Gpudt_takes_win_accumulate(win_, ...)                             \
    (unlikely((win_)->gpudt) && MPIDI_Gpudt_win_accumulate(win_, __VA_ARGS__))
#define MPIDI_Gpudt_takes_win_get_accumulate(win_, ...)                         \
    (unlikely((win_)->gpudt) && MPIDI_Gpudt_win_get_accumulate(win_, __VA_ARGS__))
#define MPIDI_Gpudt_takes_win_fetch_and_op(win_, ...)                           \
    (unlikely((win_)->gpudt) && MPIDI_Gpudt_win_fetch_and_op(win_, __VA_ARGS__))
#define MPIDI_Gpudt_takes_win_cas(win_, ...)                                    \
    (unlikely((win_)->gpudt) && MPIDI_Gpudt_win_compare_and_swap(win_, __VA_ARGS__))

/* ---- accumulates by messages, or of a process to itself ---- */

/* Keep other processes from accumulates on a rank's memory in a window, and let them go on. An error,
 * if one of them has died in the middle of one, is kept in the window. */
void MPIDI_Gpudt_win_hold_any(MPIR_Win * win, int rank);
void MPIDI_Gpudt_win_unhold_any(MPIR_Win * win);

static inline void MPIDI_Gpudt_win_hold(MPIR_Win * win, int rank)
{
    if (unlikely(win->gpudt))
        MPIDI_Gpudt_win_hold_any(win, rank);
}

static inline void MPIDI_Gpudt_win_unhold(MPIR_Win * win)
{
    if (unlikely(win->gpudt))
        MPIDI_Gpudt_win_unhold_any(win);
}

/* The same for the memory of this process. */
static inline void MPIDI_Gpudt_win_hold_own(MPIR_Win * win)
{
    MPIDI_Gpudt_win_hold(win, win->comm_ptr->rank);
}

#endif /* MPIDI_GPUDT_WINDOW_H_INCLUDED */
