/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What is in flight on a stream, as far as is known. Guarded by its owner's lock. */

#ifndef GPUDT_FLIGHT_H_INCLUDED
#define GPUDT_FLIGHT_H_INCLUDED

#include "engine/gpudt_flag.h"

#define MPII_GPUDT_MAX_FLIGHTS 16       /* launches in flight that are remembered */

struct MPII_Gpudt_flights {
    int ncopies;                /* by the driver, which set no flags: noted when they end, too */
    int64_t copied;             /* bytes of these */
    int n;
    struct {
        struct MPII_Gpudt_flag flag;    /* may have been given to another launch since */
        int64_t bytes;
    } flight[MPII_GPUDT_MAX_FLIGHTS];
};

/* Whether moves of so many bytes should be started now: they would not wait for others, or the others
 * are about to end. */
bool MPII_Gpudt_should_start(struct MPII_Gpudt_flights *f, int64_t bytes);

/* Note a launch that sets a flag at its end. */
void MPII_Gpudt_flight_add(struct MPII_Gpudt_flights *f, const struct MPII_Gpudt_flag *flag,
                           int64_t bytes);

#endif /* GPUDT_FLIGHT_H_INCLUDED */
