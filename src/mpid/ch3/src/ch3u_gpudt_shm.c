/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Host memory that the processes of a node share; see mpidi_gpudt_shm.h. */

#include "mpidimpl.h"
#include "mpidi_gpudt_coll_impl.h"
#include "mpidi_gpudt_shm.h"

/* Make the memory.
 *   name  (OUT)  how others find it; empty if there is none */
static void memory_make(struct MPIDI_Gpudt_shm *shm, bool(*init) (void *mem, int nprocs), int nprocs,
                        char name[MPL_SHM_GHND_SZ])
{
    char *serialized = NULL;

    if (MPL_shm_seg_create_and_attach(shm->hnd, shm->sz, (void **) &shm->mem, 0) != MPL_SUCCESS) {
        shm->mem = NULL;
        return;
    }
    if ((init == NULL || init(shm->mem, nprocs)) &&
        MPL_shm_hnd_get_serialized_by_ref(shm->hnd, &serialized) == MPL_SUCCESS)
        MPL_strncpy(name, serialized, MPL_SHM_GHND_SZ);
}

static void memory_attach(struct MPIDI_Gpudt_shm *shm, const char *name)
{
    if (MPL_shm_hnd_deserialize(shm->hnd, name, strlen(name)) != MPL_SUCCESS ||
        MPL_shm_seg_attach(shm->hnd, shm->sz, (void **) &shm->mem, 0) != MPL_SUCCESS)
        shm->mem = NULL;
}

int MPIDI_Gpudt_shm_make(MPIR_Comm * comm, MPI_Aint sz, bool is_wanted,
                         bool(*init) (void *mem, int nprocs), struct MPIDI_Gpudt_shm *shm)
{
    int mpi_errno = MPI_SUCCESS, told_errno;
    const bool is_first = comm->rank == 0;
    bool have_all = false, is_possible;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    char name[MPL_SHM_GHND_SZ] = "";

    shm->mem = NULL;
    shm->sz = sz;
    if (MPL_shm_hnd_init(&shm->hnd) != MPL_SUCCESS)
        shm->hnd = MPL_SHM_HND_INVALID;
    is_possible = is_wanted && shm->hnd != MPL_SHM_HND_INVALID;
    if (is_first && is_possible)
        memory_make(shm, init, comm->local_size, name);
    mpi_errno = MPIDI_Gpudt_agree_bcast(comm, &errflag, 0, name, sizeof(name));
    if (mpi_errno == MPI_SUCCESS && !is_first && name[0] && is_possible)
        memory_attach(shm, name);
    have_all = mpi_errno == MPI_SUCCESS && name[0] && shm->mem;
    /* After an error, too: the others wait for this process */
    told_errno = MPIDI_Gpudt_agree_all(comm, &errflag, &have_all);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = told_errno;
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    if (is_first && shm->mem)
        (void) MPL_shm_seg_remove(shm->hnd);
    if (mpi_errno || !have_all)
        MPIDI_Gpudt_shm_free(shm);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_Gpudt_shm_free(struct MPIDI_Gpudt_shm *shm)
{
    if (shm->mem)
        (void) MPL_shm_seg_detach(shm->hnd, (void **) &shm->mem, shm->sz);
    if (shm->hnd != MPL_SHM_HND_INVALID)
        (void) MPL_shm_hnd_finalize(&shm->hnd);
    shm->mem = NULL;
    shm->hnd = MPL_SHM_HND_INVALID;
}
