/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A *slot*: the moves of a batch, and pinned memory for their parameter blocks. */

#ifndef GPUDT_SLOT_H_INCLUDED
#define GPUDT_SLOT_H_INCLUDED

#include "plan/gpudt_plan_types.h"
#include "gpudt_flight.h"
#include "gpudt_move.h"

#define MPII_GPUDT_SLOT_SZ (MPII_GPUDT_BATCH_MOVES * sizeof(struct MPII_Gpudt_entry))

/* What others that join a move need. */
struct MPII_Gpudt_lead {
    uint16_t src_at, dst_at;    /* offsets in the entry of the addresses of both sides */
    uint16_t end_at;            /* the same of what is to be done at its end */
    unsigned grid;
    int64_t bytes, most_ahead;
};

/* Guarded by the lock of its queue. */
struct MPII_Gpudt_slot {
    struct MPII_Gpudt_entry *entries;   /* pinned memory */
    uint64_t addr;              /* device address of entries */
    struct MPII_Gpudt_flag flag;        /* of the batch's launch; no word: the slot is free */
    CUfunction together, alone; /* the batch kernel; the kernel of the first move */
    CUfunction few;             /* the kernel for few copies; NULL: none */
    uint64_t number;            /* of the batch, unique in the process */
    int n;
    int64_t bytes, most_ahead;  /* of all moves; of the last one */
    unsigned nblocks;
    bool is_patient;            /* more moves are going to join those that it has */
    bool are_copies;            /* all moves are copies of contiguous memory */
    bool may_wait;              /* all moves may, and none is long */
    uint32_t first[MPII_GPUDT_BATCH_MOVES];
    uint16_t words[MPII_GPUDT_BATCH_MOVES];
    struct MPII_Gpudt_flag first_flag;  /* of the first move, and where its parameters ask for it */
    struct MPII_Gpudt_end *first_end;
    struct MPII_Gpudt_queued *move[MPII_GPUDT_BATCH_MOVES];     /* NULL: nobody asks for its state */
    struct MPII_Gpudt_lead lead[MPII_GPUDT_BATCH_MOVES];        /* of moves that may lead */
};

/* Plan a move by a kernel whose work the batch kernel can do; false if no such plan is allowed. */
bool MPII_Gpudt_slot_plan(const struct MPII_Gpudt_move *m, const struct MPII_Gpudt_plan_in *in,
                          struct MPII_Gpudt_plan *plan);

/* A launch that the batch kernel can do. */
struct MPII_Gpudt_planned {
    int kernel;                 /* enum MPII_Gpudt_kernel_e */
    unsigned grid;
    const void *args;           /* the parameter block, of which `end` is a part, and its bytes */
    size_t args_sz;
    size_t args_used;           /* those that the kernel reads */
    struct MPII_Gpudt_end *end;
    size_t src_at, dst_at;      /* offsets in the parameter block of the addresses of both sides */
    int64_t bytes;              /* that are moved */
    int64_t most_ahead;         /* bytes in flight from which on it waits */
    struct MPII_Gpudt_flag *flag;       /* to be set at the end of the move */
    struct MPII_Gpudt_queued *queued;
};

/* What a plan from MPII_Gpudt_slot_plan for a move launches. */
struct MPII_Gpudt_planned MPII_Gpudt_slot_planned(const struct MPII_Gpudt_move *m,
                                                  struct MPII_Gpudt_plan *plan);

/* Plan a move from contiguous memory to contiguous memory by the kernel for copies, which needs no
 * more than the addresses; false if it does not suit them. */
bool MPII_Gpudt_slot_plan_copy(const struct MPII_Gpudt_move *m, struct MPII_Gpudt_args_copy *copy);

/* The same of a plan from MPII_Gpudt_slot_plan_copy. */
struct MPII_Gpudt_planned MPII_Gpudt_slot_planned_copy(const struct MPII_Gpudt_move *m,
                                                       struct MPII_Gpudt_args_copy *copy);

/* Add a move to a slot that is not full.
 *   what  (IN)  has a flag with a word, which its parameter block gets, or that of the slot, borrowed */
void MPII_Gpudt_slot_add(struct MPII_Gpudt_slot *slot, const struct MPII_Gpudt_planned *what);

/* Add a move that differs from another one of the slot by its addresses only. The slot is not full.
 *   place      (IN)  of the other one, which may lead
 *   src_shift  (IN)  what to add to the address of its source; a multiple of the widest unit
 *   dst_shift  (IN)  the same of its destination
 *   flag       (IN)  to be set at its end, or that of the slot, borrowed
 *   queued     (IN)  its state; NULL: nobody asks for it */
void MPII_Gpudt_slot_join(struct MPII_Gpudt_slot *slot, int place, uint64_t src_shift,
                          uint64_t dst_shift, const struct MPII_Gpudt_flag *flag,
                          struct MPII_Gpudt_queued *queued);

/* Launch the moves of a slot, if it has any; the engine's context is current.
 *   flights  (IN/OUT)  of the stream; the launch is noted there */
int MPII_Gpudt_slot_launch(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                           struct MPII_Gpudt_slot *slot, struct MPII_Gpudt_flights *flights);

#endif /* GPUDT_SLOT_H_INCLUDED */
