/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Operations with a request that fail give back the request: the handles of later ones come from a
 * small set. One process. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

enum { TIMES = 3000, MAX_HANDLES = 50 };

int main(int argc, char **argv)
{
    int errs = 0, mem[4] = { 0 }, from[4] = { 0 }, result[4], nhandles = 0, nerrors = 0;
    MPI_Request handles[MAX_HANDLES];
    MPI_Win win;

    MTest_Init(&argc, &argv);
    MPI_Win_create(mem, sizeof(mem), sizeof(int), MPI_INFO_NULL, MPI_COMM_SELF, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    for (int k = 0; k < TIMES && nhandles < MAX_HANDLES; k++) {
        MPI_Request req;
        int i = 0;

        /* MPI_MAXLOC is for pairs */
        if (k & 1)
            nerrors += MPI_Raccumulate(from, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_MAXLOC, win, &req) != 0;
        else
            nerrors += MPI_Rget_accumulate(from, 1, MPI_INT, result, 1, MPI_INT, 0, 0, 1, MPI_INT,
                                           MPI_MAXLOC, win, &req) != 0;
        MPI_Rput(from, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &req);
        while (i < nhandles && handles[i] != req)
            i++;
        if (i == nhandles)
            handles[nhandles++] = req;
        MPI_Wait(&req, MPI_STATUS_IGNORE);
    }
    MPI_Win_unlock(0, win);
    MPI_Win_free(&win);
    if (nerrors < TIMES && nhandles < MAX_HANDLES) {
        fprintf(stderr, "%d calls of %d failed\n", nerrors, TIMES);
        errs++;
    }
    if (nhandles == MAX_HANDLES) {
        fprintf(stderr, "requests are lost\n");
        errs++;
    }
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
