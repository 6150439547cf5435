/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Decides how a process that polls yields its processor.
 *
 * sched_yield runs only processes of the caller's scheduling group, on the same processor. Linux
 * puts each session into a group of its own (autogroup), and the process manager makes each process
 * a session. So between processes of a job sched_yield has no effect, and on an oversubscribed node
 * every message waits until a time slice ends. A sleep does let other processes run, but costs tens
 * of microseconds: too much where each process has a processor of its own. */

#include "mpidimpl.h"
#include "mpidu_yield.h"

#include <time.h>
#include <unistd.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_YIELD_SLEEP
      category    : DEVELOPER
      type        : int
      default     : -1
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Whether a process that waits for another process of its node sleeps when it yields
        the processor (1) or only calls the yield function that MPICH was configured
        with (0). -1, the default, sleeps if the node runs more processes of the job
        than it has processors. See also MPIR_CVAR_POLLS_BEFORE_YIELD.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#ifdef MPL_USE_NOTHING_FOR_YIELD

void MPIDU_yield(void)
{
}

void MPIDU_yield_polling(void)
{
}

#else

/* An iteration of the progress engine's loop takes about a microsecond, a sleep some tens of them.
 * Few enough iterations that a process that has nothing to do soon yields. */
#define POLLS_BEFORE_SLEEP 50

static bool sleep_wanted(void)
{
    static int processors = 0;  /* threads that race here find the same value */

    if (MPIR_CVAR_YIELD_SLEEP >= 0)
        return MPIR_CVAR_YIELD_SLEEP > 0;
    if (processors == 0)
        processors = (int) sysconf(_SC_NPROCESSORS_ONLN);
    return processors > 0 && MPIR_Process.local_size > processors;
}

void MPIDU_yield(void)
{
    if (sleep_wanted()) {
        /* the shortest sleep: the kernel rounds it up to the timer slack */
        const struct timespec moment = { 0, 1 };
        nanosleep(&moment, NULL);
    } else {
        MPL_sched_yield();
    }
}

void MPIDU_yield_polling(void)
{
    static int n_polls = 0;
    int enough = sleep_wanted() ? MPL_MIN(MPIR_CVAR_POLLS_BEFORE_YIELD, POLLS_BEFORE_SLEEP) :
        MPIR_CVAR_POLLS_BEFORE_YIELD;

    /* With threads the loop releases its lock to other threads, and must not sleep while it holds
     * it */
    if (enough == 0 || MPIR_IS_THREADED)
        return;
    if (++n_polls >= enough) {
        n_polls = 0;
        MPIDU_yield();
    }
}

#endif
