/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* See gpudt_within.h. Must not know the ways of messages. */

#include "mpiimpl.h"
#include "gpudt_within.h"
#include "gpudt_buffer_impl.h"
#include "gpudt_offer.h"
#include "gpudt_shared.h"
#include "gpudt_timing.h"
#include "driver/gpudt_sharing.h"
#include "engine/gpudt_export.h"
#include "tuning/gpudt_tuning.h"

enum MPII_Gpudt_within_e MPII_Gpudt_within(const MPIR_Gpudt_buffer * buffer,
                                           const MPIR_Gpudt_offer_t * offer)
{
    const uint64_t process = MPIR_Gpudt_offer_process(offer);

    if (offer->gpu == 0 || offer->gpu != MPIR_Gpudt_buffer_gpu(buffer))
        return MPII_GPUDT_WITHIN__NO;
    /* That may not be known yet if no data has passed through host memory */
    MPIR_Gpudt_shared_note(offer->gpu);
    if (!MPII_Gpudt_is_shared(buffer->side.engine->shared))
        return MPII_GPUDT_WITHIN__NO;
    /* Any order will do on which both agree. Memory that cannot be mapped has no process */
    return process && MPII_Gpudt_export_process() > process ? MPII_GPUDT_WITHIN__OTHER :
        MPII_GPUDT_WITHIN__COPIER;
}

bool MPII_Gpudt_within_is_long(int64_t n, bool is_typed)
{
    return n >= (is_typed ? MPII_GPUDT_SHARED_MIN : MPII_GPUDT_SHARED_MIN_CONTIG);
}

bool MPII_Gpudt_within_is_good(int64_t n, bool is_typed)
{
    const double host_us = is_typed ?
        MPII_GPUDT_SHARED_HOST_US + MPII_GPUDT_SHARED_HOST_US_PER_BYTE * n :
        MPII_GPUDT_SHARED_HOST_CONTIG_US + MPII_GPUDT_SHARED_HOST_CONTIG_US_PER_BYTE * n;

    return MPII_Gpudt_timing_is_good(host_us - MPII_GPUDT_SHARED_COPY_US_PER_BYTE * n);
}
