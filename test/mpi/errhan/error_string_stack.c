/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that MPI_Error_string writes no more than MPI_MAX_ERROR_STRING bytes, wherever in an error
 * stack these end: the stacks are of collectives whose counts do not match, and the first line of
 * them has different lengths. Two processes. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEYOND 4096

/* Returns the number of bytes that were written beyond the limit. What is there seems to be the end
 * of a string. */
static int beyond(int err)
{
    static char text[MPI_MAX_ERROR_STRING + BEYOND], before[BEYOND];
    int length, n = 0;

    memset(before, 'Z', BEYOND / 8);
    memcpy(text + MPI_MAX_ERROR_STRING, before, BEYOND);
    memset(text, 'Z', MPI_MAX_ERROR_STRING);
    MPI_Error_string(err, text, &length);
    for (int i = 0; i < BEYOND; i++)
        n += text[MPI_MAX_ERROR_STRING + i] != before[i];
    if (memchr(text, '\0', MPI_MAX_ERROR_STRING) == NULL || length != (int) strlen(text))
        n++;
    return n;
}

int main(int argc, char *argv[])
{
    const MPI_Datatype types[] = { MPI_INT, MPI_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_SHORT };
    const MPI_Op ops[] = { MPI_SUM, MPI_BAND, MPI_REPLACE };
    int rank, n, nerrors = 0, errs = 0;
    int *from = calloc(200000, sizeof(int)), *to = calloc(200000, sizeof(int));

    MTest_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 6 * 4 * 2; i++) {
        int count = 2, err;
        MPI_Comm comm;

        for (int k = 0; k < i % 6; k++)
            count *= 10;
        /* one for each call, since messages may be left in it */
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        err = MPI_Scan(from, to, count - rank, types[i / 6 % 4], ops[i / 24], comm);
        nerrors += err != MPI_SUCCESS;
        n = err ? beyond(err) : 0;
        if (n > 0) {
            fprintf(stderr, "rank %d, case %d: %d bytes beyond the limit\n", rank, i, n);
            errs++;
        }
    }
    if (rank == 1 && nerrors == 0) {
        fprintf(stderr, "no errors to test\n");
        errs++;
    }
    free(from);
    free(to);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
