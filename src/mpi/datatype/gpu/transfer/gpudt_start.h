/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Starts transfers. */

#ifndef GPUDT_START_H_INCLUDED
#define GPUDT_START_H_INCLUDED

#include "gpudt_op.h"

/* Start a transfer.
 *   local  (IN)   both sides, classified; all else as MPII_Gpudt_op_init leaves it, or set. Holds no
 *                 references to datatypes and mappings afterwards
 *   op     (OUT)  as for MPIR_Gpudt_ipack */
int MPII_Gpudt_op_start(MPIR_Gpudt_op * local, MPIR_Gpudt_op ** op);

/* The same for an operation of MPII_Gpudt_op_make, which is not copied but taken over. */
int MPII_Gpudt_op_start_new(MPIR_Gpudt_op * work, MPIR_Gpudt_op ** op);

#endif /* GPUDT_START_H_INCLUDED */
