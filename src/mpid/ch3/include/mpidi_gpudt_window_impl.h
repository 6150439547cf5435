/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Windows in GPU memory that processes of a node map, and those whose puts and gets are messages of their
 * own: what their files share; see mpidi_gpudt_window.h. */

#ifndef MPIDI_GPUDT_WINDOW_IMPL_H_INCLUDED
#define MPIDI_GPUDT_WINDOW_IMPL_H_INCLUDED

#include "mpidrma.h"
#include "gpudt_window.h"
#include "mpidi_gpudt_shm.h"

/* ---- locks (ch3u_gpudt_winlock.c) ---- */

/* A lock of one process's memory in one window, in memory that the processes of the node share. Who
 * holds it may do accumulates on that memory: one process, or several that use atomic operations of
 * GPUs. */
struct MPIDI_Gpudt_winlock;

#define MPIDI_GPUDT_WINLOCK_ALONE -1

/* The locks of a window, one for each process of the node, and a room for each beside them. */
struct MPIDI_Gpudt_winlocks {
    struct MPIDI_Gpudt_shm shm;
    struct MPIDI_Gpudt_winlock *lock;   /* NULL: none */
    char *rooms;                /* behind the locks */
    MPI_Aint room_sz;
};

/* Make the locks for the processes of a node. Collective. On return either all processes have them, or
 * none has, for lack of memory; then operations that need them go by messages.
 *   room_sz  (IN)  bytes of each room, which are zero at first; may be 0 */
int MPIDI_Gpudt_winlocks_make(MPIR_Comm * comm, MPI_Aint room_sz,
                              struct MPIDI_Gpudt_winlocks *locks);

/* Release this process's access to the locks, if it has them. */
void MPIDI_Gpudt_winlocks_free(struct MPIDI_Gpudt_winlocks *locks);

/* The lock of process i of the node; NULL if there are none. */
struct MPIDI_Gpudt_winlock *MPIDI_Gpudt_winlock_of(const struct MPIDI_Gpudt_winlocks *locks, int i);

/* The room of process i; NULL if there are no locks. Aligned to a line of the cache. */
void *MPIDI_Gpudt_winlock_room(const struct MPIDI_Gpudt_winlocks *locks, int i);

/* Take a lock, if it is free. An error if a process has died that held it alone, since it may have done
 * a part of its work: that lock cannot be taken any more.
 *   rank  (IN)  whose memory it is, for the error
 *   mine  (IN)  number of this process on the node, to hold the lock beside others that do so too;
 *               MPIDI_GPUDT_WINLOCK_ALONE: alone
 *   looks (IN)  to hold it alone: how often to look at most whether those that hold it beside each
 *               other have released it, once no more can take it; then these can again */
int MPIDI_Gpudt_winlock_try(struct MPIDI_Gpudt_winlock *lock, int rank, int mine, int looks,
                            bool * is_held);

/* By the thread that has taken it, in the same way. */
void MPIDI_Gpudt_winlock_release(struct MPIDI_Gpudt_winlock *lock, int mine);

/* ---- memory attached to dynamic windows (ch3u_gpudt_regions.c) ---- */

struct MPIDI_Gpudt_bounds {
    uint64_t base, size;        /* in bytes */
};

/* The GPU memory that a process has attached to a window, as far as others can map it; in memory that
 * the processes of the node share. All zero: none. */
struct MPIDI_Gpudt_regions;

/* A region, as it is attached, or as an operation has found it. */
struct MPIDI_Gpudt_region {
    uint64_t base, size;        /* address in its process, and bytes */
    uint64_t exposure[MPIR_GPUDT_EXPOSURE_SZ / sizeof(uint64_t)];
};

/* Bytes of a struct MPIDI_Gpudt_regions. */
MPI_Aint MPIDI_Gpudt_regions_sz(void);

/* Whether there is or was a region: as long as not, a window costs no more than one of host memory. */
bool MPIDI_Gpudt_regions_exist(const struct MPIDI_Gpudt_regions *r);

/* Add a region, if there is room. One that it overlaps has been freed without being detached, and is
 * removed. The caller owns the table.
 *   is_exposed  (IN)  false: others cannot map it, and it is not added */
void MPIDI_Gpudt_region_add(struct MPIDI_Gpudt_regions *r, const struct MPIDI_Gpudt_region *region,
                            bool is_exposed);

/* Remove the region that begins at an address, if there is one. The caller owns the table. */
void MPIDI_Gpudt_region_remove(struct MPIDI_Gpudt_regions *r, uint64_t base);

/* Find the region of an address of the process that has attached it. Returns false if there is none;
 * then *region is undefined. */
bool MPIDI_Gpudt_region_find(const struct MPIDI_Gpudt_regions *r, uint64_t addr,
                             struct MPIDI_Gpudt_region *region);

/* At the target of an operation: an error if the address is in GPU memory that is not attached to the
 * window, which is dynamic. As far as that is known. */
int MPIDI_Gpudt_win_address_check(const MPIR_Win * win, const void *addr, MPI_Datatype datatype);

/* ---- windows (ch3u_gpudt_expose.c, ch3u_gpudt_window.c) ---- */

struct MPIDI_Gpudt_copy;

struct MPIDI_Gpudt_peer {
    int rank;                   /* in the window's communicator; -1: no such process */
    MPIR_Gpudt_target_t *target;        /* NULL: cannot be mapped, or the window is dynamic */
    struct MPIDI_Gpudt_regions *regions;        /* of a dynamic window; NULL: none */
    struct MPIDI_Gpudt_winlock *lock;   /* NULL: others cannot map its memory, or there are none */
};

/* Datatypes of an origin that a target keeps. Either of them has such a table. */
struct MPIDI_Gpudt_wintypes;

/* Accumulates of an origin whose data are messages of their own, in the target. */
struct MPIDI_Gpudt_win_origin {
    int nrooms;                 /* that have memory */
    unsigned narrived, ncombined;       /* in all */
};

struct MPIDI_Gpudt_win {
    MPI_Win handle;
    bool is_exposed;            /* some process of the window has memory that others can map */
    bool is_host;               /* no process has memory on a GPU, or may attach some */
    bool *is_gpu;               /* of each process: its memory is on a GPU */
    struct MPIDI_Gpudt_wintypes **sent; /* to each process, or NULL; and received from it */
    struct MPIDI_Gpudt_wintypes **kept;
    int nmsgs;                  /* operations of this process by messages of their own, under way */
    int naccumulates;           /* those of them that are accumulates */
    unsigned last_msg;          /* number of the last one */
    struct MPIDI_Gpudt_win_origin *origins;     /* each process */
    struct MPIDI_Gpudt_copy *copies;    /* in flight */
    int ncopies;
    unsigned last_copy;         /* number of the last one */
    unsigned nwaits;            /* for copies */
    int njoined;                /* puts and gets that have joined others since the last wait */
    bool has_series;            /* before the last wait, there were some */
    struct MPIDI_Gpudt_copy *spare;     /* memory for more, of those that have ended */
    struct MPIDI_Gpudt_bounds *attached;        /* GPU memory of this process in a dynamic window */
    int nattached, max_attached;
    bool is_attached_unknown;   /* there was no memory for some of that */
    int nfences;                /* of a dynamic window since there was a region; the first few */
    bool is_late;               /* a post, a lock or the end of a fence has not come in time, in this
                                 * epoch */
    int npeers;                 /* processes of the node */
    struct MPIDI_Gpudt_peer *peer;
    MPIR_Gpudt_target_t *own;   /* for updates of the own memory; NULL: not by kernels */
    struct MPIDI_Gpudt_winlocks locks;
    struct MPIDI_Gpudt_winlock *held;   /* by MPIDI_Gpudt_win_hold; NULL: none */
};

/* A process of the node; NULL if it is on another one, or no memory in the window can be mapped. */
struct MPIDI_Gpudt_peer *MPIDI_Gpudt_win_peer(const MPIR_Win * win, int rank);

/* Whether this process may map memory of another one in the window: of a dynamic window, some that it
 * has or had attached. */
bool MPIDI_Gpudt_peer_is_mapped(const struct MPIDI_Gpudt_peer *peer);

/* Whether the processes of the node unmap the window's memory, and wait for each other before, when it is
 * freed. */
static inline bool MPIDI_Gpudt_win_is_unmapped(const MPIR_Win * win)
{
    return win->gpudt && win->create_flavor == MPI_WIN_FLAVOR_ALLOCATE && win->gpudt->npeers > 1;
}

/* The memory that an operation accesses.
 *   datatype  (IN)      what is there
 *   disp      (IN/OUT)  as given to the operation; then in bytes, from the start of that memory
 *   target    (OUT)     to be given to MPIDI_Gpudt_win_target_end. NULL: it cannot be mapped, or it is
 *                       of this process and not for kernels */
int MPIDI_Gpudt_win_target(const MPIR_Win * win, int rank, MPI_Datatype datatype, MPI_Aint * disp,
                           MPIR_Gpudt_target_t ** target);
void MPIDI_Gpudt_win_target_end(const MPIR_Win * win, MPIR_Gpudt_target_t * target);

/* Whether this process may access a target's memory now. Waits for MPI_Win_post, for a limited time and
 * once in an epoch. */
int MPIDI_Gpudt_win_access(MPIR_Win * win, int rank, bool * may_access);

/* The same. Waits for fences and locks, too, which nobody has waited for if the memory is not mapped. */
int MPIDI_Gpudt_win_await(MPIR_Win * win, int rank, bool * may_access);

/* ---- operations by messages of their own (ch3u_gpudt_winapt.c, ch3u_gpudt_winmsg.c, ch3u_gpudt_winacc.c) ---- */

/* Whether there may be such between GPUs of this process and windows of its node in host memory. For that
 * the window is to have its state, also if no memory of it is on a GPU. */
bool MPIDI_Gpudt_winmsg_may(const MPIR_Win * win);

/* Whether a put or get should be done so. */
bool MPIDI_Gpudt_winmsg_is_apt(const MPIR_Win * win, int rank, const struct MPIR_Gpudt_rma *r);

/* Start a put or get.
 *   r         (IN)   disp as given to the operation
 *   ureq      (IN)   request to complete at its end; NULL: none
 *   is_taken  (OUT)  false: it is not worth a message, or this process may not access the memory now */
int MPIDI_Gpudt_winmsg_move(MPIR_Win * win, int rank, const struct MPIR_Gpudt_rma *r,
                            MPIR_Request * ureq, bool * is_taken);

/* An operation. */
struct MPIDI_Gpudt_winop {
    struct MPIR_Gpudt_rma r;    /* disp as given to it. An accumulate: what MPI_Put would be given, but
                                 * is_get if it has a result */
    MPI_Aint off;               /* bytes from the displacement on */
    MPI_Op op;                  /* of an accumulate; MPI_OP_NULL: a put or get */
    void *result;
    int result_count;
    MPI_Datatype result_type;
};

/* Start an operation, whose target this process may access now.
 *   ureq  (IN)  as above. It is completed as often as it is given to this function */
int MPIDI_Gpudt_winmsg_start(MPIR_Win * win, int rank, const struct MPIDI_Gpudt_winop *o,
                             MPIR_Request * ureq);

/* A part of the operation of a request has ended: the last one completes it, and the first error counts. */
void MPIDI_Gpudt_winmsg_ureq_end(MPIR_Request * ureq, int mpi_errno);

/* Wait for the ends of those to and from a rank's memory; a negative rank: of all. The window keeps
 * their errors.
 *   last  (IN)  number of the last one that counts */
void MPIDI_Gpudt_winmsg_wait(MPIR_Win * win, int rank, unsigned last);

/* The same for the accumulates on a rank's memory that are under way now. */
void MPIDI_Gpudt_winmsg_wait_accumulates(MPIR_Win * win, int rank);

/* Start an accumulate in parts.
 *   ureq, is_taken  as above */
int MPIDI_Gpudt_winacc_start(MPIR_Win * win, int rank, const struct MPIDI_Gpudt_winop *o,
                             MPIR_Request * ureq, bool * is_taken);

/* Before an operation that must not overtake accumulates of this process on a rank's memory which are under
 * way: wait for them, unless the window's info allows any order. */
static inline void MPIDI_Gpudt_winacc_order(MPIR_Win * win, int rank)
{
    if (unlikely(win->gpudt->naccumulates) && win->info_args.accumulate_ordering)
        MPIDI_Gpudt_winmsg_wait_accumulates(win, rank);
}

/* In the target: the elements of an accumulate's data.
 *   n, basic, bytes  (OUT)  number, datatype, and bytes without gaps */
void MPIDI_Gpudt_winacc_elements(int count, MPI_Datatype datatype, MPI_Aint * n,
                                 MPI_Datatype * basic, MPI_Aint * bytes);

/* Memory for elements that an operation will combine, on the GPU of the target's address if possible.
 * NULL: none. Owned by the caller, to be freed by MPIDI_Gpudt_winacc_room_free, which allows NULL. */
void *MPIDI_Gpudt_winacc_room(const void *addr, MPI_Aint n, MPI_Datatype basic, MPI_Op op);
void MPIDI_Gpudt_winacc_room_free(void *room);

/* Combine them with the window.
 *   room, n, basic         (IN)  the elements of the origin
 *   old                    (IN)  memory for those that were there before; NULL: nobody wants them
 *   addr, count, datatype  (IN)  in the window */
int MPIDI_Gpudt_winacc_combine(MPIR_Win * win, void *room, MPI_Aint n, MPI_Datatype basic, void *old,
                               void *addr, int count, MPI_Datatype datatype, MPI_Op op);

/* Before a window is freed: wait for the ends of all, also those of other processes on its memory, and
 * free the datatypes that it keeps for them. */
void MPIDI_Gpudt_winmsg_end(MPIR_Win * win);

/* ---- datatypes of these (ch3u_gpudt_wintypes.c) ---- */

/* In the origin: find the slot in which the target keeps a datatype, or choose one for it.
 *   types  (IN/OUT)  made if it is NULL
 *   flat   (OUT)     the datatype, flattened, if the target is to keep it now, owned by the caller
 *   sz     (OUT)     its bytes; both are untouched if the target has it
 *   old    (OUT)     the datatype that was in the slot, or NULL; for MPIDI_Gpudt_wintypes_release when the
 *                    target has been told. Untouched if the target has `type` */
int MPIDI_Gpudt_wintypes_describe(struct MPIDI_Gpudt_wintypes **types, MPIR_Datatype * type,
                                  int *slot, void **flat, int64_t * sz, MPIR_Datatype ** old);
/* Functions of the program may run. NULL: does nothing. */
void MPIDI_Gpudt_wintypes_release(MPIR_Datatype * type);
/* The target has not got it. */
void MPIDI_Gpudt_wintypes_drop(struct MPIDI_Gpudt_wintypes *types, int slot);

/* In the target: keep a datatype in a slot, which is empty after a failure. */
int MPIDI_Gpudt_wintypes_keep(struct MPIDI_Gpudt_wintypes **types, int slot, const void *flat);
/* MPI_DATATYPE_NULL: the slot is empty. */
MPI_Datatype MPIDI_Gpudt_wintypes_get(const struct MPIDI_Gpudt_wintypes *types, int slot);

void MPIDI_Gpudt_wintypes_free(struct MPIDI_Gpudt_wintypes *types);

/* ---- copies in flight (ch3u_gpudt_copies.c) ---- */

/* Make room for one more copy: if there are too many, wait for one. */
void MPIDI_Gpudt_win_copies_limit(struct MPIDI_Gpudt_win *w);

/* Take over an operation in flight. Without memory, it is waited for.
 *   rank  (IN)  of the target
 *   op    (IN)  NULL: it is complete
 *   ureq  (IN)  request to complete at its end; NULL: none */
int MPIDI_Gpudt_win_copy_add(struct MPIDI_Gpudt_win *w, int rank, MPIR_Gpudt_op * op,
                             MPIR_Request * ureq);

/* Free the memory that is kept for copies. None is in flight. */
void MPIDI_Gpudt_win_copies_free(struct MPIDI_Gpudt_win *w);

#endif /* MPIDI_GPUDT_WINDOW_IMPL_H_INCLUDED */
