/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The parts of the himeno example's domain and the exchange of their halos. */

#include "example_mpi.h"
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

/* Commits the type of a side's points, which are a rectangle in each plane: a vector of its rows, and
 * a vector of planes. */
static MPI_Datatype side_type(const struct part *part, int side)
{
    int n[N_CUT], d;
    MPI_Datatype rows, type;

    for (d = 0; d < N_CUT; d++)
        n[d] = side_step(side, d) ? 1 : part->owned[d];
    MPI_Type_vector(n[0], n[1], part->row, MPI_FLOAT, &rows);
    MPI_Type_create_hvector(part->whole[0], 1, part->plane * (MPI_Aint) sizeof(float), rows, &type);
    MPI_Type_free(&rows);
    MPI_Type_commit(&type);
    return type;
}

/* The offset of a side's points in the array: of the owned ones, or of the halo. */
static size_t side_at(const struct part *part, int side, int is_halo)
{
    int at[N_CUT], d;

    for (d = 0; d < N_CUT; d++) {
        int step = side_step(side, d);

        at[d] = (step > 0 ? part->owned[d] : 1) + (is_halo ? step : 0);
    }
    return (size_t) (at[0] * part->row + at[1]);
}

/* Of the neighbours' arrays, which may have other dimensions than one's own: the types and offsets of
 * the halos that this rank fills. Creates the windows. */
static void put_init(const struct options *opt, const struct part *part, const struct grid *arrays,
                     const int grid[N_CUT], const int place[N_CUT], struct exchange *ex)
{
    int side, d, i;

    for (side = 0; side < N_SIDES; side++) {
        int at[N_CUT];
        struct part theirs;

        ex->put_type[side] = MPI_DATATYPE_NULL;
        if (ex->neighbour[side] == MPI_PROC_NULL)
            continue;
        for (d = 0; d < N_CUT; d++)
            at[d] = place[d] + side_step(side, d);
        part_init(opt, grid, at, &theirs);
        ex->put_type[side] = side_type(&theirs, SIDE_OPPOSITE(side));
        ex->put_at[side] = (MPI_Aint) side_at(&theirs, SIDE_OPPOSITE(side), 1);
    }
    ex->array[0] = arrays->pressure;
    ex->array[1] = arrays->next;
    for (i = 0; i < 2; i++)
        MPI_Win_create((float *) ex->array[i], (MPI_Aint) (part->n_points * sizeof(float)),
                       sizeof(float), MPI_INFO_NULL, ex->comm, &ex->win[i]);
    ex->neighbours = neighbours_group(ex->comm, ex->neighbour, N_SIDES);
}

void exchange_init(const struct options *opt, const struct part *part, const struct grid *arrays,
                   MPI_Comm comm, const int grid[N_CUT], const int place[N_CUT],
                   struct exchange *ex)
{
    int side, d;

    ex->comm = comm;
    ex->bytes = 0;
    for (side = 0; side < N_SIDES; side++) {
        int at[N_CUT], exists = 1, bytes;

        ex->neighbour[side] = MPI_PROC_NULL;
        if (side == SIDE_SELF)
            continue;
        for (d = 0; d < N_CUT; d++) {
            at[d] = place[d] + side_step(side, d);
            exists = exists && at[d] >= 0 && at[d] < grid[d];
        }
        if (exists)
            MPI_Cart_rank(comm, at, &ex->neighbour[side]);
        ex->send_at[side] = side_at(part, side, 0);
        ex->recv_at[side] = side_at(part, side, 1);
        ex->type[side] = side_type(part, side);
        MPI_Type_size(ex->type[side], &bytes);
        if (exists)
            ex->bytes += bytes;
    }
    ex->win[0] = ex->win[1] = MPI_WIN_NULL;
    if (opt->halo == HALO__PUT)
        put_init(opt, part, arrays, grid, place, ex);
}

static void put_free(struct exchange *ex)
{
    int side, i;

    for (i = 0; i < 2; i++)
        MPI_Win_free(&ex->win[i]);
    MPI_Group_free(&ex->neighbours);
    for (side = 0; side < N_SIDES; side++)
        if (ex->put_type[side] != MPI_DATATYPE_NULL)
            MPI_Type_free(&ex->put_type[side]);
}

void exchange_free(struct exchange *ex)
{
    int side;

    if (ex->win[0] != MPI_WIN_NULL)
        put_free(ex);
    for (side = 0; side < N_SIDES; side++)
        if (side != SIDE_SELF)
            MPI_Type_free(&ex->type[side]);
}

/* The tag is the side as seen by the sender. */
static void exchange_messages(const struct exchange *ex, float *array)
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

/* Each rank writes into the halos of its neighbours, which have allowed it by MPI_Win_post: their
 * previous iteration, which reads the array, is complete. */
static void exchange_put(const struct exchange *ex, float *array)
{
    MPI_Win win = ex->win[array == ex->array[1]];
    int side;

    MPI_Win_post(ex->neighbours, 0, win);
    MPI_Win_start(ex->neighbours, 0, win);
    for (side = 0; side < N_SIDES; side++)
        if (ex->neighbour[side] != MPI_PROC_NULL)
            MPI_Put(array + ex->send_at[side], 1, ex->type[side], ex->neighbour[side],
                    ex->put_at[side], 1, ex->put_type[side], win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
}

void exchange_run(const struct exchange *ex, float *array)
{
    if (ex->win[0] != MPI_WIN_NULL)
        exchange_put(ex, array);
    else
        exchange_messages(ex, array);
}
