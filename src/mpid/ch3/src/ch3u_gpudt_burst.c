/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Bursts of packets, see mpidi_gpudt_burst.h. Must not know what is started in them. */

#include "mpidi_gpudt_msg.h"

/* Packets, in all, that are handled in a burst, and of other kinds after the last request to send. What
 * waits for a launch must not wait for long if few of them start a pull. */
#define MAX_PACKETS 64
#define MAX_TRAILING 8

bool MPIDI_Gpudt_is_more = false;
bool MPIDI_Gpudt_is_burst = false;

static int npackets, ntrailing;

static void burst_set(bool is_on)
{
    MPIDI_Gpudt_is_burst = is_on;
    MPIR_Gpudt_burst_set(is_on);
}

void MPIDI_Gpudt_burst_begin(void)
{
    ntrailing = 0;
    if (MPIDI_Gpudt_is_more && !MPIDI_Gpudt_is_burst) {
        npackets = 0;
        burst_set(true);
    }
}

void MPIDI_Gpudt_burst_check(void)
{
    if (MPIDI_Gpudt_is_burst && (!MPIDI_Gpudt_is_more || npackets++ == MAX_PACKETS ||
                                 ntrailing++ == MAX_TRAILING))
        burst_set(false);
}

void MPIDI_Gpudt_burst_end(void)
{
    MPIDI_Gpudt_burst_forget();
    /* Else the call that has waited outside of this one ends it */
    if (!MPIDI_Gpudt_poll_all())
        MPIDI_Gpudt_is_burst = true;
}

void MPIDI_Gpudt_burst_forget(void)
{
    MPIDI_Gpudt_is_more = false;
    burst_set(false);
}
