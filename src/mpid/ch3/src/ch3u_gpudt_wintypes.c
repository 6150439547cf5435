/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Datatypes of puts and gets that are messages (ch3u_gpudt_winmsg.c), which the target keeps. The origin
 * decides which, and sends one that is not there with the operation. It keeps them itself: so none is
 * mistaken for another one that was freed. Must not know operations. */

#include "mpidimpl.h"
#include "mpidi_gpudt_window_impl.h"

#define NSLOTS 8

struct MPIDI_Gpudt_wintypes {
    MPIR_Datatype *type[NSLOTS];        /* NULL: none */
    int next;                   /* the slot to use next, in the origin */
};

/* The table, which is made if there is none; NULL: there is no memory. */
static struct MPIDI_Gpudt_wintypes *table_get(struct MPIDI_Gpudt_wintypes **types)
{
    if (*types == NULL)
        *types = MPL_calloc(1, sizeof(**types), MPL_MEM_RMA);
    return *types;
}

/* Returns what was in the slot, to be released when nothing depends on the table any more: functions of the
 * program may run then. */
static MPIR_Datatype *slot_set(struct MPIDI_Gpudt_wintypes *types, int slot, MPIR_Datatype * type)
{
    MPIR_Datatype *old = types->type[slot];

    types->type[slot] = type;
    return old;
}

static void slot_clear(struct MPIDI_Gpudt_wintypes *types, int slot)
{
    MPIDI_Gpudt_wintypes_release(slot_set(types, slot, NULL));
}

void MPIDI_Gpudt_wintypes_release(MPIR_Datatype * type)
{
    if (type)
        MPIR_Datatype_ptr_release(type);
}

int MPIDI_Gpudt_wintypes_describe(struct MPIDI_Gpudt_wintypes **types, MPIR_Datatype * type,
                                  int *slot, void **flat, int64_t * sz, MPIR_Datatype ** old)
{
    int mpi_errno = MPI_SUCCESS, flat_sz, i = 0;
    struct MPIDI_Gpudt_wintypes *t = table_get(types);
    void *mem = NULL;

    MPIR_ERR_CHKANDJUMP1(!t, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "GPU window");
    while (i < NSLOTS && t->type[i] != type)
        i++;
    if (i == NSLOTS) {
        MPIR_Typerep_flatten_size(type, &flat_sz);
        mem = MPL_malloc(flat_sz, MPL_MEM_RMA);
        MPIR_ERR_CHKANDJUMP1(!mem, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "datatype");
        mpi_errno = MPIR_Typerep_flatten(type, mem);
        MPIR_ERR_CHECK(mpi_errno);
        i = t->next;
        t->next = (i + 1) % NSLOTS;
        MPIR_Datatype_ptr_add_ref(type);
        *old = slot_set(t, i, type);
        *flat = mem;
        *sz = flat_sz;
    }
    *slot = i;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(mem);
    goto fn_exit;
}

void MPIDI_Gpudt_wintypes_drop(struct MPIDI_Gpudt_wintypes *types, int slot)
{
    slot_clear(types, slot);
}

int MPIDI_Gpudt_wintypes_keep(struct MPIDI_Gpudt_wintypes **types, int slot, const void *flat)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_wintypes *t = table_get(types);
    MPIR_Datatype *type = NULL;

    MPIR_ERR_CHKANDJUMP1(!t, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "GPU window");
    slot_clear(t, slot);
    type = (MPIR_Datatype *) MPIR_Handle_obj_alloc(&MPIR_Datatype_mem);
    MPIR_ERR_CHKANDJUMP1(!type, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "datatype");
    MPIR_Object_set_ref(type, 1);
    mpi_errno = MPIR_Typerep_unflatten(type, (void *) flat);
    MPIR_ERR_CHECK(mpi_errno);
    t->type[slot] = type;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (type)
        MPIR_Handle_obj_free(&MPIR_Datatype_mem, type);
    goto fn_exit;
}

MPI_Datatype MPIDI_Gpudt_wintypes_get(const struct MPIDI_Gpudt_wintypes *types, int slot)
{
    return types && types->type[slot] ? types->type[slot]->handle : MPI_DATATYPE_NULL;
}

void MPIDI_Gpudt_wintypes_free(struct MPIDI_Gpudt_wintypes *types)
{
    for (int i = 0; types && i < NSLOTS; i++)
        slot_clear(types, i);
    MPL_free(types);
}
