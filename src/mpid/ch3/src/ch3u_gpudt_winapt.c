/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Which puts and gets are done by messages of their own (ch3u_gpudt_winmsg.c); accumulates add to that
 * (ch3u_gpudt_winacc.c). Must not know how. */

#include "mpidimpl.h"
#include "mpidi_gpudt_msg.h"
#include "mpidi_gpudt_window_impl.h"
#include "tuning/gpudt_tuning.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_WIN_MSG_MIN
      category    : GPUDT
      type        : int
      default     : 4096
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Bytes from which MPI_Put and MPI_Get from or to GPU memory, on a window of the same node that the
        origin cannot map, send the data as a message of its own; of a window in host memory, and of
        MPI_Accumulate and MPI_Get_accumulate, 16 times as many. Negative: never.

    - name        : MPIR_CVAR_GPUDT_WIN_MSG_MIN_REMOTE
      category    : GPUDT
      type        : int
      default     : 131072
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        The same for windows of other nodes, if both the window and the buffer of the origin are in GPU
        memory, or the window is dynamic.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* Whether a message might map memory that is in use when MPI frees a window: if the driver has failed to
 * expose or map the window's, nobody unmaps what a message maps instead (MPIDI_Gpudt_win_unmap). */
static bool may_stay_mapped(const MPIR_Win * win)
{
    return win->create_flavor == MPI_WIN_FLAVOR_ALLOCATE &&
        MPIR_CVAR_GPUDT_DIRECT != MPIR_CVAR_GPUDT_DIRECT_never;
}

bool MPIDI_Gpudt_winmsg_may(const MPIR_Win * win)
{
    const MPIR_Comm *node = win->comm_ptr->node_comm;

    return node && node->local_size > 1 && !win->shm_allocated && !may_stay_mapped(win) &&
        win->create_flavor != MPI_WIN_FLAVOR_DYNAMIC;
}

/* Whether a message to or from another process may map memory: also one of another group, of which the node
 * is not known. */
static bool may_map(const MPIR_Win * win, int rank)
{
    MPIDI_VC_t *vc;

    MPIDI_Comm_get_vc(win->comm_ptr, rank, &vc);
    return MPIDI_Gpudt_may_share(vc);
}

/* Whether an operation between this process and host memory of the node should be done so, if its buffer
 * is on a GPU. Only a long one is worth the question whether it is. */
static bool is_apt_for_host(const struct MPIR_Gpudt_rma *r, MPI_Aint bytes)
{
    int is_contig;

    MPIR_Datatype_is_contig(r->datatype, &is_contig);
    return bytes >= MPIR_GPUDT_WIN_HOST_FACTOR * (MPI_Aint) MPIR_CVAR_GPUDT_WIN_MSG_MIN &&
        (!r->is_get || is_contig || bytes <= MPIR_GPUDT_WIN_GET_MAX);
}

/* Between host memory and other nodes, ch3 moves what is contiguous without a copy, and the other process's
 * GPU is the only one to wait for. What will be attached to a dynamic window is not known. */
bool MPIDI_Gpudt_winmsg_is_apt(const MPIR_Win * win, int rank, const struct MPIR_Gpudt_rma *r)
{
    const MPIR_Comm *comm = win->comm_ptr;
    const bool is_near = comm->node_comm && comm->intranode_table[rank] >= 0;
    const bool is_gpu = win->gpudt->is_gpu[rank];
    const bool may_be_gpu = is_gpu || win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC;
    const int min = is_near ? MPIR_CVAR_GPUDT_WIN_MSG_MIN : MPIR_CVAR_GPUDT_WIN_MSG_MIN_REMOTE;
    MPI_Aint bytes;

    MPIR_Datatype_get_size_macro(r->buftype, bytes);
    bytes *= r->bufcount;
    if (min < 0 || bytes < min || bytes == 0 || rank == comm->rank || win->shm_allocated ||
        (may_stay_mapped(win) && may_map(win, rank)))
        return false;
    if (is_near && is_gpu)
        return true;
    if (!may_be_gpu && !(is_near && is_apt_for_host(r, bytes)))
        return false;
    return MPIDI_Gpudt_rma_is_gpu(r->buf, r->bufcount, r->buftype);
}
