/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests a send that is cancelled, and not waited for before its receiver's end is known. Two processes,
 * to be run as peer_dies is: process 1 dies. */

#include "report.h"
#include "side.h"

#include <signal.h>
#include <unistd.h>

#define N 1000000               /* ints of a long message */

enum { TAG__CANCELLED, TAG__GO, TAG__OTHER };

static volatile sig_atomic_t has_died = 0;

/* The process manager sends this signal when a process has died; MPI passes it on. */
static void died(int signum)
{
    has_died = signum;
}

/* Make progress for some time. */
static void poll_for(double seconds)
{
    const double end = MPI_Wtime() + seconds;
    int flag;

    while (MPI_Wtime() < end)
        MPI_Iprobe(0, TAG__OTHER, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void survive(struct side *s)
{
    MPI_Request request;
    MPI_Status status;
    int flag;

    side_fill(s, 1);
    CHECK_MPI(MPI_Isend(s->buf, N, MPI_INT, 1, TAG__CANCELLED, MPI_COMM_WORLD, &request));
    CHECK_MPI(MPI_Cancel(&request));
    CHECK_MPI(MPI_Send(NULL, 0, MPI_BYTE, 1, TAG__GO, MPI_COMM_WORLD));
    /* The receiver answers */
    poll_for(0.2);
    while (!has_died)
        usleep(1000);
    poll_for(0.2);
    CHECK_MPI(MPI_Wait(&request, &status));
    CHECK_MPI(MPI_Test_cancelled(&status, &flag));
    CHECK(flag);
}

int main(void)
{
    int rank;
    struct side s;

    report_time_limit(60);
    signal(SIGUSR1, died);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    side_make(&s, MEM__DEVICE, MPI_INT, N, 0);
    if (rank == 0) {
        survive(&s);
    } else {
        CHECK_MPI(MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG__GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        poll_for(0.1);
    }
    _exit(rank == 0 ? report_done() : 0);
}
