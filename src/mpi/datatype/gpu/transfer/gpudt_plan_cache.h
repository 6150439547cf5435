/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Plans that are kept, because programs move the same data again and again. */

#ifndef GPUDT_PLAN_CACHE_H_INCLUDED
#define GPUDT_PLAN_CACHE_H_INCLUDED

#include "engine/gpudt_engine.h"
#include "plan/gpudt_plan_pair.h"
#include "gpudt_side.h"

/* Plan as MPII_Gpudt_plan_pair_make does, or take the plan that was made before for the same input, or
 * for one that differs by addresses only.
 *   engine  (IN)   runs the kernel
 *   side    (IN)   source and destination, which have datatypes
 *   in      (IN)   the same as input of the plan
 *   plan    (OUT)  complete but for args.end.flag, counter and flag_value
 * Thread safe. Cannot fail: without memory nothing is kept. */
void MPII_Gpudt_plan_pair_find(MPII_Gpudt_engine_t * engine,
                               const struct MPII_Gpudt_side *const side[2],
                               const struct MPII_Gpudt_plan_in in[2],
                               struct MPII_Gpudt_plan_pair *plan);

#endif /* GPUDT_PLAN_CACHE_H_INCLUDED */
