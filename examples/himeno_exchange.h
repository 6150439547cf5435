/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Distribution of the himeno example's domain to the ranks, and the exchange of their halos. Must
 * not know what is computed. */

#ifndef HIMENO_EXCHANGE_H_INCLUDED
#define HIMENO_EXCHANGE_H_INCLUDED

#include "himeno.h"
#include <mpi.h>

#define N_SIDES 9               /* 4 faces, 4 edges, and the part itself */

struct exchange {
    MPI_Comm comm;
    int neighbour[N_SIDES];     /* MPI_PROC_NULL outside the domain */
    MPI_Datatype type[N_SIDES]; /* of the data sent to, and received from, that side */
    size_t send_at[N_SIDES];    /* offset of the sent data in the array */
    size_t recv_at[N_SIDES];
    MPI_Datatype put_type[N_SIDES];     /* of the halo in the array of the neighbour on that side */
    MPI_Aint put_at[N_SIDES];
    const float *array[2];      /* for MPI_Put: the arrays that are exchanged, and a window of each */
    MPI_Win win[2];             /* MPI_WIN_NULL: exchange by messages */
    MPI_Group neighbours;
    long long bytes;            /* sent by this rank in one exchange */
};

/* Divides all ranks among j and k, as given by the options or automatically. Returns 0 if that is
 * impossible, after rank 0 has printed why. */
int grid_init(const struct options *opt, int grid[N_CUT]);

/* The part of the rank at a position in the grid of ranks. */
void part_init(const struct options *opt, const int grid[N_CUT], const int place[N_CUT],
               struct part *part);

/* Finds the neighbours of the rank at a position in the grid of ranks, which is comm, and creates
 * the types, and the windows if the options ask for MPI_Put. The caller frees ex, before the arrays.
 * Collective, as is exchange_free. */
void exchange_init(const struct options *opt, const struct part *part, const struct grid *arrays,
                   MPI_Comm comm, const int grid[N_CUT], const int place[N_CUT],
                   struct exchange *ex);
void exchange_free(struct exchange *ex);

/* Fills the halo of the pressure or of the next one, in any kind of memory, from the neighbours. Collective. */
void exchange_run(const struct exchange *ex, float *array);

#endif /* HIMENO_EXCHANGE_H_INCLUDED */
