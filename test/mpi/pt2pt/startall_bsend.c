/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that MPI_Startall starts the requests after a buffered send. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

int main(int argc, char *argv[])
{
    MPI_Request requests[2];
    char space[100 + MPI_BSEND_OVERHEAD];
    void *back;
    int from, to = -1, size, errs = 0;

    MTest_Init(&argc, &argv);
    MPI_Buffer_attach(space, sizeof(space));
    MPI_Bsend_init(&from, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[0]);
    MPI_Recv_init(&to, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[1]);
    for (from = 1; from < 4; from++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        if (to != from) {
            fprintf(stderr, "received %d, not %d\n", to, from);
            errs++;
        }
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    if (errs == 0)
        MPI_Buffer_detach(&back, &size);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
