/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Bursts of packets. If a request to send is handled in a call that blocks in the progress engine
 * (others, as MPI_Waitany, ask it again and again), and other packets have arrived by then, the pull
 * that it starts waits for those that they may start, so that one launch does for all. It is launched
 * when no packet is left, and before the call returns, if it need not wait for the GPU then
 * (ch3u_gpudt_burst.c). Included by mpidi_ch3_post.h of nemesis; in ch3:sock there are no bursts. */

#ifndef MPIDI_GPUDT_BURST_H_INCLUDED
#define MPIDI_GPUDT_BURST_H_INCLUDED

/* Set by the channel before it handles a packet: another one will follow without a wait. */
extern bool MPIDI_Gpudt_is_more;

/* A burst has begun. */
extern bool MPIDI_Gpudt_is_burst;

/* End it, and launch what has waited for packets. */
void MPIDI_Gpudt_burst_end(void);

/* The call returns to the program, which may compute for long. */
static inline void MPIDI_Gpudt_wait_end(void)
{
    if (unlikely(MPIDI_Gpudt_is_burst))
        MPIDI_Gpudt_burst_end();
}

#endif /* MPIDI_GPUDT_BURST_H_INCLUDED */
