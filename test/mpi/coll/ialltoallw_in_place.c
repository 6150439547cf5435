/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests nonblocking and persistent MPI_Alltoallw in place with elements of a type and number for each
 * pair of processes. Any number of processes. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>
#include <string.h>

#define MAX_PROCS 16
#define SPACE 64                /* bytes for each process */

static int rank, nprocs, errs = 0;

/* What two processes exchange: none with itself. */
static MPI_Datatype type_of(int i, int j)
{
    return i == j ? MPI_CHAR : (i + j) % 2 ? MPI_DOUBLE : MPI_SHORT;
}

static int count_of(int i, int j)
{
    return i == j ? 0 : 1 + (i + j) % 3;
}

static int bytes_of(int i, int j)
{
    return count_of(i, j) * (type_of(i, j) == MPI_DOUBLE ? (int) sizeof(double) :
                             (int) sizeof(short));
}

static void call(int is_persistent)
{
    char buf[MAX_PROCS][SPACE], expected[MAX_PROCS][SPACE];
    int counts[MAX_PROCS], displs[MAX_PROCS];
    MPI_Datatype types[MAX_PROCS];
    MPI_Request request;

    for (int i = 0; i < nprocs; i++) {
        memset(buf[i], 10 * rank + i, SPACE);
        memcpy(expected[i], buf[i], SPACE);
        memset(expected[i], 10 * i + rank, (size_t) bytes_of(rank, i));
        counts[i] = count_of(rank, i);
        displs[i] = i * SPACE;
        types[i] = type_of(rank, i);
    }
    if (is_persistent) {
        MPI_Alltoallw_init(MPI_IN_PLACE, NULL, NULL, NULL, buf, counts, displs, types,
                           MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
    } else {
        MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, buf, counts, displs, types, MPI_COMM_WORLD,
                       &request);
    }
    if (MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        fprintf(stderr, "[%d] the call failed, persistent: %d\n", rank, is_persistent);
        errs++;
    }
    if (is_persistent)
        MPI_Request_free(&request);
    for (int i = 0; i < nprocs; i++) {
        if (i != rank && memcmp(buf[i], expected[i], SPACE)) {
            fprintf(stderr, "[%d] wrong data from %d, persistent: %d\n", rank, i, is_persistent);
            errs++;
        }
    }
}

int main(int argc, char *argv[])
{
    MTest_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (nprocs > MAX_PROCS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    call(0);
    call(1);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
