/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that other messages make progress while a GPU delays one, and that a process that waits for
 * a message from a GPU detects when the GPU has finished. To be run with EMU_DELAY_MIN_US=1500000.
 * Two processes. */

#include "report.h"
#include "side.h"

#include <stdio.h>

#define ROUNDS 50
#define GPU_SECONDS 1.4         /* minimum time of an operation of the emulated GPU */
#define HOST_SECONDS 1.0        /* maximum time of a round */

static int rank, other;

/* Messages in host memory back and forth. */
static void rounds(void)
{
    double buf[100] = { 0 };
    double begin, longest = 0;

    for (int i = 0; i < ROUNDS; i++) {
        begin = MPI_Wtime();
        CHECK_MPI(MPI_Sendrecv_replace(buf, 100, MPI_DOUBLE, other, 2, other, 2, MPI_COMM_WORLD,
                                       MPI_STATUS_IGNORE));
        longest = MPI_Wtime() - begin > longest ? MPI_Wtime() - begin : longest;
    }
    if (longest > HOST_SECONDS)
        report_fail("a message in host memory took %.1f s while a GPU was late", longest);
}

enum when { POSTED, UNEXPECTED };

static void message(enum mem_kind from, enum mem_kind to, int n, enum when when, const char *text)
{
    int before = report_failures, flag = 0;
    double begin;
    struct side s;
    MPI_Request request;

    side_make(&s, rank == 0 ? from : to, MPI_INT, n, 0);
    if (rank == 0)
        side_fill(&s, n);
    else
        side_clear(&s, n);
    if (rank == 1 && when == POSTED)
        CHECK_MPI(MPI_Irecv(s.buf, n, MPI_INT, other, 1, MPI_COMM_WORLD, &request));
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    if (rank == 0)
        CHECK_MPI(MPI_Isend(s.buf, n, MPI_INT, other, 1, MPI_COMM_WORLD, &request));
    if (when == UNEXPECTED) {
        /* Messages sent after the message arrive after it */
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
        begin = MPI_Wtime();
        if (rank == 1)
            CHECK_MPI(MPI_Irecv(s.buf, n, MPI_INT, other, 1, MPI_COMM_WORLD, &request));
    }
    rounds();
    CHECK_MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    if (rank == 1 && flag && MPI_Wtime() - begin < GPU_SECONDS)
        report_fail("the message is complete before the GPU can be");
    if (!flag)
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    side_check(&s, "a buffer", n, s.size);
    side_free(&s);
    MPI_Barrier(MPI_COMM_WORLD);
    if (report_failures != before)
        fprintf(stderr, "... %s\n", text);
}

/* A blocking receive of a message that has already arrived; another thread's messages would not be
 * delayed. */
static void message_received(void)
{
    struct side s;
    MPI_Status status;
    int count;

    side_make(&s, rank == 0 ? MEM__PAGEABLE : MEM__DEVICE, MPI_INT, 1000, 0);
    if (rank == 0) {
        side_fill(&s, 1000);
        CHECK_MPI(MPI_Send(s.buf, 1000, MPI_INT, other, 3, MPI_COMM_WORLD));
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    } else {
        side_clear(&s, 1000);
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
        CHECK_MPI(MPI_Recv(s.buf, 1000, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status));
        CHECK_MPI(MPI_Get_count(&status, MPI_INT, &count));
        if (count != 1000 || status.MPI_SOURCE != other)
            report_fail("%d ints from %d received, not 1000 from %d", count, status.MPI_SOURCE,
                        other);
        side_check(&s, "a buffer received", 1000, s.size);
    }
    side_free(&s);
}

int main(int argc, char **argv)
{
    report_time_limit(200);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);

    message(MEM__DEVICE, MEM__DEVICE, 100000, POSTED, "long, GPU to GPU");
    message(MEM__PAGEABLE, MEM__DEVICE, 100000, POSTED, "long, host to GPU");
    message(MEM__DEVICE, MEM__PAGEABLE, 100000, POSTED, "long, GPU to host");
    message(MEM__PAGEABLE, MEM__DEVICE, 1000, POSTED, "eager, host to GPU");
    message(MEM__PAGEABLE, MEM__DEVICE, 2, POSTED, "very short, host to GPU");
    message(MEM__PAGEABLE, MEM__DEVICE, 1000, UNEXPECTED, "eager and unexpected, host to GPU");
    message(MEM__PAGEABLE, MEM__DEVICE, 2, UNEXPECTED, "very short and unexpected, host to GPU");
    message(MEM__PAGEABLE, MEM__DEVICE, 100000, UNEXPECTED, "long and unexpected, host to GPU");
    message_received();
    MPI_Finalize();
    return report_done();
}
