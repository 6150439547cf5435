/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Bursts of packets, see mpidi_gpudt_burst.h. Must not know what is started in them. */

#include "mpidi_gpudt_msg.h"

/* Packets of other kinds that are handled in a burst, after the last request to send. */
#define MAX_OTHERS 8

bool MPIDI_Gpudt_is_more = false;
bool MPIDI_Gpudt_is_burst = false;

static int nothers;

static void burst_set(bool is_on)
{
    MPIDI_Gpudt_is_burst = is_on;
    MPIR_Gpudt_burst_set(is_on);
}

void MPIDI_Gpudt_burst_begin(void)
{
    nothers = 0;
    if (MPIDI_Gpudt_is_more && !MPIDI_Gpudt_is_burst)
        burst_set(true);
}

void MPIDI_Gpudt_burst_check(void)
{
    if (MPIDI_Gpudt_is_burst && (!MPIDI_Gpudt_is_more || nothers++ == MAX_OTHERS))
        burst_set(false);
}

void MPIDI_Gpudt_burst_end(void)
{
    MPIDI_Gpudt_is_more = false;
    burst_set(false);
    MPIDI_Gpudt_poll_all();
}
