/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests the status of persistent receives from MPI_PROC_NULL. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

int main(int argc, char *argv[])
{
    MPI_Request requests[2];
    MPI_Status status[2];
    int to[2] = { 1, 2 }, n, errs = 0;

    MTest_Init(&argc, &argv);
    MPI_Recv_init(&to[0], 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&to[1], 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 3; round++) {
        MPI_Start(&requests[0]);
        MPI_Startall(1, &requests[1]);
        MPI_Wait(&requests[0], &status[0]);
        MPI_Waitall(1, &requests[1], &status[1]);
        for (int i = 0; i < 2; i++) {
            MPI_Get_count(&status[i], MPI_INT, &n);
            if (status[i].MPI_SOURCE != MPI_PROC_NULL || status[i].MPI_TAG != MPI_ANY_TAG || n) {
                fprintf(stderr, "source %d, tag %d, count %d\n", status[i].MPI_SOURCE,
                        status[i].MPI_TAG, n);
                errs++;
            }
        }
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
