/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The executor of canonical records for host memory. */

#ifndef GPUDT_CPU_H_INCLUDED
#define GPUDT_CPU_H_INCLUDED

#include <stdbool.h>
#include "type/gpudt_record.h"

/* Copy a byte range of the packed stream between a buffer and contiguous memory. Needs no memory
 * and cannot fail. Where it starts costs the depth of the type, and a binary search for each list.
 *   serial, top  (IN)  a type, and its root for the count
 *   first, last  (IN)  0 <= first <= last <= top->size
 *   user         (IN)  the buffer, as given to MPI: displacements of the type are from here
 *   packed       (IN)  memory for last - first bytes, that must not overlap the buffer
 *   unpack       (IN)  true: from packed to the buffer; its other bytes are not touched */
void MPII_Gpudt_cpu_move(const struct MPII_Gpudt_serial *serial,
                         const struct MPII_Gpudt_record *top, int64_t first, int64_t last,
                         char *user, char *packed, bool unpack);

#endif /* GPUDT_CPU_H_INCLUDED */
