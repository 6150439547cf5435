/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Plans for the kernels for copies of contiguous memory, which need no more than the addresses. */

#include <string.h>

#include "gpudt_plan_copies.h"
#include "tuning/gpudt_tuning.h"


unsigned MPII_Gpudt_plan_copy_set(uint64_t src, uint64_t dst, int64_t bytes,
                                  struct MPII_Gpudt_args_copy *copy)
{
    const uint64_t apart = src ^ dst;
    const int64_t unit = apart % MPII_GPUDT_UNIT_MAX == 0 ? MPII_GPUDT_UNIT_MAX : apart % 8 == 0 ? 8 : 4;
    const int64_t block = unit * MPII_GPUDT_COPY_UNITS;

    if (apart % 4 || bytes == 0)
        return 0;
    memset(&copy->end, 0, sizeof(copy->end));
    copy->src = src;
    copy->dst = dst;
    copy->bytes = bytes;
    copy->end.nblocks = (int32_t) (((int64_t) (dst % MPII_GPUDT_UNIT_MAX) + bytes + block - 1) / block);
    return (unsigned) copy->end.nblocks;
}
