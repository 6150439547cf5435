/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Serialization: datatypes to raw records. */

#ifndef GPUDT_SERIALIZE_H_INCLUDED
#define GPUDT_SERIALIZE_H_INCLUDED

#include "mpiimpl.h"
#include "gpudt_raw.h"

/* Serialize a datatype into raw records: from its constructors' contents, or from its dataloop if
 * it has no contents (types received from another process).
 *   datatype  (IN)   any valid datatype
 *   raw       (OUT)  filled in; freed by MPII_Gpudt_raw_free or MPII_Gpudt_canon. Empty on failure,
 *                    with nothing to free
 * Errors: as MPII_Gpudt_type_get. */
int MPII_Gpudt_serialize(MPI_Datatype datatype, struct MPII_Gpudt_raw *raw);
void MPII_Gpudt_raw_free(struct MPII_Gpudt_raw *raw);

#endif /* GPUDT_SERIALIZE_H_INCLUDED */
