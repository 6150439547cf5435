/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * What the ways of a message between two GPUs cost, by the buffers at both ends. Pure functions of
 * their parameters; must not know MPI, the driver or offers.
 *
 * Costs are times, in bytes that the link between the GPUs moves meanwhile, and are counted from
 * the time that a contiguous message of the same length takes.
 */

#ifndef GPUDT_ACROSS_H_INCLUDED
#define GPUDT_ACROSS_H_INCLUDED

#include "type/gpudt_record.h"

/* What it costs to access a buffer. */
struct MPII_Gpudt_access {
    int64_t read_across;        /* as memory of the other GPU */
    int64_t write_across;
    int64_t read, write;        /* as the GPU's own memory, while the link moves the data */
    int64_t pack;               /* to pack it there */
};

/* Find what it costs to access the first bytes of a buffer.
 *   serial  (IN)   its datatype; NULL: contiguous
 *   top     (IN)   root for its count, as in MPII_Gpudt_plan_in, not NULL if serial is not
 *   span    (IN)   bytes from the lowest to the highest one of the buffer
 *   size    (IN)   packed bytes of the buffer
 *   n       (IN)   bytes that are accessed, at most size, greater than 0 */
void MPII_Gpudt_access_find(const struct MPII_Gpudt_serial *serial,
                            const struct MPII_Gpudt_record *top, int64_t span, int64_t size,
                            int64_t n, struct MPII_Gpudt_access *access);

/* Bytes from block to block in the order of the packed stream: the innermost stride, or if there is none
 * the average, which the caller knows. The root is as above. */
double MPII_Gpudt_block_spacing(const struct MPII_Gpudt_serial *serial,
                                const struct MPII_Gpudt_record *top, double average);

/* The receiver's GPU copies.
 *   read_across  (IN)  of the source
 *   to           (IN)  of the destination */
int64_t MPII_Gpudt_pull_cost(int64_t read_across, const struct MPII_Gpudt_access *to);

/* The sender's GPU copies.
 *   read  (IN)  of the source
 *   to    (IN)  of the destination */
int64_t MPII_Gpudt_push_cost(int64_t read, const struct MPII_Gpudt_access *to);

/* The sender's GPU packs, and the receiver's unpacks what is packed. This is the part that the
 * sender knows; MPII_Gpudt_stage_whole_cost adds the rest.
 *   n        (IN)  bytes of the message
 *   segment  (IN)  bytes that are packed at a time
 *   pack     (IN)  of the source
 *   may_be_early  (IN)  a kernel packs the message before the receiver asks for it, or its first
 *                       segment beside the receiver's kernel, if there are no others
 *   nothers  (IN)  long messages that use the link meanwhile */
int64_t MPII_Gpudt_stage_cost(int64_t n, int64_t segment, int64_t pack, int may_be_early,
                              int nothers);

static inline int64_t MPII_Gpudt_stage_whole_cost(int64_t stage_cost,
                                                  const struct MPII_Gpudt_access *to)
{
    return stage_cost + to->write;
}

#endif /* GPUDT_ACROSS_H_INCLUDED */
