/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Decides how to give up the processor.
 *
 * sched_yield lets those run that wait in the caller's own scheduling group, on its own processor.
 * Linux puts each session into a group of its own (autogroup), and the process manager makes each
 * process a session: between processes of a job sched_yield then does nothing, and where processes
 * outnumber processors every message waits for time slices to end. A sleep does let others run, and
 * costs tens of microseconds: too much where each process has a processor to itself. */

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
        Whether a process that waits for another one of its node sleeps when it gives up
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

/* A turn of the progress engine's loop takes about a microsecond, a sleep some tens of them: few
 * enough turns that a process whose turn it is not soon gives way */
#define POLLS_BEFORE_SLEEP 50

static bool sleep_wanted(void)
{
    static int processors = 0;  /* two threads that race here find the same */

    if (MPIR_CVAR_YIELD_SLEEP >= 0)
        return MPIR_CVAR_YIELD_SLEEP > 0;
    if (processors == 0)
        processors = (int) sysconf(_SC_NPROCESSORS_ONLN);
    return processors > 0 && MPIR_Process.local_size > processors;
}

void MPIDU_yield(void)
{
    if (sleep_wanted()) {
        /* the shortest there is: the kernel rounds it up to the timer's slack */
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

    /* With threads the loop lets the others have its lock, and must not sleep while it has it */
    if (enough == 0 || MPIR_IS_THREADED)
        return;
    if (++n_polls >= enough) {
        n_polls = 0;
        MPIDU_yield();
    }
}

#endif
