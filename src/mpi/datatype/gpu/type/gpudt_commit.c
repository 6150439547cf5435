/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Owns the state that the engine keeps with a datatype. The state is built at commit, or at the
 * first use if building it is quick. It is freed with the datatype or with the last operation that
 * uses it, whichever comes later. Does not know what the engine keeps in it for each device.
 *
 * The datatype object holds one reference through its slot. A slot is set once, from NULL, by an
 * atomic compare and swap: threads that build the same state concurrently all use the first one
 * stored, and none blocks. Users of a datatype keep its object alive, so that a slot cannot be
 * cleared while it is read. Before there is a state, the slot counts short packs by the CPU, with
 * numbers that are no addresses. */

#include "mpiimpl.h"
#include "dataloop_internal.h"
#include "gpudt_canon.h"
#include "gpudt_debug.h"
#include "gpudt_error.h"
#include "gpudt_serialize.h"
#include "gpudt_type.h"

#include <stdio.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

categories:
    - name        : GPUDT
      description : CVARs of the datatype engine for GPU memory

cvars:
    - name        : MPIR_CVAR_GPUDT_DUMP
      category    : GPUDT
      type        : boolean
      default     : false
      class       : none
      verbosity   : MPI_T_VERBOSITY_MPIDEV_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        If true, print the records of each datatype to stderr when the datatype is prepared for use
        with GPU memory: first as its constructors describe it, then in canonical form.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* Maximum size of a dataloop whose type gets its state at the first use instead of at commit. The
 * microsecond or two to build the state is small beside a launch. Most types are made, committed
 * and used a few times, or only on the host, and building their state takes several times as long
 * as the rest of the commit. */
#define QUICK_LOOP_SZ 2048

/* The CPU uses a state for so many bytes at once, or after so many uses for fewer: before, building
 * it takes longer than it saves. Building the state of a long list takes longer than one pack, so
 * that a list that is packed once goes without. */
#define WORTH_BYTES 2048
#define WORTH_USES 16
#define WORTH_USES_LIST 1

/* Entries of a list that a dump prints. */
#define DUMP_MAX_LIST 16

void (*MPII_Gpudt_published_free) (void *published) = NULL;

static MPL_atomic_uint64_t next_id = MPL_ATOMIC_UINT64_T_INITIALIZER(1);

/* Whether what is in a slot is a state, and not a count of uses. */
static inline bool is_state(const void *found)
{
    return (uintptr_t) found > WORTH_USES;
}

static int type_create(MPI_Datatype datatype, struct MPII_Gpudt_type **type);
static void text_print(const char *title, MPI_Datatype datatype, int rc, char *text);

int MPII_Gpudt_type_get(MPI_Datatype datatype, struct MPII_Gpudt_type **type)
{
    int mpi_errno = MPI_SUCCESS;
    void **slot = NULL;
    void *found = NULL;
    struct MPII_Gpudt_type *fresh;

    if (!HANDLE_IS_BUILTIN(datatype)) {
        MPIR_Datatype *dtp;

        MPIR_Datatype_get_ptr(datatype, dtp);
        MPIR_Assert(dtp != NULL);
        slot = MPII_Gpudt_type_slot(dtp);
        found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    }

    if (!is_state(found)) {
        mpi_errno = type_create(datatype, &fresh);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        if (slot == NULL) {
            /* its only reference is the caller's */
            *type = fresh;
            goto fn_exit;
        }
        while (!is_state(found)) {
            if (__atomic_compare_exchange_n(slot, &found, fresh, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE))
                found = fresh;
        }
        if (found != fresh)
            MPII_Gpudt_type_release(fresh);
    }
    MPII_Gpudt_type_add_ref(found);
    *type = found;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

uint64_t MPII_Gpudt_type_id(MPI_Datatype datatype)
{
    MPIR_Datatype *dtp;
    const struct MPII_Gpudt_type *found;

    MPIR_Datatype_get_ptr(datatype, dtp);
    found = __atomic_load_n(MPII_Gpudt_type_slot(dtp), __ATOMIC_ACQUIRE);
    return is_state(found) ? found->id : 0;
}

/* Whether MPICH's engine can go through a dataloop: it has that many levels at most. */
static bool is_flat_enough(const MPII_Dataloop * loop, int nlevels)
{
    if (nlevels == 0)
        return false;
    if (loop->kind & MPII_DATALOOP_FINAL_MASK)
        return true;
    if ((loop->kind & MPII_DATALOOP_KIND_MASK) != MPII_DATALOOP_KIND_STRUCT)
        return is_flat_enough(loop->loop_params.cm_t.dataloop, nlevels - 1);
    for (MPI_Aint i = 0; i < loop->loop_params.s_t.count; i++) {
        if (!is_flat_enough(loop->loop_params.s_t.dataloop_array[i], nlevels - 1))
            return false;
    }
    return true;
}

const struct MPII_Gpudt_type *MPII_Gpudt_type_for_cpu(MPIR_Datatype * dtp, int64_t n)
{
    void **slot = MPII_Gpudt_type_slot(dtp);
    void *found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    const MPII_Dataloop *loop = dtp->typerep.handle;
    struct MPII_Gpudt_type *type;
    uintptr_t worth = WORTH_USES;

    if (likely(is_state(found)))
        return found;
    if (n >= WORTH_BYTES)
        worth = loop->dloop_sz <= QUICK_LOOP_SZ ? 0 : WORTH_USES_LIST;
    /* one level is for the count */
    if ((uintptr_t) found < worth && is_flat_enough(loop, MPII_DATALOOP_MAX_DATATYPE_DEPTH - 1)) {
        /* it is no matter if another thread's use is not counted */
        __atomic_compare_exchange_n(slot, &found, (void *) ((uintptr_t) found + 1), false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        return NULL;
    }
    if (MPII_Gpudt_type_get(dtp->handle, &type) != MPI_SUCCESS)
        return NULL;
    /* the slot keeps a reference */
    MPII_Gpudt_type_release(type);
    return type;
}

uint64_t MPII_Gpudt_type_new_id(void)
{
    return MPL_atomic_fetch_add_uint64(&next_id, 1);
}

void MPII_Gpudt_type_add_ref(struct MPII_Gpudt_type *type)
{
    MPL_atomic_fetch_add_int(&type->ref_count, 1);
}

void MPII_Gpudt_type_release(struct MPII_Gpudt_type *type)
{
    if (MPL_atomic_fetch_sub_int(&type->ref_count, 1) > 1)
        return;
    if (type->upload)
        type->upload_free(type->upload);
    if (type->published)
        MPII_Gpudt_published_free(type->published);
    MPII_Gpudt_serial_free(&type->serial);
    MPL_free(type);
}

void MPIR_Gpudt_type_commit(MPI_Datatype datatype)
{
    struct MPII_Gpudt_type *type;
    MPIR_Datatype *dtp;
    const MPII_Dataloop *loop;

    MPIR_Datatype_get_ptr(datatype, dtp);
    loop = dtp->typerep.handle;
    if (loop == NULL || loop->dloop_sz <= QUICK_LOOP_SZ)
        return;
    if (MPII_Gpudt_type_get(datatype, &type) == MPI_SUCCESS)
        MPII_Gpudt_type_release(type);
}

void MPIR_Gpudt_type_free(MPIR_Datatype * dtp)
{
    void *found = __atomic_exchange_n(MPII_Gpudt_type_slot(dtp), NULL, __ATOMIC_ACQ_REL);

    if (is_state(found))
        MPII_Gpudt_type_release(found);
}

/* Serialize and canonicalize. The state has one reference, for the caller. */
static int type_create(MPI_Datatype datatype, struct MPII_Gpudt_type **type)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_raw raw;
    struct MPII_Gpudt_type *fresh = NULL;
    char *text = NULL;
    int rc;

    MPIR_FUNC_ENTER;

    fresh = MPL_malloc(sizeof(*fresh), MPL_MEM_DATATYPE);
    MPII_GPUDT_ERR_NOMEM(fresh == NULL, mpi_errno, "state of a datatype");
    mpi_errno = MPII_Gpudt_serialize(datatype, &raw);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (MPIR_CVAR_GPUDT_DUMP) {
        rc = MPII_Gpudt_debug_raw(&raw, DUMP_MAX_LIST, &text);
        text_print("as constructed", datatype, rc, text);
    }
    mpi_errno = MPII_Gpudt_canon(&raw, &fresh->serial);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (MPIR_CVAR_GPUDT_DUMP) {
        rc = MPII_Gpudt_debug_serial(&fresh->serial, DUMP_MAX_LIST, &text);
        text_print("canonical", datatype, rc, text);
    }

    fresh->id = MPII_Gpudt_type_new_id();
    fresh->upload = NULL;
    fresh->upload_free = NULL;
    fresh->published = NULL;
    MPL_atomic_store_int(&fresh->ref_count, 1);
    *type = fresh;

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    MPL_free(fresh);
    goto fn_exit;
}

/* A dump that fails is not an error of the caller. */
static void text_print(const char *title, MPI_Datatype datatype, int rc, char *text)
{
    if (rc == MPI_SUCCESS)
        fprintf(stderr, "datatype %#x, %s:\n%s", (unsigned) datatype, title, text);
    else
        fprintf(stderr, "datatype %#x, %s: no memory for the dump\n", (unsigned) datatype, title);
    MPL_free(text);
}
