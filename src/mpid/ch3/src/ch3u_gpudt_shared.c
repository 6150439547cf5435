/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* MPI_Win_allocate_shared in GPU memory, which all processes of the window map:
 *
 *     contiguous (default)    the first process allocates the memory of all, on its GPU
 *     alloc_shared_noncontig  each process allocates its own
 *
 * ch3 makes such a window as one of host memory, of a few bytes, and so gets what it needs beside the
 * memory: a mutex for accumulates. Then the addresses of the host memory are replaced, which
 * MPI_Win_shared_query returns and ch3's operations on shared windows use: those go to our functions
 * for GPU buffers (mpid_rma_shm.h). All processes learn of each failure before they go on, and end in
 * MPIDI_Gpudt_win_allocated. See mpidi_gpudt_alloc.h. */

#include "mpidimpl.h"
#include "mpidrma.h"
#include "mpidi_gpudt_coll_impl.h"

/* Host memory of such a window. */
#define HOST_SZ 8

/* What processes tell each other. */
struct news {
    int has_failed, has_memory;
    char handle[MPIR_GPUDT_HANDLE_SZ];
};

struct MPIDI_Gpudt_win_shared {
    void *own;                  /* memory that this process has allocated; NULL: none */
    struct member {             /* of the processes of the node */
        MPI_Aint size;
        MPIR_Gpudt_share_t *share;      /* its memory, mapped here; NULL: not */
        void *mem;              /* the address of that, or of the own memory; NULL: it has none */
    } *member;
    struct news *news;          /* the last ones */
};

int MPIDI_Gpudt_win_shared_make(MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;
    const int n = win->comm_ptr->node_comm->local_size;
    struct MPIDI_Gpudt_win_shared *s = MPL_calloc(1, sizeof(*s), MPL_MEM_RMA);

    MPIR_ERR_CHKANDJUMP1(!s, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "GPU window");
    win->gpudt_shared = s;
    s->member = MPL_calloc(n, sizeof(s->member[0]), MPL_MEM_RMA);
    s->news = MPL_calloc(n, sizeof(s->news[0]), MPL_MEM_RMA);
    MPIR_ERR_CHKANDJUMP1(!s->member || !s->news, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s",
                         "GPU window");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_Gpudt_win_shared_drop(MPIR_Win * win)
{
    if (win->gpudt_shared) {
        MPL_free(win->gpudt_shared->member);
        MPL_free(win->gpudt_shared->news);
    }
    MPL_free(win->gpudt_shared);
    win->gpudt_shared = NULL;
}

void MPIDI_Gpudt_win_shared_sizes(MPIR_Win * win, MPI_Aint * sizes)
{
    const int n = win->comm_ptr->node_comm->local_size;
    MPI_Aint total = 0;

    for (int i = 0; i < n; i++) {
        win->gpudt_shared->member[i].size = sizes[i];
        total += sizes[i];
        sizes[i] = 0;
    }
    sizes[0] = total > 0 ? HOST_SZ : 0;
}

/* ---- making ---- */

/* Bytes that a process allocates. */
static MPI_Aint bytes_of(const MPIR_Win * win, int rank)
{
    const struct member *member = win->gpudt_shared->member;
    MPI_Aint total = 0;

    if (win->info_args.alloc_shared_noncontig)
        return member[rank].size;
    for (int i = 0; rank == 0 && i < win->comm_ptr->node_comm->local_size; i++)
        total += member[i].size;
    return total;
}

/* Tell the other processes of the node, and hear from them.
 *   failed  (OUT)  rank of a process that has failed, if that is not this one; -1: none */
static int news_exchange(MPIR_Win * win, const struct news *own, int *failed)
{
    int mpi_errno = MPI_SUCCESS;
    struct news *all = win->gpudt_shared->news;
    MPIR_Comm *comm = win->comm_ptr->node_comm;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;

    mpi_errno = MPIDI_Gpudt_agree_allgather(comm, &errflag, own, sizeof(*own), all);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(errflag, mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    *failed = -1;
    for (int i = 0; i < comm->local_size && !own->has_failed; i++) {
        if (all[i].has_failed)
            *failed = i;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Allocate the memory of this process, and describe it. */
static void own_make(MPIR_Win * win, struct news *news)
{
    struct MPIDI_Gpudt_win_shared *s = win->gpudt_shared;
    const MPI_Aint sz = bytes_of(win, win->comm_ptr->node_comm->rank);

    if (sz > 0)
        win->gpudt_errno = MPIR_Gpudt_mem_alloc(MPIR_Gpudt_mem_whole(sz), MPIR_GPUDT_KIND__DEVICE,
                                                &s->own);
    if (s->own)
        win->gpudt_errno = MPIR_Gpudt_share_name(s->own, news->handle);
    news->has_memory = s->own != NULL;
    news->has_failed = win->gpudt_errno != MPI_SUCCESS;
}

/* Have the program's own copies to memory done when they return: others access it by their GPUs, and do
 * not know of these copies. An error shows again when the memory is used. */
static void order(const void *mem, MPI_Aint n)
{
    MPIR_Gpudt_buffer *buffer = NULL;

    (void) MPIR_Gpudt_buffer_make(mem, n, MPI_BYTE, &buffer);
    MPIR_Gpudt_buffer_free(buffer);
}

/* Map the memory of the other processes. */
static void others_map(MPIR_Win * win, struct news *news)
{
    struct MPIDI_Gpudt_win_shared *s = win->gpudt_shared;
    const MPIR_Comm *comm = win->comm_ptr->node_comm;

    for (int i = 0; i < comm->local_size && win->gpudt_errno == MPI_SUCCESS; i++) {
        struct member *m = &s->member[i];

        if (i == comm->rank)
            m->mem = s->own;
        else if (s->news[i].has_memory)
            win->gpudt_errno = MPIR_Gpudt_share_open(s->news[i].handle, &m->share, &m->mem);
        if (m->mem) {
            MPIDI_Gpudt_win_look(m->mem, bytes_of(win, i));
            order(m->mem, bytes_of(win, i));
        }
    }
    news->has_failed = win->gpudt_errno != MPI_SUCCESS;
}

/* Set the addresses of the window's parts, which after a failure have none. */
static void addresses_set(MPIR_Win * win)
{
    const struct member *member = win->gpudt_shared->member;
    const MPIR_Comm *comm = win->comm_ptr->node_comm;
    const bool has_failed = win->gpudt_errno != MPI_SUCCESS;
    MPI_Aint at = 0;

    for (int i = 0; i < comm->local_size; i++) {
        char *base = NULL;

        if (!has_failed && member[i].size > 0)
            base = win->info_args.alloc_shared_noncontig ? member[i].mem :
                (char *) member[0].mem + at;
        win->shm_base_addrs[i] = base;
        at += member[i].size;
    }
    win->base = win->shm_base_addrs[comm->rank];
}

int MPIDI_Gpudt_win_share_any(MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;
    struct news own = {.has_failed = 0 };
    int failed;

    own_make(win, &own);
    mpi_errno = news_exchange(win, &own, &failed);
    MPIR_ERR_CHECK(mpi_errno);
    if (failed >= 0)
        MPIR_ERR_SET1(win->gpudt_errno, MPI_ERR_NO_MEM, "**gpudt_win_alloc",
                      "**gpudt_win_alloc %d", failed);
    if (win->gpudt_errno == MPI_SUCCESS) {
        others_map(win, &own);
        mpi_errno = news_exchange(win, &own, &failed);
        MPIR_ERR_CHECK(mpi_errno);
        if (failed >= 0)
            MPIR_ERR_SET1(win->gpudt_errno, MPI_ERR_OTHER, "**gpudt_win_map", "**gpudt_win_map %d",
                          failed);
    }
    addresses_set(win);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- freeing ---- */

int MPIDI_Gpudt_win_unshare_any(MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_win_shared *s = win->gpudt_shared;
    MPIR_Comm *comm = win->comm_ptr->node_comm;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;

    for (int i = 0; i < comm->local_size; i++)
        MPIR_Gpudt_share_close(s->member[i].share);
    /* Memory must not be freed while others map it */
    mpi_errno = MPIR_Barrier(comm, &errflag);
    MPIDI_Gpudt_win_mem_free(s->own);
    MPIDI_Gpudt_win_shared_drop(win);
    return mpi_errno;
}
