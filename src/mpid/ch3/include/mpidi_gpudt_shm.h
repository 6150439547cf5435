/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Host memory that the processes of a node share. */

#ifndef MPIDI_GPUDT_SHM_H_INCLUDED
#define MPIDI_GPUDT_SHM_H_INCLUDED

#define MPIDI_GPUDT_LINE 128    /* bytes between what two processes write: no line of a cache, nor its neighbour */

struct MPIDI_Gpudt_shm {
    MPL_shm_hnd_t hnd;
    MPI_Aint sz;
    char *mem;                  /* NULL: none */
};

/* Make memory of sz bytes for the processes of a communicator, who are on one node. Collective. On
 * return either all processes have it, or none has, for lack of memory or as one of them does not want it,
 * or there is an error.
 *   is_wanted  (IN)   by this process
 *   init       (IN)   called in one process, before the others have the memory, which is zero; may be
 *                     NULL. Returns false if it cannot be used.
 *   shm        (OUT)  freed by MPIDI_Gpudt_shm_free in any case */
int MPIDI_Gpudt_shm_make(MPIR_Comm * comm, MPI_Aint sz, bool is_wanted,
                         bool(*init) (void *mem, int nprocs), struct MPIDI_Gpudt_shm *shm);

/* Release this process's access to the memory, which exists until all have done so. */
void MPIDI_Gpudt_shm_free(struct MPIDI_Gpudt_shm *shm);

/* ---- exchanges in it (ch3u_gpudt_agree_shm.c) ---- */

/* Bytes of a process in an exchange, at most. */
#define MPIDI_GPUDT_AGREE_SHM_SZ 112

/* As MPIDI_Gpudt_agree_allgather, of MPIDI_GPUDT_AGREE_SHM_SZ bytes at most, if all processes have the
 * memory. */
int MPIDI_Gpudt_agree_shm_allgather(MPIR_Comm * comm, MPIR_Errflag_t * errflag, const void *own,
                                    int sz, void *all);

/* Release the memory of a communicator, if it has any. */
void MPIDI_Gpudt_agree_shm_free(MPIR_Comm * comm);

#endif /* MPIDI_GPUDT_SHM_H_INCLUDED */
