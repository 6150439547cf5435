/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests all forms of MPI_Neighbor_alltoall, _alltoallv and _alltoallw on periodic Cartesian topologies
 * with one or two processes in a dimension, where both neighbors are the same. What a process
 * sends to its first neighbor in a dimension arrives there as from the second one. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

#define MAX 6   /* neighbors */

static int send[MAX], recv[MAX], ones[MAX], disps[MAX];
static MPI_Aint bytes[MAX];
static MPI_Datatype types[MAX];
static const char *names[] = { "MPI_Neighbor_alltoall", "MPI_Neighbor_alltoallv",
    "MPI_Neighbor_alltoallw", "MPI_Ineighbor_alltoall", "MPI_Ineighbor_alltoallv",
    "MPI_Ineighbor_alltoallw", "MPI_Neighbor_alltoall_init", "MPI_Neighbor_alltoallv_init",
    "MPI_Neighbor_alltoallw_init"
};

static void exchange(int form, MPI_Comm comm)
{
    MPI_Request r = MPI_REQUEST_NULL;

    if (form == 0)
        MPI_Neighbor_alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm);
    else if (form == 1)
        MPI_Neighbor_alltoallv(send, ones, disps, MPI_INT, recv, ones, disps, MPI_INT, comm);
    else if (form == 2)
        MPI_Neighbor_alltoallw(send, ones, bytes, types, recv, ones, bytes, types, comm);
    else if (form == 3)
        MPI_Ineighbor_alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm, &r);
    else if (form == 4)
        MPI_Ineighbor_alltoallv(send, ones, disps, MPI_INT, recv, ones, disps, MPI_INT, comm, &r);
    else if (form == 5)
        MPI_Ineighbor_alltoallw(send, ones, bytes, types, recv, ones, bytes, types, comm, &r);
    else if (form == 6)
        MPI_Neighbor_alltoall_init(send, 1, MPI_INT, recv, 1, MPI_INT, comm, MPI_INFO_NULL, &r);
    else if (form == 7)
        MPI_Neighbor_alltoallv_init(send, ones, disps, MPI_INT, recv, ones, disps, MPI_INT, comm,
                                    MPI_INFO_NULL, &r);
    else
        MPI_Neighbor_alltoallw_init(send, ones, bytes, types, recv, ones, bytes, types, comm,
                                    MPI_INFO_NULL, &r);
    if (form >= 6)
        MPI_Start(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    if (form >= 6)
        MPI_Request_free(&r);
}

static int test(MPI_Comm old, int ndims, const int *dims)
{
    int periods[3] = { 1, 1, 1 }, rank, neighbors[MAX], errs = 0;
    MPI_Comm comm;

    MPI_Cart_create(old, ndims, dims, periods, 0, &comm);
    if (comm == MPI_COMM_NULL)
        return 0;
    MPI_Comm_rank(comm, &rank);
    for (int d = 0; d < ndims; d++)
        MPI_Cart_shift(comm, d, 1, &neighbors[2 * d], &neighbors[2 * d + 1]);
    for (int form = 0; form < 9; form++) {
        for (int i = 0; i < 2 * ndims; i++) {
            send[i] = 100 * rank + i;
            recv[i] = -1;
        }
        exchange(form, comm);
        for (int i = 0; i < 2 * ndims; i++)
            if (recv[i] != 100 * neighbors[i] + (i ^ 1)) {
                fprintf(stderr, "%s, %d dimensions, rank %d: from neighbor %d: %d, expected %d\n",
                        names[form], ndims, rank, i, recv[i], 100 * neighbors[i] + (i ^ 1));
                errs++;
            }
    }
    MPI_Comm_free(&comm);
    return errs;
}

int main(int argc, char *argv[])
{
    int one[3] = { 1, 1, 1 }, two[3] = { 2, 1, 1 }, three[3] = { 1, 3, 1 }, errs = 0;

    MTest_Init(&argc, &argv);
    for (int i = 0; i < MAX; i++) {
        ones[i] = 1;
        disps[i] = i;
        bytes[i] = i * (int) sizeof(int);
        types[i] = MPI_INT;
    }
    for (int ndims = 1; ndims <= 3; ndims++) {
        errs += test(MPI_COMM_SELF, ndims, one);
        errs += test(MPI_COMM_WORLD, ndims, two);
        if (ndims > 1)
            errs += test(MPI_COMM_WORLD, ndims, three);
    }
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
