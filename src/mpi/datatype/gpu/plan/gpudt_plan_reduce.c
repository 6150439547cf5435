/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Plans one launch of a reduction: which elements are moved 16 bytes at a time, and how many blocks
 * work on them.
 */

#include "gpudt_plan_reduce.h"
#include "tuning/gpudt_tuning.h"

#include <string.h>

#define QUAD 16                 /* bytes that a thread moves at a time */

/* The number of blocks for n elements, of which nquads * 16 bytes are moved 16 at a time.
 *   default_most  (IN)  the most blocks if max_blocks is 0 */
static unsigned blocks_count(int64_t n, int64_t nquads, int64_t default_most, int max_blocks)
{
    const int64_t work = nquads > 0 ? nquads : n;
    const int64_t nblocks = (work + MPII_GPUDT_THREADS - 1) / MPII_GPUDT_THREADS;
    const int64_t most = max_blocks > 0 ? max_blocks : default_most;

    return (unsigned) (nblocks < most ? nblocks : most);
}

/* Find the elements that are moved 16 bytes at a time: all operands must reach a multiple of 16
 * bytes at the same element.
 *   misfit  (IN)  the operands' addresses modulo 16, each exclusive-or the result's, all combined:
 *                 0 if they are the same */
static void quads_find(uint64_t result, uint64_t misfit, int64_t n, int size, int64_t *head,
                       int64_t *nquads)
{
    const int64_t before = (int64_t) ((QUAD - result % QUAD) % QUAD);

    *head = *nquads = 0;
    if (misfit == 0 && before % size == 0 && before / size < n) {
        *head = before / size;
        *nquads = (n - *head) * size / QUAD;
    }
}

void MPII_Gpudt_plan_reduce_make(const struct MPII_Gpudt_plan_reduce_in *in,
                                 struct MPII_Gpudt_plan_reduce *plan)
{
    memset(plan, 0, sizeof(*plan));
    plan->kernel = in->kernel;
    plan->args.in = in->in;
    plan->args.inout = in->inout;
    plan->args.n = in->n;
    plan->args.op = in->op;
    if (in->is_dense)
        quads_find(in->inout, (in->in ^ in->inout) % QUAD, in->n, in->size, &plan->args.head,
                   &plan->args.nquads);
    plan->grid = blocks_count(in->n, plan->args.nquads,
                              MPII_GPUDT_REDUCE_BLOCKS_PER_SM * in->nsms, in->max_blocks);
    plan->args.end.nblocks = (int32_t) plan->grid;
}

void MPII_Gpudt_plan_combine_make(const struct MPII_Gpudt_plan_combine_in *in,
                                  struct MPII_Gpudt_plan_combine *plan)
{
    struct MPII_Gpudt_args_combine *args = &plan->args;
    uint64_t misfit = 0;

    memset(plan, 0, sizeof(*plan));
    plan->kernel = in->kernel;
    args->n = in->n;
    args->op = in->op;
    args->nin = in->nin;
    args->nout = in->nout;
    for (int i = 0; i < in->nin; i++) {
        args->in[i] = in->in[i];
        misfit |= (in->in[i] ^ in->out[0]) % QUAD;
    }
    for (int i = 0; i < in->nout; i++) {
        args->out[i] = in->out[i];
        misfit |= (in->out[i] ^ in->out[0]) % QUAD;
    }
    if (in->is_dense)
        quads_find(in->out[0], misfit, in->n, in->size, &args->head, &args->nquads);
    plan->grid = blocks_count(in->n, args->nquads, MPII_GPUDT_COMBINE_BLOCKS_PER_SM * in->nsms,
                              in->max_blocks);
    args->end.nblocks = (int32_t) plan->grid;
}

void MPII_Gpudt_plan_update_make(const struct MPII_Gpudt_plan_update_in *in,
                                 struct MPII_Gpudt_plan_update *plan)
{
    struct MPII_Gpudt_args_update *args = &plan->args;
    uint64_t misfit = 0;

    memset(plan, 0, sizeof(*plan));
    plan->kernel = in->kernel;
    args->target = in->target;
    args->in = in->in;
    args->old = in->old;
    args->n = in->n;
    args->op = in->op;
    args->is_atomic = in->is_atomic;
    if (in->in)
        misfit |= (in->in ^ in->target) % QUAD;
    if (in->old)
        misfit |= (in->old ^ in->target) % QUAD;
    if (in->is_dense && !in->is_atomic && (in->in || in->op == MPII_GPUDT_REDUCE__NO_OP))
        quads_find(in->target, misfit, in->n, in->size, &args->head, &args->nquads);
    plan->grid = blocks_count(in->n, args->nquads, MPII_GPUDT_REDUCE_BLOCKS_PER_SM * in->nsms,
                              in->max_blocks);
    args->end.nblocks = (int32_t) plan->grid;
}
