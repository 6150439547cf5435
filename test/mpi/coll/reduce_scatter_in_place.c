/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* MPI_Reduce_scatter and MPI_Ireduce_scatter in place, with parts that are longer than all before
 * them: a process's result then overlaps the place of its part. Long enough for the algorithms that
 * exchange with each process in turn. For any number of processes. */

#include "mpi.h"
#include "mpitest.h"

#include <stdlib.h>

#define LONG 200000             /* elements of the longest part */

static int rank, size;

/* Element i of what a process contributes, in all parts one after another. */
static int value(int process, int i)
{
    return 3 * i + 1000003 * (process + 1) % 4096;
}

/* Reduces, and returns the number of wrong elements.
 *   counts  (IN)  elements of the parts */
static int errors_of(const int *counts, int is_nonblocking)
{
    int total = 0, first = 0, errs = 0;
    int *buf;
    MPI_Request request;

    for (int i = 0; i < size; i++) {
        first += i < rank ? counts[i] : 0;
        total += counts[i];
    }
    buf = malloc((size_t) total * sizeof(buf[0]));
    if (buf == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < total; i++)
        buf[i] = value(rank, i);
    if (is_nonblocking) {
        MPI_Ireduce_scatter(MPI_IN_PLACE, buf, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Reduce_scatter(MPI_IN_PLACE, buf, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    for (int i = 0; i < counts[rank]; i++) {
        int sum = 0;

        for (int process = 0; process < size; process++)
            sum += value(process, first + i);
        errs += buf[i] != sum;
    }
    if (errs)
        fprintf(stderr, "%d of %d elements are wrong, %sblocking\n", errs, counts[rank],
                is_nonblocking ? "non" : "");
    free(buf);
    return errs;
}

int main(int argc, char **argv)
{
    int errs = 0, *counts;

    MTest_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    counts = malloc((size_t) size * sizeof(counts[0]));
    if (counts == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    /* Each process has the long part once; those before it have a third of it in all, or none */
    for (int which = 0; which < size; which++) {
        for (int is_none = 0; is_none < 2; is_none++) {
            for (int i = 0; i < size; i++)
                counts[i] = i == which ? LONG : is_none ? 0 : LONG / 3 / size;
            errs += errors_of(counts, 0);
            errs += errors_of(counts, 1);
        }
    }
    free(counts);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
