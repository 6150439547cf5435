/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Locks that are taken only if several threads may call MPI at a time (MPI_THREAD_MULTIPLE), as
 * MPICH's own are. Not for what functions use that any thread may always call: MPI_T_*, MPI_Info_*,
 * MPI_Session_init, MPI_Initialized and the like. */

#ifndef GPUDT_LOCK_H_INCLUDED
#define GPUDT_LOCK_H_INCLUDED

static inline void MPII_Gpudt_lock(MPL_initlock_t * lock)
{
    if (unlikely(MPIR_IS_THREADED))
        MPL_initlock_lock(lock);
}

static inline void MPII_Gpudt_unlock(MPL_initlock_t * lock)
{
    if (unlikely(MPIR_IS_THREADED))
        MPL_initlock_unlock(lock);
}

#endif /* GPUDT_LOCK_H_INCLUDED */
