/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* From nodes to records. */

#ifndef GPUDT_CANON_EMIT_H_INCLUDED
#define GPUDT_CANON_EMIT_H_INCLUDED

#include "gpudt_canon_node.h"

/* Write records and lookaside of everything below a tree.
 * Takes lists over from the raw lookaside area if that saves copying them. */
int MPII_Gpudt_canon_emit(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_tree root,
                          struct MPII_Gpudt_serial *serial);

#endif /* GPUDT_CANON_EMIT_H_INCLUDED */
