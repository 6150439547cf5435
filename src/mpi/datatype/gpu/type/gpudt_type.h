/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The state that is kept with a datatype. Must not know plans, launches or the driver.
 */

#ifndef GPUDT_TYPE_H_INCLUDED
#define GPUDT_TYPE_H_INCLUDED

#include "mpiimpl.h"
#include "gpudt_record.h"

/* What the engine keeps for a type on each device it was used on; defined in
 * engine/gpudt_upload.c. */
struct MPII_Gpudt_upload;

/* The state of one datatype, reference counted. The datatype holds one reference and each operation
 * in flight another, so that a type may be freed while it is in use. */
struct MPII_Gpudt_type {
    MPL_atomic_int_t ref_count;
    uint64_t id;                /* unique among all states of this process, never 0 */
    struct MPII_Gpudt_serial serial;    /* immutable once the state is published */
    /* Owned by the engine: set and read under the engine's lock, NULL at first. When the last
     * reference is released, upload_free gets it unless it is NULL. upload_free may run inside
     * progress and after the application has destroyed its CUDA context: it must not fail. */
    struct MPII_Gpudt_upload *upload;
    void (*upload_free) (struct MPII_Gpudt_upload * upload);
    /* See MPIR_Gpudt_buffer_published. */
    void *published;
};

/* Frees what `published` of a state points to, when the state is freed. */
extern void (*MPII_Gpudt_published_free) (void *published);

/* The member of a datatype object that points to its state. Only gpudt_commit.c knows what is in it
 * before the state is built: NULL or a count. */
static inline void **MPII_Gpudt_type_slot(MPIR_Datatype * dtp)
{
    return &dtp->typerep.gpudt;
}

/* Get the state of a datatype; built here at the first use.
 *   datatype  (IN)   any valid datatype, committed or not
 *   type      (OUT)  the state, with a reference that the caller releases by
 *                    MPII_Gpudt_type_release; untouched on failure
 * Thread safe. A predefined type without gaps has no object that could keep a state: its state is
 * made for the caller alone. Errors: out of memory; sizes or displacements that do not fit in 64
 * bits; nesting beyond MPII_GPUDT_MAX_NESTING. On failure nothing is kept, and a later call tries
 * again. */
int MPII_Gpudt_type_get(MPI_Datatype datatype, struct MPII_Gpudt_type **type);

/* The state of a datatype for use by the CPU, or NULL if there is none: building it would take
 * longer than it saves, or failed.
 *   dtp  (IN)  the object of a datatype that the caller keeps; the state is valid as long
 *   n    (IN)  bytes that will be moved */
const struct MPII_Gpudt_type *MPII_Gpudt_type_for_cpu(MPIR_Datatype * dtp, int64_t n);

/* An id for a new state. */
uint64_t MPII_Gpudt_type_new_id(void);

/* The id of the state of a datatype that has an object; 0 if it has no state yet. */
uint64_t MPII_Gpudt_type_id(MPI_Datatype datatype);

/* A number that tells a datatype from all others that exist or have existed, whatever their handles;
 * 0 if it has no state yet. */
static inline uint64_t MPII_Gpudt_type_key(MPI_Datatype datatype)
{
    /* A predefined type without gaps has no object, and always the same handle; ids are small */
    return HANDLE_IS_BUILTIN(datatype) ? ~(uint64_t) (unsigned) datatype :
        MPII_Gpudt_type_id(datatype);
}

/* Add a reference to a state of which the caller holds one already. */
void MPII_Gpudt_type_add_ref(struct MPII_Gpudt_type *type);

/* Release a reference. The last one frees the state and what the engine keeps in it. */
void MPII_Gpudt_type_release(struct MPII_Gpudt_type *type);

/* Build the state at commit, unless it is quick enough to build at the first use. Never fails: the
 * first operation that needs the state reports the error.
 *   datatype  (IN)  a datatype that has just been committed, not a predefined one */
void MPIR_Gpudt_type_commit(MPI_Datatype datatype);

/* Drop the state of a datatype object that is about to be freed, if it has one.
 *   dtp  (IN)  the object; no new operation may use it, operations in flight continue */
void MPIR_Gpudt_type_free(MPIR_Datatype * dtp);

#endif /* GPUDT_TYPE_H_INCLUDED */
