/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests the status of MPI_Isendrecv and MPI_Isendrecv_replace, also from MPI_PROC_NULL alone. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

static int check(const char *what, MPI_Request * request, int source, int tag, int count)
{
    MPI_Status status;
    int n;

    MPI_Wait(request, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    if (status.MPI_SOURCE == source && status.MPI_TAG == tag && n == count)
        return 0;
    fprintf(stderr, "%s: source %d, tag %d, count %d\n", what, status.MPI_SOURCE, status.MPI_TAG,
            n);
    return 1;
}

int main(int argc, char *argv[])
{
    MPI_Request request, receive;
    int from[2] = { 1, 2 }, to[4] = { 3, 4, 5, 6 }, got, errs = 0;
    MPI_Comm comm;

    MTest_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);

    MPI_Irecv(&got, 1, MPI_INT, 0, 7, comm, &receive);
    MPI_Isendrecv(from, 1, MPI_INT, 0, 7, to, 4, MPI_INT, MPI_PROC_NULL, 4, comm, &request);
    errs += check("MPI_Isendrecv from MPI_PROC_NULL", &request, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    errs += check("its message", &receive, 0, 7, 1);

    MPI_Irecv(&got, 1, MPI_INT, 0, 8, comm, &receive);
    MPI_Isendrecv_replace(to, 1, MPI_INT, 0, 8, MPI_PROC_NULL, 4, comm, &request);
    errs += check("MPI_Isendrecv_replace from MPI_PROC_NULL", &request, MPI_PROC_NULL, MPI_ANY_TAG,
                  0);
    errs += check("its message", &receive, 0, 8, 1);
    if (got != 3 || to[0] != 3) {
        fprintf(stderr, "received %d, buffer %d, expected 3\n", got, to[0]);
        errs++;
    }

    MPI_Isendrecv(from, 2, MPI_INT, 0, 9, to, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
                  &request);
    errs += check("MPI_Isendrecv", &request, 0, 9, 2);
    MPI_Isendrecv_replace(to, 3, MPI_INT, 0, 10, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
    errs += check("MPI_Isendrecv_replace", &request, 0, 10, 3);

    MPI_Comm_free(&comm);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
