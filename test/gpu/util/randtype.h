/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Random datatypes from a seed: every constructor in its ordinary and its large-count form, nested,
 * with zero and negative numbers where MPI allows them. Uses MPI only. */

#ifndef RANDTYPE_H_INCLUDED
#define RANDTYPE_H_INCLUDED

#include "mpi.h"

#include <stdint.h>

/* A random number generator: the same seed gives the same numbers on every machine. */
struct rng {
    uint64_t state;
};

void rng_init(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng);
/* Uniform in lo..hi, both included. */
int64_t rng_range(struct rng *rng, int64_t lo, int64_t hi);
/* True in `percent` of 100 cases. */
int rng_chance(struct rng *rng, int percent);

struct randtype_opts {
    int max_depth;              /* maximum nesting depth of constructors, 1 to 16 */
    MPI_Aint max_size;          /* packed bytes of the type, at least 64 */
    MPI_Aint max_span;          /* maximum distance between the lowest and the highest byte */
    int tidy;                   /* 1: no byte occurs twice, so that the type can be received with
                                 * count 1 */
    int leaf;                   /* 0: of any predefined types; 1 to RANDTYPE_LEAVES: of one, so that
                                 * types of the same size have the same signature */
};

#define RANDTYPE_LEAVES 10

/* Default options. */
#define RANDTYPE_OPTS_DEFAULT { 16, 4096, 1 << 20, 0, 0 }

/* Make a type, committed. The caller frees it with randtype_free, which does not free predefined
 * types.
 *   text  (OUT)  the constructors, for failure messages; to be freed by free(). NULL: not wanted */
MPI_Datatype randtype_make(struct rng *rng, const struct randtype_opts *opts, char **text);
void randtype_free(MPI_Datatype * datatype);

/* A type that is `datatype` at an absolute address, to be used with MPI_BOTTOM; committed. */
MPI_Datatype randtype_absolute(MPI_Datatype datatype, const void *address);

#endif /* RANDTYPE_H_INCLUDED */
