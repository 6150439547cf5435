/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Windows in GPU memory that the processes of a node map, and others with messages of their own
 * (ch3u_gpudt_winmsg.c): what the processes tell each other when a window is created, what an operation
 * accesses, and the end of a window. Memory that is attached to a dynamic window is in
 * ch3u_gpudt_regions.c. Must not know when the memory may be accessed.
 *
 * CUDA does not define what becomes of memory that is freed while other processes map it. Of memory
 * that the program frees, nobody tells the others. MPI frees that of MPI_Win_allocate itself, so
 * MPI_Win_free unmaps it in all processes of the window first, also where messages have mapped it.
 * */

#include "mpidimpl.h"
#include "mpidi_gpudt_msg.h"
#include "mpidi_gpudt_window_impl.h"

/* Added to disp_unit in the table that processes exchange: the window can be mapped; it is on a GPU; the
 * process may be an origin with buffers on a GPU. */
#define EXPOSED ((int64_t) 1 << 62)
#define ON_GPU ((int64_t) 1 << 61)
#define HAS_GPU ((int64_t) 1 << 60)

MPI_Aint MPIDI_Gpudt_win_expose_any(MPIR_Win * win, const void *base, MPI_Aint size)
{
    const MPIR_Comm *node = win->comm_ptr->node_comm;
    uint64_t exposure[MPIR_GPUDT_EXPOSURE_SZ / sizeof(uint64_t)];
    bool is_exposed = false;

    if (win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC) {
        if (!MPIR_Gpudt_is_loaded())
            return 0;
        return (MPI_Aint) (node && node->local_size > 1 ? EXPOSED | ON_GPU : ON_GPU);
    }
    if (node)
        is_exposed = MPIR_Gpudt_expose(base, size, exposure);
    if (is_exposed)
        return (MPI_Aint) (EXPOSED | ON_GPU);
    if (base && size > 0 && MPIDI_Gpudt_rma_ask(base, 1, MPI_BYTE))
        return (MPI_Aint) ON_GPU;
    return MPIDI_Gpudt_winmsg_may(win) && MPIR_Gpudt_is_loaded() ? (MPI_Aint) HAS_GPU : 0;
}

/* Make what the processes of the node share.
 *   room_sz  (IN)  of MPIDI_Gpudt_winlocks_make */
static int shared_make(MPIR_Win * win, MPI_Aint room_sz)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_win *w = win->gpudt;
    const MPIR_Comm *comm = win->comm_ptr;

    if (comm->node_comm->local_size > 1)
        mpi_errno = MPIDI_Gpudt_winlocks_make(comm->node_comm, room_sz, &w->locks);
    MPIR_ERR_CHECK(mpi_errno);
    w->npeers = comm->node_comm->local_size;
    for (int rank = 0; rank < comm->local_size; rank++) {
        if (comm->intranode_table[rank] >= 0)
            w->peer[comm->intranode_table[rank]].rank = rank;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Make the tables of a dynamic window. Without them, all goes by messages. */
static int tables_make(MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_win *w = win->gpudt;

    mpi_errno = shared_make(win, MPIDI_Gpudt_regions_sz());
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < w->npeers; i++) {
        w->peer[i].lock = MPIDI_Gpudt_winlock_of(&w->locks, i);
        w->peer[i].regions = MPIDI_Gpudt_winlock_room(&w->locks, i);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Get the exposures of all processes of the node, which have some.
 *   table  (IN)   as of MPIDI_Gpudt_win_exchange
 *   all    (OUT)  memory for them */
static int peers_make(MPIR_Win * win, const MPI_Aint * table, char *all)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_win *w = win->gpudt;
    const MPIR_Comm *comm = win->comm_ptr;
    const MPI_Aint *own = &table[4 * comm->rank];
    uint64_t exposure[MPIR_GPUDT_EXPOSURE_SZ / sizeof(uint64_t)] = { 0 };
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;

    /* Should the driver fail now, operations go by messages, or another way to the own memory */
    if (own[2] >= EXPOSED) {
        (void) MPIR_Gpudt_expose(MPIR_Aint_to_ptr(own[0]), own[1], exposure);
        (void) MPIR_Gpudt_target_own(MPIR_Aint_to_ptr(own[0]), own[1], &w->own);
    }
    mpi_errno = MPIR_Allgather(exposure, MPIR_GPUDT_EXPOSURE_SZ, MPI_BYTE, all,
                               MPIR_GPUDT_EXPOSURE_SZ, MPI_BYTE, comm->node_comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(errflag, mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    mpi_errno = shared_make(win, 0);
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < w->npeers; i++) {
        const int rank = w->peer[i].rank;

        if (table[4 * rank + 2] >= EXPOSED)
            w->peer[i].lock = MPIDI_Gpudt_winlock_of(&w->locks, i);
        /* without memory for it, operations on that process go by messages */
        if (rank != comm->rank)
            (void) MPIR_Gpudt_target_make(all + (MPI_Aint) i * MPIR_GPUDT_EXPOSURE_SZ,
                                          &w->peer[i].target);
    }
    /* From here on, a process that is still in this call takes the lock for accumulates by messages */
    mpi_errno = MPIR_Barrier(comm->node_comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(errflag, mpi_errno, MPI_ERR_OTHER, "**coll_fail");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void win_free(struct MPIDI_Gpudt_win *w)
{
    MPL_free(w->peer);
    MPL_free(w->attached);
    MPL_free(w->is_gpu);
    MPL_free(w->sent);
    MPL_free(w->kept);
    MPL_free(w->origins);
    MPL_free(w);
}

/* What a window has whether its memory can be mapped or not; NULL: there is no memory. */
static struct MPIDI_Gpudt_win *win_make(const MPIR_Win * win, const MPI_Aint * table)
{
    const int n = win->comm_ptr->local_size;
    struct MPIDI_Gpudt_win *w = MPL_calloc(1, sizeof(*w), MPL_MEM_RMA);

    if (w == NULL)
        return NULL;
    w->handle = win->handle;
    w->is_gpu = MPL_calloc(n, sizeof(w->is_gpu[0]), MPL_MEM_RMA);
    w->sent = MPL_calloc(n, sizeof(w->sent[0]), MPL_MEM_RMA);
    w->kept = MPL_calloc(n, sizeof(w->kept[0]), MPL_MEM_RMA);
    w->origins = MPL_calloc(n, sizeof(w->origins[0]), MPL_MEM_RMA);
    if (!w->is_gpu || !w->sent || !w->kept || !w->origins || MPIDI_Gpudt_hook_make() != MPI_SUCCESS) {
        win_free(w);
        return NULL;
    }
    /* What is attached to a dynamic window later is not known */
    for (int rank = 0; rank < n && win->create_flavor != MPI_WIN_FLAVOR_DYNAMIC; rank++)
        w->is_gpu[rank] = table[4 * rank + 2] >= ON_GPU;
    return w;
}

int MPIDI_Gpudt_win_exchange(MPIR_Win * win, const MPI_Aint * table)
{
    int mpi_errno = MPI_SUCCESS, has_failed;
    MPIR_Comm *comm = win->comm_ptr;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    bool are_any = false, is_host = true, is_exposed = false, are_any_here = false;
    struct MPIDI_Gpudt_win *w;
    char *all = NULL;

    for (int rank = 0; rank < comm->local_size; rank++) {
        if (likely(table[4 * rank + 2] < HAS_GPU))
            continue;
        are_any = true;
        if (table[4 * rank + 2] >= ON_GPU)
            is_host = false;
        if (table[4 * rank + 2] < EXPOSED)
            continue;
        is_exposed = true;
        are_any_here |= comm->node_comm && comm->intranode_table[rank] >= 0;
    }
    if (likely(!are_any))
        goto fn_exit;
    w = win->gpudt = win_make(win, table);
    has_failed = w == NULL;
    if (w) {
        w->is_exposed = is_exposed;
        w->is_host = is_host;
    }
    if (w && are_any_here) {
        const int n = comm->node_comm->local_size;

        all = MPL_malloc((MPI_Aint) n * MPIR_GPUDT_EXPOSURE_SZ, MPL_MEM_RMA);
        w->peer = MPL_calloc(n, sizeof(w->peer[0]), MPL_MEM_RMA);
        has_failed = !all || !w->peer;
    }
    /* if one process has no memory, none creates the window: it would wait for that process */
    mpi_errno = MPIR_Allreduce(MPI_IN_PLACE, &has_failed, 1, MPI_INT, MPI_MAX, comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(errflag, mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    MPIR_ERR_CHKANDJUMP1(has_failed, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s",
                         "GPU window");
    if (are_any_here && win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC)
        mpi_errno = tables_make(win);
    else if (are_any_here)
        mpi_errno = peers_make(win, table, all);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(all);
    return mpi_errno;
  fn_fail:
    if (win->gpudt)
        MPIDI_Gpudt_win_end_any(win);
    goto fn_exit;
}

int MPIDI_Gpudt_win_unmap_any(MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPIDI_Gpudt_win *w = win->gpudt;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;

    if (!MPIDI_Gpudt_win_is_unmapped(win))
        goto fn_exit;
    /* As long as a process may send messages from the memory, others may map it again */
    mpi_errno = MPIR_Barrier(win->comm_ptr->node_comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_Gpudt_win_wait_any(win, -1);
    for (int i = 0; i < w->npeers; i++)
        MPIR_Gpudt_target_unmap(w->peer[i].target);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_Gpudt_win_end_any(MPIR_Win * win)
{
    struct MPIDI_Gpudt_win *w = win->gpudt;

    MPIDI_Gpudt_win_wait_any(win, -1);
    /* Accumulates need the locks */
    MPIDI_Gpudt_winmsg_end(win);
    for (int i = 0; i < w->npeers; i++)
        MPIR_Gpudt_target_free(w->peer[i].target);
    MPIR_Gpudt_target_free(w->own);
    MPIDI_Gpudt_winlocks_free(&w->locks);
    MPIDI_Gpudt_win_copies_free(w);
    win_free(w);
    win->gpudt = NULL;
}

struct MPIDI_Gpudt_peer *MPIDI_Gpudt_win_peer(const MPIR_Win * win, int rank)
{
    const struct MPIDI_Gpudt_win *w = win->gpudt;
    int i = w->npeers ? win->comm_ptr->intranode_table[rank] : -1;

    return i < 0 ? NULL : &w->peer[i];
}

bool MPIDI_Gpudt_peer_is_mapped(const struct MPIDI_Gpudt_peer *peer)
{
    return peer->target || (peer->regions && MPIDI_Gpudt_regions_exist(peer->regions));
}

/* Of a dynamic window, the region of the first byte: an operation beyond it goes by messages. */
static int region_target(const MPIR_Win * win, const struct MPIDI_Gpudt_peer *peer,
                         MPI_Datatype datatype, MPI_Aint * disp, MPIR_Gpudt_target_t ** target)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_region region;
    MPI_Aint lb = 0;

    if (!HANDLE_IS_BUILTIN(datatype)) {
        MPIR_Datatype *dtp;
        MPIR_Datatype_get_ptr(datatype, dtp);
        lb = dtp->true_lb;
    }
    if (!MPIDI_Gpudt_region_find(peer->regions, (uint64_t) * disp + (uint64_t) lb, &region))
        goto fn_exit;
    if (peer->rank == win->comm_ptr->rank)
        mpi_errno = MPIR_Gpudt_target_own((void *) (uintptr_t) region.base, (MPI_Aint) region.size,
                                          target);
    else
        mpi_errno = MPIR_Gpudt_target_make(region.exposure, target);
    MPIR_ERR_CHECK(mpi_errno);
    *disp -= (MPI_Aint) region.base;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Gpudt_win_target(const MPIR_Win * win, int rank, MPI_Datatype datatype, MPI_Aint * disp,
                           MPIR_Gpudt_target_t ** target)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPIDI_Gpudt_peer *peer = MPIDI_Gpudt_win_peer(win, rank);

    *target = NULL;
    if (peer == NULL)
        goto fn_exit;
    if (peer->regions) {
        mpi_errno = region_target(win, peer, datatype, disp, target);
    } else {
        *target = rank == win->comm_ptr->rank ? win->gpudt->own : peer->target;
        *disp *= win->basic_info_table[rank].disp_unit;
    }

  fn_exit:
    return mpi_errno;
}

void MPIDI_Gpudt_win_target_end(const MPIR_Win * win, MPIR_Gpudt_target_t * target)
{
    if (win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC)
        MPIR_Gpudt_target_free(target);
}
