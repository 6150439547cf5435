/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw and MPI_Neighbor_alltoallw_init in a graph
 * where processes have more or fewer destinations than sources: process 0 sends to all others. Any
 * number of processes. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

#define MAX_PROCS 16
#define N 3                     /* ints from process 0 to each of the others */

enum mode { BLOCKING, NONBLOCKING, PERSISTENT, NMODES };

static int nprocs, rank;

static int run(MPI_Comm comm, enum mode mode)
{
    int out[MAX_PROCS * N], in[N] = { 0 }, errs = 0;
    /* Longer than needed: only the members of neighbors may be used */
    int sendcounts[MAX_PROCS] = { 0 }, recvcounts[MAX_PROCS] = { 0 };
    MPI_Aint sdispls[MAX_PROCS] = { 0 }, rdispls[MAX_PROCS] = { 0 };
    MPI_Datatype types[MAX_PROCS];
    MPI_Request request;

    for (int i = 0; i < MAX_PROCS; i++) {
        types[i] = MPI_INT;
        sdispls[i] = i * N * (MPI_Aint) sizeof(int);
        if (rank == 0 && i < nprocs - 1)
            sendcounts[i] = N;
    }
    if (rank > 0)
        recvcounts[0] = N;
    for (int i = 0; i < MAX_PROCS * N; i++)
        out[i] = 100 + i;

    if (mode == BLOCKING) {
        MPI_Neighbor_alltoallw(out, sendcounts, sdispls, types, in, recvcounts, rdispls, types,
                               comm);
    } else {
        if (mode == NONBLOCKING) {
            MPI_Ineighbor_alltoallw(out, sendcounts, sdispls, types, in, recvcounts, rdispls,
                                    types, comm, &request);
        } else {
            MPI_Neighbor_alltoallw_init(out, sendcounts, sdispls, types, in, recvcounts, rdispls,
                                        types, comm, MPI_INFO_NULL, &request);
            MPI_Start(&request);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (mode == PERSISTENT)
            MPI_Request_free(&request);
    }

    for (int i = 0; i < N && rank > 0; i++) {
        int expected = 100 + (rank - 1) * N + i;
        if (in[i] != expected) {
            fprintf(stderr, "[%d] mode %d: int %d is %d, not %d\n", rank, mode, i, in[i], expected);
            errs++;
        }
    }
    return errs;
}

int main(int argc, char *argv[])
{
    int source = 0, destinations[MAX_PROCS], errs = 0;
    MPI_Comm comm;

    MTest_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    if (nprocs > MAX_PROCS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 1; i < nprocs; i++)
        destinations[i - 1] = i;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank > 0, &source, MPI_UNWEIGHTED,
                                   rank > 0 ? 0 : nprocs - 1, destinations, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm);
    for (int mode = 0; mode < NMODES; mode++)
        errs += run(comm, (enum mode) mode);
    MPI_Comm_free(&comm);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
