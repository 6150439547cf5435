/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Which strategies the user lets the plan choose from. */

#ifndef GPUDT_CHOICE_H_INCLUDED
#define GPUDT_CHOICE_H_INCLUDED

/* Strategies the plan may use, as a mask for MPII_Gpudt_plan_in.allowed; 0: driver copies only. */
unsigned MPII_Gpudt_allowed_strategies(void);

#endif /* GPUDT_CHOICE_H_INCLUDED */
