/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The type side of the engine: serialization, canonicalization, the state kept with a datatype and
 * its text dump. Must not know plans, launches or the driver.
 */

#ifndef GPUDT_TYPE_H_INCLUDED
#define GPUDT_TYPE_H_INCLUDED

#include "gpudt_record.h"
#include "gpudt_raw.h"

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

/* Constructors one inside the other before serialization gives up. A bound for the stack, far
 * beyond the 16 levels that the CPU engine can pack. */
#define MPII_GPUDT_MAX_NESTING 256

/* Serialize a datatype into raw records: from its constructors' contents, or from its dataloop where
 * it has no contents (types that arrived over the wire).
 *   datatype  (IN)   any valid datatype
 *   raw       (OUT)  filled in; given back by MPII_Gpudt_raw_free or MPII_Gpudt_canon. Empty on
 *                    failure, then there is nothing to give back
 * Errors: as MPII_Gpudt_type_get. */
int MPII_Gpudt_serialize(MPI_Datatype datatype, struct MPII_Gpudt_raw *raw);
void MPII_Gpudt_raw_free(struct MPII_Gpudt_raw *raw);

/* Turn raw records into canonical ones. Pure: nothing but its parameters and the heap is touched.
 *   raw     (IN)   is used up, also on failure: long lists are rewritten in place and handed on
 *   serial  (OUT)  owned by the caller until MPII_Gpudt_serial_free; untouched on failure
 * Errors: out of memory; displacements that do not fit in 64 bits. */
int MPII_Gpudt_canon(struct MPII_Gpudt_raw *raw, struct MPII_Gpudt_serial *serial);
void MPII_Gpudt_serial_free(struct MPII_Gpudt_serial *serial);

/* The root record for `count` datatypes, folded by the rules of canonicalization.
 *   serial  (IN)   a canonical type
 *   count   (IN)   datatypes, 0 or more
 *   top     (OUT)  a record to use in place of record 0; its child is an index into serial->records,
 *                  its lists (if it repeats record 0) are in serial->lookaside
 * Returns MPI_SUCCESS, or an error if the packed size or a displacement does not fit in 64 bits. */
int MPII_Gpudt_canon_count(const struct MPII_Gpudt_serial *serial, int64_t count,
                           struct MPII_Gpudt_record *top);

/* Text of a type's records, for a bug report: one line a record and at most max_list entries of each
 * list.
 *   text  (OUT)  zero-terminated; the caller's, to be given back by MPL_free; NULL on failure
 * Returns MPI_SUCCESS or out of memory. */
int MPII_Gpudt_debug_raw(const struct MPII_Gpudt_raw *raw, int64_t max_list, char **text);
int MPII_Gpudt_debug_serial(const struct MPII_Gpudt_serial *serial, int64_t max_list, char **text);

/* Errors of the type side, at the place where they are found. */
#define MPII_GPUDT_ERR_OVERFLOW(cond_, mpi_errno_)                                      \
    MPIR_ERR_CHKANDJUMP(cond_, mpi_errno_, MPI_ERR_TYPE, "**gpudt_overflow")
#define MPII_GPUDT_ERR_NOMEM(cond_, mpi_errno_, what_)                                  \
    MPIR_ERR_CHKANDJUMP1(cond_, mpi_errno_, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", what_)

#endif /* GPUDT_TYPE_H_INCLUDED */
