/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that the library reports to be this fork, for bug reports and for programs that look for
 * GPU support. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>
#include <string.h>

int main(int argc, char *argv[])
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int len, errs = 0;

    /* allowed before MPI_Init */
    MPI_Get_library_version(version, &len);
    if (len != (int) strlen(version)) {
        fprintf(stderr, "length %d of a version string of %d characters\n", len,
                (int) strlen(version));
        errs++;
    }
    if (!strstr(version, "MPICH-Gpudt ")) {
        fprintf(stderr, "this fork is not named in:\n%s\n", version);
        errs++;
    }

    MTest_Init(&argc, &argv);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
