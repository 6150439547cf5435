/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that MPI_ERRORS_ABORT can be set and asked for, for all kinds of objects. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

static int check(const char *what, MPI_Errhandler handler)
{
    if (handler == MPI_ERRORS_ABORT)
        return 0;
    fprintf(stderr, "%s: not MPI_ERRORS_ABORT\n", what);
    return 1;
}

int main(int argc, char *argv[])
{
    MPI_Errhandler handler;
    MPI_Session session;
    MPI_Comm comm;
    MPI_Win win;
    int memory, errs = 0;

    MTest_Init(&argc, &argv);

    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ABORT);
    MPI_Comm_get_errhandler(comm, &handler);
    errs += check("communicator", handler);
    MPI_Comm_free(&comm);

    MPI_Win_create(&memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_ABORT);
    MPI_Win_get_errhandler(win, &handler);
    errs += check("window", handler);
    MPI_Win_free(&win);

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ABORT, &session);
    MPI_Session_set_errhandler(session, MPI_ERRORS_ABORT);
    MPI_Session_get_errhandler(session, &handler);
    errs += check("session", handler);
    MPI_Session_finalize(&session);

    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ABORT);
    MPI_File_get_errhandler(MPI_FILE_NULL, &handler);
    errs += check("file", handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);

    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
