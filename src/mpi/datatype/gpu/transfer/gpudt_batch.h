/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Moves that wait for others of their stream, and are launched together. */

#ifndef GPUDT_BATCH_H_INCLUDED
#define GPUDT_BATCH_H_INCLUDED

#include "plan/gpudt_plan_types.h"
#include "gpudt_move.h"

/* Leave a move in the queue of its stream if there is work in flight that it would wait for anyway.
 *   in     (IN)   what the plan is made from
 *   added  (OUT)  false: to be started now; true: m->may_queue->is_queued, and m->flag is its flag */
int MPII_Gpudt_batch_add(const struct MPII_Gpudt_move *m, const struct MPII_Gpudt_plan_in *in,
                         bool * added);

/* Whether a move of so many bytes would be left in a queue now. */
bool MPII_Gpudt_batch_is_due(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                             int64_t bytes);

/* Note that work of so many bytes, which nobody blocks for, has been started, and will set a flag. */
void MPII_Gpudt_batch_note(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                           const struct MPII_Gpudt_flag *flag, int64_t bytes);

/* Note that a copy of so many bytes, which nobody blocks for and which sets no flag, has been started,
 * or, with their negative, that it has ended.
 * Returns false if there is no memory to note it. */
bool MPII_Gpudt_batch_note_copy(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                                int64_t bytes);

/* Start what is in a queue if it would not wait any more. Costs a few loads else. What is in it when
 * that fails gets the error.
 *   must  (IN)  start it in any case */
void MPII_Gpudt_batch_poll(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane, bool must);

#endif /* GPUDT_BATCH_H_INCLUDED */
