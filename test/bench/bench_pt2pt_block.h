/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A rank's block of a periodic 3-D domain, with ghost points around it, and the regions exchanged
 * with its 26 neighbours, as formulas independent of MPI's datatypes. bench_pt2pt packs and checks
 * by them, on the host (C) and on a GPU (CUDA C). Must not know of MPI. */

#ifndef BENCH_PT2PT_BLOCK_H_INCLUDED
#define BENCH_PT2PT_BLOCK_H_INCLUDED

#include "bench_pt2pt_layout.h"

#define N_DIRECTIONS 26
#define REGION_WORDS 1024       /* maximum that a thread block of the packing kernel moves */

/* Each variable is an array of its own, one after the other; x varies fastest. A word is 8
 * bytes. */
struct block {
    uint32_t points;            /* of a side, without ghosts */
    uint32_t side;              /* with them */
    uint32_t variables;
    uint32_t start[3];          /* x, y, z of the first point in the domain */
    uint32_t domain[3];         /* points of the domain */
};

struct region {
    uint32_t start;             /* first word in the block */
    uint32_t count[3];          /* x, y, z; the rest is variables */
    uint32_t n_words;
    uint32_t packed;            /* first word in the packed buffer */
    uint32_t block_end;         /* thread blocks of this and all regions before it */
};

struct regions {
    uint32_t step[3];           /* words from a row, a plane, a variable to the next */
    struct region region[N_DIRECTIONS];
};

FOR_BOTH uint32_t block_words(const struct block *block)
{
    return block->side * block->side * block->side * block->variables;
}

/* Expected value of a word of the block after an exchange; *is_ghost: whether the exchange writes
 * it. */
FOR_BOTH uint64_t block_word(const struct block *block, uint32_t i, int *is_ghost)
{
    uint32_t ghosts = (block->side - block->points) / 2;
    uint64_t number = i / (block->side * block->side * block->side);
    uint32_t at[3];
    int d;

    at[0] = i % block->side;
    at[1] = i / block->side % block->side;
    at[2] = i / (block->side * block->side) % block->side;
    *is_ghost = 0;
    for (d = 2; d >= 0; d--) {
        *is_ghost |= at[d] < ghosts || at[d] >= ghosts + block->points;
        number = number * block->domain[d] +
            (block->start[d] + at[d] + block->domain[d] - ghosts) % block->domain[d];
    }
    return pattern_eight(number, 1);
}

/* Position in the block of a region's word. */
FOR_BOTH uint32_t region_place(const struct regions *regions, const struct region *region,
                               uint32_t i)
{
    uint32_t place = region->start + i % region->count[0];

    i /= region->count[0];
    place += i % region->count[1] * regions->step[0];
    i /= region->count[1];
    place += i % region->count[2] * regions->step[1];
    return place + i / region->count[2] * regions->step[2];
}

#endif /* BENCH_PT2PT_BLOCK_H_INCLUDED */
