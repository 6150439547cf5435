/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Fills and launches slots. Must not know queues, nor when a batch is launched. */

#include "mpiimpl.h"
#include "gpudt_slot.h"
#include "gpudt_error.h"
#include "tuning/gpudt_tuning.h"
#include "gpudt_stream.h"
#include "gpudt_vars.h"
#include "plan/gpudt_plan.h"
#include "plan/gpudt_plan_copies.h"

bool MPII_Gpudt_slot_plan(const struct MPII_Gpudt_move *m, const struct MPII_Gpudt_plan_in *in,
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

struct MPII_Gpudt_planned MPII_Gpudt_slot_planned(const struct MPII_Gpudt_move *m,
                                                  struct MPII_Gpudt_plan *plan)
{
    return (struct MPII_Gpudt_planned) {
        .kernel = plan->kernel,.grid = plan->grid,.args = &plan->args,.args_sz = plan->args_sz,
        .args_used = args_used(plan),.end = &plan->args.span.end,
        .src_at = m->unpack ? offsetof(struct MPII_Gpudt_span, packed) :
            offsetof(struct MPII_Gpudt_span, user),
        .dst_at = m->unpack ? offsetof(struct MPII_Gpudt_span, user) :
            offsetof(struct MPII_Gpudt_span, packed),
        .bytes = m->len,
        .most_ahead = MPII_GPUDT_BATCH_AHEAD,.flag = m->flag,.queued = m->may_queue
    };
}

bool MPII_Gpudt_slot_plan_copy(const struct MPII_Gpudt_move *m, struct MPII_Gpudt_args_copy *copy)
{
    const uint64_t user = (uint64_t) (uintptr_t) m->side->addr + m->side->shift + (uint64_t) m->pos;

    return m->side->type == NULL &&
        MPII_Gpudt_plan_copy_set(m->unpack ? m->contig : user, m->unpack ? user : m->contig, m->len,
                                 copy) > 0;
}

struct MPII_Gpudt_planned MPII_Gpudt_slot_planned_copy(const struct MPII_Gpudt_move *m,
                                                       struct MPII_Gpudt_args_copy *copy)
{
    return (struct MPII_Gpudt_planned) {
        .kernel = MPII_GPUDT_KERNEL__COPIES,.grid = (unsigned) copy->end.nblocks,
        .args = copy,.args_sz = sizeof(*copy),.args_used = sizeof(*copy),.end = &copy->end,
        .src_at = offsetof(struct MPII_Gpudt_args_copy, src),
        .dst_at = offsetof(struct MPII_Gpudt_args_copy, dst),
        .bytes = m->len,
        .most_ahead = MPII_GPUDT_BATCH_AHEAD,.flag = m->flag,.queued = m->may_queue
    };
}

/* Count a move whose entry is filled in.
 *   queued  (IN)  NULL: nobody asks for its state */
static void entry_count(struct MPII_Gpudt_slot *slot, struct MPII_Gpudt_queued *queued,
                        unsigned grid, int64_t bytes, int64_t most_ahead)
{
    slot->move[slot->n] = queued;
    slot->first[slot->n] = slot->nblocks;
    slot->n++;
    slot->nblocks += grid;
    slot->bytes += bytes;
    slot->most_ahead = most_ahead;
    slot->may_wait = slot->may_wait && queued && queued->may_wait &&
        bytes <= MPII_GPUDT_BURST_MAX;
    if (queued)
        MPL_atomic_relaxed_store_int(&queued->is_queued, 1);
}

/* Ask for a flag at the end of a move, unless the end of the batch sets it. */
static void end_set(struct MPII_Gpudt_end *end, const struct MPII_Gpudt_flag *flag)
{
    if (flag->is_borrowed)
        end->flag = 0;
    else
        MPII_Gpudt_flag_ask(end, flag);
}

void MPII_Gpudt_slot_add(struct MPII_Gpudt_slot *slot, const struct MPII_Gpudt_planned *what)
{
    const size_t args_at = offsetof(struct MPII_Gpudt_entry, args);
    struct MPII_Gpudt_entry *entry = &slot->entries[slot->n];
    struct MPII_Gpudt_queued *queued = what->queued;
    const size_t end_at = args_at + (size_t) ((const char *) what->end - (const char *) what->args);

    end_set(what->end, what->flag);
    entry->kernel = what->kernel;
    memcpy(&entry->args, what->args, what->args_sz);    /* all: a single move is launched with it */
    slot->words[slot->n] = (uint16_t) ((args_at + what->args_used) / sizeof(uint64_t));
    slot->are_copies = (slot->n == 0 || slot->are_copies) &&
        what->kernel == MPII_GPUDT_KERNEL__COPIES;
    if (slot->n == 0) {
        slot->first_flag = *what->flag;
        slot->first_end = (void *) ((char *) entry + end_at);
    }
    if (queued->may_lead) {
        slot->lead[slot->n] = (struct MPII_Gpudt_lead) {
            .src_at = (uint16_t) (args_at + what->src_at),
            .dst_at = (uint16_t) (args_at + what->dst_at),.end_at = (uint16_t) end_at,
            .grid = what->grid,.bytes = what->bytes,.most_ahead = what->most_ahead
        };
        queued->batch = slot->number;
        queued->place = slot->n;
    }
    entry_count(slot, queued, what->grid, what->bytes, what->most_ahead);
}

static void address_shift(struct MPII_Gpudt_entry *entry, size_t at, uint64_t shift)
{
    uint64_t *addr = (uint64_t *) (void *) ((char *) entry + at);

    *addr += shift;
}

void MPII_Gpudt_slot_join(struct MPII_Gpudt_slot *slot, int place, uint64_t src_shift,
                          uint64_t dst_shift, const struct MPII_Gpudt_flag *flag,
                          struct MPII_Gpudt_queued *queued)
{
    const struct MPII_Gpudt_lead *lead = &slot->lead[place];
    struct MPII_Gpudt_entry *entry = &slot->entries[slot->n];

    memcpy(entry, &slot->entries[place], slot->words[place] * sizeof(uint64_t));
    slot->are_copies = slot->are_copies && entry->kernel == MPII_GPUDT_KERNEL__COPIES;
    address_shift(entry, lead->src_at, src_shift);
    address_shift(entry, lead->dst_at, dst_shift);
    end_set((void *) ((char *) entry + lead->end_at), flag);
    slot->words[slot->n] = slot->words[place];
    entry_count(slot, queued, lead->grid, lead->bytes, lead->most_ahead);
}

/* Whether the only move of a batch has a flag of its own, so that the batch needs none. */
static bool ends_by_move(const struct MPII_Gpudt_slot *slot)
{
    return slot->n == 1 && !slot->first_flag.is_borrowed;
}

/* A batch of one move is launched as the move's own kernel. */
static int launch_alone(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                        struct MPII_Gpudt_slot *slot, bool is_idle)
{
    if (!ends_by_move(slot))
        MPII_Gpudt_flag_ask(slot->first_end, &slot->flag);
    return MPII_Gpudt_kernel_launch(engine, lane, slot->entries[0].kernel, slot->alone,
                                    slot->nblocks, &slot->entries[0].args, is_idle);
}

/* A batch of nothing but copies. Of two kernels it takes the one with fewer parameters if it can. */
static int launch_copies(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                         struct MPII_Gpudt_slot *slot, bool is_idle)
{
    const bool are_few = slot->n <= MPII_GPUDT_COPIES_FEW && slot->few;
    const int kernel = are_few ? MPII_GPUDT_KERNEL__COPIES_FEW : MPII_GPUDT_KERNEL__COPIES;
    struct MPII_Gpudt_args_copies_few few;
    struct MPII_Gpudt_args_copies many;
    struct MPII_Gpudt_end *end = are_few ? &few.end : &many.end;
    uint32_t *first = are_few ? few.first : many.first;
    struct MPII_Gpudt_args_copy *copy = are_few ? few.copy : many.copy;

    end->nblocks = (int32_t) slot->nblocks;
    MPII_Gpudt_flag_ask(end, ends_by_move(slot) ? &slot->first_flag : &slot->flag);
    few.n = many.n = slot->n;
    memcpy(first, slot->first, slot->n * sizeof(*first));
    for (int i = 0; i < slot->n; i++)
        copy[i] = slot->entries[i].args.copy;
    if (ends_by_move(slot))
        copy[0].end.flag = 0;
    return MPII_Gpudt_kernel_launch(engine, lane, kernel, are_few ? slot->few : slot->alone,
                                    slot->nblocks, are_few ? (void *) &few : (void *) &many,
                                    is_idle);
}

/* Copy the entries of a slot to the parameter block, if there is room for them. */
static void entries_copy(const struct MPII_Gpudt_slot *slot, struct MPII_Gpudt_args_batch *args)
{
    unsigned stride = 0;

    for (int i = 0; i < slot->n; i++)
        stride = MPL_MAX(stride, slot->words[i]);
    if (stride * (unsigned) slot->n > MPII_GPUDT_BATCH_WORDS)
        return;
    for (int i = 0; i < slot->n; i++)
        memcpy(args->entry + (unsigned) i * stride, &slot->entries[i],
               slot->words[i] * sizeof(uint64_t));
    args->stride = stride;
    args->entries = 0;
}

/* Let moves between boxes have fewer blocks if there are more than the GPU can run at once. Each block
 * reads the parameters of its move first, and those of many moves from host memory. */
static void boxes_limit(const MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_slot *slot)
{
    const uint64_t all = slot->nblocks;
    const uint64_t most = MPII_GPUDT_BATCH_BLOCKS * (uint64_t) engine->nsms;
    unsigned grid, next;

    if (all <= most)
        return;
    slot->nblocks = 0;
    for (int i = 0; i < slot->n; i++) {
        next = i + 1 < slot->n ? slot->first[i + 1] : (unsigned) all;
        grid = next - slot->first[i];
        if (slot->entries[i].kernel == MPII_GPUDT_KERNEL__PAIRBOX) {
            grid = (unsigned) MPL_MAX(grid * most / all, 1);
            slot->entries[i].args.pairbox.end.nblocks = (int32_t) grid;
        }
        slot->first[i] = slot->nblocks;
        slot->nblocks += grid;
    }
}

static int launch_together(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                           struct MPII_Gpudt_slot *slot, bool is_idle)
{
    struct MPII_Gpudt_args_batch args = {.entries = slot->addr,.nentries = slot->n };

    boxes_limit(engine, slot);
    memcpy(args.first, slot->first, slot->n * sizeof(args.first[0]));
    memcpy(args.words, slot->words, slot->n * sizeof(args.words[0]));
    args.end.nblocks = (int32_t) slot->nblocks;
    MPII_Gpudt_flag_ask(&args.end, &slot->flag);
    entries_copy(slot, &args);
    return MPII_Gpudt_kernel_launch(engine, lane, MPII_GPUDT_KERNEL__BATCH, slot->together,
                                    slot->nblocks, &args, is_idle);
}

int MPII_Gpudt_slot_launch(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                           struct MPII_Gpudt_slot *slot, struct MPII_Gpudt_flights *flights)
{
    int mpi_errno = MPI_SUCCESS;
    bool is_idle;

    if (slot->n == 0)
        goto fn_exit;
    is_idle = MPII_Gpudt_flights_are_over(flights);
    /* Long moves are to end one by one */
    if (slot->are_copies && slot->n <= MPII_GPUDT_COPIES && slot->bytes <= MPII_GPUDT_BURST_BYTES)
        mpi_errno = launch_copies(engine, lane, slot, is_idle);
    else if (slot->n == 1)
        mpi_errno = launch_alone(engine, lane, slot, is_idle);
    else
        mpi_errno = launch_together(engine, lane, slot, is_idle);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (ends_by_move(slot)) {
        MPII_Gpudt_flight_add(flights, &slot->first_flag, slot->bytes);
        MPII_Gpudt_flag_put(engine, &slot->flag);
    } else {
        MPII_Gpudt_flight_add(flights, &slot->flag, slot->bytes);
    }
    if (slot->n > 1) {
        MPII_GPUDT_COUNT(batches, 1);
        MPII_GPUDT_COUNT(batched, slot->n);
    }
    MPII_GPUDT_COUNT(flags, slot->n);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
