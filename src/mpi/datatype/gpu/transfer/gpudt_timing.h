/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* How long copies within a GPU that processes share take, of late (see gpudt_within.h). */

#ifndef GPUDT_TIMING_H_INCLUDED
#define GPUDT_TIMING_H_INCLUDED

/* Of a copy. */
struct MPII_Gpudt_timing {
    bool is_on;
    MPL_time_t begun, seen;     /* when it was begun, and last seen unfinished */
};

void MPII_Gpudt_timing_begin(struct MPII_Gpudt_timing *t);

/* A test has found that the copy has not ended. */
void MPII_Gpudt_timing_look(struct MPII_Gpudt_timing *t);

/* The copy has ended. Its time counts unless the last look was long ago. */
void MPII_Gpudt_timing_end(struct MPII_Gpudt_timing *t);

/* Microseconds: a moving average; 0 at first. */
double MPII_Gpudt_timing_us(void);

/* No copy was made, as the average is too long: make it less, so that one is tried again. */
void MPII_Gpudt_timing_forget(void);

#endif /* GPUDT_TIMING_H_INCLUDED */
