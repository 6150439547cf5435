/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Locks in memory that the processes of a node share, and room for something of each process beside
 * them. A lock consists of several mutexes: a process takes one of them to hold the lock beside
 * others, and all of them to hold it alone. The mutexes are robust. If a process dies that holds a lock
 * alone, the others get an error and do not wait for ever: the mutexes are never made consistent again.
 * If it held the lock beside others, each element has been updated or not, and they go on. Must not know
 * windows. */

#include "mpidimpl.h"
#include "mpidi_gpudt_window_impl.h"

#include <pthread.h>
#include <unistd.h>

#include "mpidu_yield.h"

#define WAYS 8                  /* processes that hold a lock beside each other, at most */

struct MPIDI_Gpudt_winlock {
    union {
        MPL_atomic_int_t is_alone;      /* a process holds it alone */
        char pad[MPIDI_GPUDT_LINE];
    } u;
    union {
        pthread_mutex_t mutex;
        char pad[MPIDI_GPUDT_LINE];
    } way[WAYS];
};

/* Returns whether the lock can be used. Only POSIX of 2008 has robust mutexes. */
static bool lock_init(struct MPIDI_Gpudt_winlock *lock)
{
    bool is_good = false;

    MPL_atomic_relaxed_store_int(&lock->u.is_alone, 0);
#if defined(_POSIX_VERSION) && _POSIX_VERSION >= 200809L
    pthread_mutexattr_t attr;

    if (pthread_mutexattr_init(&attr))
        return false;
    is_good = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) == 0 &&
        pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) == 0;
    for (int i = 0; i < WAYS; i++)
        is_good = is_good && pthread_mutex_init(&lock->way[i].mutex, &attr) == 0;
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

    locks->room_sz = (room_sz + MPIDI_GPUDT_LINE - 1) / MPIDI_GPUDT_LINE * MPIDI_GPUDT_LINE;
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

/* ---- taking ---- */

/* Take over a mutex whose owner has died, if what it protects is good. Returns 0, or an error. */
static int way_recover(struct MPIDI_Gpudt_winlock *lock, int i)
{
    int err = EOWNERDEAD;

#if defined(_POSIX_VERSION) && _POSIX_VERSION >= 200809L
    if (!MPL_atomic_acquire_load_int(&lock->u.is_alone))
        err = pthread_mutex_consistent(&lock->way[i].mutex);
#endif
    /* Released as it is, it cannot be taken any more */
    if (err)
        pthread_mutex_unlock(&lock->way[i].mutex);
    return err;
}

/* Take a mutex, if it is free. */
static int way_try(struct MPIDI_Gpudt_winlock *lock, int i, int rank, bool * is_held)
{
    int mpi_errno = MPI_SUCCESS;
    int err = pthread_mutex_trylock(&lock->way[i].mutex);

    if (err == EOWNERDEAD)
        err = way_recover(lock, i);
    *is_held = err == 0;
    MPIR_ERR_CHKANDJUMP1(err && err != EBUSY, mpi_errno, MPI_ERR_OTHER, "**gpudt_lock",
                         "**gpudt_lock %d", rank);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void ways_release(struct MPIDI_Gpudt_winlock *lock)
{
    MPL_atomic_release_store_int(&lock->u.is_alone, 0);
    for (int i = 0; i < WAYS; i++)
        pthread_mutex_unlock(&lock->way[i].mutex);
}

/* Take all mutexes. Whoever has the first one soon gets the others, as all others take only one. */
static int ways_try(struct MPIDI_Gpudt_winlock *lock, int rank, int looks, bool * is_held)
{
    int mpi_errno = MPI_SUCCESS;
    int n = 0;

    while (n < WAYS && looks > 0) {
        mpi_errno = way_try(lock, n, rank, is_held);
        MPIR_ERR_CHECK(mpi_errno);
        if (*is_held)
            n++;
        else if (n == 0)
            break;
        else if (--looks)
            MPIDU_yield();
    }
    *is_held = n == WAYS;
    if (*is_held)
        MPL_atomic_release_store_int(&lock->u.is_alone, 1);

  fn_exit:
    for (int i = 0; !*is_held && i < n; i++)
        pthread_mutex_unlock(&lock->way[i].mutex);
    return mpi_errno;
  fn_fail:
    *is_held = false;
    goto fn_exit;
}

int MPIDI_Gpudt_winlock_try(struct MPIDI_Gpudt_winlock *lock, int rank, int mine, int looks,
                            bool * is_held)
{
    return mine == MPIDI_GPUDT_WINLOCK_ALONE ? ways_try(lock, rank, looks, is_held) :
        way_try(lock, mine % WAYS, rank, is_held);
}

void MPIDI_Gpudt_winlock_release(struct MPIDI_Gpudt_winlock *lock, int mine)
{
    if (mine == MPIDI_GPUDT_WINLOCK_ALONE)
        ways_release(lock);
    else
        pthread_mutex_unlock(&lock->way[mine % WAYS].mutex);
}
