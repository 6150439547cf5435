/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Visits the blocks of a byte range of a datatype. */

#ifndef GPUDT_ROWS_H_INCLUDED
#define GPUDT_ROWS_H_INCLUDED

#include "mpiimpl.h"
#include "gpudt_record.h"

/* Called for n blocks of size bytes each: the first at displ bytes from the user's buffer, the
 * others `stride` bytes apart. Returns an MPI error code; an error stops the visit. */
typedef int (*MPII_Gpudt_row_fn) (void *arg, int64_t displ, int64_t size, int64_t n,
                                  int64_t stride);

/* Visit the blocks of a byte range in stream order.
 *   serial, top  (IN)  a type, and its root for the call's count
 *   first, last  (IN)  0 <= first < last <= top->size */
int MPII_Gpudt_rows_visit(const struct MPII_Gpudt_serial *serial,
                          const struct MPII_Gpudt_record *top, int64_t first, int64_t last,
                          MPII_Gpudt_row_fn fn, void *arg);

#endif /* GPUDT_ROWS_H_INCLUDED */
