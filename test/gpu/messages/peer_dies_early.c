/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that one of two processes exits before its GPU has packed a short message whose envelope
 * has arrived: the peer gets an error. To be run as peer_dies, and with EMU_DELAY_MIN_US=200000.
 *
 *     peer_dies_early posted|known    the receive is posted before or after the envelope arrives */

#include "report.h"
#include "side.h"

#include <string.h>
#include <unistd.h>

#define N 10                    /* ints */
#define PROBE_SECONDS 5

/* Look for the message. Its envelope may be lost: a process that exits resets its connections, and
 * what the other end has not read yet is dropped. */
static void envelope_await(void)
{
    const double end = MPI_Wtime() + PROBE_SECONDS;
    int found = 0;

    while (!found && MPI_Wtime() < end &&
           MPI_Iprobe(1, 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE) == MPI_SUCCESS) ;
}

int main(int argc, char **argv)
{
    int rank, err, class, is_known;
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
    is_known = strcmp(argv[1], "known") == 0;
    side_make(&s, MEM__DEVICE, MPI_INT, N, 0);
    side_fill(&s, 1);

    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        CHECK_MPI(MPI_Isend(s.buf, N, MPI_INT, 0, 1, MPI_COMM_WORLD, &request));
        _exit(report_failures ? 3 : 0);
    }
    if (is_known)
        envelope_await();
    err = MPI_Recv(s.buf, N, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(err != MPI_SUCCESS);
    if (err) {
        MPI_Error_class(err, &class);
        if (class != MPIX_ERR_PROC_FAILED)
            report_fail("error class %d: %s", class, report_mpi_text(err));
    }
    _exit(report_done());
}
