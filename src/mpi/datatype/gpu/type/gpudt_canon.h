/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Canonicalization: raw records to canonical ones, and the root record for a count of datatypes. */

#ifndef GPUDT_CANON_H_INCLUDED
#define GPUDT_CANON_H_INCLUDED

#include "gpudt_raw.h"
#include "gpudt_record.h"

/* Turn raw records into canonical ones. Pure: nothing but its parameters and the heap is touched.
 *   raw     (IN)   consumed, also on failure: long lists are rewritten in place and handed over
 *   serial  (OUT)  owned by the caller until MPII_Gpudt_serial_free; untouched on failure
 * Errors: out of memory; displacements that do not fit in 64 bits. */
int MPII_Gpudt_canon(struct MPII_Gpudt_raw *raw, struct MPII_Gpudt_serial *serial);
void MPII_Gpudt_serial_free(struct MPII_Gpudt_serial *serial);

/* The root record for `count` datatypes, folded by the rules of canonicalization.
 *   serial  (IN)   a canonical type
 *   count   (IN)   datatypes, 0 or more
 *   top     (OUT)  a record to use in place of record 0. Its child is an index into
 *                  serial->records; its lists, if it is a copy of record 0, are in
 *                  serial->lookaside
 * Returns MPI_SUCCESS, or an error if the packed size or a displacement does not fit in 64 bits. */
int MPII_Gpudt_canon_count(const struct MPII_Gpudt_serial *serial, int64_t count,
                           struct MPII_Gpudt_record *top);

#endif /* GPUDT_CANON_H_INCLUDED */
