/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests MPI_Isendrecv and MPI_Isendrecv_replace from and to MPI_PROC_NULL. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

static int check(const char *what, MPI_Request * request)
{
    MPI_Status status;
    int n;

    MPI_Wait(request, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    if (status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && n == 0)
        return 0;
    fprintf(stderr, "%s: source %d, tag %d, count %d\n", what, status.MPI_SOURCE, status.MPI_TAG,
            n);
    return 1;
}

int main(int argc, char *argv[])
{
    MPI_Request request;
    int from = 1, to = 2, errs = 0;

    MTest_Init(&argc, &argv);
    MPI_Isendrecv(&from, 1, MPI_INT, MPI_PROC_NULL, 3, &to, 1, MPI_INT, MPI_PROC_NULL, 4,
                  MPI_COMM_WORLD, &request);
    errs += check("MPI_Isendrecv", &request);
    MPI_Isendrecv_replace(&to, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_PROC_NULL, 4, MPI_COMM_WORLD,
                          &request);
    errs += check("MPI_Isendrecv_replace", &request);
    if (to != 2) {
        fprintf(stderr, "the receive buffer was written: %d\n", to);
        errs++;
    }
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
