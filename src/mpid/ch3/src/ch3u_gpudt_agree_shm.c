/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What the processes of a collective between GPUs of a node tell each other, in memory that they share:
 * each writes what it tells into a place of its own, and reads those of the others, which takes one
 * transfer of two cache lines between processors, where messages take several one after the other.
 *
 * A place is written again two exchanges later. By then its process has seen all others in the
 * exchange between, so that they have read what was there.
 *
 * A process that no longer takes part would leave the others waiting, who see no error that others get. So
 * programs that go on after a process has died exchange messages instead (MPIDI_Gpudt_agree_prepare). */

#include "mpidimpl.h"
#include "mpidi_gpudt_coll_impl.h"
#include "mpidi_gpudt_move_impl.h"
#include "mpidi_gpudt_shm.h"

#define SPINS 100               /* looks at a place between two polls of the progress engine */
#define POLLS 8                 /* polls before others may have the processor */

/* Number before that of the first exchange: as an int, numbers are soon negative, and not only after more
 * exchanges than a test does. */
#define FIRST_NUMBER ((unsigned) INT_MAX - 8)

/* What a process tells in an exchange. */
struct place {
    MPL_atomic_int_t number;    /* of the exchange */
    int32_t sz;
    int32_t errflag;
    char data[MPIDI_GPUDT_AGREE_SHM_SZ];
};

/* What a process writes: the places of even and odd exchanges. */
struct told {
    union {
        struct place place;
        char pad[MPIDI_GPUDT_LINE];
    } of[2];
};

struct MPIDI_Gpudt_agree_shm {
    struct MPIDI_Gpudt_shm shm;
    unsigned number;            /* of the last exchange; 0 comes after the greatest one */
};

static int memory_make(MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_agree_shm *a = MPL_calloc(1, sizeof(*a), MPL_MEM_COMM), none;
    struct MPIDI_Gpudt_shm *shm = a ? &a->shm : &none.shm;

    MPIR_Static_assert(sizeof(struct MPIDI_Gpudt_coll_name) <= MPIDI_GPUDT_AGREE_SHM_SZ &&
                       sizeof(struct MPIDI_Gpudt_ability) <= MPIDI_GPUDT_AGREE_SHM_SZ &&
                       sizeof(struct MPIDI_Gpudt_ability) != sizeof(struct MPIDI_Gpudt_coll_name),
                       "a call's description has room, and tells reductions from moves");
    mpi_errno = MPIDI_Gpudt_shm_make(comm, comm->local_size * (MPI_Aint) sizeof(struct told), a != NULL,
                                     NULL, shm);
    if (shm->mem) {
        a->number = FIRST_NUMBER;
        comm->dev.gpudt_coll.agree_shm = a;
    } else {
        MPL_free(a);
    }
    return mpi_errno;
}

int MPIDI_Gpudt_agree_prepare(MPIR_Comm * comm)
{
    if (likely(comm->dev.gpudt_coll.has_asked_shm) || MPIR_CVAR_ENABLE_FT)
        return MPI_SUCCESS;
    comm->dev.gpudt_coll.has_asked_shm = true;
    return memory_make(comm);
}

void MPIDI_Gpudt_agree_shm_free(MPIR_Comm * comm)
{
    struct MPIDI_Gpudt_agree_shm *a = comm->dev.gpudt_coll.agree_shm;

    if (a == NULL)
        return;
    MPIDI_Gpudt_shm_free(&a->shm);
    MPL_free(a);
    comm->dev.gpudt_coll.agree_shm = NULL;
}

static struct place *place_of(const struct MPIDI_Gpudt_agree_shm *a, int rank)
{
    return &((struct told *) a->shm.mem)[rank].of[a->number % 2].place;
}

/* Why a process will not be seen any more, or MPI_SUCCESS. */
static int wait_check(MPIR_Comm * comm, int rank)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_VC_t *vc;

    MPIDI_Comm_get_vc(comm, rank, &vc);
    MPIR_ERR_CHKANDJUMP1(vc->state == MPIDI_VC_STATE_MORIBUND, mpi_errno, MPIX_ERR_PROC_FAILED,
                         "**comm_fail", "**comm_fail %d", rank);
    MPIR_ERR_CHKANDJUMP(comm->revoked, mpi_errno, MPIX_ERR_REVOKED, "**revoked");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Wait until a process has told. Messages go on meanwhile, and other threads can call MPI. */
static int place_wait(MPIR_Comm * comm, const struct place *place, int number, int rank)
{
    int mpi_errno = MPI_SUCCESS, nspins = 0, npolls = 0;

    while (MPL_atomic_acquire_load_int(&place->number) != number) {
        if (++nspins < SPINS)
            continue;
        nspins = 0;
        MPIDI_Gpudt_coll_yield();
        mpi_errno = wait_check(comm, rank);
        MPIR_ERR_CHECK(mpi_errno);
        if (++npolls >= POLLS)
            MPL_sched_yield();
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Read what a process has told.
 *   to       (OUT)     sz bytes, unless that process has an error
 *   errflag  (IN/OUT)  of this process; that of the other one, if it has an error */
static int place_read(const struct place *place, int rank, int sz, void *to,
                      MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS;

    if (place->errflag != MPIR_ERR_NONE) {
        *errflag = (MPIR_Errflag_t) place->errflag;
        goto fn_exit;
    }
    MPIR_ERR_CHKANDJUMP3(place->sz != sz, mpi_errno, MPI_ERR_OTHER, "**gpudt_told",
                         "**gpudt_told %d %d %d", rank, (int) place->sz, sz);
    memcpy(to, place->data, (size_t) sz);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Gpudt_agree_shm_allgather(MPIR_Comm * comm, MPIR_Errflag_t * errflag, const void *own,
                                    int sz, void *all)
{
    int mpi_errno = MPI_SUCCESS, mpi_errno_ret = MPI_SUCCESS;
    struct MPIDI_Gpudt_agree_shm *a = comm->dev.gpudt_coll.agree_shm;
    const int rank = comm->rank, size = comm->local_size;
    struct place *mine;
    int number;

    /* Other threads may exchange on other communicators meanwhile, none on this one */
    number = (int) ++a->number;
    mine = place_of(a, rank);
    mine->sz = sz;
    mine->errflag = *errflag;
    memcpy(mine->data, own, (size_t) sz);
    memcpy((char *) all + rank * sz, own, (size_t) sz);
    MPL_atomic_release_store_int(&mine->number, number);
    for (int step = 1; step < size; step++) {
        const int i = (rank + step) % size;

        mpi_errno = place_wait(comm, place_of(a, i), number, i);
        if (mpi_errno == MPI_SUCCESS)
            mpi_errno = place_read(place_of(a, i), i, sz, (char *) all + i * sz, errflag);
        MPIDI_Gpudt_agree_note(mpi_errno, &mpi_errno_ret, errflag);
    }
    return MPIDI_Gpudt_agree_result(mpi_errno_ret, *errflag);
}
