/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/*
 * Which points of the himeno example's domain each rank has, and the exchange of the halo between
 * them. It must not know what is computed.
 */

#ifndef HIMENO_EXCHANGE_H_INCLUDED
#define HIMENO_EXCHANGE_H_INCLUDED

#include "himeno.h"
#include <mpi.h>

#define N_SIDES 9               /* 4 faces, 4 edges, and the part itself amid them */

struct exchange {
    MPI_Comm comm;
    int neighbour[N_SIDES];     /* MPI_PROC_NULL beyond the domain's boundary */
    MPI_Datatype type[N_SIDES]; /* what goes to that side, and what comes from it */
    size_t send_at[N_SIDES];    /* where it begins in the array */
    size_t recv_at[N_SIDES];
    long long bytes;            /* sent by this rank in one exchange */
};

/* Divides all ranks among j and k, as the options say or as it fits. Returns 0 if that is not to be
 * done, after rank 0 has said why. */
int grid_init(const struct options *opt, int grid[N_CUT]);

/* The part of the rank at a place in the grid of ranks. */
void part_init(const struct options *opt, const int grid[N_CUT], const int place[N_CUT],
               struct part *part);

/* Finds the neighbours of the rank at place in the grid of ranks that comm is, and makes the types;
 * the caller frees ex. */
void exchange_init(const struct part *part, MPI_Comm comm, const int grid[N_CUT],
                   const int place[N_CUT], struct exchange *ex);
void exchange_free(struct exchange *ex);

/* Fills the halo of an array, in whatever memory it is, from the neighbours. Collective. */
void exchange_run(const struct exchange *ex, float *array);

#endif /* HIMENO_EXCHANGE_H_INCLUDED */
