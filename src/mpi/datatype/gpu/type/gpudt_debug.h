/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Records as text. */

#ifndef GPUDT_DEBUG_H_INCLUDED
#define GPUDT_DEBUG_H_INCLUDED

#include "gpudt_raw.h"
#include "gpudt_record.h"

/* Text of a type's records, for a bug report: one line a record and at most max_list entries of
 * each list.
 *   text  (OUT)  zero-terminated; the caller frees it with MPL_free; NULL on failure
 * Returns MPI_SUCCESS or out of memory. */
int MPII_Gpudt_debug_raw(const struct MPII_Gpudt_raw *raw, int64_t max_list, char **text);
int MPII_Gpudt_debug_serial(const struct MPII_Gpudt_serial *serial, int64_t max_list, char **text);

#endif /* GPUDT_DEBUG_H_INCLUDED */
