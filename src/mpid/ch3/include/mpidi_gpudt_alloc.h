/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Windows whose memory MPI allocates on a GPU, as an info object asks: the interface for MPICH's own
 * files of ch3. Included by mpidi_gpudt.h. Callers hold the lock of the progress engine.
 *
 * MPI_Win_allocate: each process may ask or not. ch3 allocates host memory of all processes of a node
 * together; if one of them asks, each allocates its own, as if MPI_Win_create were called. One that
 * cannot tells the others so in the table of sizes that they exchange, and none gets the window. That
 * goes for all windows whose memory the processes do not share, also without any GPU.
 *
 * MPI_Win_allocate_shared: all processes must ask for device memory, which they map; see
 * ch3u_gpudt_shared.c. */

#ifndef MPIDI_GPUDT_ALLOC_H_INCLUDED
#define MPIDI_GPUDT_ALLOC_H_INCLUDED

#include "gpudt_alloc.h"

/* What the process's info asks for, to be added to the size that the processes of a node exchange
 * before they allocate memory. 0: nothing. */
MPI_Aint MPIDI_Gpudt_win_wish(MPIR_Win * win, MPIR_Info * info);

/* Whether a process of the node asks for GPU memory. If so, the window is no longer one of memory that
 * they share, and each must allocate its own. False for a window of MPI_Win_allocate_shared: if all
 * ask, or after an error, the sizes are then those of the host memory that ch3 shall allocate.
 *   sizes, n  (IN/OUT)  of the processes of the node, with these additions */
bool MPIDI_Gpudt_win_is_wished(MPIR_Win * win, MPI_Aint * sizes, int n);

/* MPIDI_CH3U_Win_allocate_no_shm, for more than 0 bytes. A process that has no memory reports that in
 * MPIDI_Gpudt_win_allocated. */
int MPIDI_Gpudt_win_allocate(MPI_Aint size, int disp_unit, MPIR_Info * info, MPIR_Comm * comm_ptr,
                             void *baseptr, MPIR_Win ** win_ptr);

/* Called by all processes after memory is allocated: whether all have theirs. If not, frees the window
 * and returns an error in all of them. */
int MPIDI_Gpudt_win_allocated(MPIR_Win ** win_ptr);

/* Free a window's memory. An error of the driver is not reported: the window does not exist any
 * more. */
static inline void MPIDI_Gpudt_win_mem_free(void *base)
{
    int ignored;

    if (!MPIR_Gpudt_takes_free(base, &ignored))
        MPL_free(base);
}

/* ---- MPI_Win_allocate_shared (ch3u_gpudt_shared.c) ---- */

/* What the processes of a shared window in GPU memory have of each other's memory. */
struct MPIDI_Gpudt_win_shared;

/* Make win->gpudt_shared, in a process that asks; or drop it before memory is allocated. */
int MPIDI_Gpudt_win_shared_make(MPIR_Win * win);
void MPIDI_Gpudt_win_shared_drop(MPIR_Win * win);

/* Keep the sizes of the processes, and replace them by those of the host memory of such a window. */
void MPIDI_Gpudt_win_shared_sizes(MPIR_Win * win, MPI_Aint * sizes);

/* Allocate and map the memory of the window, after ch3 has allocated the host memory, whose addresses
 * are replaced. If a process cannot, all find that in MPIDI_Gpudt_win_allocated. Collective. */
int MPIDI_Gpudt_win_share_any(MPIR_Win * win);

static inline int MPIDI_Gpudt_win_share(MPIR_Win * win)
{
    return unlikely(win->gpudt_shared) ? MPIDI_Gpudt_win_share_any(win) : MPI_SUCCESS;
}

/* In MPI_Win_free, after the last operation: unmap and free it. Collective. */
int MPIDI_Gpudt_win_unshare_any(MPIR_Win * win);

static inline int MPIDI_Gpudt_win_unshare(MPIR_Win * win)
{
    return unlikely(win->gpudt_shared) ? MPIDI_Gpudt_win_unshare_any(win) : MPI_SUCCESS;
}

#endif /* MPIDI_GPUDT_ALLOC_H_INCLUDED */
