/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Runs routed transfers. */

#ifndef GPUDT_RUN_H_INCLUDED
#define GPUDT_RUN_H_INCLUDED

#include "gpudt_op.h"

/* Run a routed transfer: start what can be started; for a blocking one also wait
 * for all of it. The operation is finished, its resources given back, if *done or on failure. */
int MPII_Gpudt_op_advance(MPIR_Gpudt_op * op, bool * done);

/* Look at a flag for as long as short kernels take. Returns whether it is set. */
bool MPII_Gpudt_flag_spin(const struct MPII_Gpudt_flag *flag);

#endif /* GPUDT_RUN_H_INCLUDED */
