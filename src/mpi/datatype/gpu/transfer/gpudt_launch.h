/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Moves by kernels, or by what the plan prefers. */

#ifndef GPUDT_LAUNCH_H_INCLUDED
#define GPUDT_LAUNCH_H_INCLUDED

#include "gpudt_move.h"

/* Start a move by the plan's choice, or leave it in a queue. */
int MPII_Gpudt_launch(const struct MPII_Gpudt_move *m);

#endif /* GPUDT_LAUNCH_H_INCLUDED */
