/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Batches: small moves that are requested while others are in flight on the same stream wait in a
 * queue, and are launched by one kernel. They would wait in the stream anyway, each with a launch
 * of its own. With nothing in flight a move is never queued. Must not know routes.
 *
 *   move -> queue -> open batch -- the GPU is (nearly) idle --> launch -> flags
 *
 * The parameter blocks of a batch are in pinned memory, in one of a few *slots*. A slot is free
 * again when the flag of its launch is set. Each move has a flag of its own, too. */

#include "mpiimpl.h"
#include "gpudt_batch.h"
#include "gpudt_error.h"
#include "gpudt_stream.h"
#include "gpudt_flight.h"
#include "gpudt_limits.h"
#include "gpudt_vars.h"
#include "plan/gpudt_plan.h"
#include "engine/gpudt_module.h"
#include "engine/gpudt_pool.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_BATCH
      category    : GPUDT
      type        : boolean
      default     : true
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Collect small operations that are asked for while the GPU is busy with others of the same
        direction, and launch one kernel for all of them.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define NSLOTS 4                /* batches of a stream that are open or in flight */
#define SLOT_SZ (MPII_GPUDT_BATCH_MOVES * sizeof(struct MPII_Gpudt_entry))
#define QUEUE_SZ (NSLOTS * SLOT_SZ)     /* bytes of pinned memory */

struct slot {
    struct MPII_Gpudt_entry *entries;   /* pinned memory */
    uint64_t addr;              /* device address of entries */
    struct MPII_Gpudt_flag flag;        /* of the batch's launch; no word: the slot is free */
    CUfunction together, alone; /* the batch kernel; the kernel of the first move */
    int n;
    int64_t bytes;
    unsigned nblocks;
    uint32_t first[MPII_GPUDT_BATCH_MOVES];
    uint16_t words[MPII_GPUDT_BATCH_MOVES];
    struct MPII_Gpudt_flag first_flag;  /* the first move's own */
    struct MPII_Gpudt_queued *move[MPII_GPUDT_BATCH_MOVES];
};

/* The queue of one stream. */
struct MPII_Gpudt_queue {
    struct slot *open;          /* NULL: nothing is queued */
    struct slot slots[NSLOTS];
    char *mem;                  /* memory of all slots; NULL: none */
    bool no_mem;                /* allocation failed */
    struct MPII_Gpudt_flights flights;
};

/* Guards all queues, and the launches from them. */
static MPL_initlock_t batch_lock = MPL_INITLOCK_INITIALIZER;

/* Number of queues with an open slot; may be read without the lock. */
static MPL_atomic_int_t nopen = MPL_ATOMIC_INT_T_INITIALIZER(0);

static struct MPII_Gpudt_queue *queue_get(MPII_Gpudt_engine_t * engine,
                                          enum MPII_Gpudt_lane_e lane);
static bool slot_open(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_queue *queue);
static bool move_plan(const struct MPII_Gpudt_move *m, const struct MPII_Gpudt_plan_in *in,
                      struct MPII_Gpudt_plan *plan);
static void move_add(struct slot *slot, const struct MPII_Gpudt_move *m,
                     struct MPII_Gpudt_plan *plan);
static void queue_launch(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane);
static void queue_end(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_queue *queue, int mpi_errno);

/* A limit of blocks applies to each launch, but the plan can only keep it for each move. */
static bool may_batch(int64_t bytes)
{
    return MPIR_CVAR_GPUDT_BATCH && MPIR_CVAR_GPUDT_MAX_BLOCKS == 0 &&
        bytes <= MPII_GPUDT_BATCH_LARGE;
}

bool MPII_Gpudt_batch_is_due(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                             int64_t bytes)
{
    struct MPII_Gpudt_queue *queue;
    bool is_due;

    if (!may_batch(bytes) || !MPIR_CVAR_GPUDT_FLAGS)
        return false;
    MPL_initlock_lock(&batch_lock);
    queue = queue_get(engine, lane);
    is_due = queue && !queue->no_mem &&
        (queue->open || !MPII_Gpudt_should_start(&queue->flights, bytes));
    MPL_initlock_unlock(&batch_lock);
    return is_due;
}

int MPII_Gpudt_batch_add(const struct MPII_Gpudt_move *m, const struct MPII_Gpudt_plan_in *in,
                         bool * added)
{
    int mpi_errno = MPI_SUCCESS;
    MPII_Gpudt_engine_t *engine = m->engine;
    struct MPII_Gpudt_queue *queue;
    struct MPII_Gpudt_plan plan;
    CUfunction together, alone;

    *added = false;
    if (!may_batch(m->len))
        goto fn_exit;

    MPL_initlock_lock(&batch_lock);
    queue = queue_get(engine, m->lane);
    if (queue == NULL ||
        (queue->open == NULL && MPII_Gpudt_should_start(&queue->flights, m->len)) ||
        !move_plan(m, in, &plan))
        goto fn_unlock;
    mpi_errno = MPII_Gpudt_module_kernel(engine, MPII_GPUDT_KERNEL__BATCH, &together);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPII_Gpudt_module_kernel(engine, plan.kernel, &alone);
    if (mpi_errno || !together || !alone || !slot_open(engine, queue))
        goto fn_unlock;
    MPII_Gpudt_flag_get(engine, m->lane, plan.grid, m->flag);
    if (m->flag->word) {
        if (queue->open->n == 0) {
            queue->open->together = together;
            queue->open->alone = alone;
        }
        move_add(queue->open, m, &plan);
        *added = true;
    }
    /* Also closes a slot that is empty because there was no flag */
    if (queue->open->n == 0 || queue->open->n == MPII_GPUDT_BATCH_MOVES ||
        MPII_Gpudt_should_start(&queue->flights, queue->open->bytes))
        queue_launch(engine, m->lane);

  fn_unlock:
    MPL_initlock_unlock(&batch_lock);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPII_Gpudt_batch_note(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                           const struct MPII_Gpudt_flag *flag, int64_t bytes)
{
    struct MPII_Gpudt_queue *queue;

    if (!MPIR_CVAR_GPUDT_BATCH)
        return;
    MPL_initlock_lock(&batch_lock);
    queue = queue_get(engine, lane);
    if (queue)
        MPII_Gpudt_flight_add(&queue->flights, flag, bytes);
    MPL_initlock_unlock(&batch_lock);
}

bool MPII_Gpudt_batch_note_copy(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                                int64_t bytes)
{
    struct MPII_Gpudt_queue *queue;

    MPL_initlock_lock(&batch_lock);
    queue = queue_get(engine, lane);
    if (queue) {
        queue->flights.ncopies += bytes > 0 ? 1 : -1;
        queue->flights.copied += bytes;
    }
    MPL_initlock_unlock(&batch_lock);
    return queue != NULL;
}

void MPII_Gpudt_batch_poll(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane, bool must)
{
    struct MPII_Gpudt_queue *queue;
    MPII_Gpudt_ctx_t entered;
    int mpi_errno;

    if (likely(MPL_atomic_acquire_load_int(&nopen) == 0))
        return;
    MPL_initlock_lock(&batch_lock);
    queue = queue_get(engine, lane);
    if (queue && queue->open &&
        (must || MPII_Gpudt_should_start(&queue->flights, queue->open->bytes))) {
        mpi_errno = MPII_Gpudt_engine_reenter(engine, &entered);
        if (mpi_errno) {
            queue_end(engine, queue, mpi_errno);
        } else {
            queue_launch(engine, lane);
            MPII_Gpudt_ctx_leave(engine->drv, &entered);
        }
    }
    MPL_initlock_unlock(&batch_lock);
}

/* Callback of MPII_Gpudt_engine_at_end. */
static void queues_free(MPII_Gpudt_engine_t * engine, bool is_alive)
{
    for (int i = 0; engine->queues && i < MPII_GPUDT_NLANES; i++)
        MPII_Gpudt_pinned_unmap(engine, engine->queues[i].mem, QUEUE_SZ, is_alive);
    MPL_free(engine->queues);
}

/* Caller holds batch_lock, as for all functions below. NULL: out of memory. */
static struct MPII_Gpudt_queue *queue_get(MPII_Gpudt_engine_t * engine,
                                          enum MPII_Gpudt_lane_e lane)
{
    if (engine->queues == NULL) {
        engine->queues = MPL_calloc(MPII_GPUDT_NLANES, sizeof(*engine->queues), MPL_MEM_BUFFER);
        MPII_Gpudt_engine_at_end(engine, queues_free);
    }
    return engine->queues ? &engine->queues[lane] : NULL;
}

/* ---- filling a batch ---- */

/* Pin the memory of the slots. */
static bool slots_make(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_queue *queue)
{
    CUdeviceptr addr;

    if (queue->mem == NULL && !queue->no_mem) {
        queue->mem = MPII_Gpudt_pinned_map(engine, QUEUE_SZ, &addr);
        queue->no_mem = queue->mem == NULL;
        for (int i = 0; queue->mem && i < NSLOTS; i++) {
            queue->slots[i].entries = (void *) (queue->mem + i * SLOT_SZ);
            queue->slots[i].addr = addr + i * SLOT_SZ;
        }
    }
    return !queue->no_mem;
}

/* Open a slot, with a flag for its launch; false if there is none. */
static bool slot_open(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_queue *queue)
{
    if (queue->open)
        return true;
    if (!slots_make(engine, queue))
        return false;
    for (int i = 0; i < NSLOTS; i++) {
        struct slot *slot = &queue->slots[i];
        if (slot->flag.word && MPII_Gpudt_flag_is_set(&slot->flag))
            MPII_Gpudt_flag_put(engine, &slot->flag);
        if (slot->flag.word)
            continue;
        MPII_Gpudt_flag_get(engine, (enum MPII_Gpudt_lane_e) (queue - engine->queues),
                            MPII_GPUDT_BATCH_MOVES, &slot->flag);
        if (slot->flag.word == NULL)
            return false;
        slot->n = 0;
        slot->bytes = 0;
        slot->nblocks = 0;
        queue->open = slot;
        MPL_atomic_fetch_add_int(&nopen, 1);
        return true;
    }
    return false;
}

/* Plan a move by a kernel whose work the batch kernel can do; false if no such plan is allowed. */
static bool move_plan(const struct MPII_Gpudt_move *m, const struct MPII_Gpudt_plan_in *in,
                      struct MPII_Gpudt_plan *plan)
{
    struct MPII_Gpudt_plan_in restricted = *in;

    restricted.allowed &= 1u << MPII_GPUDT_STRATEGY__BOX | 1u << MPII_GPUDT_STRATEGY__TABLE |
        (m->len <= MPII_GPUDT_BATCH_SMALL ? 1u << MPII_GPUDT_STRATEGY__TREE : 0);
    if (restricted.allowed == 0)
        return false;
    MPII_Gpudt_plan_make(&restricted, plan);
    if (!(restricted.allowed & 1u << plan->strategy))
        return false;

#define IS_BATCHED(family_, unit_, locator_, args_)             \
        case MPII_GPUDT_KERNEL__ ## family_ ## _ ## unit_ ## _PACK:     \
        case MPII_GPUDT_KERNEL__ ## family_ ## _ ## unit_ ## _UNPACK:
    switch (plan->kernel) {
        MPII_GPUDT_KERNEL_BATCHED(IS_BATCHED)
            return true;
        default:
            return false;
    }
#undef IS_BATCHED
}

/* Bytes of a parameter block that its kernel reads, to save the bus: a block of threads reads them
 * from host memory. */
static size_t args_used(const struct MPII_Gpudt_plan *plan)
{
    if (plan->strategy == MPII_GPUDT_STRATEGY__TREE)
        return offsetof(struct MPII_Gpudt_args_tree, node) +
            (plan->args.tree.nodes ? 0 : plan->args.tree.nnodes) * sizeof(struct MPII_Gpudt_node);
    return offsetof(struct MPII_Gpudt_args_box, levels) +
        offsetof(struct MPII_Gpudt_levels, level) +
        plan->args.box.levels.nlevels * sizeof(struct MPII_Gpudt_level);
}

static void move_add(struct slot *slot, const struct MPII_Gpudt_move *m,
                     struct MPII_Gpudt_plan *plan)
{
    struct MPII_Gpudt_entry *entry = &slot->entries[slot->n];

    MPII_Gpudt_flag_ask(&plan->args.span.end, m->flag);
    entry->kernel = plan->kernel;
    memcpy(&entry->args, &plan->args, plan->args_sz);   /* all: a single move is launched with it */
    slot->first[slot->n] = slot->nblocks;
    slot->words[slot->n] =
        (uint16_t) ((offsetof(struct MPII_Gpudt_entry, args) + args_used(plan)) / sizeof(uint64_t));
    if (slot->n == 0)
        slot->first_flag = *m->flag;
    slot->move[slot->n] = m->may_queue;
    slot->n++;
    slot->nblocks += plan->grid;
    slot->bytes += m->len;
    MPL_atomic_relaxed_store_int(&m->may_queue->is_queued, 1);
}

/* ---- launching ---- */

/* A batch of one move is launched as the move's own kernel. */
static int slot_launch_single(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                              struct slot *slot)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = MPII_Gpudt_kernel_launch(engine, lane, slot->alone, slot->nblocks,
                                         &slot->entries[0].args);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_Gpudt_flight_add(&engine->queues[lane].flights, &slot->first_flag, slot->bytes);
    MPII_Gpudt_flag_put(engine, &slot->flag);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int slot_launch(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane, struct slot *slot)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_args_batch args = {.entries = slot->addr,.nentries = slot->n };

    memcpy(args.first, slot->first, slot->n * sizeof(args.first[0]));
    memcpy(args.words, slot->words, slot->n * sizeof(args.words[0]));
    MPII_Gpudt_flag_ask(&args.end, &slot->flag);
    args.end.nblocks = (int32_t) slot->nblocks;
    mpi_errno = MPII_Gpudt_kernel_launch(engine, lane, slot->together, slot->nblocks, &args);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_Gpudt_flight_add(&engine->queues[lane].flights, &slot->flag, slot->bytes);
    MPII_GPUDT_COUNT(batches, 1);
    MPII_GPUDT_COUNT(batched, slot->n);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Launch the queued moves; the engine's context is current. */
static void queue_launch(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane)
{
    struct MPII_Gpudt_queue *queue = &engine->queues[lane];
    struct slot *slot = queue->open;
    int mpi_errno = MPI_SUCCESS;

    if (slot->n == 1)
        mpi_errno = slot_launch_single(engine, lane, slot);
    else if (slot->n > 1)
        mpi_errno = slot_launch(engine, lane, slot);
    MPII_GPUDT_COUNT(flags, mpi_errno ? 0 : slot->n);
    queue_end(engine, queue, mpi_errno);
}

/* Close the open slot and release its moves, which have been started or have failed. */
static void queue_end(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_queue *queue, int mpi_errno)
{
    struct slot *slot = queue->open;

    if (mpi_errno || slot->n == 0)
        MPII_Gpudt_flag_put(engine, &slot->flag);
    queue->open = NULL;
    for (int i = 0; i < slot->n; i++) {
        /* After the second store another thread may free the operation */
        slot->move[i]->mpi_errno = mpi_errno;
        MPL_atomic_release_store_int(&slot->move[i]->is_queued, 0);
    }
    MPL_atomic_fetch_sub_int(&nopen, 1);
}
