/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests MPI_Gather and MPI_Scatter between two groups, and their nonblocking forms, where the root
 * and the other group describe the same data by datatypes of different size. 4 processes. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>
#include <string.h>

#define N 100                   /* elements of the other group's type */
#define SIZE 12                 /* its bytes, as chars to the root */
#define MAX_PROCS 4

static MPI_Comm inter;
static MPI_Datatype element;
static int rank, nremote, is_root_group;

static char byte_of(int process, int i)
{
    return (char) (7 * process + i % 101 + 1);
}

static int check(const char *what, const char *seen, int process)
{
    for (int i = 0; i < N * SIZE; i++) {
        if (seen[i] != byte_of(process, i)) {
            fprintf(stderr, "%s: byte %d of process %d is %d\n", what, i, process, seen[i]);
            return 1;
        }
    }
    return 0;
}

static int gather_run(int is_nonblocking)
{
    static char all[MAX_PROCS * N * SIZE], mine[N * SIZE];
    MPI_Request request;
    int root = !is_root_group ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, errs = 0;

    memset(all, 0, sizeof(all));
    for (int i = 0; i < N * SIZE; i++)
        mine[i] = byte_of(rank, i);
    if (is_nonblocking) {
        MPI_Igather(mine, N, element, all, N * SIZE, MPI_CHAR, root, inter, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Gather(mine, N, element, all, N * SIZE, MPI_CHAR, root, inter);
    }
    for (int p = 0; p < nremote && root == MPI_ROOT; p++)
        errs += check("gather", all + p * N * SIZE, p);
    return errs;
}

static int scatter_run(int is_nonblocking)
{
    static char all[MAX_PROCS * N * SIZE], mine[N * SIZE];
    MPI_Request request;
    int root = !is_root_group ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;

    memset(mine, 0, sizeof(mine));
    for (int i = 0; i < nremote * N * SIZE; i++)
        all[i] = byte_of(i / (N * SIZE), i % (N * SIZE));
    if (is_nonblocking) {
        MPI_Iscatter(all, N * SIZE, MPI_CHAR, mine, N, element, root, inter, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Scatter(all, N * SIZE, MPI_CHAR, mine, N, element, root, inter);
    }
    return is_root_group ? 0 : check("scatter", mine, rank);
}

int main(int argc, char *argv[])
{
    MPI_Comm half;
    int world_rank, errs = 0;

    MTest_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    is_root_group = world_rank % 2 == 0;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - world_rank % 2, 5, &inter);
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_remote_size(inter, &nremote);
    MPI_Type_contiguous(SIZE, MPI_CHAR, &element);
    MPI_Type_commit(&element);
    for (int is_nonblocking = 0; is_nonblocking < 2; is_nonblocking++) {
        errs += gather_run(is_nonblocking);
        errs += scatter_run(is_nonblocking);
    }
    MPI_Type_free(&element);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
