/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Windows whose memory MPI allocates on a GPU, as an info object asks: the interface for MPICH's own
 * files of ch3. Included by mpidi_gpudt.h. Callers hold the lock of the progress engine.
 *
 * Each process may ask or not. ch3 allocates host memory of all processes of a node together; if one
 * of them asks, each allocates its own, as if MPI_Win_create were called. One that cannot tells the
 * others so in the table of sizes that they exchange, and none gets the window. */

#ifndef MPIDI_GPUDT_ALLOC_H_INCLUDED
#define MPIDI_GPUDT_ALLOC_H_INCLUDED

#include "gpudt_alloc.h"

/* What the process's info asks for, to be added to the size that the processes of a node exchange
 * before they allocate memory. 0: nothing. */
MPI_Aint MPIDI_Gpudt_win_wish(const MPIR_Win * win, MPIR_Info * info);

/* Whether a process of the node asks for GPU memory. If so, the window is no longer one of memory that
 * they share, and each must allocate its own.
 *   sizes, n  (IN)  of the processes of the node, with these additions */
bool MPIDI_Gpudt_win_is_wished(MPIR_Win * win, const MPI_Aint * sizes, int n);

/* MPIDI_CH3U_Win_allocate_no_shm for a process that asks for GPU memory. If there is none, it reports
 * that in MPIDI_Gpudt_win_allocated. */
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

#endif /* MPIDI_GPUDT_ALLOC_H_INCLUDED */
