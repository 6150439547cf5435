/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Work in flight, see gpudt_flight.h. Must not know what was launched. */

#include "mpiimpl.h"
#include "gpudt_flight.h"
#include "tuning/gpudt_tuning.h"

bool MPII_Gpudt_flights_are_over(struct MPII_Gpudt_flights *f)
{
    for (int i = 0; i < f->n;) {
        if (MPII_Gpudt_flag_is_set(&f->flight[i].flag))
            f->flight[i] = f->flight[--f->n];
        else
            i++;
    }
    return f->n + f->ncopies == 0;
}

bool MPII_Gpudt_should_start(struct MPII_Gpudt_flights *f, int64_t bytes, int64_t most_ahead)
{
    const bool are_over = MPII_Gpudt_flights_are_over(f);
    int64_t ahead = f->copied;

    for (int i = 0; i < f->n; i++)
        ahead += f->flight[i].bytes;
    return are_over || (bytes > MPII_GPUDT_BATCH_SMALL && ahead < most_ahead);
}

void MPII_Gpudt_flight_add(struct MPII_Gpudt_flights *f, const struct MPII_Gpudt_flag *flag,
                           int64_t bytes)
{
    /* If there are too many, one is overwritten: batches are then launched earlier */
    int i = f->n < MPII_GPUDT_MAX_FLIGHTS ? f->n++ : MPII_GPUDT_MAX_FLIGHTS - 1;

    f->flight[i].flag = *flag;
    f->flight[i].bytes = bytes;
}
