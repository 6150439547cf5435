/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The strategies that the user allows. */

#ifndef GPUDT_CHOICE_H_INCLUDED
#define GPUDT_CHOICE_H_INCLUDED

/* Mask of allowed strategies for MPII_Gpudt_plan_in.allowed; 0: driver copies only. */
unsigned MPII_Gpudt_allowed_strategies(void);

#endif /* GPUDT_CHOICE_H_INCLUDED */
