/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Long messages within a GPU that processes share without NVIDIA's MPS (see gpudt_shared.h). Whatever a
 * process launches waits some 145 us if the GPU is in the context of another one. So one process of each
 * two, the *copier*, copies the messages of both directions: it pulls those that it receives, and pushes
 * those that it sends. If the program uses the GPU between the messages, it may be in the wrong context
 * all the same, or kept by a kernel. The copier therefore notes how long its copies wait (gpudt_timing.h),
 * and leaves messages to host memory while that is better, or to their receivers those for which it is
 * not. */

#ifndef GPUDT_WITHIN_H_INCLUDED
#define GPUDT_WITHIN_H_INCLUDED

#include "gpudt_direct.h"

enum MPII_Gpudt_within_e {
    MPII_GPUDT_WITHIN__NO,      /* different GPUs, or kernels of several processes run at a time */
    MPII_GPUDT_WITHIN__COPIER,  /* this process is to copy */
    MPII_GPUDT_WITHIN__OTHER    /* the other one is */
};

/* Whether a message between a buffer and an offered one is within a shared GPU, and who is its copier. */
enum MPII_Gpudt_within_e MPII_Gpudt_within(const MPIR_Gpudt_buffer * buffer,
                                           const MPIR_Gpudt_offer_t * offer);

/* Whether a message of n bytes is so long that copying it directly is better even if the GPU has to switch.
 *   is_typed  (IN)  some side is not contiguous */
bool MPII_Gpudt_within_is_long(int64_t n, bool is_typed);

/* In the copier: whether to copy a message now. */
bool MPII_Gpudt_within_is_good(int64_t n, bool is_typed);

#endif /* GPUDT_WITHIN_H_INCLUDED */
