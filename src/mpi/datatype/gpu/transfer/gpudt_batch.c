/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Batches: small moves that are requested while others are in flight on the same stream wait in a
 * queue, and are launched by one kernel. They would wait in the stream anyway, each with a launch
 * of its own. With nothing in flight a move is not queued, unless a caller who has several to start
 * holds the queue, or more packets that may start moves have arrived. Must not know routes.
 *
 *   move -> queue -> open batch -- the GPU is (nearly) idle --> launch -> flags
 *
 * The parameter blocks of a batch are in pinned memory, in one of a few *slots*. A slot is free
 * again when the flag of its launch is set. Each move has a flag of its own, too, but for short ones that
 * are queued while the queue is held, for which the caller waits together, and those that callers count
 * with the batch: their end is that of the launch. Others can join one that may lead at the cost of a copy
 * of its parameters.
 *
 * Short copies of contiguous memory that are alone in a batch have a small kernel of their own. */

#include "mpiimpl.h"
#include "gpudt_batch.h"
#include "gpudt_error.h"
#include "gpudt_flight.h"
#include "tuning/gpudt_tuning.h"
#include "gpudt_lock.h"
#include "gpudt_slot.h"
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
        direction, or that are parts of one collective, and launch one kernel for all of them.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define NSLOTS 4                /* batches of a stream that are open or in flight */
#define QUEUE_SZ (NSLOTS * MPII_GPUDT_SLOT_SZ)   /* bytes of pinned memory */

/* The queue of one stream. */
struct MPII_Gpudt_queue {
    struct MPII_Gpudt_slot *open;       /* NULL: nothing is queued */
    MPL_atomic_uint64_t number; /* of the open batch, to be read without the lock; 0: none is */
    MPL_atomic_int_t nholds;    /* callers that are about to add more; changed under the lock */
    struct MPII_Gpudt_slot slots[NSLOTS];
    char *mem;                  /* memory of all slots; NULL: none */
    bool no_mem;                /* allocation failed */
    struct MPII_Gpudt_flights flights;
};

/* Guards all queues, and the launches from them. */
static MPL_initlock_t batch_lock = MPL_INITLOCK_INITIALIZER;

static uint64_t last_number = 0;        /* of the batches so far */

MPL_atomic_int_t MPII_Gpudt_nbatches = MPL_ATOMIC_INT_T_INITIALIZER(0);

static MPL_atomic_int_t is_burst = MPL_ATOMIC_INT_T_INITIALIZER(0);

static struct MPII_Gpudt_queue *queue_get(MPII_Gpudt_engine_t * engine,
                                          enum MPII_Gpudt_lane_e lane);
static bool queue_is_due(struct MPII_Gpudt_queue *queue, int64_t bytes, int64_t most_ahead,
                         bool may_wait);
static int queue_add(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                     struct MPII_Gpudt_queue *queue, const struct MPII_Gpudt_planned *what,
                     bool * added);
static void queue_launch(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                         struct MPII_Gpudt_queue *queue);
static void queue_reenter(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                          struct MPII_Gpudt_queue *queue);
static void queue_end(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_queue *queue, int mpi_errno);
static bool open_is_due(struct MPII_Gpudt_queue *queue);
static bool joined_is_due(struct MPII_Gpudt_queue *queue);

static bool is_held(struct MPII_Gpudt_queue *queue)
{
    return MPL_atomic_relaxed_load_int(&queue->nholds) > 0;
}

static bool is_in_burst(void)
{
    return MPL_atomic_relaxed_load_int(&is_burst);
}

/* Such a slot is launched at once, but by a thread of which the driver takes no calls. */
static bool is_full(const struct MPII_Gpudt_slot *slot)
{
    return slot->n == MPII_GPUDT_BATCH_MOVES;
}

/* The flag of a slot, for a move that ends with the whole batch. */
static struct MPII_Gpudt_flag flag_borrow(const struct MPII_Gpudt_slot *slot)
{
    struct MPII_Gpudt_flag flag = slot->flag;

    flag.is_borrowed = true;
    return flag;
}

/* A limit of blocks applies to each launch, but the plan can only keep it for each move. */
static bool may_batch(int64_t bytes)
{
    return MPIR_CVAR_GPUDT_BATCH && MPIR_CVAR_GPUDT_MAX_BLOCKS == 0 &&
        bytes <= MPII_GPUDT_BATCH_LARGE;
}

bool MPII_Gpudt_batch_is_due(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                             int64_t bytes, bool may_wait)
{
    struct MPII_Gpudt_queue *queue = MPL_atomic_acquire_load_ptr(&engine->queues);
    bool is_due;

    if (!may_batch(bytes) || !MPIR_CVAR_GPUDT_FLAGS)
        return false;
    if (queue && MPL_atomic_relaxed_load_uint64(&queue[lane].number))
        return true;
    MPII_Gpudt_lock(&batch_lock);
    queue = queue_get(engine, lane);
    is_due = queue_is_due(queue, bytes, MPII_GPUDT_BATCH_AHEAD, may_wait) && !queue->no_mem;
    MPII_Gpudt_unlock(&batch_lock);
    return is_due;
}

bool MPII_Gpudt_batch_prefers_copy(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                                   int64_t bytes)
{
    return bytes >= MPII_GPUDT_BATCH_LARGE || !MPII_Gpudt_batch_is_due(engine, lane, 0, false);
}

int MPII_Gpudt_batch_add(const struct MPII_Gpudt_move *m, const struct MPII_Gpudt_plan_in *in,
                         bool * added)
{
    struct MPII_Gpudt_planned what;
    struct MPII_Gpudt_args_copy copy;
    struct MPII_Gpudt_plan plan;

    *added = false;
    if (!MPII_Gpudt_batch_is_due(m->engine, m->lane, m->len, m->may_queue->may_wait))
        return MPI_SUCCESS;
    if (MPII_Gpudt_slot_plan_copy(m, &copy))
        what = MPII_Gpudt_slot_planned_copy(m, &copy);
    else if (MPII_Gpudt_slot_plan(m, in, &plan))
        what = MPII_Gpudt_slot_planned(m, &plan);
    else
        return MPI_SUCCESS;
    return MPII_Gpudt_batch_add_planned(m->engine, m->lane, &what, added);
}

int MPII_Gpudt_batch_add_planned(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                                 const struct MPII_Gpudt_planned *what, bool * added)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_queue *queue;

    *added = false;
    if (!may_batch(what->bytes))
        goto fn_exit;
    MPII_Gpudt_lock(&batch_lock);
    queue = queue_get(engine, lane);
    if (queue_is_due(queue, what->bytes, what->most_ahead, what->queued->may_wait))
        mpi_errno = queue_add(engine, lane, queue, what, added);
    MPII_Gpudt_unlock(&batch_lock);
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
    MPII_Gpudt_lock(&batch_lock);
    queue = queue_get(engine, lane);
    if (queue)
        MPII_Gpudt_flight_add(&queue->flights, flag, bytes);
    MPII_Gpudt_unlock(&batch_lock);
}

bool MPII_Gpudt_batch_note_copy(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                                int64_t bytes)
{
    struct MPII_Gpudt_queue *queue;

    MPII_Gpudt_lock(&batch_lock);
    queue = queue_get(engine, lane);
    if (queue) {
        queue->flights.ncopies += bytes > 0 ? 1 : -1;
        queue->flights.copied += bytes;
    }
    MPII_Gpudt_unlock(&batch_lock);
    return queue != NULL;
}

void MPII_Gpudt_batch_poll(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane, bool must)
{
    struct MPII_Gpudt_queue *queue;

    if (likely(!MPII_Gpudt_batch_are_any_open()))
        return;
    MPII_Gpudt_lock(&batch_lock);
    queue = queue_get(engine, lane);
    if (queue && queue->open && (must || open_is_due(queue)))
        queue_reenter(engine, lane, queue);
    MPII_Gpudt_unlock(&batch_lock);
}

void MPII_Gpudt_batch_hold(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane)
{
    struct MPII_Gpudt_queue *queue;

    MPII_Gpudt_lock(&batch_lock);
    queue = queue_get(engine, lane);
    if (queue)
        MPL_atomic_fetch_add_int(&queue->nholds, 1);
    MPII_Gpudt_unlock(&batch_lock);
}

void MPII_Gpudt_batch_release(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                              bool is_more_to_join)
{
    struct MPII_Gpudt_queue *queue;

    MPII_Gpudt_lock(&batch_lock);
    queue = queue_get(engine, lane);
    /* There may have been no memory for the queue when it was to be held */
    if (queue && is_held(queue))
        MPL_atomic_fetch_sub_int(&queue->nholds, 1);
    if (queue && queue->open) {
        queue->open->is_patient = is_more_to_join;
        if (joined_is_due(queue))
            queue_reenter(engine, lane, queue);
    }
    MPII_Gpudt_unlock(&batch_lock);
}

void MPII_Gpudt_batch_burst(bool is_on)
{
    MPL_atomic_relaxed_store_int(&is_burst, is_on);
}

int64_t MPII_Gpudt_batch_contig_max(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                                    bool may_wait)
{
    struct MPII_Gpudt_queue *queue = MPL_atomic_acquire_load_ptr(&engine->queues);

    if (may_wait && is_in_burst())
        return MPII_GPUDT_BURST_MAX;
    return queue && is_held(queue + lane) ? MPII_GPUDT_BATCH_MEDIUM : MPII_GPUDT_BATCH_SMALL;
}

bool MPII_Gpudt_batch_is_open(const MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                              uint64_t batch)
{
    const struct MPII_Gpudt_queue *queue = MPL_atomic_acquire_load_ptr(&engine->queues);

    return queue && MPL_atomic_relaxed_load_uint64(&queue[lane].number) == batch;
}

bool MPII_Gpudt_batch_join(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                           uint64_t batch, int place, uint64_t src_shift, uint64_t dst_shift,
                           struct MPII_Gpudt_flag *flag, struct MPII_Gpudt_queued *queued)
{
    struct MPII_Gpudt_queue *queue = MPL_atomic_acquire_load_ptr(&engine->queues);
    struct MPII_Gpudt_slot *open;
    struct MPII_Gpudt_flag end;
    bool has_joined = false;

    MPII_Gpudt_lock(&batch_lock);
    queue += lane;
    open = queue->open;
    if (open && open->number == batch && !is_full(open) && may_batch(open->lead[place].bytes)) {
        end = flag_borrow(open);
        /* The batch has a flag, so that there is memory for flags: this calls no driver */
        if (flag)
            MPII_Gpudt_flag_get(engine, lane, open->lead[place].grid, flag);
        if (flag && flag->word == NULL)
            *flag = end;
        MPII_Gpudt_slot_join(open, place, src_shift, dst_shift, flag ? flag : &end, queued);
        has_joined = true;
        if (unlikely(joined_is_due(queue)))
            queue_reenter(engine, lane, queue);
    }
    MPII_Gpudt_unlock(&batch_lock);
    return has_joined;
}

/* Callback of MPII_Gpudt_engine_at_end. */
static void queues_free(MPII_Gpudt_engine_t * engine, bool is_alive)
{
    struct MPII_Gpudt_queue *queues = MPL_atomic_relaxed_load_ptr(&engine->queues);

    for (int i = 0; queues && i < MPII_GPUDT_NLANES; i++)
        MPII_Gpudt_pinned_unmap(engine, queues[i].mem, QUEUE_SZ, is_alive);
    MPL_free(queues);
}

/* Caller holds batch_lock, as for all functions below. NULL: out of memory. */
static struct MPII_Gpudt_queue *queue_get(MPII_Gpudt_engine_t * engine,
                                          enum MPII_Gpudt_lane_e lane)
{
    struct MPII_Gpudt_queue *queues = MPL_atomic_relaxed_load_ptr(&engine->queues);

    if (queues == NULL) {
        queues = MPL_calloc(MPII_GPUDT_NLANES, sizeof(*queues), MPL_MEM_BUFFER);
        MPL_atomic_release_store_ptr(&engine->queues, queues);
        MPII_Gpudt_engine_at_end(engine, queues_free);
    }
    return queues ? &queues[lane] : NULL;
}

/* Whether a move would wait. */
static bool queue_is_due(struct MPII_Gpudt_queue *queue, int64_t bytes, int64_t most_ahead,
                         bool may_wait)
{
    return queue && (queue->open || is_held(queue) ||
                     (may_wait && is_in_burst() && bytes <= MPII_GPUDT_BURST_MAX) ||
                     !MPII_Gpudt_should_start(&queue->flights, bytes, most_ahead));
}

/* Pin the memory of the slots. */
static bool slots_make(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_queue *queue)
{
    CUdeviceptr addr;

    if (queue->mem == NULL && !queue->no_mem) {
        queue->mem = MPII_Gpudt_pinned_map(engine, QUEUE_SZ, &addr);
        queue->no_mem = queue->mem == NULL;
        for (int i = 0; queue->mem && i < NSLOTS; i++) {
            queue->slots[i].entries = (void *) (queue->mem + i * MPII_GPUDT_SLOT_SZ);
            queue->slots[i].addr = addr + i * MPII_GPUDT_SLOT_SZ;
        }
    }
    return !queue->no_mem;
}

/* Open a slot, with a flag for its launch; false if there is none. */
static bool slot_open(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                      struct MPII_Gpudt_queue *queue)
{
    if (queue->open)
        return true;
    if (!slots_make(engine, queue))
        return false;
    for (int i = 0; i < NSLOTS; i++) {
        struct MPII_Gpudt_slot *slot = &queue->slots[i];
        if (slot->flag.word && MPII_Gpudt_flag_is_set(&slot->flag))
            MPII_Gpudt_flag_put(engine, &slot->flag);
        if (slot->flag.word)
            continue;
        MPII_Gpudt_flag_get(engine, lane, MPII_GPUDT_BATCH_MOVES, &slot->flag);
        if (slot->flag.word == NULL)
            return false;
        slot->n = 0;
        slot->bytes = slot->most_ahead = 0;
        slot->nblocks = 0;
        slot->is_patient = false;
        slot->may_wait = true;
        queue->open = slot;
        slot->number = ++last_number;
        MPL_atomic_relaxed_store_uint64(&queue->number, slot->number);
        MPL_atomic_fetch_add_int(&MPII_Gpudt_nbatches, 1);
        return true;
    }
    return false;
}

/* Whether the open slot is to be launched: also one that is empty because there was no flag. */
static bool open_is_due(struct MPII_Gpudt_queue *queue)
{
    const struct MPII_Gpudt_slot *open = queue->open;

    if (open->n == 0 || is_full(open))
        return true;
    if (is_held(queue) || (open->may_wait && is_in_burst() && open->n < MPII_GPUDT_BURST_MOVES &&
                           open->bytes < MPII_GPUDT_BURST_BYTES))
        return false;
    return MPII_Gpudt_should_start(&queue->flights, open->bytes, open->most_ahead);
}

/* The same if those who add moves have more, unless others do. */
static bool joined_is_due(struct MPII_Gpudt_queue *queue)
{
    const struct MPII_Gpudt_slot *open = queue->open;

    return open->is_patient && open->n > 0 && open->bytes <= MPII_GPUDT_BATCH_MEDIUM ?
        is_full(open) : open_is_due(queue);
}

static bool ends_with_batch(struct MPII_Gpudt_queue *queue, const struct MPII_Gpudt_planned *what)
{
    return what->queued->ends_with_batch || (is_held(queue) && what->bytes <= MPII_GPUDT_BATCH_MEDIUM);
}

/* Add a planned move to the open slot, and launch the slot if it need not wait.
 *   added  (OUT)  set if the move was added; untouched if there is no kernel, slot or flag */
static int queue_add(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                     struct MPII_Gpudt_queue *queue, const struct MPII_Gpudt_planned *what,
                     bool * added)
{
    int mpi_errno = MPI_SUCCESS;
    CUfunction together, alone, few = NULL;

    mpi_errno = MPII_Gpudt_module_kernel(engine, MPII_GPUDT_KERNEL__BATCH, &together);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = MPII_Gpudt_module_kernel(engine, what->kernel, &alone);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (what->kernel == MPII_GPUDT_KERNEL__COPIES)
        mpi_errno = MPII_Gpudt_module_kernel(engine, MPII_GPUDT_KERNEL__COPIES_FEW, &few);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (queue->open && is_full(queue->open))
        queue_launch(engine, lane, queue);
    if (!together || !alone || !slot_open(engine, lane, queue))
        goto fn_exit;
    if (ends_with_batch(queue, what)) {
        *what->flag = flag_borrow(queue->open);
    } else {
        MPII_Gpudt_flag_get(engine, lane, what->grid, what->flag);
    }
    if (what->flag->word) {
        if (queue->open->n == 0) {
            MPII_Gpudt_module_modest(engine, MPII_GPUDT_KERNEL__BATCH, together, true);
            MPII_Gpudt_module_modest(engine, what->kernel, alone, true);
            if (few)
                MPII_Gpudt_module_modest(engine, MPII_GPUDT_KERNEL__COPIES_FEW, few, true);
            queue->open->together = together;
            queue->open->alone = alone;
            queue->open->few = few;
        }
        MPII_Gpudt_slot_add(queue->open, what);
        *added = true;
    }
    if (open_is_due(queue))
        queue_launch(engine, lane, queue);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Launch the queued moves; the engine's context is current. */
static void queue_launch(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                         struct MPII_Gpudt_queue *queue)
{
    int mpi_errno = MPII_Gpudt_slot_launch(engine, lane, queue->open, &queue->flights);

    queue_end(engine, queue, mpi_errno);
}

/* The same in any context, unless it has to be left to another thread. */
static void queue_reenter(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                          struct MPII_Gpudt_queue *queue)
{
    MPII_Gpudt_ctx_t entered;
    int mpi_errno;

    if (unlikely(!MPIR_Gpudt_takes_calls()))
        return;
    mpi_errno = MPII_Gpudt_engine_reenter(engine, &entered);
    if (mpi_errno) {
        queue_end(engine, queue, mpi_errno);
    } else {
        queue_launch(engine, lane, queue);
        MPII_Gpudt_ctx_leave(engine->drv, &entered);
    }
}

/* Close the open slot and release its moves, which have been started or have failed. */
static void queue_end(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_queue *queue, int mpi_errno)
{
    struct MPII_Gpudt_slot *slot = queue->open;

    if (mpi_errno || slot->n == 0)
        MPII_Gpudt_flag_put(engine, &slot->flag);
    queue->open = NULL;
    MPL_atomic_relaxed_store_uint64(&queue->number, 0);
    for (int i = 0; i < slot->n; i++) {
        if (slot->move[i] == NULL)
            continue;
        /* After the second store another thread may free the operation */
        slot->move[i]->mpi_errno = mpi_errno;
        MPL_atomic_release_store_int(&slot->move[i]->is_queued, 0);
    }
    MPL_atomic_fetch_sub_int(&MPII_Gpudt_nbatches, 1);
}
