/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Locks in memory that the processes of a node share, and room for something of each process beside
 * them. If a process dies that holds a lock, the others get an error and do not wait for ever: the
 * mutexes are robust, and never made consistent again. Must not know windows. */

#include "mpidimpl.h"
#include "mpidi_gpudt_coll_impl.h"
#include "mpidi_gpudt_window_impl.h"

#include <pthread.h>
#include <unistd.h>

#define LOCK_SZ 128             /* bytes from one lock to the next, so that they share no cache line */

struct MPIDI_Gpudt_winlock {
    union {
        pthread_mutex_t mutex;
        char pad[LOCK_SZ];
    } u;
};

/* Returns whether the lock can be used. Only POSIX of 2008 has robust mutexes. */
static bool lock_init(struct MPIDI_Gpudt_winlock *lock)
{
    bool is_good = false;
#if defined(_POSIX_VERSION) && _POSIX_VERSION >= 200809L
    pthread_mutexattr_t attr;

    if (pthread_mutexattr_init(&attr))
        return false;
    is_good = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) == 0 &&
        pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) == 0 &&
        pthread_mutex_init(&lock->u.mutex, &attr) == 0;
    pthread_mutexattr_destroy(&attr);
#endif
    return is_good;
}

/* Make the shared memory.
 *   name  (OUT)  how others find it; empty if there is none */
static void memory_make(struct MPIDI_Gpudt_winlocks *locks, int n, char name[MPL_SHM_GHND_SZ])
{
    char *serialized = NULL;
    bool is_good = true;

    if (MPL_shm_seg_create_and_attach(locks->hnd, locks->sz, (void **) &locks->lock, 0) !=
        MPL_SUCCESS) {
        locks->lock = NULL;
        return;
    }
    for (int i = 0; i < n; i++)
        is_good = is_good && lock_init(&locks->lock[i]);
    if (is_good && MPL_shm_hnd_get_serialized_by_ref(locks->hnd, &serialized) == MPL_SUCCESS)
        MPL_strncpy(name, serialized, MPL_SHM_GHND_SZ);
}

static void memory_attach(struct MPIDI_Gpudt_winlocks *locks, const char *name)
{
    if (MPL_shm_hnd_deserialize(locks->hnd, name, strlen(name)) != MPL_SUCCESS ||
        MPL_shm_seg_attach(locks->hnd, locks->sz, (void **) &locks->lock, 0) != MPL_SUCCESS)
        locks->lock = NULL;
}

int MPIDI_Gpudt_winlocks_make(MPIR_Comm * comm, MPI_Aint room_sz,
                              struct MPIDI_Gpudt_winlocks *locks)
{
    int mpi_errno = MPI_SUCCESS, have_all = 0;
    const bool is_first = comm->rank == 0;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    char name[MPL_SHM_GHND_SZ] = "";

    locks->lock = NULL;
    locks->room_sz = (room_sz + LOCK_SZ - 1) / LOCK_SZ * LOCK_SZ;
    locks->sz = comm->local_size * ((MPI_Aint) sizeof(*locks->lock) + locks->room_sz);
    if (MPL_shm_hnd_init(&locks->hnd) != MPL_SUCCESS)
        locks->hnd = MPL_SHM_HND_INVALID;
    if (is_first && locks->hnd != MPL_SHM_HND_INVALID)
        memory_make(locks, comm->local_size, name);
    mpi_errno = MPIDI_Gpudt_agree_bcast(comm, &errflag, 0, name, sizeof(name));
    MPIR_ERR_CHECK(mpi_errno);
    if (!is_first && name[0] && locks->hnd != MPL_SHM_HND_INVALID)
        memory_attach(locks, name);
    have_all = name[0] && locks->lock;
    if (locks->lock)
        locks->rooms = (char *) (locks->lock + comm->local_size);
    mpi_errno = MPIR_Allreduce(MPI_IN_PLACE, &have_all, 1, MPI_INT, MPI_MIN, comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(errflag, mpi_errno, MPI_ERR_OTHER, "**coll_fail");

  fn_exit:
    /* the memory exists until all have detached from it */
    if (is_first && locks->lock)
        (void) MPL_shm_seg_remove(locks->hnd);
    if (mpi_errno || !have_all)
        MPIDI_Gpudt_winlocks_free(locks);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_Gpudt_winlocks_free(struct MPIDI_Gpudt_winlocks *locks)
{
    if (locks->lock)
        (void) MPL_shm_seg_detach(locks->hnd, (void **) &locks->lock, locks->sz);
    if (locks->hnd != MPL_SHM_HND_INVALID)
        (void) MPL_shm_hnd_finalize(&locks->hnd);
    locks->lock = NULL;
    locks->hnd = MPL_SHM_HND_INVALID;
}

struct MPIDI_Gpudt_winlock *MPIDI_Gpudt_winlock_of(const struct MPIDI_Gpudt_winlocks *locks, int i)
{
    return locks->lock ? &locks->lock[i] : NULL;
}

void *MPIDI_Gpudt_winlock_room(const struct MPIDI_Gpudt_winlocks *locks, int i)
{
    return locks->lock ? locks->rooms + i * locks->room_sz : NULL;
}

int MPIDI_Gpudt_winlock_try(struct MPIDI_Gpudt_winlock *lock, int rank, bool * is_held)
{
    int mpi_errno = MPI_SUCCESS;
    int err = pthread_mutex_trylock(&lock->u.mutex);

    *is_held = err == 0;
    /* Released as it is, it cannot be taken any more */
    if (err == EOWNERDEAD)
        pthread_mutex_unlock(&lock->u.mutex);
    MPIR_ERR_CHKANDJUMP1(err && err != EBUSY, mpi_errno, MPI_ERR_OTHER, "**gpudt_lock",
                         "**gpudt_lock %d", rank);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_Gpudt_winlock_release(struct MPIDI_Gpudt_winlock *lock)
{
    pthread_mutex_unlock(&lock->u.mutex);
}
