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

/* What the launch side keeps for a type on each device it was used on; defined there. */
struct MPII_Gpudt_upload;

/* The state of one datatype. Reference counted: one reference is the datatype's own, one belongs to
 * each operation in flight, so that a type may be freed while it is in use. */
struct MPII_Gpudt_type {
    MPL_atomic_int_t ref_count;
    struct MPII_Gpudt_serial serial;    /* immutable once the state is published */
    /* Owned by the launch side: set and read under its own lock, NULL at first. When the last
     * reference goes, upload_free gets what is here, if it is not NULL. upload_free may run inside
     * progress and after the application has destroyed its CUDA context: it must not fail. */
    struct MPII_Gpudt_upload *upload;
    void (*upload_free) (struct MPII_Gpudt_upload * upload);
};

/* The place in a datatype object that holds its state; NULL there: not built yet. */
static inline void **MPII_Gpudt_type_slot(MPIR_Datatype * dtp)
{
    return &dtp->typerep.gpudt;
}

/* Get the state of a datatype, building it if this is its first use.
 *   datatype  (IN)   any valid datatype, committed or not
 *   type      (OUT)  the state, with a reference that the caller gives back by
 *                    MPII_Gpudt_type_release; untouched on failure
 * Thread safe. A predefined type without gaps has no object to keep state in: its state is made for
 * the caller alone.
 * Errors: out of memory; sizes or displacements that do not fit in 64 bits; nesting beyond
 * MPII_GPUDT_MAX_NESTING. Nothing is kept then, a later call tries again. */
int MPII_Gpudt_type_get(MPI_Datatype datatype, struct MPII_Gpudt_type **type);

/* Add a reference to a state that the caller holds one of. */
void MPII_Gpudt_type_add_ref(struct MPII_Gpudt_type *type);

/* Give back a reference; the last one frees the state and what the launch side left in it. */
void MPII_Gpudt_type_release(struct MPII_Gpudt_type *type);

/* Build the state at commit, unless the first use can as well. Never fails: what cannot be built now
 * is reported by the first operation that needs it.
 *   datatype  (IN)  a datatype that has just been committed, not a predefined one */
void MPIR_Gpudt_type_commit(MPI_Datatype datatype);

/* Drop the state of a datatype object that is about to be freed. Harmless if there is none.
 *   dtp  (IN)  the object; no operation may start on it any more, those in flight go on */
void MPIR_Gpudt_type_free(MPIR_Datatype * dtp);

#endif /* GPUDT_TYPE_H_INCLUDED */
