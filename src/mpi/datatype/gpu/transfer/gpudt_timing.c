/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* See gpudt_timing.h. Must not know what is copied. */

#include "mpiimpl.h"
#include "gpudt_timing.h"
#include "tuning/gpudt_tuning.h"

static double average_us = 0;

void MPII_Gpudt_timing_begin(struct MPII_Gpudt_timing *t)
{
    t->is_on = true;
    MPL_wtime(&t->begun);
    t->seen = t->begun;
}

void MPII_Gpudt_timing_look(struct MPII_Gpudt_timing *t)
{
    MPL_wtime(&t->seen);
}

void MPII_Gpudt_timing_end(struct MPII_Gpudt_timing *t)
{
    MPL_time_t now;
    double unseen, seconds;

    t->is_on = false;
    MPL_wtime(&now);
    MPL_wtime_diff(&t->seen, &now, &unseen);
    MPL_wtime_diff(&t->begun, &now, &seconds);
    if (unseen <= MPII_GPUDT_TIMING_UNSEEN_S)
        average_us += MPII_GPUDT_TIMING_SHARE * (seconds * 1e6 - average_us);
}

double MPII_Gpudt_timing_us(void)
{
    return average_us;
}

void MPII_Gpudt_timing_forget(void)
{
    average_us *= MPII_GPUDT_TIMING_FORGET;
}
