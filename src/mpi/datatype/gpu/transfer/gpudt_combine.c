/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Reductions of buffers of several processes; see gpudt_combine.h. Must not know how processes
 * exchange descriptions of their buffers. */

#include "mpiimpl.h"
#include "gpudt_combine.h"
#include "gpudt_buffer_impl.h"
#include "gpudt_error.h"
#include "gpudt_launch.h"
#include "gpudt_offer.h"
#include "gpudt_reduce_impl.h"
#include "gpudt_run.h"
#include "gpudt_step.h"
#include "gpudt_vars.h"
#include "driver/gpudt_profile.h"
#include "engine/gpudt_contexts.h"
#include "engine/gpudt_module.h"
#include "plan/gpudt_plan_copies.h"
#include "plan/gpudt_plan_reduce.h"

#include <float.h>

MPII_GPUDT_STATIC_ASSERT(sizeof(struct MPII_Gpudt_export) <= MPIR_GPUDT_EXPORT_SZ, "it has room");
MPII_GPUDT_STATIC_ASSERT(MPIR_GPUDT_COMBINE_MAX == MPII_GPUDT_COMBINE_MAX, "the same limit");

/* A reduction in flight: the operation first, by which it is tested and freed. */
struct combining {
    MPIR_Gpudt_op op;
    struct MPII_Gpudt_mapped mapped;
    struct MPII_Gpudt_mapping *room[2 * MPII_GPUDT_COMBINE_MAX];
};

/* The descriptor that shares a range or a pool; 0 for other memory. */
static int descriptor_of(const struct MPII_Gpudt_export *export)
{
    switch (export->kind) {
        case MPII_GPUDT_EXPORT__RANGE:
            return export->descriptor.memory[0];
        case MPII_GPUDT_EXPORT__POOL:
            return export->pool.pool;
        default:
            return 0;
    }
}

bool MPIR_Gpudt_operand_make(const void *buf, MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                             MPIR_Gpudt_buffer ** buffer, struct MPIR_Gpudt_operand *operand,
                             uint64_t * gpu)
{
    struct MPII_Gpudt_reduction r;
    const struct MPII_Gpudt_export *export = NULL;
    const struct MPII_Gpudt_side *side;

    *buffer = NULL;
    if (!MPIR_Gpudt_is_present() || !MPII_Gpudt_reduction_find(op, datatype, &r) ||
        MPIR_Gpudt_buffer_make(buf, count, datatype, buffer) != MPI_SUCCESS || *buffer == NULL)
        return false;
    side = &(*buffer)->side;
    if ((uintptr_t) buf % r.align == 0)
        export = MPII_Gpudt_buffer_export(*buffer);
    /* The number does not identify several ranges side by side */
    if (export == NULL ||
        (export->kind == MPII_GPUDT_EXPORT__RANGE && export->descriptor.nhandles > 1)) {
        MPIR_Gpudt_buffer_free(*buffer);
        *buffer = NULL;
        return false;
    }
    operand->process = export->process;
    operand->id = export->id;
    operand->at = (int64_t) ((uintptr_t) side->addr - export->base);
    operand->descriptor = descriptor_of(export);
    /* For this call, in which others may map it by what they were told in an earlier one */
    MPII_Gpudt_export_hold(export, (*buffer)->held);
    *gpu = MPIR_Gpudt_buffer_gpu(*buffer);
    return true;
}

bool MPIR_Gpudt_operands_fit(const MPIR_Gpudt_buffer * a, const MPIR_Gpudt_buffer * b)
{
    return a->side.engine == b->side.engine;
}

void MPIR_Gpudt_operand_export(const MPIR_Gpudt_buffer * buffer,
                               const struct MPIR_Gpudt_operand *operand, void *mem)
{
    const struct MPII_Gpudt_export *export = MPII_Gpudt_buffer_export(buffer);

    memset(mem, 0, MPIR_GPUDT_EXPORT_SZ);
    /* The other buffer of the call may have taken its place among the open ones */
    if (export && descriptor_of(export) == operand->descriptor)
        MPII_Gpudt_export_copy(export, mem);
}

/* The address of an operand or a result for the engine, whose context is current; 0: it cannot be
 * mapped. */
static uint64_t place_find(MPII_Gpudt_engine_t * engine, const struct MPIR_Gpudt_place *p,
                           struct MPII_Gpudt_mapped *mapped)
{
    struct MPII_Gpudt_mapping *m;
    CUdeviceptr mem;

    if (p->buffer)
        return (uint64_t) (uintptr_t) p->buffer->side.addr + (uint64_t) p->at;
    /* The caller has decided that it is worth mapping */
    m = MPII_Gpudt_import_find(engine, p->export, DBL_MAX);
    mem = m ? MPII_Gpudt_import_open(m) : 0;
    if (mem == 0)
        return 0;
    mapped->mapping[mapped->n++] = m;
    return mem + (uint64_t) p->at;
}

/* Find all addresses. Returns false if one of them cannot be mapped. */
static bool places_find(const struct MPIR_Gpudt_combine *c, MPII_Gpudt_engine_t * engine,
                        struct MPII_Gpudt_plan_combine_in *in, struct MPII_Gpudt_mapped *mapped)
{
    for (int i = 0; i < c->nin; i++) {
        in->in[i] = place_find(engine, &c->in[i], mapped);
        if (in->in[i] == 0)
            return false;
    }
    for (int i = 0; i < c->nout; i++) {
        in->out[i] = place_find(engine, &c->out[i], mapped);
        if (in->out[i] == 0)
            return false;
    }
    return true;
}

/* A launch. */
struct combine_plan {
    int kernel;
    unsigned grid;
    union {
        struct MPII_Gpudt_args_combine combine;
        struct MPII_Gpudt_args_copies_few copies;
    } args;
    struct MPII_Gpudt_end *end;
};

/* Plan copies. Returns false if their kernel cannot do them. */
static bool copies_plan(const struct MPII_Gpudt_plan_combine_in *in, struct combine_plan *plan)
{
    struct MPII_Gpudt_args_copies_few *args = &plan->args.copies;
    unsigned blocks;

    MPII_GPUDT_STATIC_ASSERT(MPII_GPUDT_COMBINE_MAX <= MPII_GPUDT_COPIES_FEW, "they have room");
    if (in->max_blocks > 0)
        return false;
    plan->kernel = MPII_GPUDT_KERNEL__COPIES_FEW;
    plan->grid = 0;
    for (int i = 0; i < in->nout; i++) {
        blocks = MPII_Gpudt_plan_copy_set(in->in[i], in->out[i], in->n * in->size, &args->copy[i]);
        if (blocks == 0)
            return false;
        args->first[i] = plan->grid;
        plan->grid += blocks;
    }
    args->n = in->nout;
    plan->end = &args->end;
    memset(plan->end, 0, sizeof(*plan->end));
    plan->end->nblocks = (int32_t) plan->grid;
    return true;
}

static void reduction_plan(const struct MPII_Gpudt_plan_combine_in *in, struct combine_plan *plan)
{
    struct MPII_Gpudt_plan_combine made;

    MPII_Gpudt_plan_combine_make(in, &made);
    plan->kernel = made.kernel;
    plan->grid = made.grid;
    plan->args.combine = made.args;
    plan->end = &plan->args.combine.end;
}

/* Returns false if the kernel cannot do it. */
static bool combine_plan(const struct MPII_Gpudt_plan_combine_in *in, bool is_each,
                         struct combine_plan *plan)
{
    if (is_each && !copies_plan(in, plan))
        return false;
    if (!is_each)
        reduction_plan(in, plan);
    if (unlikely(MPIR_CVAR_GPUDT_TRACE))
        fprintf(stderr, "[%d] gpudt: combine %lld elements of %d bytes of %d operands, to %d places%s\n",
                MPIR_Process.rank, (long long) in->n, in->size, in->nin, in->nout,
                is_each ? ", each to one" : "");
    return true;
}

/* Launch the kernel.
 *   is_waited_for  (IN)  if not, it ends with a flag or an event */
static int combine_launch(MPIR_Gpudt_op * op, struct combine_plan *plan, bool is_waited_for)
{
    int mpi_errno = MPI_SUCCESS;
    bool is_started = false;
    struct MPII_Gpudt_launch launch = {
        .engine = op->engine,.lane = op->lane,
        .kernel = plan->kernel,.grid = plan->grid,.args = &plan->args,.end = plan->end,
        .flag = &op->slice[0].flag[0],.is_waited_for = is_waited_for
    };

    mpi_errno = MPII_Gpudt_kernel_start(&launch, &is_started);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKINTERNAL(!is_started, mpi_errno, "a GPU no longer has its kernels");
    if (!is_waited_for && op->slice[0].flag[0].word == NULL) {
        mpi_errno = MPII_Gpudt_step_record(op, &op->slice[0], 0);
        if (mpi_errno)
            MPII_Gpudt_op_drain(op);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The operation of a reduction: one direct step, which is started next. NULL: out of memory. */
static MPIR_Gpudt_op *op_make(MPII_Gpudt_engine_t * engine)
{
    struct combining *work = MPL_calloc(1, sizeof(*work), MPL_MEM_BUFFER);
    MPIR_Gpudt_op *op = &work->op;

    if (work == NULL)
        return NULL;
    work->mapped.mapping = work->room;
    op->mapped = &work->mapped;
    op->drv = engine->drv;
    op->engine = engine;
    op->lane = MPII_GPUDT_LANE__PACK;
    op->is_direct = true;
    op->step[0] = (struct MPII_Gpudt_step) {
        .method = MPII_GPUDT_METHOD__KERNEL,.engine = engine,.lane = op->lane
    };
    op->n = op->started = op->slice_sz = 1;
    op->nslices = op->nbusy = 1;
    op->slice[0].len = op->slice[0].nsteps = 1;
    return op;
}

/* Start a reduction, in the engine's context.
 *   op_ptr  (OUT)  NULL: it was not started */
static int combine_start(const struct MPIR_Gpudt_combine *c, MPII_Gpudt_engine_t * engine,
                         const struct MPII_Gpudt_reduction *r, bool is_waited_for,
                         MPIR_Gpudt_op ** op_ptr)
{
    int mpi_errno = MPI_SUCCESS;
    CUfunction function = NULL;
    MPIR_Gpudt_op *op = NULL;
    struct combine_plan plan;
    struct MPII_Gpudt_plan_combine_in in = {
        .kernel = c->is_each ? MPII_GPUDT_KERNEL__COPIES_FEW :
            MPII_GPUDT_KERNEL_COMBINE_OF(r->kernel),.op = r->op,.size = r->size,
        .is_dense = r->is_dense,.nin = c->nin,.nout = c->nout,.n = c->n * r->parts,
        .nsms = engine->nsms,.max_blocks = MPIR_CVAR_GPUDT_MAX_BLOCKS
    };

    mpi_errno = MPII_Gpudt_module_kernel(engine, in.kernel, &function);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (function)
        op = op_make(engine);
    if (op && places_find(c, engine, &in, op->mapped) && combine_plan(&in, c->is_each, &plan)) {
        MPII_GPUDT_PROFILE_PUSH("MPI reduction between GPUs");
        mpi_errno = combine_launch(op, &plan, is_waited_for);
        MPII_GPUDT_PROFILE_POP();
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        MPII_GPUDT_COUNT(reductions_direct, 1);
        *op_ptr = op;
        op = NULL;
    }

  fn_exit:
    if (op) {
        MPII_Gpudt_op_finish(op);
        MPII_Gpudt_op_delete(op);
    }
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The same, and wait for it in the engine's context if that is asked for. */
static int combine_run(const struct MPIR_Gpudt_combine *c, bool is_waited_for, MPIR_Gpudt_op ** op)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *engine = c->own->side.engine;
    MPII_Gpudt_ctx_t entered;
    struct MPII_Gpudt_reduction r;

    *op = NULL;
    if (!MPII_Gpudt_reduction_find(c->op, c->datatype, &r))
        goto fn_exit;
    mpi_errno = MPII_Gpudt_engine_reenter(engine, &entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = combine_start(c, engine, &r, is_waited_for, op);
    if (*op && is_waited_for)
        mpi_errno = MPII_Gpudt_launch_wait(engine, (*op)->lane, &(*op)->slice[0].flag[0],
                                           c->others, &entered);
    MPII_Gpudt_ctx_leave(engine->drv, &entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Gpudt_combine(const struct MPIR_Gpudt_combine *c, bool * is_done)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Gpudt_op *op;

    MPIR_FUNC_ENTER;

    mpi_errno = combine_run(c, true, &op);
    *is_done = op != NULL && mpi_errno == MPI_SUCCESS;
    if (op) {
        MPII_Gpudt_op_finish(op);
        MPII_Gpudt_op_delete(op);
    }
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Gpudt_icombine(const struct MPIR_Gpudt_combine *c, MPIR_Gpudt_op ** op)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_FUNC_ENTER;

    mpi_errno = combine_run(c, false, op);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
