/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Moves by driver copies. */

#ifndef GPUDT_ROWCOPY_H_INCLUDED
#define GPUDT_ROWCOPY_H_INCLUDED

#include "gpudt_move.h"

/* Start a move by driver copies. contig may be any address that the driver can copy from or to. */
int MPII_Gpudt_rows_launch(const struct MPII_Gpudt_move *m);

#endif /* GPUDT_ROWCOPY_H_INCLUDED */
