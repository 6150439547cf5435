/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Locks in memory that the processes of a node share, and room for something of each process beside
 * them. If a process dies that holds a lock, the others get an error and do not wait for ever: the
 * mutexes are robust, and never made consistent again. Must not know windows. */

#include "mpidimpl.h"
#include "mpidi_gpudt_window_impl.h"

#include <pthread.h>
#include <unistd.h>

#define LOCK_SZ MPIDI_GPUDT_LINE        /* bytes from one lock to the next */

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

/* Init the locks at the beginning of the memory. */
static bool locks_init(void *mem, int nprocs)
{
    struct MPIDI_Gpudt_winlock *lock = mem;
    bool is_good = true;

    for (int i = 0; i < nprocs; i++)
        is_good = is_good && lock_init(&lock[i]);
    return is_good;
}

int MPIDI_Gpudt_winlocks_make(MPIR_Comm * comm, MPI_Aint room_sz,
                              struct MPIDI_Gpudt_winlocks *locks)
{
    const MPI_Aint n = comm->local_size;
    int mpi_errno;

    locks->room_sz = (room_sz + LOCK_SZ - 1) / LOCK_SZ * LOCK_SZ;
    mpi_errno = MPIDI_Gpudt_shm_make(comm, n * ((MPI_Aint) sizeof(*locks->lock) + locks->room_sz),
                                     true, locks_init, &locks->shm);
    locks->lock = (struct MPIDI_Gpudt_winlock *) locks->shm.mem;
    locks->rooms = locks->lock ? (char *) (locks->lock + n) : NULL;
    return mpi_errno;
}

void MPIDI_Gpudt_winlocks_free(struct MPIDI_Gpudt_winlocks *locks)
{
    MPIDI_Gpudt_shm_free(&locks->shm);
    locks->lock = NULL;
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
