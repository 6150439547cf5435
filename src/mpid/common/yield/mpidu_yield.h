/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Yields the processor between two polls. Must not know what is polled. */

#ifndef MPIDU_YIELD_H_INCLUDED
#define MPIDU_YIELD_H_INCLUDED

/* Let another process of the node run. For loops that wait for another process.
 *
 * With a processor for each process this is MPL_sched_yield, and returns at once. With more
 * processes than processors it sleeps for the shortest time, unless MPIR_CVAR_YIELD_SLEEP says
 * otherwise. A build with --enable-yield=nothing never yields. */
void MPIDU_yield(void);

/* The same for the progress engine's loop, whose iterations also advance work of this process, such
 * as the schedules of nonblocking collectives. To be called in every iteration; it yields in some
 * of them. The caller holds the progress engine's lock. */
void MPIDU_yield_polling(void);

#endif /* MPIDU_YIELD_H_INCLUDED */
