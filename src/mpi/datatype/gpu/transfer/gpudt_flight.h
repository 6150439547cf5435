/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A stream's launches and copies in flight. Guarded by its owner's lock. */

#ifndef GPUDT_FLIGHT_H_INCLUDED
#define GPUDT_FLIGHT_H_INCLUDED

#include "engine/gpudt_flag.h"

#define MPII_GPUDT_MAX_FLIGHTS 16       /* maximum number of launches remembered */

struct MPII_Gpudt_flights {
    int ncopies;                /* copies by the driver: these set no flags, so their end is noted,
                                 * too */
    int64_t copied;             /* their bytes */
    int n;
    struct {
        struct MPII_Gpudt_flag flag;    /* may belong to another launch since */
        int64_t bytes;
    } flight[MPII_GPUDT_MAX_FLIGHTS];
};

/* Whether moves of `bytes` bytes should be started now: they would not wait for others, or the
 * others are about to complete.
 *   most_ahead  (IN)  bytes in flight from which on they wait */
bool MPII_Gpudt_should_start(struct MPII_Gpudt_flights *f, int64_t bytes, int64_t most_ahead);

/* Whether all launches and copies are complete, as far as is known. */
bool MPII_Gpudt_flights_are_over(struct MPII_Gpudt_flights *f);

/* Note a launch that sets a flag at its end. */
void MPII_Gpudt_flight_add(struct MPII_Gpudt_flights *f, const struct MPII_Gpudt_flag *flag,
                           int64_t bytes);

#endif /* GPUDT_FLIGHT_H_INCLUDED */
