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

/* Number of batches that wait, of all streams. */
extern MPL_atomic_int_t MPII_Gpudt_nbatches;

static inline bool MPII_Gpudt_batch_are_any_open(void)
{
    return MPL_atomic_acquire_load_int(&MPII_Gpudt_nbatches) > 0;
}

/* Whether a batch with this number, of m->may_queue->batch, waits on the stream. Takes no lock. */
bool MPII_Gpudt_batch_is_open(const MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                              uint64_t batch);

/* Add a move that differs only by its addresses from one that was added with may_lead.
 *   batch, place  (IN)   of the other one; a batch of this stream, which may have been launched
 *   src_shift     (IN)   bytes from its source to the move's, a multiple of the widest unit; modulo 2^64
 *   dst_shift     (IN)   the same of the destinations
 *   flag          (OUT)  of the move; NULL: not requested
 *   queued        (IN)   its state, which becomes that of a move that is queued. NULL: the other one's
 *                        caller also sees an error of the launch for this one, and both end with the batch
 * Returns false if the batch does not wait any more: nothing was changed. */
bool MPII_Gpudt_batch_join(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                           uint64_t batch, int place, uint64_t src_shift, uint64_t dst_shift,
                           struct MPII_Gpudt_flag *flag, struct MPII_Gpudt_queued *queued);

/* Queue moves of a lane although nothing is in flight, so that several of one call are launched
 * together: until as many calls of MPII_Gpudt_batch_release follow. A full batch is launched before,
 * and so is one for whose moves a call blocks. */
void MPII_Gpudt_batch_hold(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane);

/* Launch what was queued meanwhile.
 *   is_more_to_join  (IN)  short moves wait for others to join them, until a call tests or waits for one
 *                          of them, or a move comes that does not join */
void MPII_Gpudt_batch_release(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                              bool is_more_to_join);

/* Begin or end a burst: see MPIR_Gpudt_burst_set. */
void MPII_Gpudt_batch_burst(bool is_on);

/* Bytes of contiguous data that a kernel moves, at most, if its move would be queued.
 *   may_wait  (IN)  as in struct MPII_Gpudt_queued */
int64_t MPII_Gpudt_batch_contig_max(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                                    bool may_wait);

/* Whether a move of `bytes` bytes would be queued now. Takes the lock of batches only if no batch
 * of this stream is waiting. */
bool MPII_Gpudt_batch_is_due(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                             int64_t bytes, bool may_wait);

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
