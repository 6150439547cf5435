/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests a message of a process to itself that is truncated inside an element: the receive completes
 * with an error, and the elements before are received. Neither buffer is contiguous. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>
#include <unistd.h>

#define SENT 10                 /* doubles */
#define ROOM 13                 /* bytes, of which 8 are a whole double */

int main(int argc, char *argv[])
{
    MPI_Datatype doubles, bytes;
    MPI_Request request;
    double from[2 * SENT], first = 0;
    unsigned char to[2 * ROOM];
    int err, errs = 0;

    MTest_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_vector(SENT, 1, 2, MPI_DOUBLE, &doubles);
    MPI_Type_vector(ROOM, 1, 2, MPI_BYTE, &bytes);
    MPI_Type_commit(&doubles);
    MPI_Type_commit(&bytes);
    for (int i = 0; i < 2 * SENT; i++)
        from[i] = 1.0 / (i + 3);
    alarm(30);
    MPI_Irecv(to, 1, bytes, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(from, 1, doubles, 0, 0, MPI_COMM_SELF);
    err = MPI_Wait(&request, MPI_STATUS_IGNORE);
    alarm(0);

    if (err == MPI_SUCCESS) {
        fprintf(stderr, "a truncated message is no error\n");
        errs++;
    }
    for (size_t i = 0; i < sizeof(first); i++)
        ((unsigned char *) &first)[i] = to[2 * i];
    if (first != from[0]) {
        fprintf(stderr, "received %g, not %g\n", first, from[0]);
        errs++;
    }
    MPI_Type_free(&doubles);
    MPI_Type_free(&bytes);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
