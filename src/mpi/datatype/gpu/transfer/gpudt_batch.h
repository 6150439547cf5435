/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Batches: moves that wait for others in flight on their stream, and are launched together. */

#ifndef GPUDT_BATCH_H_INCLUDED
#define GPUDT_BATCH_H_INCLUDED

#include "plan/gpudt_plan_types.h"
#include "gpudt_move.h"
#include "gpudt_slot.h"

/* Queue a move if there is work in flight on its stream that it would wait for anyway.
 *   in     (IN)   input of the plan
 *   added  (OUT)  false: to be started now; true: m->may_queue->is_queued is set, and m->flag is
 *                 its flag */
int MPII_Gpudt_batch_add(const struct MPII_Gpudt_move *m, const struct MPII_Gpudt_plan_in *in,
                         bool * added);

/* The same for a launch that is planned. */
int MPII_Gpudt_batch_add_planned(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                                 const struct MPII_Gpudt_planned *what, bool * added);

/* Whether a move of `bytes` bytes would be queued now. Takes the lock of batches only if no batch
 * of this stream is waiting. */
bool MPII_Gpudt_batch_is_due(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                             int64_t bytes);

/* Whether a copy by the driver is better than a kernel that takes longer: it is long, or nothing is
 * in flight on the stream. Else kernels of other moves can join. */
bool MPII_Gpudt_batch_prefers_copy(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                                   int64_t bytes);

/* Note that non-blocking work of `bytes` bytes has been started, which will set a flag. */
void MPII_Gpudt_batch_note(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                           const struct MPII_Gpudt_flag *flag, int64_t bytes);

/* Note that a non-blocking copy of `bytes` bytes, which sets no flag, has been started, or, if
 * negative, that it has completed. Returns false if there is no memory to note it. */
bool MPII_Gpudt_batch_note_copy(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                                int64_t bytes);

/* Launch a queue if its moves would not wait any more. Otherwise costs a few loads. If the launch
 * fails, the queued moves get the error.
 *   must  (IN)  launch in any case */
void MPII_Gpudt_batch_poll(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane, bool must);

#endif /* GPUDT_BATCH_H_INCLUDED */
