/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The memory of windows of MPI_Win_allocate that the processes do not share, on the host or on a GPU,
 * and which windows are in GPU memory: see mpidi_gpudt_alloc.h. Must not know how operations on a
 * window are done. */

#include "mpidimpl.h"
#include "mpidrma.h"

/* Added to a size, times the kind that is asked for, or FAILED: the process cannot take part. */
#define WISH ((MPI_Aint) 1 << 60)
#define FAILED MPIR_GPUDT_NKINDS

MPI_Aint MPIDI_Gpudt_win_wish(MPIR_Win * win, MPIR_Info * info)
{
    int wish = MPIR_Gpudt_kind_asked(info);

    if (wish && win->create_flavor == MPI_WIN_FLAVOR_SHARED) {
        win->gpudt_errno = MPIDI_Gpudt_win_shared_make(win);
        if (win->gpudt_errno)
            wish = FAILED;
    }
    return WISH * wish;
}

/* Check what the processes of a shared window ask for. If that is not possible, each of them has an
 * error, and ch3 shall allocate nothing. */
static void shared_check(MPIR_Win * win, MPI_Aint * sizes, int n)
{
    const int wish = (int) (sizes[0] / WISH);
    bool has_failed = false, are_equal = true;

    for (int i = 0; i < n; i++) {
        has_failed |= sizes[i] / WISH == FAILED;
        are_equal &= sizes[i] / WISH == wish;
        sizes[i] %= WISH;
    }
    if (!has_failed && are_equal && wish == MPIR_GPUDT_KIND__DEVICE) {
        MPIDI_Gpudt_win_shared_sizes(win, sizes);
        return;
    }
    if (has_failed && win->gpudt_errno == MPI_SUCCESS)
        MPIR_ERR_SET1(win->gpudt_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "GPU window");
    else if (!has_failed && !are_equal)
        MPIR_ERR_SET(win->gpudt_errno, MPI_ERR_INFO_VALUE, "**gpudt_win_kinds");
    else if (!has_failed)
        MPIR_ERR_SET1(win->gpudt_errno, MPI_ERR_INFO_VALUE, "**gpudt_win_share",
                      "**gpudt_win_share %s", MPIR_Gpudt_kind_name(wish));
    MPIDI_Gpudt_win_shared_drop(win);
    memset(sizes, 0, n * sizeof(*sizes));
}

bool MPIDI_Gpudt_win_is_wished(MPIR_Win * win, MPI_Aint * sizes, int n)
{
    bool is_wished = false;

    for (int i = 0; i < n; i++)
        is_wished |= sizes[i] >= WISH;
    if (likely(!is_wished))
        return false;
    if (win->create_flavor == MPI_WIN_FLAVOR_SHARED) {
        shared_check(win, sizes, n);
        return false;
    }
    win->shm_allocated = FALSE;
    MPL_free(win->shm_base_addrs);
    win->shm_base_addrs = NULL;
    return true;
}

/* Allocate the memory of this process; without it win->gpudt_errno is set. */
static void mem_make(MPIR_Win * win, MPI_Aint size, enum MPIR_Gpudt_kind_e kind)
{
    win->base = NULL;
    if (kind == MPIR_GPUDT_KIND__NONE) {
        win->base = MPL_malloc(size, MPL_MEM_RMA);
        if (win->base)
            MPL_VG_MEM_INIT(win->base, size);
        else
            MPIR_ERR_SET1(win->gpudt_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "window");
    } else {
        win->gpudt_errno = MPIR_Gpudt_mem_alloc(kind == MPIR_GPUDT_KIND__DEVICE ?
                                                MPIR_Gpudt_mem_whole(size) : size, kind,
                                                &win->base);
        MPIDI_Gpudt_win_look(win->base, size);
    }
}

int MPIDI_Gpudt_win_allocate(MPI_Aint size, int disp_unit, MPIR_Info * info, MPIR_Comm * comm_ptr,
                             void *baseptr, MPIR_Win ** win_ptr)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Win *win = *win_ptr;

    mem_make(win, size, MPIR_Gpudt_kind_asked(info));
    *(void **) baseptr = win->base;
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
    MPIR_Win *win = *win_ptr;
    const bool is_shared = win->create_flavor == MPI_WIN_FLAVOR_SHARED;
    int rank = 0;

    while (rank < win->comm_ptr->local_size && likely(win->basic_info_table[rank].size >= 0))
        rank++;
    /* All processes of a shared window have an error, or none. That of another one may be of an
     * operation, of a process that has the window already */
    if (likely(rank == win->comm_ptr->local_size && !(is_shared && win->gpudt_errno)))
        goto fn_exit;
    mpi_errno = MPIDI_Gpudt_win_result(win, MPI_SUCCESS);
    if (mpi_errno == MPI_SUCCESS)
        MPIR_ERR_SET1(mpi_errno, MPI_ERR_NO_MEM, "**gpudt_win_alloc", "**gpudt_win_alloc %d", rank);
    (void) MPID_Win_free(win_ptr);

  fn_exit:
    return mpi_errno;
}
