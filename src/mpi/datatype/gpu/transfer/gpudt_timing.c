/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* See gpudt_timing.h. Must not know what is copied. */

#include "mpiimpl.h"
#include "gpudt_timing.h"
#include "tuning/gpudt_tuning.h"

static double waited_us = 0;    /* of late. One long wait raises it by a part, a short one makes it that */
static double spared_us = 0;    /* for the next copy that is made although these waited too long */
static int nfirst = 0;          /* copies at first, which start slowly */

void MPII_Gpudt_timing_begin(struct MPII_Gpudt_timing *t, bool is_alone, double least_us)
{
    t->is_on = true;
    t->is_alone = is_alone;
    t->least_us = least_us;
    MPL_wtime(&t->begun);
    t->seen = t->begun;
    spared_us = 0;
}

void MPII_Gpudt_timing_look(struct MPII_Gpudt_timing *t)
{
    MPL_wtime(&t->seen);
}

static double waited(const struct MPII_Gpudt_timing *t, MPL_time_t until)
{
    MPL_time_t begun = t->begun;
    double seconds;

    MPL_wtime_diff(&begun, &until, &seconds);
    return MPL_MAX(seconds * 1e6 - t->least_us, 0);
}

void MPII_Gpudt_timing_end(struct MPII_Gpudt_timing *t)
{
    /* It has waited at least until it was last seen unfinished, and at most until now */
    const double least = waited(t, t->seen);
    const double counted = MPII_GPUDT_TIMING_MOST_US + waited_us / MPII_GPUDT_TIMING_SHARE;
    double most;
    MPL_time_t now;

    t->is_on = false;
    if (nfirst < MPII_GPUDT_TIMING_FIRST) {
        nfirst++;
        return;
    }
    MPL_wtime(&now);
    most = waited(t, now);
    if (most < waited_us)
        waited_us = most;
    else if (t->is_alone && least > waited_us)
        waited_us += MPII_GPUDT_TIMING_SHARE * (MPL_MIN(least, counted) - waited_us);
}

bool MPII_Gpudt_timing_is_good(double other_us)
{
    if (waited_us < other_us)
        return true;
    spared_us += MPII_GPUDT_TIMING_SPARED * other_us;
    return spared_us >= waited_us;
}
