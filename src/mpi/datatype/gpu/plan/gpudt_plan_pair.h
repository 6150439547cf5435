/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Plans one launch from datatype to datatype. Pure functions of their parameters; must not know
 * MPI, the driver or a stream.
 */

#ifndef GPUDT_PLAN_PAIR_H_INCLUDED
#define GPUDT_PLAN_PAIR_H_INCLUDED

#include "gpudt_plan_types.h"

/* Strategies that the pair kernels have for a side. */
#define MPII_GPUDT_PAIR_STRATEGIES                                                              \
    (1u << MPII_GPUDT_STRATEGY__BOX | 1u << MPII_GPUDT_STRATEGY__TABLE |                        \
     1u << MPII_GPUDT_STRATEGY__BITMAP | 1u << MPII_GPUDT_STRATEGY__LIST |                      \
     1u << MPII_GPUDT_STRATEGY__TREE)

/* Bytes of the widest unit. Plans for addresses that differ by multiples of it differ by nothing
 * else. */
#define MPII_GPUDT_PAIR_ALIGN 16

struct MPII_Gpudt_plan_pair {
    enum MPII_Gpudt_strategy_e strategy[2];     /* of the source, of the destination */
    double cost;                /* of the kernel, in estimated nanoseconds */
    double copy_cost;           /* of the driver's copy of rows; 0: it cannot move this */
    struct MPII_Gpudt_rows {
        uint64_t src, dst;      /* addresses of the first row */
        int64_t width, rows, planes;    /* as in MPII_Gpudt_copy */
        int64_t src_pitch, dst_pitch, src_height, dst_height;
    } copy;
    int kernel;                 /* enum MPII_Gpudt_kernel_e */
    unsigned grid;              /* blocks of MPII_GPUDT_THREADS threads */
    union {
        struct MPII_Gpudt_end end;      /* first member of all */
        struct MPII_Gpudt_args_pair pair;
        struct MPII_Gpudt_args_pairbox box;
        struct MPII_Gpudt_args_pairlist list;
    } args;
};

/* Plan to move bytes [src->first, src->last) of the source's stream to the same number of bytes of
 * the destination's, from dst->first on. Either side may be contiguous.
 *   src, dst  (IN)   the sides; packed, packed_place and unpack are not read. If none of the above
 *                    is allowed, all are
 *   plan      (OUT)  filled completely, except the members of args that are not in use, and the
 *                    copy if it has no cost. A copy is planned between GPUs only: within one the
 *                    kernel is always faster
 * Cannot fail. */
void MPII_Gpudt_plan_pair_make(const struct MPII_Gpudt_plan_in *src,
                               const struct MPII_Gpudt_plan_in *dst,
                               struct MPII_Gpudt_plan_pair *plan);

/* Change a plan to what it would be for other addresses.
 *   by  (IN)  what to add to the address of the source and to that of the destination: multiples of
 *             MPII_GPUDT_PAIR_ALIGN, modulo 2^64 */
void MPII_Gpudt_plan_pair_shift(struct MPII_Gpudt_plan_pair *plan, const uint64_t by[2]);

#endif /* GPUDT_PLAN_PAIR_H_INCLUDED */
