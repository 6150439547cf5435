/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that a process is killed after its requests to send have been sent: each receive ends with
 * an error, whenever it was posted, and whether the two buffers are in host or GPU memory. Two
 * processes, to be run as peer_dies is. Process 1 reads none of the answers.
 *
 *     peer_killed asked       the requests to send are read before it is killed
 *     peer_killed unread      they are read afterwards
 *     peer_killed part        process 1 is killed while it sends one long message, over TCP */

#include "report.h"
#include "side.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define N 100000                /* ints of a message */
#define NPART 16000000          /* more than sockets buffer */
#define END_SECONDS 10.0        /* in which a receive has to end */
#define SOME_SECONDS 0.1        /* in which one may end */

/* When a receive is posted, and how */
enum when {
    POSTED,                     /* before the message is sent */
    POSTED_ANY,                 /* likewise, from any source */
    UNEXPECTED,                 /* when the process has died, which is not known yet */
    KNOWN,                      /* when it is known */
    KNOWN_BLOCKING,
    KNOWN_PROBED,               /* the message was matched before */
    NWHEN
};
static const char *const when_names[] = {
    "posted", "posted from any source", "unexpected", "known", "known, blocking", "known, probed"
};

/* The places of both buffers, and whether the receive has no room */
#define NPLACES 8
#define NMESSAGES (NWHEN * NPLACES)

/* A receive; its tag is its number */
struct receive {
    struct side s;
    int count;                  /* ints */
    MPI_Request request;
    MPI_Message known;
};

static volatile sig_atomic_t has_died = 0, has_sent = 0;

/* The process manager sends this signal when a process has died; MPI passes it on. */
static void died(int signum)
{
    has_died = signum;
}

static void sent(int signum)
{
    has_sent = signum;
}

/* In the process that is killed: the process manager would end all if a signal did. */
static void leave(int signum)
{
    _exit(signum != SIGTERM);
}

static void await(const volatile sig_atomic_t * flag)
{
    while (!*flag)
        usleep(1000);
}

static enum when when_of(int i)
{
    return i / NPLACES;
}

static enum mem_kind kind_of(int i, int is_receive)
{
    return (is_receive ? i / 2 : i) % 2 ? MEM__DEVICE : MEM__PAGEABLE;
}

static int has_room(int i)
{
    return i % NPLACES < NPLACES / 2;
}

static void message_fail(int i, const char *text, int err)
{
    report_fail("%s, from %s to %s memory%s: %s: %s", when_names[when_of(i)],
                mem_name(kind_of(i, 0)), mem_name(kind_of(i, 1)), has_room(i) ? "" : " of no size",
                text, err ? report_mpi_text(err) : "no error");
}

/* A receive has ended. */
static void outcome_check(int i, struct receive *r, int err)
{
    int class = MPI_SUCCESS;
    int is_between_gpus = kind_of(i, 0) == MEM__DEVICE && kind_of(i, 1) == MEM__DEVICE;

    if (err)
        MPI_Error_class(err, &class);
    if (class == MPIX_ERR_PROC_FAILED || (class == MPI_ERR_TRUNCATE && !has_room(i)))
        return;
    /* It may have been copied from the other process's memory */
    if (class == MPI_SUCCESS && is_between_gpus && has_room(i))
        side_check(&r->s, when_names[when_of(i)], 1, r->s.size);
    else
        message_fail(i, "ended with another class", err);
}

/*   may_stay  (IN)  another process might send the message */
static void end_await(int i, struct receive *r, int may_stay)
{
    const double end = MPI_Wtime() + (may_stay ? SOME_SECONDS : END_SECONDS);
    int err = MPI_SUCCESS, class, flag;

    while (r->request != MPI_REQUEST_NULL && MPI_Wtime() < end) {
        err = MPI_Test(&r->request, &flag, MPI_STATUS_IGNORE);
        if (err && r->request != MPI_REQUEST_NULL) {
            MPI_Error_class(err, &class);
            if (class == MPIX_ERR_PROC_FAILED_PENDING)
                CHECK_MPI(MPIX_Comm_failure_ack(MPI_COMM_WORLD));
            else
                message_fail(i, "MPI_Test fails", err);
        }
    }
    if (r->request == MPI_REQUEST_NULL)
        outcome_check(i, r, err);
    else if (!may_stay)
        message_fail(i, "has not ended", MPI_SUCCESS);
}

/* Post a receive, or receive. It is the end of a receive that fails, not its start. */
static void receive_start(int i, struct receive *r)
{
    const int source = when_of(i) == POSTED_ANY ? MPI_ANY_SOURCE : 1;

    if (when_of(i) == KNOWN_BLOCKING)
        outcome_check(i, r, MPI_Recv(r->s.buf, r->count, MPI_INT, source, i, MPI_COMM_WORLD,
                                     MPI_STATUS_IGNORE));
    else if (when_of(i) == KNOWN_PROBED)
        CHECK_MPI(MPI_Imrecv(r->s.buf, r->count, MPI_INT, &r->known, &r->request));
    else
        CHECK_MPI(MPI_Irecv(r->s.buf, r->count, MPI_INT, source, i, MPI_COMM_WORLD, &r->request));
}

static void survive(struct receive *r, pid_t victim, int is_unread)
{
    const int nsent = is_unread ? UNEXPECTED * NPLACES : NMESSAGES;

    for (int i = 0; i < nsent; i++) {
        side_make(&r[i].s, kind_of(i, 1), MPI_INT, N, 0);
        side_clear(&r[i].s, 1);
        r[i].count = has_room(i) ? N : 0;
        if (when_of(i) < UNEXPECTED)
            receive_start(i, &r[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    await(&has_sent);
    for (int i = KNOWN_PROBED * NPLACES; i < nsent; i++)
        CHECK_MPI(MPI_Mprobe(1, i, MPI_COMM_WORLD, &r[i].known, MPI_STATUS_IGNORE));
    kill(victim, SIGTERM);
    await(&has_died);
    for (int i = UNEXPECTED * NPLACES; i < nsent && when_of(i) == UNEXPECTED; i++)
        receive_start(i, &r[i]);
    for (int i = 0; i < nsent && when_of(i) <= UNEXPECTED; i++) {
        if (r[i].request != MPI_REQUEST_NULL)
            end_await(i, &r[i], is_unread && when_of(i) == POSTED_ANY);
    }
    for (int i = KNOWN * NPLACES; i < nsent; i++) {
        receive_start(i, &r[i]);
        if (r[i].request != MPI_REQUEST_NULL)
            end_await(i, &r[i], 0);
    }
}

static void be_killed(pid_t survivor, int is_unread)
{
    const int nsent = is_unread ? UNEXPECTED * NPLACES : NMESSAGES;
    MPI_Request request;
    struct side s[2];

    for (int i = 0; i < 2; i++) {
        side_make(&s[i], kind_of(i, 0), MPI_INT, N, 0);
        side_fill(&s[i], 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < nsent; i++)
        CHECK_MPI(MPI_Isend(s[i % 2].buf, N, MPI_INT, 0, i, MPI_COMM_WORLD, &request));
    kill(survivor, SIGUSR2);
    for (;;)
        pause();
}

/* One message: it is killed when the first ints have arrived. */
static void part(int rank, pid_t other)
{
    struct receive r = {.count = NPART,.request = MPI_REQUEST_NULL };
    volatile int *first;
    int flag = 0;

    side_make(&r.s, MEM__PAGEABLE, MPI_INT, NPART, 0);
    first = (volatile int *) r.s.buf;
    *first = rank;
    if (rank == 1)
        MPI_Send(r.s.buf, NPART, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (rank == 1)
        return;
    CHECK_MPI(MPI_Irecv(r.s.buf, NPART, MPI_INT, 1, 0, MPI_COMM_WORLD, &r.request));
    while (*first == rank && !flag)
        CHECK_MPI(MPI_Test(&r.request, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    kill(other, SIGTERM);
    end_await(0, &r, 0);
}

int main(int argc, char **argv)
{
    static struct receive receives[NMESSAGES];
    int rank, is_unread;
    pid_t pids[2], own = getpid();

    if (argc != 2)
        return 2;
    report_time_limit(120);
    signal(SIGUSR1, died);
    signal(SIGUSR2, sent);
    signal(SIGTERM, leave);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allgather(&own, sizeof(own), MPI_BYTE, pids, sizeof(own), MPI_BYTE, MPI_COMM_WORLD);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    is_unread = strcmp(argv[1], "unread") == 0;
    for (int i = 0; i < NMESSAGES; i++)
        receives[i].request = MPI_REQUEST_NULL;
    if (strcmp(argv[1], "part") == 0)
        part(rank, pids[1 - rank]);
    else if (rank == 0)
        survive(receives, pids[1], is_unread);
    else
        be_killed(pids[0], is_unread);
    _exit(report_done());
}
