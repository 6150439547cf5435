/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* How long copies within a GPU that processes share wait for it, of late (see gpudt_within.h). */

#ifndef GPUDT_TIMING_H_INCLUDED
#define GPUDT_TIMING_H_INCLUDED

/* Of a copy. */
struct MPII_Gpudt_timing {
    bool is_on;
    bool is_alone;              /* it does not wait for other copies of this process */
    double least_us;            /* that it takes on a GPU which is ready for it */
    MPL_time_t begun, seen;     /* when it was begun, and last seen unfinished */
};

void MPII_Gpudt_timing_begin(struct MPII_Gpudt_timing *t, bool is_alone, double least_us);

/* A test has found that the copy has not ended. */
void MPII_Gpudt_timing_look(struct MPII_Gpudt_timing *t);

/* The copy has ended. */
void MPII_Gpudt_timing_end(struct MPII_Gpudt_timing *t);

/* Whether to make a copy that may wait for other_us, which doing without it takes. If those of late
 * waited longer, one is made once in a while to find out whether that is still so, so seldom that
 * these take a small part of the time. */
bool MPII_Gpudt_timing_is_good(double other_us);

#endif /* GPUDT_TIMING_H_INCLUDED */
