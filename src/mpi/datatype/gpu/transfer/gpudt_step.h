/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The steps of a transfer. */

#ifndef GPUDT_STEP_H_INCLUDED
#define GPUDT_STEP_H_INCLUDED

#include "gpudt_op.h"

/* Start step i of a slice, and mark its end on the stream if the CPU will wait for it. The context
 * of the operation's engine is current. */
int MPII_Gpudt_step_start(MPIR_Gpudt_op * op, struct MPII_Gpudt_slice *slice, int i);

/* Record an event where step i ends on its stream. */
int MPII_Gpudt_step_record(MPIR_Gpudt_op * op, struct MPII_Gpudt_slice *slice, int i);

/* Make step i + 1 wait for the end of step i. The same engine does both, so that the CPU does not
 * wait in between (MPII_Gpudt_step_is_awaited). */
int MPII_Gpudt_step_follow(MPIR_Gpudt_op * op, struct MPII_Gpudt_slice *slice, int i);

#endif /* GPUDT_STEP_H_INCLUDED */
