/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests a send that is cancelled and whose receiver dies. Two processes, to be run as peer_dies is: process
 * 1 dies.
 *
 *     peer_dies_cancelled answered     after its answer has been read
 *     peer_dies_cancelled crossed      after it has answered; which of both is seen first is open
 *     peer_dies_cancelled unanswered   before it has answered
 *     peer_dies_cancelled short        the same, but the message has been sent
 *     peer_dies_cancelled host         and from host memory
 *     peer_dies_cancelled known        its end is known when the send is cancelled */

#include "report.h"
#include "side.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define N 1000000               /* ints of a long message */

enum { TAG__CANCELLED, TAG__GO, TAG__OTHER };

static volatile sig_atomic_t has_died = 0;

/* The process manager sends this signal when a process has died; MPI passes it on. */
static void died(int signum)
{
    has_died = signum;
}

/* In the process that dies: the process manager would end all if a signal did. */
static void leave(int signum)
{
    _exit(signum != SIGTERM);
}

/* Make progress for some time. */
static void poll_for(double seconds)
{
    const double end = MPI_Wtime() + seconds;
    int flag;

    while (MPI_Wtime() < end)
        MPI_Iprobe(0, TAG__OTHER, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void signal_to(int other)
{
    CHECK_MPI(MPI_Send(NULL, 0, MPI_BYTE, other, TAG__GO, MPI_COMM_WORLD));
}

static void wait_for(int other)
{
    CHECK_MPI(MPI_Recv(NULL, 0, MPI_BYTE, other, TAG__GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* Without progress. */
static void wait_for_death(void)
{
    while (!has_died)
        usleep(1000);
}

static int is_short(const char *mode)
{
    return strcmp(mode, "short") == 0 || strcmp(mode, "host") == 0;
}

/* Whether the receiver dies in time. */
static int is_unanswered(const char *mode)
{
    return strcmp(mode, "unanswered") == 0 || is_short(mode);
}

/*   pid  (IN)  of the other process */
static void survive(struct side *s, const char *mode, pid_t pid)
{
    MPI_Request request;
    MPI_Status status;
    int err, class, flag;

    side_fill(s, 1);
    CHECK_MPI(MPI_Isend(s->buf, (int) s->count, MPI_INT, 1, TAG__CANCELLED, MPI_COMM_WORLD, &request));
    if (is_short(mode))
        poll_for(0.2);
    if (strcmp(mode, "known") == 0) {
        signal_to(1);
        wait_for_death();
        poll_for(0.2);
        CHECK(MPI_Cancel(&request) != MPI_SUCCESS);
    } else {
        CHECK_MPI(MPI_Cancel(&request));
        if (strcmp(mode, "answered") == 0) {
            signal_to(1);
            wait_for(1);
        }
        if (is_unanswered(mode))
            kill(pid, SIGTERM);
        else
            signal_to(1);
        wait_for_death();
        poll_for(0.2);
    }
    err = MPI_Wait(&request, &status);
    if (err == MPI_SUCCESS) {
        CHECK(strcmp(mode, "unanswered") != 0 && strcmp(mode, "known") != 0);
        CHECK_MPI(MPI_Test_cancelled(&status, &flag));
        CHECK(flag == !is_short(mode));
    } else {
        CHECK(strcmp(mode, "answered") != 0);
        MPI_Error_class(err, &class);
        if (class != MPIX_ERR_PROC_FAILED)
            report_fail("error class %d: %s", class, report_mpi_text(err));
    }
}

static void die(const char *mode)
{
    if (strcmp(mode, "answered") == 0) {
        wait_for(0);
        signal_to(0);
    }
    while (is_unanswered(mode))
        pause();
    /* An answer goes out before the message after it is received */
    wait_for(0);
}

int main(int argc, char **argv)
{
    int rank, pid;
    struct side s;

    if (argc != 2)
        return 2;
    report_time_limit(60);
    signal(SIGUSR1, died);
    signal(SIGTERM, leave);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    side_make(&s, strcmp(argv[1], "host") == 0 ? MEM__PAGEABLE : MEM__DEVICE, MPI_INT,
              is_short(argv[1]) ? 2 : N, 0);
    pid = getpid();
    CHECK_MPI(MPI_Bcast(&pid, 1, MPI_INT, 1, MPI_COMM_WORLD));
    if (rank == 0)
        survive(&s, argv[1], (pid_t) pid);
    else
        die(argv[1]);
    _exit(rank == 0 ? report_done() : 0);
}
