/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests packets of a process that has died which are read after its death is known, and answers to
 * it. Three processes, to be run as peer_dies is: process 0 makes no MPI call from before process 1
 * sends until the process manager has told that it has died. Each of its requests ends with an
 * error, and messages from process 2 arrive.
 *
 *     peer_dies_unread [part]    part: process 0 has read the beginning of a segment's data. To be
 *                                run with MPIR_CVAR_GPUDT_SHARE=0 */

#include "report.h"
#include "side.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define N 1000000               /* ints of a long message */
#define NSHORT 100              /* of a short one */
#define BUSY_SECONDS 0.3        /* in which process 1 does what it can before it dies */
#define NREQUESTS 5

/* Tags */
enum { TAG__MATCHED, TAG__SENT, TAG__POSTED, TAG__SHORT, TAG__KNOWN, TAG__GO };

static int rank;
static volatile sig_atomic_t has_died = 0;

/* The process manager sends this signal when a process has died; MPI passes it on. */
static void died(int signum)
{
    has_died = signum;
}

/* A long message from process 2 to process 0, which would also receive one of process 1. */
static void from_third(unsigned seed, int tag)
{
    struct side s;

    if (rank == 1)
        return;
    side_make(&s, MEM__DEVICE, MPI_INT, N, 0);
    if (rank == 2) {
        side_fill(&s, seed);
        CHECK_MPI(MPI_Send(s.buf, N, MPI_INT, 0, tag, MPI_COMM_WORLD));
    } else {
        side_clear(&s, seed);
        CHECK_MPI(MPI_Recv(s.buf, N, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
        side_check(&s, "a buffer received from the third process", seed, s.size);
    }
    side_free(&s);
}

static void check_failed(int err)
{
    int class;

    CHECK(err != MPI_SUCCESS);
    if (err == MPI_SUCCESS)
        return;
    MPI_Error_class(err, &class);
    if (class != MPIX_ERR_PROC_FAILED)
        report_fail("error class %d: %s", class, report_mpi_text(err));
}

/* Read a message's first data, and no more. */
static void part_read(MPI_Request * request)
{
    const double end = MPI_Wtime() + BUSY_SECONDS;
    int flag = 0;

    while (MPI_Wtime() < end)
        usleep(1000);
    for (int i = 0; i < 10 && !flag; i++)
        CHECK_MPI(MPI_Test(request, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
}

/* Its memory is mapped afterwards, in the direct way. */
static void from_victim(struct side *s)
{
    if (rank == 0)
        CHECK_MPI(MPI_Recv(s->buf, N, MPI_INT, 1, TAG__GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    else if (rank == 1)
        CHECK_MPI(MPI_Send(s->buf, N, MPI_INT, 0, TAG__GO, MPI_COMM_WORLD));
}

static void survive(struct side *s, int is_part)
{
    MPI_Request requests[NREQUESTS];
    MPI_Message known;
    unsigned long long pulls;

    /* It has credits for this one */
    CHECK_MPI(MPI_Probe(1, TAG__MATCHED, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Irecv(s[0].buf, N, MPI_INT, 1, TAG__MATCHED, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Isend(s[1].buf, N, MPI_INT, 1, TAG__SENT, MPI_COMM_WORLD, &requests[1]));
    CHECK_MPI(MPI_Irecv(s[2].buf, N, MPI_INT, 1, TAG__POSTED, MPI_COMM_WORLD, &requests[2]));
    CHECK_MPI(MPI_Irecv(s[3].buf, NSHORT, MPI_INT, 1, TAG__SHORT, MPI_COMM_WORLD, &requests[3]));
    CHECK_MPI(MPI_Mprobe(1, TAG__KNOWN, MPI_COMM_WORLD, &known, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Send(NULL, 0, MPI_BYTE, 1, TAG__GO, MPI_COMM_WORLD));
    if (is_part)
        part_read(&requests[0]);
    while (!has_died)
        usleep(1000);
    /* It is known as soon as one of them has failed */
    for (int i = 0; i < NREQUESTS - 1; i++)
        check_failed(MPI_Wait(&requests[NREQUESTS - 2 - i], MPI_STATUS_IGNORE));
    /* Memory of a process that has died is not read */
    pulls = report_variable("gpudt_direct_pulls");
    check_failed(MPI_Mrecv(s[4].buf, N, MPI_INT, &known, MPI_STATUS_IGNORE));
    CHECK(report_variable("gpudt_direct_pulls") == pulls);
    /* Receives from any source work again */
    CHECK_MPI(MPIX_Comm_failure_ack(MPI_COMM_WORLD));
}

static void die(struct side *s)
{
    MPI_Request requests[NREQUESTS];
    double end;
    int flag;

    CHECK_MPI(MPI_Isend(s[0].buf, N, MPI_INT, 0, TAG__MATCHED, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Isend(s[4].buf, N, MPI_INT, 0, TAG__KNOWN, MPI_COMM_WORLD, &requests[4]));
    CHECK_MPI(MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG__GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Irecv(s[1].buf, N, MPI_INT, 0, TAG__SENT, MPI_COMM_WORLD, &requests[1]));
    CHECK_MPI(MPI_Isend(s[2].buf, N, MPI_INT, 0, TAG__POSTED, MPI_COMM_WORLD, &requests[2]));
    CHECK_MPI(MPI_Isend(s[3].buf, NSHORT, MPI_INT, 0, TAG__SHORT, MPI_COMM_WORLD, &requests[3]));
    end = MPI_Wtime() + 2 * BUSY_SECONDS;
    while (MPI_Wtime() < end)
        CHECK_MPI(MPI_Testall(NREQUESTS, requests, &flag, MPI_STATUSES_IGNORE));
    CHECK(!flag);
    _exit(report_failures ? 3 : 0);
}

int main(int argc, char **argv)
{
    struct side s[NREQUESTS];
    int provided;

    report_time_limit(60);
    signal(SIGUSR1, died);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    from_third(1, TAG__POSTED);
    for (int i = 0; i < NREQUESTS; i++) {
        side_make(&s[i], MEM__DEVICE, MPI_INT, N, 0);
        side_fill(&s[i], rank);
    }
    from_victim(&s[4]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        die(s);
    if (rank == 0)
        survive(s, argc > 1);
    for (int i = 0; i < 5; i++)
        from_third(10 + i, i % 2 ? TAG__POSTED : TAG__SHORT);
    /* The end of a process fails what its peers have not received yet */
    if (rank == 0)
        CHECK_MPI(MPI_Send(NULL, 0, MPI_BYTE, 2, TAG__GO, MPI_COMM_WORLD));
    else
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG__GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    _exit(report_done());
}
