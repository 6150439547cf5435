/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The line of a communicator, see ch3u_gpudt_icoll.c: the order in which its nonblocking
 * collectives between GPUs of a node decide, and who waits for whom. */

#include "mpidimpl.h"
#include "mpidi_gpudt_icoll.h"

void MPIDI_Gpudt_iline_append(struct MPIDI_Gpudt_icoll *o)
{
    DL_APPEND_NP(o->comm->dev.gpudt_coll.line, o, line_next, line_prev);
    o->is_in_line = true;
}

void MPIDI_Gpudt_iline_leave(struct MPIDI_Gpudt_icoll *o)
{
    if (o->is_in_line)
        DL_DELETE_NP(o->comm->dev.gpudt_coll.line, o, line_next, line_prev);
    o->is_in_line = false;
    for (int i = 0; i < MPIDI_GPUDT_NIFORMS; i++)
        o->pace[i] = NULL;
}

/* Whether a pace may be changed by calls in the line of a communicator.
 *   end  (IN)  those before this one; NULL: all */
static bool is_pace_held(MPIR_Comm * comm, const struct MPIDI_Gpudt_pace *pace,
                         const struct MPIDI_Gpudt_icoll *end)
{
    struct MPIDI_Gpudt_icoll *o;

    DL_FOREACH_NP(comm->dev.gpudt_coll.line, o, line_next, line_prev) {
        if (o == end)
            break;
        for (int i = 0; i < MPIDI_GPUDT_NIFORMS; i++) {
            if (o->pace[i] == pace)
                return true;
        }
    }
    return false;
}

bool MPIDI_Gpudt_iline_is_first(const struct MPIDI_Gpudt_icoll *o)
{
    return o->pcoll || o->comm->dev.gpudt_coll.line == o;
}

bool MPIDI_Gpudt_iline_can_ask(const struct MPIDI_Gpudt_icoll *o)
{
    return MPIDI_Gpudt_iline_is_first(o) ||
        (o->line_prev->state != MPIDI_GPUDT_ISTATE__ASKING &&
         !is_pace_held(o->comm, o->pace[o->form], o));
}

bool MPIDI_Gpudt_iline_has_to(MPIR_Comm * comm,
                              struct MPIDI_Gpudt_pace *const pace[MPIDI_GPUDT_NIFORMS])
{
    const struct MPIDI_Gpudt_icoll *line = comm->dev.gpudt_coll.line;

    if (likely(line == NULL))
        return false;
    if (line->line_prev->state == MPIDI_GPUDT_ISTATE__ASKING)
        return true;
    for (int i = 0; i < MPIDI_GPUDT_NIFORMS; i++) {
        if (pace[i] && is_pace_held(comm, pace[i], NULL))
            return true;
    }
    return false;
}

/* ---- blocking calls ---- */

void MPIDI_Gpudt_icoll_pace_wait(MPIR_Comm * comm, const struct MPIDI_Gpudt_pace *pace)
{
    while (unlikely(comm->dev.gpudt_coll.line != NULL) && is_pace_held(comm, pace, NULL))
        MPIDI_Gpudt_coll_yield();
}

void MPIDI_Gpudt_icoll_wait(MPIR_Comm * comm)
{
    while (unlikely(comm->dev.gpudt_coll.line != NULL))
        MPIDI_Gpudt_coll_yield();
}
