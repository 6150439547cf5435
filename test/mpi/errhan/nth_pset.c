/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests MPI_Session_get_nth_pset with numbers that are too large or negative. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

int main(int argc, char *argv[])
{
    int n, errs = 0;
    MPI_Session session;

    MTest_Init(&argc, &argv);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n);
    for (int i = -1; i <= n + 1; i++) {
        int length = MPI_MAX_PSET_NAME_LEN, err, class = MPI_SUCCESS;
        int expected = (i < 0 || i >= n) ? MPI_ERR_ARG : MPI_SUCCESS;
        char name[MPI_MAX_PSET_NAME_LEN];

        err = MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
        MPI_Error_class(err, &class);
        if (class != expected) {
            fprintf(stderr, "process set %d of %d: error class %d, expected %d\n", i, n, class,
                    expected);
            errs++;
        }
    }
    MPI_Session_finalize(&session);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
