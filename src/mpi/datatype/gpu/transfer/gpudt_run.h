/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Runs routed transfers. */

#ifndef GPUDT_RUN_H_INCLUDED
#define GPUDT_RUN_H_INCLUDED

#include "gpudt_op.h"

/* Advance a routed transfer: start what can be started, and if it is blocking wait for all of it.
 * If *done or on failure, the operation's resources are released. */
int MPII_Gpudt_op_advance(MPIR_Gpudt_op * op, bool * done);

/* Spin on a flag for the duration of a short kernel. Returns whether it is set. */
bool MPII_Gpudt_flag_spin(const struct MPII_Gpudt_flag *flag);

/* Wait for a kernel that is the last one in its lane, by its flag if it has one. The engine's context
 * is current.
 *   flag     (IN)      returned to the engine
 *   others   (IN)      called again and again, if the kernel is not a short one; NULL: the thread blocks
 *   entered  (IN/OUT)  that context, which is left during these calls, as they may be the program's
 *                      functions; not used without others. Afterwards it may have been left */
int MPII_Gpudt_launch_wait(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                           struct MPII_Gpudt_flag *flag, void (*others) (void),
                           MPII_Gpudt_ctx_t * entered);

#endif /* GPUDT_RUN_H_INCLUDED */
