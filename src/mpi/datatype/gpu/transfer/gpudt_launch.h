/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Moves as planned: by kernels or driver copies. */

#ifndef GPUDT_LAUNCH_H_INCLUDED
#define GPUDT_LAUNCH_H_INCLUDED

#include "gpudt_move.h"

/* Start a move as planned, or queue it. */
int MPII_Gpudt_launch(const struct MPII_Gpudt_move *m);

#endif /* GPUDT_LAUNCH_H_INCLUDED */
