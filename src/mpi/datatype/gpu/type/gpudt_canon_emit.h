/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Writes nodes as records. */

#ifndef GPUDT_CANON_EMIT_H_INCLUDED
#define GPUDT_CANON_EMIT_H_INCLUDED

#include "gpudt_canon_node.h"

/* Write the records and the lookaside of all nodes below a tree. Takes over lists from the raw
 * lookaside where that avoids a copy. */
int MPII_Gpudt_canon_emit(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_tree root,
                          struct MPII_Gpudt_serial *serial);

#endif /* GPUDT_CANON_EMIT_H_INCLUDED */
