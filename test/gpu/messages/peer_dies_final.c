/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that a process exits while the others are in MPI_Finalize, or shortly before: these end. To be run as
 * peer_dies, with three processes, of which two are left. */

#include "report.h"

#include <unistd.h>

int main(void)
{
    int rank, token = 0;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* All are connected with process 1 */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        for (int i = 0; i < 3; i += 2)
            CHECK_MPI(MPI_Recv(&token, 1, MPI_INT, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        _exit(report_failures ? 3 : 0);
    }
    CHECK_MPI(MPI_Send(&token, 1, MPI_INT, 1, 1, MPI_COMM_WORLD));
    MPI_Finalize();
    _exit(report_done());
}
