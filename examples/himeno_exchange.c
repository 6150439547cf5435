/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The parts of the himeno example's domain and the exchange of their halos. */

#include "himeno_exchange.h"
#include <stdio.h>
#include <string.h>

#define SIDE_SELF (N_SIDES / 2)
#define SIDE_OPPOSITE(side_) (N_SIDES - 1 - (side_))

/* The neighbour on a side is a step of -1, 0 or 1 in j (d 0) and in k (d 1). */
static int side_step(int side, int d)
{
    return (d == 0 ? side / 3 : side % 3) - 1;
}

/* The remainder goes to the first ranks. */
void part_init(const struct options *opt, const int grid[N_CUT], const int place[N_CUT],
               struct part *part)
{
    int d;

    memcpy(part->whole, opt->size, sizeof(part->whole));
    for (d = 0; d < N_CUT; d++) {
        int each = opt->size[d + 1] / grid[d], more = opt->size[d + 1] % grid[d];

        part->owned[d] = each + (place[d] < more);
        part->first[d] = each * place[d] + (place[d] < more ? place[d] : more);
    }
    part->row = part->owned[1] + 2;
    part->plane = (part->owned[0] + 2) * part->row;
    part->n_points = (size_t) part->whole[0] * (size_t) part->plane;
}

int grid_init(const struct options *opt, int grid[N_CUT])
{
    int n_ranks, rank;

    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memcpy(grid, opt->grid, N_CUT * sizeof(grid[0]));
    if (grid[0] == 0)
        MPI_Dims_create(n_ranks, N_CUT, grid);
    if ((long long) grid[0] * grid[1] == n_ranks && grid[0] <= opt->size[1] &&
        grid[1] <= opt->size[2])
        return 1;
    if (rank == 0)
        fprintf(stderr, "himeno: %d x %d ranks for %d ranks and %d x %d points\n", grid[0], grid[1],
                n_ranks, opt->size[1], opt->size[2]);
    return 0;
}

/* The points of a side are a rectangle in each plane: a vector of its rows, and a vector of
 * planes. */
void exchange_init(const struct part *part, MPI_Comm comm, const int grid[N_CUT],
                   const int place[N_CUT], struct exchange *ex)
{
    int side, d;

    ex->comm = comm;
    ex->bytes = 0;
    for (side = 0; side < N_SIDES; side++) {
        int at[N_CUT], n[N_CUT], from[N_CUT], to[N_CUT], exists = 1, bytes;
        MPI_Datatype rows;

        if (side == SIDE_SELF)
            continue;
        for (d = 0; d < N_CUT; d++) {
            int step = side_step(side, d);

            at[d] = place[d] + step;
            exists = exists && at[d] >= 0 && at[d] < grid[d];
            n[d] = step ? 1 : part->owned[d];
            from[d] = step > 0 ? part->owned[d] : 1;
            to[d] = step > 0 ? part->owned[d] + 1 : step < 0 ? 0 : 1;
        }
        ex->neighbour[side] = MPI_PROC_NULL;
        if (exists)
            MPI_Cart_rank(comm, at, &ex->neighbour[side]);
        ex->send_at[side] = (size_t) (from[0] * part->row + from[1]);
        ex->recv_at[side] = (size_t) (to[0] * part->row + to[1]);
        MPI_Type_vector(n[0], n[1], part->row, MPI_FLOAT, &rows);
        MPI_Type_create_hvector(part->whole[0], 1, part->plane * (MPI_Aint) sizeof(float), rows,
                                &ex->type[side]);
        MPI_Type_free(&rows);
        MPI_Type_commit(&ex->type[side]);
        MPI_Type_size(ex->type[side], &bytes);
        if (exists)
            ex->bytes += bytes;
    }
}

void exchange_free(struct exchange *ex)
{
    int side;

    for (side = 0; side < N_SIDES; side++)
        if (side != SIDE_SELF)
            MPI_Type_free(&ex->type[side]);
}

/* The tag is the side as seen by the sender. */
void exchange_run(const struct exchange *ex, float *array)
{
    MPI_Request request[2 * N_SIDES];
    MPI_Status status[2 * N_SIDES];
    int side, n = 0;

    for (side = 0; side < N_SIDES; side++)
        if (side != SIDE_SELF)
            MPI_Irecv(array + ex->recv_at[side], 1, ex->type[side], ex->neighbour[side],
                      SIDE_OPPOSITE(side), ex->comm, &request[n++]);
    for (side = 0; side < N_SIDES; side++)
        if (side != SIDE_SELF)
            MPI_Isend(array + ex->send_at[side], 1, ex->type[side], ex->neighbour[side], side,
                      ex->comm, &request[n++]);
    MPI_Waitall(n, request, status);
}
