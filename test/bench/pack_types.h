/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The benchmark's layouts as MPI datatypes, made the way a program would make them. Must not know
 * the GPU.
 */

#ifndef PACK_TYPES_H_INCLUDED
#define PACK_TYPES_H_INCLUDED

#include <mpi.h>

#include "layouts.h"

/* Make a committed datatype and a count that describe a layout.
 *   type  (OUT)  to be freed by the caller */
void pack_type_make(const struct layout *l, MPI_Datatype * type, int *count);

#endif /* PACK_TYPES_H_INCLUDED */
