/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One of two processes ends in the middle of a message: the other one gets an error. To be run with
 * mpiexec -disable-auto-cleanup and MPIR_CVAR_ENABLE_FT=1; mpiexec then reports the dead process,
 * so the survivor's words are what counts.
 *
 *     peer_dies send|recv      what the survivor was doing */

#include "report.h"
#include "side.h"

#include <string.h>
#include <unistd.h>

#define N 4000000               /* ints */

int main(int argc, char **argv)
{
    int rank, flag = 0, err, class, is_sender;
    MPI_Request request;
    struct side s;

    if (argc != 2)
        return 2;
    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    is_sender = (rank == 0) == (strcmp(argv[1], "send") == 0);
    side_make(&s, MEM__DEVICE, MPI_INT, N, 0);
    side_fill(&s, 1);
    MPI_Barrier(MPI_COMM_WORLD);

    if (is_sender)
        MPI_Isend(s.buf, N, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &request);
    else
        MPI_Irecv(s.buf, N, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &request);
    if (rank == 1) {
        for (int i = 0; i < 200 && !flag; i++)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        _exit(report_failures ? 3 : 0);
    }
    err = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(err != MPI_SUCCESS);
    if (err) {
        MPI_Error_class(err, &class);
        if (class != MPIX_ERR_PROC_FAILED)
            report_fail("error class %d: %s", class, report_mpi_text(err));
    }
    _exit(report_done());
}
