/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Chooses lanes. */

#include "mpiimpl.h"
#include "gpudt_lane.h"
#include "tuning/gpudt_tuning.h"

enum MPII_Gpudt_lane_e MPII_Gpudt_lane_choose(const MPII_Gpudt_engine_t * engine, bool is_push,
                                              int64_t n)
{
    const enum MPII_Gpudt_lane_e first = is_push ? MPII_GPUDT_LANE__PACK : MPII_GPUDT_LANE__UNPACK;
    const enum MPII_Gpudt_lane_e second = is_push ? MPII_GPUDT_LANE__PUSH : MPII_GPUDT_LANE__PULL;

    /* A limit of blocks is meant for all kernels at a time */
    if (n < MPII_GPUDT_BESIDE_MIN || MPIR_CVAR_GPUDT_MAX_BLOCKS > 0)
        return first;
    return MPL_atomic_relaxed_load_int(&engine->nlong[second]) <
        MPL_atomic_relaxed_load_int(&engine->nlong[first]) ? second : first;
}

enum MPII_Gpudt_lane_e MPII_Gpudt_lane_least(const MPII_Gpudt_engine_t * engine,
                                             enum MPII_Gpudt_lane_e lane, int64_t n, bool is_box)
{
    /* Not those of sends, whose short kernels would come behind it */
    static const enum MPII_Gpudt_lane_e others[] = {
        MPII_GPUDT_LANE__UNPACK, MPII_GPUDT_LANE__PULL, MPII_GPUDT_LANE__FROM_HOST,
        MPII_GPUDT_LANE__TO_HOST
    };
    enum MPII_Gpudt_lane_e least = lane;

    if (is_box || n < MPII_GPUDT_SPREAD_MIN || MPIR_CVAR_GPUDT_MAX_BLOCKS > 0)
        return lane;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (MPL_atomic_relaxed_load_int(&engine->nflying[others[i]]) <
            MPL_atomic_relaxed_load_int(&engine->nflying[least]))
            least = others[i];
    }
    return least;
}
