/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Plans one launch of a reduction: which elements are moved 16 bytes at a time, and how many blocks
 * work on them.
 */

#include "gpudt_plan_reduce.h"

#include <string.h>

#define QUAD 16                 /* bytes that a thread moves at a time */
#define BLOCKS_PER_SM 8         /* as many as a multiprocessor has threads for */

void MPII_Gpudt_plan_reduce_make(const struct MPII_Gpudt_plan_reduce_in *in,
                                 struct MPII_Gpudt_plan_reduce *plan)
{
    const int64_t before = (int64_t) ((QUAD - in->inout % QUAD) % QUAD);
    int64_t work, nblocks, most = (int64_t) BLOCKS_PER_SM * in->nsms;

    memset(plan, 0, sizeof(*plan));
    plan->kernel = in->kernel;
    plan->args.in = in->in;
    plan->args.inout = in->inout;
    plan->args.n = in->n;
    plan->args.op = in->op;

    /* Both operands must reach a multiple of 16 bytes at the same element */
    if (in->is_dense && in->in % QUAD == in->inout % QUAD && before % in->size == 0 &&
        before / in->size < in->n) {
        plan->args.head = before / in->size;
        plan->args.nquads = (in->n - plan->args.head) * in->size / QUAD;
    }

    work = plan->args.nquads > 0 ? plan->args.nquads : in->n;
    nblocks = (work + MPII_GPUDT_THREADS - 1) / MPII_GPUDT_THREADS;
    if (in->max_blocks > 0)
        most = in->max_blocks;
    plan->grid = (unsigned) (nblocks < most ? nblocks : most);
    plan->args.end.nblocks = (int32_t) plan->grid;
}
