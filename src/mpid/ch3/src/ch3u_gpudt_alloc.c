/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* MPI_Win_allocate in GPU memory: see mpidi_gpudt_alloc.h. Must not know how operations on a window
 * are done. */

#include "mpidimpl.h"
#include "mpidrma.h"

/* Added to a size, times the kind that is asked for. */
#define WISH ((MPI_Aint) 1 << 60)

MPI_Aint MPIDI_Gpudt_win_wish(const MPIR_Win * win, MPIR_Info * info)
{
    return win->create_flavor == MPI_WIN_FLAVOR_ALLOCATE ? WISH * MPIR_Gpudt_kind_asked(info) : 0;
}

bool MPIDI_Gpudt_win_is_wished(MPIR_Win * win, const MPI_Aint * sizes, int n)
{
    bool is_wished = false;

    for (int i = 0; i < n; i++)
        is_wished |= sizes[i] >= WISH;
    if (unlikely(is_wished)) {
        win->shm_allocated = FALSE;
        MPL_free(win->shm_base_addrs);
        win->shm_base_addrs = NULL;
    }
    return is_wished;
}

int MPIDI_Gpudt_win_allocate(MPI_Aint size, int disp_unit, MPIR_Info * info, MPIR_Comm * comm_ptr,
                             void *baseptr, MPIR_Win ** win_ptr)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Win *win = *win_ptr;

    win->base = NULL;
    if (size > 0)
        win->gpudt_errno = MPIR_Gpudt_mem_alloc(size, MPIR_Gpudt_kind_asked(info), &win->base);
    *(void **) baseptr = win->base;
    MPIDI_Gpudt_win_look(win->base, size);
    mpi_errno = MPIDI_CH3U_Win_fns.gather_info(win->base, win->gpudt_errno ? -1 : size, disp_unit,
                                               info, comm_ptr, win_ptr);
    if (mpi_errno && win->base) {
        MPIDI_Gpudt_win_mem_free(win->base);
        win->base = NULL;
    }
    return mpi_errno;
}

int MPIDI_Gpudt_win_allocated(MPIR_Win ** win_ptr)
{
    int mpi_errno = MPI_SUCCESS;
    const MPIR_Win *win = *win_ptr;
    int rank = 0;

    while (rank < win->comm_ptr->local_size && likely(win->basic_info_table[rank].size >= 0))
        rank++;
    if (likely(rank == win->comm_ptr->local_size))
        goto fn_exit;
    mpi_errno = win->gpudt_errno;
    if (mpi_errno == MPI_SUCCESS)
        MPIR_ERR_SET1(mpi_errno, MPI_ERR_NO_MEM, "**gpudt_win_alloc", "**gpudt_win_alloc %d", rank);
    (void) MPID_Win_free(win_ptr);

  fn_exit:
    return mpi_errno;
}
